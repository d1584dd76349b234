//! What the platform is told once all images are in its registry: digests, the version, how far both may go.

use gpuaas_api::Route;
use gpuaas_api::artifacts::{
    Artifact, ArtifactQuery, ArtifactState, NewArtifact, Promote, RegistryInfo, TrustMode, TrustState,
};
use gpuaas_api::catalog::{AppVersion, AppVersionDetail};
use gpuaas_api::identity::Because;

use super::super::artifact::next_channel;
use super::build::Built;
use super::push::Way;
use super::{PUSHING, Run, origin};
use serde_json::Value;

use crate::diagnostics::shown_in;
use crate::failure::{Exit, Failure, Result};
use crate::json::Raw;
use crate::session::parse;
use crate::source::Locked;

impl Run<'_> {
    pub(super) async fn register_images(
        &self,
        way: &Way,
        built: &[Built],
        facts: &origin::Facts,
    ) -> Result<Vec<Artifact>> {
        self.report.stage("registering the image", PUSHING.end);
        let query =
            ArtifactQuery { app: Some(self.document.manifest.slug.to_string()), ..ArtifactQuery::default() };
        let known: Vec<Artifact> =
            self.session.list_where(Route::ArtifactList, &[&self.project], &query).await?;
        let mut artifacts = Vec::new();
        for (number, image) in built.iter().enumerate() {
            let digest = image.entry.digest.as_str();
            let found = known
                .iter()
                .chain(&artifacts)
                .find(|one| one.digest == digest && one.repository == way.intent.repository);
            if let Some(found) = found {
                check_usable(found)?;
                artifacts.push(found.clone());
                continue;
            }
            let body = NewArtifact {
                repository: way.intent.repository.clone(),
                digest: digest.to_owned(),
                tag: self.tag(number).map(|tag| tag.to_string()),
                media_type: Some(image.entry.media_type.clone()),
                variant: self.source.images[number].variant.clone(),
                source: facts.clone(),
            };
            let raw = self.session.write(Route::ArtifactRegister, &[&self.project], &body).await?;
            artifacts.push(parse(&raw)?);
        }
        Ok(artifacts)
    }

    /// Has the platform look at the signatures. Gives the artifacts as they are now, and those a person has to verify.
    pub(super) async fn verify(&self, artifacts: Vec<Artifact>) -> Result<(Vec<Artifact>, Vec<String>)> {
        let (mut seen, mut left) = (Vec::new(), Vec::new());
        for artifact in artifacts {
            if artifact.trust.state == TrustState::Verified {
                seen.push(artifact);
                continue;
            }
            let because = Because { reason: self.args.reason.reason.clone() };
            match self.session.write(Route::ArtifactVerify, &[&self.project, &artifact.id], &because).await {
                Ok(raw) => seen.push(parse(&raw)?),
                Err(failure) if failure.is_forbidden() => {
                    left.push(artifact.id.to_string());
                    seen.push(artifact);
                }
                Err(failure) => return Err(failure),
            }
        }
        let doubtful = seen
            .iter()
            .find(|one| one.trust.state != TrustState::Verified && !left.contains(&one.id.to_string()));
        if let Some(doubtful) = doubtful {
            let why = doubtful.trust.reason.as_deref().unwrap_or("no reason was given");
            let message = format!("{} is not verified: {why}", doubtful.digest);
            let info: RegistryInfo = parse(&self.session.read(Route::RegistryInfo, &[&self.project]).await?)?;
            if info.trust == TrustMode::Enforce {
                return Err(Failure::new(Exit::Conflict, "not_verified", message)
                    .fix("see `gpuaas key list`; sign with a key that the project knows"));
            }
            self.session.printer().end_progress();
            self.session.printer().warn(&message);
        }
        Ok((seen, left))
    }

    /// The version as it is registered now, and whether it says the same. Refuses one that is out with another manifest.
    pub(super) async fn known_version(&self, locked: &Locked) -> Result<Option<(AppVersion, bool)>> {
        let manifest = &self.document.manifest;
        let parameters: [&dyn std::fmt::Display; 2] = [&manifest.slug.as_str(), &manifest.version.as_str()];
        let AppVersionDetail { version: known, manifest, .. } =
            match self.session.read(Route::CatalogVersionGet, &parameters).await {
                Ok(raw) => parse(&raw)?,
                Err(failure) if failure.exit_code() == Exit::NotFound as u8 => return Ok(None),
                Err(failure) => return Err(failure),
            };
        let same = without_places(&manifest) == without_places(locked.document.value());
        if same || known.status.is_editable() {
            return Ok(Some((known, same)));
        }
        let message =
            format!("{} {} is {} with another manifest", known.slug, known.app_version, known.status.name());
        Err(Failure::new(Exit::Conflict, "version_exists", message)
            .fix("raise `version` in the manifest and run it again"))
    }

    pub(super) async fn register_version(&self, locked: &Locked) -> Result<Raw> {
        let manifest = &self.document.manifest;
        if let Some((known, true)) = self.known_version(locked).await? {
            let printer = self.session.printer();
            printer.end_progress();
            printer.note(&format!("{} {} is registered already.", known.slug, known.app_version));
            return self
                .session
                .read(Route::CatalogVersionGet, &[&manifest.slug.as_str(), &manifest.version.as_str()])
                .await;
        }
        let content_type = if locked.json { "application/json" } else { "application/yaml" };
        let bytes = locked.text.clone().into_bytes();
        let sent =
            self.session.client.call_with_document(Route::ManifestRegister, &[], bytes, content_type).await;
        // Digests stand in the text that was sent, and all else as in the author's own.
        sent.map_err(|error| shown_in(self.text, self.session.printer(), error.into()))
    }

    /// Channel by channel to the one that counts here.
    pub(super) async fn promote(&self, artifacts: Vec<Artifact>) -> Result<Vec<Artifact>> {
        let info: RegistryInfo = parse(&self.session.read(Route::RegistryInfo, &[&self.project]).await?)?;
        let mut promoted: Vec<Artifact> = Vec::new();
        for mut artifact in artifacts {
            // Two parts of an app may be the same image, which goes up once.
            if let Some(before) = promoted.iter().find(|one| one.id == artifact.id) {
                promoted.push(before.clone());
                continue;
            }
            for channel in way_up(&info.channels, &info.environment, artifact.channel.as_deref()) {
                let body = Promote { channel, reason: self.args.reason.reason.clone() };
                let raw =
                    self.session.write(Route::ArtifactPromote, &[&self.project, &artifact.id], &body).await?;
                artifact = parse(&raw)?;
            }
            promoted.push(artifact);
        }
        Ok(promoted)
    }
}

/// A manifest whose references have lost host and root: the registry may have been given other ones since.
fn without_places(value: &Value) -> Value {
    match value {
        Value::String(text) => match text.split_once("@sha256:") {
            Some((name, digest)) => {
                let mut parts = name.rsplit('/');
                let app = parts.next().unwrap_or_default();
                // `apps/x` is another name of the platform's own.
                let owner = parts.next().map_or("", |owner| if owner == "apps" { "platform" } else { owner });
                Value::String(format!("{owner}/{app}@{digest}"))
            }
            None => value.clone(),
        },
        Value::Array(items) => items.iter().map(without_places).collect(),
        Value::Object(members) => {
            members.iter().map(|(name, member)| (name.clone(), without_places(member))).collect()
        }
        other => other.clone(),
    }
}

/// The channels that are still to come, up to the one that counts.
fn way_up(channels: &[String], environment: &str, reached: Option<&str>) -> Vec<String> {
    let place = |wanted: &str| channels.iter().position(|channel| channel == wanted);
    let Some(goal) = place(environment) else { return Vec::new() };
    let mut way = Vec::new();
    let mut at = reached.map(str::to_owned);
    while let Some(next) = next_channel(channels, at.as_deref()) {
        if place(next).is_none_or(|next| next > goal) {
            break;
        }
        way.push(next.clone());
        at = Some(next.clone());
    }
    way
}

fn check_usable(artifact: &Artifact) -> Result<()> {
    let why = match (artifact.status, artifact.trust.state) {
        (_, TrustState::Revoked) => "revoked",
        (ArtifactState::Retired, _) => "retired",
        (ArtifactState::Deprecated, _) => "deprecated",
        (ArtifactState::Published | ArtifactState::Promoted, _) => return Ok(()),
    };
    let message = format!("the image {} was {why}; nothing new may be made of it", artifact.digest);
    Err(Failure::new(Exit::Conflict, "artifact_not_active", message)
        .fix(format!("`gpuaas artifact get {}` says why; publish another image", artifact.id)))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_manifest_says_the_same_under_another_host_and_root_but_not_in_another_repository() {
        let named = |name: &str| without_places(&serde_json::json!({"a": [format!("{name}@sha256:00")]}));
        let here = named("127.0.0.1:8080/gpuaas/apps/lab/web");
        assert_eq!(here, named("registry.example.org/x/lab/web"));
        assert_ne!(here, named("127.0.0.1:8080/gpuaas/apps/platform/web"));
        assert_eq!(named("h.example/apps/web"), named("h.example/gpuaas/apps/platform/web"));
    }

    use crate::tests::samples;

    #[test]
    fn the_way_up_ends_where_it_counts() {
        let channels = ["dev", "staging", "production"].map(str::to_owned);
        assert_eq!(way_up(&channels, "production", None), ["dev", "staging", "production"]);
        assert_eq!(way_up(&channels, "staging", Some("dev")), ["staging"]);
        assert!(way_up(&channels, "staging", Some("production")).is_empty());
        assert!(way_up(&channels, "staging", Some("staging")).is_empty());
    }

    #[test]
    fn what_was_withdrawn_is_not_published_again() {
        let artifact = |status: &str, trust: &str| -> Artifact {
            let mut value = samples::artifact();
            value["status"] = json!(status);
            value["trust"]["state"] = json!(trust);
            serde_json::from_value(value).unwrap()
        };
        check_usable(&artifact("published", "unverified")).unwrap();
        check_usable(&artifact("promoted", "verified")).unwrap();
        for (status, trust) in [("deprecated", "verified"), ("retired", "verified"), ("published", "revoked")]
        {
            assert_eq!(
                check_usable(&artifact(status, trust)).unwrap_err().exit_code(),
                6,
                "{status} {trust}"
            );
        }
    }
}
