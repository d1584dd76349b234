//! Ports on the node's own 127.0.0.1. The engine publishes nothing; the agent listens and passes on, so a port is open
//! exactly as long as the instance is up and never on another address.

use std::collections::BTreeMap;
use std::io;
use std::net::Ipv4Addr;
use std::sync::{Arc, Weak};
use std::time::Duration;

use gpuaas_agent_protocol::FailureReason;
use gpuaas_agent_protocol::spec::WorkloadSpec;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::{AbortHandle, JoinSet};
use uuid::Uuid;

use super::{Executor, Shared};
use crate::journal::Wish;
use crate::seams::Failure;

/// Connections through one port at a time.
const MAX_CONNECTIONS: usize = 1024;

/// The open ports of one instance. They close when this is dropped.
#[derive(Default)]
pub(super) struct HostPorts(BTreeMap<u16, AbortHandle>);

impl HostPorts {
    /// Opens what is missing.
    pub(super) async fn ensure(
        &mut self,
        shared: &Arc<Shared>,
        instance: Uuid,
        spec: &WorkloadSpec,
    ) -> Result<(), Failure> {
        for component in &spec.components {
            for (port, host) in component.ports.iter().filter_map(|port| Some((port.container, port.host?))) {
                if self.0.contains_key(&host) {
                    continue;
                }
                let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, host)).await.map_err(|error| {
                    Failure::new(FailureReason::PortTaken, format!("127.0.0.1:{host}: {error}."))
                })?;
                let target = Target {
                    shared: Arc::downgrade(shared),
                    instance,
                    component: component.name.clone(),
                    port,
                };
                self.0.insert(host, shared.tasks.spawn(serve(listener, target)));
            }
        }
        Ok(())
    }

    pub(super) fn open(&self) -> Vec<u16> {
        self.0.keys().copied().collect()
    }

    pub(super) fn close(&mut self) {
        for (_, task) in std::mem::take(&mut self.0) {
            task.abort();
        }
    }
}

impl Drop for HostPorts {
    fn drop(&mut self) {
        self.close();
    }
}

/// Where connections of one port lead.
struct Target {
    /// Weak, because the executor owns the task that owns this.
    shared: Weak<Shared>,
    instance: Uuid,
    component: String,
    port: u16,
}

async fn serve(listener: TcpListener, target: Target) {
    let mut connections = JoinSet::new();
    loop {
        while connections.try_join_next().is_some() {}
        if connections.len() >= MAX_CONNECTIONS {
            connections.join_next().await;
        }
        let Ok((mut outside, _)) = listener.accept().await else {
            // Out of file descriptors: a while later there may be one.
            tokio::time::sleep(Duration::from_millis(100)).await;
            continue;
        };
        // A workload that refuses is told by closing.
        let Some(shared) = target.shared.upgrade() else { return };
        let Ok(mut inside) = shared.connect(target.instance, &target.component, target.port).await else {
            continue;
        };
        connections.spawn(async move {
            let _ = tokio::io::copy_bidirectional(&mut outside, &mut inside).await;
        });
    }
}

impl Executor {
    /// A connection to a declared port of a component, at the address its container has now.
    pub async fn connect(&self, instance: Uuid, component: &str, port: u16) -> io::Result<TcpStream> {
        self.shared.connect(instance, component, port).await
    }
}

impl Shared {
    pub(super) async fn connect(&self, instance: Uuid, component: &str, port: u16) -> io::Result<TcpStream> {
        let missing = || io::Error::new(io::ErrorKind::NotFound, "No such instance, component or port.");
        let slot = self.find(instance).ok_or_else(missing)?;
        let Wish::Launch { spec } = slot.record().wish else { return Err(missing()) };
        let declared =
            spec.components.iter().find(|declared| declared.name == component).ok_or_else(missing)?;
        if !declared.ports.iter().any(|declared| declared.container == port) {
            return Err(missing());
        }
        let live = slot.live();
        let running = live
            .components
            .iter()
            .map(|component| &component.view)
            .find(|view| view.labels.component.as_deref() == Some(component) && view.state.is_running());
        let view = running
            .ok_or_else(|| io::Error::new(io::ErrorKind::NotConnected, "The component does not run."))?;
        let address = self.options.runtime.dial_address(view, port).ok_or(io::ErrorKind::NotConnected)?;
        let stream = TcpStream::connect(address).await?;
        stream.set_nodelay(true)?;
        Ok(stream)
    }
}
