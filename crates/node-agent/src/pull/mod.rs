//! The loopback registry that the engine pulls from.
//!
//! Before an image is used, pulled or found in the engine, the platform is asked whether this order may have it now, and
//! its signatures are checked here (`access`, `trust`): what lies on the node is no authority.
//!
//! Docker trusts `127.0.0.0/8` without certificates, so the agent answers there and does the rest itself: it reads the
//! manifest of the granted digest, works out which bytes belong to it, fetches them from the registry with the
//! platform's token and hands them on after checking them. A ticket is one pull: its credentials are random and die
//! with it, and it opens nothing but the parts of its image. Whatever goes wrong has a name in the ticket's verdict.

mod access;
mod registries;
mod serve;
mod ticket;
mod trust;

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use gpuaas_agent_protocol::spec::ImageGrant;
use gpuaas_agent_protocol::{Digest, FailureReason};
use gpuaas_api::agent::ImageAccessRequest;
use gpuaas_domain::ids::InstanceId;
use gpuaas_oci::manifest::{self, Descriptor, Manifest, Platform};
use gpuaas_oci::{BlobReader, ClientError, Credentials, FetchedManifest, Registry, Repository};
use gpuaas_program::{Clock, Spawner};
use tokio::net::TcpListener;
use tokio::time::Instant;

use crate::inventory::architecture;
use crate::seams::{Answer, Failure, ImageGate, ImageSource, PullTicket, WantedImage};
use crate::wall_clock::random_text;
use access::Access;
use registries::{Registries, failed, unusable};
use ticket::{Part, Ticket};

/// Platform and registry are asked this often before their silence is an answer.
const TRIES: u32 = 4;

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
    /// Before the first repetition of a request.
    pub retry_pause: Duration,
    /// Where the platform's own registry is.
    pub platform_url: String,
    /// The only one trusted for the platform's own registry; for others, beside the machine's own roots.
    pub platform_ca_pem: String,
}

type Tickets = Mutex<BTreeMap<String, Arc<Ticket>>>;

pub struct PullEndpoint {
    settings: PullSettings,
    address: SocketAddr,
    registries: Registries,
    gate: Arc<dyn ImageGate>,
    clock: Arc<dyn Clock>,
    tickets: Arc<Tickets>,
    spawner: Spawner,
}

/// An image that may be used now, and the way to it.
struct Admitted {
    access: Arc<Access>,
    registry: Arc<Registry>,
    repository: Repository,
}

impl PullEndpoint {
    /// Binds the port of the last run, or another one if that is taken, and serves until the agent stops.
    pub async fn start(
        settings: PullSettings,
        gate: Arc<dyn ImageGate>,
        clock: Arc<dyn Clock>,
        spawner: &Spawner,
    ) -> std::io::Result<Self> {
        let registries = Registries::new(&settings)?;
        let listener = bind(&settings.state_dir.join("pull-port")).await?;
        let address = listener.local_addr()?;
        let tickets = Arc::new(Tickets::default());
        serve::start(listener, tickets.clone(), spawner);
        Ok(Self { settings, address, registries, gate, clock, tickets, spawner: spawner.clone() })
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Asks the platform, and sees for itself that the registry has these bytes and that somebody trusted signed them.
    async fn examine(&self, wanted: &WantedImage<'_>) -> Result<(Admitted, FetchedManifest), Failure> {
        let reference = &wanted.grant.reference;
        let repository: Repository = reference
            .repository()
            .parse()
            .map_err(|error| failed(format!("{reference} is in no repository: {error}")))?;
        let request = ImageAccessRequest {
            app_instance_id: InstanceId::new(wanted.instance),
            generation: i64::try_from(wanted.generation).unwrap_or(i64::MAX),
            reference: reference.to_string(),
        };
        let deadline = Instant::now() + self.settings.total_timeout;
        let access = Access::ask(self.gate.clone(), request, self.settings.retry_pause, deadline).await?;
        let access = Arc::new(access);
        let credentials = Credentials::Issued(access.clone());
        let registry = self.registries.open(access.registry_url.as_deref(), credentials)?;
        let (digest, now) = (reference.digest(), self.clock.now());
        let (manifest, verdict) = tokio::join!(
            registry.get_manifest(&repository, digest),
            trust::look(&registry, &repository, digest, &access.trust, now)
        );
        let named = |error| access.failure(&error, digest);
        let manifest = manifest.map_err(named)?;
        trust::judge(&reference.to_string(), &access.trust, &verdict.map_err(named)?)?;
        Ok((Admitted { access, registry: Arc::new(registry), repository }, manifest))
    }

    /// Reads what the image consists of. Everything that may be asked for is known from here on.
    async fn issue(&self, wanted: &WantedImage<'_>) -> Result<PullTicket, Failure> {
        let (image, fetched) = self.examine(wanted).await?;
        let granted = wanted.grant.reference.digest();
        let mut meaning = fetched.read().map_err(|why| unusable(granted, &why))?;
        let mut manifests = BTreeMap::from([(granted.clone(), (fetched.bytes, fetched.media_type))]);
        if let Manifest::Index(index) = &meaning {
            let part = index
                .choose(&Platform::linux(architecture()))
                .map_err(|why| unusable(granted, &why))?
                .clone();
            let fetched = image.registry.get_manifest(&image.repository, &part.digest).await;
            let fetched = fetched.map_err(|error| image.access.failure(&error, &part.digest))?;
            meaning =
                manifest::read_promised(&fetched.bytes, &part).map_err(|why| unusable(&part.digest, &why))?;
            manifests.insert(part.digest, (fetched.bytes, part.media_type));
        }
        let Manifest::Image(parts) = meaning else {
            return Err(failed("an index leads to an index"));
        };
        parts.check_runnable().map_err(|why| unusable(granted, &why))?;
        let blobs = Part::each_once(std::iter::once(&parts.config).chain(&parts.layers));
        self.check_space(blobs.iter().map(|part| part.size).sum())?;
        let config = Self::read_config(&image, &parts.config).await?;
        let (username, password) = (random_text::<12>(), random_text::<32>());
        let credentials = (username.clone(), Digest::of(password.as_bytes()));
        let ticket = Ticket::new(credentials, image, self.settings.stall_timeout, manifests, blobs, config);
        let ticket = Arc::new(ticket);
        let (progress, verdict) = (ticket.progress(), ticket.verdict.clone());
        self.keep(ticket);
        Ok(PullTicket { image: self.local_name(wanted.grant), username, password, progress, verdict })
    }

    /// The configuration as a whole, checked before the engine sees a byte of it: it decides what runs, and engines judge it
    /// in words of their own.
    async fn read_config(image: &Admitted, config: &Descriptor) -> Result<(Digest, Bytes), Failure> {
        let mut reader =
            BlobReader::new(image.registry.clone(), &image.repository, &config.digest, config.size);
        let mut bytes = BytesMut::new();
        let reading = async {
            while let Some(piece) = reader.next().await? {
                bytes.extend_from_slice(&piece);
            }
            Ok::<_, ClientError>(())
        };
        let read = tokio::time::timeout_at(image.access.deadline, reading).await;
        let late =
            |_| Failure::new(FailureReason::ImagePullTimeout, "the image did not arrive before its deadline");
        read.map_err(late)?.map_err(|error| image.access.failure(&error, &config.digest))?;
        Ok((config.digest.clone(), bytes.freeze()))
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

    fn admit<'a>(&'a self, wanted: &'a WantedImage<'a>) -> Answer<'a, Result<(), Failure>> {
        Box::pin(async { self.examine(wanted).await.map(drop) })
    }

    fn open<'a>(&'a self, wanted: &'a WantedImage<'a>) -> Answer<'a, Result<PullTicket, Failure>> {
        Box::pin(self.issue(wanted))
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
