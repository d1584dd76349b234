//! Limits are rows: a number per name and scope, with a default where no row stands.

use serde::{Deserialize, Serialize};

use crate::{Error, Result};

macro_rules! limits {
    ($($variant:ident = $name:literal, $default:literal, $about:literal;)*) => {
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, schemars::JsonSchema)]
        #[serde(rename_all = "snake_case")]
        pub enum Limit { $(#[doc = $about] $variant,)* }

        impl Limit {
            pub const ALL: &'static [Limit] = &[$(Limit::$variant),*];

            pub fn name(self) -> &'static str {
                match self { $(Limit::$variant => $name),* }
            }

            pub fn default_value(self) -> i64 {
                match self { $(Limit::$variant => $default),* }
            }

            pub fn about(self) -> &'static str {
                match self { $(Limit::$variant => $about),* }
            }
        }
    };
}

limits! {
    Projects = "projects", 10_000, "Projects of one tenant.";
    ServiceAccounts = "service_accounts", 1_000, "Service accounts of one project.";
    PersonalTokens = "personal_tokens", 50, "Live personal tokens of one person.";
    Allocations = "allocations", 1_000, "Allocations of one project that are not released.";
    Gpus = "gpus", 100_000, "GPUs that one project may hold.";
    Instances = "instances", 10_000, "Instances of one project that are not decommissioned.";
    RegistryMib = "registry_mib", 102_400, "Mebibytes that the images of one project may take in the registry.";
    Repositories = "repositories", 1_000, "Repositories of one project.";
    TrustKeys = "trust_keys", 100, "Keys of one project, revoked ones included.";
    EndpointTokens = "endpoint_tokens", 100, "Live tokens of one endpoint.";
    Volumes = "volumes", 1_000, "Volumes of one project that are not deleted.";
    Presets = "presets", 1_000, "Presets of launch forms of one project.";
    Bindings = "bindings", 10_000, "Role bindings of one tenant or project.";
}

impl Limit {
    pub const MAX: i64 = 1_000_000_000;

    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|limit| limit.name() == name)
    }

    /// Whether one more fits.
    pub fn check(self, limit: i64, present: i64) -> Result<()> {
        if present < limit {
            return Ok(());
        }
        Err(Error::conflict(
            "limit_reached",
            format!(
                "The limit of {limit} {} is reached; remove some or ask for a higher limit.",
                self.name()
            ),
        )
        .with_param("limit", self.name())
        .with_param("value", limit))
    }
}
