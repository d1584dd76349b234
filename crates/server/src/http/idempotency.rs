//! Keys of repeated requests: who is working on one right now, and what to record when done.

use std::collections::HashSet;
use std::sync::{Arc, Mutex};

use gpuaas_domain::{Error, Kind};
use gpuaas_store::idempotency::{Key, Record, in_progress};

/// The keys being worked on in this process. (Between processes the database's primary key decides.)
#[derive(Default)]
pub(crate) struct InFlight(Mutex<HashSet<Key>>);

/// The right to answer for a key; given back when dropped.
pub(crate) struct Claim {
    key: Key,
    request_hash: [u8; 32],
    in_flight: Arc<InFlight>,
}

impl InFlight {
    pub(crate) fn claim(self: &Arc<Self>, key: Key, request_hash: [u8; 32]) -> Result<Claim, Error> {
        let mut keys = self.0.lock().expect("no holder of the keys panics");
        if !keys.insert(key.clone()) {
            return Err(in_progress());
        }
        Ok(Claim { key, request_hash, in_flight: self.clone() })
    }
}

impl Claim {
    pub(crate) fn key(&self) -> &Key {
        &self.key
    }

    pub(crate) fn request_hash(&self) -> &[u8] {
        &self.request_hash
    }

    pub(crate) fn record(&self, status: u16, reply: String) -> Record {
        Record { key: self.key.clone(), request_hash: self.request_hash, status, reply }
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        self.in_flight.0.lock().expect("no holder of the keys panics").remove(&self.key);
    }
}

/// A key is 1 to 128 visible ASCII characters.
pub(crate) fn parse_key(value: &axum::http::HeaderValue) -> Result<String, Error> {
    value
        .to_str()
        .ok()
        .filter(|text| (1..=128).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_graphic()))
        .map(str::to_owned)
        .ok_or_else(|| {
            Error::invalid(
                "invalid_idempotency_key",
                "Use 1 to 128 visible ASCII characters as Idempotency-Key.",
            )
        })
}

pub(crate) fn reused() -> Error {
    Error::new(
        Kind::Unprocessable,
        "idempotency_key_reused",
        "This Idempotency-Key was used for another request; use a new key for a new request.",
    )
}
