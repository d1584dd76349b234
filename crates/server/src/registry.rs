//! The registry role: the distribution protocol at `/v2/`, with the platform at its door.
//!
//! The registry knows no users and no projects. Here its guard reads the platform's tokens and asks the control plane at each
//! request what their holder may do now; its quota counts by project. Repositories lie in the folder without the configured
//! root, so that a new root renames them all.

use std::collections::{HashMap, HashSet};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, Weak};
use std::time::Duration;

use axum::Router;
use axum::extract::Request;
use axum::http::{HeaderMap, StatusCode, Uri, header};
use axum::response::{IntoResponse as _, Response};
use axum::routing::any;
use gpuaas_control_plane::operations::registry::{self as door, Action as Deed, Answer};
use gpuaas_control_plane::operations::repositories;
use gpuaas_control_plane::{ControlPlane, RegistryDoor};
use gpuaas_domain::artifact::PLATFORM_NAMESPACE;
use gpuaas_domain::ids::ProjectId;
use gpuaas_domain::{Error, Kind, Result};
use gpuaas_program::Spawner;
use gpuaas_registry::manifest::{self, Policy};
use gpuaas_registry::{
    Action, Challenge, Checking, Digest, Guard, LocalDisk, Need, Options, Quota, Reference, Registry,
    RepositoryName, Settings, Storage as _, Verdict, What,
};
use tokio::sync::OnceCell;
use tower::ServiceExt as _;

use crate::http::AppState;

/// Between two rounds of garbage collection.
const COLLECT_EVERY: Duration = Duration::from_hours(1);
/// A former process may still be letting go of the folder.
const OPEN_TRIES: u32 = 100;
const OPEN_PAUSE: Duration = Duration::from_millis(100);
/// Of one image, that count as said about it.
const MOST_REFERRERS: usize = 64;
const SETTLE: Duration = Duration::from_secs(10);

type Disk = Registry<LocalDisk>;

/// The role, opened when it is first needed.
pub struct RegistryRole {
    plane: Arc<ControlPlane>,
    folder: PathBuf,
    quota: Arc<ProjectQuota>,
    tasks: Spawner,
    opened: OnceCell<Arc<Disk>>,
}

impl RegistryRole {
    pub fn new(plane: Arc<ControlPlane>, folder: PathBuf, tasks: Spawner) -> Arc<Self> {
        Arc::new(Self { plane, folder, quota: Arc::default(), tasks, opened: OnceCell::new() })
    }

    /// Opens the storage; the first caller does it, and the rounds of collection begin.
    pub async fn open(&self) -> Result<&Arc<Disk>> {
        self.opened.get_or_try_init(|| self.open_disk()).await
    }

    async fn open_disk(&self) -> Result<Arc<Disk>> {
        let options = || Options {
            quota: self.quota.clone(),
            faults: self.plane.faults(),
            prefix: self.plane.settings.registry.names.root.clone(),
            ..Options::default()
        };
        let mut tries = 0;
        let storage = loop {
            tries += 1;
            match LocalDisk::open(&self.folder, options()).await {
                Ok(storage) => break storage,
                Err(error) if error.kind() == std::io::ErrorKind::ResourceBusy && tries < OPEN_TRIES => {
                    tokio::time::sleep(OPEN_PAUSE).await;
                }
                Err(error) => {
                    return Err(Error::new(
                        Kind::Unavailable,
                        "registry_unavailable",
                        format!("The registry's folder cannot be used: {error}."),
                    ));
                }
            }
        };
        let used = storage.usage().await.map_err(|error| Error::internal(error.to_string()))?;
        for (repository, bytes) in used {
            if let Some((project, limit)) = repositories::quota_of(&self.plane, repository.as_str()).await? {
                self.quota.note(&repository, project, limit);
            }
            self.quota.seed(repository, bytes);
        }
        let guard =
            PlatformGuard { plane: self.plane.clone(), quota: self.quota.clone(), disk: Arc::default() };
        let disk = guard.disk.clone();
        let registry = Registry::new(storage, guard, Settings::default());
        let _ = disk.set(Arc::downgrade(&registry));
        self.keep(&registry);
        Ok(registry)
    }

    /// Collects now and then, and lets what was begun end when the server stops.
    fn keep(&self, registry: &Arc<Disk>) {
        let (registry, stop) = (registry.clone(), self.tasks.clone());
        self.tasks.spawn(async move {
            loop {
                tokio::select! {
                    () = tokio::time::sleep(COLLECT_EVERY) => {}
                    () = stop.stopped() => break,
                }
                match registry.collect().await {
                    Ok(collected) => tracing::info!(
                        bytes = collected.bytes,
                        contents = collected.contents,
                        uploads = collected.uploads,
                        "the registry has collected its garbage"
                    ),
                    Err(error) => tracing::warn!("the registry could not collect its garbage: {error}"),
                }
            }
            registry.settle(SETTLE).await;
        });
    }

    pub fn used_bytes(&self, project: ProjectId) -> u64 {
        self.quota.used(project)
    }

    /// `/v2/` and everything below.
    pub fn router(self: &Arc<Self>) -> Router<AppState> {
        let role = self.clone();
        let serve = move |request: Request| {
            let role = role.clone();
            async move { role.serve(request).await }
        };
        Router::new()
            .route("/v2", any(serve.clone()))
            .route("/v2/", any(serve.clone()))
            .route("/v2/{*rest}", any(serve))
    }

    async fn serve(&self, mut request: Request) -> Response {
        let registry = match self.open().await {
            Ok(registry) => registry,
            Err(error) => {
                tracing::error!("{error}");
                return (StatusCode::SERVICE_UNAVAILABLE, [(header::RETRY_AFTER, "5")]).into_response();
            }
        };
        if let Some(uri) = canonical(request.uri(), self.plane.registry()) {
            *request.uri_mut() = uri;
        }
        registry.router().oneshot(request).await.unwrap_or_else(|never| match never {})
    }
}

/// `apps/<app>` is another name of the platform's own repositories, unless the root itself lies in `apps`.
fn canonical(uri: &Uri, door: &RegistryDoor) -> Option<Uri> {
    let path = uri.path().strip_prefix("/v2/")?;
    if path.strip_prefix(door.names.root.as_str()).is_some_and(|rest| rest.starts_with('/')) {
        return None;
    }
    let rest = path.strip_prefix("apps/")?;
    let query = uri.query().map_or(String::new(), |query| format!("?{query}"));
    format!("/v2/{}/{PLATFORM_NAMESPACE}/{rest}{query}", door.names.root).parse().ok()
}

/// How much each project has, and may have.
#[derive(Default)]
struct ProjectQuota {
    books: Mutex<Books>,
}

#[derive(Default)]
struct Books {
    owners: HashMap<RepositoryName, ProjectId>,
    limits: HashMap<ProjectId, u64>,
    used: HashMap<RepositoryName, u64>,
}

impl Books {
    fn used_by(&self, project: ProjectId) -> u64 {
        let own = self.used.iter().filter(|(repository, _)| self.owners.get(*repository) == Some(&project));
        own.map(|(_, bytes)| bytes).sum()
    }

    /// What the owner may still take. Who the guard has not let push yet takes nothing.
    fn room(&self, repository: &RepositoryName) -> u64 {
        let Some(project) = self.owners.get(repository) else { return 0 };
        self.limits.get(project).copied().unwrap_or(0).saturating_sub(self.used_by(*project))
    }
}

impl ProjectQuota {
    fn books(&self) -> MutexGuard<'_, Books> {
        self.books.lock().expect("nothing panics while it is held")
    }

    fn note(&self, repository: &RepositoryName, project: ProjectId, limit: i64) {
        let mut books = self.books();
        books.owners.insert(repository.clone(), project);
        books.limits.insert(project, u64::try_from(limit).unwrap_or(0));
    }

    fn seed(&self, repository: RepositoryName, bytes: u64) {
        self.books().used.insert(repository, bytes);
    }

    fn used(&self, project: ProjectId) -> u64 {
        self.books().used_by(project)
    }
}

impl Quota for ProjectQuota {
    fn room(&self, repository: &RepositoryName) -> u64 {
        self.books().room(repository)
    }

    fn take(&self, repository: &RepositoryName, bytes: u64) -> bool {
        let mut books = self.books();
        if books.room(repository) < bytes {
            return false;
        }
        *books.used.entry(repository.clone()).or_default() += bytes;
        true
    }

    fn owner(&self, repository: &RepositoryName) -> String {
        let books = self.books();
        books.owners.get(repository).map_or_else(|| repository.to_string(), ToString::to_string)
    }

    fn give_back(&self, repository: &RepositoryName, bytes: u64) {
        if let Some(used) = self.books().used.get_mut(repository) {
            *used = used.saturating_sub(bytes);
        }
    }
}

/// Reads tokens and asks the control plane.
struct PlatformGuard {
    plane: Arc<ControlPlane>,
    quota: Arc<ProjectQuota>,
    /// For what belongs to an image. Weak, because the registry holds its guard.
    disk: Arc<OnceLock<Weak<Disk>>>,
}

impl Guard for PlatformGuard {
    fn check<'a>(&'a self, headers: &'a HeaderMap, need: Option<&'a Need>) -> Checking<'a> {
        Box::pin(async move {
            self.decide(headers, need).await.unwrap_or_else(|error| {
                tracing::warn!("the registry's door could not decide: {error}");
                Verdict::Unavailable
            })
        })
    }
}

fn deed(action: Action) -> Deed {
    match action {
        Action::Pull => Deed::Pull,
        Action::Push => Deed::Push,
        Action::Delete => Deed::Delete,
    }
}

fn bearer(headers: &HeaderMap) -> Option<&str> {
    let mut values = headers.get_all(header::AUTHORIZATION).iter();
    let value = values.next()?;
    if values.next().is_some() {
        return None;
    }
    let (scheme, token) = value.to_str().ok()?.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
}

impl PlatformGuard {
    fn challenge(&self) -> Verdict {
        let door = self.plane.registry();
        Verdict::Challenge(Challenge { realm: door.token_url.clone(), service: door.service().to_owned() })
    }

    async fn decide(&self, headers: &HeaderMap, need: Option<&Need>) -> Result<Verdict> {
        let Some(token) = bearer(headers) else { return Ok(self.challenge()) };
        let Some(claims) = self.plane.read_registry_token(token).await? else { return Ok(self.challenge()) };
        let Some(need) = need else { return Ok(Verdict::Allow) };
        let action = deed(need.action);
        let name = need.repository.as_str();
        let answer = door::check(&self.plane, &claims, name, action).await?;
        let image = match answer {
            Answer::Hide => return Ok(Verdict::Hide),
            Answer::Forbid => return Ok(Verdict::Forbid),
            Answer::Allow { image } => image,
        };
        let listed = claims.access.iter().any(|entry| {
            entry.kind == "repository"
                && entry.name == name
                && entry.actions.iter().any(|listed| listed == action.name())
        });
        if !listed {
            // The holder may, but this token is for something else: another one will do.
            return Ok(self.challenge());
        }
        if let Some(image) = image.or(claims.image)
            && !self.belongs(&need.repository, image.as_str(), &need.what).await?
        {
            return Ok(Verdict::Hide);
        }
        if action == Deed::Delete && !self.may_delete(&need.repository, &need.what).await? {
            return Ok(Verdict::Forbid);
        }
        if action == Deed::Push
            && let Some((project, limit)) = repositories::quota_of(&self.plane, name).await?
        {
            self.quota.note(&need.repository, project, limit);
        }
        Ok(Verdict::Allow)
    }

    /// What an artifact names stays until the artifact is retired.
    async fn may_delete(&self, repository: &RepositoryName, what: &What) -> Result<bool> {
        match what {
            What::Manifest(Reference::Digest(digest)) => {
                // Artifacts are named by SHA-256 only.
                if let Ok(named) = digest.to_string().parse()
                    && !door::may_delete(&self.plane, repository.as_str(), &named).await?
                {
                    return Ok(false);
                }
                self.is_free(repository, digest).await
            }
            // A tag alone may go; a blob only goes when no manifest names it.
            _ => Ok(true),
        }
    }

    /// Whether no index that an artifact in use names has this as a child.
    async fn is_free(&self, repository: &RepositoryName, digest: &Digest) -> Result<bool> {
        let Some(registry) = self.disk.get().and_then(Weak::upgrade) else { return Ok(false) };
        for index in door::live_indexes(&self.plane, repository.as_str()).await? {
            let Ok(index) = index.as_str().parse() else { continue };
            let parts =
                parts_of(registry.storage(), repository, &index).await.map_err(|error| unreadable(&error))?;
            if parts.manifests.contains(digest) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Whether something is part of an image or of what was signed about it.
    async fn belongs(&self, repository: &RepositoryName, image: &str, what: &What) -> Result<bool> {
        let Some(registry) = self.disk.get().and_then(Weak::upgrade) else { return Ok(false) };
        let Ok(image) = image.parse::<Digest>() else { return Ok(false) };
        let beside = |tag: &str| {
            tag.strip_prefix("sha256-")
                .and_then(|rest| rest.strip_prefix(image.hex()))
                .is_some_and(|end| ["", ".sig", ".att", ".sbom"].contains(&end))
        };
        let parts = match what {
            What::Manifest(Reference::Tag(tag)) => return Ok(beside(tag.as_str())),
            What::Referrers(subject) => return Ok(*subject == image),
            What::Tags | What::Upload => return Ok(false),
            What::Manifest(Reference::Digest(digest)) if *digest == image => return Ok(true),
            What::Manifest(Reference::Digest(_)) | What::Blob(_) => {
                parts_of(registry.storage(), repository, &image).await.map_err(|error| unreadable(&error))?
            }
        };
        Ok(match what {
            What::Blob(digest) => parts.blobs.contains(digest),
            What::Manifest(Reference::Digest(digest)) => parts.manifests.contains(digest),
            _ => false,
        })
    }
}

fn unreadable(error: &gpuaas_registry::Error) -> Error {
    Error::new(Kind::Unavailable, "registry_unavailable", "The registry cannot be read now.")
        .with_internal(error.to_string())
}

#[derive(Default)]
struct Parts {
    manifests: HashSet<Digest>,
    blobs: HashSet<Digest>,
}

/// Everything that an image consists of, and everything that was said about it.
async fn parts_of(
    disk: &LocalDisk,
    repository: &RepositoryName,
    image: &Digest,
) -> gpuaas_registry::Result<Parts> {
    let mut parts = Parts::default();
    let mut waiting = vec![Reference::Digest(image.clone())];
    for end in [".sig", ".att", ".sbom", ""] {
        let tag = format!("sha256-{}{end}", image.hex());
        waiting.extend(tag.parse().ok().map(Reference::Tag));
    }
    // As many as anybody looks at for a signature; whoever may push may pile up more.
    for referrer in
        disk.referrer_page(repository, image, None).await?.referrers.into_iter().take(MOST_REFERRERS)
    {
        waiting.extend(referrer.digest.parse().ok().map(Reference::Digest));
    }
    while let Some(next) = waiting.pop() {
        let Some(stored) = disk.find_manifest(repository, &next).await? else { continue };
        if !parts.manifests.insert(stored.digest.clone()) {
            continue;
        }
        // It was read when it was pushed; what cannot be read now has no parts.
        let policy = Policy { foreign_layers: true, sparse_indexes: false };
        let Ok(manifest) = manifest::read(&stored.bytes, stored.media_type, policy) else { continue };
        parts.blobs.extend(manifest.blobs.into_iter().map(|part| part.digest));
        waiting.extend(manifest.children.into_iter().map(|part| Reference::Digest(part.digest)));
    }
    Ok(parts)
}

#[cfg(test)]
mod tests {
    use super::*;
    use uuid::Uuid;

    /// F-05: what one project pushes counts for it alone, in all of its repositories.
    #[test]
    fn a_project_has_one_quota_over_its_repositories() {
        let quota = ProjectQuota::default();
        let name = |text: &str| text.parse::<RepositoryName>().unwrap();
        let (lab, other) = (ProjectId::new(Uuid::from_u128(1)), ProjectId::new(Uuid::from_u128(2)));
        assert!(!quota.take(&name("lab/a"), 1), "nobody was let push there");
        quota.note(&name("lab/a"), lab, 100);
        quota.note(&name("lab/b"), lab, 100);
        quota.note(&name("other/a"), other, 10);
        assert!(
            quota.take(&name("lab/a"), 60)
                && !quota.take(&name("lab/b"), 41)
                && quota.take(&name("lab/b"), 40)
        );
        assert_eq!((quota.room(&name("lab/a")), quota.used(lab)), (0, 100));
        assert!(quota.take(&name("other/a"), 10) && !quota.take(&name("other/a"), 1));
        quota.give_back(&name("lab/a"), 50);
        assert_eq!(quota.room(&name("lab/b")), 50);
    }
}
