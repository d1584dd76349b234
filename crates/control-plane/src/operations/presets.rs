//! Presets: choices of a launch form under a name, for everybody of a project.

use gpuaas_domain::event::{Change, EventType, ObjectRef};
use gpuaas_domain::iam::{Permission, Permit};
use gpuaas_domain::ids::{PresetId, ProjectId};
use gpuaas_domain::limit::Limit;
use gpuaas_domain::page::{Page, PageRequest};
use gpuaas_domain::preset::{self, Defaults, Preset, PresetChoices};
use gpuaas_domain::text::Slug;
use gpuaas_domain::{Error, Result};
use gpuaas_store::{Session, Tx};
use serde_json::{Value, json};

use super::launch::unknown_app;
use crate::plane::ControlPlane;
use crate::{OpContext, Prepared};

/// What a new preset shall be.
pub struct NewPreset {
    pub app: Slug,
    pub name: Slug,
    pub is_default: bool,
    pub choices: PresetChoices,
}

/// What is to change; the rest stays.
#[derive(Default)]
pub struct PresetChange {
    pub name: Option<Slug>,
    pub is_default: Option<bool>,
    pub choices: Option<PresetChoices>,
}

pub async fn list(
    ctx: &OpContext,
    project: ProjectId,
    app: Option<&Slug>,
    page: &PageRequest,
) -> Result<Page<Preset>> {
    let permit = ctx.permit_project(Permission::InstanceRead, project).await?;
    let mut session = ctx.plane.store.read().await?;
    session.list_presets(permit.tenant_scope(), app.map(Slug::as_str), page).await
}

pub async fn create(ctx: &OpContext, project: ProjectId, new: NewPreset) -> Result<Prepared<Preset>> {
    let permit = ctx.permit_project(Permission::InstanceCreate, project).await?;
    preset::check_name(new.name.as_str())?;
    preset::check(&new.choices)?;
    let mut tx = ctx.begin(&permit).await?;
    tx.lock_project(project).await?;
    if tx.find_app(new.app.as_str()).await?.is_none() {
        return Err(Error::fields(vec![unknown_app("/app_slug")]));
    }
    let limit = tx.effective_limit(permit.scope(), Limit::Presets).await?;
    Limit::Presets.check(limit, tx.count_presets(project).await?)?;
    let at = tx.at();
    let tenant = permit.scope().tenant().ok_or_else(|| Error::internal("a project has a tenant"))?;
    let preset = Preset {
        id: PresetId::new(ctx.plane.new_uuid()),
        tenant_id: tenant,
        project_id: project,
        app_slug: new.app.into(),
        name: new.name.into(),
        is_default: new.is_default,
        choices: new.choices,
        created_by_kind: permit.actor().kind().to_owned(),
        created_by_id: permit.actor().id(),
        created_at: at,
        version: 1,
        updated_at: at,
    };
    let former = if preset.is_default { take_over(&mut tx, &preset).await? } else { None };
    tx.insert_preset(&preset).await?;
    let change = Change::new(ctx.route.action, object(&preset))
        .after(with_former(preset.audit_view(), former))
        .event(EventType::PresetChanged, with_former(view(&preset), former));
    Ok(Prepared::new(tx, change, preset))
}

pub async fn update(
    ctx: &OpContext,
    project: ProjectId,
    id: PresetId,
    change: PresetChange,
) -> Result<Prepared<Preset>> {
    let permit = ctx.permit_project(Permission::InstanceCreate, project).await?;
    if let Some(name) = &change.name {
        preset::check_name(name.as_str())?;
    }
    if let Some(choices) = &change.choices {
        preset::check(choices)?;
    }
    let (mut tx, before) = load(ctx, &permit, project, id).await?;
    let after = Preset {
        name: change.name.map_or_else(|| before.name.clone(), String::from),
        is_default: change.is_default.unwrap_or(before.is_default),
        choices: change.choices.unwrap_or_else(|| before.choices.clone()),
        ..before.clone()
    };
    let becomes_default = after.is_default && !before.is_default;
    let former = if becomes_default { take_over(&mut tx, &after).await? } else { None };
    let after = tx.update_preset(after).await?;
    let change = Change::new(ctx.route.action, object(&after))
        .before(before.audit_view())
        .after(with_former(after.audit_view(), former))
        .event(EventType::PresetChanged, with_former(view(&after), former));
    Ok(Prepared::new(tx, change, after))
}

pub async fn delete(ctx: &OpContext, project: ProjectId, id: PresetId) -> Result<Prepared<()>> {
    let permit = ctx.permit_project(Permission::InstanceCreate, project).await?;
    let (mut tx, before) = load(ctx, &permit, project, id).await?;
    tx.delete_preset(&before).await?;
    let change = Change::new(ctx.route.action, object(&before))
        .before(before.audit_view())
        .event(EventType::PresetDeleted, view(&before));
    Ok(Prepared::new(tx, change, ()))
}

async fn load(ctx: &OpContext, permit: &Permit, project: ProjectId, id: PresetId) -> Result<(Tx, Preset)> {
    let mut tx = ctx.begin(permit).await?;
    // Two that both become the default take turns.
    tx.lock_project(project).await?;
    let preset = tx.find_preset(permit.tenant_scope(), id).await?.ok_or_else(Error::not_found)?;
    ctx.check_version(preset.version)?;
    Ok((tx, preset))
}

/// One default for an app: the one before steps back, and is named in what is told of the next.
async fn take_over(tx: &mut Tx, next: &Preset) -> Result<Option<PresetId>> {
    let former = tx.find_default_preset(next.project_id, &next.app_slug).await?;
    let Some(former) = former.filter(|former| former.id != next.id) else { return Ok(None) };
    let former = tx.update_preset(Preset { is_default: false, ..former }).await?;
    Ok(Some(former.id))
}

fn with_former(mut told: Value, former: Option<PresetId>) -> Value {
    if let Some(former) = former {
        told["former_default"] = json!(former);
    }
    told
}

/// What stands where nobody chose, for an app in a project.
pub(super) async fn defaults(
    plane: &ControlPlane,
    session: &mut Session,
    project: ProjectId,
    app: &str,
) -> Result<Defaults> {
    let preset = session.find_default_preset(project, app).await?;
    Ok(Defaults {
        site: plane.settings.launch.defaults.get(app).cloned().unwrap_or_default(),
        project: preset.map(|preset| preset.choices.values).unwrap_or_default(),
    })
}

fn object(preset: &Preset) -> ObjectRef {
    ObjectRef::new("launch_preset", preset.id)
}

fn view(preset: &Preset) -> Value {
    json!({"id": preset.id, "app_slug": preset.app_slug, "name": preset.name, "is_default": preset.is_default})
}
