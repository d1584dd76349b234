//! Allocations, what they hold, and the intervals they are charged for.

use chrono::{DateTime, Utc};
use gpuaas_domain::allocation::{Allocation, AllocationState, NodeView, Shape, Taken};
use gpuaas_domain::iam::TenantScope;
use gpuaas_domain::ids::{
    AllocationId, GpuId, InstanceId, IntervalId, NodeId, ProjectId, ReservationId, SkuId, TenantId,
};
use gpuaas_domain::node::{GpuDevice, Node};
use gpuaas_domain::page::{Page, PageRequest};
use gpuaas_domain::{Error, Result, Timestamp};
use uuid::Uuid;

use crate::dialect::{is_unique_violation, map_error};
use crate::nodes::unknown;
use crate::tenants::{after_id, one_row};
use crate::{Session, Tx};

row! {
    struct AllocationRow {
        id: Uuid, tenant_id: Uuid, project_id: Uuid, name: String, sku_id: Uuid, node_id: Option<Uuid>, state: String,
        shape: String, gpu_count: i64, vcpu: i64, memory_mib: i64, requested_by_kind: String, requested_by_id: String,
        note: Option<String>, requested_at: DateTime<Utc>, active_at: Option<DateTime<Utc>>,
        releasing_at: Option<DateTime<Utc>>, released_at: Option<DateTime<Utc>>, version: i64, updated_at: DateTime<Utc>,
    }
}

macro_rules! allocation_columns {
    () => {
        "id, tenant_id, project_id, name, sku_id, node_id, state, shape, gpu_count, vcpu, memory_mib, requested_by_kind, requested_by_id, note, requested_at, active_at, releasing_at, released_at, version, updated_at"
    };
}

impl TryFrom<AllocationRow> for Allocation {
    type Error = Error;

    fn try_from(row: AllocationRow) -> Result<Self> {
        Ok(Self {
            id: AllocationId::new(row.id),
            tenant_id: TenantId::new(row.tenant_id),
            project_id: ProjectId::new(row.project_id),
            name: row.name,
            sku_id: SkuId::new(row.sku_id),
            node_id: row.node_id.map(NodeId::new),
            state: AllocationState::parse(&row.state).ok_or_else(|| unknown("state", &row.state))?,
            shape: Shape::parse(&row.shape).ok_or_else(|| unknown("shape", &row.shape))?,
            gpu_count: row.gpu_count,
            vcpu: row.vcpu,
            memory_mib: row.memory_mib,
            requested_by_kind: row.requested_by_kind,
            requested_by_id: row.requested_by_id,
            note: row.note,
            requested_at: Timestamp::new(row.requested_at),
            active_at: row.active_at.map(Timestamp::new),
            releasing_at: row.releasing_at.map(Timestamp::new),
            released_at: row.released_at.map(Timestamp::new),
            version: row.version,
            updated_at: Timestamp::new(row.updated_at),
        })
    }
}

/// What instances take of an allocation.
#[derive(Clone, Debug, Default)]
pub struct InUse {
    pub gpus: Vec<GpuId>,
    pub cpu_millis: i64,
    pub memory_mib: i64,
    /// Instances that hold something.
    pub instances: i64,
}

impl Session {
    pub async fn find_allocation(
        &mut self,
        scope: TenantScope,
        id: AllocationId,
    ) -> Result<Option<Allocation>> {
        let row = fetch_optional!(
            self,
            AllocationRow,
            concat!(
                "SELECT ",
                allocation_columns!(),
                " FROM allocations WHERE id = $1 AND ($2 IS NULL OR tenant_id = $2) AND ($3 IS NULL OR project_id = $3)"
            ),
            id.uuid(),
            scope.tenant().map(TenantId::uuid),
            scope.project().map(ProjectId::uuid)
        )?;
        row.map(Allocation::try_from).transpose()
    }

    /// Those of the scope, or of the whole platform, in a state or in any.
    pub async fn list_allocations(
        &mut self,
        scope: TenantScope,
        state: Option<AllocationState>,
        page: &PageRequest,
    ) -> Result<Page<Allocation>> {
        let rows = fetch!(
            self,
            AllocationRow,
            concat!(
                "SELECT ",
                allocation_columns!(),
                " FROM allocations WHERE id > $1 AND ($2 IS NULL OR tenant_id = $2) AND ($3 IS NULL OR project_id = $3) \
                 AND ($4 = '' OR state = $4) ORDER BY id LIMIT $5"
            ),
            after_id(page)?,
            scope.tenant().map(TenantId::uuid),
            scope.project().map(ProjectId::uuid),
            state.map_or("", AllocationState::name),
            i64::from(page.limit) + 1
        )?;
        let all: Result<Vec<_>> = rows.into_iter().map(Allocation::try_from).collect();
        Ok(Page::from_rows(all?, page.limit, |allocation| allocation.id.to_string()))
    }

    pub async fn count_allocations(&mut self, project: ProjectId) -> Result<i64> {
        scalar!(
            self,
            i64,
            "SELECT COUNT(*) FROM allocations WHERE project_id = $1 AND state <> 'released'",
            project.uuid()
        )
    }

    /// Allocations that stand in the way of deleting their project: ids and names, at most 20.
    pub async fn live_allocations(&mut self, project: ProjectId) -> Result<Vec<(Uuid, String)>> {
        fetch!(
            self,
            (Uuid, String),
            "SELECT id, name FROM allocations WHERE project_id = $1 AND state <> 'released' ORDER BY id LIMIT 20",
            project.uuid()
        )
    }

    pub async fn sum_gpus(&mut self, project: ProjectId) -> Result<i64> {
        scalar!(
            self,
            i64,
            "SELECT CAST(COALESCE(SUM(gpu_count), 0) AS BIGINT) FROM allocations WHERE project_id = $1 AND state <> 'released'",
            project.uuid()
        )
    }

    /// Allocations being released, on any node, from the one after `after` on.
    pub async fn list_releasing(
        &mut self,
        after: Option<AllocationId>,
        limit: i64,
    ) -> Result<Vec<Allocation>> {
        let rows = fetch!(
            self,
            AllocationRow,
            concat!(
                "SELECT ",
                allocation_columns!(),
                " FROM allocations WHERE state = 'releasing' AND id > $2 ORDER BY id LIMIT $1"
            ),
            limit,
            after.map_or(Uuid::nil(), AllocationId::uuid)
        )?;
        rows.into_iter().map(Allocation::try_from).collect()
    }

    pub async fn list_node_allocations(&mut self, node: NodeId) -> Result<Vec<Allocation>> {
        let rows = fetch!(
            self,
            AllocationRow,
            concat!(
                "SELECT ",
                allocation_columns!(),
                " FROM allocations WHERE node_id = $1 AND state IN ('active', 'releasing') ORDER BY id"
            ),
            node.uuid()
        )?;
        rows.into_iter().map(Allocation::try_from).collect()
    }

    /// A node with everything placement looks at.
    pub async fn view_node(&mut self, node: Node) -> Result<NodeView> {
        let gpus = self.list_gpus(node.id).await?;
        let held = fetch!(
            self,
            (Uuid,),
            "SELECT h.gpu_id FROM gpu_holds h JOIN node_gpus g ON g.id = h.gpu_id \
             WHERE g.node_id = $1 AND h.instance_id IS NULL AND h.released_at IS NULL",
            node.id.uuid()
        )?;
        let allocations = self
            .list_node_allocations(node.id)
            .await?
            .into_iter()
            .map(|taken| Taken {
                tenant: taken.tenant_id,
                shape: taken.shape,
                vcpu: taken.vcpu,
                memory_mib: taken.memory_mib,
            })
            .collect();
        let unswept = fetch!(
            self,
            (Uuid,),
            "SELECT DISTINCT i.tenant_id FROM app_instances i JOIN node_tasks t ON t.instance_id = i.id \
             WHERE t.node_id = $1 AND t.state IN ('queued', 'sent') AND i.decommissioned_at IS NOT NULL",
            node.id.uuid()
        )?;
        Ok(NodeView {
            node,
            gpus,
            held: held.into_iter().map(|(id,)| GpuId::new(id)).collect(),
            allocations,
            unswept: unswept.into_iter().map(|(id,)| TenantId::new(id)).collect(),
        })
    }

    /// The devices an allocation holds.
    pub async fn allocation_gpus(&mut self, id: AllocationId) -> Result<Vec<GpuDevice>> {
        let held = fetch!(
            self,
            (Uuid, Uuid),
            "SELECT h.gpu_id, g.node_id FROM gpu_holds h JOIN node_gpus g ON g.id = h.gpu_id \
             WHERE h.allocation_id = $1 AND h.instance_id IS NULL AND h.released_at IS NULL ORDER BY g.device_index",
            id.uuid()
        )?;
        let Some((_, node)) = held.first() else { return Ok(Vec::new()) };
        let all = self.list_gpus(NodeId::new(*node)).await?;
        Ok(all.into_iter().filter(|gpu| held.iter().any(|(held, _)| *held == gpu.id.uuid())).collect())
    }

    pub async fn allocation_in_use(&mut self, id: AllocationId) -> Result<InUse> {
        let gpus = fetch!(
            self,
            (Uuid,),
            "SELECT gpu_id FROM gpu_holds WHERE allocation_id = $1 AND instance_id IS NOT NULL AND released_at IS NULL",
            id.uuid()
        )?;
        let sums: Option<(i64, i64, i64)> = fetch_optional!(
            self,
            (i64, i64, i64),
            "SELECT CAST(COALESCE(SUM(cpu_millis), 0) AS BIGINT), CAST(COALESCE(SUM(memory_mib), 0) AS BIGINT), COUNT(*) \
             FROM compute_holds WHERE allocation_id = $1 AND released_at IS NULL",
            id.uuid()
        )?;
        let (cpu_millis, memory_mib, instances) = sums.unwrap_or_default();
        Ok(InUse {
            gpus: gpus.into_iter().map(|(id,)| GpuId::new(id)).collect(),
            cpu_millis,
            memory_mib,
            instances,
        })
    }

    /// Host ports taken on a node.
    pub async fn ports_in_use(&mut self, node: NodeId) -> Result<Vec<i64>> {
        let rows = fetch!(
            self,
            (i64,),
            "SELECT port FROM port_holds WHERE node_id = $1 AND released_at IS NULL ORDER BY port",
            node.uuid()
        )?;
        Ok(rows.into_iter().map(|(port,)| port).collect())
    }
}

impl Tx {
    pub async fn insert_allocation(&mut self, allocation: &Allocation) -> Result<()> {
        execute_raw!(
            self,
            "INSERT INTO allocations (id, tenant_id, project_id, name, sku_id, node_id, state, shape, gpu_count, vcpu, memory_mib, \
             requested_by_kind, requested_by_id, note, requested_at, active_at, releasing_at, released_at, version, updated_at) \
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, NULL, NULL, $17, $18)",
            allocation.id.uuid(),
            allocation.tenant_id.uuid(),
            allocation.project_id.uuid(),
            allocation.name.as_str(),
            allocation.sku_id.uuid(),
            allocation.node_id.map(NodeId::uuid),
            allocation.state.name(),
            allocation.shape.name(),
            allocation.gpu_count,
            allocation.vcpu,
            allocation.memory_mib,
            allocation.requested_by_kind.as_str(),
            allocation.requested_by_id.as_str(),
            allocation.note.as_deref(),
            allocation.requested_at.to_datetime(),
            allocation.active_at.map(Timestamp::to_datetime),
            allocation.version,
            allocation.updated_at.to_datetime()
        )
        .map_err(|error| {
            if is_unique_violation(&error) {
                return Error::conflict("name_taken", "The project has another allocation of this name; choose another.");
            }
            map_error(error)
        })?;
        Ok(())
    }

    pub async fn update_allocation(&mut self, allocation: Allocation) -> Result<Allocation> {
        let at = self.at();
        let touched = execute!(
            self,
            "UPDATE allocations SET node_id = $3, state = $4, gpu_count = $5, note = $6, active_at = $7, releasing_at = $8, released_at = $9, \
             updated_at = $10, version = version + 1 WHERE id = $1 AND version = $2",
            allocation.id.uuid(),
            allocation.version,
            allocation.node_id.map(NodeId::uuid),
            allocation.state.name(),
            allocation.gpu_count,
            allocation.note.as_deref(),
            allocation.active_at.map(Timestamp::to_datetime),
            allocation.releasing_at.map(Timestamp::to_datetime),
            allocation.released_at.map(Timestamp::to_datetime),
            at.to_datetime()
        )?;
        one_row(touched)?;
        Ok(Allocation { version: allocation.version + 1, updated_at: at, ..allocation })
    }

    /// Holds devices for an allocation, or within it for an instance. The database refuses a second holder.
    pub async fn hold_gpus(
        &mut self,
        allocation: AllocationId,
        instance: Option<InstanceId>,
        gpus: &[(ReservationId, GpuId)],
    ) -> Result<()> {
        let at = self.at().to_datetime();
        for (id, gpu) in gpus {
            execute_raw!(
                self,
                "INSERT INTO gpu_holds (id, gpu_id, allocation_id, instance_id, held_at, released_at) VALUES ($1, $2, $3, $4, $5, NULL)",
                id.uuid(),
                gpu.uuid(),
                allocation.uuid(),
                instance.map(InstanceId::uuid),
                at
            )
            .map_err(|error| {
                if is_unique_violation(&error) {
                    return Error::conflict("gpu_already_bound", "A GPU is in use by something else; try again.");
                }
                map_error(error)
            })?;
        }
        Ok(())
    }

    pub async fn release_allocation_gpus(&mut self, allocation: AllocationId) -> Result<()> {
        let at = self.at().to_datetime();
        execute!(
            self,
            "UPDATE gpu_holds SET released_at = $2 WHERE allocation_id = $1 AND instance_id IS NULL AND released_at IS NULL",
            allocation.uuid(),
            at
        )?;
        Ok(())
    }

    pub async fn hold_ports(
        &mut self,
        node: NodeId,
        instance: InstanceId,
        ports: &[(ReservationId, i64)],
    ) -> Result<()> {
        let at = self.at().to_datetime();
        for (id, port) in ports {
            execute_raw!(
                self,
                "INSERT INTO port_holds (id, node_id, port, instance_id, held_at, released_at) VALUES ($1, $2, $3, $4, $5, NULL)",
                id.uuid(),
                node.uuid(),
                *port,
                instance.uuid(),
                at
            )
            .map_err(|error| {
                if is_unique_violation(&error) {
                    return Error::conflict("port_taken", format!("Host port {port} of the node is in use; choose another."))
                        .with_param("port", *port);
                }
                map_error(error)
            })?;
        }
        Ok(())
    }

    pub async fn hold_compute(
        &mut self,
        id: ReservationId,
        allocation: AllocationId,
        instance: InstanceId,
        cpu_millis: i64,
        memory_mib: i64,
    ) -> Result<()> {
        let at = self.at().to_datetime();
        execute!(
            self,
            "INSERT INTO compute_holds (id, allocation_id, instance_id, cpu_millis, memory_mib, held_at, released_at) VALUES ($1, $2, $3, $4, $5, $6, NULL)",
            id.uuid(),
            allocation.uuid(),
            instance.uuid(),
            cpu_millis,
            memory_mib,
            at
        )?;
        Ok(())
    }

    /// Frees everything an instance holds. Done twice, it changes nothing.
    pub async fn release_holds(&mut self, instance: InstanceId) -> Result<()> {
        let at = self.at().to_datetime();
        for sql in [
            "UPDATE gpu_holds SET released_at = $2 WHERE instance_id = $1 AND released_at IS NULL",
            "UPDATE port_holds SET released_at = $2 WHERE instance_id = $1 AND released_at IS NULL",
            "UPDATE compute_holds SET released_at = $2 WHERE instance_id = $1 AND released_at IS NULL",
        ] {
            execute!(self, sql, instance.uuid(), at)?;
        }
        Ok(())
    }

    /// Opens the interval of an allocation, or of an instance's run.
    pub async fn open_interval(
        &mut self,
        id: IntervalId,
        allocation: &Allocation,
        run: Option<(InstanceId, i64)>,
        at: Timestamp,
    ) -> Result<()> {
        execute!(
            self,
            "INSERT INTO usage_intervals (id, kind, tenant_id, project_id, allocation_id, instance_id, generation, started_at, ended_at) \
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8, NULL)",
            id.uuid(),
            if run.is_some() { "run" } else { "allocation" },
            allocation.tenant_id.uuid(),
            allocation.project_id.uuid(),
            allocation.id.uuid(),
            run.map(|(instance, _)| instance.uuid()),
            run.map_or(0, |(_, generation)| generation),
            at.to_datetime()
        )?;
        Ok(())
    }

    pub async fn close_run(&mut self, instance: InstanceId, at: Timestamp) -> Result<()> {
        execute!(
            self,
            "UPDATE usage_intervals SET ended_at = $2 WHERE instance_id = $1 AND ended_at IS NULL",
            instance.uuid(),
            at.to_datetime()
        )?;
        Ok(())
    }

    pub async fn close_allocation_interval(&mut self, allocation: AllocationId, at: Timestamp) -> Result<()> {
        execute!(
            self,
            "UPDATE usage_intervals SET ended_at = $2 WHERE allocation_id = $1 AND instance_id IS NULL AND ended_at IS NULL",
            allocation.uuid(),
            at.to_datetime()
        )?;
        Ok(())
    }

    /// Launches and releases on one allocation take turns.
    pub async fn lock_allocation(&mut self, id: AllocationId) -> Result<()> {
        if self.dialect() == crate::dialect::Dialect::Postgres {
            let _: Option<(i64,)> = fetch_optional!(
                self,
                (i64,),
                "SELECT version FROM allocations WHERE id = $1 FOR UPDATE",
                id.uuid()
            )?;
        }
        Ok(())
    }
}
