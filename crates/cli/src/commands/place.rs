//! What can be done at every place where roles hold: the platform, a tenant, a project.

use std::fmt::Display;

use clap::Args;
use gpuaas_api::identity::{Binding, LimitSet, LimitView, NewBinding};
use gpuaas_api::{List, Route};
use gpuaas_domain::ids::{BindingId, ProjectId, TenantId};
use gpuaas_domain::limit::Limit;

use crate::failure::{Exit, Failure, Result};
use crate::json::Raw;
use crate::session::{Session, parse};
use crate::terminal;

#[derive(Clone, Copy)]
pub(crate) enum Place {
    Platform,
    Tenant(TenantId),
    Project(ProjectId),
}

/// Which of three sibling routes to call.
pub(crate) struct Siblings {
    pub(crate) platform: Route,
    pub(crate) tenant: Route,
    pub(crate) project: Route,
}

impl Place {
    pub(crate) fn route(self, siblings: &Siblings) -> Route {
        match self {
            Self::Platform => siblings.platform,
            Self::Tenant(_) => siblings.tenant,
            Self::Project(_) => siblings.project,
        }
    }

    /// The place's own path parameters, then `more`.
    pub(crate) fn parameters<'p>(&'p self, more: &'p [&'p dyn Display]) -> Vec<&'p dyn Display> {
        let own: Option<&dyn Display> = match self {
            Self::Platform => None,
            Self::Tenant(id) => Some(id),
            Self::Project(id) => Some(id),
        };
        own.into_iter().chain(more.iter().copied()).collect()
    }
}

/// Where to look; the context's defaults apply unless `--platform` says otherwise.
#[derive(Args)]
#[group(multiple = false)]
pub(crate) struct PlaceArgs {
    /// Only this tenant (id or slug)
    #[arg(long)]
    tenant: Option<String>,
    /// Only this project (id or slug)
    #[arg(long)]
    project: Option<String>,
    /// The whole platform, whatever the context's defaults are
    #[arg(long)]
    platform: bool,
}

impl PlaceArgs {
    pub(crate) async fn resolve(&self, session: &Session<'_>) -> Result<Place> {
        let defaults = (&session.context.project, &session.context.tenant);
        match (&self.project, &self.tenant, self.platform, defaults) {
            (Some(project), ..) => Ok(Place::Project(session.project(project).await?)),
            (None, Some(tenant), ..) => Ok(Place::Tenant(session.tenant(tenant).await?)),
            (None, None, false, (Some(project), _)) => {
                session
                    .printer()
                    .note(&format!("Project {project}, by the context's default; --platform shows all."));
                Ok(Place::Project(session.project(project).await?))
            }
            (None, None, false, (None, Some(tenant))) => {
                session
                    .printer()
                    .note(&format!("Tenant {tenant}, by the context's default; --platform shows all."));
                Ok(Place::Tenant(session.tenant(tenant).await?))
            }
            (None, None, true, _) | (None, None, false, (None, None)) => Ok(Place::Platform),
        }
    }
}

#[derive(Args)]
#[group(required = true, multiple = false)]
pub(crate) struct Holder {
    /// The person: id or e-mail address
    #[arg(long, visible_alias = "email")]
    user: Option<String>,
    /// The service account's id
    #[arg(long, value_name = "ID")]
    service_account: Option<String>,
}

const BINDINGS: Siblings = Siblings {
    platform: Route::PlatformBindingList,
    tenant: Route::TenantBindingList,
    project: Route::ProjectBindingList,
};
const BIND: Siblings = Siblings {
    platform: Route::PlatformBindingCreate,
    tenant: Route::TenantBindingCreate,
    project: Route::ProjectBindingCreate,
};
const UNBIND: Siblings = Siblings {
    platform: Route::PlatformBindingDelete,
    tenant: Route::TenantBindingDelete,
    project: Route::ProjectBindingDelete,
};

pub(crate) async fn bindings(session: &Session<'_>, place: Place, limit: Option<usize>) -> Result<()> {
    let list = session.list(place.route(&BINDINGS), &place.parameters(&[]), &(), limit).await?;
    session.printer().list::<Binding>(&list)
}

pub(crate) async fn bind(session: &Session<'_>, place: Place, role: String, holder: Holder) -> Result<()> {
    let mut binding = NewBinding { role, ..NewBinding::default() };
    match (holder.user, holder.service_account) {
        // The API takes an address as it is, so that whoever may bind need not be allowed to list people.
        (Some(user), _) if user.contains('@') => binding.email = Some(user),
        (Some(user), _) => binding.user_id = Some(session.user(&user).await?),
        (None, Some(account)) => {
            let id = match place {
                Place::Project(project) => session.service_account(project, &account).await?,
                Place::Platform | Place::Tenant(_) => parse_id(&account, "service account")?,
            };
            binding.service_account_id = Some(id);
        }
        (None, None) => return Err(Failure::usage("pass --user or --service-account")),
    }
    let role = binding.role.clone();
    let raw = session.write(place.route(&BIND), &place.parameters(&[]), &binding).await?;
    session.printer().object(&raw)?;
    session.printer().note(&format!("Gave the role {role}."));
    Ok(())
}

pub(crate) async fn unbind(session: &Session<'_>, place: Place, binding: &str) -> Result<()> {
    let id: BindingId = parse_id(binding, "binding")?;
    terminal::confirm(session.app, &format!("Binding {id} will be taken away."))?;
    let raw = session.remove(place.route(&UNBIND), &place.parameters(&[&id]), None).await?;
    session.printer().object(&raw)?;
    session.printer().note(&format!("Took binding {id} away."));
    Ok(())
}

pub(crate) fn parse_id<T: std::str::FromStr>(text: &str, kind: &str) -> Result<T> {
    text.parse().map_err(|_| {
        Failure::usage(format!("{text:?} is not a {kind}'s id"))
            .fix("ids are lower-case UUIDs; the lists show them")
    })
}

/// Tenants and projects have limits; the platform has none of its own.
pub(crate) async fn limits(session: &Session<'_>, place: Place) -> Result<()> {
    let route = limit_route(place, Route::TenantLimitList, Route::ProjectLimitList)?;
    let raw: Raw = session.read(route, &place.parameters(&[])).await?;
    session.printer().list::<LimitView>(&parse::<List<Raw>>(&raw)?)
}

pub(crate) async fn set_limit(session: &Session<'_>, place: Place, limit: &str, value: i64) -> Result<()> {
    let route = limit_route(place, Route::TenantLimitSet, Route::ProjectLimitSet)?;
    let limit = Limit::parse(limit).ok_or_else(|| {
        let known = Limit::ALL.iter().map(|limit| limit.name());
        let names = known.clone().collect::<Vec<_>>().join(", ");
        let fix = gpuaas_domain::text::nearest(limit, known)
            .map_or(format!("known: {names}"), |near| format!("did you mean {near}?"));
        Failure::new(Exit::Usage, "unknown_limit", format!("there is no limit {limit:?}")).fix(fix)
    })?;
    let raw = session.write(route, &place.parameters(&[&limit.name()]), &LimitSet { value }).await?;
    session.printer().object(&raw)?;
    session.printer().note(&format!("Set {} to {value}.", limit.name()));
    Ok(())
}

fn limit_route(place: Place, tenant: Route, project: Route) -> Result<Route> {
    match place {
        Place::Tenant(_) => Ok(tenant),
        Place::Project(_) => Ok(project),
        Place::Platform => Err(Failure::usage("limits stand at tenants and projects")),
    }
}
