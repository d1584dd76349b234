//! Who instances are when they speak for themselves, and what they said that was used.

use chrono::{DateTime, Utc};
use gpuaas_domain::ids::{InstanceId, KeyId, MeteringRecordId, NodeId, ServiceAccountId};
use gpuaas_domain::instance::Instance;
use gpuaas_domain::instance_identity::InstanceIdentity;
use gpuaas_domain::metering::Usage;
use gpuaas_domain::{Result, Timestamp};
use uuid::Uuid;

use crate::{Session, Tx};

row! {
    struct IdentityRow {
        instance_id: Uuid, service_account_id: Uuid, key_id: Uuid, generation: i64, node_id: Uuid,
        registered_at: DateTime<Utc>, heard_at: Option<DateTime<Utc>>,
    }
}

impl From<IdentityRow> for InstanceIdentity {
    fn from(row: IdentityRow) -> Self {
        Self {
            instance_id: InstanceId::new(row.instance_id),
            service_account_id: ServiceAccountId::new(row.service_account_id),
            key_id: KeyId::new(row.key_id),
            generation: row.generation,
            node_id: NodeId::new(row.node_id),
            registered_at: Timestamp::new(row.registered_at),
            heard_at: row.heard_at.map(Timestamp::new),
        }
    }
}

/// What became of a record that was told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kept {
    New,
    /// Told before, with the same words.
    Before,
    /// Another record has this key.
    Contradicts,
}

impl Session {
    pub async fn find_instance_identity(&mut self, instance: InstanceId) -> Result<Option<InstanceIdentity>> {
        let row = fetch_optional!(
            self,
            IdentityRow,
            "SELECT instance_id, service_account_id, key_id, generation, node_id, registered_at, heard_at \
             FROM instance_identities WHERE instance_id = $1",
            instance.uuid()
        )?;
        Ok(row.map(InstanceIdentity::from))
    }

    /// The instance that an account speaks for; authentication only.
    pub async fn find_identity_of_account(
        &mut self,
        account: ServiceAccountId,
    ) -> Result<Option<InstanceIdentity>> {
        let row = fetch_optional!(
            self,
            IdentityRow,
            "SELECT instance_id, service_account_id, key_id, generation, node_id, registered_at, heard_at \
             FROM instance_identities WHERE service_account_id = $1",
            account.uuid()
        )?;
        Ok(row.map(InstanceIdentity::from))
    }

    /// How many records an instance has, and what they sum up to.
    pub async fn sum_metering(&mut self, instance: InstanceId, meter: &str) -> Result<(i64, i64)> {
        let row: Option<(i64, i64)> = fetch_optional!(
            self,
            (i64, i64),
            "SELECT COUNT(*), CAST(COALESCE(SUM(quantity), 0) AS BIGINT) FROM app_metering_records \
             WHERE instance_id = $1 AND meter = $2",
            instance.uuid(),
            meter
        )?;
        Ok(row.unwrap_or_default())
    }
}

impl Tx {
    /// The key that counts from now on. The caller holds the instance's lock, so that a stop comes before or after.
    pub async fn put_instance_identity(&mut self, identity: &InstanceIdentity) -> Result<()> {
        execute!(
            self,
            "INSERT INTO instance_identities \
             (instance_id, service_account_id, key_id, generation, node_id, registered_at, heard_at) \
             VALUES ($1, $2, $3, $4, $5, $6, NULL) \
             ON CONFLICT (instance_id) DO UPDATE SET key_id = excluded.key_id, generation = excluded.generation, \
             node_id = excluded.node_id, registered_at = excluded.registered_at, heard_at = NULL",
            identity.instance_id.uuid(),
            identity.service_account_id.uuid(),
            identity.key_id.uuid(),
            identity.generation,
            identity.node_id.uuid(),
            identity.registered_at.to_datetime()
        )?;
        Ok(())
    }

    /// Ends every key of an instance at `end`, unless it ended sooner.
    pub async fn end_instance_keys(&mut self, instance: InstanceId, end: Timestamp) -> Result<u64> {
        execute!(
            self,
            "UPDATE service_account_keys SET not_after = $2 WHERE service_account_id IN \
             (SELECT service_account_id FROM instance_identities WHERE instance_id = $1) \
             AND (not_after IS NULL OR not_after > $2)",
            instance.uuid(),
            end.to_datetime()
        )
    }

    /// The same for everything whose private key lies on a node.
    pub async fn end_node_instance_keys(&mut self, node: NodeId, end: Timestamp) -> Result<u64> {
        execute!(
            self,
            "UPDATE service_account_keys SET not_after = $2 WHERE service_account_id IN \
             (SELECT service_account_id FROM instance_identities WHERE node_id = $1) \
             AND (not_after IS NULL OR not_after > $2)",
            node.uuid(),
            end.to_datetime()
        )
    }

    /// The account ends with its instance; the row stays for the trail.
    pub async fn retire_instance_account(&mut self, instance: InstanceId) -> Result<u64> {
        let at = self.at();
        execute!(
            self,
            "UPDATE service_accounts SET state = 'deleted', updated_at = $2, version = version + 1 WHERE id IN \
             (SELECT service_account_id FROM instance_identities WHERE instance_id = $1) AND state <> 'deleted'",
            instance.uuid(),
            at.to_datetime()
        )
    }

    pub async fn note_heard(&mut self, instance: InstanceId, at: Timestamp) -> Result<()> {
        execute!(
            self,
            "UPDATE instance_identities SET heard_at = $2 WHERE instance_id = $1",
            instance.uuid(),
            at.to_datetime()
        )?;
        Ok(())
    }

    /// Keeps a record once, however often it is told: the index decides, so two tellings cannot both be new.
    pub async fn keep_usage(
        &mut self,
        id: MeteringRecordId,
        instance: &Instance,
        usage: &Usage,
    ) -> Result<Kept> {
        let at = self.at();
        let touched = execute!(
            self,
            "INSERT INTO app_metering_records (id, tenant_id, project_id, instance_id, generation, meter, quantity, \
             window_start, window_end, record_key, received_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11) \
             ON CONFLICT (instance_id, meter, record_key) DO NOTHING",
            id.uuid(),
            instance.tenant_id.uuid(),
            instance.project_id.uuid(),
            instance.id.uuid(),
            instance.state.desired,
            usage.meter.name(),
            usage.quantity,
            usage.window_start.to_datetime(),
            usage.window_end.to_datetime(),
            usage.key.as_str(),
            at.to_datetime()
        )?;
        if touched == 1 {
            return Ok(Kept::New);
        }
        let same: i64 = scalar!(
            self,
            i64,
            "SELECT COUNT(*) FROM app_metering_records WHERE instance_id = $1 AND meter = $2 AND record_key = $3 \
             AND quantity = $4 AND window_start = $5 AND window_end = $6",
            instance.id.uuid(),
            usage.meter.name(),
            usage.key.as_str(),
            usage.quantity,
            usage.window_start.to_datetime(),
            usage.window_end.to_datetime()
        )?;
        Ok(if same == 1 { Kept::Before } else { Kept::Contradicts })
    }
}
