//! The loopback registry that the engine pulls from.
//!
//! Docker trusts `127.0.0.0/8` without certificates, so the agent answers there and does the rest itself: it reads the
//! manifest of the granted digest, works out which bytes belong to it, fetches them from the granted registry and
//! hands them on after checking them. A ticket is one pull: its credentials are random and die with it, and it opens
//! nothing but the parts of its image. Whatever goes wrong has a name in the ticket's verdict.

mod manifest;
mod serve;
mod ticket;
mod upstream;

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use gpuaas_agent_protocol::spec::ImageGrant;
use gpuaas_agent_protocol::{Digest, FailureReason};
use gpuaas_program::Spawner;
use tokio::net::TcpListener;
use tokio::time::Instant;

use crate::inventory::architecture;
use crate::seams::{Answer, Failure, ImageSource, PullTicket};
use crate::wall_clock::random_text;
use manifest::Manifest;
use ticket::Ticket;
use upstream::{Source, Upstream, failed};

#[derive(Clone, Debug)]
pub struct PullSettings {
    /// The state folder: remembers the port, because the engine's names of images hold it.
    pub state_dir: PathBuf,
    /// The folder whose file system images fill.
    pub images_dir: PathBuf,
    /// Silence of a registry after which a pull is given up.
    pub stall_timeout: Duration,
    /// A whole image may take this long.
    pub total_timeout: Duration,
    pub connect_timeout: Duration,
    /// Before the first repetition of a request; four times longer before each next.
    pub retry_pause: Duration,
    /// Trusted besides the machine's own roots: the platform's CA.
    pub extra_ca_pem: Option<String>,
}

type Tickets = Mutex<BTreeMap<String, Arc<Ticket>>>;

pub struct PullEndpoint {
    settings: PullSettings,
    address: SocketAddr,
    upstream: Arc<Upstream>,
    tickets: Arc<Tickets>,
    spawner: Spawner,
}

impl PullEndpoint {
    /// Binds the port of the last run, or another one if that is taken, and serves until the agent stops.
    pub async fn start(settings: PullSettings, spawner: &Spawner) -> std::io::Result<Self> {
        let upstream = Arc::new(Upstream::new(&settings)?);
        let listener = bind(&settings.state_dir.join("pull-port")).await?;
        let address = listener.local_addr()?;
        let tickets = Arc::new(Tickets::default());
        serve::start(listener, tickets.clone(), upstream.clone(), spawner);
        Ok(Self { settings, address, upstream, tickets, spawner: spawner.clone() })
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Reads what the image consists of. Everything that may be asked for is known from here on.
    async fn issue(&self, grant: &ImageGrant) -> Result<PullTicket, Failure> {
        let source = Source::of(grant, Instant::now() + self.settings.total_timeout)?;
        let granted = grant.reference.digest();
        let mut manifests = BTreeMap::new();
        let (bytes, kind) = self.upstream.manifest(&source, granted).await?;
        let mut meaning = manifest::read(&bytes, &kind, architecture()).map_err(failed)?;
        manifests.insert(granted.clone(), (bytes, kind));
        if let Manifest::Index(part) = meaning {
            let (bytes, kind) = self.upstream.manifest(&source, &part.digest).await?;
            if bytes.len() as u64 != part.size {
                return Err(upstream::mismatch(&part.digest, "the index gives the manifest another size"));
            }
            meaning = manifest::read(&bytes, &kind, architecture()).map_err(failed)?;
            manifests.insert(part.digest, (bytes, kind));
        }
        let Manifest::Image(blobs) = meaning else {
            return Err(failed("an index leads to an index"));
        };
        self.check_space(blobs.iter().map(|part| part.size).sum())?;
        let (username, password) = (random_text::<12>(), random_text::<32>());
        let credentials = (username.clone(), Digest::of(password.as_bytes()));
        let repository = grant.reference.repository().to_owned();
        let ticket = Arc::new(Ticket::new(credentials, repository, source, manifests, blobs));
        let (progress, verdict) = (ticket.progress(), ticket.verdict.clone());
        self.keep(ticket);
        Ok(PullTicket { image: self.local_name(grant), username, password, progress, verdict })
    }

    /// The ticket opens the door until its holder drops it.
    fn keep(&self, ticket: Arc<Ticket>) {
        let tickets = self.tickets.clone();
        lock(&tickets).insert(ticket.username.clone(), ticket.clone());
        self.spawner.spawn_until_stop(async move {
            ticket.dead().await;
            lock(&tickets).remove(&ticket.username);
        });
    }

    /// What does not even fit compressed is not started.
    fn check_space(&self, bytes: u64) -> Result<(), Failure> {
        let there = self.settings.images_dir.ancestors().find(|path| path.exists());
        let Ok(about) = rustix::fs::statvfs(there.unwrap_or(Path::new("/"))) else { return Ok(()) };
        let free = about.f_bavail.saturating_mul(about.f_frsize);
        if bytes > free {
            let detail = format!("the image needs {bytes} bytes at least, {free} are free");
            return Err(Failure::new(FailureReason::DiskFull, detail));
        }
        Ok(())
    }
}

impl ImageSource for PullEndpoint {
    fn local_name(&self, grant: &ImageGrant) -> String {
        format!("{}/{}@{}", self.address, grant.reference.repository(), grant.reference.digest())
    }

    fn open<'a>(&'a self, grant: &'a ImageGrant) -> Answer<'a, Result<PullTicket, Failure>> {
        Box::pin(self.issue(grant))
    }
}

fn lock(tickets: &Tickets) -> std::sync::MutexGuard<'_, BTreeMap<String, Arc<Ticket>>> {
    tickets.lock().expect("no holder of the tickets panics")
}

async fn bind(port_file: &Path) -> std::io::Result<TcpListener> {
    let before = std::fs::read_to_string(port_file).ok().and_then(|text| text.trim().parse::<u16>().ok());
    if let Some(port) = before
        && let Ok(listener) = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await
    {
        return Ok(listener);
    }
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
    let port = listener.local_addr()?.port();
    if let Some(before) = before {
        tracing::warn!("port {before} of the pull endpoint is taken; images get new names with port {port}");
    }
    crate::identity::write_whole(port_file, format!("{port}\n").as_bytes())?;
    Ok(listener)
}

#[cfg(test)]
mod tests;
