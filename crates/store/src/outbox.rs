//! The audit row and the event of a change. The events table is the outbox: rows are read by number, and the
//! sequencer gives the numbers.

use gpuaas_domain::event::{AuditRow, Change, EventRow, ObjectRef, Outcome, canonical};
use gpuaas_domain::iam::{Actor, Permit, Scope};
use gpuaas_domain::ids::{ProjectId, TenantId};
use gpuaas_domain::{Result, error::Error};

use crate::db::{Session, Stamp, Store};

impl Session {
    pub(crate) async fn insert_change(
        &mut self,
        permit: &Permit,
        stamp: &Stamp,
        change: Change,
    ) -> Result<()> {
        let scope = change.scope.unwrap_or_else(|| permit.scope());
        let (actor_kind, actor_id) = (permit.actor().kind().to_owned(), permit.actor().id());
        if let Some((kind, data)) = &change.event {
            self.insert_event(&EventRow {
                id: stamp.event_id,
                at: stamp.at,
                scope,
                kind: kind.name().to_owned(),
                subject: format!("{}/{}", change.object.kind, change.object.id),
                actor_kind: actor_kind.clone(),
                actor_id: actor_id.clone(),
                data: canonical(data),
                correlation_id: stamp.correlation_id.clone(),
                trace_id: stamp.trace_id.clone(),
            })
            .await?;
        }
        self.insert_audit(&AuditRow {
            id: stamp.audit_id,
            at: stamp.at,
            scope,
            actor_kind,
            actor_id,
            action: change.action.to_owned(),
            outcome: Outcome::Done,
            object_kind: change.object.kind.to_owned(),
            object_id: change.object.id,
            before: change.before.as_ref().map(canonical),
            after: change.after.as_ref().map(canonical),
            reason: change.reason,
            correlation_id: stamp.correlation_id.clone(),
            trace_id: stamp.trace_id.clone(),
        })
        .await
    }

    pub(crate) async fn insert_event(&mut self, row: &EventRow) -> Result<()> {
        execute!(
            self,
            "INSERT INTO events (id, at, tenant_id, project_id, kind, subject, actor_kind, actor_id, data, correlation_id, trace_id) \
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)",
            row.id.uuid(),
            row.at.to_datetime(),
            row.scope.tenant().map(TenantId::uuid),
            row.scope.project().map(ProjectId::uuid),
            row.kind.as_str(),
            row.subject.as_str(),
            row.actor_kind.as_str(),
            row.actor_id.as_str(),
            row.data.as_str(),
            row.correlation_id.as_str(),
            row.trace_id.as_str()
        )?;
        Ok(())
    }

    pub(crate) async fn insert_audit(&mut self, row: &AuditRow) -> Result<()> {
        execute!(
            self,
            "INSERT INTO audit (id, at, tenant_id, project_id, actor_kind, actor_id, action, outcome, object_kind, object_id, \
             before_change, after_change, reason, correlation_id, trace_id) \
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15)",
            row.id.uuid(),
            row.at.to_datetime(),
            row.scope.tenant().map(TenantId::uuid),
            row.scope.project().map(ProjectId::uuid),
            row.actor_kind.as_str(),
            row.actor_id.as_str(),
            row.action.as_str(),
            row.outcome.name(),
            row.object_kind.as_str(),
            row.object_id.as_str(),
            row.before.as_deref(),
            row.after.as_deref(),
            row.reason.as_deref(),
            row.correlation_id.as_str(),
            row.trace_id.as_str()
        )?;
        Ok(())
    }
}

impl Store {
    /// A refusal of somebody we know is a row of its own, with the code of the refusal as its reason.
    pub async fn record_denial(
        &self,
        stamp: &Stamp,
        actor: Actor,
        scope: Scope,
        action: &str,
        object: ObjectRef,
        refusal: &Error,
    ) -> Result<()> {
        let mut tx = self.begin(&Permit::system("door", scope), stamp.clone()).await?;
        tx.insert_audit(&AuditRow {
            id: stamp.audit_id,
            at: stamp.at,
            scope,
            actor_kind: actor.kind().to_owned(),
            actor_id: actor.id(),
            action: action.to_owned(),
            outcome: Outcome::Denied,
            object_kind: object.kind.to_owned(),
            object_id: object.id,
            before: None,
            after: None,
            reason: Some(refusal.code().to_owned()),
            correlation_id: stamp.correlation_id.clone(),
            trace_id: stamp.trace_id.clone(),
        })
        .await?;
        tx.commit_housekeeping().await?;
        self.notify_committed();
        Ok(())
    }
}
