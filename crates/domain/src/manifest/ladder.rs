//! The rungs of an app version: draft → staged → canary → active → deprecated → retired.
//!
//! The only way back is canary → staged, the rollback. Whoever wants a deprecated version again registers it under a
//! new number: a version that was withdrawn does not return under the same name.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Error, Result};

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum VersionState {
    Draft,
    Staged,
    Canary,
    Active,
    Deprecated,
    Retired,
}

impl VersionState {
    pub const ALL: [Self; 6] =
        [Self::Draft, Self::Staged, Self::Canary, Self::Active, Self::Deprecated, Self::Retired];

    pub fn name(self) -> &'static str {
        match self {
            Self::Draft => "draft",
            Self::Staged => "staged",
            Self::Canary => "canary",
            Self::Active => "active",
            Self::Deprecated => "deprecated",
            Self::Retired => "retired",
        }
    }

    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|state| state.name() == name)
    }

    /// Where a version may go from here.
    pub fn next(self) -> &'static [Self] {
        match self {
            Self::Draft => &[Self::Staged],
            Self::Staged => &[Self::Canary],
            Self::Canary => &[Self::Active, Self::Staged],
            Self::Active => &[Self::Deprecated],
            Self::Deprecated => &[Self::Retired],
            Self::Retired => &[],
        }
    }

    /// The document may still be replaced: nobody has been shown it as a release.
    pub fn is_editable(self) -> bool {
        self == Self::Draft
    }

    /// Somebody may launch a new instance: every entitled tenant, or the canary tenants only.
    pub fn is_launchable(self) -> bool {
        matches!(self, Self::Canary | Self::Active)
    }
}

/// Whether this one step is allowed; evidence and grace periods are the caller's to check.
pub fn check_move(from: VersionState, to: VersionState) -> Result<()> {
    if from.next().contains(&to) {
        return Ok(());
    }
    let next: Vec<&str> = from.next().iter().map(|state| state.name()).collect();
    let way = if next.is_empty() {
        "it stays there".to_owned()
    } else {
        format!("it can go to {}", next.join(" or "))
    };
    Err(Error::conflict(
        "illegal_version_move",
        format!("The version is {} and cannot become {}; {way}.", from.name(), to.name()),
    )
    .with_param("from", from.name())
    .with_param("to", to.name())
    .with_param("allowed", next))
}

#[cfg(test)]
mod tests {
    use super::VersionState::{Active, Canary, Deprecated, Draft, Retired, Staged};
    use super::*;

    /// E-08, E-09, E-10, E-11, E-12.
    #[test]
    fn exactly_the_moves_of_the_ladder_are_allowed() {
        let allowed = [
            (Draft, Staged),
            (Staged, Canary),
            (Canary, Active),
            (Canary, Staged),
            (Active, Deprecated),
            (Deprecated, Retired),
        ];
        for from in VersionState::ALL {
            for to in VersionState::ALL {
                match check_move(from, to) {
                    Ok(()) => assert!(allowed.contains(&(from, to)), "{from:?} {to:?}"),
                    Err(error) => {
                        assert!(!allowed.contains(&(from, to)), "{from:?} {to:?}");
                        assert_eq!(error.code(), "illegal_version_move");
                        assert_eq!(error.params()["from"], from.name());
                    }
                }
            }
        }
    }

    #[test]
    fn a_state_is_read_as_it_is_written() {
        for state in VersionState::ALL {
            assert_eq!(VersionState::parse(state.name()), Some(state));
        }
        assert_eq!(VersionState::parse("published"), None);
    }
}
