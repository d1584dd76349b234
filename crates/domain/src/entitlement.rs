//! What a tenant or project may launch.
//!
//! A tenant or platform admin *allows*; a project admin may only *narrow* inside that (E-22). What holds is the
//! intersection.

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Error, Result};

/// Which versions of an app: all of those in these channels, or exactly these.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Terms {
    pub enabled: bool,
    /// Exactly these versions; any if absent.
    #[schemars(length(max = 100))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub versions: Option<BTreeSet<String>>,
    /// States of the ladder a version must be in: `active`, `canary`; `active` if absent.
    #[schemars(length(max = 10))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub channels: Option<BTreeSet<Channel>>,
}

/// A state of the ladder from which may be launched.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Channel {
    Canary,
    Active,
}

impl Channel {
    pub fn name(self) -> &'static str {
        match self {
            Self::Canary => "canary",
            Self::Active => "active",
        }
    }
}

impl Terms {
    fn channels(&self) -> BTreeSet<Channel> {
        self.channels.clone().unwrap_or_else(|| BTreeSet::from([Channel::Active]))
    }

    pub fn admits(&self, version: &str, channel: Channel) -> bool {
        self.enabled
            && self.channels().contains(&channel)
            && self.versions.as_ref().is_none_or(|versions| versions.contains(version))
    }

    /// Whether everything `self` admits is admitted by `outer` too.
    pub fn is_within(&self, outer: &Self) -> bool {
        if !self.enabled {
            return true;
        }
        let versions_within = match (&self.versions, &outer.versions) {
            (_, None) => true,
            (None, Some(_)) => false,
            (Some(inner), Some(outer)) => inner.is_subset(outer),
        };
        outer.enabled && versions_within && self.channels().is_subset(&outer.channels())
    }
}

/// Everything that was said about one app in one project.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Layers {
    /// For the whole tenant.
    pub tenant: Option<Terms>,
    /// For this project, by somebody above it.
    pub allowed: Option<Terms>,
    /// By the project itself.
    pub narrowed: Option<Terms>,
}

impl Layers {
    /// What those above the project allow: what was said for the project goes before what was said for the tenant.
    pub fn allowed(&self) -> Option<&Terms> {
        self.allowed.as_ref().or(self.tenant.as_ref())
    }

    pub fn admits(&self, version: &str, channel: Channel) -> bool {
        self.allowed().is_some_and(|terms| terms.admits(version, channel))
            && self.narrowed.as_ref().is_none_or(|terms| terms.admits(version, channel))
    }

    /// Whether the app is to be seen at all.
    pub fn enabled(&self) -> bool {
        self.allowed().is_some_and(|terms| terms.enabled)
            && self.narrowed.as_ref().is_none_or(|terms| terms.enabled)
    }

    /// A project admin's wish must stay inside what was allowed.
    pub fn check_narrowing(&self, wish: &Terms) -> Result<()> {
        let nothing = Terms::default();
        if wish.is_within(self.allowed().unwrap_or(&nothing)) {
            return Ok(());
        }
        Err(Error::forbidden(
            "entitlement_not_allowed",
            "A project may only narrow or disable what its tenant allowed; ask a tenant admin to enable it.",
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn terms(enabled: bool, versions: Option<&[&str]>, channels: Option<&[Channel]>) -> Terms {
        Terms {
            enabled,
            versions: versions.map(|all| all.iter().map(ToString::to_string).collect()),
            channels: channels.map(|all| all.iter().copied().collect()),
        }
    }

    /// E-04, E-22.
    #[test]
    fn a_project_can_only_narrow_what_its_tenant_allowed() {
        let on = terms(true, None, None);
        let one = terms(true, Some(&["1.0.0"]), None);
        let off = terms(false, None, None);
        let canary = terms(true, None, Some(&[Channel::Canary, Channel::Active]));
        let layers = Layers { tenant: Some(on.clone()), ..Layers::default() };
        for (wish, fine) in [(&on, true), (&one, true), (&off, true), (&canary, false)] {
            assert_eq!(layers.check_narrowing(wish).is_ok(), fine, "{wish:?}");
        }
        assert!(Layers::default().check_narrowing(&on).is_err(), "nothing was allowed");
        assert!(Layers::default().check_narrowing(&off).is_ok());
        let narrowed = Layers { narrowed: Some(one), ..layers.clone() };
        assert!(narrowed.admits("1.0.0", Channel::Active) && !narrowed.admits("1.1.0", Channel::Active));
        assert!(layers.admits("1.1.0", Channel::Active) && !layers.admits("1.1.0", Channel::Canary));
        let disabled = Layers { narrowed: Some(off), ..layers };
        assert!(!disabled.enabled() && !disabled.admits("1.0.0", Channel::Active));
        assert!(!Layers::default().enabled());
    }
}
