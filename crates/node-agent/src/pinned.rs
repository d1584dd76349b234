//! Whom the node believes before it has joined: nobody but the holder of the CA key whose hash its join token carries.

use std::fmt;

use rustls::ClientConfig;
use rustls_pki_types::CertificateDer;
use rustls_pki_types::pem::PemObject as _;

/// SHA-256 of a CA's public key, in lower-case hexadecimal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pin(String);

impl Pin {
    pub fn parse(text: &str) -> Option<Self> {
        let clean = text.len() == 64 && text.bytes().all(|b| b.is_ascii_hexdigit());
        clean.then(|| Self(text.to_ascii_lowercase()))
    }

    /// Of the one certificate in this text.
    pub fn of_pem(pem: &str) -> Option<Self> {
        let certificates: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem.as_bytes()).collect();
        let Ok([certificate]) = certificates.as_deref() else { return None };
        gpuaas_tunnel::spki_pin(certificate).ok().map(Self)
    }
}

impl fmt::Display for Pin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// TLS for a client that knows a pin and nothing else.
pub fn pinned_tls(pin: &Pin) -> Result<ClientConfig, rustls::Error> {
    gpuaas_tunnel::client_config_with_pin(&pin.0)
}
