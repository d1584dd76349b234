//! TLS: certificate files that are read again when they change, or a local CA made at first start.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, RwLock};
use std::time::SystemTime;

use base64::Engine as _;
use gpuaas_domain::{Error, Result};
use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair, KeyUsagePurpose, SanType};
use rustls::ServerConfig;
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;
use rustls_pki_types::pem::PemObject as _;
use rustls_pki_types::{CertificateDer, PrivateKeyDer};

use crate::config::{Config, TlsMode, parse_origin};

/// Hands out the current certificate; looks at the files at most once a second.
#[derive(Debug)]
struct Reloading {
    certificate: PathBuf,
    key: PathBuf,
    current: RwLock<Current>,
}

#[derive(Debug)]
struct Current {
    certified: Arc<CertifiedKey>,
    modified: (Option<SystemTime>, Option<SystemTime>),
    looked: std::time::Instant,
}

fn modified(path: &Path) -> Option<SystemTime> {
    std::fs::metadata(path).and_then(|metadata| metadata.modified()).ok()
}

fn tls_error(what: impl std::fmt::Display) -> Error {
    Error::invalid("tls_unusable", format!("TLS cannot be set up: {what}."))
}

fn load(certificate: &Path, key: &Path) -> Result<CertifiedKey> {
    let chain: std::result::Result<Vec<_>, _> = CertificateDer::pem_file_iter(certificate)
        .map_err(|error| tls_error(format!("{}: {error}", certificate.display())))?
        .collect();
    let chain = chain.map_err(|error| tls_error(format!("{}: {error}", certificate.display())))?;
    if chain.is_empty() {
        return Err(tls_error(format!("{} holds no certificate", certificate.display())));
    }
    let private = PrivateKeyDer::from_pem_file(key)
        .map_err(|error| tls_error(format!("{}: {error}", key.display())))?;
    let provider = rustls::crypto::ring::default_provider();
    CertifiedKey::from_der(chain, private, &provider).map_err(tls_error)
}

impl Reloading {
    fn open(certificate: PathBuf, key: PathBuf) -> Result<Self> {
        let certified = Arc::new(load(&certificate, &key)?);
        let modified = (modified(&certificate), modified(&key));
        let current = RwLock::new(Current { certified, modified, looked: std::time::Instant::now() });
        Ok(Self { certificate, key, current })
    }

    fn refresh(&self) {
        let mut current = self.current.write().expect("no holder of the certificate panics");
        if current.looked.elapsed().as_millis() < 1000 {
            return;
        }
        current.looked = std::time::Instant::now();
        let found = (modified(&self.certificate), modified(&self.key));
        if found == current.modified {
            return;
        }
        // A half-written pair does not load: keep the old one and look again in a second.
        match load(&self.certificate, &self.key) {
            Ok(certified) => {
                tracing::info!("the TLS certificate was read again from {}", self.certificate.display());
                current.certified = Arc::new(certified);
                current.modified = found;
            }
            Err(error) => tracing::warn!("the TLS certificate changed but cannot be used yet: {error}"),
        }
    }
}

impl ResolvesServerCert for Reloading {
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        let due = {
            let current = self.current.read().expect("no holder of the certificate panics");
            current.looked.elapsed().as_millis() >= 1000
        };
        if due {
            self.refresh();
        }
        Some(self.current.read().expect("no holder of the certificate panics").certified.clone())
    }
}

/// The TLS side of the listener, or `None` for plain HTTP on loopback.
pub fn server_config(config: &Config) -> Result<Option<Arc<ServerConfig>>> {
    let (certificate, key) = match config.tls.mode {
        TlsMode::Off => return Ok(None),
        TlsMode::Files => (config.tls.certificate_file.clone(), config.tls.key_file.clone()),
        TlsMode::LocalCa => {
            ensure_local_ca(&config.ca_dir(), "server", &public_names(config))?;
            (config.ca_dir().join("server.pem"), config.ca_dir().join("server-key.pem"))
        }
    };
    serving(certificate, key).map(Some)
}

/// Every name the public listener answers to: people's, the registry's, and with one step below all apps'.
fn public_names(config: &Config) -> Vec<String> {
    let mut names = names(config.http.listen.ip(), &config.http.public_url);
    if !config.domain.is_empty() {
        names.extend([config.domain.clone(), format!("registry.{}", config.domain)]);
    }
    let apps = config.apps_authority(&config.public_url(config.http.listen));
    names.extend(apps.and_then(|apps| Some(format!("*.{}", apps.split(':').next()?))));
    names.dedup();
    names
}

/// The TLS side of the listener for nodes: there is always one.
pub fn agents_server_config(config: &Config) -> Result<Arc<ServerConfig>> {
    let agents = &config.agents;
    if !agents.certificate_file.as_os_str().is_empty() {
        return serving(agents.certificate_file.clone(), agents.key_file.clone());
    }
    ensure_agents_certificate(config)?;
    let folder = config.ca_dir();
    serving(folder.join("agents.pem"), folder.join("agents-key.pem"))
}

fn ensure_agents_certificate(config: &Config) -> Result<()> {
    let url = config.agents_url(config.agents.listen);
    let names = names(
        config.agents.listen.ip(),
        if config.domain.is_empty() { &config.agents.public_url } else { &url },
    );
    ensure_local_ca(&config.ca_dir(), "agents", &names)
}

/// What a node has to believe before it is told anything, and afterwards.
#[derive(Clone, Debug)]
pub struct AgentTrust {
    pub ca_pem: String,
    /// SHA-256 of the CA's key, hexadecimal: the last part of a join token.
    pub pin: String,
}

/// The CA that vouches for the listener for nodes: the platform's own, or the last in the configured chain.
pub fn agent_trust(config: &Config) -> Result<AgentTrust> {
    let files = &config.agents.certificate_file;
    let own = config.ca_dir().join("ca.pem");
    let file = if files.as_os_str().is_empty() {
        ensure_agents_certificate(config)?;
        &own
    } else {
        files
    };
    let chain: Vec<_> = CertificateDer::pem_file_iter(file)
        .and_then(Iterator::collect)
        .map_err(|error| tls_error(format!("{}: {error}", file.display())))?;
    let ca = chain.last().ok_or_else(|| tls_error(format!("{} holds no certificate", file.display())))?;
    let pin = gpuaas_tunnel::spki_pin(ca).map_err(tls_error)?;
    Ok(AgentTrust { ca_pem: pem_text(ca), pin })
}

fn pem_text(certificate: &CertificateDer<'_>) -> String {
    let text = base64::engine::general_purpose::STANDARD.encode(certificate);
    let lines: Vec<_> = text.as_bytes().chunks(64).map(String::from_utf8_lossy).collect();
    format!("-----BEGIN CERTIFICATE-----\n{}\n-----END CERTIFICATE-----\n", lines.join("\n"))
}

fn serving(certificate: PathBuf, key: PathBuf) -> Result<Arc<ServerConfig>> {
    let resolver = Reloading::open(certificate, key)?;
    let mut server = ServerConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(tls_error)?
        .with_no_client_auth()
        .with_cert_resolver(Arc::new(resolver));
    server.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(Arc::new(server))
}

fn names(ip: IpAddr, public_url: &str) -> Vec<String> {
    let mut names = vec!["localhost".to_owned()];
    if let Some((_, authority)) = parse_origin(public_url) {
        let host = match authority.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
            Some((ipv6, _)) => ipv6.to_owned(),
            None => authority.split(':').next().unwrap_or_default().to_owned(),
        };
        if !names.contains(&host) {
            names.push(host);
        }
    }
    if !ip.is_unspecified() && !ip.is_loopback() {
        names.push(ip.to_string());
    }
    names
}

fn write_private(path: &Path, text: &str) -> io::Result<()> {
    use std::io::Write as _;
    let mut file =
        std::fs::OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(path)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()
}

/// Makes the CA at the very first start, and a certificate for a listener and its names whenever they change. The CA is
/// shown with it: who knows only the CA's key must see whose key that is.
fn ensure_local_ca(folder: &Path, listener: &str, names: &[String]) -> Result<()> {
    std::fs::create_dir_all(folder).map_err(tls_error)?;
    let (ca_file, ca_key_file) = (folder.join("ca.pem"), folder.join("ca-key.pem"));
    if !ca_file.exists() {
        let key = KeyPair::generate().map_err(tls_error)?;
        let certificate = ca_params().self_signed(&key).map_err(tls_error)?;
        write_private(&ca_key_file, &key.serialize_pem()).map_err(tls_error)?;
        std::fs::write(&ca_file, certificate.pem()).map_err(tls_error)?;
    }
    let wanted = names.join("\n");
    let file = |suffix: &str| folder.join(format!("{listener}{suffix}"));
    let names_file = file("-names.txt");
    let ca = std::fs::read_to_string(&ca_file).map_err(tls_error)?;
    let shown = std::fs::read_to_string(file(".pem")).unwrap_or_default();
    let named = std::fs::read_to_string(&names_file).unwrap_or_default();
    // The CA may be another one than last time: a restore brings its own.
    if shown.ends_with(&ca) && named == wanted {
        return Ok(());
    }
    let ca_key =
        KeyPair::from_pem(&std::fs::read_to_string(&ca_key_file).map_err(tls_error)?).map_err(tls_error)?;
    let issuer = Issuer::new(ca_params(), ca_key);
    let key = KeyPair::generate().map_err(tls_error)?;
    let mut params = CertificateParams::new(Vec::<String>::new()).map_err(tls_error)?;
    params.distinguished_name.push(DnType::CommonName, "GPUaaS server");
    params.subject_alt_names = alternative_names(names)?;
    let certificate = params.signed_by(&key, &issuer).map_err(tls_error)?;
    write_private(&file("-key.pem"), &key.serialize_pem()).map_err(tls_error)?;
    std::fs::write(file(".pem"), certificate.pem() + &ca).map_err(tls_error)?;
    std::fs::write(&names_file, &wanted).map_err(tls_error)
}

fn ca_params() -> CertificateParams {
    let mut params = CertificateParams::default();
    params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    params.distinguished_name = rcgen::DistinguishedName::new();
    params.distinguished_name.push(DnType::CommonName, "GPUaaS local CA");
    params
}

fn alternative_names(names: &[String]) -> Result<Vec<SanType>> {
    let mut all = vec![
        SanType::IpAddress(IpAddr::V4(Ipv4Addr::LOCALHOST)),
        SanType::IpAddress(IpAddr::V6(Ipv6Addr::LOCALHOST)),
    ];
    for name in names {
        all.push(match name.parse::<IpAddr>() {
            Ok(ip) => SanType::IpAddress(ip),
            Err(_) => SanType::DnsName(name.as_str().try_into().map_err(tls_error)?),
        });
    }
    Ok(all)
}

/// How people and machines come to trust the local CA.
pub fn trust_instructions(config: &Config) -> Result<String> {
    if config.tls.mode != TlsMode::LocalCa {
        return Err(Error::invalid("no_local_ca", "The local CA is used with tls.mode = \"local_ca\" only."));
    }
    ensure_local_ca(&config.ca_dir(), "server", &public_names(config))?;
    let file = config.ca_dir().join("ca.pem");
    let file = std::fs::canonicalize(&file).unwrap_or(file);
    let file = file.display();
    Ok(format!(
        "The platform's own CA certificate is {file}\n\n\
         This machine (Debian, Ubuntu), as root:\n  cp {file} /usr/local/share/ca-certificates/gpuaas.crt && update-ca-certificates\n\
         Firefox and Chromium: import the file as an authority in the certificate settings.\n\
         curl: curl --cacert {file} …\n\
         The CLI: gpuaas login --ca-file {file} …\n"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::from_parts;

    fn config(folder: &Path, agents: &str) -> Config {
        from_parts(&format!("data_dir = {:?}\n[agents]\n{agents}", folder.display().to_string()), []).unwrap()
    }

    fn chain(file: &Path) -> Vec<CertificateDer<'static>> {
        CertificateDer::pem_file_iter(file).unwrap().collect::<std::result::Result<_, _>>().unwrap()
    }

    #[test]
    fn nodes_are_shown_the_ca_and_it_stays_when_names_change() {
        let folder = tempfile::tempdir().unwrap();
        let first = agent_trust(&config(folder.path(), "")).unwrap();
        let file = folder.path().join("ca/agents.pem");
        let shown = chain(&file);
        assert_eq!(shown.len(), 2);
        assert_eq!(gpuaas_tunnel::spki_pin(&shown[1]).unwrap(), first.pin);
        let parsed = CertificateDer::from_pem_slice(first.ca_pem.as_bytes()).unwrap();
        assert_eq!(parsed, shown[1]);

        assert_eq!(agent_trust(&config(folder.path(), "")).unwrap().pin, first.pin);
        assert_eq!(chain(&file), shown, "what fits is kept");
        let renamed = config(folder.path(), "public_url = \"https://[2001:db8::1]:8443\"");
        assert_eq!(agent_trust(&renamed).unwrap().pin, first.pin);
        assert_ne!(chain(&file)[0], shown[0]);
        agents_server_config(&renamed).unwrap();
    }

    #[test]
    fn another_ca_brings_another_certificate() {
        let (one, two) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let (ours, theirs) = (config(one.path(), ""), config(two.path(), ""));
        let before = agent_trust(&ours).unwrap().pin;
        let restored = agent_trust(&theirs).unwrap().pin;
        for name in ["ca.pem", "ca-key.pem"] {
            std::fs::copy(two.path().join("ca").join(name), one.path().join("ca").join(name)).unwrap();
        }
        assert_eq!(agent_trust(&ours).unwrap().pin, restored);
        assert_ne!(before, restored);
        let last = chain(&one.path().join("ca/agents.pem")).pop().unwrap();
        assert_eq!(gpuaas_tunnel::spki_pin(&last).unwrap(), restored);
    }

    /// one setting, and the certificate holds the platform's, the registry's and all apps' names.
    #[test]
    fn a_domain_s_certificate_holds_every_name_below_it() {
        let config = crate::config::from_parts("domain = \"gpu.example.org\"", []).unwrap();
        assert_eq!(
            public_names(&config),
            ["localhost", "gpu.example.org", "registry.gpu.example.org", "*.apps.gpu.example.org"]
        );
    }

    #[test]
    fn names_come_from_the_address_people_use() {
        let here = IpAddr::V4(Ipv4Addr::LOCALHOST);
        assert_eq!(names(here, ""), ["localhost"]);
        assert_eq!(names(here, "https://gpu.example.org:8443"), ["localhost", "gpu.example.org"]);
        assert_eq!(names(here, "https://[2001:db8::1]"), ["localhost", "2001:db8::1"]);
        assert_eq!(names("10.0.0.7".parse().unwrap(), ""), ["localhost", "10.0.0.7"]);
    }
}
