//! Manifests, tags and referrers.

use axum::body::Body;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::Response;
use bytes::{Bytes, BytesMut};
use futures_util::TryStreamExt as _;
use serde_json::json;

use super::range::content_length;
use super::{Registry, answer, drain};
use crate::digest::{Algorithm, Digest};
use crate::error::{Error, Result};
use crate::manifest::{self, MAX_MANIFEST_BYTES, MediaType, OCI_INDEX};
use crate::names::{Reference, RepositoryName};
use crate::operation::encode;
use crate::storage::{NewManifest, Storage};

/// More are given page by page.
const MAX_TAGS: usize = 10_000;

fn media_type(headers: &HeaderMap) -> Result<MediaType> {
    let value = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
    let essence = value.map(|value| value.split(';').next().unwrap_or_default().trim());
    essence.and_then(MediaType::parse).ok_or(Error::UnknownMediaType)
}

impl<S: Storage> Registry<S> {
    pub(super) async fn get_manifest(
        &self,
        repository: &RepositoryName,
        reference: &Reference,
        head: bool,
    ) -> Result<Response> {
        let found = self.storage.find_manifest(repository, reference).await?.ok_or(Error::ManifestUnknown)?;
        let body = if head { Body::empty() } else { Body::from(found.bytes.clone()) };
        let mut answer = answer::with_body(StatusCode::OK, body);
        answer::set_digest(&mut answer, &found.digest);
        let headers = answer.headers_mut();
        headers.insert(header::CONTENT_LENGTH, found.bytes.len().into());
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(found.media_type.as_str()));
        Ok(answer)
    }

    async fn whole(&self, headers: &HeaderMap, body: Body) -> Result<Bytes> {
        let too_large = || Error::TooLarge { limit: MAX_MANIFEST_BYTES as u64 };
        let expected = content_length(headers).unwrap_or_default();
        let mut frames = self.frames(body);
        if expected > MAX_MANIFEST_BYTES as u64 {
            drain(&mut frames).await;
            return Err(too_large());
        }
        // A client that says much and sends little gets little memory.
        let mut bytes = BytesMut::with_capacity(usize::try_from(expected).unwrap_or_default().min(64 << 10));
        while let Some(frame) = frames.try_next().await? {
            if bytes.len() + frame.len() > MAX_MANIFEST_BYTES {
                return Err(too_large());
            }
            bytes.extend_from_slice(&frame);
        }
        Ok(bytes.freeze())
    }

    pub(super) async fn put_manifest(
        &self,
        repository: RepositoryName,
        reference: Reference,
        headers: &HeaderMap,
        body: Body,
    ) -> Result<Response> {
        let bytes = self.whole(headers, body).await?;
        let media_type = media_type(headers)?;
        let (storage, policy, name) = (self.storage.clone(), self.settings.policy, repository.clone());
        let put = async move {
            let (digest, tag) = match reference {
                Reference::Tag(tag) => (Digest::of(Algorithm::Sha256, &bytes), Some(tag)),
                Reference::Digest(digest) => (digest, None),
            };
            if Digest::of(digest.algorithm(), &bytes) != digest {
                return Err(Error::OtherDigest);
            }
            let manifest = manifest::read(&bytes, media_type, policy)?;
            let subject = manifest.subject.clone();
            storage.put_manifest(&name, NewManifest { digest: digest.clone(), bytes, manifest, tag }).await?;
            Ok((digest, subject))
        };
        let (digest, subject) = self.tasks.run(put).await?;
        let mut answer = answer::empty(StatusCode::CREATED);
        answer::set(&mut answer, header::LOCATION, &format!("/v2/{repository}/manifests/{digest}"));
        answer::set_digest(&mut answer, &digest);
        if let Some(subject) = subject {
            answer::set(&mut answer, answer::SUBJECT, subject.as_str());
        }
        Ok(answer)
    }

    pub(super) async fn delete_manifest(
        &self,
        repository: RepositoryName,
        reference: Reference,
    ) -> Result<Response> {
        let storage = self.storage.clone();
        self.tasks.run(async move { storage.delete_manifest(&repository, &reference).await }).await?;
        Ok(answer::empty(StatusCode::ACCEPTED))
    }

    pub(super) async fn list_tags(
        &self,
        repository: &RepositoryName,
        limit: Option<usize>,
        last: Option<String>,
    ) -> Result<Response> {
        let limit = limit.unwrap_or(MAX_TAGS).min(MAX_TAGS);
        let page = self.storage.list_tags(repository, last.as_deref(), limit).await?;
        let page = page.ok_or(Error::RepositoryUnknown)?;
        let tags: Vec<&str> = page.tags.iter().map(crate::Tag::as_str).collect();
        let body = json!({"name": repository.as_str(), "tags": tags});
        let mut answer = answer::json(StatusCode::OK, "application/json", &body);
        if let (true, Some(last)) = (page.more, tags.last()) {
            let link = format!("</v2/{repository}/tags/list?n={limit}&last={last}>; rel=\"next\"");
            answer::set(&mut answer, header::LINK, &link);
        }
        Ok(answer)
    }

    /// Of a subject that is not there the list is empty, not missing: an answer may come before the question.
    pub(super) async fn list_referrers(
        &self,
        repository: &RepositoryName,
        subject: &Digest,
        artifact_type: Option<String>,
        last: Option<&Digest>,
    ) -> Result<Response> {
        let mut page = self.storage.referrer_page(repository, subject, last).await?;
        if artifact_type.is_some() {
            page.referrers.retain(|referrer| referrer.artifact_type == artifact_type);
        }
        let body = json!({"schemaVersion": 2, "mediaType": OCI_INDEX, "manifests": page.referrers});
        let mut answer = answer::json(StatusCode::OK, OCI_INDEX, &body);
        if let Some(next) = page.next {
            let filter = artifact_type.as_deref().map(encode);
            let filter = filter.map_or(String::new(), |kind| format!("&artifactType={kind}"));
            let link = format!("</v2/{repository}/referrers/{subject}?last={next}{filter}>; rel=\"next\"");
            answer::set(&mut answer, header::LINK, &link);
        }
        if artifact_type.is_some() {
            answer::set(&mut answer, answer::FILTERS, "artifactType");
        }
        Ok(answer)
    }
}
