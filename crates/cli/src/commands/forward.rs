//! A port of an instance on this machine: every connection that is accepted here becomes one tunnel through the
//! platform. Nothing is listened to but the loopback interface unless asked for, because whoever can reach the port
//! can reach the app.

use std::cell::RefCell;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::time::Duration;

use clap::Args;
use futures_util::stream::{FuturesUnordered, StreamExt as _};
use gpuaas_api::Route;
use gpuaas_api::client::Client;
use gpuaas_api::instances::{ForwardQuery, InstanceDetail};
use gpuaas_domain::ids::{InstanceId, ProjectId};
use gpuaas_domain::lifecycle::Status;
use serde_json::{Value, json};
use tokio::net::{TcpListener, TcpStream};

use super::instance::InstanceArg;
use crate::failure::{Exit, Failure, Result};
use crate::printer::Printer;
use crate::session::{Session, parse};

/// Connections at once; more wait in the system's queue.
const MAX_CONNECTIONS: usize = 128;
/// After the system refused to accept, so that a full table of files is not asked without pause.
const ACCEPT_PAUSE: Duration = Duration::from_millis(200);

#[derive(Args)]
pub(crate) struct ForwardArgs {
    #[command(flatten)]
    instance: InstanceArg,
    /// The app's port; its first one for people unless given
    #[arg(long, value_parser = clap::value_parser!(u16).range(1..))]
    port: Option<u16>,
    /// Which component's port
    #[arg(long)]
    component: Option<String>,
    /// The port here; a free one unless given
    #[arg(long, value_name = "PORT", default_value_t = 0, hide_default_value = true)]
    local_port: u16,
    /// The address to listen on here
    #[arg(long, default_value_t = IpAddr::V4(Ipv4Addr::LOCALHOST))]
    address: IpAddr,
}

/// Where connections go.
struct Tunnels<'a> {
    client: &'a Client,
    printer: &'a Printer,
    project: ProjectId,
    instance: InstanceId,
    query: ForwardQuery,
    /// What was said last about a connection that failed: a browser tries again and again, and once is enough.
    said: RefCell<Option<String>>,
}

pub(crate) async fn run(session: &Session<'_>, args: &ForwardArgs) -> Result<()> {
    let (project, instance) = args.instance.resolve(session).await?;
    let raw = session.read(Route::InstanceGet, &[&project, &instance]).await?;
    let detail: InstanceDetail = parse(&raw)?;
    let query = ForwardQuery { component: args.component.clone(), port: args.port };
    let tunnels = Tunnels {
        client: &session.client,
        printer: session.printer(),
        project,
        instance,
        query,
        said: RefCell::default(),
    };
    let port = target(&detail, &tunnels.query);
    if detail.instance.status != Status::Running || port.is_none() {
        // It will be refused; the platform says why better than we could.
        tunnels.open().await?;
    }
    let wanted = SocketAddr::new(args.address, args.local_port);
    let listener = TcpListener::bind(wanted).await.map_err(|source| {
        Failure::new(Exit::Usage, "cannot_listen", format!("cannot listen on {wanted}: {source}"))
            .fix("choose another --local-port, or leave it out for a free one")
    })?;
    let here = listener.local_addr()?;
    announce(session.printer(), here, &detail, port)?;
    tokio::select! {
        ended = tunnels.serve(&listener) => ended,
        _ = tokio::signal::ctrl_c() => Ok(()),
    }
}

/// The port that the platform will choose.
fn target(detail: &InstanceDetail, query: &ForwardQuery) -> Option<i64> {
    let endpoints = detail
        .access
        .endpoints
        .iter()
        .map(|view| &view.endpoint)
        .filter(|endpoint| endpoint.expose != "internal");
    endpoints
        .filter(|endpoint| query.component.as_ref().is_none_or(|name| *name == endpoint.component))
        .map(|endpoint| endpoint.port)
        .find(|port| query.port.is_none_or(|wanted| i64::from(wanted) == *port))
}

fn announce(printer: &Printer, here: SocketAddr, detail: &InstanceDetail, port: Option<i64>) -> Result<()> {
    if !here.ip().is_loopback() {
        printer.warn(&format!("everybody who can reach {here} can reach the app now"));
    }
    if printer.is_json() {
        return printer.json_line(&place(here, detail, port));
    }
    printer.line(&announcement(here, &detail.instance.name, port))
}

/// The same for programs.
fn place(here: SocketAddr, detail: &InstanceDetail, port: Option<i64>) -> Value {
    json!({
        "url": format!("http://{here}/"), "address": here.ip().to_string(), "local_port": here.port(),
        "instance_id": detail.instance.id, "port": port,
    })
}

fn announcement(here: SocketAddr, name: &str, port: Option<i64>) -> String {
    let port = port.map_or_else(String::new, |port| format!(" port {port}"));
    format!("Forwarding http://{here}/ → instance {name}{port} (Ctrl-C ends it)")
}

impl Tunnels<'_> {
    async fn open(&self) -> Result<gpuaas_api::client::Tunnel> {
        let parameters: [&dyn std::fmt::Display; 2] = [&self.project, &self.instance];
        Ok(self.client.open_tunnel(Route::InstanceForward, &parameters, Some(&self.query)).await?)
    }

    /// Accepts for ever. One connection that fails says so and leaves the others alone.
    async fn serve(&self, listener: &TcpListener) -> Result<()> {
        let mut connections = FuturesUnordered::new();
        loop {
            tokio::select! {
                accepted = listener.accept(), if connections.len() < MAX_CONNECTIONS => match accepted {
                    Ok((stream, _)) => connections.push(self.carry(stream)),
                    Err(error) => {
                        self.printer.warn(&format!("a connection could not be accepted: {error}"));
                        tokio::time::sleep(ACCEPT_PAUSE).await;
                    }
                },
                Some(()) = connections.next(), if !connections.is_empty() => {}
            }
        }
    }

    async fn carry(&self, stream: TcpStream) {
        // Small answers must not wait for more to come.
        drop(stream.set_nodelay(true));
        match self.open().await {
            Ok(tunnel) => {
                self.said.take();
                match tunnel.join(stream).await {
                    Err(error) if is_news(&error) => {
                        self.printer.warn(&format!("a connection broke: {error}"));
                    }
                    Ok(()) | Err(_) => {}
                }
            }
            // The connection is closed by dropping it; the next one may do better.
            Err(failure) => {
                let what = failure.body().map(|body| body.error.message);
                if *self.said.borrow() != what {
                    self.printer.failure(&failure);
                    self.said.replace(what);
                }
            }
        }
    }
}

/// Browsers break connections off all the time.
fn is_news(error: &std::io::Error) -> bool {
    use std::io::ErrorKind::{BrokenPipe, ConnectionReset, NotConnected};
    !matches!(error.kind(), ConnectionReset | BrokenPipe | NotConnected)
}

#[cfg(test)]
mod tests;
