//! Whom the node believes before it has joined: nobody but the holder of the CA key whose hash its join token carries.

use std::fmt;
use std::sync::Arc;

use gpuaas_agent_protocol::image::hex;
use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, verify_tls12_signature, verify_tls13_signature};
use rustls::server::ParsedCertificate;
use rustls::{CertificateError, ClientConfig, DigitallySignedStruct, OtherError, RootCertStore, SignatureScheme};
use rustls_pki_types::pem::PemObject as _;
use rustls_pki_types::{CertificateDer, ServerName, UnixTime};

/// SHA-256 of a certificate's SubjectPublicKeyInfo, in lower-case hexadecimal: it stays when the certificate is renewed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pin(String);

impl Pin {
    pub fn parse(text: &str) -> Option<Self> {
        let clean = text.len() == 64 && text.bytes().all(|b| b.is_ascii_hexdigit());
        clean.then(|| Self(text.to_ascii_lowercase()))
    }

    pub fn of(certificate: &CertificateDer<'_>) -> Result<Self, rustls::Error> {
        let parsed = ParsedCertificate::try_from(certificate)?;
        let hash = ring::digest::digest(&ring::digest::SHA256, &parsed.subject_public_key_info());
        Ok(Self(hex(hash.as_ref())))
    }

    /// Whether this text is one certificate with the pinned key.
    pub fn fits_pem(&self, pem: &str) -> bool {
        let certificates: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem.as_bytes()).collect();
        let Ok([certificate]) = certificates.as_deref() else { return false };
        Self::of(certificate).is_ok_and(|pin| pin == *self)
    }
}

impl fmt::Display for Pin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The other end showed no CA with the pinned key.
#[derive(Debug)]
pub struct PinMismatch;

impl fmt::Display for PinMismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the certificate chain holds no CA with the pinned key")
    }
}

impl std::error::Error for PinMismatch {}

/// Accepts a chain with the pinned CA in it, if that CA signed the leaf and the leaf is for this host.
#[derive(Debug)]
struct PinnedCa {
    pin: Pin,
    provider: Arc<CryptoProvider>,
}

impl ServerCertVerifier for PinnedCa {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        let pinned = intermediates
            .iter()
            .find(|certificate| Pin::of(certificate).is_ok_and(|pin| pin == self.pin))
            .ok_or_else(|| CertificateError::Other(OtherError(Arc::new(PinMismatch))))?;
        // From here on it is a chain with one root, judged as any other.
        let mut roots = RootCertStore::empty();
        roots.add(pinned.clone().into_owned())?;
        WebPkiServerVerifier::builder_with_provider(Arc::new(roots), self.provider.clone())
            .build()
            .map_err(|error| rustls::Error::General(error.to_string()))?
            .verify_server_cert(end_entity, intermediates, server_name, ocsp_response, now)
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls12_signature(message, certificate, signed, &self.provider.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls13_signature(message, certificate, signed, &self.provider.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}

/// TLS for a client that knows a pin and nothing else.
pub fn pinned_tls(pin: &Pin) -> Result<ClientConfig, rustls::Error> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let verifier = PinnedCa { pin: pin.clone(), provider: provider.clone() };
    Ok(ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(verifier))
        .with_no_client_auth())
}
