//! Volumes, who holds them, and the orders to remove their bytes.

use chrono::{DateTime, Utc};
use gpuaas_domain::iam::TenantScope;
use gpuaas_domain::ids::{
    InstanceId, NodeId, ProjectId, ReservationId, RevisionId, TaskId, TenantId, VolumeId,
};
use gpuaas_domain::instance::{NodeTask, Subject, TaskState};
use gpuaas_domain::page::{Page, PageRequest};
use gpuaas_domain::volume::{Attachment, KnownVolume, Volume, VolumeState};
use gpuaas_domain::{Error, Result, Timestamp};
use uuid::Uuid;

use crate::dialect::{is_unique_violation, map_error};
use crate::nodes::unknown;
use crate::tenants::{after_id, one_row};
use crate::{Session, Tx};

row! {
    struct VolumeRow {
        id: Uuid, tenant_id: Uuid, project_id: Uuid, name: String, node_id: Uuid, size_mib: Option<i64>, state: String,
        problem: Option<String>, created_by_kind: String, created_by_id: String, created_at: DateTime<Utc>,
        deleting_at: Option<DateTime<Utc>>, ended_at: Option<DateTime<Utc>>, version: i64, updated_at: DateTime<Utc>,
    }
}

macro_rules! volume_columns {
    () => {
        "id, tenant_id, project_id, name, node_id, size_mib, state, problem, created_by_kind, created_by_id, created_at, deleting_at, ended_at, version, updated_at"
    };
}

impl TryFrom<VolumeRow> for Volume {
    type Error = Error;

    fn try_from(row: VolumeRow) -> Result<Self> {
        Ok(Self {
            id: VolumeId::new(row.id),
            tenant_id: TenantId::new(row.tenant_id),
            project_id: ProjectId::new(row.project_id),
            name: row.name,
            node_id: NodeId::new(row.node_id),
            size_mib: row.size_mib,
            state: VolumeState::parse(&row.state).ok_or_else(|| unknown("volume state", &row.state))?,
            problem: row.problem,
            created_by_kind: row.created_by_kind,
            created_by_id: row.created_by_id,
            created_at: Timestamp::new(row.created_at),
            deleting_at: row.deleting_at.map(Timestamp::new),
            ended_at: row.ended_at.map(Timestamp::new),
            version: row.version,
            updated_at: Timestamp::new(row.updated_at),
        })
    }
}

row! {
    struct AttachmentRow {
        volume_id: Uuid, instance_id: Uuid, instance_name: String, mount: String, read_only: bool, held_at: DateTime<Utc>,
    }
}

impl From<AttachmentRow> for Attachment {
    fn from(row: AttachmentRow) -> Self {
        Self {
            volume_id: VolumeId::new(row.volume_id),
            instance_id: InstanceId::new(row.instance_id),
            instance_name: row.instance_name,
            mount: row.mount,
            read_only: row.read_only,
            held_at: Timestamp::new(row.held_at),
        }
    }
}

row! {
    struct RemovalRow {
        id: Uuid, node_id: Uuid, volume_id: Uuid, task_order: String, state: String, attempts: i64, correlation_id: String,
        trace_id: String, created_at: DateTime<Utc>,
    }
}

impl TryFrom<RemovalRow> for NodeTask {
    type Error = Error;

    fn try_from(row: RemovalRow) -> Result<Self> {
        Ok(Self {
            id: TaskId::new(row.id),
            node_id: NodeId::new(row.node_id),
            subject: Subject::Volume(VolumeId::new(row.volume_id)),
            generation: REMOVAL_GENERATION,
            family: "volume.remove".to_owned(),
            order: row.task_order,
            state: TaskState::parse(&row.state).ok_or_else(|| unknown("task state", &row.state))?,
            attempts: row.attempts,
            correlation_id: row.correlation_id,
            trace_id: row.trace_id,
            created_at: Timestamp::new(row.created_at),
        })
    }
}

/// A volume has one wish in its life: to be removed.
pub const REMOVAL_GENERATION: i64 = 1;

impl Session {
    pub async fn find_volume(&mut self, scope: TenantScope, id: VolumeId) -> Result<Option<Volume>> {
        let row = fetch_optional!(
            self,
            VolumeRow,
            concat!(
                "SELECT ",
                volume_columns!(),
                " FROM volumes WHERE id = $1 AND ($2 IS NULL OR tenant_id = $2) AND ($3 IS NULL OR project_id = $3)"
            ),
            id.uuid(),
            scope.tenant().map(TenantId::uuid),
            scope.project().map(ProjectId::uuid)
        )?;
        row.map(Volume::try_from).transpose()
    }

    /// Those of the scope in a state; without one, those that are not deleted.
    pub async fn list_volumes(
        &mut self,
        scope: TenantScope,
        state: Option<VolumeState>,
        page: &PageRequest,
    ) -> Result<Page<Volume>> {
        let rows = fetch!(
            self,
            VolumeRow,
            concat!(
                "SELECT ",
                volume_columns!(),
                " FROM volumes WHERE id > $1 AND ($2 IS NULL OR tenant_id = $2) AND ($3 IS NULL OR project_id = $3) \
                 AND (state = $4 OR ($4 = '' AND state <> 'deleted')) ORDER BY id LIMIT $5"
            ),
            after_id(page)?,
            scope.tenant().map(TenantId::uuid),
            scope.project().map(ProjectId::uuid),
            state.map_or("", VolumeState::name),
            i64::from(page.limit) + 1
        )?;
        let all: Result<Vec<_>> = rows.into_iter().map(Volume::try_from).collect();
        Ok(Page::from_rows(all?, page.limit, |volume| volume.id.to_string()))
    }

    /// Who holds a volume of the scope now, the eldest first.
    pub async fn list_attachments(&mut self, scope: TenantScope, id: VolumeId) -> Result<Vec<Attachment>> {
        let rows = fetch!(
            self,
            AttachmentRow,
            "SELECT a.volume_id, a.instance_id, i.name AS instance_name, a.mount, a.read_only, a.held_at \
             FROM volume_attachments a JOIN app_instances i ON i.id = a.instance_id \
             WHERE a.volume_id = $1 AND ($2 IS NULL OR a.tenant_id = $2) AND ($3 IS NULL OR a.project_id = $3) \
             AND a.released_at IS NULL ORDER BY a.held_at, a.id",
            id.uuid(),
            scope.tenant().map(TenantId::uuid),
            scope.project().map(ProjectId::uuid)
        )?;
        Ok(rows.into_iter().map(Attachment::from).collect())
    }

    /// A volume of the scope and who holds it.
    pub async fn find_known_volume(
        &mut self,
        scope: TenantScope,
        id: VolumeId,
    ) -> Result<Option<KnownVolume>> {
        let Some(volume) = self.find_volume(scope, id).await? else { return Ok(None) };
        let holders = self.list_attachments(scope, id).await?;
        Ok(Some(KnownVolume { volume, holders }))
    }

    /// Those of the scope that are not deleted, each with who holds it.
    pub async fn list_known_volumes(
        &mut self,
        scope: TenantScope,
        page: &PageRequest,
    ) -> Result<Vec<KnownVolume>> {
        let volumes = self.list_volumes(scope, None, page).await?.items;
        if volumes.is_empty() {
            return Ok(Vec::new());
        }
        let rows = fetch!(
            self,
            AttachmentRow,
            "SELECT a.volume_id, a.instance_id, i.name AS instance_name, a.mount, a.read_only, a.held_at \
             FROM volume_attachments a JOIN app_instances i ON i.id = a.instance_id \
             WHERE ($1 IS NULL OR a.tenant_id = $1) AND ($2 IS NULL OR a.project_id = $2) AND a.released_at IS NULL \
             ORDER BY a.held_at, a.id",
            scope.tenant().map(TenantId::uuid),
            scope.project().map(ProjectId::uuid)
        )?;
        let held: Vec<Attachment> = rows.into_iter().map(Attachment::from).collect();
        let known = volumes.into_iter().map(|volume| {
            let holders = held.iter().filter(|one| one.volume_id == volume.id).cloned().collect();
            KnownVolume { volume, holders }
        });
        Ok(known.collect())
    }

    pub async fn count_volumes(&mut self, project: ProjectId) -> Result<i64> {
        scalar!(
            self,
            i64,
            "SELECT COUNT(*) FROM volumes WHERE project_id = $1 AND state <> 'deleted'",
            project.uuid()
        )
    }

    /// Volumes that stand in the way of deleting their project: ids and names, at most 20. What is lost does not.
    pub async fn live_volumes(&mut self, project: ProjectId) -> Result<Vec<(Uuid, String)>> {
        fetch!(
            self,
            (Uuid, String),
            "SELECT id, name FROM volumes WHERE project_id = $1 AND state IN ('ready', 'deleting') ORDER BY id LIMIT 20",
            project.uuid()
        )
    }

    /// What lies on a node, as far as anybody counts on it or waits for its end.
    pub async fn list_node_volumes(&mut self, node: NodeId) -> Result<Vec<Volume>> {
        let rows = fetch!(
            self,
            VolumeRow,
            concat!(
                "SELECT ",
                volume_columns!(),
                " FROM volumes WHERE node_id = $1 AND state IN ('ready', 'deleting') ORDER BY id"
            ),
            node.uuid()
        )?;
        rows.into_iter().map(Volume::try_from).collect()
    }

    pub async fn list_deleting_volumes(&mut self, node: NodeId) -> Result<Vec<VolumeId>> {
        let rows = fetch!(
            self,
            (Uuid,),
            "SELECT id FROM volumes WHERE node_id = $1 AND state = 'deleting' ORDER BY id",
            node.uuid()
        )?;
        Ok(rows.into_iter().map(|(id,)| VolumeId::new(id)).collect())
    }

    /// Volumes whose node is no node any more, and that do not say so yet.
    pub async fn list_stranded_volumes(&mut self, limit: i64) -> Result<Vec<VolumeId>> {
        let rows = fetch!(
            self,
            (Uuid,),
            "SELECT v.id FROM volumes v JOIN nodes n ON n.id = v.node_id \
             WHERE n.standing <> 'active' AND v.state IN ('ready', 'deleting') ORDER BY v.id LIMIT $1",
            limit
        )?;
        Ok(rows.into_iter().map(|(id,)| VolumeId::new(id)).collect())
    }

    /// Removals whose time has come, oldest first.
    pub async fn due_removals(&mut self, now: Timestamp, limit: i64) -> Result<Vec<NodeTask>> {
        let rows = fetch!(
            self,
            RemovalRow,
            "SELECT id, node_id, volume_id, task_order, state, attempts, correlation_id, trace_id, created_at \
             FROM volume_tasks WHERE state = 'queued' AND next_at <= $1 ORDER BY next_at, id LIMIT $2",
            now.to_datetime(),
            limit
        )?;
        rows.into_iter().map(NodeTask::try_from).collect()
    }

    pub async fn find_removal(&mut self, volume: VolumeId) -> Result<Option<NodeTask>> {
        let row = fetch_optional!(
            self,
            RemovalRow,
            "SELECT id, node_id, volume_id, task_order, state, attempts, correlation_id, trace_id, created_at \
             FROM volume_tasks WHERE volume_id = $1",
            volume.uuid()
        )?;
        row.map(NodeTask::try_from).transpose()
    }

    /// The node's own words that a volume is gone, and its signature over them.
    pub async fn find_volume_receipt(
        &mut self,
        scope: TenantScope,
        id: VolumeId,
    ) -> Result<Option<(String, String)>> {
        let row = fetch_optional!(
            self,
            (Option<String>, Option<String>),
            "SELECT receipt_payload, receipt_signature FROM volumes WHERE id = $1 AND ($2 IS NULL OR tenant_id = $2) \
             AND ($3 IS NULL OR project_id = $3)",
            id.uuid(),
            scope.tenant().map(TenantId::uuid),
            scope.project().map(ProjectId::uuid)
        )?;
        Ok(row.and_then(|(payload, signature)| payload.zip(signature)))
    }
}

impl Tx {
    /// Launches that mount a volume and its deletion take turns.
    pub async fn lock_volume(&mut self, id: VolumeId) -> Result<()> {
        if self.dialect() == crate::dialect::Dialect::Postgres {
            let _: Option<(i64,)> = fetch_optional!(
                self,
                (i64,),
                "SELECT version FROM volumes WHERE id = $1 FOR UPDATE",
                id.uuid()
            )?;
        }
        Ok(())
    }

    pub async fn insert_volume(&mut self, volume: &Volume) -> Result<()> {
        execute_raw!(
            self,
            "INSERT INTO volumes (id, tenant_id, project_id, name, node_id, size_mib, state, problem, created_by_kind, created_by_id, \
             created_at, deleting_at, ended_at, receipt_payload, receipt_signature, version, updated_at) \
             VALUES ($1, $2, $3, $4, $5, $6, $7, NULL, $8, $9, $10, NULL, NULL, NULL, NULL, $11, $10)",
            volume.id.uuid(),
            volume.tenant_id.uuid(),
            volume.project_id.uuid(),
            volume.name.as_str(),
            volume.node_id.uuid(),
            volume.size_mib,
            volume.state.name(),
            volume.created_by_kind.as_str(),
            volume.created_by_id.as_str(),
            volume.created_at.to_datetime(),
            volume.version
        )
        .map_err(|error| {
            if is_unique_violation(&error) {
                return Error::conflict("name_taken", "The project has another volume of this name; choose another.");
            }
            map_error(error)
        })?;
        Ok(())
    }

    pub async fn update_volume(&mut self, volume: Volume) -> Result<Volume> {
        let at = self.at();
        let touched = execute!(
            self,
            "UPDATE volumes SET state = $5, problem = $6, deleting_at = $7, ended_at = $8, updated_at = $9, version = version + 1 \
             WHERE id = $1 AND tenant_id = $2 AND project_id = $3 AND version = $4",
            volume.id.uuid(),
            volume.tenant_id.uuid(),
            volume.project_id.uuid(),
            volume.version,
            volume.state.name(),
            volume.problem.as_deref(),
            volume.deleting_at.map(Timestamp::to_datetime),
            volume.ended_at.map(Timestamp::to_datetime),
            at.to_datetime()
        )?;
        one_row(touched)?;
        Ok(Volume { version: volume.version + 1, updated_at: at, ..volume })
    }

    /// What keeps a volume from being removed. Nobody's decision, so no version.
    pub async fn note_volume_problem(&mut self, id: VolumeId, problem: Option<&str>) -> Result<()> {
        execute!(
            self,
            "UPDATE volumes SET problem = $2 WHERE id = $1 AND state = 'deleting'",
            id.uuid(),
            problem
        )?;
        Ok(())
    }

    pub async fn keep_volume_receipt(&mut self, id: VolumeId, payload: &str, signature: &str) -> Result<()> {
        execute!(
            self,
            "UPDATE volumes SET receipt_payload = $2, receipt_signature = $3 WHERE id = $1 AND receipt_payload IS NULL",
            id.uuid(),
            payload,
            signature
        )?;
        Ok(())
    }

    /// Holds a volume for an instance. The database refuses a second writer.
    pub async fn attach_volume(
        &mut self,
        id: ReservationId,
        owner: (TenantId, ProjectId),
        attachment: (VolumeId, InstanceId, RevisionId),
        mount: &str,
        read_only: bool,
    ) -> Result<()> {
        let at = self.at().to_datetime();
        let (volume, instance, revision) = attachment;
        execute_raw!(
            self,
            "INSERT INTO volume_attachments (id, volume_id, tenant_id, project_id, instance_id, revision_id, mount, read_only, held_at, released_at) \
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, NULL)",
            id.uuid(),
            volume.uuid(),
            owner.0.uuid(),
            owner.1.uuid(),
            instance.uuid(),
            revision.uuid(),
            mount,
            read_only,
            at
        )
        .map_err(|error| {
            if is_unique_violation(&error) {
                return Error::conflict("volume_in_use", "Another instance has just taken the volume; choose another, or wait.");
            }
            map_error(error)
        })?;
        Ok(())
    }

    /// Gives back what an instance holds: its containers are gone. Done twice, it changes nothing.
    pub async fn release_volumes(&mut self, instance: InstanceId) -> Result<()> {
        let at = self.at().to_datetime();
        execute!(
            self,
            "UPDATE volume_attachments SET released_at = $2 WHERE instance_id = $1 AND released_at IS NULL",
            instance.uuid(),
            at
        )?;
        Ok(())
    }

    pub async fn enqueue_removal(&mut self, task: &NodeTask) -> Result<()> {
        self.has_orders = true;
        execute!(
            self,
            "INSERT INTO volume_tasks (id, node_id, volume_id, task_order, state, attempts, next_at, sent_at, last_error, correlation_id, trace_id, created_at, finished_at) \
             VALUES ($1, $2, $3, $4, 'queued', 0, $5, NULL, NULL, $6, $7, $5, NULL)",
            task.id.uuid(),
            task.node_id.uuid(),
            task.subject.uuid(),
            task.order.as_str(),
            task.created_at.to_datetime(),
            task.correlation_id.as_str(),
            task.trace_id.as_str()
        )?;
        Ok(())
    }

    /// Carried out, or void.
    pub async fn close_removal(&mut self, volume: VolumeId, state: TaskState) -> Result<()> {
        let at = self.at().to_datetime();
        execute!(
            self,
            "UPDATE volume_tasks SET state = $2, finished_at = $3 WHERE volume_id = $1 AND state IN ('queued', 'sent')",
            volume.uuid(),
            state.name(),
            at
        )?;
        Ok(())
    }

    /// The node has lost it, or never had it: sent again.
    pub async fn requeue_removal(mut self, volume: VolumeId) -> Result<u64> {
        self.has_orders = true;
        let at = self.at().to_datetime();
        let touched = execute!(
            self,
            "UPDATE volume_tasks SET state = 'queued', next_at = $2 WHERE volume_id = $1 AND state = 'sent'",
            volume.uuid(),
            at
        )?;
        self.commit_housekeeping().await?;
        Ok(touched)
    }
}
