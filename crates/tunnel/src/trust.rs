//! Whom the dialling side believes. Before it has joined it knows nothing but the pin of a CA's key; afterwards that CA's
//! certificate is its only root. The checks themselves are rustls' own.

use std::fmt::{self, Write as _};
use std::sync::Arc;

use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, verify_tls12_signature, verify_tls13_signature};
use rustls::server::ParsedCertificate;
use rustls::{
    CertificateError, ClientConfig, DigitallySignedStruct, OtherError, RootCertStore, SignatureScheme,
};
use rustls_pki_types::pem::PemObject as _;
use rustls_pki_types::{CertificateDer, ServerName, UnixTime};

/// SHA-256 of the certificate's SubjectPublicKeyInfo, in hexadecimal: it stays when a CA renews its certificate.
pub fn spki_pin(certificate: &CertificateDer<'_>) -> Result<String, rustls::Error> {
    let parsed = ParsedCertificate::try_from(certificate)?;
    let digest = ring::digest::digest(&ring::digest::SHA256, &parsed.subject_public_key_info());
    let mut pin = String::with_capacity(64);
    for byte in digest.as_ref() {
        let _ = write!(pin, "{byte:02x}");
    }
    Ok(pin)
}

/// The other end did not show a CA with the pinned key.
#[derive(Debug)]
pub struct PinMismatch;

impl fmt::Display for PinMismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the certificate chain holds no CA with the pinned key")
    }
}

impl std::error::Error for PinMismatch {}

/// Accepts a chain that contains the pinned CA, if that CA really signed the leaf and the leaf is for this host.
#[derive(Debug)]
struct PinnedCa {
    pin: String,
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
            .find(|certificate| spki_pin(certificate).is_ok_and(|pin| pin == self.pin))
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

/// For joining: the key of the CA is all that is known.
pub fn client_config_with_pin(pin: &str) -> Result<ClientConfig, rustls::Error> {
    if pin.len() != 64 || !pin.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return Err(rustls::Error::General("a pin is 64 hexadecimal digits".to_owned()));
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let verifier = PinnedCa { pin: pin.to_ascii_lowercase(), provider: provider.clone() };
    Ok(ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(verifier))
        .with_no_client_auth())
}

/// For everything after: what this PEM text holds is all that is believed.
pub fn client_config_with_ca(pem: &str) -> Result<ClientConfig, rustls::Error> {
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_slice_iter(pem.as_bytes()) {
        roots.add(certificate.map_err(|error| rustls::Error::General(error.to_string()))?)?;
    }
    if roots.is_empty() {
        return Err(rustls::Error::General("there is no certificate in the text".to_owned()));
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    Ok(ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .with_root_certificates(roots)
        .with_no_client_auth())
}
