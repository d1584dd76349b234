//! Which nodes are connected. At most one control and one data link of each; a new one ends the one before, because a node
//! that dials again has lost it, whatever the other end of that connection still believes.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard};

use gpuaas_control_plane::Clock;
use gpuaas_domain::Timestamp;
use gpuaas_domain::ids::NodeId;
use gpuaas_tunnel::Link;
use tokio::sync::broadcast;

/// Changes that a slow listener may lag behind before it is told that it missed some.
const REMEMBERED: usize = 1024;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Control,
    Data,
}

impl Kind {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Control => "control",
            Self::Data => "data",
        }
    }
}

/// A node came or went. A listener that lagged looks at everything again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Presence {
    Connected(NodeId),
    Disconnected(NodeId),
}

#[derive(Default)]
struct Node {
    control: Option<Held>,
    data: Option<Held>,
    /// Of links that have ended.
    last_seen: Option<Timestamp>,
}

struct Held {
    number: u64,
    link: Link,
}

impl Node {
    fn slot(&mut self, kind: Kind) -> &mut Option<Held> {
        match kind {
            Kind::Control => &mut self.control,
            Kind::Data => &mut self.data,
        }
    }

    fn live(&self) -> impl Iterator<Item = &Link> {
        [&self.control, &self.data].into_iter().flatten().map(|held| &held.link)
    }
}

#[derive(Default)]
struct Table {
    nodes: HashMap<NodeId, Node>,
    next_number: u64,
}

pub struct Links {
    table: Mutex<Table>,
    changes: broadcast::Sender<Presence>,
    clock: Arc<dyn Clock>,
}

impl Links {
    pub fn new(clock: Arc<dyn Clock>) -> Self {
        Self { table: Mutex::default(), changes: broadcast::Sender::new(REMEMBERED), clock }
    }

    /// Tells of every node that comes or goes from now on.
    pub fn subscribe(&self) -> broadcast::Receiver<Presence> {
        self.changes.subscribe()
    }

    /// When the node was last heard over a link of this process. While it is connected that is at most one keep-alive ago.
    pub fn last_seen(&self, node: NodeId) -> Option<Timestamp> {
        let table = self.table();
        let found = table.nodes.get(&node)?;
        found.live().map(|link| self.heard(link)).chain(found.last_seen).max()
    }

    pub fn connected(&self) -> Vec<NodeId> {
        let table = self.table();
        table.nodes.iter().filter(|(_, node)| node.control.is_some()).map(|(id, _)| *id).collect()
    }

    /// The number tells this link from a later one of the same node.
    pub(super) fn add(&self, node: NodeId, kind: Kind, link: Link) -> u64 {
        let mut table = self.table();
        table.next_number += 1;
        let number = table.next_number;
        let before = table.nodes.entry(node).or_default().slot(kind).replace(Held { number, link });
        drop(table);
        if let Some(before) = before {
            before.link.close();
        }
        if kind == Kind::Control {
            // Nobody listening is no fault.
            let _ = self.changes.send(Presence::Connected(node));
        }
        number
    }

    /// False if another link has taken its place.
    pub(super) fn remove(&self, node: NodeId, kind: Kind, number: u64) -> bool {
        let mut table = self.table();
        let Some(found) = table.nodes.get_mut(&node) else { return false };
        let Some(held) = found.slot(kind).take_if(|held| held.number == number) else { return false };
        found.last_seen = found.last_seen.max(Some(self.heard(&held.link)));
        drop(table);
        if kind == Kind::Control {
            let _ = self.changes.send(Presence::Disconnected(node));
        }
        true
    }

    pub(super) fn find(&self, node: NodeId, kind: Kind) -> Option<Link> {
        let mut table = self.table();
        let held = table.nodes.get_mut(&node)?.slot(kind).as_ref()?;
        (!held.link.is_closed()).then(|| held.link.clone())
    }

    /// Ends what the node holds. The entries go when the holders notice.
    pub(super) fn close(&self, node: NodeId) {
        if let Some(found) = self.table().nodes.get(&node) {
            found.live().for_each(Link::close);
        }
    }

    fn heard(&self, link: &Link) -> Timestamp {
        let now = self.clock.now();
        let ago = i64::try_from(link.last_heard().elapsed().as_micros()).unwrap_or(i64::MAX);
        Timestamp::from_unix_micros(now.unix_micros().saturating_sub(ago)).unwrap_or(now)
    }

    fn table(&self) -> MutexGuard<'_, Table> {
        self.table.lock().expect("no holder of the links panics")
    }
}
