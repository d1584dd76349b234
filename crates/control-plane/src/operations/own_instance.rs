//! What an instance may say and ask about itself, with its own token (K-09). Whatever is not its own looks missing.

use gpuaas_domain::event::Change;
use gpuaas_domain::iam::{Actor, BuiltinRole, Permit};
use gpuaas_domain::ids::{InstanceId, KeyId, MeteringRecordId, ServiceAccountId};
use gpuaas_domain::instance::{Instance, MemberRole};
use gpuaas_domain::instance_identity::{Emission, InstanceIdentity};
use gpuaas_domain::manifest::{MeterKind, Metering};
use gpuaas_domain::metering::{self, Facts, Reading};
use gpuaas_domain::text::Slug;
use gpuaas_domain::{Error, FieldError, Result};
use gpuaas_store::Tx;
use gpuaas_store::instance_identities::Kept;
use serde_json::json;

use super::authenticate::invalid_token;
use super::instance_identity::find_speaker;
use super::instances::note;
use super::launch::object;
use super::reports::report_text;
use crate::{OpContext, Prepared};

/// A heartbeat is written down at most this often.
const HEARD_SECONDS: i64 = 5;

/// The instance that calls, which must be the one in the path.
fn own(ctx: &OpContext, id: InstanceId) -> Result<(ServiceAccountId, KeyId)> {
    let (instance, key) = ctx.instance()?;
    match ctx.known()?.actor {
        Actor::ServiceAccount(account) if instance == id => Ok((account, key)),
        Actor::ServiceAccount(_) | Actor::User(_) | Actor::Node(_) | Actor::System(_) => {
            Err(Error::not_found())
        }
    }
}

/// Loads for a change. The door looked before; under the lock it is looked again, so that nothing is taken from an
/// instance whose stop has just been decided.
async fn load(ctx: &OpContext, id: InstanceId) -> Result<(Tx, InstanceIdentity, Instance)> {
    let (account, key) = own(ctx, id)?;
    let mut tx = ctx.begin(&Permit::own_account(Actor::ServiceAccount(account))).await?;
    tx.lock_instance(id).await?;
    let speaker = find_speaker(&mut tx, account, key).await?;
    let (identity, instance) = speaker.ok_or_else(|| invalid_token("its instance has just ended"))?;
    Ok((tx, identity, instance))
}

/// What an instance may know about itself.
pub struct OwnStatus {
    pub instance: Instance,
    pub identity: InstanceIdentity,
    pub role: &'static str,
}

pub async fn status(ctx: &OpContext, id: InstanceId) -> Result<OwnStatus> {
    let (account, key) = own(ctx, id)?;
    let mut session = ctx.plane.store.read().await?;
    let speaker = find_speaker(&mut session, account, key).await?;
    let (identity, instance) = speaker.ok_or_else(|| invalid_token("its instance has just ended"))?;
    Ok(OwnStatus { instance, identity, role: BuiltinRole::App.slug() })
}

/// The app says that it lives. An observation: no audit row, no event.
pub async fn heartbeat(ctx: &OpContext, id: InstanceId) -> Result<()> {
    let (mut tx, identity, _) = load(ctx, id).await?;
    let now = tx.at();
    if identity.heard_at.is_some_and(|heard| now.seconds_since(heard) < HEARD_SECONDS) {
        return Ok(());
    }
    tx.note_heard(id, now).await?;
    tx.commit_observation().await
}

/// What an app says about one of its members.
pub struct Said {
    pub emission: Emission,
    pub member: Slug,
    pub role: Option<MemberRole>,
    pub detail: Option<String>,
}

/// A line in the timeline, in the seeds' words (H-20, H-34). The rows of members are the platform's own.
pub async fn emit(ctx: &OpContext, id: InstanceId, said: Said) -> Result<Prepared<()>> {
    let (mut tx, _, instance) = load(ctx, id).await?;
    let what = said.emission.timeline_name();
    let payload = json!({"member": said.member.as_str(), "role": said.role, "said_by": "app",
                         "detail": said.detail.as_deref().map(report_text), "generation": instance.state.desired});
    note(&ctx.plane, &mut tx, id, what, payload).await?;
    let change = Change::new(ctx.route.action, object(&instance))
        .at(instance.scope())
        .after(json!({"event": what, "member": said.member.as_str()}));
    Ok(Prepared::new(tx, change, ()))
}

/// What became of a batch.
pub struct Taken {
    pub accepted: usize,
    /// Of these, how many were there before.
    pub known: usize,
}

/// Takes what an app says that was used: all of it or nothing, each record once however often it is told (M-05).
pub async fn meter(ctx: &OpContext, id: InstanceId, readings: Vec<Reading>) -> Result<Prepared<Taken>> {
    let (mut tx, _, instance) = load(ctx, id).await?;
    let declared = declared_meter(&mut tx, &instance).await?;
    let facts = Facts { declared, created_at: instance.created_at, now: tx.at() };
    let usages = metering::check(readings, facts)?;
    let (mut known, mut faults) = (0, Vec::new());
    for (index, usage) in usages.iter().enumerate() {
        let record = MeteringRecordId::new(ctx.plane.new_uuid());
        match tx.keep_usage(record, &instance, usage).await? {
            Kept::New => {}
            Kept::Before => known += 1,
            Kept::Contradicts => faults.push(FieldError::new(
                format!("/records/{index}/key"),
                "metering_key_reused",
                "Another record with this key says something else; use a new key.",
            )),
        }
    }
    if !faults.is_empty() {
        return Err(Error::fields(faults));
    }
    let change = Change::new(ctx.route.action, object(&instance))
        .at(instance.scope())
        .after(json!({"records": usages.len(), "known_before": known}));
    Ok(Prepared::new(tx, change, Taken { accepted: usages.len(), known }))
}

async fn declared_meter(tx: &mut Tx, instance: &Instance) -> Result<Option<MeterKind>> {
    let version = tx.find_app_version_by_id(instance.app_version_id).await?;
    let block = version.and_then(|mut version| Some(version.manifest.get_mut("metering")?.take()));
    let block = block.and_then(|block| serde_json::from_value::<Metering>(block).ok());
    Ok(block.map(|block| block.kind))
}
