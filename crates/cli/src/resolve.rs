//! From what people type to ids: the API takes ids only, people remember slugs and e-mail addresses.

use gpuaas_api::Route;
use gpuaas_api::identity::{Project, Role, Tenant, User};
use gpuaas_api::service_accounts::ServiceAccount;
use gpuaas_domain::ids::{ProjectId, RoleId, ServiceAccountId, TenantId, UserId};
use gpuaas_domain::text::nearest;

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

    pub(crate) async fn project_or_default(&self, typed: Option<&str>) -> Result<ProjectId> {
        let typed = typed.or(self.context.project.as_deref()).ok_or_else(|| missing("project"))?;
        self.project(typed).await
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

    pub(crate) async fn service_account(&self, project: ProjectId, typed: &str) -> Result<ServiceAccountId> {
        if let Ok(id) = typed.parse() {
            return Ok(id);
        }
        let known: Vec<ServiceAccount> = self.list_all(Route::ServiceAccountList, &[&project]).await?;
        pick("service-account", typed, &known, |account| &account.name, |account| account.id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
