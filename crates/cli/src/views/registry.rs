//! Images: artifacts, repositories, credentials and keys.

use gpuaas_api::artifacts::{
    Artifact, ArtifactDetail, ArtifactTrust, RegistryCredential, RegistryInfo, RepositoryView, TrustKey,
    TrustState,
};
use gpuaas_domain::Timestamp;

use super::{Facts, Row, dash, short, yes};
use crate::units;

fn size(bytes: i64) -> String {
    units::bytes(u64::try_from(bytes).unwrap_or(0))
}

/// Twelve digits, as people compare digests; `get` shows all.
fn short_digest(digest: &str) -> String {
    let hex = digest.strip_prefix("sha256:").unwrap_or(digest);
    hex.chars().take(12).collect()
}

fn state(artifact: &Artifact) -> String {
    match &artifact.channel {
        Some(channel) => format!("{} ({channel})", artifact.status.name()),
        None => artifact.status.name().to_owned(),
    }
}

impl Row for Artifact {
    const TITLES: &'static [&'static str] =
        &["REPOSITORY", "DIGEST", "TAG", "VARIANT", "STATUS", "TRUST", "ACTIVE", "SIZE", "PUBLISHED", "ID"];
    const EMPTY: &'static str = "No artifacts. Publish one with `gpuaas app publish FOLDER`, or `gpuaas artifact register` what was pushed by hand.";

    fn cells(&self) -> Vec<String> {
        // Owner and app: an app may have a repository of the project and one of the platform.
        let mut parts = self.repository.rsplitn(3, '/');
        let (app, owner) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
        vec![
            format!("{owner}/{app}"),
            short_digest(&self.digest),
            dash(self.tag.as_ref()),
            dash(self.variant.as_ref()),
            state(self),
            self.trust.state.name().into(),
            yes(self.active),
            size(self.size_bytes),
            short(self.created_at),
            self.id.to_string(),
        ]
    }
}

fn trust(trust: &ArtifactTrust) -> String {
    match (trust.state, &trust.reason, trust.verified_at) {
        (TrustState::Verified, _, Some(at)) => format!("verified {}", short(at)),
        (state, Some(reason), _) => format!("{}: {reason}", state.name()),
        (state, None, _) => state.name().to_owned(),
    }
}

impl Facts for Artifact {
    fn facts(&self) -> Vec<(&'static str, String)> {
        let source = self.source.as_object().map_or_else(String::new, |source| {
            let text =
                |value: &serde_json::Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            source
                .iter()
                .map(|(name, value)| format!("{name}={}", text(value)))
                .collect::<Vec<_>>()
                .join(", ")
        });
        vec![
            ("app", self.app_slug.clone()),
            ("reference", self.reference.clone()),
            ("tag", dash(self.tag.as_ref())),
            ("variant", dash(self.variant.as_ref())),
            ("type", self.media_type.clone()),
            ("size", size(self.size_bytes)),
            ("visible to", self.visibility.name().into()),
            ("status", state(self)),
            ("active here", yes(self.active)),
            ("trust", trust(&self.trust)),
            ("signer", dash(self.trust.signer.as_ref())),
            ("provenance", dash(self.trust.provenance_digest.as_ref())),
            ("source", dash(Some(source).filter(|source| !source.is_empty()))),
            (
                "published",
                format!("{} by {} {}", short(self.created_at), self.created_by_kind, self.created_by_id),
            ),
            ("id", self.id.to_string()),
        ]
    }
}

impl Facts for ArtifactDetail {
    fn facts(&self) -> Vec<(&'static str, String)> {
        let mut facts = self.artifact.facts();
        facts.extend(self.promotions.iter().map(|one| {
            let told =
                format!("{} {} by {} {}", one.channel, short(one.promoted_at), one.actor_kind, one.actor_id);
            ("promoted to", told)
        }));
        facts.extend(
            self.used_by
                .iter()
                .map(|one| ("used by", format!("{} {} ({})", one.app_slug, one.app_version, one.status))),
        );
        facts
    }
}

impl Facts for RegistryInfo {
    fn facts(&self) -> Vec<(&'static str, String)> {
        let channels: Vec<_> = self
            .channels
            .iter()
            .map(|channel| {
                if *channel == self.environment {
                    format!("{channel} (counts here)")
                } else {
                    channel.clone()
                }
            })
            .collect();
        let trust = serde_json::to_value(self.trust).ok();
        vec![
            ("host", self.host.clone()),
            ("address", self.url.clone()),
            ("your repositories", format!("{}/{}/APP", self.host, self.namespace)),
            ("tokens from", format!("{} for {}", self.token_url, self.service)),
            ("channels", channels.join(" → ")),
            ("signatures", dash(trust.as_ref().and_then(|trust| trust.as_str()))),
            ("room", format!("{} of {} taken", size(self.used_bytes), size(self.quota_bytes))),
        ]
    }
}

impl Row for RepositoryView {
    const TITLES: &'static [&'static str] = &["APP", "REPOSITORY", "VISIBLE TO", "CREATED", "ID"];
    const EMPTY: &'static str = "No repositories yet. `gpuaas app publish FOLDER` makes one, and so does `gpuaas registry visibility APP project`.";

    fn cells(&self) -> Vec<String> {
        vec![
            self.app_slug.clone(),
            self.name.clone(),
            self.visibility.name().into(),
            short(self.created_at),
            self.id.to_string(),
        ]
    }
}

impl Facts for RepositoryView {
    fn facts(&self) -> Vec<(&'static str, String)> {
        vec![
            ("app", self.app_slug.clone()),
            ("repository", self.name.clone()),
            ("visible to", self.visibility.name().into()),
            ("id", self.id.to_string()),
        ]
    }
}

impl Row for RegistryCredential {
    const TITLES: &'static [&'static str] =
        &["FOR", "REPOSITORY", "ISSUED TO", "CREATED", "EXPIRES", "STATE", "ID"];
    const EMPTY: &'static str = "No credentials were issued. `gpuaas artifact publish-intent APP` and `gpuaas artifact pull-intent ARTIFACT` issue one.";

    fn cells(&self) -> Vec<String> {
        let state = match (self.revoked_at, self.first_used_at) {
            (Some(_), _) => "revoked",
            (None, Some(_)) => "used",
            (None, None) => "unused",
        };
        vec![
            self.purpose.clone(),
            self.repository.clone(),
            format!("{} {}", self.actor_kind, self.actor_id),
            short(self.created_at),
            short(self.expires_at),
            state.to_owned(),
            self.id.to_string(),
        ]
    }
}

fn standing(key: &TrustKey) -> String {
    let until = |at: Timestamp| format!("until {}", short(at));
    match (key.revoked_at, &key.revoked_reason) {
        (Some(_), Some(reason)) => format!("revoked: {reason}"),
        (Some(_), None) => "revoked".to_owned(),
        (None, _) => key.valid_until.map_or_else(|| "good".to_owned(), until),
    }
}

impl Row for TrustKey {
    const TITLES: &'static [&'static str] =
        &["NAME", "OF", "ALGORITHM", "STATE", "CREATED", "FINGERPRINT", "ID"];
    const EMPTY: &'static str = "No keys. `gpuaas key add NAME --public FILE` lets one stand for a project's images; with --platform for everybody's.";

    fn cells(&self) -> Vec<String> {
        vec![
            self.name.clone(),
            if self.project_id.is_some() { "project" } else { "platform" }.to_owned(),
            self.algorithm.clone(),
            standing(self),
            short(self.created_at),
            self.fingerprint.clone(),
            self.id.to_string(),
        ]
    }
}

impl Facts for TrustKey {
    fn facts(&self) -> Vec<(&'static str, String)> {
        vec![
            ("name", self.name.clone()),
            ("of", if self.project_id.is_some() { "project" } else { "platform" }.to_owned()),
            ("fingerprint", self.fingerprint.clone()),
            ("algorithm", self.algorithm.clone()),
            ("state", standing(self)),
            ("id", self.id.to_string()),
        ]
    }
}
