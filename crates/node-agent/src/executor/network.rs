//! The instance's network and the door on it.

use std::net::IpAddr;

use gpuaas_agent_protocol::FailureReason;
use gpuaas_agent_protocol::spec::{Egress, WorkloadSpec};
use gpuaas_faults::step;

use super::actor::{Actor, Halt};
use crate::runtime::subnet::Subnet;
use crate::runtime::{Found, NetworkMade, NetworkPlan};
use crate::seams::Failure;

/// The range is marked as promised while the network is being made; the engine knows it afterwards.
const ATTEMPTS: usize = 64;

pub(super) fn is_internal(spec: &WorkloadSpec) -> bool {
    spec.components.iter().all(|component| component.egress != Egress::Internet)
}

impl Actor {
    pub(super) async fn ensure_network(
        &mut self,
        spec: &WorkloadSpec,
        found: &Found,
    ) -> Result<Subnet, Halt> {
        if let Some(subnet) = found.networks.iter().find_map(|network| network.subnet) {
            self.record.subnet = Some(subnet);
            return Ok(subnet);
        }
        let mut refused = Vec::new();
        for _ in 0..ATTEMPTS {
            let Some(subnet) = self.promise(&refused).await? else {
                let detail = format!("Every /28 of {} is in use.", self.limits().pool);
                return Err(Halt::Failed(Failure::new(FailureReason::NetworkExhausted, detail)));
            };
            let plan = NetworkPlan { labels: self.labels(None), subnet, internal: is_internal(spec) };
            let made: Result<NetworkMade, Halt> = step!(self.shared.options.faults, "agent.network", {
                self.runtime().ensure_network(&plan).await.map_err(Halt::from)
            });
            self.shared.reserved.lock().await.remove(&subnet);
            match made? {
                NetworkMade::Made => {
                    self.record.subnet = Some(subnet);
                    return Ok(subnet);
                }
                NetworkMade::Overlaps => refused.push(subnet),
            }
        }
        Err(Halt::Again(Failure::new(
            FailureReason::NetworkExhausted,
            "Every range that was tried is in use.",
        )))
    }

    /// The first range that no network has and no other actor is about to take.
    async fn promise(&self, refused: &[Subnet]) -> Result<Option<Subnet>, Halt> {
        let mut reserved = self.shared.reserved.lock().await;
        let mut taken = self.runtime().list_subnets().await?;
        taken.extend(reserved.iter().copied());
        taken.extend(refused);
        let own = self.record.subnet;
        let pool = self.limits().pool;
        let again = own.filter(|own| pool.overlaps(*own) && !taken.iter().any(|taken| taken.overlaps(*own)));
        let subnet = again.or_else(|| pool.first_free(&taken));
        reserved.extend(subnet);
        Ok(subnet)
    }

    /// The door, unless no component may reach even the platform.
    pub(super) async fn open_door_for(
        &self,
        spec: &WorkloadSpec,
        subnet: Subnet,
    ) -> Result<Option<String>, Halt> {
        if spec.components.iter().all(|component| component.egress == Egress::None) {
            return Ok(None);
        }
        self.open_door(subnet).await.map(Some)
    }

    /// The instance API on the network's gateway address; gives its base address.
    pub(super) async fn open_door(&self, subnet: Subnet) -> Result<String, Halt> {
        let gateway = IpAddr::V4(subnet.gateway());
        step!(self.shared.options.faults, "agent.door", {
            let opened = self.shared.options.door.open(self.instance, gateway, subnet.prefix()).await;
            opened.map_err(|error| {
                let detail = format!("The instance API cannot listen on {gateway}: {error}.");
                Halt::Again(Failure::new(FailureReason::Internal, detail))
            })
        })
    }
}
