//! From what people type to ids: the API takes ids only, people remember slugs and e-mail addresses.

use gpuaas_api::Route;
use gpuaas_api::allocations::{Allocation, AllocationState, SkuView};
use gpuaas_api::artifacts::{Artifact, ArtifactQuery, TrustKey};
use gpuaas_api::identity::{Project, Role, Tenant, User};
use gpuaas_api::instances::{Instance, InstanceQuery};
use gpuaas_api::nodes::Node;
use gpuaas_api::service_accounts::ServiceAccount;
use gpuaas_api::volumes::Volume;
use gpuaas_domain::ids::{
    AllocationId, ArtifactId, InstanceId, NodeId, ProjectId, RoleId, ServiceAccountId, SkuId, TenantId,
    TrustKeyId, UserId, VolumeId,
};
use gpuaas_domain::manifest::Version;
use gpuaas_domain::text::{Slug, nearest};

use crate::failure::{Exit, Failure, Result};
use crate::session::Session;

/// The one whose name was typed, or a refusal that suggests what may have been meant.
fn pick<T, I>(
    kind: &str,
    typed: &str,
    known: &[T],
    name: impl Fn(&T) -> &str,
    id: impl Fn(&T) -> I,
) -> Result<I> {
    let mut matching = known.iter().filter(|item| name(item) == typed);
    match (matching.next(), matching.next()) {
        (Some(found), None) => Ok(id(found)),
        (Some(_), Some(_)) => Err(Failure::new(
            Exit::Conflict,
            "ambiguous",
            format!("more than one {kind} is called {typed:?}"),
        )
        .fix("use the id")),
        (None, _) => {
            let fix = nearest(typed, known.iter().map(&name)).map_or_else(
                || format!("`gpuaas {kind} list` shows the ones you can see"),
                |near| format!("did you mean {near:?}?"),
            );
            let message = format!("there is no {kind} {typed:?}, or you may not see it");
            Err(Failure::new(Exit::NotFound, "not_found", message).fix(fix))
        }
    }
}

/// Slugs and versions become parts of a path, so nothing else may.
pub(crate) fn slug(kind: &str, typed: &str) -> Result<Slug> {
    Slug::parse(typed).map_err(|_| {
        Failure::usage(format!("{typed:?} is not the slug of any {kind}"))
            .fix(format!("`gpuaas {kind} list` shows the ones you can see"))
    })
}

pub(crate) fn version(typed: &str) -> Result<Version> {
    Version::parse(typed).map_err(|_| {
        Failure::usage(format!("{typed:?} is not a version"))
            .fix("write it like 1.0.0; `gpuaas app versions` shows them")
    })
}

/// Names are free again once their bearer has ended, so the ones that live come first.
fn living<T: Clone>(
    typed: &str,
    known: Vec<T>,
    name: impl Fn(&T) -> &str,
    lives: impl Fn(&T) -> bool,
) -> Vec<T> {
    let alive: Vec<T> = known.iter().filter(|item| lives(item)).cloned().collect();
    if alive.iter().any(|item| name(item) == typed) { alive } else { known }
}

fn missing(kind: &str) -> Failure {
    Failure::usage(format!("which {kind}?"))
        .fix(format!("pass --{kind}, or set a default with `gpuaas context set-{kind}`"))
}

impl Session<'_> {
    pub(crate) async fn tenant(&self, typed: &str) -> Result<TenantId> {
        if let Ok(id) = typed.parse() {
            return Ok(id);
        }
        let known: Vec<Tenant> = self.list_all(Route::TenantList, &[]).await?;
        pick("tenant", typed, &known, |tenant| &tenant.slug, |tenant| tenant.id)
    }

    /// The tenant typed, or the context's default.
    pub(crate) async fn tenant_or_default(&self, typed: Option<&str>) -> Result<TenantId> {
        let typed = typed.or(self.context.tenant.as_deref()).ok_or_else(|| missing("tenant"))?;
        self.tenant(typed).await
    }

    /// Project slugs are unique on the platform, so no tenant is needed to read one.
    pub(crate) async fn project(&self, typed: &str) -> Result<ProjectId> {
        if let Ok(id) = typed.parse() {
            return Ok(id);
        }
        let known: Vec<Project> = self.list_all(Route::ProjectListMine, &[]).await?;
        pick("project", typed, &known, |project| &project.slug, |project| project.id)
    }

    /// The project typed, or the context's default, or the only one there is.
    pub(crate) async fn project_or_default(&self, typed: Option<&str>) -> Result<ProjectId> {
        if let Some(typed) = typed {
            let _ = self.typed_project.set(typed.to_owned());
        }
        if let Some(typed) = typed.or(self.context.project.as_deref()) {
            return self.project(typed).await;
        }
        let known: Vec<Project> = self.list_all(Route::ProjectListMine, &[]).await?;
        match known.as_slice() {
            [only] => Ok(only.id),
            _ => Err(missing("project")),
        }
    }

    pub(crate) async fn user(&self, typed: &str) -> Result<UserId> {
        if let Ok(id) = typed.parse() {
            return Ok(id);
        }
        let known: Vec<User> = self.list_all(Route::UserList, &[]).await?;
        pick("user", &typed.to_lowercase(), &known, |user| &user.email, |user| user.id)
    }

    pub(crate) async fn role(&self, typed: &str) -> Result<RoleId> {
        if let Ok(id) = typed.parse() {
            return Ok(id);
        }
        let known: Vec<Role> = self.list_all(Route::RoleList, &[]).await?;
        pick("role", typed, &known, |role| &role.slug, |role| role.id)
    }

    pub(crate) async fn node(&self, typed: &str) -> Result<NodeId> {
        if let Ok(id) = typed.parse() {
            return Ok(id);
        }
        let known: Vec<Node> = self.list_all(Route::NodeList, &[]).await?;
        pick("node", typed, &known, |node| &node.name, |node| node.id)
    }

    /// The slug, which is what the API takes.
    pub(crate) async fn sku(&self, typed: &str) -> Result<Slug> {
        let Ok(id) = typed.parse::<SkuId>() else { return slug("sku", typed) };
        let known: Vec<SkuView> = self.list_all(Route::SkuList, &[]).await?;
        let found = known.iter().find(|view| view.sku.id == id).map_or(typed, |view| view.sku.slug.as_str());
        pick("sku", found, &known, |view| &view.sku.slug, |view| view.sku.slug.clone())
            .and_then(|found| slug("sku", &found))
    }

    pub(crate) async fn allocation(&self, project: ProjectId, typed: &str) -> Result<AllocationId> {
        if let Ok(id) = typed.parse() {
            return Ok(id);
        }
        let known: Vec<Allocation> = self.list_all(Route::AllocationList, &[&project]).await?;
        let known = living(typed, known, |one| &one.name, |one| one.state != AllocationState::Released);
        pick("allocation", typed, &known, |allocation| &allocation.name, |allocation| allocation.id)
    }

    /// Of those that are not deleted; what is, is known by its id only.
    pub(crate) async fn volume(&self, project: ProjectId, typed: &str) -> Result<VolumeId> {
        if let Ok(id) = typed.parse() {
            return Ok(id);
        }
        let known: Vec<Volume> = self.list_all(Route::VolumeList, &[&project]).await?;
        pick("volume", typed, &known, |volume| &volume.name, |volume| volume.id)
    }

    /// A request of any project, for those who decide about requests.
    pub(crate) async fn requested_allocation(&self, typed: &str) -> Result<AllocationId> {
        if let Ok(id) = typed.parse() {
            return Ok(id);
        }
        let known: Vec<Allocation> = self.list_all(Route::AllocationListAll, &[]).await?;
        let known = living(typed, known, |one| &one.name, |one| one.state == AllocationState::Requested);
        pick("allocation", typed, &known, |allocation| &allocation.name, |allocation| allocation.id)
    }

    pub(crate) async fn instance(&self, project: ProjectId, typed: &str) -> Result<InstanceId> {
        if let Ok(id) = typed.parse() {
            return Ok(id);
        }
        let query = InstanceQuery { ended: Some(true), ..InstanceQuery::default() };
        let known: Vec<Instance> = self.list_where(Route::InstanceList, &[&project], &query).await?;
        let known = living(typed, known, |one| &one.name, |one| one.decommissioned_at.is_none());
        pick("instance", typed, &known, |instance| &instance.name, |instance| instance.id)
    }

    pub(crate) async fn service_account(&self, project: ProjectId, typed: &str) -> Result<ServiceAccountId> {
        if let Ok(id) = typed.parse() {
            return Ok(id);
        }
        let known: Vec<ServiceAccount> = self.list_all(Route::ServiceAccountList, &[&project]).await?;
        pick("service-account", typed, &known, |account| &account.name, |account| account.id)
    }

    /// An artifact by id, by `APP@sha256:…`, or by the first digits of its digest.
    pub(crate) async fn artifact(
        &self,
        project: ProjectId,
        typed: &str,
        visible: bool,
    ) -> Result<ArtifactId> {
        if let Ok(id) = typed.parse() {
            return Ok(id);
        }
        let (app, start) = digest_start(typed)?;
        let query = ArtifactQuery {
            app: app.as_ref().map(Slug::to_string),
            visible: visible.then_some(true),
            ..ArtifactQuery::default()
        };
        let known: Vec<Artifact> = self.list_where(Route::ArtifactList, &[&project], &query).await?;
        let matching: Vec<&Artifact> =
            known.iter().filter(|one| hex(&one.digest).starts_with(&start)).collect();
        one_artifact(typed, &matching)
    }

    /// A key of the project, or of the platform where no project is given. Names are free again after a revocation.
    pub(crate) async fn trust_key(&self, project: Option<ProjectId>, typed: &str) -> Result<TrustKeyId> {
        if let Ok(id) = typed.parse() {
            return Ok(id);
        }
        let known: Vec<TrustKey> = match project {
            Some(project) => self.list_all(Route::TrustKeyList, &[&project]).await?,
            None => self.list_all(Route::PlatformTrustKeyList, &[]).await?,
        };
        let own = known.into_iter().filter(|key| key.project_id == project).collect();
        let own = living(typed, own, |key: &TrustKey| &key.name, |key| key.revoked_at.is_none());
        pick("key", typed, &own, |key| &key.name, |key| key.id)
    }
}

fn hex(digest: &str) -> &str {
    digest.strip_prefix("sha256:").unwrap_or(digest)
}

/// The app, if one is named, and how the digest begins.
fn digest_start(typed: &str) -> Result<(Option<Slug>, String)> {
    let refuse = || {
        Failure::usage(format!("{typed:?} names no artifact"))
            .fix("give its id, APP@sha256:…, or at least 4 digits of its digest; `gpuaas artifact list` shows them")
    };
    let (app, digest) = match typed.split_once('@') {
        Some((app, digest)) => (Some(Slug::parse(app).map_err(|_| refuse())?), digest),
        None => (None, typed),
    };
    let start = hex(digest).to_ascii_lowercase();
    let fits = (4..=64).contains(&start.len()) && start.bytes().all(|byte| byte.is_ascii_hexdigit());
    if fits { Ok((app, start)) } else { Err(refuse()) }
}

fn one_artifact(typed: &str, matching: &[&Artifact]) -> Result<ArtifactId> {
    match matching {
        [only] => Ok(only.id),
        [] => {
            let message = format!("there is no artifact {typed:?}, or you may not see it");
            Err(Failure::new(Exit::NotFound, "not_found", message)
                .fix("`gpuaas artifact list` shows the ones you can see"))
        }
        _ => {
            let message = format!("{} artifacts begin like {typed:?}", matching.len());
            Err(Failure::new(Exit::Conflict, "ambiguous", message).fix("give more digits, or the id"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_goes_to_the_one_that_lives() {
        let known = vec![("web", 1, false), ("web", 2, true), ("old", 3, false), ("old", 4, false)];
        let find = |typed| {
            let known = living(typed, known.clone(), |one| one.0, |one| one.2);
            pick("instance", typed, &known, |one| one.0, |one| one.1)
        };
        assert_eq!(find("web").unwrap(), 2);
        assert_eq!(find("old").unwrap_err().exit_code(), 6, "two that ended cannot be told apart");
        assert_eq!(find("new").unwrap_err().exit_code(), 5);
    }

    #[test]
    fn an_artifact_is_found_by_the_start_of_its_digest() {
        let (app, start) = digest_start("hello-web@sha256:ABCD").unwrap();
        assert_eq!((app.unwrap().as_str(), start.as_str()), ("hello-web", "abcd"));
        assert_eq!(digest_start("sha256:0123").unwrap().1, "0123");
        assert_eq!(digest_start("0123abcd").unwrap(), (None, "0123abcd".to_owned()));
        for typed in ["", "012", "xyzw", "A b@0123", "hello-web@", &"0".repeat(65)] {
            assert_eq!(digest_start(typed).unwrap_err().exit_code(), 2, "{typed:?}");
        }
        let artifact: Artifact = serde_json::from_value(crate::tests::samples::artifact()).unwrap();
        assert_eq!(one_artifact("0", &[&artifact]).unwrap(), artifact.id);
        assert_eq!(one_artifact("0", &[]).unwrap_err().exit_code(), 5);
        assert_eq!(one_artifact("0", &[&artifact, &artifact]).unwrap_err().exit_code(), 6);
    }

    #[test]
    fn what_becomes_part_of_a_path_is_checked() {
        assert!(slug("app", "hello-web").is_ok() && version("1.0.0").is_ok());
        for typed in ["../nodes", "a/b", "", "A"] {
            assert_eq!(slug("app", typed).unwrap_err().exit_code(), 2, "{typed:?}");
        }
        for typed in ["1/0", "", "..", "latest"] {
            assert_eq!(version(typed).unwrap_err().exit_code(), 2, "{typed:?}");
        }
    }

    #[test]
    fn a_name_is_found_once_or_explained() {
        let known = ["acme", "apex", "twin", "twin"];
        let find = |typed| pick("tenant", typed, &known, |name| name, |name| name.len());
        assert_eq!(find("acme").unwrap(), 4);
        let typo = find("acmee").unwrap_err();
        assert_eq!((typo.exit_code(), typo.hint().as_deref()), (5, Some("did you mean \"acme\"?")));
        assert_eq!(find("twin").unwrap_err().exit_code(), 6);
        assert!(find("zzzzzzzz").unwrap_err().hint().unwrap().contains("tenant list"));
    }
}
