//! How far the making of apps has come.

use chrono::{DateTime, Utc};
use gpuaas_domain::{Result, Timestamp};

use crate::{Session, Tx};

/// How far the making of an app has come.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Preparation {
    pub app_slug: String,
    pub stage: String,
    pub percent: i64,
    pub failure: Option<String>,
    pub updated_at: Timestamp,
}

row! {
    struct PreparationRow {
        app_slug: String, stage: String, percent: i64, failure: Option<String>, updated_at: DateTime<Utc>,
    }
}

impl Session {
    pub async fn list_preparations(&mut self) -> Result<Vec<Preparation>> {
        let rows = fetch!(
            self,
            PreparationRow,
            "SELECT app_slug, stage, percent, failure, updated_at FROM app_preparations ORDER BY app_slug LIMIT 1000"
        )?;
        let preparation = |row: PreparationRow| Preparation {
            app_slug: row.app_slug,
            stage: row.stage,
            percent: row.percent,
            failure: row.failure,
            updated_at: Timestamp::new(row.updated_at),
        };
        Ok(rows.into_iter().map(preparation).collect())
    }
}

impl Tx {
    pub async fn put_preparation(
        &mut self,
        slug: &str,
        stage: &str,
        percent: u8,
        failure: Option<&str>,
    ) -> Result<()> {
        let at = self.at().to_datetime();
        execute!(
            self,
            "INSERT INTO app_preparations (app_slug, stage, percent, failure, updated_at) VALUES ($1, $2, $3, $4, $5) \
             ON CONFLICT (app_slug) DO UPDATE SET stage = excluded.stage, percent = excluded.percent, failure = excluded.failure, \
             updated_at = excluded.updated_at",
            slug,
            stage,
            i64::from(percent),
            failure,
            at
        )?;
        Ok(())
    }

    pub async fn clear_preparation(&mut self, slug: &str) -> Result<bool> {
        Ok(execute!(self, "DELETE FROM app_preparations WHERE app_slug = $1", slug)? > 0)
    }
}
