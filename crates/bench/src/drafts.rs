//! The writes to be made: one tenant each, as `POST /api/v1/tenants` with an idempotency key makes it. The same number
//! always gives the same draft, so that every contender writes the same rows.

use std::collections::BTreeSet;

use chrono::{DateTime, Utc};
use gpuaas_domain::Timestamp;
use gpuaas_domain::chain::hex;
use gpuaas_domain::event::{Change, EventType, ObjectRef, Outcome, canonical};
use gpuaas_domain::iam::{self, Actor, BuiltinRole, Grant, Permission, Permit, Scope};
use gpuaas_domain::identity::Tenant;
use gpuaas_domain::ids::{AuditId, BindingId, EventId, TenantId, UserId, uuid_v7};
use gpuaas_domain::standing::Standing;
use gpuaas_store::Stamp;
use gpuaas_store::idempotency::{Key, Record};
use serde_json::json;
use uuid::Uuid;

use crate::Result;

const ACTION: &str = "tenants.create";
const ROUTE: &str = "TenantCreate";
const BEGINNING: i64 = 1_767_225_600;
/// Between two drafts: ids share a millisecond now and then, as they do on a busy server.
const STEP_MICROS: i64 = 300;

/// What an operation hands to the store.
pub(crate) struct Draft {
    pub(crate) stamp: Stamp,
    pub(crate) tenant: Tenant,
    pub(crate) change: Change,
    pub(crate) record: Record,
}

/// A platform admin's permit to create tenants.
pub(crate) fn permit() -> Result<Permit> {
    let role = BuiltinRole::PlatformAdmin;
    let grant = Grant {
        binding: BindingId::new(Uuid::from_u128(1)),
        role: role.id(),
        role_slug: role.slug().to_owned(),
        scope: Scope::Platform,
        permissions: role.permissions().into_iter().collect::<BTreeSet<_>>(),
    };
    iam::decide(Actor::User(admin()), &[grant], Permission::TenantCreate, Scope::Platform)
        .map_err(|_| "no permit".into())
}

fn admin() -> UserId {
    UserId::new(Uuid::from_u128(0x0190_0000_0000_7000_8000_0000_0000_00ad))
}

/// Looks random, is not: the mixer of splitmix64.
struct Mixer(u64);

impl Mixer {
    fn next(&mut self) -> [u8; 8] {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)).to_be_bytes()
    }

    fn bytes<const N: usize>(&mut self) -> [u8; N] {
        let mut bytes = [0; N];
        for chunk in bytes.chunks_mut(8) {
            let drawn = self.next();
            chunk.copy_from_slice(&drawn[..chunk.len()]);
        }
        bytes
    }
}

pub(crate) fn draft(number: u64) -> Result<Draft> {
    let mut mixer = Mixer(number.wrapping_mul(0x1_0000_0001));
    let at = Timestamp::from_unix_seconds(BEGINNING).ok_or("the beginning is a moment")?;
    let at = at.plus_micros(i64::try_from(number)? * STEP_MICROS);
    let id = |mixer: &mut Mixer| uuid_v7(at, &mixer.bytes());
    let (audit_id, event_id) = (AuditId::new(id(&mut mixer)), EventId::new(id(&mut mixer)));
    let tenant = Tenant {
        id: TenantId::new(id(&mut mixer)),
        slug: format!("tenant-{number}"),
        display_name: format!("Tenant number {number}"),
        state: Standing::Active,
        version: 1,
        created_at: at,
        updated_at: at,
    };
    let stamp = Stamp {
        at,
        correlation_id: hex(&mixer.bytes::<16>()),
        trace_id: hex(&mixer.bytes::<16>()),
        audit_id,
        event_id,
    };
    let data = json!({
        "tenant_id": tenant.id, "slug": tenant.slug, "display_name": tenant.display_name, "state": tenant.state.name(),
    });
    let change = Change::new(ACTION, ObjectRef::new("tenant", tenant.id))
        .at(Scope::Tenant(tenant.id))
        .after(tenant.audit_view())
        .event(EventType::TenantCreated, data);
    let record = Record {
        key: Key { principal: format!("user:{}", admin()), route: ROUTE, key: hex(&mixer.bytes::<16>()) },
        request_hash: mixer.bytes(),
        status: 201,
        reply: serde_json::to_string(&tenant)?,
    };
    Ok(Draft { stamp, tenant, change, record })
}

/// What a draft becomes in the database, every value as it is stored.
pub(crate) struct Rows {
    pub(crate) tenant: Tenant,
    pub(crate) at: DateTime<Utc>,
    pub(crate) tenant_id: Option<Uuid>,
    pub(crate) project_id: Option<Uuid>,
    pub(crate) actor_kind: String,
    pub(crate) actor_id: String,
    pub(crate) correlation_id: String,
    pub(crate) trace_id: String,
    pub(crate) event: EventPart,
    pub(crate) audit: AuditPart,
    pub(crate) record: Record,
}

pub(crate) struct EventPart {
    pub(crate) id: Uuid,
    pub(crate) kind: &'static str,
    pub(crate) subject: String,
    pub(crate) data: String,
}

pub(crate) struct AuditPart {
    pub(crate) id: Uuid,
    pub(crate) action: &'static str,
    pub(crate) outcome: &'static str,
    pub(crate) object_kind: &'static str,
    pub(crate) object_id: String,
    pub(crate) before: Option<String>,
    pub(crate) after: Option<String>,
    pub(crate) reason: Option<String>,
}

impl Rows {
    pub(crate) fn new(draft: Draft, permit: &Permit) -> Result<Self> {
        let Draft { stamp, tenant, change, record } = draft;
        let scope = change.scope.unwrap_or_else(|| permit.scope());
        let (kind, data) = change.event.ok_or("every draft has an event")?;
        Ok(Self {
            at: stamp.at.to_datetime(),
            tenant_id: scope.tenant().map(TenantId::uuid),
            project_id: scope.project().map(gpuaas_domain::ids::ProjectId::uuid),
            actor_kind: permit.actor().kind().to_owned(),
            actor_id: permit.actor().id(),
            correlation_id: stamp.correlation_id,
            trace_id: stamp.trace_id,
            event: EventPart {
                id: stamp.event_id.uuid(),
                kind: kind.name(),
                subject: format!("{}/{}", change.object.kind, change.object.id),
                data: canonical(&data),
            },
            audit: AuditPart {
                id: stamp.audit_id.uuid(),
                action: change.action,
                outcome: Outcome::Done.name(),
                object_kind: change.object.kind,
                object_id: change.object.id,
                before: change.before.as_ref().map(canonical),
                after: change.after.as_ref().map(canonical),
                reason: change.reason,
            },
            tenant,
            record,
        })
    }
}
