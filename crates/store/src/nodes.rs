//! Nodes, their devices, join tokens and the keys that sign orders.

use chrono::{DateTime, Utc};
use gpuaas_agent_protocol::inventory::{Gpu, NodeInventory, Vendor};
use gpuaas_domain::ids::{GpuId, InstanceId, JoinTokenId, KeyId, NodeId, SecretId};
use gpuaas_domain::node::{GpuDevice, JoinToken, Node, NodeStanding};
use gpuaas_domain::page::{Page, PageRequest};
use gpuaas_domain::{Error, Result, Timestamp};
use sqlx::types::Json;
use uuid::Uuid;

use crate::dialect::{is_unique_violation, map_error};
use crate::tenants::{after_id, one_row};
use crate::{Session, Tx};

row! {
    struct NodeRow {
        id: Uuid, name: String, standing: String, cordoned: bool, draining: bool, agent_version: String,
        inventory: Json<NodeInventory>, inventory_at: DateTime<Utc>, agent_connected_at: Option<DateTime<Utc>>,
        last_seen_at: Option<DateTime<Utc>>, version: i64, created_at: DateTime<Utc>, updated_at: DateTime<Utc>,
    }
}

macro_rules! node_columns {
    () => {
        "id, name, standing, cordoned, draining, agent_version, inventory, inventory_at, agent_connected_at, last_seen_at, version, created_at, updated_at"
    };
}

pub(crate) fn unknown(what: &str, text: &str) -> Error {
    Error::internal(format!("unknown {what} {text:?} in the database"))
}

impl TryFrom<NodeRow> for Node {
    type Error = Error;

    fn try_from(row: NodeRow) -> Result<Self> {
        Ok(Self {
            id: NodeId::new(row.id),
            name: row.name,
            standing: NodeStanding::parse(&row.standing).ok_or_else(|| unknown("standing", &row.standing))?,
            cordoned: row.cordoned,
            draining: row.draining,
            agent_version: row.agent_version,
            agent_connected_at: row.agent_connected_at.map(Timestamp::new),
            last_seen_at: row.last_seen_at.map(Timestamp::new),
            inventory: row.inventory.0,
            inventory_at: Timestamp::new(row.inventory_at),
            version: row.version,
            created_at: Timestamp::new(row.created_at),
            updated_at: Timestamp::new(row.updated_at),
        })
    }
}

row! {
    struct GpuRow {
        id: Uuid, node_id: Uuid, device_uuid: String, device_index: i64, vendor: String, model: String, memory_mib: i64,
        simulated: bool, present: bool, quarantined_by: Option<Uuid>,
    }
}

impl TryFrom<GpuRow> for GpuDevice {
    type Error = Error;

    fn try_from(row: GpuRow) -> Result<Self> {
        Ok(Self {
            id: GpuId::new(row.id),
            node_id: NodeId::new(row.node_id),
            device_uuid: row.device_uuid,
            index: row.device_index,
            vendor: parse_vendor(&row.vendor)?,
            model: row.model,
            memory_mib: row.memory_mib,
            simulated: row.simulated,
            present: row.present,
            quarantined: row.quarantined_by.is_some(),
        })
    }
}

pub(crate) fn parse_vendor(text: &str) -> Result<Vendor> {
    [Vendor::Nvidia, Vendor::Amd]
        .into_iter()
        .find(|vendor| vendor.name() == text)
        .ok_or_else(|| unknown("vendor", text))
}

row! {
    struct JoinTokenRow {
        id: Uuid, secret_hash: Vec<u8>, name: Option<String>, created_at: DateTime<Utc>, expires_at: DateTime<Utc>,
        used_at: Option<DateTime<Utc>>, node_id: Option<Uuid>,
    }
}

impl From<JoinTokenRow> for JoinToken {
    fn from(row: JoinTokenRow) -> Self {
        Self {
            id: JoinTokenId::new(row.id),
            secret_hash: row.secret_hash,
            name: row.name,
            created_at: Timestamp::new(row.created_at),
            expires_at: Timestamp::new(row.expires_at),
            used_at: row.used_at.map(Timestamp::new),
            node_id: row.node_id.map(NodeId::new),
        }
    }
}

/// A key that signs, or signed, orders.
#[derive(Clone, Debug)]
pub struct TaskKey {
    pub id: KeyId,
    pub public_key: Vec<u8>,
    pub secret_id: SecretId,
    pub retired_at: Option<Timestamp>,
    pub accepted_until: Option<Timestamp>,
}

row! {
    struct TaskKeyRow {
        id: Uuid, public_key: Vec<u8>, secret_id: Uuid, retired_at: Option<DateTime<Utc>>, accepted_until: Option<DateTime<Utc>>,
    }
}

impl Session {
    pub async fn find_node(&mut self, id: NodeId) -> Result<Option<Node>> {
        let row = fetch_optional!(
            self,
            NodeRow,
            concat!("SELECT ", node_columns!(), " FROM nodes WHERE id = $1"),
            id.uuid()
        )?;
        row.map(Node::try_from).transpose()
    }

    /// Standing and public key: all that a node's credentials turn on.
    pub async fn find_node_key(&mut self, id: NodeId) -> Result<Option<(NodeStanding, Vec<u8>)>> {
        let row: Option<(String, Vec<u8>)> = fetch_optional!(
            self,
            (String, Vec<u8>),
            "SELECT standing, public_key FROM nodes WHERE id = $1",
            id.uuid()
        )?;
        row.map(|(standing, key)| {
            Ok((NodeStanding::parse(&standing).ok_or_else(|| unknown("standing", &standing))?, key))
        })
        .transpose()
    }

    pub async fn list_nodes(&mut self, page: &PageRequest) -> Result<Page<Node>> {
        let rows = fetch!(
            self,
            NodeRow,
            concat!(
                "SELECT ",
                node_columns!(),
                " FROM nodes WHERE id > $1 AND standing <> 'forgotten' ORDER BY id LIMIT $2"
            ),
            after_id(page)?,
            i64::from(page.limit) + 1
        )?;
        let nodes: Result<Vec<_>> = rows.into_iter().map(Node::try_from).collect();
        Ok(Page::from_rows(nodes?, page.limit, |node| node.id.to_string()))
    }

    /// Every node that may be given work, for placement.
    pub async fn list_active_nodes(&mut self) -> Result<Vec<Node>> {
        let rows = fetch!(
            self,
            NodeRow,
            concat!("SELECT ", node_columns!(), " FROM nodes WHERE standing = 'active' ORDER BY name")
        )?;
        rows.into_iter().map(Node::try_from).collect()
    }

    /// Nodes that are drained, or were forgotten with something still on them.
    pub async fn list_troubled_nodes(&mut self, limit: i64) -> Result<Vec<(NodeId, NodeStanding)>> {
        let rows = fetch!(
            self,
            (Uuid, String),
            "SELECT id, standing FROM nodes n WHERE (draining AND standing <> 'forgotten' AND EXISTS (SELECT 1 FROM app_instances i \
             WHERE i.node_id = n.id AND i.status IN ('created', 'starting', 'running'))) OR (standing = 'forgotten' AND \
             (EXISTS (SELECT 1 FROM app_instances i WHERE i.node_id = n.id AND i.status IN ('created', 'starting', 'running', 'stopping')) \
             OR EXISTS (SELECT 1 FROM node_tasks t WHERE t.node_id = n.id AND t.state IN ('queued', 'sent')) \
             OR EXISTS (SELECT 1 FROM allocations a WHERE a.node_id = n.id AND a.state IN ('active', 'releasing')))) ORDER BY id LIMIT $1",
            limit
        )?;
        rows.into_iter()
            .map(|(id, standing)| {
                Ok((
                    NodeId::new(id),
                    NodeStanding::parse(&standing).ok_or_else(|| unknown("standing", &standing))?,
                ))
            })
            .collect()
    }

    pub async fn list_gpus(&mut self, node: NodeId) -> Result<Vec<GpuDevice>> {
        let rows = fetch!(
            self,
            GpuRow,
            "SELECT id, node_id, device_uuid, device_index, vendor, model, memory_mib, simulated, present, quarantined_by \
             FROM node_gpus WHERE node_id = $1 ORDER BY device_index, id",
            node.uuid()
        )?;
        rows.into_iter().map(GpuDevice::try_from).collect()
    }

    pub async fn find_join_token(&mut self, id: JoinTokenId) -> Result<Option<JoinToken>> {
        let row = fetch_optional!(
            self,
            JoinTokenRow,
            "SELECT id, secret_hash, name, created_at, expires_at, used_at, node_id FROM join_tokens WHERE id = $1",
            id.uuid()
        )?;
        Ok(row.map(JoinToken::from))
    }

    pub async fn list_task_keys(&mut self) -> Result<Vec<TaskKey>> {
        let rows = fetch!(
            self,
            TaskKeyRow,
            "SELECT id, public_key, secret_id, retired_at, accepted_until FROM task_keys ORDER BY id"
        )?;
        Ok(rows
            .into_iter()
            .map(|row| TaskKey {
                id: KeyId::new(row.id),
                public_key: row.public_key,
                secret_id: SecretId::new(row.secret_id),
                retired_at: row.retired_at.map(Timestamp::new),
                accepted_until: row.accepted_until.map(Timestamp::new),
            })
            .collect())
    }
}

impl Tx {
    /// Changes to one node's load take turns.
    pub async fn lock_node(&mut self, node: NodeId) -> Result<()> {
        if self.dialect() == crate::dialect::Dialect::Postgres {
            let _: Option<(i64,)> = fetch_optional!(
                self,
                (i64,),
                "SELECT version FROM nodes WHERE id = $1 FOR UPDATE",
                node.uuid()
            )?;
        }
        Ok(())
    }

    pub async fn insert_join_token(
        &mut self,
        id: JoinTokenId,
        secret_hash: &[u8],
        name: Option<&str>,
        created_by: &str,
        expires_at: Timestamp,
    ) -> Result<()> {
        let at = self.at();
        execute!(
            self,
            "INSERT INTO join_tokens (id, secret_hash, name, created_by, created_at, expires_at, used_at, node_id) \
             VALUES ($1, $2, $3, $4, $5, $6, NULL, NULL)",
            id.uuid(),
            secret_hash,
            name,
            created_by,
            at.to_datetime(),
            expires_at.to_datetime()
        )?;
        Ok(())
    }

    /// Uses a token up. `false`: somebody else was faster.
    pub async fn use_join_token(&mut self, id: JoinTokenId, node: NodeId) -> Result<bool> {
        let at = self.at();
        let touched = execute!(
            self,
            "UPDATE join_tokens SET used_at = $3, node_id = $2 WHERE id = $1 AND used_at IS NULL AND expires_at > $3",
            id.uuid(),
            node.uuid(),
            at.to_datetime()
        )?;
        Ok(touched == 1)
    }

    pub async fn delete_join_tokens(&mut self, before: Timestamp) -> Result<u64> {
        execute!(
            self,
            "DELETE FROM join_tokens WHERE expires_at < $1 AND node_id IS NULL",
            before.to_datetime()
        )
    }

    pub async fn insert_node(&mut self, node: &Node, public_key: &[u8]) -> Result<()> {
        execute_raw!(
            self,
            "INSERT INTO nodes (id, name, standing, cordoned, draining, public_key, agent_version, inventory, inventory_at, \
             agent_connected_at, last_seen_at, version, created_at, updated_at) \
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, NULL, NULL, $10, $11, $11)",
            node.id.uuid(),
            node.name.as_str(),
            node.standing.name(),
            node.cordoned,
            node.draining,
            public_key,
            node.agent_version.as_str(),
            Json(&node.inventory),
            node.inventory_at.to_datetime(),
            node.version,
            node.created_at.to_datetime()
        )
        .map_err(|error| {
            if is_unique_violation(&error) {
                return Error::conflict("name_taken", "There is another node of this name, or with this key.");
            }
            map_error(error)
        })?;
        Ok(())
    }

    /// Everything about a node that people change, and its inventory.
    pub async fn update_node(&mut self, node: Node) -> Result<Node> {
        let at = self.at();
        let touched = execute!(
            self,
            "UPDATE nodes SET standing = $3, cordoned = $4, draining = $5, agent_version = $6, inventory = $7, inventory_at = $8, \
             agent_connected_at = $9, last_seen_at = $10, updated_at = $11, version = version + 1 WHERE id = $1 AND version = $2",
            node.id.uuid(),
            node.version,
            node.standing.name(),
            node.cordoned,
            node.draining,
            node.agent_version.as_str(),
            Json(&node.inventory),
            node.inventory_at.to_datetime(),
            node.agent_connected_at.map(Timestamp::to_datetime),
            node.last_seen_at.map(Timestamp::to_datetime),
            at.to_datetime()
        )?;
        one_row(touched)?;
        Ok(Node { version: node.version + 1, updated_at: at, ..node })
    }

    /// The link came or went. Not anybody's decision, so no version and no audit row.
    pub async fn note_presence(
        mut self,
        node: NodeId,
        connected_at: Option<Timestamp>,
        seen: Timestamp,
    ) -> Result<bool> {
        let touched = execute!(
            self,
            "UPDATE nodes SET agent_connected_at = $2, last_seen_at = $3 WHERE id = $1 AND standing = 'active'",
            node.uuid(),
            connected_at.map(Timestamp::to_datetime),
            seen.to_datetime()
        )?;
        self.commit_housekeeping().await?;
        Ok(touched == 1)
    }

    /// Nodes seen since the last time, in one go.
    pub async fn note_seen(mut self, nodes: &[NodeId], seen: Timestamp) -> Result<()> {
        for node in nodes {
            execute!(
                self,
                "UPDATE nodes SET last_seen_at = $2 WHERE id = $1",
                node.uuid(),
                seen.to_datetime()
            )?;
        }
        self.commit_housekeeping().await
    }

    /// After a start nobody is connected until they dial in.
    pub async fn forget_presence(mut self) -> Result<()> {
        execute!(self, "UPDATE nodes SET agent_connected_at = NULL WHERE agent_connected_at IS NOT NULL")?;
        self.commit_housekeeping().await
    }

    /// Brings the rows of devices in line with an inventory: what is gone is marked, never removed.
    pub async fn put_gpus(&mut self, node: NodeId, found: &[(GpuId, &Gpu)]) -> Result<()> {
        let at = self.at().to_datetime();
        execute!(self, "UPDATE node_gpus SET present = $2 WHERE node_id = $1", node.uuid(), false)?;
        for (id, gpu) in found {
            execute!(
                self,
                "INSERT INTO node_gpus (id, node_id, device_uuid, device_index, vendor, model, memory_mib, simulated, present, quarantined_by, created_at) \
                 VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, NULL, $10) \
                 ON CONFLICT (node_id, device_uuid) DO UPDATE SET device_index = excluded.device_index, model = excluded.model, \
                 memory_mib = excluded.memory_mib, simulated = excluded.simulated, present = excluded.present",
                id.uuid(),
                node.uuid(),
                gpu.uuid.as_str(),
                i64::from(gpu.index),
                gpu.vendor.name(),
                gpu.model.as_str(),
                i64::from(gpu.memory_mib),
                gpu.simulated,
                true,
                at
            )?;
        }
        // What nobody ever had needs no place in the books.
        execute!(
            self,
            "DELETE FROM node_gpus WHERE node_id = $1 AND present = $2 AND quarantined_by IS NULL \
             AND NOT EXISTS (SELECT 1 FROM gpu_holds h WHERE h.gpu_id = node_gpus.id)",
            node.uuid(),
            false
        )?;
        Ok(())
    }

    /// Keeps the devices an instance holds from everybody until its node has swept.
    pub async fn quarantine_gpus(&mut self, instance: InstanceId) -> Result<()> {
        execute!(
            self,
            "UPDATE node_gpus SET quarantined_by = $1 WHERE id IN \
             (SELECT gpu_id FROM gpu_holds WHERE instance_id = $1 AND released_at IS NULL)",
            instance.uuid()
        )?;
        Ok(())
    }

    pub async fn lift_quarantine(&mut self, instance: InstanceId) -> Result<()> {
        execute!(
            self,
            "UPDATE node_gpus SET quarantined_by = NULL WHERE quarantined_by = $1",
            instance.uuid()
        )?;
        Ok(())
    }

    pub async fn insert_task_key(&mut self, id: KeyId, public_key: &[u8], secret: SecretId) -> Result<()> {
        let at = self.at().to_datetime();
        execute!(
            self,
            "INSERT INTO task_keys (id, public_key, secret_id, created_at, retired_at, accepted_until) VALUES ($1, $2, $3, $4, NULL, NULL)",
            id.uuid(),
            public_key,
            secret.uuid(),
            at
        )?;
        Ok(())
    }

    /// The current keys sign no more; nodes accept what they signed until `accepted_until`.
    pub async fn retire_task_keys(&mut self, accepted_until: Timestamp) -> Result<u64> {
        let at = self.at().to_datetime();
        execute!(
            self,
            "UPDATE task_keys SET retired_at = $1, accepted_until = $2 WHERE retired_at IS NULL",
            at,
            accepted_until.to_datetime()
        )
    }
}
