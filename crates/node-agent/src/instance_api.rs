//! What a workload may ask of its node, at the gateway address of its own network: its status, to be heard, and to have its
//! own calls passed on to the platform.
//!
//! It is the only port of the agent that workloads reach, so it trusts nothing but the subnet a caller comes from: each
//! instance has a network of its own, and a door that answers for that instance only. What is passed on is a short list of
//! calls, with the app's own token; it is bounded here too, because all instances share the node's way to the platform.

mod relay;

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex, OnceLock, Weak};
use std::time::Duration;

use bytes::Bytes;
use gpuaas_agent_protocol::report::{ComponentReport, InstanceReport};
use gpuaas_program::Spawner;
use http_body_util::{BodyExt as _, Full, Limited};
use hyper::body::Incoming;
use hyper::header::{self, HeaderValue};
use hyper::{Method, Request, Response, StatusCode};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::sync::watch;
use uuid::Uuid;

use crate::http_door::{Door, Limits};
use crate::seams::{Answer, InstanceDoor, Relay, Workloads};
use relay::{Bounds, Target};

pub const PORT: u16 = 7075;
const MAX_BODY: usize = 64 * 1024;
const TIMEOUT: Duration = Duration::from_secs(10);

struct Open {
    base: String,
    gateway: IpAddr,
    /// Dropping it closes the door.
    _shut: watch::Sender<()>,
}

/// Who answers, once known.
type Answering = Arc<OnceLock<Weak<dyn Workloads>>>;

/// The doors of all instances.
pub struct Doors {
    port: u16,
    /// Where no network is real, every door is here.
    stand_in: Option<IpAddr>,
    workloads: Answering,
    relay: Arc<OnceLock<Arc<dyn Relay>>>,
    open: Mutex<BTreeMap<Uuid, Open>>,
    spawner: Spawner,
}

impl Doors {
    pub fn new(spawner: &Spawner) -> Arc<Self> {
        Self::on_port(PORT, spawner)
    }

    /// Port 0 takes a free one for each door.
    pub fn on_port(port: u16, spawner: &Spawner) -> Arc<Self> {
        Self::make(port, None, spawner)
    }

    /// For a simulated engine, whose networks have no gateway address: doors on the machine's own loopback.
    pub fn on_loopback(spawner: &Spawner) -> Arc<Self> {
        Self::make(0, Some(Ipv4Addr::LOCALHOST.into()), spawner)
    }

    fn make(port: u16, stand_in: Option<IpAddr>, spawner: &Spawner) -> Arc<Self> {
        Arc::new(Self {
            port,
            stand_in,
            workloads: Answering::default(),
            relay: Arc::default(),
            open: Mutex::default(),
            spawner: spawner.clone(),
        })
    }

    /// Who answers. The executor needs the doors and the doors need the executor; this closes the circle, once.
    pub fn answer_with(&self, workloads: &Arc<dyn Workloads>) {
        let _ = self.workloads.set(Arc::downgrade(workloads));
    }

    /// Who passes calls on to the platform. Without one there is nobody to pass them on to.
    pub fn relay_to(&self, relay: Arc<dyn Relay>) {
        let _ = self.relay.set(relay);
    }

    async fn open_door(&self, instance: Uuid, gateway: IpAddr, prefix: u8) -> std::io::Result<String> {
        let (gateway, prefix) = self.stand_in.map_or((gateway, prefix), |stand_in| (stand_in, 8));
        if let Some(open) = self.lock().get(&instance).filter(|open| open.gateway == gateway) {
            return Ok(open.base.clone());
        }
        // A door on another address is of an older network of this instance.
        self.lock().remove(&instance);
        let listener = TcpListener::bind((gateway, self.port)).await?;
        let base = format!("http://{}", listener.local_addr()?);
        let (shut, mut closed) = watch::channel(());
        let limits = Limits { connection_timeout: Some(Duration::from_mins(1)), ..Limits::default() };
        let door = Door::new(listener, limits, self.spawner.clone());
        let subnet = Subnet { gateway, prefix };
        let (workloads, relay, bounds) =
            (self.workloads.clone(), self.relay.clone(), Arc::new(Bounds::new()));
        let serving = door.serve(move |request: Request<Incoming>, peer: SocketAddr| {
            let asked = Asked {
                workloads: workloads.get().and_then(Weak::upgrade),
                relay: relay.get().cloned(),
                bounds: bounds.clone(),
                instance,
                subnet,
                peer,
            };
            async move {
                let answer = tokio::time::timeout(TIMEOUT, answer(asked, request));
                let late = || problem(StatusCode::REQUEST_TIMEOUT, "too_slow", "The request took too long.");
                Ok::<_, Infallible>(answer.await.unwrap_or_else(|_| late()))
            }
        });
        self.spawner.spawn_until_stop(async move {
            // Ends when the sender is dropped; connections still open end by their own limits.
            tokio::select! { () = serving => {}, _ = closed.changed() => {} }
        });
        self.lock().insert(instance, Open { base: base.clone(), gateway, _shut: shut });
        Ok(base)
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, BTreeMap<Uuid, Open>> {
        self.open.lock().expect("no holder of the doors panics")
    }
}

impl InstanceDoor for Doors {
    fn open(&self, instance: Uuid, gateway: IpAddr, prefix: u8) -> Answer<'_, std::io::Result<String>> {
        Box::pin(self.open_door(instance, gateway, prefix))
    }

    fn close(&self, instance: Uuid) {
        self.lock().remove(&instance);
    }
}

#[derive(Clone, Copy)]
struct Subnet {
    gateway: IpAddr,
    prefix: u8,
}

impl Subnet {
    fn holds(self, peer: IpAddr) -> bool {
        fn same(a: u128, b: u128, bits: u32, prefix: u32) -> bool {
            prefix <= bits && (a ^ b).checked_shr(bits - prefix).unwrap_or(0) == 0
        }
        let prefix = u32::from(self.prefix);
        match (self.gateway, peer.to_canonical()) {
            (IpAddr::V4(a), IpAddr::V4(b)) => same(a.to_bits().into(), b.to_bits().into(), 32, prefix),
            (IpAddr::V6(a), IpAddr::V6(b)) => same(a.to_bits(), b.to_bits(), 128, prefix),
            (IpAddr::V4(_), IpAddr::V6(_)) | (IpAddr::V6(_), IpAddr::V4(_)) => false,
        }
    }
}

/// One request, and what it takes to answer it.
struct Asked {
    workloads: Option<Arc<dyn Workloads>>,
    relay: Option<Arc<dyn Relay>>,
    bounds: Arc<Bounds>,
    instance: Uuid,
    subnet: Subnet,
    peer: SocketAddr,
}

async fn answer(asked: Asked, request: Request<Incoming>) -> Response<Full<Bytes>> {
    let Asked { workloads, relay, bounds, instance, subnet, peer } = asked;
    if !subnet.holds(peer.ip()) {
        return problem(
            StatusCode::FORBIDDEN,
            "not_your_instance",
            "This address serves its own network only.",
        );
    }
    let (parts, body) = request.into_parts();
    let Ok(body) = Limited::new(body, MAX_BODY).collect().await else {
        return problem(StatusCode::PAYLOAD_TOO_LARGE, "too_large", "A body has at most 64 KiB.");
    };
    let Some(workloads) = workloads else {
        return problem(StatusCode::SERVICE_UNAVAILABLE, "starting", "The agent is starting; try again.");
    };
    let gone = || problem(StatusCode::NOT_FOUND, "not_found", "This instance is not on the node any more.");
    if let Some(target) = relay::target(&parts, instance) {
        if target == Target::Heartbeat && !workloads.heartbeat(instance) {
            return gone();
        }
        return relay::pass_on(relay.as_deref(), &bounds, target, &parts, body.to_bytes()).await;
    }
    match (parts.method, parts.uri.path()) {
        (Method::GET, "/v1/status") => match workloads.status(instance) {
            Some(report) => with_json(StatusCode::OK, &status_of(&report)),
            None => gone(),
        },
        (Method::POST, "/v1/heartbeat") if workloads.heartbeat(instance) => {
            let mut answer = Response::new(Full::default());
            *answer.status_mut() = StatusCode::NO_CONTENT;
            answer
        }
        (Method::POST, "/v1/heartbeat") => gone(),
        (_, "/v1/status" | "/v1/heartbeat") => problem(
            StatusCode::METHOD_NOT_ALLOWED,
            "method_not_allowed",
            "GET /v1/status, POST /v1/heartbeat.",
        ),
        _ => problem(
            StatusCode::NOT_FOUND,
            "not_found",
            "There is no such call, or it is not this instance's own.",
        ),
    }
}

/// What an app may know about itself: no engine ids, no words of the engine.
fn status_of(report: &InstanceReport) -> Value {
    let component = |component: &ComponentReport| {
        json!({
            "name": component.name,
            "running": component.running,
            "ready": component.ready,
            "restarts": component.restarts,
        })
    };
    json!({
        "instance_id": report.instance_id,
        "status": report.phase,
        "health": report.health,
        "components": report.components.iter().map(component).collect::<Vec<_>>(),
    })
}

fn with_json(status: StatusCode, body: &Value) -> Response<Full<Bytes>> {
    let mut answer = Response::new(Full::from(body.to_string()));
    *answer.status_mut() = status;
    answer.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    answer
}

fn problem(status: StatusCode, code: &str, message: &str) -> Response<Full<Bytes>> {
    with_json(status, &json!({"error": {"code": code, "message": message}}))
}

#[cfg(test)]
mod tests;
