//! How people and programs reach an endpoint: the modes a port allows, the one a launch picks, and the label that is the
//! endpoint's own origin.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::ids::{InstanceId, NodeId, ProjectId, RevisionId, TenantId};
use crate::lifecycle::{Status, named};
use crate::manifest::{EndpointPolicy, Expose};
use crate::text::member_at;
use crate::{Error, FieldError, Result};

named! {
    /// One access model (J-12): private is always there, the others come on top.
    AccessMode {
        /// An authorised private tunnel.
        Private = "private",
        /// An authenticated address of its own, through the gateway.
        PlatformProxy = "platform_proxy",
        /// The same, shown inside the web shell.
        EmbeddedUiGateway = "embedded_ui_gateway",
        /// The same, and who it lets in is a setting of its own.
        Public = "public",
        /// Other components only.
        Internal = "internal",
    }
}

named! {
    /// Who comes in at a public endpoint without being one of us (J-04).
    #[derive(Default)]
    PublicAccess {
        #[default]
        Off = "off",
        /// Whoever has a token of the endpoint, also after its maker has left.
        ApiKey = "api_key",
        /// Everybody.
        Open = "open",
    }
}

impl AccessMode {
    /// Whether the gateway serves it.
    pub fn is_proxied(self) -> bool {
        match self {
            Self::PlatformProxy | Self::EmbeddedUiGateway | Self::Public => true,
            Self::Private | Self::Internal => false,
        }
    }
}

/// The modes a port may have, the usual one first.
pub fn modes(expose: Expose) -> &'static [AccessMode] {
    use AccessMode as M;
    match expose {
        Expose::EmbeddedUiGateway => &[M::EmbeddedUiGateway, M::PlatformProxy, M::Private],
        Expose::PlatformProxy => &[M::PlatformProxy, M::Private],
        // Nobody comes by surprise: public is picked, never the usual.
        Expose::Public => &[M::PlatformProxy, M::Public, M::Private],
        Expose::Private => &[M::Private],
        Expose::Internal => &[M::Internal],
    }
}

/// Why a mode cannot be had, if so. `ceiling` is the most the operator allows.
pub fn refusal(expose: Expose, mode: AccessMode, ceiling: PublicAccess) -> Option<&'static str> {
    if !modes(expose).contains(&mode) {
        return Some("The app does not offer this way of access.");
    }
    (mode == AccessMode::Public && ceiling == PublicAccess::Off)
        .then_some("Public endpoints are switched off on this platform; an operator can allow them.")
}

/// The mode that was picked for an endpoint, or the usual one.
pub fn choose(
    name: &str,
    expose: Expose,
    wish: Option<AccessMode>,
    ceiling: PublicAccess,
) -> Result<AccessMode> {
    let Some(mode) = wish else { return Ok(modes(expose)[0]) };
    match refusal(expose, mode, ceiling) {
        None => Ok(mode),
        Some(why) => {
            Err(Error::fields(vec![FieldError::new(member_at("/access", name), "access_not_allowed", why)]))
        }
    }
}

/// The first part of an endpoint's host name: 26 characters that nobody guesses and nothing else has (129 bits).
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Label(String);

const LABEL_LENGTH: usize = 26;
/// No vowels but `a`, `e` and `u`: labels are not words, and `0`, `1`, `l`, `o` are not mistaken for each other.
const LABEL_ALPHABET: &[u8; 32] = b"abcdefghjkmnpqrstuvwxyz234567890";

impl Label {
    /// From chance. The first character is a letter, so that no part of the name is a number.
    pub fn new(chance: &[u8; 32]) -> Self {
        let mut text = String::with_capacity(LABEL_LENGTH);
        for (place, byte) in chance.iter().take(LABEL_LENGTH).enumerate() {
            let letters = if place == 0 { 16 } else { 32 };
            text.push(char::from(LABEL_ALPHABET[usize::from(*byte) % letters]));
        }
        Self(text)
    }

    /// Only the exact spelling: anything else is no label.
    pub fn parse(text: &str) -> Option<Self> {
        let clean = text.len() == LABEL_LENGTH && text.bytes().all(|b| LABEL_ALPHABET.contains(&b));
        clean.then(|| Self(text.to_owned()))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl std::fmt::Display for Label {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

/// An endpoint as the gateway routes it: by `active_revision`, never by what the instance calls itself.
#[derive(Clone, Debug, PartialEq)]
pub struct EndpointRoute {
    pub label: Label,
    pub tenant_id: TenantId,
    pub project_id: ProjectId,
    pub instance_id: InstanceId,
    pub instance_name: String,
    pub app_name: String,
    pub node_id: NodeId,
    pub component: String,
    pub name: String,
    pub port: u16,
    pub mode: AccessMode,
    pub public_access: PublicAccess,
    pub active_revision: RevisionId,
    pub access_epoch: i64,
    pub status: Status,
    pub decommissioned: bool,
    pub policy: EndpointPolicy,
    pub version: i64,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// J-01, J-12: private is always among the modes of what can be reached at all, and public is never the usual one.
    #[test]
    fn every_reachable_port_can_be_private_and_none_is_public_by_itself() {
        for expose in [Expose::EmbeddedUiGateway, Expose::PlatformProxy, Expose::Public, Expose::Private] {
            assert!(modes(expose).contains(&AccessMode::Private), "{expose:?}");
            assert_ne!(modes(expose)[0], AccessMode::Public);
        }
        assert_eq!(modes(Expose::Internal), [AccessMode::Internal], "J-09");
    }

    /// J-04: public needs both the app's and the operator's word.
    #[test]
    fn public_needs_the_app_and_the_operator() {
        let pick = |expose, ceiling| choose("web", expose, Some(AccessMode::Public), ceiling);
        assert!(pick(Expose::Public, PublicAccess::Open).is_ok());
        for refused in
            [pick(Expose::Public, PublicAccess::Off), pick(Expose::PlatformProxy, PublicAccess::Open)]
        {
            assert_eq!(refused.unwrap_err().code(), "validation_failed");
        }
    }

    #[test]
    fn a_label_is_a_host_name_part_and_only_its_own_spelling_is_read() {
        let label = Label::new(&std::array::from_fn(|n| u8::try_from(n * 7).unwrap()));
        assert_eq!(Label::parse(label.as_str()), Some(label.clone()));
        assert!(label.as_str().as_bytes()[0].is_ascii_lowercase());
        let text = label.as_str();
        for other in [
            text.to_uppercase(),
            format!("{text}a"),
            text[1..].to_owned(),
            format!("{}.", &text[1..]),
            String::new(),
        ] {
            assert_eq!(Label::parse(&other), None, "{other}");
        }
    }
}
