//! Tells the platform how long the app has run, as itself: with the key in `GPUAAS_SA_KEY_FILE` it signs an assertion,
//! gets a token for it, and posts what was used since the last time.
//!
//! An answer can be lost, so each record is told again with the next one. The platform keeps it once: its key says so.

use std::fmt::Write as _;
use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use ring::rand::SecureRandom as _;
use ring::signature::Ed25519KeyPair;
use serde_json::{Value, json};

use crate::client::{self, Base};

/// What the key file says.
struct Identity {
    instance: String,
    account: String,
    key_id: String,
    audience: String,
    pair: Ed25519KeyPair,
}

/// A token, and when to get the next one.
struct Held {
    token: String,
    renew_at: Instant,
}

pub(crate) fn start(base: Base, key_file: String, every: Duration) {
    std::thread::spawn(move || {
        let mut from = now();
        let (mut held, mut told, mut last): (Option<Held>, Option<Value>, _) = (None, None, None);
        loop {
            std::thread::sleep(every);
            let until = now();
            if until > from {
                let record = record(from, until);
                let batch: Vec<&Value> = told.iter().chain([&record]).collect();
                let outcome = tell(&base, &key_file, &mut held, &batch);
                // Only changes are worth a line.
                if last.as_ref() != Some(&outcome) {
                    match &outcome {
                        Ok(answer) => println!("metering answered {answer}"),
                        Err(error) => println!("metering failed: {error}"),
                    }
                }
                // What was not taken becomes part of the next window.
                if outcome.is_ok() {
                    (told, from) = (Some(record), until);
                }
                last = Some(outcome);
            }
        }
    });
}

fn tell(base: &Base, key_file: &str, held: &mut Option<Held>, batch: &[&Value]) -> Result<String, String> {
    let identity = Identity::read(key_file)?;
    let token = match held {
        Some(held) if Instant::now() < held.renew_at => held.token.clone(),
        _ => held.insert(exchange(base, &identity)?).token.clone(),
    };
    let path = format!("/api/v1/app-instances/{}/metering", identity.instance);
    let body = json!({ "records": batch }).to_string();
    let (status, answer) =
        client::post(base, &path, Some(&token), &body).map_err(|error| error.to_string())?;
    if status == 401 {
        *held = None;
    }
    if status == 200 { Ok(format!("{status} {answer}")) } else { Err(format!("{status} {answer}")) }
}

fn exchange(base: &Base, identity: &Identity) -> Result<Held, String> {
    let asked = Instant::now();
    let body = json!({ "assertion": identity.assertion(now()) }).to_string();
    let (status, answer) = client::post(base, "/api/v1/auth/service-account/token", None, &body)
        .map_err(|error| error.to_string())?;
    if status != 200 {
        return Err(format!("no token: {status} {answer}"));
    }
    let answer: Value = serde_json::from_str(&answer).map_err(|error| error.to_string())?;
    let token = answer["access_token"].as_str().ok_or("no token in the answer")?.to_owned();
    let life = answer["expires_in"].as_u64().unwrap_or(0);
    // At three quarters of its life, so that it never ends on the way.
    Ok(Held { token, renew_at: asked + Duration::from_secs(life) * 3 / 4 })
}

impl Identity {
    fn read(path: &str) -> Result<Self, String> {
        let text = std::fs::read_to_string(path).map_err(|error| format!("{path}: {error}"))?;
        Self::parse(&text).ok_or_else(|| format!("{path} is no key file"))
    }

    fn parse(text: &str) -> Option<Self> {
        let file: Value = serde_json::from_str(text).ok()?;
        let field = |name: &str| file[name].as_str().map(str::to_owned);
        let pem = field("private_key")?;
        let der: String = pem.lines().filter(|line| !line.starts_with('-')).collect();
        let der = STANDARD.decode(der).ok()?;
        Some(Self {
            instance: field("app_instance_id")?,
            account: field("service_account_id")?,
            key_id: field("key_id")?,
            audience: field("audience")?,
            pair: Ed25519KeyPair::from_pkcs8_maybe_unchecked(&der).ok()?,
        })
    }

    /// A compact JWT, good for a minute and for one token.
    fn assertion(&self, now: u64) -> String {
        let mut nonce = [0; 16];
        ring::rand::SystemRandom::new().fill(&mut nonce).expect("the system has randomness");
        let nonce = nonce.iter().fold(String::new(), |mut text, byte| {
            let _ = write!(text, "{byte:02x}");
            text
        });
        let head = json!({"alg": "EdDSA", "typ": "gpuaas-assertion+jwt", "kid": self.key_id});
        let claims = json!({"iss": self.account, "sub": self.account, "aud": self.audience, "jti": nonce,
                            "iat": now, "exp": now + 60});
        let part = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
        let signed = format!("{}.{}", part(&head), part(&claims));
        let signature = URL_SAFE_NO_PAD.encode(self.pair.sign(signed.as_bytes()).as_ref());
        format!("{signed}.{signature}")
    }
}

fn record(from: u64, until: u64) -> Value {
    json!({"meter": "session_seconds", "quantity": until - from, "window_start": rfc3339(from),
           "window_end": rfc3339(until), "key": format!("{from}-{until}")})
}

#[expect(clippy::disallowed_methods, reason = "a program of its own, and this is where it reads the clock")]
fn now() -> u64 {
    std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

/// Seconds since 1970 as people and the platform write them.
fn rfc3339(seconds: u64) -> String {
    let (days, rest) = (seconds / 86_400, seconds % 86_400);
    // Years that begin in March, so that the day that some have comes last.
    let day = days + 719_468;
    let (era, of_era) = (day / 146_097, day % 146_097);
    let year = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let moon = (5 * of_year + 2) / 153;
    let date = of_year - (153 * moon + 2) / 5 + 1;
    let month = if moon < 10 { moon + 3 } else { moon - 9 };
    let year = era * 400 + year + u64::from(month <= 2);
    format!("{year:04}-{month:02}-{date:02}T{:02}:{:02}:{:02}Z", rest / 3600, rest / 60 % 60, rest % 60)
}

#[cfg(test)]
mod tests {
    use ring::signature::{ED25519, KeyPair as _, UnparsedPublicKey};

    use super::*;

    /// A pair as the platform writes it: the seed of 32 sevens.
    const FILE: &str = r#"{"app_instance_id":"i","generation":1,"service_account_id":"a","key_id":"k","audience":"p",
        "private_key":"-----BEGIN PRIVATE KEY-----\nMC4CAQAwBQYDK2VwBCIEIAcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcH\n-----END PRIVATE KEY-----\n"}"#;

    /// K-09: what it signs is an assertion of its own account, good for a minute.
    #[test]
    fn an_assertion_is_signed_with_the_key_in_the_file() {
        let identity = Identity::parse(FILE).unwrap();
        let assertion = identity.assertion(1_800_000_000);
        let (signed, signature) = assertion.rsplit_once('.').unwrap();
        let signature = URL_SAFE_NO_PAD.decode(signature).unwrap();
        let public = UnparsedPublicKey::new(&ED25519, identity.pair.public_key().as_ref());
        public.verify(signed.as_bytes(), &signature).unwrap();
        let claims = URL_SAFE_NO_PAD.decode(signed.split('.').nth(1).unwrap()).unwrap();
        let claims: Value = serde_json::from_slice(&claims).unwrap();
        assert_eq!((&claims["iss"], &claims["sub"], &claims["aud"]), (&json!("a"), &json!("a"), &json!("p")));
        assert_eq!(claims["exp"], 1_800_000_060);
        assert_eq!(claims["jti"].as_str().unwrap().len(), 32);
        assert_ne!(identity.assertion(1_800_000_000), assertion, "each has a nonce of its own");
        for broken in ["", "{}", "[1]", &FILE.replace("MC4C", "AAAA")] {
            assert!(Identity::parse(broken).is_none(), "{broken}");
        }
    }

    #[test]
    fn times_are_written_as_the_platform_reads_them() {
        for (seconds, text) in [
            (0, "1970-01-01T00:00:00Z"),
            (951_782_400, "2000-02-29T00:00:00Z"),
            (1_709_251_199, "2024-02-29T23:59:59Z"),
            (1_800_000_000, "2027-01-15T08:00:00Z"),
            (4_107_542_400, "2100-03-01T00:00:00Z"),
        ] {
            assert_eq!(rfc3339(seconds), text);
        }
    }

    #[test]
    fn a_record_says_how_long_and_names_its_window() {
        let record = record(1_800_000_000, 1_800_000_060);
        assert_eq!((&record["quantity"], &record["key"]), (&json!(60), &json!("1800000000-1800000060")));
    }
}
