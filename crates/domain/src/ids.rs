//! Typed ids. All are UUIDv7: made by the server from its clock and entropy, so they sort by age and a test
//! can make the same ones again.

use uuid::{Builder, Uuid};

use crate::Timestamp;

/// Parses the one spelling we print: lower-case, hyphenated. Other spellings of a UUID are refused, so that an
/// object has one address.
pub fn parse_uuid(text: &str) -> Option<Uuid> {
    let parsed = Uuid::try_parse(text).ok()?;
    (parsed.as_hyphenated().to_string() == text).then_some(parsed)
}

/// A version 7 UUID from a moment and ten random bytes.
pub fn uuid_v7(at: Timestamp, random: &[u8; 10]) -> Uuid {
    let millis = u64::try_from(at.unix_micros() / 1000).unwrap_or(0);
    Builder::from_unix_timestamp_millis(millis, random).into_uuid()
}

macro_rules! typed_id {
    ($(#[$doc:meta] $name:ident),* $(,)?) => {$(
        #[$doc]
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, schemars::JsonSchema)]
        #[serde(transparent)]
        pub struct $name(Uuid);

        impl $name {
            pub const fn new(id: Uuid) -> Self {
                Self(id)
            }

            pub const fn uuid(self) -> Uuid {
                self.0
            }
        }

        impl std::str::FromStr for $name {
            type Err = crate::Error;

            fn from_str(text: &str) -> crate::Result<Self> {
                parse_uuid(text).map(Self).ok_or_else(crate::Error::not_found)
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                self.0.as_hyphenated().fmt(f)
            }
        }

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let text = std::borrow::Cow::<'de, str>::deserialize(deserializer)?;
                parse_uuid(&text).map(Self).ok_or_else(|| {
                    serde::de::Error::custom("expected an id: a lower-case, hyphenated UUID")
                })
            }
        }
    )*};
}

typed_id! {
    /// A customer of the operator; owns projects.
    TenantId,
    /// Where things run and are charged; belongs to one tenant.
    ProjectId,
    /// A person.
    UserId,
    /// A named set of permissions.
    RoleId,
    /// A role given to somebody at a scope.
    BindingId,
    /// A machine caller of one project.
    ServiceAccountId,
    /// One public key of a service account; the `kid` of its assertions.
    KeyId,
    /// A person's access token for command line and scripts.
    PersonalTokenId,
    /// A browser session.
    SessionId,
    /// One thing that happened, told to the outside world.
    EventId,
    /// One recorded decision.
    AuditId,
    /// A sealed value in custody.
    SecretId,
    /// A value that opens once.
    WrapId,
    /// An item of the leased work queue.
    WorkId,
    /// A one-time sign-in link.
    LinkId,
    /// A machine that runs workloads.
    NodeId,
    /// A one-time token that lets a machine join.
    JoinTokenId,
    /// A device of a node.
    GpuId,
    /// Something that can be allocated, with a price.
    SkuId,
    /// One immutable price of a SKU.
    PriceId,
    /// Compute that a project holds.
    AllocationId,
    /// A registered manifest.
    AppVersionId,
    /// A running (or once running) app.
    InstanceId,
    /// An instance's immutable description at one time.
    RevisionId,
    /// An instance's share of one allocation.
    MemberId,
    /// A line of an instance's timeline.
    TimelineId,
    /// An order for a node.
    TaskId,
    /// A stretch of time that may be charged.
    IntervalId,
    /// What an app said that was used.
    MeteringRecordId,
    /// Something held for an instance or allocation: a device, a port.
    ReservationId,
    /// A place for the images of one app.
    RepositoryId,
    /// A published image.
    ArtifactId,
    /// A key that may stand for images.
    TrustKeyId,
    /// What opens one repository for a short while.
    RegistryCredentialId,
    /// Exchanged once for a session with an endpoint.
    AccessCodeId,
    /// A person's session with one endpoint.
    AppSessionId,
    /// A program's token for one endpoint.
    EndpointTokenId,
    /// Storage of a project on one node.
    VolumeId,
    /// Choices of a launch form under a name.
    PresetId,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_printed_spelling_of_an_id_is_read() {
        let id = uuid_v7(Timestamp::from_unix_seconds(1_700_000_000).unwrap(), &[7; 10]);
        assert_eq!(id.get_version_num(), 7);
        let text = id.to_string();
        assert_eq!(parse_uuid(&text), Some(id));
        for other in [
            text.to_uppercase(),
            text.replace('-', ""),
            format!("{{{text}}}"),
            format!("urn:uuid:{text}"),
            format!(" {text}"),
            format!("{text}\0"),
            "../../etc/passwd".into(),
            String::new(),
        ] {
            assert_eq!(parse_uuid(&other), None, "{other:?}");
        }
    }
}
