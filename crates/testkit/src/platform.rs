//! The platform itself.

use std::sync::Arc;
use std::time::Duration;

use gpuaas_api::Route;
use gpuaas_control_plane::operations::bootstrap;
use gpuaas_control_plane::reconcilers::dispatch::Dispatcher;
use gpuaas_control_plane::reconcilers::{erasure, housekeeping, sequencer, upkeep};
use gpuaas_control_plane::{Clock as _, ControlPlane};
use gpuaas_custody::SystemEntropy;
use gpuaas_domain::text::Email;
use gpuaas_server::config::{Config, from_parts};
use gpuaas_server::roles::{self, Running};
use gpuaas_store::Store;
use serde_json::json;

use crate::{Caller, Database, KeyPair, MovableClock, TestDatabase};

const OWNER: &str = "test";
const REGISTRY: &str = "registry.example.org";

pub struct TestPlatform {
    pub running: Running,
    pub clock: Arc<MovableClock>,
    pub admin: Caller,
    pub admin_email: String,
    pub admin_password: String,
    pub database: TestDatabase,
    pub kind: Database,
    /// The loops turn on their own, as in the real server.
    serving: bool,
    dispatcher: tokio::sync::Mutex<Dispatcher>,
}

/// A tenant with a project, and their ids.
#[derive(Clone, Debug)]
pub struct Home {
    pub tenant: String,
    pub project: String,
}

impl TestPlatform {
    pub async fn start(kind: Database) -> Self {
        Self::start_with(kind, "").await
    }

    /// `extra` is TOML on top of the test's defaults.
    pub async fn start_with(kind: Database, extra: &str) -> Self {
        Self::start_full(kind, extra, &named(REGISTRY), false).await
    }

    /// `registry` is TOML of that section.
    pub async fn start_registry(kind: Database, registry: &str) -> Self {
        Self::start_full(kind, "", registry, false).await
    }

    /// With all roles and their loops as the real server has them; nothing is left to turn by hand.
    pub async fn start_serving(kind: Database, extra: &str) -> Self {
        Self::start_full(kind, extra, &named(REGISTRY), true).await
    }

    async fn start_full(kind: Database, extra: &str, registry: &str, serving: bool) -> Self {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let database = TestDatabase::create(kind).await;
        let running = Self::open(&database, extra, registry, serving, Arc::default()).await;
        let (running, clock) = running;
        let email = Email::parse("admin@example.org").expect("an address");
        let password =
            bootstrap::ensure_admin(&running.plane, &email).await.expect("an admin").expect("made just now");
        let anonymous = Caller::new(&running.public_url);
        let admin_password = password.expose().clone();
        let admin = sign_in(&anonymous, email.as_str(), &admin_password).await;
        Self {
            running,
            clock,
            admin,
            admin_email: email.to_string(),
            admin_password,
            database,
            kind,
            serving,
            dispatcher: tokio::sync::Mutex::default(),
        }
    }

    async fn open(
        database: &TestDatabase,
        extra: &str,
        registry: &str,
        serving: bool,
        clock: Arc<MovableClock>,
    ) -> (Running, Arc<MovableClock>) {
        let config = config(database, extra, registry);
        let opened = roles::open_with(&config, clock.clone(), Arc::new(SystemEntropy::new()))
            .await
            .expect("the platform opens");
        let started = if serving {
            roles::start(&config, opened).await
        } else {
            roles::start_api(&config, opened).await
        };
        (started.expect("the platform starts"), clock)
    }

    /// Stopped and started on the same data, with other settings of the registry in TOML. The address is another one.
    #[must_use]
    pub async fn restarted(self, registry: &str) -> Self {
        self.running.tasks.stop(Duration::from_secs(5)).await;
        self.running.plane.store.close().await;
        let (running, clock) = Self::open(&self.database, "", registry, self.serving, self.clock).await;
        let admin = self.admin.at(&running.public_url);
        Self { running, clock, admin, dispatcher: tokio::sync::Mutex::default(), ..self }
    }

    /// A platform of its own whose registry has another name.
    pub async fn with_registry(self, host: &str) -> Self {
        let (kind, serving) = (self.kind, self.serving);
        self.stop().await;
        Self::start_full(kind, "", &named(host), serving).await
    }

    pub fn plane(&self) -> &Arc<ControlPlane> {
        &self.running.plane
    }

    pub fn store(&self) -> &Store {
        &self.running.plane.store
    }

    pub fn anonymous(&self) -> Caller {
        self.admin.stranger()
    }

    pub fn platform_id(&self) -> String {
        self.plane().platform_id.to_string()
    }

    pub fn now_seconds(&self) -> i64 {
        self.clock.now().unix_seconds()
    }

    /// Turns every loop until none has anything to do.
    pub async fn settle(&self) {
        if self.serving {
            return;
        }
        loop {
            let numbered = sequencer::tick(self.plane(), OWNER).await.expect("the sequencer turns");
            let erased = erasure::tick(self.plane(), OWNER).await.expect("the erasure turns");
            let kept = upkeep::tick(self.plane()).await.expect("the upkeep turns");
            let sent =
                self.dispatcher.lock().await.tick(self.plane(), OWNER).await.expect("the dispatcher turns");
            if numbered.idle() && erased.idle() && kept.idle() && sent.idle() {
                break;
            }
        }
    }

    /// Turns the loops until something holds. Nodes work on their own time, so this looks again and again.
    pub async fn until(&self, what: &str, mut holds: impl AsyncFnMut() -> bool) {
        let begun = std::time::Instant::now();
        loop {
            self.settle().await;
            if holds().await {
                return;
            }
            assert!(begun.elapsed() < Duration::from_secs(30), "waited in vain: {what}");
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }

    pub async fn sweep(&self) {
        housekeeping::tick(self.plane()).await.expect("housekeeping turns");
    }

    /// A tenant and a project with slugs made from `name`.
    pub async fn home(&self, name: &str) -> Home {
        let tenant = self.admin.create_tenant(name).await;
        let project = self.admin.create_project(&tenant, &format!("{name}-lab")).await;
        Home { tenant, project }
    }

    /// A person without any role, signed in. Returns their id too.
    pub async fn person(&self, name: &str) -> (Caller, String) {
        let email = format!("{name}@example.org");
        let body = json!({"email": email, "password": "correct horse battery"});
        let id = self.admin.call(Route::UserCreate, &[], Some(&body)).await.expect(201).id();
        (sign_in(&self.anonymous(), &email, "correct horse battery").await, id)
    }

    /// A person with one role at one place: no ids for the platform, a tenant's, or a project's.
    pub async fn member(&self, name: &str, role: &str, at: Place<'_>) -> (Caller, String) {
        let (caller, id) = self.person(name).await;
        let body = json!({"role": role, "user_id": id});
        let (route, parameters) = match at {
            Place::Platform => (Route::PlatformBindingCreate, vec![]),
            Place::Tenant(tenant) => (Route::TenantBindingCreate, vec![tenant]),
            Place::Project(project) => (Route::ProjectBindingCreate, vec![project]),
        };
        self.admin.call(route, &parameters, Some(&body)).await.expect(201);
        (caller, id)
    }

    /// An access token of a machine, got the way machines get it.
    pub async fn machine(&self, account: &str, pair: &KeyPair) -> Caller {
        let assertion = pair.sign(&pair.assertion(account, &self.platform_id(), self.now_seconds()));
        let body = json!({ "assertion": assertion });
        let answer = self.anonymous().call(Route::ServiceAccountToken, &[], Some(&body)).await.expect(200);
        self.anonymous().with_bearer(answer.body["access_token"].as_str().expect("a token"))
    }

    pub async fn stop(self) {
        self.running.tasks.stop(Duration::from_secs(5)).await;
        self.running.plane.store.close().await;
    }
}

#[derive(Clone, Copy, Debug)]
pub enum Place<'a> {
    Platform,
    Tenant(&'a str),
    Project(&'a str),
}

fn named(host: &str) -> String {
    format!("host = {host:?}")
}

fn config(database: &TestDatabase, extra: &str, registry: &str) -> Config {
    // An `extra` may begin with limits of its own.
    let credentials =
        if extra.starts_with("credentials_per_second") { "" } else { "credentials_per_second = 100000\n" };
    let text = format!(
        "data_dir = {:?}\n[http]\nlisten = \"127.0.0.1:0\"\n[agents]\nlisten = \"127.0.0.1:0\"\n[registry]\n{registry}\n[database]\nurl = {:?}\nmax_connections = 12\n\
         [limits]\nreads_per_second = 100000\nwrites_per_second = 100000\n{credentials}{extra}",
        database.folder().join("data").display().to_string(),
        database.url,
    );
    from_parts(&text, []).expect("the test's configuration is valid")
}

/// Signs in with a password and gets a personal token, as the CLI does.
pub(crate) async fn sign_in(anonymous: &Caller, email: &str, password: &str) -> Caller {
    let answer = anonymous
        .call(Route::Login, &[], Some(&json!({"email": email, "password": password})))
        .await
        .expect(200);
    let cookie = answer
        .header("set-cookie")
        .and_then(|text| text.split(';').next())
        .expect("a session cookie")
        .to_owned();
    let session = anonymous.clone().with_header("cookie", &cookie).with_header("origin", anonymous.url());
    let answer = session.call(Route::TokenCreate, &[], Some(&json!({"name": "test"}))).await.expect(201);
    anonymous.clone().with_bearer(answer.body["secret"].as_str().expect("a token"))
}
