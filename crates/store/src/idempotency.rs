//! The first answer to a request, kept so that a repeated request gets the same one.
//!
//! The record is written in the transaction of the change itself: either both are there or neither.

use gpuaas_domain::{Error, Result, Timestamp};

use crate::Session;

/// Whose key it is: keys of different callers or routes never meet.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Key {
    pub principal: String,
    pub route: &'static str,
    pub key: String,
}

/// What to answer next time.
#[derive(Clone, Debug)]
pub struct Record {
    pub key: Key,
    pub request_hash: [u8; 32],
    pub status: u16,
    /// The body, shown-once secrets left out.
    pub reply: String,
}

#[derive(Clone, Debug)]
pub struct Stored {
    pub request_hash: Vec<u8>,
    pub status: u16,
    pub reply: String,
}

row! { struct StoredRow { request_hash: Vec<u8>, status: i64, reply: String } }

impl Session {
    pub async fn find_idempotency(&mut self, key: &Key, not_before: Timestamp) -> Result<Option<Stored>> {
        let row = fetch_optional!(
            self,
            StoredRow,
            "SELECT request_hash, status, reply FROM idempotency \
             WHERE principal = $1 AND route = $2 AND idempotency_key = $3 AND created_at > $4",
            key.principal.as_str(),
            key.route,
            key.key.as_str(),
            not_before.to_datetime()
        )?;
        row.map(|row| {
            let status =
                u16::try_from(row.status).map_err(|_| Error::internal("a stored status is no status"))?;
            Ok(Stored { request_hash: row.request_hash, status, reply: row.reply })
        })
        .transpose()
    }

    pub(crate) async fn insert_idempotency(&mut self, record: Record, at: Timestamp) -> Result<()> {
        // An expired record that was not swept yet gives way; a live one does not.
        let expired = at.plus_seconds(-RETENTION_SECONDS);
        let written = execute!(
            self,
            "INSERT INTO idempotency (principal, route, idempotency_key, request_hash, status, reply, created_at) \
             VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT (principal, route, idempotency_key) DO UPDATE SET \
             request_hash = excluded.request_hash, status = excluded.status, reply = excluded.reply, \
             created_at = excluded.created_at WHERE idempotency.created_at <= $8",
            record.key.principal.as_str(),
            record.key.route,
            record.key.key.as_str(),
            record.request_hash.as_slice(),
            i64::from(record.status),
            record.reply.as_str(),
            at.to_datetime(),
            expired.to_datetime()
        )?;
        if written == 1 { Ok(()) } else { Err(in_progress()) }
    }
}

/// How long a first answer is kept.
pub const RETENTION_SECONDS: i64 = 24 * 60 * 60;

/// Another request with the same key is being worked on, or has just won.
pub fn in_progress() -> Error {
    Error::conflict(
        "idempotency_in_progress",
        "A request with this Idempotency-Key is being worked on; repeat it in a moment to get its answer.",
    )
}
