//! Blobs: asked for, read, deleted.

use axum::body::Body;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::Response;

use super::range::{Wanted, wanted};
use super::{Registry, answer};
use crate::digest::Digest;
use crate::error::{Error, Result};
use crate::names::RepositoryName;
use crate::storage::{BlobSource as _, Storage};

/// Of a blob, with all that a HEAD has.
fn of_blob(status: StatusCode, digest: &Digest, length: u64, body: Body) -> Response {
    let mut answer = answer::with_body(status, body);
    answer::set_digest(&mut answer, digest);
    let headers = answer.headers_mut();
    headers.insert(header::CONTENT_LENGTH, length.into());
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/octet-stream"));
    headers.insert(header::ACCEPT_RANGES, HeaderValue::from_static("bytes"));
    answer
}

impl<S: Storage> Registry<S> {
    pub(super) async fn head_blob(&self, repository: &RepositoryName, digest: &Digest) -> Result<Response> {
        let size = self.storage.find_blob_size(repository, digest).await?.ok_or(Error::BlobUnknown)?;
        Ok(of_blob(StatusCode::OK, digest, size, Body::empty()))
    }

    pub(super) async fn get_blob(
        &self,
        repository: &RepositoryName,
        digest: &Digest,
        headers: &HeaderMap,
    ) -> Result<Response> {
        let blob = self.storage.find_blob(repository, digest).await?.ok_or(Error::BlobUnknown)?;
        let size = blob.size();
        match wanted(headers, size) {
            Wanted::All => Ok(of_blob(StatusCode::OK, digest, size, Body::from_stream(blob.read(0..size)))),
            Wanted::Part(range) => {
                let text = format!("bytes {}-{}/{size}", range.start, range.end - 1);
                let length = range.end - range.start;
                let body = Body::from_stream(blob.read(range));
                let mut answer = of_blob(StatusCode::PARTIAL_CONTENT, digest, length, body);
                answer::set(&mut answer, header::CONTENT_RANGE, &text);
                Ok(answer)
            }
            Wanted::Nothing => {
                let mut answer = answer::refusal(&Error::BadRange);
                answer::set(&mut answer, header::CONTENT_RANGE, &format!("bytes */{size}"));
                Ok(answer)
            }
        }
    }

    pub(super) async fn delete_blob(&self, repository: RepositoryName, digest: Digest) -> Result<Response> {
        let storage = self.storage.clone();
        self.tasks.run(async move { storage.delete_blob(&repository, &digest).await }).await?;
        Ok(answer::empty(StatusCode::ACCEPTED))
    }
}
