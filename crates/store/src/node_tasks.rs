//! Orders that wait for their nodes. One queue, one signer.

use chrono::{DateTime, Utc};
use gpuaas_domain::ids::{InstanceId, NodeId, TaskId};
use gpuaas_domain::instance::{NodeTask, Subject, TaskState};
use gpuaas_domain::{Error, Result, Timestamp};
use uuid::Uuid;

use crate::nodes::unknown;
use crate::{Session, Tx};

row! {
    struct TaskRow {
        id: Uuid, node_id: Uuid, instance_id: Uuid, generation: i64, family: String, task_order: String, state: String,
        attempts: i64, correlation_id: String, trace_id: String, created_at: DateTime<Utc>,
    }
}

impl TryFrom<TaskRow> for NodeTask {
    type Error = Error;

    fn try_from(row: TaskRow) -> Result<Self> {
        Ok(Self {
            id: TaskId::new(row.id),
            node_id: NodeId::new(row.node_id),
            subject: Subject::Instance(InstanceId::new(row.instance_id)),
            generation: row.generation,
            family: row.family,
            order: row.task_order,
            state: TaskState::parse(&row.state).ok_or_else(|| unknown("task state", &row.state))?,
            attempts: row.attempts,
            correlation_id: row.correlation_id,
            trace_id: row.trace_id,
            created_at: Timestamp::new(row.created_at),
        })
    }
}

macro_rules! task_columns {
    () => {
        "id, node_id, instance_id, generation, family, task_order, state, attempts, correlation_id, trace_id, created_at"
    };
}

impl Session {
    /// Orders whose time has come, oldest first.
    pub async fn due_tasks(&mut self, now: Timestamp, limit: i64) -> Result<Vec<NodeTask>> {
        let rows = fetch!(
            self,
            TaskRow,
            concat!(
                "SELECT ",
                task_columns!(),
                " FROM node_tasks WHERE state = 'queued' AND next_at <= $1 ORDER BY next_at, id LIMIT $2"
            ),
            now.to_datetime(),
            limit
        )?;
        rows.into_iter().map(NodeTask::try_from).collect()
    }

    pub async fn find_task(&mut self, instance: InstanceId, generation: i64) -> Result<Option<NodeTask>> {
        let row = fetch_optional!(
            self,
            TaskRow,
            concat!(
                "SELECT ",
                task_columns!(),
                " FROM node_tasks WHERE instance_id = $1 AND generation = $2"
            ),
            instance.uuid(),
            generation
        )?;
        row.map(NodeTask::try_from).transpose()
    }

    /// Launch orders made before `before` that nobody has carried out. A node that is there keeps its own deadlines and
    /// says how it ended, so what it has taken is not among them.
    pub async fn waiting_launches(&mut self, before: Timestamp, limit: i64) -> Result<Vec<NodeTask>> {
        let rows = fetch!(
            self,
            TaskRow,
            concat!(
                "SELECT ",
                task_columns!(),
                " FROM node_tasks WHERE state IN ('queued', 'sent') AND family = 'container.launch' AND created_at < $1 \
                 AND NOT (state = 'sent' AND node_id IN (SELECT id FROM nodes WHERE agent_connected_at IS NOT NULL)) \
                 ORDER BY id LIMIT $2"
            ),
            before.to_datetime(),
            limit
        )?;
        rows.into_iter().map(NodeTask::try_from).collect()
    }

    /// How many orders are not carried out yet, and since when the oldest waits.
    pub async fn count_open_tasks(&mut self) -> Result<i64> {
        scalar!(self, i64, "SELECT COUNT(*) FROM node_tasks WHERE state IN ('queued', 'sent')")
    }
}

impl Tx {
    pub async fn enqueue_task(&mut self, task: &NodeTask) -> Result<()> {
        self.has_orders = true;
        execute!(
            self,
            "INSERT INTO node_tasks (id, node_id, instance_id, generation, family, task_order, state, attempts, next_at, sent_at, last_error, correlation_id, trace_id, created_at, finished_at) \
             VALUES ($1, $2, $3, $4, $5, $6, 'queued', 0, $7, NULL, NULL, $8, $9, $7, NULL)",
            task.id.uuid(),
            task.node_id.uuid(),
            task.subject.uuid(),
            task.generation,
            task.family.as_str(),
            task.order.as_str(),
            task.created_at.to_datetime(),
            task.correlation_id.as_str(),
            task.trace_id.as_str()
        )?;
        Ok(())
    }

    pub async fn supersede_tasks(&mut self, instance: InstanceId) -> Result<()> {
        self.close_tasks(instance, None, TaskState::Superseded).await
    }

    pub async fn finish_task(&mut self, instance: InstanceId, generation: i64) -> Result<()> {
        self.close_tasks(instance, Some(generation), TaskState::Done).await
    }

    async fn close_tasks(
        &mut self,
        instance: InstanceId,
        generation: Option<i64>,
        state: TaskState,
    ) -> Result<()> {
        let at = self.at().to_datetime();
        execute!(
            self,
            "UPDATE node_tasks SET state = $3, finished_at = $4 WHERE instance_id = $1 AND ($2 = 0 OR generation = $2) \
             AND state IN ('queued', 'sent')",
            instance.uuid(),
            generation.unwrap_or(0),
            state.name(),
            at
        )?;
        Ok(())
    }

    /// The node has it. `false`: it was superseded or finished meanwhile, which is as good.
    pub async fn mark_sent(&mut self, task: &NodeTask) -> Result<bool> {
        let at = self.at().to_datetime();
        let sql = match task.subject {
            Subject::Instance(_) => {
                "UPDATE node_tasks SET state = 'sent', sent_at = $2, last_error = NULL WHERE id = $1 AND state = 'queued'"
            }
            Subject::Volume(_) => {
                "UPDATE volume_tasks SET state = 'sent', sent_at = $2, last_error = NULL WHERE id = $1 AND state = 'queued'"
            }
        };
        let touched = execute!(self, sql, task.id.uuid(), at)?;
        Ok(touched == 1)
    }

    /// It is about to be sent: not due again before `next_at`. Gives how often it has been, or nothing if it is void.
    pub async fn claim_task(mut self, task: &NodeTask, next_at: Timestamp) -> Result<Option<i64>> {
        let sql = match task.subject {
            Subject::Instance(_) => {
                "UPDATE node_tasks SET attempts = attempts + 1, next_at = $2 WHERE id = $1 AND state = 'queued' RETURNING attempts"
            }
            Subject::Volume(_) => {
                "UPDATE volume_tasks SET attempts = attempts + 1, next_at = $2 WHERE id = $1 AND state = 'queued' RETURNING attempts"
            }
        };
        let attempts = fetch_optional!(self, (i64,), sql, task.id.uuid(), next_at.to_datetime())?;
        self.commit_housekeeping().await?;
        Ok(attempts.map(|(attempts,)| attempts))
    }

    /// It did not reach the node, or the node would not have it: later again.
    pub async fn postpone_task(
        mut self,
        task: &NodeTask,
        next_at: Timestamp,
        why: &str,
        sent: bool,
    ) -> Result<()> {
        let sql = match task.subject {
            Subject::Instance(_) => {
                "UPDATE node_tasks SET next_at = $2, attempts = attempts - $4, last_error = $3 WHERE id = $1 AND state = 'queued'"
            }
            Subject::Volume(_) => {
                "UPDATE volume_tasks SET next_at = $2, attempts = attempts - $4, last_error = $3 WHERE id = $1 AND state = 'queued'"
            }
        };
        execute!(self, sql, task.id.uuid(), next_at.to_datetime(), why, i64::from(!sent))?;
        if let Subject::Volume(id) = task.subject {
            self.note_volume_problem(id, Some(why)).await?;
        }
        self.commit_housekeeping().await
    }

    /// Orders for a node that just came back need not wait for their time.
    pub async fn hasten_tasks(mut self, node: NodeId, now: Timestamp) -> Result<u64> {
        self.has_orders = true;
        let mut touched = 0;
        for sql in [
            "UPDATE node_tasks SET next_at = $2 WHERE node_id = $1 AND state = 'queued' AND next_at > $2",
            "UPDATE volume_tasks SET next_at = $2 WHERE node_id = $1 AND state = 'queued' AND next_at > $2",
        ] {
            touched += execute!(self, sql, node.uuid(), now.to_datetime())?;
        }
        self.commit_housekeeping().await?;
        Ok(touched)
    }

    /// The node has lost it, or never had it: sent again.
    pub async fn requeue_task(mut self, instance: InstanceId, generation: i64) -> Result<u64> {
        self.has_orders = true;
        let at = self.at().to_datetime();
        let touched = execute!(
            self,
            "UPDATE node_tasks SET state = 'queued', next_at = $3, finished_at = NULL WHERE instance_id = $1 AND generation = $2 \
             AND state IN ('sent', 'done')",
            instance.uuid(),
            generation,
            at
        )?;
        self.commit_housekeeping().await?;
        Ok(touched)
    }
}
