//! A gateway on a socket of its own, two endpoints behind it, and whoever may come in.

use std::collections::{HashMap, HashSet};
use std::future::Future;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use gpuaas_domain::Secret;
use gpuaas_domain::access::{AccessMode, EndpointRoute, Label, PublicAccess};
use gpuaas_domain::ids::{InstanceId, NodeId, ProjectId, RevisionId, TenantId};
use gpuaas_domain::lifecycle::Status;
use gpuaas_domain::manifest::EndpointPolicy;
use gpuaas_gateway::{
    Asked, Authority, ByteStream, DialError, Entered, Gateway, Grant, Names, Peer, Presented, Refused,
};
use gpuaas_program::Spawner;
use http_body_util::{BodyExt as _, Either, Full};
use hyper::body::Incoming;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto;
use tokio::net::{TcpListener, TcpStream};
use uuid::Uuid;

use crate::app::App;
use crate::client::Raw;
use crate::wire::Message;

pub(crate) const COOKIE: &str = "__Host-gpuaas_app_0123abcd";
pub(crate) const APPS: &str = "apps.example.org";
pub(crate) const PORTAL: &str = "https://example.org";
/// Programs of two people with the first endpoint, and of one with the second.
pub(crate) const ALICE: &str = "gpue_alice";
pub(crate) const BOB: &str = "gpue_bob";
pub(crate) const CAROL: &str = "gpue_carol";
/// Alice's browser at the first endpoint.
pub(crate) const ALICE_S_COOKIE: &str = "cookie-of-alice";
/// What a page of the endpoint itself says about its requests.
pub(crate) const OWN_PAGE: &str =
    "Sec-Fetch-Site: same-origin\r\nSec-Fetch-Mode: cors\r\nSec-Fetch-Dest: empty\r\n";
/// What a browser says when somebody follows a link.
pub(crate) const NAVIGATES: &str =
    "Sec-Fetch-Site: none\r\nSec-Fetch-Mode: navigate\r\nSec-Fetch-Dest: document\r\nAccept: text/html\r\n";

/// Everything here happens on one machine and at once; what takes longer hangs.
const SOON: Duration = Duration::from_secs(20);

pub(crate) async fn soon<T>(what: &str, work: impl Future<Output = T>) -> T {
    let done = tokio::time::timeout(SOON, work).await;
    done.unwrap_or_else(|_| panic!("waited {SOON:?} in vain: {what}"))
}

/// What the platform would know.
#[derive(Default)]
pub(crate) struct Known {
    pub(crate) routes: HashMap<Label, (EndpointRoute, SocketAddr)>,
    /// Code → endpoint, cookie that it gives.
    pub(crate) codes: HashMap<String, (Label, String)>,
    /// Cookie → endpoint, epoch at which it was given, who.
    pub(crate) cookies: HashMap<String, (Label, i64, &'static str)>,
    /// Token → endpoint, who.
    pub(crate) tokens: HashMap<String, (Label, &'static str)>,
    pub(crate) open: HashSet<Label>,
    pub(crate) unavailable: bool,
    /// Cookies and tokens about which no answer ever comes.
    pub(crate) silent: HashSet<String>,
    /// How much more may be asked, if that is limited.
    pub(crate) questions: Option<usize>,
}

/// The platform, as far as the gateway asks it.
#[derive(Default)]
pub(crate) struct Platform {
    known: Mutex<Known>,
    dials: AtomicUsize,
    checks: AtomicUsize,
}

impl Platform {
    pub(crate) fn change<T>(&self, change: impl FnOnce(&mut Known) -> T) -> T {
        change(&mut self.known.lock().unwrap())
    }

    pub(crate) fn change_route(&self, label: &Label, change: impl FnOnce(&mut EndpointRoute)) {
        self.change(|known| change(&mut known.routes.get_mut(label).expect("a route").0));
    }

    pub(crate) fn dials(&self) -> usize {
        self.dials.load(Ordering::SeqCst)
    }

    pub(crate) fn checks(&self) -> usize {
        self.checks.load(Ordering::SeqCst)
    }
}

fn now<'a, T: Send + 'a>(value: T) -> Asked<'a, T> {
    Box::pin(std::future::ready(value))
}

impl Authority for Platform {
    fn may_ask(&self, _: Option<Peer>) -> bool {
        self.change(|known| match &mut known.questions {
            Some(0) => false,
            Some(left) => {
                *left -= 1;
                true
            }
            None => true,
        })
    }

    fn route<'a>(&'a self, label: &'a Label) -> Asked<'a, Result<Option<EndpointRoute>, Refused>> {
        now(self.change(|known| {
            if known.unavailable {
                return Err(Refused::Unavailable);
            }
            Ok(known.routes.get(label).map(|(route, _)| route.clone()))
        }))
    }

    fn enter<'a>(&'a self, label: &'a Label, code: &'a str) -> Asked<'a, Result<Entered, Refused>> {
        now(self.change(|known| {
            if known.codes.get(code).is_none_or(|(of, _)| of != label) {
                return Err(Refused::No);
            }
            let (_, cookie) = known.codes.remove(code).expect("it was there");
            let epoch = known.routes[label].0.access_epoch;
            known.cookies.insert(cookie.clone(), (label.clone(), epoch, "alice"));
            Ok(Entered { cookie: Secret::new(cookie), ends_in: Duration::from_hours(1) })
        }))
    }

    fn check<'a>(&'a self, label: &'a Label, presented: &'a Presented) -> Asked<'a, Result<Grant, Refused>> {
        self.checks.fetch_add(1, Ordering::SeqCst);
        let (Presented::Cookie(value) | Presented::Token(value)) = presented;
        if self.change(|known| known.silent.contains(value.expose())) {
            return Box::pin(std::future::pending());
        }
        now(self.change(|known| {
            if known.unavailable {
                return Err(Refused::Unavailable);
            }
            let (of, epoch, who) = match presented {
                Presented::Cookie(value) => {
                    let (of, epoch, who) = known.cookies.get(value.expose()).ok_or(Refused::No)?;
                    (of, Some(*epoch), who)
                }
                Presented::Token(value) => {
                    let (of, who) = known.tokens.get(value.expose()).ok_or(Refused::No)?;
                    (of, None, who)
                }
            };
            let current = known.routes.get(label).map(|(route, _)| route.access_epoch);
            if of != label || epoch.is_some_and(|epoch| Some(epoch) != current) {
                return Err(Refused::No);
            }
            let identity = Some(Secret::new(format!("signed-{who}")));
            Ok(Grant { access_epoch: epoch, ends_in: Duration::from_hours(1), identity })
        }))
    }

    fn is_open(&self, route: &EndpointRoute) -> bool {
        self.change(|known| known.open.contains(&route.label))
    }

    fn dial<'a>(&'a self, route: &'a EndpointRoute) -> Asked<'a, Result<Box<dyn ByteStream>, DialError>> {
        self.dials.fetch_add(1, Ordering::SeqCst);
        let address = self.change(|known| known.routes[&route.label].1);
        Box::pin(async move {
            let stream = TcpStream::connect(address).await.map_err(|_| DialError::NotAnswering)?;
            let _ = stream.set_nodelay(true);
            Ok(Box::new(stream) as Box<dyn ByteStream>)
        })
    }
}

/// What the front understood of a request, before the gateway has looked at it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Understood {
    pub(crate) method: String,
    pub(crate) target: String,
    pub(crate) host: Option<String>,
    /// Of the body, where its sender said it.
    pub(crate) length: Option<u64>,
}

pub(crate) struct World {
    pub(crate) gateway: Arc<Gateway>,
    pub(crate) platform: Arc<Platform>,
    /// The gateway's own work.
    pub(crate) tasks: Spawner,
    /// The front's and the apps'.
    pub(crate) others: Spawner,
    pub(crate) address: SocketAddr,
    /// The first endpoint and the second.
    pub(crate) a: Label,
    pub(crate) b: Label,
    understood: Arc<Mutex<Vec<Understood>>>,
}

impl World {
    /// Both endpoints with an app that says what it understood.
    pub(crate) async fn with_echoes() -> (Self, App, App) {
        let others = Spawner::default();
        let (first, second) = (App::echo(&others, "first").await, App::echo(&others, "second").await);
        (Self::start(others, first.address, second.address).await, first, second)
    }

    /// The first endpoint with this app, the second with nobody behind it.
    pub(crate) async fn with<F, Fut>(serve: F) -> (Self, App)
    where
        F: Fn(crate::app::Conversation) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = ()> + Send + 'static,
    {
        let others = Spawner::default();
        let app = App::start(&others, serve).await;
        (Self::start(others, app.address, app.address).await, app)
    }

    pub(crate) async fn with_app_that_says(answer: impl Into<Vec<u8>>) -> (Self, App) {
        let others = Spawner::default();
        let app = App::says(&others, answer).await;
        (Self::start(others, app.address, app.address).await, app)
    }

    async fn start(others: Spawner, first: SocketAddr, second: SocketAddr) -> Self {
        let (a, b) = (Label::new(&[7; 32]), Label::new(&[9; 32]));
        let platform = Arc::new(Platform::default());
        platform.change(|known| {
            known.routes.insert(a.clone(), (route(&a, 1), first));
            known.routes.insert(b.clone(), (route(&b, 2), second));
            known.tokens.insert(ALICE.into(), (a.clone(), "alice"));
            known.tokens.insert(BOB.into(), (a.clone(), "bob"));
            known.tokens.insert(CAROL.into(), (b.clone(), "carol"));
            known.cookies.insert(ALICE_S_COOKIE.into(), (a.clone(), 1, "alice"));
        });
        let tasks = Spawner::default();
        let names = Names::new(true, APPS, vec![PORTAL.into()]);
        let gateway = Arc::new(Gateway::new(names, "0123abcd", platform.clone(), tasks.clone()));
        let understood: Arc<Mutex<Vec<Understood>>> = Arc::default();
        let address = front(&others, gateway.clone(), understood.clone()).await;
        Self { gateway, platform, tasks, others, address, a, b, understood }
    }

    pub(crate) fn host(&self) -> String {
        format!("{}.{APPS}", self.a)
    }

    pub(crate) fn other_host(&self) -> String {
        format!("{}.{APPS}", self.b)
    }

    pub(crate) fn origin(&self) -> String {
        format!("https://{}", self.host())
    }

    /// What the front has understood so far.
    pub(crate) fn understood(&self) -> Vec<Understood> {
        self.understood.lock().unwrap().clone()
    }

    pub(crate) async fn connect(&self) -> Raw {
        let stream = TcpStream::connect(self.address).await.expect("the front listens");
        stream.set_nodelay(true).expect("a socket");
        Raw::new(stream)
    }

    /// The head of a request of Alice's program, without the empty line.
    pub(crate) fn head(&self, first: &str) -> String {
        format!("{first} HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {ALICE}\r\n", self.host())
    }

    /// The start of an upgrade by Alice's browser, without the empty line.
    pub(crate) fn upgrade(&self, origin: &str) -> String {
        format!(
            "GET /socket HTTP/1.1\r\nHost: {}\r\nCookie: {COOKIE}={ALICE_S_COOKIE}\r\nOrigin: {origin}\r\n\
             Connection: keep-alive, Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n\
             Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n",
            self.host()
        )
    }

    /// One request on a connection of its own; the lines are its headers, each with its end.
    pub(crate) async fn ask(&self, first: &str, lines: &str) -> Message {
        let mut client = self.connect().await;
        client.say(format!("{first} HTTP/1.1\r\nHost: {}\r\n{lines}\r\n", self.host())).await;
        let method = first.split(' ').next().unwrap_or_default();
        client.answer_to(method).await.unwrap_or_else(|| panic!("{first} {lines} got no whole answer"))
    }

    /// The same as a program with this token.
    pub(crate) async fn ask_as(&self, token: &str, first: &str) -> Message {
        self.ask(first, &format!("Authorization: Bearer {token}\r\n")).await
    }
}

fn route(label: &Label, number: u128) -> EndpointRoute {
    let id = Uuid::from_u128(number);
    EndpointRoute {
        label: label.clone(),
        tenant_id: TenantId::new(id),
        project_id: ProjectId::new(id),
        instance_id: InstanceId::new(id),
        instance_name: format!("notebook-{number}"),
        app_name: "jupyter".into(),
        node_id: NodeId::new(id),
        component: "main".into(),
        name: "web".into(),
        port: 8888,
        mode: AccessMode::PlatformProxy,
        public_access: PublicAccess::Off,
        active_revision: RevisionId::new(id),
        access_epoch: 1,
        status: Status::Running,
        decommissioned: false,
        policy: EndpointPolicy::default(),
        version: 1,
    }
}

/// As the server's own listener: the same protocols, limits and choice by host.
async fn front(
    tasks: &Spawner,
    gateway: Arc<Gateway>,
    understood: Arc<Mutex<Vec<Understood>>>,
) -> SocketAddr {
    let socket = TcpListener::bind(("127.0.0.1", 0)).await.expect("a free port");
    let address = socket.local_addr().expect("a bound socket has an address");
    let mut builder = auto::Builder::new(TokioExecutor::new());
    builder
        .http1()
        .timer(TokioTimer::new())
        .header_read_timeout(Duration::from_secs(15))
        .max_buf_size(64 * 1024);
    builder
        .http2()
        .timer(TokioTimer::new())
        .keep_alive_interval(Duration::from_secs(30))
        .max_concurrent_streams(200)
        .max_header_list_size(32 * 1024);
    let builder = Arc::new(builder);
    let within = tasks.clone();
    tasks.spawn_until_stop(async move {
        while let Ok((stream, _)) = socket.accept().await {
            let _ = stream.set_nodelay(true);
            let (gateway, understood, builder) = (gateway.clone(), understood.clone(), builder.clone());
            within.spawn_until_stop(async move {
                let service = hyper::service::service_fn(move |request: Request<Incoming>| {
                    let (gateway, understood) = (gateway.clone(), understood.clone());
                    async move {
                        let answer = by_host(&gateway, &understood, request).await;
                        let whole = answer.map(|body| body.map_err(std::io::Error::other).boxed_unsync());
                        Ok::<_, std::convert::Infallible>(whole)
                    }
                });
                let _ = builder.serve_connection_with_upgrades(TokioIo::new(stream), service).await;
            });
        }
    });
    address
}

async fn by_host(
    gateway: &Gateway,
    understood: &Mutex<Vec<Understood>>,
    request: Request<Incoming>,
) -> Response<gpuaas_gateway::Body> {
    let host = request.headers().get("host").and_then(|host| host.to_str().ok());
    understood.lock().unwrap().push(Understood {
        method: request.method().to_string(),
        // Byte for byte, as the second reader has it.
        target: request
            .uri()
            .path_and_query()
            .map(|path| path.as_str().bytes().map(char::from).collect())
            .unwrap_or_default(),
        host: host.or(request.uri().authority().map(hyper::http::uri::Authority::as_str)).map(str::to_owned),
        length: hyper::body::Body::size_hint(request.body()).exact(),
    });
    if gateway.is_for_apps(request.version(), request.uri(), request.headers()) {
        return gateway.serve(request).await;
    }
    let mut platform = Response::new(Either::Left(Full::from("the platform's own")));
    *platform.status_mut() = StatusCode::MISDIRECTED_REQUEST;
    platform
}
