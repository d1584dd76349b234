//! What the gateway knows at this moment: routes and grants, asked for once and then kept fresh in the background, so that a
//! request asks nobody. Whoever is let go loses what is open at once.

use std::net::IpAddr;
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, RwLock};
use std::time::Duration;

use gpuaas_domain::Secret;
use gpuaas_domain::access::{EndpointRoute, Label};
use gpuaas_domain::lifecycle::Status;
use gpuaas_program::Spawner;
use hyper::header::HeaderValue;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::headers::Shield;
use crate::kept::Kept;
use crate::names::Names;
use crate::proxy::Idle;

/// Connections of one principal that wait for the next request.
const IDLE_AT_MOST: usize = 32;
/// How long somebody new waits for an answer about them.
const ASKED: Duration = Duration::from_secs(10);
/// How long the look at everybody waits for one answer: who is silent must not hold up what was taken from others.
const ASKED_AGAIN: Duration = Duration::from_secs(2);
/// Questions at one time of that look. When so many were met with silence, the rest of it is left to the next.
const AT_ONCE: usize = 8;

pub type Asked<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// Both directions of one connection into a container.
pub trait ByteStream: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> ByteStream for T {}

/// What opens an endpoint.
pub enum Presented {
    Cookie(Secret<String>),
    Token(Secret<String>),
}

/// Who is let through.
pub struct Grant {
    /// Good only while the endpoint's epoch is this.
    pub access_epoch: Option<i64>,
    pub ends_in: Duration,
    /// What the app is told about who is there.
    pub identity: Option<Secret<String>>,
}

/// A fresh session with an endpoint.
pub struct Entered {
    pub cookie: Secret<String>,
    pub ends_in: Duration,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refused {
    No,
    /// Nobody could be asked.
    Unavailable,
    /// This address asks too often.
    TooOften,
}

/// Where a request comes from; the listener says it as an extension of the request.
#[derive(Clone, Copy, Debug)]
pub struct Peer(pub IpAddr);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DialError {
    NodeAway,
    NotAnswering,
}

/// Whom the gateway asks. It has no rights and no memory of its own.
pub trait Authority: Send + Sync {
    /// Whether this address may have one more question asked. Asked for what is not remembered only: who works in an app is.
    fn may_ask(&self, from: Option<Peer>) -> bool;

    fn route<'a>(&'a self, label: &'a Label) -> Asked<'a, Result<Option<EndpointRoute>, Refused>>;

    fn enter<'a>(&'a self, label: &'a Label, code: &'a str) -> Asked<'a, Result<Entered, Refused>>;

    fn check<'a>(&'a self, label: &'a Label, presented: &'a Presented) -> Asked<'a, Result<Grant, Refused>>;

    /// Whether anybody may come in at this endpoint without being known.
    fn is_open(&self, route: &EndpointRoute) -> bool;

    /// A connection to the endpoint's own container and port, and to nothing else.
    fn dial<'a>(&'a self, route: &'a EndpointRoute) -> Asked<'a, Result<Box<dyn ByteStream>, DialError>>;
}

/// What passed through one endpoint since it was last asked.
#[derive(Default)]
pub(crate) struct Counters {
    pub(crate) requests: AtomicU64,
    pub(crate) bytes_in: AtomicU64,
    pub(crate) bytes_out: AtomicU64,
    pub(crate) sessions: AtomicU64,
    pub(crate) connections: AtomicUsize,
}

/// Numbers to add up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Passed {
    pub requests: u64,
    pub bytes_in: u64,
    pub bytes_out: u64,
    pub sessions: u64,
}

impl Counters {
    fn take(&self) -> Passed {
        let take = |counter: &AtomicU64| counter.swap(0, Ordering::Relaxed);
        Passed {
            requests: take(&self.requests),
            bytes_in: take(&self.bytes_in),
            bytes_out: take(&self.bytes_out),
            sessions: take(&self.sessions),
        }
    }

    fn give_back(&self, passed: Passed) {
        self.requests.fetch_add(passed.requests, Ordering::Relaxed);
        self.bytes_in.fetch_add(passed.bytes_in, Ordering::Relaxed);
        self.bytes_out.fetch_add(passed.bytes_out, Ordering::Relaxed);
        self.sessions.fetch_add(passed.sessions, Ordering::Relaxed);
    }
}

/// An endpoint as it is served now.
pub(crate) struct Served {
    pub(crate) route: EndpointRoute,
    pub(crate) origin: String,
    pub(crate) shield: Shield,
    pub(crate) counters: Arc<Counters>,
    /// Set when what is open must close.
    pub(crate) ended: CancellationToken,
}

/// Somebody who was let in.
pub(crate) struct Admitted {
    pub(crate) label: Label,
    presented: Presented,
    pub(crate) access_epoch: Option<i64>,
    deadline: Instant,
    identity: RwLock<Option<HeaderValue>>,
    /// Connections to the app that only this one uses.
    idle: Mutex<Vec<Idle>>,
    pub(crate) ended: CancellationToken,
    stop: Spawner,
}

impl Admitted {
    pub(crate) fn identity(&self) -> Option<HeaderValue> {
        self.identity.read().expect("no holder panics").clone()
    }

    /// The connection that was used last, if it is still good for anything.
    pub(crate) fn take_idle(&self) -> Option<Idle> {
        let mut idle = self.idle.lock().expect("no holder panics");
        std::iter::from_fn(|| idle.pop()).find(Idle::is_fresh)
    }

    pub(crate) fn keep_idle(&self, one: Idle) {
        let mut idle = self.idle.lock().expect("no holder panics");
        // Looked at under the lock: whoever lets go at a stop comes after us and finds it.
        if idle.len() < IDLE_AT_MOST && !self.ended.is_cancelled() && !self.stop.is_stopping() {
            idle.push(one);
        }
    }

    pub(crate) fn is_good(&self) -> bool {
        !self.ended.is_cancelled() && Instant::now() < self.deadline
    }
}

/// Ends when this one is let go; for strangers never, there is nothing to take from them.
pub(crate) async fn ended(admitted: Option<&Arc<Admitted>>) {
    match admitted {
        Some(admitted) => admitted.ended.cancelled().await,
        None => std::future::pending().await,
    }
}

/// All of it.
pub(crate) struct Live {
    names: Names,
    authority: Arc<dyn Authority>,
    routes: Kept<Label, Served>,
    admitted: Kept<String, Admitted>,
    stop: Spawner,
}

impl Live {
    pub(crate) fn new(names: Names, authority: Arc<dyn Authority>, stop: Spawner) -> Self {
        Self { names, authority, routes: Kept::new(), admitted: Kept::new(), stop }
    }

    /// At a stop, connections that wait for a next request would wait for nothing, and the stop for them.
    pub(crate) async fn let_go_at_stop(&self) {
        self.stop.stopped().await;
        for (_, admitted) in self.admitted.look() {
            admitted.idle.lock().expect("no holder panics").clear();
        }
    }

    fn served(&self, route: EndpointRoute, counters: Arc<Counters>) -> Served {
        let shield = Shield::new(&self.names, &route.policy);
        let origin = self.names.origin(&route.label);
        Served { route, origin, shield, counters, ended: CancellationToken::new() }
    }

    /// A question for the platform, on behalf of somebody who is not known yet.
    fn ask(&self, from: Option<Peer>) -> Result<&dyn Authority, Refused> {
        if self.authority.may_ask(from) { Ok(&*self.authority) } else { Err(Refused::TooOften) }
    }

    pub(crate) async fn route(
        &self,
        label: &Label,
        from: Option<Peer>,
    ) -> Result<Option<Arc<Served>>, Refused> {
        if let Some(found) = self.routes.find(label) {
            return Ok(Some(found));
        }
        let Some(route) = within(ASKED, self.ask(from)?.route(label)).await? else { return Ok(None) };
        let served = self.served(route, Arc::default());
        self.routes.keep(label.clone(), Arc::new(served)).map(Some)
    }

    /// Whoever this is, if they may come in at this endpoint.
    pub(crate) async fn admit(
        &self,
        served: &Served,
        presented: Presented,
        from: Option<Peer>,
    ) -> Result<Arc<Admitted>, Refused> {
        let value = match &presented {
            Presented::Cookie(value) | Presented::Token(value) => value.expose(),
        };
        let label = &served.route.label;
        let kind = std::mem::discriminant(&presented);
        let fits = |one: &Admitted| {
            one.label == *label
                // A token in a cookie is no session, also where the token is known.
                && std::mem::discriminant(&one.presented) == kind
                && one.is_good()
                && one.access_epoch.is_none_or(|epoch| epoch == served.route.access_epoch)
        };
        if let Some(found) = self.admitted.find(value.as_str()) {
            return if fits(&found) { Ok(found) } else { Err(Refused::No) };
        }
        let key = value.clone();
        let grant = within(ASKED, self.ask(from)?.check(label, &presented)).await?;
        let admitted = Admitted {
            label: label.clone(),
            presented,
            access_epoch: grant.access_epoch,
            deadline: Instant::now() + grant.ends_in,
            identity: RwLock::new(header(grant.identity)),
            idle: Mutex::default(),
            ended: CancellationToken::new(),
            stop: self.stop.clone(),
        };
        let admitted = self.admitted.keep(key, Arc::new(admitted))?;
        if fits(&admitted) { Ok(admitted) } else { Err(Refused::No) }
    }

    pub(crate) async fn enter(
        &self,
        served: &Served,
        code: &str,
        from: Option<Peer>,
    ) -> Result<Entered, Refused> {
        let entered = within(ASKED, self.ask(from)?.enter(&served.route.label, code)).await?;
        served.counters.sessions.fetch_add(1, Ordering::Relaxed);
        Ok(entered)
    }

    /// Asks again about everything that is in use, and lets go what nobody needs.
    pub(crate) async fn refresh(&self) {
        use futures_util::StreamExt as _;
        self.let_go_stale();
        let silent = &AtomicUsize::new(0);
        let heard = |answered: bool| {
            if !answered {
                silent.fetch_add(1, Ordering::Relaxed);
            }
        };
        let goes_on = || silent.load(Ordering::Relaxed) < AT_ONCE;
        futures_util::stream::iter(self.routes.look())
            .for_each_concurrent(AT_ONCE, |(label, served)| async move {
                if goes_on() {
                    heard(self.refresh_route(&label, &served).await);
                }
            })
            .await;
        futures_util::stream::iter(self.admitted.look())
            .for_each_concurrent(AT_ONCE, |(key, admitted)| async move {
                if goes_on() {
                    heard(self.refresh_admitted(&key, &admitted).await);
                }
            })
            .await;
    }

    /// Where nobody has answered for too long, nobody stays in.
    fn let_go_stale(&self) {
        for served in self.routes.take_stale() {
            served.ended.cancel();
        }
        for admitted in self.admitted.take_stale() {
            admitted.ended.cancel();
        }
    }

    /// Whether there was an answer, or none was needed.
    async fn refresh_route(&self, label: &Label, served: &Arc<Served>) -> bool {
        // Counters that were not handed over yet keep their endpoint.
        let counters = &served.counters;
        let busy =
            counters.connections.load(Ordering::Relaxed) > 0 || counters.requests.load(Ordering::Relaxed) > 0;
        if !busy && self.routes.forget_unused(label) {
            return true;
        }
        match within(ASKED_AGAIN, self.authority.route(label)).await {
            Ok(Some(route)) if route == served.route => self.routes.confirm(label),
            Ok(Some(route)) => {
                let ends = must_end(&served.route, &route);
                let next = self.served(route, served.counters.clone());
                // The new one first: who comes now meets it.
                self.routes.replace(label, Arc::new(next));
                if ends {
                    served.ended.cancel();
                }
            }
            Ok(None) => {
                self.routes.remove(label);
                served.ended.cancel();
            }
            Err(_) => return false,
        }
        true
    }

    /// The same for somebody who was let in.
    async fn refresh_admitted(&self, key: &String, admitted: &Arc<Admitted>) -> bool {
        admitted.idle.lock().expect("no holder panics").retain(Idle::is_fresh);
        if !admitted.is_good() {
            admitted.ended.cancel();
            self.admitted.remove(key);
            return true;
        }
        if self.admitted.forget_unused(key) {
            return true;
        }
        match within(ASKED_AGAIN, self.authority.check(&admitted.label, &admitted.presented)).await {
            Ok(grant) if grant.access_epoch == admitted.access_epoch => {
                *admitted.identity.write().expect("no holder panics") = header(grant.identity);
                self.admitted.confirm(key);
            }
            Ok(_) | Err(Refused::No) => {
                admitted.ended.cancel();
                self.admitted.remove(key);
            }
            Err(_) => return false,
        }
        true
    }

    /// What passed since the last time.
    pub(crate) fn take_passed(&self) -> Vec<(Label, Passed)> {
        let all = self.routes.look().into_iter();
        all.map(|(label, served)| (label, served.counters.take()))
            .filter(|(_, passed)| *passed != Passed::default())
            .collect()
    }

    /// What could not be written counts the next time.
    pub(crate) fn give_back(&self, all: &[(Label, Passed)]) {
        for (label, passed) in all {
            if let Some(served) = self.routes.find(label) {
                served.counters.give_back(*passed);
            }
        }
    }
}

/// No answer in time is none.
async fn within<T>(patience: Duration, question: Asked<'_, Result<T, Refused>>) -> Result<T, Refused> {
    tokio::time::timeout(patience, question).await.unwrap_or(Err(Refused::Unavailable))
}

fn header(identity: Option<Secret<String>>) -> Option<HeaderValue> {
    let mut value = HeaderValue::from_str(identity?.expose()).ok()?;
    value.set_sensitive(true);
    Some(value)
}

/// Whether what is open to the old one has no right to the new one.
fn must_end(old: &EndpointRoute, new: &EndpointRoute) -> bool {
    new.decommissioned
        || new.status != Status::Running
        || new.access_epoch != old.access_epoch
        || new.active_revision != old.active_revision
        || new.node_id != old.node_id
        || new.mode != old.mode
        || new.public_access < old.public_access
}
