//! Who may do what. The registry knows no users: it says which permissions an operation needs, and a [`Guard`] that the
//! server brings says whether the caller has them.
//!
//! [`Operation::needs`] is the one table from operations to permissions. It is total, so a new operation cannot be
//! forgotten in it. Push does not include delete, and nothing includes another repository.

use std::fmt;
use std::future::Future;
use std::pin::Pin;

use axum::http::HeaderMap;

use crate::digest::Digest;
use crate::names::{Reference, RepositoryName};
use crate::operation::{Operation, Start};

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Action {
    Pull,
    Push,
    Delete,
}

impl fmt::Display for Action {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Pull => "pull",
            Self::Push => "push",
            Self::Delete => "delete",
        })
    }
}

/// One permission.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Need {
    pub repository: RepositoryName,
    pub action: Action,
    /// For guards that let a caller have one image and not the next.
    pub what: What,
}

/// What of a repository an operation is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum What {
    Blob(Digest),
    Manifest(Reference),
    Referrers(Digest),
    Tags,
    Upload,
}

/// What an operation needs.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Needs {
    /// Without this nothing is done.
    pub must: Option<Need>,
    /// Without this a mount becomes an ordinary upload: refusing would tell a stranger that the source exists.
    pub for_mount: Option<Need>,
}

/// Answers to [`Guard::check`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    Allow,
    /// Come back with a token from this realm. 401.
    Challenge(Challenge),
    /// It is not there, as far as this caller can tell. 404.
    Hide,
    /// It is there, and this caller may not. 403.
    Forbid,
    /// Nobody can say now. 503.
    Unavailable,
}

/// Where tokens come from. Fixed by configuration, never taken from a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Challenge {
    pub realm: String,
    pub service: String,
}

pub type Checking<'a> = Pin<Box<dyn Future<Output = Verdict> + Send + 'a>>;

/// Decides over each request before a byte of its body is read.
pub trait Guard: Send + Sync + 'static {
    /// `need` is nothing for the version check, where a guard that wants a token asks for one.
    fn check<'a>(&'a self, headers: &'a HeaderMap, need: Option<&'a Need>) -> Checking<'a>;
}

/// Lets everybody do everything. For tests and the conformance suite.
pub struct OpenGuard;

impl Guard for OpenGuard {
    fn check<'a>(&'a self, _: &'a HeaderMap, _: Option<&'a Need>) -> Checking<'a> {
        Box::pin(std::future::ready(Verdict::Allow))
    }
}

impl Operation {
    pub fn needs(&self) -> Needs {
        let (repository, action, what) = match self {
            Self::Version => return Needs::default(),
            Self::HeadBlob { repository, digest } | Self::GetBlob { repository, digest } => {
                (repository, Action::Pull, What::Blob(digest.clone()))
            }
            Self::HeadManifest { repository, reference } | Self::GetManifest { repository, reference } => {
                (repository, Action::Pull, What::Manifest(reference.clone()))
            }
            Self::ListTags { repository, .. } => (repository, Action::Pull, What::Tags),
            Self::ListReferrers { repository, subject, .. } => {
                (repository, Action::Pull, What::Referrers(subject.clone()))
            }
            Self::StartUpload { repository, .. }
            | Self::UploadStatus { repository, .. }
            | Self::AppendUpload { repository, .. }
            | Self::FinishUpload { repository, .. }
            | Self::CancelUpload { repository, .. } => (repository, Action::Push, What::Upload),
            Self::PutManifest { repository, reference } => {
                (repository, Action::Push, What::Manifest(reference.clone()))
            }
            Self::DeleteBlob { repository, digest } => {
                (repository, Action::Delete, What::Blob(digest.clone()))
            }
            Self::DeleteManifest { repository, reference } => {
                (repository, Action::Delete, What::Manifest(reference.clone()))
            }
        };
        let for_mount = match self {
            Self::StartUpload { start: Start::Mount { from, digest }, .. } => Some(Need {
                repository: from.clone(),
                action: Action::Pull,
                what: What::Blob(digest.clone()),
            }),
            _ => None,
        };
        Needs { must: Some(Need { repository: repository.clone(), action, what }), for_mount }
    }
}

impl Needs {
    /// What a token should be asked for. Who pushes also looks what is there already, so both go into one token.
    pub(crate) fn scope(&self) -> Option<String> {
        let must = self.must.as_ref()?;
        let actions = match must.action {
            Action::Push => "pull,push",
            Action::Pull => "pull",
            Action::Delete => "delete",
        };
        let mut scope = format!("repository:{}:{actions}", must.repository);
        if let Some(source) = &self.for_mount {
            scope = format!("{scope} repository:{}:{}", source.repository, source.action);
        }
        Some(scope)
    }
}

#[cfg(test)]
mod tests {
    use axum::http::Method;

    use super::*;

    /// Method, route, and the permission on the repository `a/b`; `-` is an operation that does not exist.
    const MATRIX: &str = "
        GET    version   none
        HEAD   version   none
        POST   version   -
        PUT    version   -
        PATCH  version   -
        DELETE version   -
        GET    blob      pull
        HEAD   blob      pull
        POST   blob      -
        PUT    blob      -
        PATCH  blob      -
        DELETE blob      delete
        GET    uploads   -
        HEAD   uploads   -
        POST   uploads   push
        PUT    uploads   -
        PATCH  uploads   -
        DELETE uploads   -
        GET    mount     -
        HEAD   mount     -
        POST   mount     push+pull
        PUT    mount     -
        PATCH  mount     -
        DELETE mount     -
        GET    upload    push
        HEAD   upload    -
        POST   upload    -
        PUT    upload    push
        PATCH  upload    push
        DELETE upload    push
        GET    manifest  pull
        HEAD   manifest  pull
        POST   manifest  -
        PUT    manifest  push
        PATCH  manifest  -
        DELETE manifest  delete
        GET    tag       pull
        HEAD   tag       pull
        POST   tag       -
        PUT    tag       push
        PATCH  tag       -
        DELETE tag       delete
        GET    tags      pull
        HEAD   tags      -
        POST   tags      -
        PUT    tags      -
        PATCH  tags      -
        DELETE tags      -
        GET    referrers pull
        HEAD   referrers -
        POST   referrers -
        PUT    referrers -
        PATCH  referrers -
        DELETE referrers -
        GET    catalogue -
        HEAD   catalogue -
        POST   catalogue -
        PUT    catalogue -
        PATCH  catalogue -
        DELETE catalogue -";

    const DIGEST: &str = "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

    fn routes() -> Vec<(&'static str, String, String)> {
        let digest = format!("digest={DIGEST}");
        vec![
            ("version", "/v2/".into(), String::new()),
            ("blob", format!("/v2/a/b/blobs/{DIGEST}"), String::new()),
            ("uploads", "/v2/a/b/blobs/uploads/".into(), String::new()),
            ("mount", "/v2/a/b/blobs/uploads/".into(), format!("mount={DIGEST}&from=c/d")),
            ("upload", format!("/v2/a/b/blobs/uploads/{}", "0".repeat(32)), digest),
            ("manifest", format!("/v2/a/b/manifests/{DIGEST}"), String::new()),
            ("tag", "/v2/a/b/manifests/latest".into(), String::new()),
            ("tags", "/v2/a/b/tags/list".into(), String::new()),
            ("referrers", format!("/v2/a/b/referrers/{DIGEST}"), String::new()),
            ("catalogue", "/v2/_catalog".into(), String::new()),
        ]
    }

    /// R05: the table, word by word, for each method on each route.
    #[test]
    fn each_method_on_each_route_needs_exactly_what_the_matrix_says() {
        let rows: Vec<Vec<&str>> = MATRIX
            .lines()
            .map(|line| line.split_whitespace().collect())
            .filter(|row: &Vec<_>| !row.is_empty())
            .collect();
        let methods = [Method::GET, Method::HEAD, Method::POST, Method::PUT, Method::PATCH, Method::DELETE];
        assert_eq!(rows.len(), methods.len() * routes().len(), "a row for each");
        for (route, path, query) in routes() {
            for method in &methods {
                let row = rows.iter().find(|row| row[0] == method.as_str() && row[1] == route);
                let expected = row.unwrap_or_else(|| panic!("{method} {route} has no row"))[2];
                let found = match Operation::parse(method, &path, Some(&query)) {
                    Err(_) => "-".to_owned(),
                    Ok(operation) => {
                        let Needs { must, for_mount } = operation.needs();
                        assert!(must.iter().all(|need| need.repository.as_str() == "a/b"));
                        assert!(for_mount.iter().all(|need| need.repository.as_str() == "c/d"));
                        let words: Vec<String> =
                            must.iter().chain(&for_mount).map(|need| need.action.to_string()).collect();
                        if words.is_empty() { "none".to_owned() } else { words.join("+") }
                    }
                };
                assert_eq!(found, expected, "{method} {route}");
            }
        }
        for method in ["OPTIONS", "TRACE", "CONNECT", "FETCH"] {
            for (route, path, query) in routes() {
                let method = Method::from_bytes(method.as_bytes()).unwrap();
                assert!(Operation::parse(&method, &path, Some(&query)).is_err(), "{method} {route}");
            }
        }
    }

    #[test]
    fn a_push_asks_for_a_token_with_which_it_can_also_look() {
        let (_, path, query) = routes().remove(3);
        let needs = Operation::parse(&Method::POST, &path, Some(&query)).unwrap().needs();
        assert_eq!(needs.scope().unwrap(), "repository:a/b:pull,push repository:c/d:pull");
        assert_eq!(Needs::default().scope(), None);
    }
}
