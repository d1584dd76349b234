//! How each kind of object looks as a row of a table, and what to say when there is none.

use gpuaas_api::auth::{PersonalToken, PrincipalKind};
use gpuaas_api::identity::{
    Binding, LimitView, PermissionView, Project, Role, ScopeName, ScopeRef, Tenant, User,
};
use gpuaas_api::observe::{AuditEntry, Event};
use gpuaas_api::service_accounts::ServiceAccount;
use gpuaas_domain::Timestamp;
use serde::de::DeserializeOwned;

pub(crate) mod apps;
pub(crate) mod compute;
pub(crate) mod form;
pub(crate) mod instances;
pub(crate) mod plan;
mod presets;
pub(crate) mod receipt;
pub(crate) mod registry;
pub(crate) mod volumes;

/// How one object looks on its own, a line per fact.
pub(crate) trait Facts: DeserializeOwned {
    fn facts(&self) -> Vec<(&'static str, String)>;
}

pub(crate) trait Row: DeserializeOwned {
    const TITLES: &'static [&'static str];
    /// Said on stderr instead of an empty table: what to do next.
    const EMPTY: &'static str;
    fn cells(&self) -> Vec<String>;
}

/// To the second: the rest is for programs.
pub(crate) fn short(at: Timestamp) -> String {
    at.to_datetime().format("%Y-%m-%d %H:%M:%SZ").to_string()
}

pub(crate) fn scope(scope: &ScopeRef) -> String {
    let id = |id: Option<String>| id.unwrap_or_default();
    match scope.kind {
        ScopeName::Platform => "platform".to_owned(),
        ScopeName::Tenant => format!("tenant {}", id(scope.tenant_id.map(|id| id.to_string()))),
        ScopeName::Project => format!("project {}", id(scope.project_id.map(|id| id.to_string()))),
    }
}

pub(crate) fn principal_kind(kind: PrincipalKind) -> &'static str {
    match kind {
        PrincipalKind::User => "user",
        PrincipalKind::ServiceAccount => "service-account",
    }
}

/// Nothing as a dash.
pub(crate) fn dash<T: ToString>(value: Option<T>) -> String {
    value.map_or_else(|| "-".to_owned(), |value| value.to_string())
}

/// Marks what is made up, wherever it is shown.
pub(crate) fn simulated(text: impl Into<String>, simulated: bool) -> String {
    let text = text.into();
    if simulated { format!("{text} (simulated)") } else { text }
}

fn yes(value: bool) -> String {
    if value { "yes" } else { "no" }.to_owned()
}

impl Row for Tenant {
    const TITLES: &'static [&'static str] = &["SLUG", "NAME", "STATE", "CREATED", "ID"];
    const EMPTY: &'static str =
        "No tenants that you can see. Create one with `gpuaas tenant create SLUG`, or ask for a role.";

    fn cells(&self) -> Vec<String> {
        vec![
            self.slug.clone(),
            self.display_name.clone(),
            self.state.name().into(),
            short(self.created_at),
            self.id.to_string(),
        ]
    }
}

impl Row for Project {
    const TITLES: &'static [&'static str] = &["SLUG", "NAME", "STATE", "CREATED", "ID", "TENANT"];
    const EMPTY: &'static str = "No projects that you can see. Create one with `gpuaas project create SLUG --tenant TENANT`, or ask for a role.";

    fn cells(&self) -> Vec<String> {
        vec![
            self.slug.clone(),
            self.display_name.clone(),
            self.state.name().into(),
            short(self.created_at),
            self.id.to_string(),
            self.tenant_id.to_string(),
        ]
    }
}

impl Row for User {
    const TITLES: &'static [&'static str] = &["EMAIL", "NAME", "STATE", "CREATED", "ID"];
    const EMPTY: &'static str = "No people. Create an account with `gpuaas user create EMAIL`.";

    fn cells(&self) -> Vec<String> {
        vec![
            self.email.clone(),
            self.display_name.clone(),
            self.state.name().into(),
            short(self.created_at),
            self.id.to_string(),
        ]
    }
}

impl Row for Role {
    const TITLES: &'static [&'static str] = &["SLUG", "NAME", "BUILT-IN", "PERMISSIONS", "ID"];
    const EMPTY: &'static str = "No roles. Create one with `gpuaas role create SLUG --permission KEY`.";

    fn cells(&self) -> Vec<String> {
        let count = self.permissions.len().to_string();
        vec![self.slug.clone(), self.display_name.clone(), yes(self.builtin), count, self.id.to_string()]
    }
}

impl Row for PermissionView {
    const TITLES: &'static [&'static str] = &["PERMISSION", "PEOPLE ONLY", "MEANING"];
    const EMPTY: &'static str = "No permissions.";

    fn cells(&self) -> Vec<String> {
        vec![self.key.clone(), yes(self.needs_human), self.about.clone()]
    }
}

impl Row for Binding {
    const TITLES: &'static [&'static str] =
        &["ROLE", "HELD BY", "PRINCIPAL ID", "SCOPE", "SINCE", "BINDING ID"];
    const EMPTY: &'static str =
        "Nobody holds a role here directly. Give one with `bind --role ROLE --user EMAIL`.";

    fn cells(&self) -> Vec<String> {
        vec![
            self.role.clone(),
            principal_kind(self.principal.kind).into(),
            self.principal.id.to_string(),
            scope(&self.scope),
            short(self.created_at),
            self.id.to_string(),
        ]
    }
}

impl Row for LimitView {
    const TITLES: &'static [&'static str] = &["LIMIT", "VALUE", "DEFAULT", "MEANING"];
    const EMPTY: &'static str = "No limits.";

    fn cells(&self) -> Vec<String> {
        vec![self.name.clone(), self.value.to_string(), yes(self.is_default), self.about.clone()]
    }
}

impl Row for PersonalToken {
    const TITLES: &'static [&'static str] = &["NAME", "EXPIRES", "CREATED", "ID"];
    const EMPTY: &'static str = "No personal tokens. Create one with `gpuaas token create NAME`.";

    fn cells(&self) -> Vec<String> {
        vec![self.name.clone(), short(self.expires_at), short(self.created_at), self.id.to_string()]
    }
}

impl Row for ServiceAccount {
    const TITLES: &'static [&'static str] = &["NAME", "KIND", "STATE", "CREATED", "ID"];
    const EMPTY: &'static str = "No service accounts in this project. Create one with `gpuaas service-account create NAME --role ROLE --key-file FILE`.";

    fn cells(&self) -> Vec<String> {
        vec![
            self.name.clone(),
            self.kind.name().into(),
            self.state.name().into(),
            short(self.created_at),
            self.id.to_string(),
        ]
    }
}

impl Row for AuditEntry {
    const TITLES: &'static [&'static str] =
        &["SEQ", "AT", "ACTOR", "ACTION", "OUTCOME", "OBJECT", "CORRELATION ID"];
    const EMPTY: &'static str =
        "No audit rows match. Leave filters out, or look at a wider scope with --tenant or --platform.";

    fn cells(&self) -> Vec<String> {
        vec![
            self.sequence.to_string(),
            short(self.at),
            format!("{} {}", self.actor_kind, self.actor_id),
            self.action.clone(),
            self.outcome.clone(),
            format!("{} {}", self.object_kind, self.object_id),
            self.correlation_id.clone(),
        ]
    }
}

impl Row for Event {
    const TITLES: &'static [&'static str] = &["SEQ", "TIME", "TYPE", "SUBJECT", "ACTOR"];
    const EMPTY: &'static str = "No events. `gpuaas event follow` waits for new ones.";

    fn cells(&self) -> Vec<String> {
        vec![
            self.sequence.to_string(),
            short(self.time),
            self.kind.clone(),
            self.subject.clone(),
            format!("{} {}", self.actor_kind, self.actor_id),
        ]
    }
}
