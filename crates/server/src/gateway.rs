//! The gateway role: what the gateway asks is asked of the control plane, and what it dials goes over the nodes' data links.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use gpuaas_control_plane::operations::access::{self, AppGrant};
use gpuaas_control_plane::{ControlPlane, LinkError};
use gpuaas_domain::access::{EndpointRoute, Label};
use gpuaas_domain::{Error, Kind, Timestamp};
use gpuaas_gateway::{
    Asked, Authority, ByteStream, DialError, Entered, Gateway, Grant, Names, Peer, Presented, Refused,
};
use gpuaas_program::Spawner;
use gpuaas_store::access::Traffic;

use crate::config::Config;
use crate::http::{Buckets, own_origins};

/// What is withdrawn closes within this, whoever withdrew it.
const RECHECK: Duration = Duration::from_secs(1);
/// Between two looks, however much is committed.
const PAUSE: Duration = Duration::from_millis(100);
const COUNT: Duration = Duration::from_secs(10);

struct Plane {
    plane: Arc<ControlPlane>,
    /// As many as callers of the API without a name may have.
    questions: Buckets<IpAddr>,
}

/// The gateway, if the platform has a name that apps can have theirs below.
pub(crate) fn role(
    config: &Config,
    plane: &Arc<ControlPlane>,
    public_url: &str,
    tasks: &Spawner,
) -> Option<Arc<Gateway>> {
    let apps = config.apps_authority(public_url)?;
    let names = Names::new(public_url.starts_with("https://"), &apps, own_origins(public_url));
    let short = &plane.short_id();
    let per_second = f64::from(config.limits.reads_per_second);
    let questions = Buckets::new(per_second, per_second);
    let authority = Plane { plane: plane.clone(), questions };
    Some(Arc::new(Gateway::new(names, short, Arc::new(authority), tasks.clone())))
}

/// Keeps what the gateway knows fresh, and writes down what passed.
pub(crate) fn start_loops(gateway: &Arc<Gateway>, plane: &Arc<ControlPlane>, tasks: &Spawner) {
    let (one, mut commits, stop) = (gateway.clone(), plane.store.commits(), tasks.clone());
    tasks.spawn(async move {
        while !stop.is_stopping() {
            one.refresh().await;
            let wait = async {
                tokio::time::sleep(PAUSE).await;
                commits.wait(RECHECK).await;
            };
            tokio::select! { () = wait => {}, () = stop.stopped() => {} }
        }
    });
    let (one, plane, stop) = (gateway.clone(), plane.clone(), tasks.clone());
    tasks.spawn(async move {
        loop {
            let stopping = tokio::select! {
                () = tokio::time::sleep(COUNT) => false,
                () = stop.stopped() => true,
            };
            write_traffic(&one, &plane).await;
            if stopping {
                return;
            }
        }
    });
}

/// What cannot be written now is written the next time.
pub async fn write_traffic(gateway: &Gateway, plane: &ControlPlane) {
    let passed = gateway.take_passed();
    if passed.is_empty() {
        return;
    }
    let whole = |number: u64| i64::try_from(number).unwrap_or(i64::MAX);
    let rows: Vec<(Label, Traffic)> = passed
        .iter()
        .map(|(label, passed)| {
            let traffic = Traffic {
                requests: whole(passed.requests),
                bytes_in: whole(passed.bytes_in),
                bytes_out: whole(passed.bytes_out),
                sessions: whole(passed.sessions),
            };
            (label.clone(), traffic)
        })
        .collect();
    if let Err(error) = access::add_traffic(plane, &rows).await {
        tracing::warn!("what passed through the gateway could not be written and is tried again: {error}");
        gateway.give_back(&passed);
    }
}

fn refused(error: &Error) -> Refused {
    match error.kind() {
        Kind::Internal | Kind::Unavailable => {
            tracing::warn!("the gateway could not ask: {error}");
            Refused::Unavailable
        }
        _ => Refused::No,
    }
}

impl Plane {
    fn left(&self, until: Timestamp) -> Duration {
        let micros = until.unix_micros().saturating_sub(self.plane.now().unix_micros());
        Duration::from_micros(u64::try_from(micros).unwrap_or(0))
    }

    fn grant(&self, grant: AppGrant) -> Grant {
        Grant {
            access_epoch: grant.access_epoch,
            ends_in: self.left(grant.expires_at),
            identity: grant.identity,
        }
    }
}

impl Authority for Plane {
    fn may_ask(&self, from: Option<Peer>) -> bool {
        let from = from.map_or(IpAddr::from([0, 0, 0, 0]), |peer| peer.0);
        self.questions.take(from, self.plane.now()).is_ok()
    }

    fn route<'a>(&'a self, label: &'a Label) -> Asked<'a, Result<Option<EndpointRoute>, Refused>> {
        Box::pin(async move { access::route(&self.plane, label).await.map_err(|error| refused(&error)) })
    }

    fn enter<'a>(&'a self, label: &'a Label, code: &'a str) -> Asked<'a, Result<Entered, Refused>> {
        Box::pin(async move {
            let session = access::redeem(&self.plane, label, code).await.map_err(|error| refused(&error))?;
            Ok(Entered { cookie: session.cookie, ends_in: self.left(session.expires_at) })
        })
    }

    fn check<'a>(&'a self, label: &'a Label, presented: &'a Presented) -> Asked<'a, Result<Grant, Refused>> {
        Box::pin(async move {
            let checked = match presented {
                Presented::Cookie(value) => access::check_session(&self.plane, label, value.expose()).await,
                Presented::Token(value) => access::check_token(&self.plane, label, value.expose()).await,
            };
            checked.map(|grant| self.grant(grant)).map_err(|error| refused(&error))
        })
    }

    fn is_open(&self, route: &EndpointRoute) -> bool {
        access::check_open(route)
    }

    fn dial<'a>(&'a self, route: &'a EndpointRoute) -> Asked<'a, Result<Box<dyn ByteStream>, DialError>> {
        Box::pin(async move {
            let dialled =
                self.plane.links().open(route.node_id, route.instance_id, &route.component, route.port).await;
            match dialled {
                Ok(stream) => Ok(Box::new(stream) as Box<dyn ByteStream>),
                Err(LinkError::NotConnected) => Err(DialError::NodeAway),
                Err(LinkError::TimedOut | LinkError::Broken(_) | LinkError::Answered { .. }) => {
                    Err(DialError::NotAnswering)
                }
            }
        })
    }
}
