//! Against stubs that lie, break off and keep every byte.

mod credentials;
mod transfer;

use std::time::Duration;

use bytes::Bytes;
use reqwest::Method;

use super::stub::{Stub, answer, promising};
use super::*;
use crate::{Digest, SecretText, Tag};

const PASSWORD: &str = "correct-horse-battery-staple";

fn repository() -> Repository {
    "apps/a".parse().unwrap()
}

/// Short in everything, so that a test of patience takes no time.
fn quick() -> Settings {
    Settings {
        first_pause: Duration::from_millis(1),
        stall_timeout: Duration::from_millis(300),
        answer_timeout: Duration::from_secs(2),
        attempts: 3,
        monolithic_bytes: 10,
        chunk_bytes: 10,
        ..Settings::default()
    }
}

fn password() -> Credentials {
    let password = SecretText::new(PASSWORD.to_owned());
    Credentials::Password { user: "ann".to_owned(), password }
}

fn client(stub: &Stub, settings: Settings) -> Registry {
    Registry::with(&stub.url, None, settings).unwrap()
}

/// A future may move between threads, or no server can hold it.
#[test]
fn the_client_can_be_used_from_a_server() {
    fn sendable<T: Send>(_: &T) {}
    let registry = Registry::new("http://127.0.0.1:9").unwrap();
    let (repository, digest) = (repository(), Digest::of(b""));
    let source = BlobSource::Memory(Bytes::new());
    sendable(&registry.push_blob(&repository, &digest, &source, &|_| ()));
    sendable(&registry.blob(&repository, &digest, 0).next());
    sendable(&registry.list_referrers(&repository, &digest, None));
    let key = crate::sign::PrivateKey::generate(&ring::rand::SystemRandom::new()).unwrap();
    let now = chrono::DateTime::from_timestamp(0, 0).unwrap();
    sendable(&registry.sign(&repository, &digest, &key, now, &ring::rand::SystemRandom::new()));
}

/// F-27: a signature names the image as references do, wherever the registry is reached.
#[test]
fn a_registry_is_called_what_references_call_it() {
    let at = |known_as: Option<&str>| {
        let known_as = known_as.map(|host| host.parse().unwrap());
        let registry =
            Registry::with("http://127.0.0.1:5000", None, Settings { known_as, ..Settings::default() });
        registry.unwrap().name(&repository()).unwrap().to_string()
    };
    assert_eq!(at(None), "127.0.0.1:5000/apps/a");
    assert_eq!(at(Some("registry.example.com")), "registry.example.com/apps/a");
}
