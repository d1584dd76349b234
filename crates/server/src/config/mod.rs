//! One typed configuration: a TOML file, then the environment on top. Unknown keys are refused with the nearest
//! name; secrets are masked when shown.

mod load;
mod reference;

use std::net::SocketAddr;
use std::path::PathBuf;

use gpuaas_control_plane::{LaunchSettings, RegistrySettings};
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
    pub http: Http,
    pub tls: Tls,
    pub agents: Agents,
    pub launch: Launch,
    pub registry: Registry,
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
}

impl Default for Launch {
    fn default() -> Self {
        let launch = LaunchSettings::default();
        Self {
            tenant_boundary: launch.boundary,
            dispatch_deadline_seconds: launch.dispatch_deadline_seconds,
            release_deadline_seconds: launch.release_deadline_seconds,
            task_key_overlap_seconds: launch.task_key_overlap_seconds,
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
            ..LaunchSettings::default()
        }
    }
}

#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Registry {
    /// What stands in image references, as in registry.example.org. Empty: host and port of `http.public_url`.
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
    /// Wrong passwords for one account in ten minutes before it must wait.
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
            http: Http::default(),
            tls: Tls::default(),
            agents: Agents::default(),
            launch: Launch::default(),
            registry: Registry::default(),
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
        if self.http.public_url.is_empty() {
            format!("{}://{bound}", self.scheme())
        } else {
            self.http.public_url.trim_end_matches('/').to_owned()
        }
    }

    /// The address nodes dial, known once their listener has its port.
    pub fn agents_url(&self, bound: SocketAddr) -> String {
        if self.agents.public_url.is_empty() {
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
