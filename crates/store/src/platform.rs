//! The platform's own row: its id, its era, and which key seals new secrets.

use gpuaas_domain::{Result, Timestamp};
use uuid::Uuid;

use crate::dialect::Dialect;
use crate::{Session, Tx};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Platform {
    pub platform_id: Uuid,
    /// Grows with every restore, so that agents notice a database that went back in time.
    pub era: i64,
    pub kek_id: String,
}

row! { struct PlatformRow { platform_id: Uuid, era: i64, kek_id: String } }

impl Session {
    pub async fn find_platform(&mut self) -> Result<Option<Platform>> {
        let row =
            fetch_optional!(self, PlatformRow, "SELECT platform_id, era, kek_id FROM platform WHERE id = 1")?;
        Ok(row.map(|row| Platform { platform_id: row.platform_id, era: row.era, kek_id: row.kek_id }))
    }

    /// The simplest question that proves the database answers.
    pub async fn ping(&mut self) -> Result<()> {
        scalar!(self, i64, "SELECT COUNT(*) FROM platform").map(|_| ())
    }
}

impl Tx {
    /// `false` if another first start was faster.
    pub async fn insert_platform(&mut self, platform_id: Uuid, kek_id: &str, at: Timestamp) -> Result<bool> {
        let inserted = execute!(
            self,
            "INSERT INTO platform (id, platform_id, era, kek_id, created_at) VALUES (1, $1, 1, $2, $3) ON CONFLICT DO NOTHING",
            platform_id,
            kek_id,
            at.to_datetime()
        )?;
        Ok(inserted == 1)
    }

    /// The key that seals new secrets, held still until this transaction ends, so that a rotation cannot pass by
    /// a secret that is just being written.
    pub async fn lock_kek(&mut self) -> Result<String> {
        let sql = match self.dialect() {
            Dialect::Sqlite => "SELECT kek_id FROM platform WHERE id = 1",
            Dialect::Postgres => "SELECT kek_id FROM platform WHERE id = 1 FOR SHARE",
        };
        scalar!(self, String, sql)
    }

    pub async fn set_kek(&mut self, kek_id: &str) -> Result<()> {
        execute!(self, "UPDATE platform SET kek_id = $1 WHERE id = 1", kek_id)?;
        Ok(())
    }

    pub async fn bump_era(&mut self) -> Result<i64> {
        scalar!(self, i64, "UPDATE platform SET era = era + 1 WHERE id = 1 RETURNING era")
    }
}
