//! What a request asks for: method, path and query, parsed once into one value.
//!
//! A repository may have any number of segments and segments may be called `blobs` or `tags`, so a path is read from
//! its end. The value decides both what is done and what it needs permission for; there is no second reading.

use std::fmt::Write as _;

use axum::http::Method;

use crate::digest::Digest;
use crate::error::{Error, Result};
use crate::names::{BadReference, Reference, RepositoryName, UploadId};

/// How an upload begins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Start {
    Empty,
    /// The body of this request is the blob.
    Whole(Digest),
    /// Nothing is sent if this repository has it already.
    Mount {
        digest: Digest,
        from: RepositoryName,
    },
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Operation {
    Version,
    HeadBlob {
        repository: RepositoryName,
        digest: Digest,
    },
    GetBlob {
        repository: RepositoryName,
        digest: Digest,
    },
    DeleteBlob {
        repository: RepositoryName,
        digest: Digest,
    },
    StartUpload {
        repository: RepositoryName,
        start: Start,
    },
    UploadStatus {
        repository: RepositoryName,
        upload: UploadId,
    },
    AppendUpload {
        repository: RepositoryName,
        upload: UploadId,
    },
    FinishUpload {
        repository: RepositoryName,
        upload: UploadId,
        digest: Digest,
    },
    CancelUpload {
        repository: RepositoryName,
        upload: UploadId,
    },
    HeadManifest {
        repository: RepositoryName,
        reference: Reference,
    },
    GetManifest {
        repository: RepositoryName,
        reference: Reference,
    },
    PutManifest {
        repository: RepositoryName,
        reference: Reference,
    },
    DeleteManifest {
        repository: RepositoryName,
        reference: Reference,
    },
    ListTags {
        repository: RepositoryName,
        limit: Option<usize>,
        last: Option<String>,
    },
    ListReferrers {
        repository: RepositoryName,
        subject: Digest,
        artifact_type: Option<String>,
        last: Option<Digest>,
    },
}

enum Target<'p> {
    Version,
    Blob(&'p str, &'p str),
    Uploads(&'p str),
    Upload(&'p str, &'p str),
    Manifest(&'p str, &'p str),
    Tags(&'p str),
    Referrers(&'p str, &'p str),
}

fn target(path: &str) -> Option<Target<'_>> {
    let rest = path.strip_prefix("/v2")?;
    if rest.is_empty() || rest == "/" {
        return Some(Target::Version);
    }
    let rest = rest.strip_prefix('/')?;
    if let Some(name) = rest.strip_suffix("/blobs/uploads/").or_else(|| rest.strip_suffix("/blobs/uploads")) {
        return Some(Target::Uploads(name));
    }
    let (rest, last) = rest.rsplit_once('/')?;
    let (name, kind) = rest.rsplit_once('/')?;
    match kind {
        "blobs" => Some(Target::Blob(name, last)),
        "uploads" => Some(Target::Upload(name.strip_suffix("/blobs")?, last)),
        "manifests" => Some(Target::Manifest(name, last)),
        "tags" if last == "list" => Some(Target::Tags(name)),
        "referrers" => Some(Target::Referrers(name, last)),
        _ => None,
    }
}

impl Operation {
    pub fn parse(method: &Method, path: &str, query: Option<&str>) -> Result<Self> {
        let path = decode(path, false).ok_or(Error::NoSuchRoute)?;
        let query = Query(query.unwrap_or_default());
        let name = |text: &str| text.parse::<RepositoryName>().map_err(|_| Error::BadName);
        let operation = match target(&path).ok_or(Error::NoSuchRoute)? {
            Target::Version => match *method {
                Method::GET | Method::HEAD => Self::Version,
                _ => return Err(Error::MethodNotAllowed),
            },
            Target::Blob(repository, digest) => {
                let (repository, digest) = (name(repository)?, digest.parse()?);
                match *method {
                    Method::GET => Self::GetBlob { repository, digest },
                    Method::HEAD => Self::HeadBlob { repository, digest },
                    Method::DELETE => Self::DeleteBlob { repository, digest },
                    _ => return Err(Error::MethodNotAllowed),
                }
            }
            Target::Uploads(repository) => match *method {
                Method::POST => Self::StartUpload { repository: name(repository)?, start: query.start()? },
                _ => return Err(Error::MethodNotAllowed),
            },
            Target::Upload(repository, upload) => {
                let repository = name(repository)?;
                let upload = upload.parse().map_err(|_| Error::UploadUnknown)?;
                match *method {
                    Method::GET => Self::UploadStatus { repository, upload },
                    Method::PATCH => Self::AppendUpload { repository, upload },
                    Method::PUT => {
                        let digest = query.get("digest").ok_or(Error::BadDigest(crate::MalformedDigest))?;
                        Self::FinishUpload { repository, upload, digest: digest.parse()? }
                    }
                    Method::DELETE => Self::CancelUpload { repository, upload },
                    _ => return Err(Error::MethodNotAllowed),
                }
            }
            Target::Manifest(repository, reference) => {
                let repository = name(repository)?;
                let reference = reference.parse().map_err(|error| match (error, method) {
                    (BadReference::Digest(error), _) => Error::BadDigest(error),
                    (BadReference::Tag(_), &Method::PUT) => Error::BadTag,
                    // What can never be put is not there: the conformance suite asks for just that.
                    (BadReference::Tag(_), _) => Error::ManifestUnknown,
                })?;
                match *method {
                    Method::GET => Self::GetManifest { repository, reference },
                    Method::HEAD => Self::HeadManifest { repository, reference },
                    Method::PUT => Self::PutManifest { repository, reference },
                    Method::DELETE => Self::DeleteManifest { repository, reference },
                    _ => return Err(Error::MethodNotAllowed),
                }
            }
            Target::Tags(repository) => match *method {
                Method::GET => Self::ListTags {
                    repository: name(repository)?,
                    limit: query
                        .get("n")
                        .map(|text| text.parse())
                        .transpose()
                        .map_err(|_| Error::BadQuery("n"))?,
                    last: query.get("last"),
                },
                _ => return Err(Error::MethodNotAllowed),
            },
            Target::Referrers(repository, subject) => match *method {
                Method::GET => Self::ListReferrers {
                    repository: name(repository)?,
                    subject: subject.parse()?,
                    artifact_type: query.get("artifactType"),
                    last: query
                        .get("last")
                        .map(|text| text.parse())
                        .transpose()
                        .map_err(|_| Error::BadQuery("last"))?,
                },
                _ => return Err(Error::MethodNotAllowed),
            },
        };
        Ok(operation)
    }
}

struct Query<'q>(&'q str);

impl Query<'_> {
    /// The first value of this parameter; one that cannot be decoded counts as text that nothing parses.
    fn get(&self, wanted: &str) -> Option<String> {
        self.0.split('&').find_map(|pair| {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            (name == wanted).then(|| decode(value, true).unwrap_or_default())
        })
    }

    /// Mounting by digest alone would let anybody who knows a digest read what lies in a stranger's repository, so
    /// without `from` it is an ordinary upload; the specification leaves that to us.
    fn start(&self) -> Result<Start> {
        if let Some(digest) = self.get("mount") {
            let digest = digest.parse()?;
            return match self.get("from") {
                Some(from) => Ok(Start::Mount { digest, from: from.parse().map_err(|_| Error::BadName)? }),
                None => Ok(Start::Empty),
            };
        }
        match self.get("digest") {
            Some(digest) => Ok(Start::Whole(digest.parse()?)),
            None => Ok(Start::Empty),
        }
    }
}

/// Takes `%41` for `A`, and in a query `+` for a space.
fn decode(text: &str, plus_is_space: bool) -> Option<String> {
    if !text.contains(['%', '+']) {
        return Some(text.to_owned());
    }
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'%' => {
                let mut digit = || char::from(rest.next()?).to_digit(16);
                u8::try_from(digit()? * 16 + digit()?).ok()?
            }
            b'+' if plus_is_space => b' ',
            other => other,
        });
    }
    String::from_utf8(bytes).ok()
}

/// As a value in a query.
pub(crate) fn encode(text: &str) -> String {
    let mut encoded = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            encoded.push(char::from(byte));
        } else {
            // Writing to a text cannot fail.
            let _ = write!(encoded, "%{byte:02X}");
        }
    }
    encoded
}

#[cfg(test)]
mod tests {
    use super::*;

    const DIGEST: &str = "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

    fn get(path: &str) -> Result<Operation> {
        Operation::parse(&Method::GET, path, None)
    }

    #[test]
    fn a_path_is_read_from_its_end_so_that_any_segment_may_be_called_anything() {
        for name in ["a", "a/b/c/d", "blobs", "tags/list", "a/blobs/uploads", "manifests/manifests"] {
            let repository: RepositoryName = name.parse().unwrap();
            let parsed = get(&format!("/v2/{name}/blobs/{DIGEST}")).unwrap();
            assert_eq!(
                parsed,
                Operation::GetBlob { repository: repository.clone(), digest: DIGEST.parse().unwrap() }
            );
            let start = Operation::parse(&Method::POST, &format!("/v2/{name}/blobs/uploads/"), None).unwrap();
            assert_eq!(start, Operation::StartUpload { repository: repository.clone(), start: Start::Empty });
            let tags = get(&format!("/v2/{name}/tags/list")).unwrap();
            assert_eq!(tags, Operation::ListTags { repository, limit: None, last: None });
        }
    }

    #[test]
    fn escapes_mean_what_they_stand_for_and_lead_nowhere_else() {
        let escaped = DIGEST.replace(':', "%3A");
        assert!(
            matches!(get(&format!("/v2/a%2fb/blobs/{escaped}")), Ok(Operation::GetBlob { repository, .. })
            if repository.as_str() == "a/b")
        );
        assert_eq!(decode(&encode("a/b +c%ä"), true).as_deref(), Some("a/b +c%ä"));
        let query = format!("mount={escaped}&from=x%2Fy");
        let start = Operation::parse(&Method::POST, "/v2/a/blobs/uploads/", Some(&query)).unwrap();
        assert!(
            matches!(start, Operation::StartUpload { start: Start::Mount { from, .. }, .. } if from.as_str() == "x/y")
        );
        for path in [
            "/v2/a/%2e%2e/b/tags/list",
            "/v2/..%2f..%2fa/tags/list",
            "/v2/a%00/tags/list",
            "/v2/%/tags/list",
            "/v2/%e4/tags/list",
        ] {
            assert!(get(path).is_err(), "{path}");
        }
    }

    #[test]
    fn what_cannot_be_meant_is_named() {
        assert!(matches!(get("/v2/_catalog"), Err(Error::NoSuchRoute)));
        assert!(matches!(get("/v3/a/tags/list"), Err(Error::NoSuchRoute)));
        assert!(matches!(get("/v2/A/tags/list"), Err(Error::BadName)));
        assert!(matches!(get("/v2/a/manifests/sha256:bad"), Err(Error::BadDigest(_))));
        assert!(matches!(get("/v2/a/blobs/latest"), Err(Error::BadDigest(_))));
        assert!(matches!(get("/v2/a/blobs/uploads/1"), Err(Error::UploadUnknown)));
        assert!(matches!(
            Operation::parse(&Method::GET, "/v2/a/tags/list", Some("n=x")),
            Err(Error::BadQuery("n"))
        ));
        let upload = format!("/v2/a/blobs/uploads/{}", "0".repeat(32));
        assert!(matches!(Operation::parse(&Method::PUT, &upload, None), Err(Error::BadDigest(_))));
        let anonymous = format!("mount={DIGEST}");
        assert!(matches!(
            Operation::parse(&Method::POST, "/v2/a/blobs/uploads/", Some(&anonymous)),
            Ok(Operation::StartUpload { start: Start::Empty, .. })
        ));
    }
}
