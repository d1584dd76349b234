//! Whom the dialling side believes: a wrong key is refused before a byte of HTTP is sent.

use gpuaas_tunnel::{Error, PinMismatch, client_config_with_ca, client_config_with_pin, dial, spki_pin};
use rustls::{CertificateError, ClientConfig};
use tokio::io::AsyncReadExt as _;
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;

use crate::world::{Authority, TOKEN};

fn pin(authority: &Authority) -> ClientConfig {
    client_config_with_pin(&spki_pin(authority.certificate.der()).unwrap()).unwrap()
}

/// Dials a server that says nothing back. What it was told, and how the dialling went.
async fn told(server: std::sync::Arc<rustls::ServerConfig>, trust: &ClientConfig) -> (Vec<u8>, Error) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("wss://{}/link", listener.local_addr().unwrap());
    let hearing = async {
        let (tcp, _) = listener.accept().await.unwrap();
        let mut heard = Vec::new();
        if let Ok(mut tls) = TlsAcceptor::from(server).accept(tcp).await {
            let mut piece = [0; 4096];
            if let Ok(count) = tls.read(&mut piece).await {
                heard.extend_from_slice(&piece[..count]);
            }
        }
        heard
    };
    let (heard, dialled) = tokio::join!(hearing, dial(&url, TOKEN, trust));
    (heard, dialled.err().expect("nobody answers"))
}

fn verdict(error: &Error) -> &CertificateError {
    match error {
        Error::Untrusted(rustls::Error::InvalidCertificate(verdict)) => verdict,
        other => panic!("{other:?}"),
    }
}

fn is_pin_mismatch(error: &Error) -> bool {
    matches!(verdict(error), CertificateError::Other(other) if other.0.is::<PinMismatch>())
}

#[tokio::test]
async fn the_pinned_ca_is_believed() {
    let (ours, theirs) = (Authority::new(), Authority::new());
    let good = ours.server("127.0.0.1", &[&ours]);
    for trust in [pin(&ours), client_config_with_ca(&ours.certificate.pem()).unwrap()] {
        let (heard, _) = told(good.clone(), &trust).await;
        assert!(heard.starts_with(b"GET /link HTTP/1.1\r\n"));
    }
    // Another certificate beside it does no harm.
    let (heard, _) = told(ours.server("127.0.0.1", &[&theirs, &ours]), &pin(&ours)).await;
    assert!(!heard.is_empty());
}

#[tokio::test]
async fn anybody_else_is_told_nothing() {
    let (ours, theirs) = (Authority::new(), Authority::new());
    // Another CA; and the right one, not shown.
    for server in [theirs.server("127.0.0.1", &[&theirs]), ours.server("127.0.0.1", &[])] {
        let (heard, error) = told(server, &pin(&ours)).await;
        assert!(heard.is_empty() && is_pin_mismatch(&error), "{error:?}");
    }
    // Our CA in the chain, which anybody can copy, but the leaf is not signed by it.
    let (heard, error) = told(theirs.server("127.0.0.1", &[&ours]), &pin(&ours)).await;
    assert!(heard.is_empty());
    assert!(!matches!(verdict(&error), CertificateError::Other(_)), "{error:?}");
    // Our CA, another host.
    let (heard, error) = told(ours.server("elsewhere.example", &[&ours]), &pin(&ours)).await;
    assert!(heard.is_empty());
    assert!(matches!(verdict(&error), CertificateError::NotValidForNameContext { .. }), "{error:?}");
    // By the CA's certificate instead of its pin.
    let trust = client_config_with_ca(&ours.certificate.pem()).unwrap();
    let (heard, _) = told(theirs.server("127.0.0.1", &[&theirs]), &trust).await;
    assert!(heard.is_empty());
}

/// The pinned key signs servers; it is none.
#[tokio::test]
async fn the_ca_itself_is_not_a_server() {
    let ours = Authority::new();
    let (heard, error) = told(ours.itself(), &pin(&ours)).await;
    assert!(heard.is_empty() && is_pin_mismatch(&error), "{error:?}");
}

#[test]
fn a_pin_is_the_hash_of_the_key_alone() {
    let authority = Authority::new();
    let one = spki_pin(authority.certificate.der()).unwrap();
    assert_eq!(one.len(), 64);
    assert_ne!(one, spki_pin(Authority::new().certificate.der()).unwrap());
    assert!(spki_pin(&vec![1, 2, 3].into()).is_err());
    for wrong in ["", "abc", &"g".repeat(64), &"0".repeat(65)] {
        assert!(client_config_with_pin(wrong).is_err(), "{wrong}");
    }
    for wrong in ["", "nonsense", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"] {
        assert!(client_config_with_ca(wrong).is_err(), "{wrong}");
    }
}
