//! Keys that machines have proven lately. Everybody behind one address (a node, and the apps on it) shares what strangers from
//! there may try; whoever has shown a key before has a share of their own, so that a neighbour's noise locks nobody out.

use std::collections::HashMap;
use std::sync::Mutex;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use gpuaas_api::Route;
use gpuaas_domain::{Error, Timestamp};
use serde::Deserialize;

use super::rate::Buckets;

/// Tokens last a quarter of an hour at most, so who is still there has come again.
const REMEMBERED_SECONDS: i64 = 3600;
const MOST: usize = 100_000;
/// No id of ours is longer.
const MAX_KEY: usize = 64;

/// The key that an exchange names, before anybody has looked whether it is theirs.
#[derive(Clone)]
pub(super) struct Claimed(pub(super) String);

pub(super) fn is_exchange(route: Route) -> bool {
    matches!(route, Route::ServiceAccountToken | Route::ServiceAccountTokenAlias | Route::NodeTokenExchange)
}

/// The `kid` of the assertion in the body, if it can be read.
pub(super) fn claimed_key(body: &[u8]) -> Option<String> {
    #[derive(Deserialize)]
    struct Exchange<'b> {
        #[serde(borrow)]
        assertion: std::borrow::Cow<'b, str>,
    }
    #[derive(Deserialize)]
    struct Header {
        kid: String,
    }
    let exchange: Exchange<'_> = serde_json::from_slice(body).ok()?;
    let header = URL_SAFE_NO_PAD.decode(exchange.assertion.split('.').next()?).ok()?;
    let Header { kid } = serde_json::from_slice(&header).ok()?;
    (kid.len() <= MAX_KEY).then_some(kid)
}

pub(super) struct Proven {
    seen: Mutex<HashMap<String, Timestamp>>,
    share: Buckets<String>,
}

impl Proven {
    pub(super) fn new(per_second: f64) -> Self {
        Self { seen: Mutex::default(), share: Buckets::new(per_second, per_second * 5.0) }
    }

    pub(super) fn knows(&self, key: &str, now: Timestamp) -> bool {
        let seen = self.seen.lock().expect("no holder panics");
        seen.get(key).is_some_and(|at| now.seconds_since(*at) < REMEMBERED_SECONDS)
    }

    pub(super) fn take(&self, key: &str, now: Timestamp) -> Result<(), Error> {
        self.share.take(key.to_owned(), now)
    }

    pub(super) fn remember(&self, key: String, now: Timestamp) {
        let mut seen = self.seen.lock().expect("no holder panics");
        if seen.len() >= MOST {
            seen.retain(|_, at| now.seconds_since(*at) < REMEMBERED_SECONDS);
        }
        // Who finds no place shares with the others of their address.
        if seen.len() < MOST {
            seen.insert(key, now);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A05, attack 21: a claim is read without being believed, and nothing unreadable has a share.
    #[test]
    fn a_claimed_key_is_read_or_not_there() {
        let named = |header: &str| {
            let assertion = format!("{}.e30.c2ln", URL_SAFE_NO_PAD.encode(header));
            claimed_key(serde_json::json!({ "assertion": assertion }).to_string().as_bytes())
        };
        assert_eq!(named(r#"{"alg":"EdDSA","kid":"k-1"}"#).as_deref(), Some("k-1"));
        assert_eq!(named(r#"{"alg":"EdDSA"}"#), None);
        assert_eq!(named(&format!(r#"{{"kid":"{}"}}"#, "k".repeat(65))), None);
        for body in ["", "{}", r#"{"assertion":5}"#, r#"{"assertion":"...."}"#, "[]"] {
            assert_eq!(claimed_key(body.as_bytes()), None, "{body}");
        }
    }

    #[test]
    fn who_was_seen_is_known_for_an_hour() {
        let proven = Proven::new(1.0);
        let at = |seconds: i64| Timestamp::from_unix_seconds(1_000_000 + seconds).unwrap();
        assert!(!proven.knows("k", at(0)));
        proven.remember("k".into(), at(0));
        assert!(proven.knows("k", at(3599)));
        assert!(!proven.knows("k", at(3600)));
    }
}
