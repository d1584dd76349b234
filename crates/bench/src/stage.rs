//! What stands around the gateway while it is measured, each this program as a process of its own: the gateway before one app,
//! a node at the far end of its link, and an app of sockets. Everything a request passes in the server it passes here; the
//! questions to the control plane are asked in the background there, too.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use futures_util::{SinkExt as _, StreamExt as _};
use gpuaas_domain::Secret;
use gpuaas_domain::access::{AccessMode, EndpointRoute, Label, PublicAccess};
use gpuaas_domain::ids::{InstanceId, NodeId, ProjectId, RevisionId, TenantId};
use gpuaas_domain::lifecycle::Status;
use gpuaas_domain::manifest::EndpointPolicy;
use gpuaas_gateway::{
    Asked, Authority, ByteStream, DialError, Entered, Gateway, Grant, Names, Peer, Presented, Refused,
};
use gpuaas_program::Spawner;
use gpuaas_tunnel::{KeepAlive, Link, Scope, accept, client_config_with_ca, dial, serve, splice};
use http_body_util::{BodyExt as _, Full};
use hyper::Request;
use hyper::body::{Bytes, Incoming};
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio_rustls::TlsAcceptor;
use tokio_tungstenite::tungstenite::protocol::WebSocketConfig;

use crate::daemon::{Daemon, free_address};
use crate::link::{certificates, straight};
use crate::{Error, Result};

/// What opens the endpoint.
pub(crate) const COOKIE: &str = "__Host-gpuaas_app_bench=gpua_bench";
const SESSION: &str = "gpua_bench";
const PATIENCE: Duration = Duration::from_secs(10);

#[derive(clap::Subcommand)]
#[command(hide = true)]
pub(crate) enum Role {
    /// The gateway before an app that a plain connection reaches.
    Front { listen: SocketAddr, app: SocketAddr },
    /// The gateway before an app behind the link of a node, which dials `nodes` and trusts what lies in `folder`.
    LinkedFront { listen: SocketAddr, nodes: SocketAddr, folder: PathBuf },
    /// The node that the app runs on.
    Node { nodes: SocketAddr, app: SocketAddr, folder: PathBuf },
    /// An app that gives back what a WebSocket says.
    Echo { listen: SocketAddr },
}

impl Role {
    pub(crate) async fn play(&self) -> Result {
        match self {
            Self::Front { listen, app } => front(*listen, Behind::Straight(*app)).await,
            Self::LinkedFront { listen, nodes, folder } => linked_front(*listen, *nodes, folder).await,
            Self::Node { nodes, app, folder } => node(*nodes, *app, folder).await,
            Self::Echo { listen } => echo(*listen).await,
        }
    }
}

/// This program again, in a role.
fn ourselves(role: &str) -> Result<Command> {
    let mut command = Command::new(std::env::current_exe()?);
    command.env_clear().arg(role);
    Ok(command)
}

/// The gateway as a process, and the node it needs.
pub(crate) fn start_front(app: SocketAddr) -> Result<Daemon> {
    let listen = free_address()?;
    Daemon::start(ourselves("front")?.arg(listen.to_string()).arg(app.to_string()), listen)
}

pub(crate) fn start_linked_front(app: SocketAddr, folder: &Path) -> Result<(Daemon, Daemon)> {
    let (listen, nodes) = (free_address()?, free_address()?);
    let front = Daemon::start(
        ourselves("linked-front")?.arg(listen.to_string()).arg(nodes.to_string()).arg(folder),
        listen,
    )?;
    let node =
        Daemon::spawn(ourselves("node")?.arg(nodes.to_string()).arg(app.to_string()).arg(folder), nodes)?;
    Ok((front, node))
}

pub(crate) fn start_echo() -> Result<Daemon> {
    let listen = free_address()?;
    Daemon::start(ourselves("echo")?.arg(listen.to_string()), listen)
}

fn label() -> Label {
    Label::new(&[7; 32])
}

/// The name of the app at a gateway that listens here.
pub(crate) fn host(listen: SocketAddr) -> String {
    format!("{}.apps.localhost:{}", label(), listen.port())
}

// --- the gateway ----------------------------------------------------------------------------------------------------

enum Behind {
    Straight(SocketAddr),
    Link(watch::Receiver<Option<Link>>),
}

struct OneApp {
    label: Label,
    behind: Behind,
}

impl Authority for OneApp {
    fn may_ask(&self, _: Option<Peer>) -> bool {
        true
    }

    fn route<'a>(
        &'a self,
        label: &'a Label,
    ) -> Asked<'a, std::result::Result<Option<EndpointRoute>, Refused>> {
        let id = uuid::Uuid::from_u128;
        let route = EndpointRoute {
            label: self.label.clone(),
            tenant_id: TenantId::new(id(1)),
            project_id: ProjectId::new(id(2)),
            instance_id: InstanceId::new(id(3)),
            instance_name: "bench".into(),
            app_name: "bench".into(),
            node_id: NodeId::new(id(4)),
            component: "main".into(),
            name: "web".into(),
            port: 80,
            mode: AccessMode::EmbeddedUiGateway,
            public_access: PublicAccess::Off,
            active_revision: RevisionId::new(id(5)),
            access_epoch: 1,
            status: Status::Running,
            decommissioned: false,
            policy: EndpointPolicy::default(),
            version: 1,
        };
        let found = (*label == self.label).then_some(route);
        Box::pin(std::future::ready(Ok(found)))
    }

    fn enter<'a>(&'a self, _: &'a Label, _: &'a str) -> Asked<'a, std::result::Result<Entered, Refused>> {
        Box::pin(std::future::ready(Err(Refused::No)))
    }

    fn check<'a>(
        &'a self,
        _: &'a Label,
        presented: &'a Presented,
    ) -> Asked<'a, std::result::Result<Grant, Refused>> {
        let good = matches!(presented, Presented::Cookie(value) if value.expose() == SESSION);
        // As long as the real one.
        let grant = || Grant {
            access_epoch: Some(1),
            ends_in: Duration::from_hours(1),
            identity: Some(Secret::new("x".repeat(400))),
        };
        Box::pin(std::future::ready(good.then(grant).ok_or(Refused::No)))
    }

    fn is_open(&self, _: &EndpointRoute) -> bool {
        false
    }

    fn dial<'a>(
        &'a self,
        _: &'a EndpointRoute,
    ) -> Asked<'a, std::result::Result<Box<dyn ByteStream>, DialError>> {
        Box::pin(async {
            match &self.behind {
                Behind::Straight(app) => {
                    let stream = straight(*app).await.map_err(|_| DialError::NotAnswering)?;
                    Ok(Box::new(stream) as Box<dyn ByteStream>)
                }
                Behind::Link(link) => {
                    let mut link = link.clone();
                    let known =
                        link.wait_for(Option::is_some).await.map_err(|_| DialError::NodeAway)?.clone();
                    let request = Request::connect("app:1").body(Full::<Bytes>::default());
                    let (link, request) = known.zip(request.ok()).ok_or(DialError::NodeAway)?;
                    let stream = link.open(request, PATIENCE).await.map_err(|_| DialError::NotAnswering)?;
                    Ok(Box::new(stream) as Box<dyn ByteStream>)
                }
            }
        })
    }
}

async fn front(listen: SocketAddr, behind: Behind) -> Result {
    let port = listen.port();
    let names =
        Names::new(false, &format!("apps.localhost:{port}"), vec![format!("http://127.0.0.1:{port}")]);
    let tasks = Spawner::default();
    let app = Arc::new(OneApp { label: label(), behind });
    let gateway = Arc::new(Gateway::new(names, "bench", app, tasks.clone()));
    let kept_fresh = gateway.clone();
    tasks.spawn(async move {
        loop {
            kept_fresh.refresh().await;
            kept_fresh.take_passed();
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
    });
    let listener = TcpListener::bind(listen).await?;
    loop {
        let (stream, _) = listener.accept().await?;
        let _ = stream.set_nodelay(true);
        let gateway = gateway.clone();
        tasks.spawn(async move {
            let service = service_fn(move |request: Request<Incoming>| {
                let gateway = gateway.clone();
                async move {
                    let answer = gateway.serve(request).await;
                    Ok::<_, Infallible>(answer.map(|body| body.map_err(std::io::Error::other).boxed_unsync()))
                }
            });
            let mut builder = auto::Builder::new(TokioExecutor::new());
            builder
                .http1()
                .timer(TokioTimer::new())
                .header_read_timeout(Duration::from_secs(15))
                .max_buf_size(64 * 1024);
            let _ = builder.serve_connection_with_upgrades(TokioIo::new(stream), service).await;
        });
    }
}

// --- the link -------------------------------------------------------------------------------------------------------

async fn linked_front(listen: SocketAddr, nodes: SocketAddr, folder: &Path) -> Result {
    let (tls, ca) = certificates()?;
    std::fs::write(folder.join("ca.pem"), ca)?;
    let listener = TcpListener::bind(nodes).await?;
    let (known, link) = watch::channel(None);
    let tasks = Spawner::default();
    tasks.spawn(async move {
        let linked = async {
            let (tcp, _) = listener.accept().await?;
            tcp.set_nodelay(true)?;
            let tls = TlsAcceptor::from(tls).accept(tcp).await?;
            let socket = tokio_tungstenite::accept_async(tls).await?;
            Ok::<_, Error>(accept(socket.into_inner(), KeepAlive::default()).await?)
        };
        // Without a link every request waits in vain, and the measurement says so.
        let _ = known.send(linked.await.ok());
        known.closed().await;
    });
    front(listen, Behind::Link(link)).await
}

async fn node(nodes: SocketAddr, app: SocketAddr, folder: &Path) -> Result {
    let trust = client_config_with_ca(&std::fs::read_to_string(folder.join("ca.pem"))?)?;
    let io = dial(&format!("wss://{nodes}/link"), "token", &trust).await?;
    let scope = Scope::new();
    let streams = scope.clone();
    let answer = service_fn(move |mut request: Request<Incoming>| {
        let streams = streams.clone();
        async move {
            Ok::<_, Infallible>(match straight(app).await {
                Ok(tcp) => splice(&mut request, tcp, &streams),
                Err(_) => crate::link::not_there(),
            })
        }
    });
    serve(io, answer, &scope, KeepAlive::default()).await?;
    Ok(())
}

// --- the app of sockets ---------------------------------------------------------------------------------------------

/// Thousands of them are open at once.
pub(crate) fn small_buffers() -> WebSocketConfig {
    WebSocketConfig::default().read_buffer_size(2048).write_buffer_size(0)
}

async fn echo(listen: SocketAddr) -> Result {
    let (listener, tasks) = (TcpListener::bind(listen).await?, Spawner::default());
    loop {
        let (tcp, _) = listener.accept().await?;
        tcp.set_nodelay(true)?;
        tasks.spawn(async move {
            let _ = give_back(tcp).await;
        });
    }
}

async fn give_back(tcp: TcpStream) -> Result {
    let mut socket = tokio_tungstenite::accept_async_with_config(tcp, Some(small_buffers())).await?;
    while let Some(message) = socket.next().await {
        let message = message?;
        if message.is_text() {
            socket.send(message).await?;
        }
    }
    Ok(())
}
