//! Artifacts: images that a project has published, how far each has come, and whether its signature was found good.
//!
//! Two questions are kept apart. *Lifecycle* says what an artifact is meant for: published, promoted to a channel,
//! deprecated, retired. *Trust* says what is known about its origin: unverified, verified, revoked. Versions of apps have a
//! ladder of their own ([`crate::manifest::ladder`]); what each rung asks of the artifacts is [`check_rung`].
//!
//! Host and root of the registry are configuration. What is stored is a repository's namespace and name, so that changing
//! either rewrites nothing.

use gpuaas_agent_protocol::Digest;
use gpuaas_agent_protocol::image::{ImageRef, is_registry, is_repository};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::iam::Scope;
use crate::ids::{ArtifactId, ProjectId, RepositoryId, TenantId, TrustKeyId};
use crate::manifest::ladder::VersionState;
use crate::text::Slug;
use crate::{Error, Kind, Result, Timestamp};

/// The namespace of repositories that everybody on the platform may pull from. No project has this slug.
pub const PLATFORM_NAMESPACE: &str = "platform";
/// `apps/<app>` is another name of `<root>/platform/<app>`.
const PLATFORM_ALIAS: &str = "apps";

macro_rules! named {
    ($(#[$doc:meta])* $name:ident { $($(#[$about:meta])* $variant:ident = $text:literal,)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
        #[serde(rename_all = "snake_case")]
        pub enum $name { $($(#[$about])* $variant,)* }

        impl $name {
            pub const ALL: &'static [Self] = &[$(Self::$variant),*];

            pub fn name(self) -> &'static str {
                match self { $(Self::$variant => $text),* }
            }

            pub fn parse(name: &str) -> Option<Self> {
                Self::ALL.iter().copied().find(|known| known.name() == name)
            }
        }
    };
}

named! {
    /// Who may pull from a repository. Pushing is always the owning project's.
    Visibility {
        /// Everybody on the platform.
        Platform = "platform",
        /// All projects of the owner's tenant.
        Tenant = "tenant",
        /// The owning project alone.
        Project = "project",
    }
}

named! {
    ArtifactState {
        /// Registered and usable; nothing is claimed about environments.
        Published = "published",
        /// Promoted to a channel.
        Promoted = "promoted",
        /// Nothing new may be made of it.
        Deprecated = "deprecated",
        /// For the auditor only; nothing can be done with it any more.
        Retired = "retired",
    }
}

named! {
    TrustState {
        Unverified = "unverified",
        Verified = "verified",
        /// Withdrawn for good by a person.
        Revoked = "revoked",
    }
}

/// A place for the images of one app.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Repository {
    pub id: RepositoryId,
    pub tenant_id: TenantId,
    pub project_id: ProjectId,
    /// The project's slug, or [`PLATFORM_NAMESPACE`].
    pub namespace: String,
    pub app_slug: String,
    pub visibility: Visibility,
    pub version: i64,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
}

impl Repository {
    pub fn path(&self) -> RepositoryPath {
        RepositoryPath { namespace: self.namespace.clone(), app_slug: self.app_slug.clone() }
    }

    pub fn scope(&self) -> Scope {
        Scope::Project(self.tenant_id, self.project_id)
    }

    /// Whether somebody of this project may pull.
    pub fn is_visible_to(&self, tenant: TenantId, project: ProjectId) -> bool {
        match self.visibility {
            Visibility::Platform => true,
            Visibility::Tenant => self.tenant_id == tenant,
            Visibility::Project => self.project_id == project,
        }
    }
}

/// A published image.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Artifact {
    pub id: ArtifactId,
    pub repository: Repository,
    pub digest: Digest,
    /// A label; what it points to in the registry may change, this row does not.
    pub tag: Option<String>,
    pub media_type: String,
    pub size_bytes: i64,
    /// `cpu`, `nvidia-h200`, `amd-rocm`, …
    pub variant: Option<String>,
    pub source: serde_json::Value,
    pub state: ArtifactState,
    /// The furthest channel it was promoted to.
    pub channel: Option<String>,
    pub trust: Trust,
    pub created_by_kind: String,
    pub created_by_id: String,
    pub version: i64,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
}

/// What is known about an artifact's origin, and since when.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trust {
    pub state: TrustState,
    /// The key whose signature held.
    pub key: Option<TrustKeyId>,
    /// That key's own name in signatures: the hash of its public half.
    pub signer: Option<String>,
    pub at: Option<Timestamp>,
    /// When that key ends, and with it what it stands for.
    pub until: Option<Timestamp>,
    /// Of the bytes that were signed.
    pub statement_digest: Option<String>,
    /// Of the statement about how it was built, if one held too.
    pub provenance_digest: Option<String>,
    /// `host/repository` as the signature names it: a later change of host does not undo it.
    pub signed_as: Option<String>,
    /// Why it is not verified (any more).
    pub reason: Option<String>,
}

impl Trust {
    pub fn unverified(reason: Option<String>) -> Self {
        Self {
            state: TrustState::Unverified,
            key: None,
            signer: None,
            at: None,
            until: None,
            statement_digest: None,
            provenance_digest: None,
            signed_as: None,
            reason,
        }
    }
}

/// A key that may stand for images: of one project, or of the platform.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TrustKey {
    pub id: TrustKeyId,
    /// Absent: the platform's.
    pub owner: Option<(TenantId, ProjectId)>,
    pub name: String,
    /// The hash of the public half.
    pub fingerprint: String,
    pub algorithm: String,
    pub public_key: String,
    pub valid_until: Option<Timestamp>,
    pub revoked_at: Option<Timestamp>,
    pub revoked_reason: Option<String>,
    pub version: i64,
    pub created_at: Timestamp,
}

impl TrustKey {
    pub fn is_good(&self, now: Timestamp) -> bool {
        self.revoked_at.is_none() && self.valid_until.is_none_or(|end| now < end)
    }
}

/// Those that count: good now, and not revoked under any other name either.
pub fn good_keys(keys: Vec<TrustKey>, now: Timestamp) -> Vec<TrustKey> {
    let revoked: Vec<String> =
        keys.iter().filter(|key| key.revoked_at.is_some()).map(|key| key.fingerprint.clone()).collect();
    keys.into_iter().filter(|key| key.is_good(now) && !revoked.contains(&key.fingerprint)).collect()
}

/// What the registry calls things, from configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RegistryNames {
    /// As it stands in references.
    pub host: String,
    /// Other names of the same registry: how clients reach it, what it was called before.
    pub also: Vec<String>,
    /// Folder under which repositories lie.
    pub root: String,
    /// Repositories or folders of them that images may come from; all if empty. Nobody's role widens it.
    pub allowed: Vec<String>,
}

/// Where a repository lies, whatever host and root are called.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RepositoryPath {
    pub namespace: String,
    pub app_slug: String,
}

/// Why a reference names nothing here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotOurs {
    OtherRegistry,
    /// Our registry, but not `<root>/<namespace>/<app>`.
    OtherShape,
    OffTheAllowlist,
}

impl RegistryNames {
    /// The one repository name, as clients see it.
    pub fn repository(&self, path: &RepositoryPath) -> String {
        format!("{}/{}/{}", self.root, path.namespace, path.app_slug)
    }

    /// `host/root/namespace/app`.
    pub fn full_name(&self, path: &RepositoryPath) -> String {
        format!("{}/{}", self.host, self.repository(path))
    }

    /// Every name under which an image of this repository may be signed.
    pub fn signing_names(&self, path: &RepositoryPath, signed_as: Option<&str>) -> Vec<String> {
        let mut names = Vec::new();
        for host in std::iter::once(&self.host).chain(&self.also) {
            names.push(format!("{host}/{}", self.repository(path)));
            if path.namespace == PLATFORM_NAMESPACE {
                names.push(format!("{host}/{PLATFORM_ALIAS}/{}", path.app_slug));
            }
        }
        names.extend(signed_as.map(str::to_owned));
        names.sort();
        names.dedup();
        names
    }

    /// The image by its canonical name.
    pub fn reference(&self, path: &RepositoryPath, digest: &Digest) -> Result<ImageRef> {
        format!("{}@{digest}", self.full_name(path))
            .parse()
            .map_err(|error| Error::internal(format!("a repository has no name: {error}")))
    }

    /// A repository as a client names it, canonical or by its alias.
    pub fn parse_repository(&self, name: &str) -> Result<RepositoryPath, NotOurs> {
        let app = |slug: &str| Slug::parse(slug).map(String::from).map_err(|_| NotOurs::OtherShape);
        let path = if let Some(rest) =
            name.strip_prefix(self.root.as_str()).and_then(|rest| rest.strip_prefix('/'))
        {
            let (namespace, slug) = rest.split_once('/').ok_or(NotOurs::OtherShape)?;
            RepositoryPath { namespace: app(namespace)?, app_slug: app(slug)? }
        } else {
            let slug = name
                .strip_prefix(PLATFORM_ALIAS)
                .and_then(|rest| rest.strip_prefix('/'))
                .ok_or(NotOurs::OtherShape)?;
            RepositoryPath { namespace: PLATFORM_NAMESPACE.to_owned(), app_slug: app(slug)? }
        };
        if self.allows(&path) { Ok(path) } else { Err(NotOurs::OffTheAllowlist) }
    }

    pub fn parse(&self, reference: &ImageRef) -> Result<RepositoryPath, NotOurs> {
        let host = reference.registry();
        if host != self.host && !self.also.iter().any(|known| known == host) {
            return Err(NotOurs::OtherRegistry);
        }
        self.parse_repository(reference.repository())
    }

    pub fn allows(&self, path: &RepositoryPath) -> bool {
        let name = self.repository(path);
        self.allowed.is_empty()
            || self.allowed.iter().any(|folder| {
                name.strip_prefix(folder.trim_end_matches('/'))
                    .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
            })
    }

    /// Faults of the names themselves.
    pub fn check(&self) -> std::result::Result<(), &'static str> {
        if !self.host.is_empty() && !is_registry(&self.host) {
            return Err("the host must be a name with a dot or a port, as in registry.example.org");
        }
        if !self.also.iter().all(|host| is_registry(host)) {
            return Err("each other host must be a name with a dot or a port");
        }
        if !is_repository(&self.root) || self.root == PLATFORM_ALIAS {
            return Err("the root must be a folder of repositories other than `apps`, as in gpuaas/apps");
        }
        if !self.allowed.iter().all(|folder| is_repository(folder.trim_end_matches('/'))) {
            return Err("each allowed entry must be a repository or a folder of them");
        }
        Ok(())
    }
}

impl NotOurs {
    pub fn sentence(self, names: &RegistryNames) -> String {
        match self {
            Self::OtherRegistry => format!("Images come from {}; push it there first.", names.host),
            Self::OtherShape => {
                format!("Repositories here are called {}/<project>/<app>.", names.root)
            }
            Self::OffTheAllowlist => {
                "This repository is not one that apps may come from; the platform's allowlist decides."
                    .to_owned()
            }
        }
    }

    pub fn into_error(self, names: &RegistryNames) -> Error {
        Error::new(Kind::Unprocessable, "image_source_not_allowed", self.sentence(names))
    }
}

/// The channels in the order of promotion.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Channels {
    order: Vec<String>,
    /// The one that counts here.
    environment: String,
    /// Those a service account may promote to.
    for_machines: Vec<String>,
}

impl Default for Channels {
    fn default() -> Self {
        let order: Vec<String> = ["dev", "staging", "production"].map(str::to_owned).into();
        Self { environment: "production".to_owned(), for_machines: vec!["dev".to_owned()], order }
    }
}

impl Channels {
    pub fn new(
        order: Vec<String>,
        environment: String,
        for_machines: Vec<String>,
    ) -> std::result::Result<Self, &'static str> {
        if order.is_empty() || order.len() > 10 {
            return Err("name one to ten channels");
        }
        if order.iter().any(|channel| Slug::parse(channel).is_err()) {
            return Err("a channel is a name of lower-case letters, digits and hyphens");
        }
        if (1..order.len()).any(|at| order[..at].contains(&order[at])) {
            return Err("a channel is named twice");
        }
        if !order.contains(&environment) {
            return Err("the environment must be one of the channels");
        }
        if !for_machines.iter().all(|channel| order.contains(channel)) {
            return Err("a channel for machines must be one of the channels");
        }
        Ok(Self { order, environment, for_machines })
    }

    pub fn order(&self) -> &[String] {
        &self.order
    }

    pub fn environment(&self) -> &str {
        &self.environment
    }

    pub fn is_for_machines(&self, channel: &str) -> bool {
        self.for_machines.iter().any(|known| known == channel)
    }

    fn place(&self, channel: &str) -> Option<usize> {
        self.order.iter().position(|known| known == channel)
    }

    /// Whether `channel` is the environment's or lies beyond it.
    pub fn reaches_environment(&self, channel: Option<&str>) -> bool {
        let environment = self.place(&self.environment);
        channel.and_then(|channel| self.place(channel)).is_some_and(|at| Some(at) >= environment)
    }

    /// The next channel is the only one that can be promoted to; the present one may be said again.
    pub fn check_promotion(&self, from: Option<&str>, to: &str) -> Result<()> {
        let Some(to_place) = self.place(to) else {
            return Err(Error::field(
                "/channel",
                "unknown_channel",
                format!("There are the channels {}, in this order.", self.order.join(", ")),
            ));
        };
        // A channel that is not configured any more counts as none.
        let next = from.and_then(|from| self.place(from)).map_or(0, |at| at + 1);
        if to_place == next || to_place + 1 == next {
            return Ok(());
        }
        let order = Error::conflict(
            "promotion_out_of_order",
            match self.order.get(next) {
                Some(next) => format!("Promotion goes channel by channel; the next one is {next}."),
                None => "It has been promoted as far as there are channels.".to_owned(),
            },
        );
        Err(order.with_param("order", self.order.clone()).with_param("from", from.map(str::to_owned)))
    }
}

/// Whether an artifact may go from one state to another. Saying the same again is no move.
pub fn check_move(from: ArtifactState, to: ArtifactState) -> Result<()> {
    use ArtifactState as A;
    let allowed: &[A] = match from {
        A::Published | A::Promoted => &[A::Promoted, A::Deprecated],
        A::Deprecated => &[A::Retired],
        A::Retired => &[],
    };
    if allowed.contains(&to) {
        return Ok(());
    }
    let names: Vec<&str> = allowed.iter().map(|state| state.name()).collect();
    let sentence = match from {
        A::Retired => "The artifact is retired; nothing can be done with it any more.".to_owned(),
        _ => format!(
            "The artifact is {} and cannot become {}; it can become {}.",
            from.name(),
            to.name(),
            names.join(" or ")
        ),
    };
    Err(Error::conflict("illegal_artifact_move", sentence)
        .with_param("from", from.name())
        .with_param("to", to.name())
        .with_param("allowed", names))
}

/// What a rung asks of the artifacts behind it: `staged` and `canary` are content with a verified one that is published,
/// `active` wants it promoted for this environment (F-29).
pub fn check_rung(
    artifact: &Artifact,
    rung: VersionState,
    channels: &Channels,
    mode: TrustMode,
    now: Timestamp,
) -> Result<()> {
    check_new_use(artifact)?;
    check_trust(artifact, mode, now)?;
    if rung == VersionState::Active && !channels.reaches_environment(artifact.channel.as_deref()) {
        return Err(Error::conflict(
            "artifact_not_promoted",
            format!(
                "The artifact {} is not promoted to {}; promote it first.",
                artifact.digest,
                channels.environment()
            ),
        )
        .with_param("artifact_id", artifact.id.to_string())
        .with_param("channel", artifact.channel.clone())
        .with_param("environment", channels.environment()));
    }
    Ok(())
}

/// Whether anything new may be made of an artifact. What runs already stays operable.
pub fn check_new_use(artifact: &Artifact) -> Result<()> {
    match artifact.state {
        ArtifactState::Published | ArtifactState::Promoted => Ok(()),
        ArtifactState::Deprecated | ArtifactState::Retired => Err(about(
            artifact,
            "artifact_not_active",
            format!(
                "The artifact {} is {}; nothing new may be made of it.",
                artifact.digest,
                artifact.state.name()
            ),
        )),
    }
}

/// Whether anything may start from it at all.
pub fn check_trust(artifact: &Artifact, mode: TrustMode, now: Timestamp) -> Result<()> {
    let over = artifact.trust.until.is_some_and(|end| end <= now);
    let (code, sentence) = match (artifact.trust.state, mode) {
        (TrustState::Verified, TrustMode::Enforce) if over => (
            "artifact_not_verified",
            format!(
                "The key that stood for the artifact {} has ended; sign it with another one.",
                artifact.digest
            ),
        ),
        (TrustState::Verified, _) | (TrustState::Unverified, TrustMode::Warn) => return Ok(()),
        (TrustState::Revoked, _) => (
            "artifact_revoked",
            format!("The artifact {} was revoked; nothing may run from it.", artifact.digest),
        ),
        (TrustState::Unverified, TrustMode::Enforce) => (
            "artifact_not_verified",
            match &artifact.trust.reason {
                Some(reason) => format!("The artifact {} is not verified: {reason}", artifact.digest),
                None => format!(
                    "The artifact {} is not verified yet; a person has to verify it.",
                    artifact.digest
                ),
            },
        ),
    };
    Err(about(artifact, code, sentence))
}

fn about(artifact: &Artifact, code: &'static str, sentence: String) -> Error {
    Error::conflict(code, sentence)
        .with_param("artifact_id", artifact.id.to_string())
        .with_param("digest", artifact.digest.to_string())
        .with_param("state", artifact.state.name())
        .with_param("trust", artifact.trust.state.name())
}

/// Whether an image without a good signature is refused. `Warn` is for a platform marked local, and lets neither a revoked
/// artifact nor other bytes pass.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TrustMode {
    #[default]
    Enforce,
    Warn,
}

#[cfg(test)]
mod tests {
    use super::*;
    use uuid::Uuid;

    fn names() -> RegistryNames {
        RegistryNames {
            host: "registry.example.org".into(),
            also: vec!["127.0.0.1:8080".into()],
            root: "gpuaas/apps".into(),
            allowed: Vec::new(),
        }
    }

    fn artifact(state: ArtifactState, trust: TrustState, channel: Option<&str>) -> Artifact {
        let at = Timestamp::from_unix_seconds(1).unwrap();
        Artifact {
            id: ArtifactId::new(Uuid::from_u128(1)),
            repository: Repository {
                id: RepositoryId::new(Uuid::from_u128(2)),
                tenant_id: TenantId::new(Uuid::from_u128(3)),
                project_id: ProjectId::new(Uuid::from_u128(4)),
                namespace: "lab".into(),
                app_slug: "web".into(),
                visibility: Visibility::Project,
                version: 1,
                created_at: at,
                updated_at: at,
            },
            digest: Digest::of(b"x"),
            tag: None,
            media_type: String::new(),
            size_bytes: 1,
            variant: None,
            source: serde_json::Value::Null,
            state,
            channel: channel.map(str::to_owned),
            trust: Trust { state: trust, ..Trust::unverified(None) },
            created_by_kind: String::new(),
            created_by_id: String::new(),
            version: 1,
            created_at: at,
            updated_at: at,
        }
    }

    /// F-23: a key is what its fingerprint says; revoked under one name it counts under none.
    #[test]
    fn a_key_revoked_under_one_name_counts_under_none() {
        let at = |seconds: i64| Timestamp::from_unix_seconds(seconds).unwrap();
        let key = |number: u128, fingerprint: &str| TrustKey {
            id: TrustKeyId::new(Uuid::from_u128(number)),
            owner: None,
            name: number.to_string(),
            fingerprint: fingerprint.into(),
            algorithm: String::new(),
            public_key: String::new(),
            valid_until: None,
            revoked_at: None,
            revoked_reason: None,
            version: 1,
            created_at: at(1),
        };
        let revoked = TrustKey { revoked_at: Some(at(5)), ..key(2, "stolen") };
        let over = TrustKey { valid_until: Some(at(10)), ..key(4, "over") };
        let keys = vec![key(1, "stolen"), revoked, key(3, "good"), over, key(5, "over"), key(6, "stolen")];
        let good = |now: i64| -> Vec<String> {
            good_keys(keys.clone(), at(now)).into_iter().map(|key| key.name).collect()
        };
        assert_eq!(good(9), ["3", "4", "5"]);
        assert_eq!(good(10), ["3", "5"], "an end of time is of one name only");
    }

    /// F-04, F-30: one name per repository, whatever it was called by; the rest is refused.
    #[test]
    fn names_lead_to_one_canonical_repository_or_to_none() {
        let names = names();
        let digest = Digest::of(b"x");
        let parse = |text: &str| names.parse(&format!("{text}@{digest}").parse().unwrap());
        let web = |namespace: &str| RepositoryPath { namespace: namespace.into(), app_slug: "web".into() };
        for host in ["registry.example.org", "127.0.0.1:8080"] {
            assert_eq!(parse(&format!("{host}/gpuaas/apps/lab/web")), Ok(web("lab")));
            assert_eq!(parse(&format!("{host}/apps/web")), Ok(web("platform")));
            assert_eq!(parse(&format!("{host}/gpuaas/apps/platform/web")), Ok(web("platform")));
        }
        assert_eq!(parse("registry.example.com/apps/web"), Err(NotOurs::OtherRegistry));
        for shape in [
            "web",
            "apps",
            "gpuaas/apps/web",
            "gpuaas/apps/lab/web/x",
            "apps/lab/web",
            "gpuaas/app/lab/web",
            "gpuaas/appsx/lab/web",
        ] {
            assert_eq!(parse(&format!("registry.example.org/{shape}")), Err(NotOurs::OtherShape), "{shape}");
        }
        let canonical = names.reference(&web("platform"), &digest).unwrap();
        assert_eq!(canonical.to_string(), format!("registry.example.org/gpuaas/apps/platform/web@{digest}"));
    }

    /// F-27: another host and root change what things are called, not where they are.
    #[test]
    fn a_new_host_or_root_gives_the_same_repository_a_new_name() {
        let path = RepositoryPath { namespace: "lab".into(), app_slug: "web".into() };
        let moved = RegistryNames { host: "images.example.net".into(), root: "x/y".into(), ..names() };
        assert_eq!(moved.full_name(&path), "images.example.net/x/y/lab/web");
        assert_eq!(moved.parse_repository("x/y/lab/web"), Ok(path.clone()));
        let signed_as = names().full_name(&path);
        assert!(moved.signing_names(&path, Some(&signed_as)).contains(&signed_as));
    }

    /// F-28: the allowlist goes by whole folders.
    #[test]
    fn a_repository_off_the_allowlist_is_not_ours() {
        let names = RegistryNames { allowed: vec!["gpuaas/apps/lab/".into()], ..names() };
        assert!(names.parse_repository("gpuaas/apps/lab/web").is_ok());
        for other in ["gpuaas/apps/laboratory/web", "gpuaas/apps/platform/web", "apps/web"] {
            assert_eq!(names.parse_repository(other), Err(NotOurs::OffTheAllowlist), "{other}");
        }
    }

    /// F-24, U-28: channel by channel.
    #[test]
    fn no_channel_is_skipped() {
        let channels = Channels::default();
        let ok = |from: Option<&str>, to| channels.check_promotion(from, to).is_ok();
        assert!(ok(None, "dev") && ok(Some("dev"), "staging") && ok(Some("staging"), "production"));
        assert!(ok(Some("dev"), "dev") && ok(Some("production"), "production"));
        assert!(!ok(None, "staging") && !ok(None, "production") && !ok(Some("dev"), "production"));
        assert!(!ok(Some("production"), "dev") && !ok(Some("staging"), "dev"));
        assert_eq!(channels.check_promotion(None, "prod").unwrap_err().code(), "validation_failed");
        for bad in [vec![], vec!["dev", "dev"], vec!["Dev"]] {
            let order = bad.into_iter().map(str::to_owned).collect();
            assert!(Channels::new(order, "dev".into(), Vec::new()).is_err());
        }
    }

    /// F-07, F-08, T-19.
    #[test]
    fn exactly_these_moves_of_an_artifact_are_allowed() {
        use ArtifactState::{Deprecated, Promoted, Published, Retired};
        let allowed = [
            (Published, Promoted),
            (Published, Deprecated),
            (Promoted, Promoted),
            (Promoted, Deprecated),
            (Deprecated, Retired),
        ];
        for from in ArtifactState::ALL {
            for to in ArtifactState::ALL {
                assert_eq!(
                    check_move(*from, *to).is_ok(),
                    allowed.contains(&(*from, *to)),
                    "{from:?} {to:?}"
                );
            }
        }
    }

    /// F-29, E-14, F-31: what each rung wants, for every state and trust; warning lets only the unverified pass.
    #[test]
    fn a_rung_wants_what_the_two_lifecycles_say() {
        use ArtifactState as A;
        use VersionState as V;
        let channels = Channels::default();
        let now = Timestamp::from_unix_seconds(100).unwrap();
        let mut over = artifact(A::Promoted, TrustState::Verified, Some("production"));
        over.trust.until = Some(now);
        assert!(
            check_rung(&over, V::Active, &channels, TrustMode::Enforce, now).is_err(),
            "its key has ended"
        );
        assert!(check_rung(&over, V::Active, &channels, TrustMode::Enforce, now.plus_seconds(-1)).is_ok());
        for state in A::ALL {
            for trust in TrustState::ALL {
                for channel in [None, Some("dev"), Some("production")] {
                    for mode in [TrustMode::Enforce, TrustMode::Warn] {
                        let found = artifact(*state, *trust, channel);
                        let usable = matches!(state, A::Published | A::Promoted)
                            && (*trust == TrustState::Verified
                                || (*trust == TrustState::Unverified && mode == TrustMode::Warn));
                        let check = |rung| check_rung(&found, rung, &channels, mode, now).is_ok();
                        assert_eq!(check(V::Staged), usable, "{state:?} {trust:?}");
                        assert_eq!(check(V::Canary), usable);
                        assert_eq!(check(V::Active), usable && channel == Some("production"));
                    }
                }
            }
        }
    }
}
