//! The scopes that we ask for.

use crate::Repository;

/// What a token must allow. It is made from what we are about to do; the scope in a challenge is the registry's wish
/// and could ask for more.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Scope(Vec<String>);

impl Scope {
    pub(crate) fn pull(repository: &Repository) -> Self {
        Self(vec![format!("repository:{repository}:pull")])
    }

    pub(crate) fn push(repository: &Repository) -> Self {
        Self(vec![format!("repository:{repository}:pull,push")])
    }

    pub(crate) fn delete(repository: &Repository) -> Self {
        Self(vec![format!("repository:{repository}:pull,delete")])
    }

    pub(crate) fn mount(from: &Repository, to: &Repository) -> Self {
        Self(vec![format!("repository:{to}:pull,push"), format!("repository:{from}:pull")])
    }

    pub(super) fn words(&self) -> &[String] {
        &self.0
    }
}
