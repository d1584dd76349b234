//! A platform that knows a few tokens, and a node that does as it is told.

use std::collections::HashMap;
use std::convert::Infallible;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use gpuaas_agent_protocol::link::{self, Accepted, Refused};
use gpuaas_agent_protocol::task::{Refusal, SignedTask};
use gpuaas_control_plane::SystemClock;
use gpuaas_custody::SystemEntropy;
use gpuaas_domain::ids::NodeId;
use gpuaas_domain::{Error, Result};
use gpuaas_server::agents::{CONTROL_PATH, DATA_PATH, GateCall, Links, NodeGate};
use gpuaas_server::config::from_parts;
use gpuaas_server::roles::{self, Running};
use gpuaas_testkit::{Database, MovableClock, TestDatabase};
use gpuaas_tunnel::{Error as TunnelError, KeepAlive, Scope, client_config_with_ca, dial, serve, splice};
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt as _, Full, StreamBody};
use hyper::body::{Bytes, Frame, Incoming};
use hyper::service::service_fn;
use hyper::{Method, Request, Response};
use serde_json::json;
use tokio::sync::mpsc;
use uuid::Uuid;

pub(crate) const SOON: Duration = Duration::from_secs(3);

/// Tokens in a table, and what the gate was told.
#[derive(Default)]
pub(crate) struct Tokens {
    pub(crate) nodes: Mutex<HashMap<String, NodeId>>,
    /// Good for one look.
    pub(crate) once: Mutex<HashMap<String, NodeId>>,
    pub(crate) told: Mutex<Vec<(&'static str, NodeId)>>,
}

impl NodeGate for Tokens {
    fn admit<'a>(&'a self, bearer: &'a str) -> GateCall<'a, Result<NodeId>> {
        let found = self.nodes.lock().unwrap().get(bearer).copied();
        let found = found.or_else(|| self.once.lock().unwrap().remove(bearer));
        let answer = found.ok_or_else(|| Error::unauthenticated("invalid_token", "The token is not valid."));
        Box::pin(std::future::ready(answer))
    }

    fn connected(&self, node: NodeId) -> GateCall<'_, ()> {
        self.told.lock().unwrap().push(("connected", node));
        Box::pin(std::future::ready(()))
    }

    fn disconnected(&self, node: NodeId) -> GateCall<'_, ()> {
        self.told.lock().unwrap().push(("disconnected", node));
        Box::pin(std::future::ready(()))
    }
}

pub(crate) struct World {
    pub(crate) running: Running,
    pub(crate) gate: Arc<Tokens>,
    _database: TestDatabase,
}

impl World {
    pub(crate) async fn start() -> Self {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let database = TestDatabase::create(Database::Sqlite).await;
        let text = format!(
            "data_dir = {:?}\n[http]\nlisten = \"127.0.0.1:0\"\nshutdown_seconds = 3\n[agents]\nlisten = \"127.0.0.1:0\"\n\
             [database]\nurl = {:?}\n",
            database.folder().join("data").display().to_string(),
            database.url
        );
        let config = from_parts(&text, []).unwrap();
        let opened =
            roles::open_with(&config, Arc::new(SystemClock), Arc::new(SystemEntropy::new())).await.unwrap();
        let gate = Arc::new(Tokens::default());
        let running = roles::start_api_with_gate(&config, opened, gate.clone()).await.unwrap();
        Self { running, gate, _database: database }
    }

    pub(crate) fn links(&self) -> &Links {
        &self.running.agents.links
    }

    /// A node with a token of its own.
    pub(crate) fn node(&self, token: &str) -> NodeId {
        let id = NodeId::new(MovableClock::default().uuid());
        self.gate.nodes.lock().unwrap().insert(token.to_owned(), id);
        id
    }

    pub(crate) async fn dial(&self, path: &str, token: &str) -> std::result::Result<Agent, TunnelError> {
        let url = format!("{}{path}", self.running.agents.public_url.replace("https://", "wss://"));
        let trust = client_config_with_ca(&self.running.agents.trust.ca_pem).unwrap();
        let io = dial(&url, token, &trust).await?;
        let (scope, outside) = (Scope::new(), Scope::new());
        let (say, ended) = mpsc::unbounded_channel();
        let inner = scope.clone();
        outside.spawn(async move {
            let on = inner.clone();
            let service = service_fn(move |request| {
                let scope = on.clone();
                async move { Ok::<_, Infallible>(answer(request, &scope).await) }
            });
            let _ = serve(io, service, &inner, KeepAlive::default()).await;
            let _ = say.send(());
        });
        Ok(Agent { scope, ended, _outside: outside })
    }

    pub(crate) async fn control(&self, token: &str) -> Agent {
        self.dial(CONTROL_PATH, token).await.unwrap()
    }

    pub(crate) async fn data(&self, token: &str) -> Agent {
        self.dial(DATA_PATH, token).await.unwrap()
    }

    /// Calls the listener for nodes as anybody could.
    pub(crate) fn anybody(&self) -> reqwest::Client {
        let root = reqwest::Certificate::from_pem(self.running.agents.trust.ca_pem.as_bytes()).unwrap();
        reqwest::Client::builder().tls_certs_only([root]).timeout(SOON).build().unwrap()
    }
}

/// One link of a node.
pub(crate) struct Agent {
    pub(crate) scope: Scope,
    ended: mpsc::UnboundedReceiver<()>,
    _outside: Scope,
}

impl Agent {
    pub(crate) async fn ended(&mut self) {
        tokio::time::timeout(SOON, self.ended.recv()).await.expect("the link ends");
    }
}

/// Waits for what another task is about to do.
pub(crate) async fn eventually(what: impl Fn() -> bool) {
    let wait = async {
        while !what() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(SOON, wait).await.expect("it comes true");
}

pub(crate) fn task(payload: &str) -> SignedTask {
    SignedTask { key_id: Uuid::nil(), payload: payload.to_owned(), signature: "s".to_owned() }
}

type Answer = Response<BoxBody<Bytes, Infallible>>;

fn text(status: u16, text: impl Into<String>) -> Answer {
    Response::builder().status(status).body(Full::from(text.into()).boxed()).unwrap()
}

async fn answer(mut request: Request<Incoming>, scope: &Scope) -> Answer {
    if request.method() == Method::CONNECT {
        return connect(&mut request, scope);
    }
    let (path, query) =
        (request.uri().path().to_owned(), request.uri().query().unwrap_or_default().to_owned());
    let parts: Vec<_> = path.split('/').skip(1).collect();
    match (request.method(), parts.as_slice()) {
        (&Method::POST, ["v1", "tasks"]) => {
            let bytes = request.into_body().collect().await.unwrap().to_bytes();
            let task: SignedTask = serde_json::from_slice(&bytes).unwrap();
            let refused = Refused { refusal: Refusal::StaleEra, message: "old".to_owned() };
            match task.payload.as_str() {
                "refuse" => text(409, json!(refused).to_string()),
                "conflict" => text(409, "not what was agreed"),
                "fail" => text(500, "no"),
                "vanish" => {
                    scope.close();
                    std::future::pending().await
                }
                _ => text(202, json!(Accepted { task_id: Uuid::nil() }).to_string()),
            }
        }
        (&Method::GET, ["v1", "instances"]) => {
            text(200, json!({"run_id": Uuid::nil(), "full": true, "instances": []}).to_string())
        }
        (&Method::GET, ["v1", "instances", _, link::STATS]) => {
            text(200, json!({"components": [], "simulated": true}).to_string())
        }
        (&Method::GET, ["v1", "instances", _, link::LOGS]) => {
            let lines = futures_util::stream::iter([format!("{query}\n"), "two\n".to_owned()]);
            let lines = futures_util::StreamExt::map(lines, |line| Ok(Frame::data(Bytes::from(line))));
            Response::new(StreamBody::new(lines).boxed())
        }
        _ => text(404, "nothing here"),
    }
}

fn connect(request: &mut Request<Incoming>, scope: &Scope) -> Answer {
    let instance = request.headers().get(link::INSTANCE_HEADER).and_then(|value| value.to_str().ok());
    if instance.is_none_or(|text| text.parse::<Uuid>().is_err()) {
        return text(400, "which instance?");
    }
    if request.uri().authority().is_none_or(|authority| authority.as_str() != "web:8080") {
        return text(403, "this port is not declared");
    }
    let (near, far) = tokio::io::duplex(1 << 16);
    scope.spawn(async move {
        let (mut read, mut write) = tokio::io::split(near);
        let _ = tokio::io::copy(&mut read, &mut write).await;
    });
    splice(request, far, scope).map(http_body_util::BodyExt::boxed)
}
