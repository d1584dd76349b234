//! Uploads: begun, added to, finished.

use axum::body::Body;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::Response;

use super::range::chunk_start;
use super::{Registry, answer, drain};
use crate::digest::Digest;
use crate::error::{Error, Result};
use crate::guard::{Action, Need, Verdict, What};
use crate::names::{RepositoryName, UploadId};
use crate::operation::Start;
use crate::storage::Storage;

/// Of an upload that goes on.
fn of_upload(status: StatusCode, repository: &RepositoryName, upload: &UploadId, length: u64) -> Response {
    let mut answer = answer::empty(status);
    answer::set(&mut answer, header::LOCATION, &format!("/v2/{repository}/blobs/uploads/{upload}"));
    answer::set(&mut answer, header::RANGE, &answer::received(length));
    answer::set(&mut answer, answer::UPLOAD_UUID, upload.as_str());
    answer
}

fn created(repository: &RepositoryName, digest: &Digest) -> Response {
    let mut answer = answer::empty(StatusCode::CREATED);
    answer::set(&mut answer, header::LOCATION, &format!("/v2/{repository}/blobs/{digest}"));
    answer::set_digest(&mut answer, digest);
    answer
}

impl<S: Storage> Registry<S> {
    pub(super) async fn start_upload(
        &self,
        repository: RepositoryName,
        start: Start,
        headers: &HeaderMap,
        body: Body,
    ) -> Result<Response> {
        match start {
            Start::Whole(digest) => {
                let upload = self.storage.start_upload(&repository).await?;
                if let Err(error) = self.receive(&repository, &upload, Ok(Some(0)), body).await {
                    // The client knows no name to go on with.
                    let _ = self.cancel(repository, upload).await;
                    return Err(error);
                }
                return self.commit(repository, upload, digest).await;
            }
            Start::Mount { digest, from } => {
                if self.mount(&repository, &from, &digest, headers).await? {
                    return Ok(created(&repository, &digest));
                }
            }
            Start::Empty => {}
        }
        let upload = self.storage.start_upload(&repository).await?;
        Ok(of_upload(StatusCode::ACCEPTED, &repository, &upload, 0))
    }

    /// A source that may not be read looks like one that does not have it.
    async fn mount(
        &self,
        repository: &RepositoryName,
        source: &RepositoryName,
        digest: &Digest,
        headers: &HeaderMap,
    ) -> Result<bool> {
        let need =
            Need { repository: source.clone(), action: Action::Pull, what: What::Blob(digest.clone()) };
        if self.guard.check(headers, Some(&need)).await != Verdict::Allow {
            return Ok(false);
        }
        let storage = self.storage.clone();
        let (repository, source, digest) = (repository.clone(), source.clone(), digest.clone());
        self.tasks.run(async move { storage.mount_blob(&repository, &source, &digest).await }).await
    }

    pub(super) async fn upload_status(
        &self,
        repository: &RepositoryName,
        upload: &UploadId,
    ) -> Result<Response> {
        let length = self.storage.upload_length(repository, upload).await?;
        Ok(of_upload(StatusCode::NO_CONTENT, repository, upload, length))
    }

    pub(super) async fn append(
        &self,
        repository: &RepositoryName,
        upload: &UploadId,
        headers: &HeaderMap,
        body: Body,
    ) -> Result<Response> {
        let length = self.receive(repository, upload, chunk_start(headers), body).await?;
        Ok(of_upload(StatusCode::ACCEPTED, repository, upload, length))
    }

    async fn receive(
        &self,
        repository: &RepositoryName,
        upload: &UploadId,
        at: Result<Option<u64>>,
        body: Body,
    ) -> Result<u64> {
        let mut frames = self.frames(body);
        let length = match at {
            Ok(at) => self.storage.append(repository, upload, at, &mut frames).await,
            Err(error) => Err(error),
        };
        match &length {
            Ok(_) | Err(Error::TooSlow(_) | Error::BodyBroken(_)) => {}
            Err(_) => drain(&mut frames).await,
        }
        length
    }

    /// The last chunk may come with it.
    pub(super) async fn finish(
        &self,
        repository: RepositoryName,
        upload: UploadId,
        digest: Digest,
        headers: &HeaderMap,
        body: Body,
    ) -> Result<Response> {
        self.receive(&repository, &upload, chunk_start(headers), body).await?;
        self.commit(repository, upload, digest).await
    }

    async fn commit(&self, repository: RepositoryName, upload: UploadId, digest: Digest) -> Result<Response> {
        let storage = self.storage.clone();
        let (name, wanted) = (repository.clone(), digest.clone());
        self.tasks.run(async move { storage.finish_upload(&name, &upload, &wanted).await }).await?;
        Ok(created(&repository, &digest))
    }

    pub(super) async fn cancel(&self, repository: RepositoryName, upload: UploadId) -> Result<Response> {
        let storage = self.storage.clone();
        self.tasks.run(async move { storage.cancel_upload(&repository, &upload).await }).await?;
        Ok(answer::empty(StatusCode::NO_CONTENT))
    }
}
