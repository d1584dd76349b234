//! One typed configuration: a TOML file, then the environment on top. Unknown keys are refused with the nearest
//! name; secrets are masked when shown.

mod load;
mod reference;

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::PathBuf;

use gpuaas_control_plane::operations::access::GatewaySettings;
use gpuaas_control_plane::{LaunchSettings, RegistrySettings};
use gpuaas_domain::access::PublicAccess;
use gpuaas_domain::allocation::BoundaryMode;
use gpuaas_domain::artifact::{Channels, RegistryNames, TrustMode};
use gpuaas_domain::{Error, FieldError, Result, Secret};
use schemars::JsonSchema;
use serde::Deserialize;

pub use load::{faults, from_parts, load};
pub use reference::{reference, show};

/// Everything an operator can set.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// Where the platform keeps its files: database (SQLite), master key, local CA.
    pub data_dir: PathBuf,
    /// The domain all public names come from: the platform at <domain>, the registry at registry.<domain>, nodes at
    /// nodes.<domain>, each app at <label>.apps.<domain>. Empty: names come from `http.listen`, for one machine.
    pub domain: String,
    pub http: Http,
    pub tls: Tls,
    pub agents: Agents,
    pub launch: Launch,
    pub registry: Registry,
    pub gateway: Gateway,
    pub database: Database,
    pub auth: Auth,
    pub limits: Limits,
    pub log: Log,
}

#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Http {
    /// Address and port of the public listener. Port 0 takes a free one. Without TLS only loopback is allowed.
    #[schemars(with = "String")]
    pub listen: SocketAddr,
    /// The address people and machines use; links and the Origin check are made from it. Derived from `listen`
    /// when empty.
    pub public_url: String,
    /// Seconds a client may take to send its headers.
    #[schemars(range(min = 1, max = 300))]
    pub header_timeout_seconds: u64,
    /// Seconds a request may take, streams aside.
    #[schemars(range(min = 1, max = 3600))]
    pub request_timeout_seconds: u64,
    /// Seconds to finish what is under way after a stop signal.
    #[schemars(range(min = 0, max = 600))]
    pub shutdown_seconds: u64,
    /// Connections open at once.
    #[schemars(range(min = 1, max = 1_000_000))]
    pub max_connections: usize,
    /// Of these, connections of one address. 0: a quarter, but all for this machine's own, where a reverse proxy may be.
    #[schemars(range(min = 0, max = 1_000_000))]
    pub max_connections_per_address: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TlsMode {
    /// Plain HTTP; only on loopback.
    Off,
    /// Certificate and key from files, read again when they change.
    Files,
    /// A certificate of the platform's own CA, made at first start; see `gpuaas-server tls trust`.
    LocalCa,
}

#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Tls {
    /// Plain HTTP on loopback, certificate files, or the platform's own CA.
    pub mode: TlsMode,
    /// PEM file with the certificate chain (mode `files`).
    pub certificate_file: PathBuf,
    /// PEM file with the private key (mode `files`).
    pub key_file: PathBuf,
}

#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Agents {
    /// Address and port of the listener for nodes, always TLS. Port 0 takes a free one.
    #[schemars(with = "String")]
    pub listen: SocketAddr,
    /// The address nodes dial. Derived from `listen` when empty.
    pub public_url: String,
    /// PEM file with the certificate chain for nodes, the CA last. Empty: a certificate of the platform's own CA.
    pub certificate_file: PathBuf,
    /// PEM file with the private key for it.
    pub key_file: PathBuf,
}

#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Launch {
    /// Whether a node may serve two tenants: `dedicated_node` (never) or `dedicated_device` (each on its own GPUs).
    pub tenant_boundary: BoundaryMode,
    /// Seconds a launch may wait for its node.
    #[schemars(range(min = 1, max = 86_400))]
    pub dispatch_deadline_seconds: i64,
    /// Seconds a release waits for what runs before it is ended without the node's word.
    #[schemars(range(min = 1, max = 604_800))]
    pub release_deadline_seconds: i64,
    /// Seconds that nodes accept orders signed with a retired key.
    #[schemars(range(min = 60, max = 86_400))]
    pub task_key_overlap_seconds: i64,
    /// Values that launch forms begin with instead of the app's own, by app and parameter. A project's default preset stands
    /// before them.
    pub defaults: BTreeMap<String, serde_json::Map<String, serde_json::Value>>,
}

impl Default for Launch {
    fn default() -> Self {
        let launch = LaunchSettings::default();
        Self {
            tenant_boundary: launch.boundary,
            dispatch_deadline_seconds: launch.dispatch_deadline_seconds,
            release_deadline_seconds: launch.release_deadline_seconds,
            task_key_overlap_seconds: launch.task_key_overlap_seconds,
            defaults: launch.defaults,
        }
    }
}

impl Launch {
    pub fn settings(&self) -> LaunchSettings {
        LaunchSettings {
            boundary: self.tenant_boundary,
            dispatch_deadline_seconds: self.dispatch_deadline_seconds,
            release_deadline_seconds: self.release_deadline_seconds,
            task_key_overlap_seconds: self.task_key_overlap_seconds,
            defaults: self.defaults.clone(),
            ..LaunchSettings::default()
        }
    }
}

#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Registry {
    /// What stands in image references, as in registry.example.org. Empty: registry.<domain>, or without a domain host and port
    /// of `http.public_url`.
    pub host: String,
    /// Other hosts in references that mean this registry, with spaces between: names it had before.
    pub also: String,
    /// Folder of all repositories: <root>/<project>/<app>.
    pub root: String,
    /// Repositories, or folders of them, that images may come from, with spaces between. Empty: all below the root. No role
    /// widens it.
    pub allowed: String,
    /// Another registry that speaks the distribution protocol and believes this platform's tokens. Empty: the built-in one.
    pub url: String,
    /// Life of a token for the registry.
    #[schemars(range(min = 60, max = 900))]
    pub token_ttl_seconds: i64,
    /// Channels in the order of promotion, with spaces between.
    pub channels: String,
    /// The channel that counts on this platform.
    pub environment: String,
    /// Channels that a service account may promote to, with spaces between.
    pub machine_channels: String,
    /// Whether an image without a good signature is refused. `warn` is for a platform marked local.
    pub trust: TrustMode,
    /// This platform is one machine's own, for trying things out. Only then may `trust` be `warn`.
    pub local: bool,
    /// Whether a signature that names no repository counts, as cosign 3 makes them. Such a signature is good for the same
    /// digest in every repository.
    pub accept_unnamed: bool,
}

impl Default for Registry {
    fn default() -> Self {
        let settings = RegistrySettings::default();
        Self {
            host: settings.names.host,
            also: String::new(),
            root: settings.names.root,
            allowed: String::new(),
            url: String::new(),
            token_ttl_seconds: settings.token_ttl_seconds,
            channels: settings.channels.order().join(" "),
            environment: settings.channels.environment().to_owned(),
            machine_channels: "dev".to_owned(),
            trust: settings.trust,
            local: false,
            accept_unnamed: settings.accept_unnamed,
        }
    }
}

impl Registry {
    /// The settings as parts, or what is wrong with them.
    pub fn settings(&self) -> std::result::Result<RegistrySettings, FieldError> {
        let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        let names = RegistryNames {
            host: self.host.clone(),
            also: words(&self.also),
            root: self.root.clone(),
            allowed: words(&self.allowed),
        };
        let fault =
            |path: &str, why: &str| FieldError::new(path, "invalid_value", format!("This cannot be: {why}."));
        names.check().map_err(|why| fault("/registry", why))?;
        let channels =
            Channels::new(words(&self.channels), self.environment.clone(), words(&self.machine_channels))
                .map_err(|why| fault("/registry/channels", why))?;
        if self.trust == TrustMode::Warn && !self.local {
            return Err(fault(
                "/registry/trust",
                "only a platform marked registry.local may warn instead of refusing",
            ));
        }
        if !(60..=900).contains(&self.token_ttl_seconds) {
            return Err(FieldError::new(
                "/registry/token_ttl_seconds",
                "out_of_range",
                "Use a number from 60 to 900.",
            ));
        }
        if !self.url.is_empty() && parse_origin(&self.url).is_none() {
            return Err(fault("/registry/url", "use http(s)://host[:port]"));
        }
        if !self.url.is_empty() && self.host.is_empty() {
            return Err(fault("/registry/host", "another registry needs its name here"));
        }
        Ok(RegistrySettings {
            names,
            external_url: (!self.url.is_empty()).then(|| self.url.trim_end_matches('/').to_owned()),
            token_ttl_seconds: self.token_ttl_seconds,
            channels,
            trust: self.trust,
            accept_unnamed: self.accept_unnamed,
        })
    }
}

#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Gateway {
    /// Each endpoint of an app has its own name below this domain, with the port of `http.public_url` unless one is said.
    /// Empty: apps.<host of public_url>, and apps.localhost on loopback. It needs a wildcard entry in DNS.
    pub apps_domain: String,
    /// The most that an endpoint may be open to people without an account: off, api_key or open.
    pub public_access: PublicAccess,
    /// Life of a person's session with one app; it ends with the browser session it came from in any case.
    #[schemars(range(min = 60, max = 604_800))]
    pub session_ttl_seconds: i64,
    /// Life of the one-use code that opens an app.
    #[schemars(range(min = 10, max = 300))]
    pub code_ttl_seconds: i64,
}

impl Default for Gateway {
    fn default() -> Self {
        let settings = GatewaySettings::default();
        Self {
            apps_domain: String::new(),
            public_access: settings.public_ceiling,
            session_ttl_seconds: settings.session_ttl_seconds,
            code_ttl_seconds: settings.code_ttl_seconds,
        }
    }
}

impl Gateway {
    pub fn settings(&self) -> GatewaySettings {
        GatewaySettings {
            public_ceiling: self.public_access,
            code_ttl_seconds: self.code_ttl_seconds,
            session_ttl_seconds: self.session_ttl_seconds,
        }
    }
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Database {
    /// `sqlite:PATH` or `postgres://user:password@host/name`. Empty: a SQLite file in the data folder.
    pub url: Secret<String>,
    /// Connections in the pool.
    #[schemars(range(min = 2, max = 500))]
    pub max_connections: u32,
    /// Bring the schema up to date at start. Off: refuse to start until `gpuaas-server db migrate` ran.
    pub auto_migrate: bool,
}

#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Auth {
    /// Life of a machine's access token.
    #[schemars(range(min = 1, max = 900))]
    pub service_account_token_ttl_seconds: u32,
    /// Life of a browser session.
    #[schemars(range(min = 60, max = 604_800))]
    pub session_ttl_seconds: i64,
    /// Life of a one-time sign-in link.
    #[schemars(range(min = 10, max = 86_400))]
    pub login_link_ttl_seconds: i64,
    /// Life of a wrapped value.
    #[schemars(range(min = 10, max = 604_800))]
    pub wrap_ttl_seconds: i64,
}

#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Limits {
    /// Reading calls per second of one caller.
    #[schemars(range(min = 1, max = 1_000_000))]
    pub reads_per_second: u32,
    /// Changing calls per second of one caller.
    #[schemars(range(min = 1, max = 1_000_000))]
    pub writes_per_second: u32,
    /// Sign-in and token calls per second from one address.
    #[schemars(range(min = 1, max = 1_000_000))]
    pub credentials_per_second: u32,
    /// Wrong passwords for one account from one address in ten minutes before it must wait; from everywhere together ten
    /// times as many.
    #[schemars(range(min = 1, max = 1_000_000))]
    pub wrong_passwords: u32,
    /// Event streams open at once.
    #[schemars(range(min = 1, max = 1_000_000))]
    pub max_streams: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LogLevel {
    Error,
    Warn,
    Info,
    Debug,
    Trace,
}

#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Log {
    /// The least level written; logs are lines of JSON on standard error.
    pub level: LogLevel,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            data_dir: PathBuf::from(".gpuaas"),
            domain: String::new(),
            http: Http::default(),
            tls: Tls::default(),
            agents: Agents::default(),
            launch: Launch::default(),
            registry: Registry::default(),
            gateway: Gateway::default(),
            database: Database::default(),
            auth: Auth::default(),
            limits: Limits::default(),
            log: Log::default(),
        }
    }
}

impl Default for Http {
    fn default() -> Self {
        Self {
            listen: SocketAddr::from(([127, 0, 0, 1], 8080)),
            public_url: String::new(),
            header_timeout_seconds: 15,
            request_timeout_seconds: 60,
            shutdown_seconds: 15,
            max_connections: 20_000,
            max_connections_per_address: 0,
        }
    }
}

impl Default for Tls {
    fn default() -> Self {
        Self { mode: TlsMode::Off, certificate_file: PathBuf::new(), key_file: PathBuf::new() }
    }
}

impl Default for Agents {
    fn default() -> Self {
        Self {
            listen: SocketAddr::from(([127, 0, 0, 1], 8443)),
            public_url: String::new(),
            certificate_file: PathBuf::new(),
            key_file: PathBuf::new(),
        }
    }
}

impl Default for Database {
    fn default() -> Self {
        Self { url: Secret::new(String::new()), max_connections: 16, auto_migrate: true }
    }
}

impl Default for Auth {
    fn default() -> Self {
        Self {
            service_account_token_ttl_seconds: 900,
            session_ttl_seconds: 12 * 60 * 60,
            login_link_ttl_seconds: 15 * 60,
            wrap_ttl_seconds: 60 * 60,
        }
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            reads_per_second: 2_000,
            writes_per_second: 1_000,
            credentials_per_second: 20,
            wrong_passwords: 10,
            max_streams: 10_000,
        }
    }
}

impl Default for Log {
    fn default() -> Self {
        Self { level: LogLevel::Info }
    }
}

impl LogLevel {
    pub fn name(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Warn => "warn",
            Self::Info => "info",
            Self::Debug => "debug",
            Self::Trace => "trace",
        }
    }
}

impl Config {
    /// What types alone cannot say.
    pub fn check(&self) -> Result<()> {
        let mut wrong = Vec::new();
        let mut range = |path: &str, value: i64, least: i64, most: i64| {
            if !(least..=most).contains(&value) {
                wrong.push(FieldError::new(
                    path,
                    "out_of_range",
                    format!("Use a number from {least} to {most}."),
                ));
            }
        };
        range(
            "/auth/service_account_token_ttl_seconds",
            i64::from(self.auth.service_account_token_ttl_seconds),
            1,
            900,
        );
        range("/auth/session_ttl_seconds", self.auth.session_ttl_seconds, 60, 604_800);
        range("/auth/login_link_ttl_seconds", self.auth.login_link_ttl_seconds, 10, 86_400);
        range("/auth/wrap_ttl_seconds", self.auth.wrap_ttl_seconds, 10, 604_800);
        range("/gateway/session_ttl_seconds", self.gateway.session_ttl_seconds, 60, 604_800);
        range("/gateway/code_ttl_seconds", self.gateway.code_ttl_seconds, 10, 300);
        range("/database/max_connections", i64::from(self.database.max_connections), 2, 500);
        for (path, value) in [
            ("/limits/reads_per_second", self.limits.reads_per_second),
            ("/limits/writes_per_second", self.limits.writes_per_second),
            ("/limits/credentials_per_second", self.limits.credentials_per_second),
            ("/limits/wrong_passwords", self.limits.wrong_passwords),
        ] {
            range(path, i64::from(value), 1, 1_000_000);
        }
        for (path, value, least, most) in [
            ("/http/header_timeout_seconds", self.http.header_timeout_seconds, 1, 300),
            ("/http/request_timeout_seconds", self.http.request_timeout_seconds, 1, 3600),
            ("/http/shutdown_seconds", self.http.shutdown_seconds, 0, 600),
            ("/http/max_connections", self.http.max_connections as u64, 1, 1_000_000),
            ("/http/max_connections_per_address", self.http.max_connections_per_address as u64, 0, 1_000_000),
            ("/limits/max_streams", self.limits.max_streams as u64, 1, 1_000_000),
        ] {
            range(path, i64::try_from(value).unwrap_or(i64::MAX), least, most);
        }
        if self.tls.mode == TlsMode::Off && !self.http.listen.ip().is_loopback() {
            wrong.push(FieldError::new(
                "/tls/mode",
                "plain_http_beyond_loopback",
                "Plain HTTP is served on loopback only; set tls.mode to files or local_ca.",
            ));
        }
        if self.tls.mode == TlsMode::Files {
            for (path, file) in
                [("/tls/certificate_file", &self.tls.certificate_file), ("/tls/key_file", &self.tls.key_file)]
            {
                if file.as_os_str().is_empty() {
                    wrong.push(FieldError::new(path, "missing", "Mode files needs this file."));
                }
            }
        }
        if !self.http.public_url.is_empty() && parse_origin(&self.http.public_url).is_none() {
            wrong.push(FieldError::new(
                "/http/public_url",
                "invalid_url",
                "Use scheme, host and port only, as in https://gpu.example.org.",
            ));
        }
        for (path, name) in [("/domain", &self.domain), ("/gateway/apps_domain", &self.gateway.apps_domain)] {
            if !name.is_empty() && !is_domain(name, path == "/gateway/apps_domain") {
                wrong.push(FieldError::new(
                    path,
                    "invalid_domain",
                    "Use a domain name in lower case, as in gpu.example.org.",
                ));
            }
        }
        self.agents.validate(&mut wrong);
        if let Err(fault) = self.registry.settings() {
            wrong.push(fault);
        }
        let url = self.database.url.expose();
        if !url.is_empty()
            && !["sqlite:", "postgres://", "postgresql://"].iter().any(|start| url.starts_with(start))
        {
            wrong.push(FieldError::new("/database/url", "invalid_url", "Use sqlite:PATH or postgres://…."));
        }
        if wrong.is_empty() { Ok(()) } else { Err(Error::fields(wrong)) }
    }

    pub fn scheme(&self) -> &'static str {
        if self.tls.mode == TlsMode::Off { "http" } else { "https" }
    }

    /// The address others use, known once the listener has its port.
    pub fn public_url(&self, bound: SocketAddr) -> String {
        if !self.http.public_url.is_empty() {
            return self.http.public_url.trim_end_matches('/').to_owned();
        }
        if self.domain.is_empty() {
            return format!("{}://{bound}", self.scheme());
        }
        format!("{}://{}{}", self.scheme(), self.domain, self.port_part(bound.port()))
    }

    /// `:port`, unless it is the scheme's own.
    fn port_part(&self, port: u16) -> String {
        let own = if self.scheme() == "https" { 443 } else { 80 };
        if port == own { String::new() } else { format!(":{port}") }
    }

    /// What the names of apps end with, host and port; `None` where the platform has no name to put one below.
    pub fn apps_authority(&self, public_url: &str) -> Option<String> {
        let (_, authority) = parse_origin(public_url)?;
        let (host, port) = match authority.rsplit_once(':') {
            Some((host, port)) if port.bytes().all(|b| b.is_ascii_digit()) => (host, format!(":{port}")),
            _ => (authority.as_str(), String::new()),
        };
        let set = self.gateway.apps_domain.as_str();
        if set.contains(':') {
            return Some(set.to_owned());
        }
        let address = host.trim_start_matches('[').trim_end_matches(']').parse::<std::net::IpAddr>();
        let domain = match (set, address) {
            ("", Ok(address)) if address.is_loopback() => "apps.localhost".to_owned(),
            ("", Ok(_)) => return None,
            ("", Err(_)) => format!("apps.{host}"),
            (set, _) => set.to_owned(),
        };
        Some(format!("{domain}{port}"))
    }

    /// Where browsers should meet the platform: on loopback by the name that is one site with the apps, so that apps inside
    /// its pages keep what they store also where browsers keep nothing for other sites.
    pub fn browser_url(&self, public_url: &str) -> String {
        let own = parse_origin(public_url).and_then(|(scheme, authority)| {
            let (host, port) = authority.rsplit_once(':')?;
            let loopback = matches!(host, "127.0.0.1" | "localhost" | "[::1]");
            (loopback && self.gateway.apps_domain.is_empty())
                .then(|| format!("{scheme}://{LOOPBACK_PORTAL}:{port}"))
        });
        own.unwrap_or_else(|| public_url.to_owned())
    }

    /// What the registry is called where it has a name of its own.
    pub fn registry_host(&self, port: u16) -> String {
        if self.registry.host.is_empty() && !self.domain.is_empty() && self.registry.url.is_empty() {
            return format!("registry.{}{}", self.domain, self.port_part(port));
        }
        self.registry.host.clone()
    }

    /// The address nodes dial, known once their listener has its port.
    pub fn agents_url(&self, bound: SocketAddr) -> String {
        if self.agents.public_url.is_empty() && !self.domain.is_empty() {
            format!("https://nodes.{}:{}", self.domain, bound.port())
        } else if self.agents.public_url.is_empty() {
            format!("https://{bound}")
        } else {
            self.agents.public_url.trim_end_matches('/').to_owned()
        }
    }

    pub fn database_url(&self) -> Secret<String> {
        if self.database.url.expose().is_empty() {
            return Secret::new(format!("sqlite:{}", self.data_dir.join("gpuaas.db").display()));
        }
        Secret::new(self.database.url.expose().clone())
    }

    pub fn master_key_file(&self) -> PathBuf {
        self.data_dir.join("master-key.json")
    }

    pub fn registry_dir(&self) -> PathBuf {
        self.data_dir.join("registry")
    }

    pub fn ca_dir(&self) -> PathBuf {
        self.data_dir.join("ca")
    }
}

impl Agents {
    fn validate(&self, wrong: &mut Vec<FieldError>) {
        let url = &self.public_url;
        if !url.is_empty() && parse_origin(url).is_none_or(|(scheme, _)| scheme != "https") {
            wrong.push(FieldError::new(
                "/agents/public_url",
                "invalid_url",
                "Use https, host and port only, as in https://nodes.example.org:8443.",
            ));
        }
        let (certificate, key) = (self.certificate_file.as_os_str(), self.key_file.as_os_str());
        for (path, file, other) in
            [("/agents/certificate_file", certificate, key), ("/agents/key_file", key, certificate)]
        {
            if file.is_empty() && !other.is_empty() {
                wrong.push(FieldError::new(
                    path,
                    "missing",
                    "A certificate needs its key, a key its certificate.",
                ));
            }
        }
    }
}

/// The platform's own pages on loopback, beside the apps: browsers find every name below localhost by themselves.
pub(crate) const LOOPBACK_PORTAL: &str = "portal.apps.localhost";

/// A name in lower case, perhaps with a port.
fn is_domain(text: &str, with_port: bool) -> bool {
    let (host, port) = text.split_once(':').unwrap_or((text, "1"));
    let label = |part: &str| {
        (1..=63).contains(&part.len())
            && !part.starts_with('-')
            && !part.ends_with('-')
            && part.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-')
    };
    host.len() <= 200
        && host.split('.').all(label)
        && (with_port || !text.contains(':'))
        && port.parse::<u16>().is_ok_and(|port| port > 0)
}

/// `scheme://host[:port]` and nothing more.
pub(crate) fn parse_origin(url: &str) -> Option<(String, String)> {
    let (scheme, rest) = url.split_once("://")?;
    let authority = rest.trim_end_matches('/');
    let clean = !authority.is_empty()
        && authority
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'-' | b':' | b'[' | b']'));
    (clean && matches!(scheme, "http" | "https")).then(|| (scheme.to_owned(), authority.to_lowercase()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(text: &str) -> Config {
        from_parts(text, []).expect("a configuration")
    }

    /// all public names come from one domain; without one they are this machine's.
    #[test]
    fn all_names_come_from_one_domain() {
        let bound = |port| SocketAddr::from(([127, 0, 0, 1], port));
        let one = config("domain = \"gpu.example.org\"\n[tls]\nmode = \"local_ca\"");
        let url = one.public_url(bound(443));
        assert_eq!(url, "https://gpu.example.org");
        assert_eq!(one.apps_authority(&url).as_deref(), Some("apps.gpu.example.org"));
        assert_eq!(one.registry_host(443), "registry.gpu.example.org");
        assert_eq!(one.agents_url(bound(8443)), "https://nodes.gpu.example.org:8443");
        assert_eq!(one.browser_url(&url), url, "a real name is what browsers use");

        let url = one.public_url(bound(8080));
        assert_eq!(url, "https://gpu.example.org:8080", "another port is part of every name");
        assert_eq!(one.apps_authority(&url).as_deref(), Some("apps.gpu.example.org:8080"));

        let own = config(
            "[gateway]\napps_domain = \"apps.example.net\"\n[http]\npublic_url = \"https://gpu.example.org\"",
        );
        assert_eq!(own.apps_authority("https://gpu.example.org").as_deref(), Some("apps.example.net"));

        let here = Config::default();
        let url = here.public_url(bound(8080));
        assert_eq!(here.apps_authority(&url).as_deref(), Some("apps.localhost:8080"));
        assert_eq!(here.browser_url(&url), "http://portal.apps.localhost:8080");
        assert_eq!(here.apps_authority("https://10.0.0.7:8443"), None, "an address has no names below it");
    }

    #[test]
    fn what_is_no_domain_is_refused_at_its_place() {
        for bad in
            ["GPU.example.org", "gpu..org", "-gpu.org", "https://gpu.org", "gpu.org:443", "gpu_org", "a b"]
        {
            let refused = from_parts(&format!("domain = {bad:?}"), []).err().expect(bad);
            assert_eq!(refused.field_errors()[0].path, "/domain", "{bad}");
        }
    }
}
