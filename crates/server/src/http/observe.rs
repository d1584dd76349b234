//! The trail and the events over HTTP, page by page.

use gpuaas_api::envelope::{List, PageQuery};
use gpuaas_api::observe::{AuditEntry, AuditQuery, BrokenLink, Event, EventQuery, VerifyQuery, VerifyReport};
use gpuaas_control_plane::operations::observe;
use gpuaas_domain::chain::{self, Stream};
use gpuaas_domain::event::EventRow;
use gpuaas_store::chain::{AuditFilter, NumberedAudit};

use super::extract::{Call, Query, page_request};
use super::problem::ApiResult;
use super::reply::{self, Found};

fn entry(numbered: NumberedAudit) -> AuditEntry {
    let row = numbered.row;
    let json = |text: Option<String>| text.and_then(|text| serde_json::from_str(&text).ok());
    AuditEntry {
        sequence: numbered.sequence,
        id: row.id,
        at: row.at,
        actor_kind: row.actor_kind,
        actor_id: row.actor_id,
        action: row.action,
        outcome: row.outcome.name().into(),
        object_kind: row.object_kind,
        object_id: row.object_id,
        tenant_id: row.scope.tenant(),
        org_id: row.scope.tenant(),
        project_id: row.scope.project(),
        before: json(row.before),
        after: json(row.after),
        reason: row.reason,
        correlation_id: row.correlation_id,
        trace_id: row.trace_id,
        hash: chain::hex(&numbered.hash),
    }
}

pub(super) async fn audit(call: Call, Query(query): Query<AuditQuery>) -> ApiResult<Found<List<AuditEntry>>> {
    let filter = AuditFilter {
        actor_id: query.actor_id,
        action: query.action,
        object_id: query.object_id,
        correlation_id: query.correlation_id,
    };
    let list = call.list_name(&format!("{filter:?}"));
    let page = page_request(&PageQuery { limit: query.limit, cursor: query.cursor }, &list)?;
    let page = observe::audit(&call, call.target()?, &filter, &page).await?;
    Ok(Found(reply::list(page.map(entry), &list)))
}

pub(super) async fn verify(call: Call, Query(query): Query<VerifyQuery>) -> ApiResult<Found<VerifyReport>> {
    let stream = query.stream.unwrap_or(Stream::Audit);
    let verified = observe::verify(&call, stream, query.from.unwrap_or(1)).await?;
    Ok(Found(VerifyReport {
        stream,
        ok: verified.broken.is_none(),
        checked: verified.checked,
        next_from: verified.next_from,
        head_sequence: verified.head.sequence,
        head_hash: chain::hex(&verified.head.hash),
        pending: verified.pending,
        broken: verified.broken.map(|broken| BrokenLink {
            sequence: broken.sequence,
            row_id: broken.row_id,
            problem: broken.problem,
        }),
    }))
}

/// An event as it goes out, here and in streams.
pub(super) fn event(call: &Call, sequence: i64, row: EventRow) -> Event {
    Event {
        specversion: "1.0".into(),
        id: row.id,
        event_id: row.id,
        source: call.app.public_url.clone(),
        kind: row.kind,
        subject: row.subject,
        time: row.at,
        datacontenttype: "application/json".into(),
        sequence,
        correlation_id: row.correlation_id,
        trace_id: row.trace_id,
        org_id: row.scope.tenant(),
        project_id: row.scope.project(),
        actor_kind: row.actor_kind,
        actor_id: row.actor_id,
        data: serde_json::from_str(&row.data).unwrap_or_default(),
    }
}

pub(super) async fn events(call: Call, Query(query): Query<EventQuery>) -> ApiResult<Found<List<Event>>> {
    let list = call.list_name("");
    let page = page_request(&PageQuery { limit: query.limit, cursor: query.cursor }, &list)?;
    let page = observe::events(&call, call.target()?, query.after, &page).await?;
    Ok(Found(reply::list(page.map(|(sequence, row)| event(&call, sequence, row)), &list)))
}
