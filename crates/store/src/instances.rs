//! Instances with their revisions, members, components, endpoints, timelines and receipts.

use chrono::{DateTime, Utc};
use gpuaas_domain::access::{AccessMode, Label, PublicAccess};
use gpuaas_domain::iam::TenantScope;
use gpuaas_domain::ids::{
    AllocationId, AppVersionId, InstanceId, MemberId, NodeId, ProjectId, RevisionId, TenantId, TimelineId,
};
use gpuaas_domain::instance::{
    Component, ControlPlaneScope, Endpoint, Instance, Member, MemberRole, OperatingMode, RuntimeBackend,
    StoredReceipt, StoredState, TimelineEntry, health_name,
};
use gpuaas_domain::lifecycle::{Operation, Status};
use gpuaas_domain::manifest::EndpointPolicy;
use gpuaas_domain::page::{Page, PageRequest};
use gpuaas_domain::{Error, Result, Timestamp};
use serde_json::Value;
use sqlx::types::Json;
use uuid::Uuid;

use crate::dialect::{is_unique_violation, map_error};
use crate::nodes::unknown;
use crate::tenants::{after_id, one_row};
use crate::{Session, Tx};

row! {
    struct InstanceRow {
        id: Uuid, name: String, app_slug: String, app_version: String, app_version_id: Uuid, previous_version: Option<String>,
        artifact_digest: String, tenant_id: Uuid, project_id: Uuid, status: String, current_operation: Option<String>,
        target_allocation_id: Uuid, node_id: Uuid, operating_mode: String, control_plane_scope: String,
        runtime_backend: String, tenant_boundary_mode: String, execution_engine: String, revision_id: Uuid,
        desired_generation: i64, observed_generation: i64, health: String, failure_reason: Option<String>,
        failure_detail: Option<String>, access_epoch: i64, requested_by_kind: String, requested_by_id: String,
        created_at: DateTime<Utc>, activated_at: Option<DateTime<Utc>>, decommissioned_at: Option<DateTime<Utc>>,
        version: i64, updated_at: DateTime<Utc>,
    }
}

macro_rules! instance_columns {
    () => {
        "id, name, app_slug, app_version, app_version_id, previous_version, artifact_digest, tenant_id, project_id, status, current_operation, target_allocation_id, node_id, operating_mode, control_plane_scope, runtime_backend, tenant_boundary_mode, execution_engine, revision_id, desired_generation, observed_generation, health, failure_reason, failure_detail, access_epoch, requested_by_kind, requested_by_id, created_at, activated_at, decommissioned_at, version, updated_at"
    };
}

impl TryFrom<InstanceRow> for Instance {
    type Error = Error;

    fn try_from(row: InstanceRow) -> Result<Self> {
        let stored = StoredState {
            status: &row.status,
            operation: row.current_operation.as_deref(),
            desired: row.desired_generation,
            observed: row.observed_generation,
            health: &row.health,
            failure_reason: row.failure_reason.as_deref(),
            failure_detail: row.failure_detail.as_deref(),
            activated_at: row.activated_at.map(Timestamp::new),
            decommissioned_at: row.decommissioned_at.map(Timestamp::new),
        };
        let state = stored.read().ok_or_else(|| unknown("instance state", &row.status))?;
        Ok(Self {
            id: InstanceId::new(row.id),
            name: row.name,
            app_slug: row.app_slug,
            app_version: row.app_version,
            app_version_id: AppVersionId::new(row.app_version_id),
            previous_version: row.previous_version,
            artifact_digest: row.artifact_digest,
            tenant_id: TenantId::new(row.tenant_id),
            project_id: ProjectId::new(row.project_id),
            state,
            target_allocation_id: AllocationId::new(row.target_allocation_id),
            node_id: NodeId::new(row.node_id),
            operating_mode: OperatingMode::parse(&row.operating_mode)
                .ok_or_else(|| unknown("operating mode", &row.operating_mode))?,
            control_plane_scope: ControlPlaneScope::parse(&row.control_plane_scope)
                .ok_or_else(|| unknown("scope", &row.control_plane_scope))?,
            runtime_backend: RuntimeBackend::parse(&row.runtime_backend)
                .ok_or_else(|| unknown("backend", &row.runtime_backend))?,
            tenant_boundary_mode: row.tenant_boundary_mode,
            execution_engine: row.execution_engine,
            revision_id: RevisionId::new(row.revision_id),
            access_epoch: row.access_epoch,
            requested_by_kind: row.requested_by_kind,
            requested_by_id: row.requested_by_id,
            created_at: Timestamp::new(row.created_at),
            version: row.version,
            updated_at: Timestamp::new(row.updated_at),
        })
    }
}

/// Which instances a list is about; all where absent.
#[derive(Clone, Debug, Default)]
pub struct InstanceFilter<'a> {
    pub status: Option<Status>,
    pub app: Option<&'a str>,
    pub allocation: Option<AllocationId>,
    /// Those that are decommissioned too.
    pub ended: bool,
}

/// What an instance was rendered from and to.
#[derive(Clone, Debug, PartialEq)]
pub struct StoredRevision {
    pub id: RevisionId,
    pub number: i64,
    pub app_version_id: AppVersionId,
    pub renderer_version: i64,
    /// What was asked for, as a later start repeats it.
    pub wish: Value,
    /// What was rendered; absent in revisions from before it was kept.
    pub render_input: Option<Value>,
    pub rendered: String,
    pub rendered_digest: String,
    pub created_at: Timestamp,
}

row! {
    struct RevisionRow {
        id: Uuid, number: i64, app_version_id: Uuid, renderer_version: i64, wish: Option<Json<Value>>,
        render_input: Json<Value>, rendered: String,
        rendered_digest: String, created_at: DateTime<Utc>,
    }
}

row! {
    struct MemberRow { id: Uuid, allocation_id: Uuid, role: String, status: String, }
}

row! {
    struct ComponentRow {
        name: String, container_id: Option<String>, running: bool, ready: bool, restarts: i64, exit_code: Option<i64>,
        started_at: Option<DateTime<Utc>>,
    }
}

row! {
    struct EndpointRow {
        component: String, name: String, container_port: i64, expose: String, host_port: Option<i64>,
        label: Option<String>, mode: Option<String>, public_access: Option<String>,
    }
}

row! {
    struct TimelineRow { id: Uuid, event_type: String, payload: Json<Value>, occurred_at: DateTime<Utc>, }
}

row! {
    struct ReceiptRow {
        instance_id: Uuid, node_id: Uuid, attested: bool, payload: String, signature: Option<String>, reason: Option<String>,
        created_at: DateTime<Utc>,
    }
}

impl Session {
    pub async fn find_instance(&mut self, scope: TenantScope, id: InstanceId) -> Result<Option<Instance>> {
        let row = fetch_optional!(
            self,
            InstanceRow,
            concat!(
                "SELECT ",
                instance_columns!(),
                " FROM app_instances WHERE id = $1 AND ($2 IS NULL OR tenant_id = $2) AND ($3 IS NULL OR project_id = $3)"
            ),
            id.uuid(),
            scope.tenant().map(TenantId::uuid),
            scope.project().map(ProjectId::uuid)
        )?;
        row.map(Instance::try_from).transpose()
    }

    pub async fn list_instances(
        &mut self,
        scope: TenantScope,
        filter: &InstanceFilter<'_>,
        page: &PageRequest,
    ) -> Result<Page<Instance>> {
        let rows = fetch!(
            self,
            InstanceRow,
            concat!(
                "SELECT ",
                instance_columns!(),
                " FROM app_instances WHERE id > $1 AND ($2 IS NULL OR tenant_id = $2) AND ($3 IS NULL OR project_id = $3) \
                 AND ($4 = '' OR status = $4) AND ($5 = '' OR app_slug = $5) AND ($6 IS NULL OR target_allocation_id = $6) \
                 AND ($7 OR decommissioned_at IS NULL) ORDER BY id LIMIT $8"
            ),
            after_id(page)?,
            scope.tenant().map(TenantId::uuid),
            scope.project().map(ProjectId::uuid),
            filter.status.map_or("", Status::name),
            filter.app.unwrap_or(""),
            filter.allocation.map(AllocationId::uuid),
            filter.ended,
            i64::from(page.limit) + 1
        )?;
        let all: Result<Vec<_>> = rows.into_iter().map(Instance::try_from).collect();
        Ok(Page::from_rows(all?, page.limit, |instance| instance.id.to_string()))
    }

    /// Everything on a node that is not over, and what still has to be swept there.
    pub async fn list_node_instances(&mut self, node: NodeId) -> Result<Vec<Instance>> {
        let rows = fetch!(
            self,
            InstanceRow,
            concat!(
                "SELECT ",
                instance_columns!(),
                " FROM app_instances WHERE node_id = $1 AND (decommissioned_at IS NULL OR id IN \
                 (SELECT instance_id FROM node_tasks WHERE node_id = $1 AND state IN ('queued', 'sent'))) ORDER BY id"
            ),
            node.uuid()
        )?;
        rows.into_iter().map(Instance::try_from).collect()
    }

    pub async fn list_allocation_instances(&mut self, allocation: AllocationId) -> Result<Vec<Instance>> {
        let rows = fetch!(
            self,
            InstanceRow,
            concat!(
                "SELECT ",
                instance_columns!(),
                " FROM app_instances WHERE target_allocation_id = $1 AND decommissioned_at IS NULL ORDER BY id"
            ),
            allocation.uuid()
        )?;
        rows.into_iter().map(Instance::try_from).collect()
    }

    /// Whether a live instance of the project has this name.
    pub async fn is_instance_name_taken(&mut self, project: ProjectId, name: &str) -> Result<bool> {
        let count = scalar!(
            self,
            i64,
            "SELECT COUNT(*) FROM app_instances WHERE project_id = $1 AND name = $2 AND decommissioned_at IS NULL",
            project.uuid(),
            name
        )?;
        Ok(count > 0)
    }

    pub async fn count_instances(&mut self, project: ProjectId) -> Result<i64> {
        scalar!(
            self,
            i64,
            "SELECT COUNT(*) FROM app_instances WHERE project_id = $1 AND decommissioned_at IS NULL",
            project.uuid()
        )
    }

    /// Instances that stand in the way of deleting their project: ids and names, at most 20.
    pub async fn live_instances(&mut self, project: ProjectId) -> Result<Vec<(Uuid, String)>> {
        fetch!(
            self,
            (Uuid, String),
            "SELECT id, name FROM app_instances WHERE project_id = $1 AND decommissioned_at IS NULL ORDER BY id LIMIT 20",
            project.uuid()
        )
    }

    pub async fn find_revision(&mut self, id: RevisionId) -> Result<Option<StoredRevision>> {
        let row = fetch_optional!(
            self,
            RevisionRow,
            "SELECT id, number, app_version_id, renderer_version, wish, render_input, rendered, rendered_digest, created_at \
             FROM app_instance_revisions WHERE id = $1",
            id.uuid()
        )?;
        Ok(row.map(|row| {
            let (wish, render_input) = match row.wish {
                Some(wish) => (wish.0, Some(row.render_input.0)),
                None => (row.render_input.0, None),
            };
            StoredRevision {
                id: RevisionId::new(row.id),
                number: row.number,
                app_version_id: AppVersionId::new(row.app_version_id),
                renderer_version: row.renderer_version,
                wish,
                render_input,
                rendered: row.rendered,
                rendered_digest: row.rendered_digest,
                created_at: Timestamp::new(row.created_at),
            }
        }))
    }

    pub async fn list_members(&mut self, instance: InstanceId) -> Result<Vec<Member>> {
        let rows = fetch!(
            self,
            MemberRow,
            "SELECT id, allocation_id, role, status FROM app_instance_members WHERE instance_id = $1 ORDER BY id",
            instance.uuid()
        )?;
        rows.into_iter()
            .map(|row| {
                Ok(Member {
                    id: MemberId::new(row.id),
                    allocation_id: AllocationId::new(row.allocation_id),
                    role: MemberRole::parse(&row.role).ok_or_else(|| unknown("role", &row.role))?,
                    status: row.status,
                })
            })
            .collect()
    }

    pub async fn list_components(&mut self, instance: InstanceId) -> Result<Vec<Component>> {
        let rows = fetch!(
            self,
            ComponentRow,
            "SELECT name, container_id, running, ready, restarts, exit_code, started_at FROM app_instance_components \
             WHERE instance_id = $1 ORDER BY name",
            instance.uuid()
        )?;
        Ok(rows
            .into_iter()
            .map(|row| Component {
                name: row.name,
                container_id: row.container_id,
                running: row.running,
                ready: row.ready,
                restarts: row.restarts,
                exit_code: row.exit_code,
                started_at: row.started_at.map(Timestamp::new),
            })
            .collect())
    }

    pub async fn list_endpoints(&mut self, instance: InstanceId) -> Result<Vec<Endpoint>> {
        let rows = fetch!(
            self,
            EndpointRow,
            "SELECT e.component, e.name, e.container_port, e.expose, e.host_port, r.label, r.mode, r.public_access \
             FROM app_instance_endpoints e LEFT JOIN endpoint_routes r \
             ON r.instance_id = e.instance_id AND r.component = e.component AND r.name = e.name \
             WHERE e.instance_id = $1 ORDER BY e.component, e.name",
            instance.uuid()
        )?;
        // What has no route is reached inside or by a private tunnel only.
        let unrouted =
            |expose: &str| if expose == "internal" { AccessMode::Internal } else { AccessMode::Private };
        Ok(rows
            .into_iter()
            .map(|row| Endpoint {
                mode: row
                    .mode
                    .as_deref()
                    .and_then(AccessMode::parse)
                    .unwrap_or_else(|| unrouted(&row.expose)),
                public_access: row.public_access.as_deref().and_then(PublicAccess::parse).unwrap_or_default(),
                label: row.label.as_deref().and_then(Label::parse),
                policy: EndpointPolicy::default(),
                component: row.component,
                name: row.name,
                port: row.container_port,
                expose: row.expose,
                host_port: row.host_port,
            })
            .collect())
    }

    pub async fn list_timeline(
        &mut self,
        instance: InstanceId,
        page: &PageRequest,
    ) -> Result<Page<TimelineEntry>> {
        let rows = fetch!(
            self,
            TimelineRow,
            "SELECT id, event_type, payload, occurred_at FROM app_instance_events WHERE instance_id = $1 AND id > $2 ORDER BY id LIMIT $3",
            instance.uuid(),
            after_id(page)?,
            i64::from(page.limit) + 1
        )?;
        Ok(Page::from_rows(rows.into_iter().map(entry).collect(), page.limit, |entry: &TimelineEntry| {
            entry.id.to_string()
        }))
    }

    /// The newest lines, oldest first.
    pub async fn recent_timeline(&mut self, instance: InstanceId, limit: i64) -> Result<Vec<TimelineEntry>> {
        let rows = fetch!(
            self,
            TimelineRow,
            "SELECT id, event_type, payload, occurred_at FROM app_instance_events WHERE instance_id = $1 ORDER BY id DESC LIMIT $2",
            instance.uuid(),
            limit
        )?;
        Ok(rows.into_iter().rev().map(entry).collect())
    }

    pub async fn find_receipt(&mut self, instance: InstanceId) -> Result<Option<StoredReceipt>> {
        let row = fetch_optional!(
            self,
            ReceiptRow,
            "SELECT instance_id, node_id, attested, payload, signature, reason, created_at FROM receipts WHERE instance_id = $1",
            instance.uuid()
        )?;
        Ok(row.map(|row| StoredReceipt {
            instance_id: InstanceId::new(row.instance_id),
            node_id: NodeId::new(row.node_id),
            attested: row.attested,
            payload: row.payload,
            signature: row.signature,
            reason: row.reason,
            created_at: Timestamp::new(row.created_at),
        }))
    }
}

fn entry(row: TimelineRow) -> TimelineEntry {
    TimelineEntry {
        id: TimelineId::new(row.id),
        event_type: row.event_type,
        payload: row.payload.0,
        occurred_at: Timestamp::new(row.occurred_at),
    }
}

impl Tx {
    /// Reports, commands and loops about one instance take turns.
    pub async fn lock_instance(&mut self, id: InstanceId) -> Result<()> {
        if self.dialect() == crate::dialect::Dialect::Postgres {
            let _: Option<(i64,)> = fetch_optional!(
                self,
                (i64,),
                "SELECT version FROM app_instances WHERE id = $1 FOR UPDATE",
                id.uuid()
            )?;
        }
        Ok(())
    }

    pub async fn insert_instance(&mut self, i: &Instance) -> Result<()> {
        let failure = i.state.failure.as_ref();
        execute_raw!(
            self,
            concat!(
                "INSERT INTO app_instances (",
                instance_columns!(),
                ") VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22, $23, $24, $25, $26, $27, $28, $29, $30, $31, $32)"
            ),
            i.id.uuid(),
            i.name.as_str(),
            i.app_slug.as_str(),
            i.app_version.as_str(),
            i.app_version_id.uuid(),
            i.previous_version.as_deref(),
            i.artifact_digest.as_str(),
            i.tenant_id.uuid(),
            i.project_id.uuid(),
            i.state.status.name(),
            i.state.operation.map(Operation::name),
            i.target_allocation_id.uuid(),
            i.node_id.uuid(),
            i.operating_mode.name(),
            i.control_plane_scope.name(),
            i.runtime_backend.name(),
            i.tenant_boundary_mode.as_str(),
            i.execution_engine.as_str(),
            i.revision_id.uuid(),
            i.state.desired,
            i.state.observed,
            health_name(i.state.health),
            failure.map(|failure| failure.reason.name()),
            failure.map(|failure| failure.detail.as_str()),
            i.access_epoch,
            i.requested_by_kind.as_str(),
            i.requested_by_id.as_str(),
            i.created_at.to_datetime(),
            i.state.activated_at.map(Timestamp::to_datetime),
            i.state.decommissioned_at.map(Timestamp::to_datetime),
            i.version,
            i.updated_at.to_datetime()
        )
        .map_err(|error| {
            if is_unique_violation(&error) {
                return Error::conflict("name_taken", "The project has another instance of this name; choose another.");
            }
            map_error(error)
        })?;
        Ok(())
    }

    /// Everything about an instance that its life changes.
    pub async fn update_instance(&mut self, i: Instance) -> Result<Instance> {
        let at = self.at();
        let failure = i.state.failure.as_ref();
        let touched = execute!(
            self,
            "UPDATE app_instances SET status = $3, current_operation = $4, revision_id = $5, desired_generation = $6, \
             observed_generation = $7, health = $8, failure_reason = $9, failure_detail = $10, access_epoch = $11, activated_at = $12, \
             decommissioned_at = $13, updated_at = $14, version = version + 1 WHERE id = $1 AND version = $2",
            i.id.uuid(),
            i.version,
            i.state.status.name(),
            i.state.operation.map(Operation::name),
            i.revision_id.uuid(),
            i.state.desired,
            i.state.observed,
            health_name(i.state.health),
            failure.map(|failure| failure.reason.name()),
            failure.map(|failure| failure.detail.as_str()),
            i.access_epoch,
            i.state.activated_at.map(Timestamp::to_datetime),
            i.state.decommissioned_at.map(Timestamp::to_datetime),
            at.to_datetime()
        )?;
        one_row(touched)?;
        Ok(Instance { version: i.version + 1, updated_at: at, ..i })
    }

    pub async fn insert_revision(&mut self, instance: InstanceId, revision: &StoredRevision) -> Result<()> {
        execute!(
            self,
            "INSERT INTO app_instance_revisions (id, instance_id, number, app_version_id, renderer_version, wish, render_input, rendered, rendered_digest, created_at) \
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)",
            revision.id.uuid(),
            instance.uuid(),
            revision.number,
            revision.app_version_id.uuid(),
            revision.renderer_version,
            Json(&revision.wish),
            Json(revision.render_input.as_ref().unwrap_or(&Value::Null)),
            revision.rendered.as_str(),
            revision.rendered_digest.as_str(),
            revision.created_at.to_datetime()
        )?;
        Ok(())
    }

    pub async fn insert_member(&mut self, instance: InstanceId, member: &Member) -> Result<()> {
        let at = self.at().to_datetime();
        execute!(
            self,
            "INSERT INTO app_instance_members (id, instance_id, allocation_id, role, status, created_at) VALUES ($1, $2, $3, $4, $5, $6)",
            member.id.uuid(),
            instance.uuid(),
            member.allocation_id.uuid(),
            member.role.name(),
            member.status.as_str(),
            at
        )?;
        Ok(())
    }

    pub async fn set_member_status(&mut self, instance: InstanceId, status: &str) -> Result<()> {
        execute!(
            self,
            "UPDATE app_instance_members SET status = $2 WHERE instance_id = $1 AND status <> $2",
            instance.uuid(),
            status
        )?;
        Ok(())
    }

    pub async fn put_component(&mut self, instance: InstanceId, component: &Component) -> Result<()> {
        execute!(
            self,
            "INSERT INTO app_instance_components (instance_id, name, container_id, running, ready, restarts, exit_code, started_at) \
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8) ON CONFLICT (instance_id, name) DO UPDATE SET container_id = excluded.container_id, \
             running = excluded.running, ready = excluded.ready, restarts = excluded.restarts, exit_code = excluded.exit_code, \
             started_at = excluded.started_at",
            instance.uuid(),
            component.name.as_str(),
            component.container_id.as_deref(),
            component.running,
            component.ready,
            component.restarts,
            component.exit_code,
            component.started_at.map(Timestamp::to_datetime)
        )?;
        Ok(())
    }

    pub async fn insert_endpoint(&mut self, instance: InstanceId, endpoint: &Endpoint) -> Result<()> {
        execute!(
            self,
            "INSERT INTO app_instance_endpoints (instance_id, component, name, container_port, expose, host_port) VALUES ($1, $2, $3, $4, $5, $6)",
            instance.uuid(),
            endpoint.component.as_str(),
            endpoint.name.as_str(),
            endpoint.port,
            endpoint.expose.as_str(),
            endpoint.host_port
        )?;
        Ok(())
    }

    pub async fn add_to_timeline(&mut self, instance: InstanceId, entry: &TimelineEntry) -> Result<()> {
        execute!(
            self,
            "INSERT INTO app_instance_events (id, instance_id, event_type, payload, occurred_at) VALUES ($1, $2, $3, $4, $5)",
            entry.id.uuid(),
            instance.uuid(),
            entry.event_type.as_str(),
            Json(&entry.payload),
            entry.occurred_at.to_datetime()
        )?;
        Ok(())
    }

    /// Kept once; what is kept never changes.
    pub async fn keep_receipt(&mut self, receipt: &StoredReceipt) -> Result<()> {
        execute!(
            self,
            "INSERT INTO receipts (instance_id, node_id, attested, payload, signature, reason, created_at) VALUES ($1, $2, $3, $4, $5, $6, $7) \
             ON CONFLICT (instance_id) DO NOTHING",
            receipt.instance_id.uuid(),
            receipt.node_id.uuid(),
            receipt.attested,
            receipt.payload.as_str(),
            receipt.signature.as_deref(),
            receipt.reason.as_deref(),
            receipt.created_at.to_datetime()
        )?;
        Ok(())
    }

    /// Commits what a node sees where it is nobody's decision: progress, restarts. No audit row, no event.
    pub async fn commit_observation(self) -> Result<()> {
        self.commit_housekeeping().await
    }
}
