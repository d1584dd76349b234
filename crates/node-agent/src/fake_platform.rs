//! A platform for tests: TLS under a CA of its own, one join token, one node, links.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use bytes::Bytes;
use gpuaas_agent_protocol::inventory::NodeInventory;
use gpuaas_agent_protocol::report::NodeReport;
use gpuaas_agent_protocol::task::Verifier;
use gpuaas_api::agent::{ImageAccessRequest, JoinRequest, NODE_TOKEN_AUDIENCE, NodeTokenRequest};
use gpuaas_domain::ids::NodeId;
use gpuaas_domain::machine_token::{check_assertion, open_node_assertion};
use gpuaas_program::Spawner;
use gpuaas_tunnel::{KeepAlive, Link, accept, handshake_answer};
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use rustls_pki_types::PrivateKeyDer;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::sync::mpsc;
use tokio_rustls::TlsAcceptor;
use uuid::Uuid;

use crate::links::{CONTROL_PATH, DATA_PATH};
use crate::wall_clock::{Clock as _, SystemClock};

const REGISTRY_TOKEN: &str = "r3gistry";
pub(crate) const JOIN_TOKEN: &str = "jt-1.s3cret";

#[derive(Default)]
pub(crate) struct World {
    pub(crate) requests: Mutex<Vec<String>>,
    pub(crate) joins: Mutex<Vec<JoinRequest>>,
    /// The join arrives, its answer does not.
    pub(crate) lose_answer: AtomicBool,
    pub(crate) revoked: AtomicBool,
    pub(crate) tokens_given: AtomicU32,
    pub(crate) token_life: AtomicU32,
    /// So many calls are answered 500.
    pub(crate) failing: AtomicU32,
    pub(crate) trusts: AtomicU32,
    pub(crate) reports: Mutex<Vec<NodeReport>>,
    pub(crate) inventories: Mutex<Vec<NodeInventory>>,
    /// Whose orders the node shall obey.
    pub(crate) verifiers: Mutex<Vec<Verifier>>,
    /// What must hold for an image; whoever asks for one gets it and a token for the registry.
    pub(crate) image_trust: Mutex<Value>,
    pub(crate) image_refused: AtomicBool,
    /// Path, type and bytes of what the registry has.
    pub(crate) registry: Mutex<BTreeMap<String, (String, Vec<u8>)>>,
    /// Even the last token given is good no more.
    refuse_tokens: AtomicBool,
    ca_pem: Mutex<String>,
}

pub(crate) struct FakePlatform {
    pub(crate) url: String,
    pub(crate) ca_pem: String,
    pub(crate) pin: String,
    pub(crate) world: Arc<World>,
    pub(crate) control: mpsc::UnboundedReceiver<Link>,
    pub(crate) data: mpsc::UnboundedReceiver<Link>,
}

#[derive(Clone)]
struct Serving {
    world: Arc<World>,
    control: mpsc::UnboundedSender<Link>,
    data: mpsc::UnboundedSender<Link>,
    spawner: Spawner,
}

impl FakePlatform {
    pub(crate) async fn start() -> Self {
        drop(rustls::crypto::ring::default_provider().install_default());
        let ca_key = KeyPair::generate().unwrap();
        let mut ca_params = CertificateParams::default();
        ca_params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
        let ca = ca_params.self_signed(&ca_key).unwrap();
        let issuer = Issuer::new(ca_params, ca_key);
        let key = KeyPair::generate().unwrap();
        let leaf =
            CertificateParams::new(vec!["127.0.0.1".to_owned()]).unwrap().signed_by(&key, &issuer).unwrap();
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let tls = rustls::ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(
                vec![leaf.der().clone(), ca.der().clone()],
                PrivateKeyDer::try_from(key.serialize_der()).unwrap(),
            )
            .unwrap();
        let (control, control_links) = mpsc::unbounded_channel();
        let (data, data_links) = mpsc::unbounded_channel();
        let world = Arc::new(World { token_life: AtomicU32::new(900), ..World::default() });
        *world.ca_pem.lock().unwrap() = ca.pem();
        let spawner = Spawner::default();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("https://{}", listener.local_addr().unwrap());
        let serving = Serving { world: world.clone(), control, data, spawner: spawner.clone() };
        spawner.spawn_until_stop(serve(listener, TlsAcceptor::from(Arc::new(tls)), serving));
        Self {
            url,
            pin: gpuaas_tunnel::spki_pin(ca.der()).unwrap(),
            ca_pem: ca.pem(),
            world,
            control: control_links,
            data: data_links,
        }
    }

    pub(crate) fn join_token(&self) -> String {
        format!("{JOIN_TOKEN}.{}", self.pin)
    }

    /// A node that has joined already, with this key.
    pub(crate) fn enrol(&self, public_key: &str) -> crate::identity::Identity {
        let inventory = NodeInventory {
            agent_version: String::new(),
            protocol: 1,
            hostname: String::new(),
            os: String::new(),
            kernel: String::new(),
            architecture: String::new(),
            cpus: 1,
            memory_mib: 1,
            disk_total_mib: 1,
            disk_free_mib: 1,
            runtime: gpuaas_agent_protocol::inventory::Runtime::Simulated,
            gpus: Vec::new(),
            problems: Vec::new(),
            warnings: Vec::new(),
        };
        let request =
            JoinRequest { token: JOIN_TOKEN.into(), name: None, public_key: public_key.into(), inventory };
        self.world.joins.lock().unwrap().push(request);
        crate::identity::Identity {
            node_id: node_id(),
            name: "n1".into(),
            server_url: self.url.clone(),
            ca_pem: self.ca_pem.clone(),
        }
    }

    /// Tokens given so far are good no more.
    pub(crate) fn forget_tokens(&self) {
        self.world.refuse_tokens.store(true, Ordering::SeqCst);
    }
}

pub(crate) fn node_id() -> NodeId {
    NodeId::new(Uuid::from_u128(0x0192_0000_0000_7000_8000_0000_0000_0001))
}

pub(crate) async fn within<T>(work: impl Future<Output = T>) -> T {
    tokio::time::timeout(Duration::from_secs(10), work).await.expect("in time")
}

/// Looks until it is so.
pub(crate) async fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    for _ in 0..500 {
        if is_so() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    panic!("it never came: {what}");
}

async fn serve(listener: TcpListener, acceptor: TlsAcceptor, serving: Serving) {
    while let Ok((tcp, _)) = listener.accept().await {
        let (acceptor, serving) = (acceptor.clone(), serving.clone());
        let spawner = serving.spawner.clone();
        spawner.spawn_until_stop(async move {
            let Ok(tls) = acceptor.accept(tcp).await else { return };
            let answer = service_fn(move |request| {
                let serving = serving.clone();
                async move { serving.answer(request).await }
            });
            let connection = hyper::server::conn::http1::Builder::new()
                .serve_connection(TokioIo::new(tls), answer)
                .with_upgrades();
            let _ = connection.await;
        });
    }
}

type Reply = Response<Full<Bytes>>;

fn reply(status: u16, body: &Value) -> Reply {
    let body = if body.is_null() { Full::default() } else { Full::from(body.to_string()) };
    let mut reply = Response::new(body);
    *reply.status_mut() = StatusCode::from_u16(status).unwrap();
    reply
}

fn refuse(status: u16, code: &str, message: &str) -> Reply {
    reply(status, &json!({"error": {"code": code, "message": message, "correlation_id": "c"}}))
}

impl Serving {
    async fn answer(&self, mut request: Request<Incoming>) -> Result<Reply, std::io::Error> {
        let path = request.uri().path().to_owned();
        self.world.requests.lock().unwrap().push(path.clone());
        let bearer = request.headers().get("authorization").map(|value| value.to_str().unwrap().to_owned());
        if [CONTROL_PATH, DATA_PATH].contains(&path.as_str()) {
            return Ok(if self.knows(bearer.as_deref()) {
                self.upgrade(&mut request, path == CONTROL_PATH)
            } else {
                refuse(401, "unauthenticated", "Who are you?")
            });
        }
        let body = request.into_body().collect().await.unwrap().to_bytes();
        let failing = &self.world.failing;
        if failing.load(Ordering::SeqCst) > 0 {
            failing.fetch_sub(1, Ordering::SeqCst);
            return Ok(refuse(500, "internal", "A fault."));
        }
        match path.as_str() {
            "/api/v1/nodes/join" => self.join(&body),
            "/api/v1/auth/node/token" => Ok(self.token(&body)),
            path if path.starts_with("/v2/") => Ok(self.stored(path, bearer.as_deref())),
            _ if !self.knows(bearer.as_deref()) => Ok(refuse(401, "unauthenticated", "Who are you?")),
            "/api/v1/node/trust" => {
                self.world.trusts.fetch_add(1, Ordering::SeqCst);
                Ok(reply(200, &self.trust()))
            }
            "/api/v1/node/image-access" => Ok(self.image_access(&body)),
            "/api/v1/node/inventory" => {
                self.world.inventories.lock().unwrap().push(serde_json::from_slice(&body).unwrap());
                Ok(reply(204, &Value::Null))
            }
            "/api/v1/node/reports" => {
                self.world.reports.lock().unwrap().push(serde_json::from_slice(&body).unwrap());
                Ok(reply(204, &Value::Null))
            }
            _ => Ok(refuse(404, "not_found", "Nothing here.")),
        }
    }

    fn image_access(&self, body: &[u8]) -> Reply {
        let _: ImageAccessRequest = serde_json::from_slice(body).unwrap();
        if self.world.image_refused.load(Ordering::SeqCst) {
            return refuse(403, "artifact_revoked", "It was revoked.");
        }
        let (trust, until) = (self.world.image_trust.lock().unwrap().clone(), SystemClock.now());
        let token = REGISTRY_TOKEN;
        reply(200, &json!({"token": token, "expires_at": until.plus_seconds(300), "trust": trust}))
    }

    fn stored(&self, path: &str, bearer: Option<&str>) -> Reply {
        if bearer != Some(&format!("Bearer {REGISTRY_TOKEN}")) {
            return refuse(401, "unauthenticated", "Who are you?");
        }
        match self.world.registry.lock().unwrap().get(path) {
            Some((kind, bytes)) => {
                let mut reply = Response::new(Full::from(bytes.clone()));
                reply.headers_mut().insert("content-type", kind.parse().unwrap());
                reply
            }
            None => refuse(404, "not_found", "Nothing here."),
        }
    }

    fn trust(&self) -> Value {
        let verifiers = self.world.verifiers.lock().unwrap().clone();
        json!({"era": 1, "server_time": SystemClock.now().unix_micros(), "verifiers": verifiers})
    }

    fn knows(&self, bearer: Option<&str>) -> bool {
        let given = self.world.tokens_given.load(Ordering::SeqCst);
        let world = &self.world;
        let fine = !world.revoked.load(Ordering::SeqCst) && !world.refuse_tokens.load(Ordering::SeqCst);
        fine && bearer == Some(format!("Bearer t{given}").as_str())
    }

    fn join(&self, body: &[u8]) -> Result<Reply, std::io::Error> {
        let request: JoinRequest = serde_json::from_slice(body).unwrap();
        if request.token != JOIN_TOKEN {
            return Ok(refuse(403, "join_token_invalid", "This join token is not valid."));
        }
        let mut joins = self.world.joins.lock().unwrap();
        if joins.first().is_some_and(|first| first.public_key != request.public_key) {
            return Ok(refuse(403, "join_token_used", "This join token has been used."));
        }
        let name = request.name.clone().unwrap_or_else(|| "n1".into());
        joins.push(request);
        if self.world.lose_answer.swap(false, Ordering::SeqCst) {
            return Err(std::io::Error::other("the answer is lost"));
        }
        let ca_pem = self.world.ca_pem.lock().unwrap().clone();
        Ok(reply(200, &json!({"node_id": node_id(), "name": name, "ca_pem": ca_pem, "trust": self.trust()})))
    }

    fn token(&self, body: &[u8]) -> Reply {
        let request: NodeTokenRequest = serde_json::from_slice(body).unwrap();
        let key = self.world.joins.lock().unwrap().first().map(|join| join.public_key.clone());
        let key = key.and_then(|key| URL_SAFE_NO_PAD.decode(key).ok()).unwrap_or_default();
        let Ok(key) = <[u8; 32]>::try_from(key) else { return refuse(401, "unauthenticated", "Unknown.") };
        let opened = open_node_assertion(&request.assertion).unwrap();
        let checked = check_assertion(&opened, node_id(), &key, NODE_TOKEN_AUDIENCE, SystemClock.now());
        if checked.is_err() || self.world.revoked.load(Ordering::SeqCst) {
            return refuse(401, "unauthenticated", "This node is not known.");
        }
        self.world.refuse_tokens.store(false, Ordering::SeqCst);
        let number = self.world.tokens_given.fetch_add(1, Ordering::SeqCst) + 1;
        let life = self.world.token_life.load(Ordering::SeqCst);
        reply(200, &json!({"access_token": format!("t{number}"), "token_type": "Bearer", "expires_in": life}))
    }

    fn upgrade(&self, request: &mut Request<Incoming>, control: bool) -> Reply {
        let answer = handshake_answer(request.headers()).expect("a handshake");
        let upgrade = hyper::upgrade::on(request);
        let links = if control { self.control.clone() } else { self.data.clone() };
        self.spawner.spawn_until_stop(async move {
            if let Ok(io) = upgrade.await
                && let Ok(link) = accept(TokioIo::new(io), KeepAlive::default()).await
            {
                let _ = links.send(link);
            }
        });
        answer.map(|()| Full::default())
    }
}
