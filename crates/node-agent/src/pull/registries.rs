//! The registry's side of a pull: who is believed to be which registry, and what its failures are called.
//!
//! A token goes to the registry's own origin and nowhere else, and a redirect is followed only there: a registry must
//! not be able to point the node at other machines of its network. A registry that hands its blobs out from elsewhere
//! has to be told to proxy them (`redirect.disable` in CNCF distribution).

use gpuaas_agent_protocol::{Digest, FailureReason};
use gpuaas_oci::manifest::BadManifest;
use gpuaas_oci::{ClientError, Credentials, Redirects, Registry, Settings};

use super::{PullSettings, TRIES};
use crate::seams::Failure;

/// Connections to registries, by whom they trust.
pub(super) struct Registries {
    /// The platform itself: its own CA and no other.
    home: reqwest::Client,
    /// Other registries: the machine's roots, and the platform's CA.
    others: reqwest::Client,
    plain: reqwest::Client,
    home_url: String,
    settings: Settings,
}

impl Registries {
    pub(super) fn new(settings: &PullSettings) -> std::io::Result<Self> {
        let builder = || {
            reqwest::Client::builder()
                .redirect(reqwest::redirect::Policy::none())
                .no_proxy()
                .referer(false)
                .connect_timeout(settings.connect_timeout)
                .pool_max_idle_per_host(8)
                .user_agent(concat!("gpuaas-agent/", env!("CARGO_PKG_VERSION")))
        };
        let unusable = |error: reqwest::Error| std::io::Error::other(error);
        let own = reqwest::Certificate::from_pem_bundle(settings.platform_ca_pem.as_bytes());
        let own = own.map_err(unusable)?;
        let home = builder().tls_certs_only(own.clone()).build().map_err(unusable)?;
        // A machine without roots of its own gets the platform's alone.
        let others = builder().tls_certs_merge(own).build().unwrap_or_else(|error| {
            tracing::warn!("the machine's own certificates cannot be used for registries: {error}");
            home.clone()
        });
        // No certificate will be checked; a machine without any roots can still pull from itself.
        let plain = builder().tls_certs_only([]).build().map_err(unusable)?;
        let patience = Settings {
            connect_timeout: settings.connect_timeout,
            answer_timeout: settings.stall_timeout,
            stall_timeout: settings.stall_timeout,
            attempts: TRIES,
            first_pause: settings.retry_pause,
            redirects: Redirects::SameOrigin,
            ..Settings::default()
        };
        Ok(Self { home, others, plain, home_url: settings.platform_url.clone(), settings: patience })
    }

    /// The registry at this address, or the platform's own.
    pub(super) fn open(&self, url: Option<&str>, credentials: Credentials) -> Result<Registry, Failure> {
        let (http, url) = match url {
            None => (&self.home, self.home_url.as_str()),
            Some(url) if url.starts_with("https:") => (&self.others, url),
            Some(url) => (&self.plain, url),
        };
        Registry::over(http.clone(), url.trim_end_matches('/'), Some(credentials), self.settings.clone())
            .map_err(|error| failed(error.to_string()))
    }
}

pub(super) fn failed(detail: impl Into<String>) -> Failure {
    Failure::new(FailureReason::ImagePullFailed, detail)
}

pub(super) fn mismatch(digest: &Digest, detail: impl std::fmt::Display) -> Failure {
    Failure::new(FailureReason::ImageDigestMismatch, format!("{digest}: {detail}"))
}

pub(super) fn unusable(digest: &Digest, why: &BadManifest) -> Failure {
    match why {
        BadManifest::OtherSize { .. } | BadManifest::OtherDigest { .. } => mismatch(digest, why),
        _ => failed(format!("{digest}: {why}")),
    }
}

/// What to call it that a registry did not give this part.
pub(super) fn failure_of(error: &ClientError, part: &Digest) -> Failure {
    let reason = match error {
        ClientError::NotFound { .. } => FailureReason::ImageNotFound,
        ClientError::Unreachable { .. } => FailureReason::RegistryUnreachable,
        ClientError::TimedOut { .. } => FailureReason::ImagePullTimeout,
        ClientError::OtherDigest { .. } => return mismatch(part, "the registry sent other bytes"),
        ClientError::OtherSize { .. } => return mismatch(part, error),
        // Not with the registry's words: they may repeat what it was sent.
        ClientError::Refused { url, status, .. } => {
            let reason = match status {
                502..=504 => FailureReason::RegistryUnreachable,
                _ => FailureReason::ImagePullFailed,
            };
            return Failure::new(reason, format!("{url} answered {status}"));
        }
        _ => FailureReason::ImagePullFailed,
    };
    match std::error::Error::source(error) {
        Some(source) => Failure::new(reason, format!("{error}: {}", root_cause(source))),
        None => Failure::new(reason, error.to_string()),
    }
}

/// The innermost words: the outer ones repeat the address.
fn root_cause(error: &dyn std::error::Error) -> String {
    let mut cause = error;
    while let Some(inner) = cause.source() {
        cause = inner;
    }
    cause.to_string()
}
