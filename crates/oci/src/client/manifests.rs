//! Manifests by digest and by tag, and lists of tags. What comes by digest is what the digest says; what comes by tag
//! gets its name from its bytes, never from a header.

use bytes::Bytes;
use reqwest::header::{ACCEPT, CONTENT_TYPE, HeaderMap, LINK};
use reqwest::{Method, Response, StatusCode, Url};

use super::{Ask, ClientError, Registry, Result, Scope, plain, read_limited};
use crate::manifest::{self, ACCEPTED, BadManifest, MAX_MANIFEST_BYTES, Manifest};
use crate::{Digest, Repository, Tag, json};

const MAX_TAGS: usize = 100_000;
const MAX_PAGES: usize = 1_000;
const MAX_PAGE_BYTES: usize = 4 * 1024 * 1024;

/// How a manifest is asked for.
#[derive(Clone, Copy, Debug)]
pub enum Pointer<'a> {
    Digest(&'a Digest),
    Tag(&'a Tag),
}

impl<'a> From<&'a Digest> for Pointer<'a> {
    fn from(digest: &'a Digest) -> Self {
        Self::Digest(digest)
    }
}

impl<'a> From<&'a Tag> for Pointer<'a> {
    fn from(tag: &'a Tag) -> Self {
        Self::Tag(tag)
    }
}

impl Pointer<'_> {
    fn path(self) -> String {
        match self {
            Self::Digest(digest) => format!("manifests/{digest}"),
            Self::Tag(tag) => format!("manifests/{tag}"),
        }
    }
}

/// A manifest as it lies in the registry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FetchedManifest {
    pub bytes: Bytes,
    pub media_type: String,
    /// Of the bytes.
    pub digest: Digest,
}

impl FetchedManifest {
    pub fn read(&self) -> std::result::Result<Manifest, BadManifest> {
        manifest::read(&self.bytes, &self.media_type)
    }
}

/// What a registry says of a manifest without showing it. Only its word.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ManifestHead {
    pub digest: Option<Digest>,
    pub media_type: String,
    pub size: Option<u64>,
}

/// What became of a manifest that was put.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PutManifest {
    pub digest: Digest,
    /// The registry has seen the subject and will list the manifest among its referrers.
    pub subject_seen: bool,
}

impl Registry {
    pub async fn get_manifest<'a>(
        &self,
        repository: &Repository,
        by: impl Into<Pointer<'a>>,
    ) -> Result<FetchedManifest> {
        let by = by.into();
        self.retrying(|| self.get_manifest_once(repository, by)).await
    }

    pub async fn find_manifest<'a>(
        &self,
        repository: &Repository,
        by: impl Into<Pointer<'a>>,
    ) -> Result<Option<FetchedManifest>> {
        match self.get_manifest(repository, by).await {
            Ok(manifest) => Ok(Some(manifest)),
            Err(ClientError::NotFound { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    async fn get_manifest_once(&self, repository: &Repository, by: Pointer<'_>) -> Result<FetchedManifest> {
        let url = self.url(repository, &by.path());
        let ask = Ask::new(Method::GET, url, Scope::pull(repository)).header(ACCEPT, &ACCEPTED.join(", "))?;
        let answer = self.ask(&ask, &[StatusCode::OK]).await;
        let mut answer = answer.map_err(|error| match (error, by) {
            (ClientError::Damaged { .. }, Pointer::Digest(wanted)) => {
                let theirs = "something damaged, as it says itself".to_owned();
                ClientError::OtherDigest { ours: wanted.clone(), theirs }
            }
            (error, _) => error,
        })?;
        let media_type = content_type(&answer);
        let bytes = read_limited(self, &mut answer, MAX_MANIFEST_BYTES).await?;
        let digest = Digest::of(&bytes);
        if let Pointer::Digest(wanted) = by
            && *wanted != digest
        {
            return Err(ClientError::OtherDigest { ours: wanted.clone(), theirs: digest.to_string() });
        }
        check_named(answer.headers(), &digest)?;
        Ok(FetchedManifest { bytes, media_type, digest })
    }

    pub async fn find_manifest_head<'a>(
        &self,
        repository: &Repository,
        by: impl Into<Pointer<'a>>,
    ) -> Result<Option<ManifestHead>> {
        let url = self.url(repository, &by.into().path());
        let ask =
            Ask::new(Method::HEAD, url, Scope::pull(repository)).header(ACCEPT, &ACCEPTED.join(", "))?;
        let good = [StatusCode::OK, StatusCode::NOT_FOUND];
        let answer = self.retrying(|| self.ask(&ask, &good)).await?;
        if answer.status() == StatusCode::NOT_FOUND {
            return Ok(None);
        }
        Ok(Some(ManifestHead {
            digest: named_digest(answer.headers()).and_then(|text| text.parse().ok()),
            media_type: content_type(&answer),
            size: answer.headers().get("content-length").and_then(|value| value.to_str().ok()?.parse().ok()),
        }))
    }

    pub async fn put_manifest<'a>(
        &self,
        repository: &Repository,
        by: impl Into<Pointer<'a>>,
        media_type: &str,
        bytes: impl Into<Bytes>,
    ) -> Result<PutManifest> {
        let bytes: Bytes = bytes.into();
        let digest = Digest::of(&bytes);
        let by = by.into();
        if let Pointer::Digest(wanted) = by
            && *wanted != digest
        {
            return Err(ClientError::Unusable { what: format!("the manifest is {digest}, not {wanted}") });
        }
        let url = self.url(repository, &by.path());
        let ask =
            Ask::new(Method::PUT, url, Scope::push(repository)).header(CONTENT_TYPE, media_type)?.body(bytes);
        let good = [StatusCode::CREATED, StatusCode::OK];
        let answer = self.retrying(|| self.ask(&ask, &good)).await?;
        check_named(answer.headers(), &digest)?;
        Ok(PutManifest { digest, subject_seen: answer.headers().contains_key("oci-subject") })
    }

    /// Takes a manifest away, or only its tag if it is named by one.
    pub async fn delete_manifest<'a>(
        &self,
        repository: &Repository,
        by: impl Into<Pointer<'a>>,
    ) -> Result<()> {
        let url = self.url(repository, &by.into().path());
        let ask = Ask::new(Method::DELETE, url, Scope::delete(repository));
        let good = [StatusCode::ACCEPTED, StatusCode::OK, StatusCode::NO_CONTENT];
        self.retrying(|| self.ask(&ask, &good)).await.map(drop)
    }

    /// All tags of a repository, in the registry's order.
    pub async fn list_tags(&self, repository: &Repository) -> Result<Vec<Tag>> {
        let mut tags = Vec::new();
        let mut next = Some(self.url(repository, "tags/list"));
        for _ in 0..MAX_PAGES {
            let Some(url) = next.take() else { return Ok(tags) };
            let ask = Ask::new(Method::GET, url.clone(), Scope::pull(repository));
            let mut answer = self.retrying(|| self.ask(&ask, &[StatusCode::OK])).await?;
            next = self.next_page(&answer)?;
            let bytes = read_limited(self, &mut answer, MAX_PAGE_BYTES).await?;
            tags.extend(tags_in(&bytes).map_err(|why| ClientError::BadAnswer { url: plain(&url), why })?);
            if tags.len() > MAX_TAGS {
                break;
            }
        }
        let url = plain(&self.url(repository, "tags/list"));
        Err(ClientError::TooLarge { url, most: MAX_TAGS as u64 })
    }

    /// `Link: <address>; rel="next"`, if the address is the registry's own.
    pub(super) fn next_page(&self, answer: &Response) -> Result<Option<Url>> {
        let link = answer.headers().get(LINK).and_then(|value| value.to_str().ok());
        let next = link.and_then(|link| link.split(',').find(|part| part.contains("rel=\"next\"")));
        let target = next.and_then(|part| part.trim().strip_prefix('<')?.split_once('>'));
        target.map(|(target, _)| self.at_home(answer, target)).transpose()
    }
}

fn tags_in(bytes: &[u8]) -> std::result::Result<Vec<Tag>, &'static str> {
    let no_list = "the list of tags cannot be read";
    let document = json::read(bytes, MAX_PAGE_BYTES).map_err(|_| no_list)?;
    let top = document.open("", &["name", "tags"]).map_err(|_| no_list)?;
    let list = top.find_list("tags").map_err(|_| no_list)?.unwrap_or_default();
    let tag = |item: &json::Json| match item {
        json::Json::Text(text) => text.parse().map_err(|_| "a tag in the list is none"),
        _ => Err(no_list),
    };
    list.iter().map(tag).collect()
}

pub(super) fn content_type(answer: &Response) -> String {
    let kind = answer.headers().get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    kind.split(';').next().unwrap_or_default().trim().to_owned()
}

fn named_digest(headers: &HeaderMap) -> Option<&str> {
    headers.get("docker-content-digest").and_then(|value| value.to_str().ok())
}

/// A registry that names the bytes otherwise has other bytes, or will show them to nobody under our name.
fn check_named(headers: &HeaderMap, ours: &Digest) -> Result<()> {
    match named_digest(headers) {
        Some(theirs) if theirs != ours.as_str() => {
            let theirs = theirs.chars().take(100).collect();
            Err(ClientError::OtherDigest { ours: ours.clone(), theirs })
        }
        Some(_) | None => Ok(()),
    }
}
