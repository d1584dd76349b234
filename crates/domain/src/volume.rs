//! Volumes: storage of a project on one node, which outlives the instances that mount it. [`apply`] is the only way its state
//! changes; [`obstacles`] says everything that keeps a launch from mounting it.
//!
//! A volume has one writer at a time and any number of readers beside it. It is held from the launch of an instance until
//! the proof that its containers are gone: a stop gives it back like a GPU, and a start has to get it again. After a forced end
//! nobody has that proof, so the volume stays held until the node has swept.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::ids::{InstanceId, NodeId, ProjectId, TenantId, VolumeId};
use crate::lifecycle::named;
use crate::{Error, Result, Timestamp};

/// The most that a volume can be said to be meant for: an exbibyte.
pub const MAX_SIZE_MIB: i64 = 1 << 40;

named! {
    VolumeState {
        /// It can be mounted. Its folder is made when it is mounted first.
        Ready = "ready",
        /// Its node is to remove the bytes, and has not said yet that they are gone.
        Deleting = "deleting",
        /// The node has removed the bytes and looked again, or there was nothing left that could be removed.
        Deleted = "deleted",
        /// Its node was revoked or forgotten: nobody can reach the bytes any more.
        Lost = "lost",
    }
}

/// A volume as the platform knows it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Volume {
    pub id: VolumeId,
    pub tenant_id: TenantId,
    pub project_id: ProjectId,
    pub name: String,
    /// The node whose disk it lies on; only there it can be mounted.
    pub node_id: NodeId,
    /// What it is meant to hold. A word to people and to apps that ask for a least size; nothing enforces it.
    pub size_mib: Option<i64>,
    pub state: VolumeState,
    /// What keeps it from being removed for the moment.
    pub problem: Option<String>,
    pub created_by_kind: String,
    pub created_by_id: String,
    pub created_at: Timestamp,
    pub deleting_at: Option<Timestamp>,
    /// Since when it is deleted or lost.
    pub ended_at: Option<Timestamp>,
    pub version: i64,
    pub updated_at: Timestamp,
}

impl Volume {
    pub fn scope(&self) -> crate::iam::Scope {
        crate::iam::Scope::Project(self.tenant_id, self.project_id)
    }

    pub fn audit_view(&self) -> Value {
        json!({"name": self.name, "node_id": self.node_id, "size_mib": self.size_mib, "state": self.state, "version": self.version})
    }
}

/// That an instance holds a volume.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Attachment {
    pub volume_id: VolumeId,
    pub instance_id: InstanceId,
    pub instance_name: String,
    /// The place in the profile where it stands.
    pub mount: String,
    pub read_only: bool,
    pub held_at: Timestamp,
}

/// A volume and who holds it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KnownVolume {
    pub volume: Volume,
    pub holders: Vec<Attachment>,
}

/// What stands at a place for storage.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum MountSource {
    /// Dies with the instance.
    #[default]
    Scratch,
    /// Outlives it.
    Volume {
        volume_id: VolumeId,
        /// For reading only, where the profile would let it be written.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        read_only: bool,
    },
}

impl MountSource {
    pub fn volume(&self) -> Option<VolumeId> {
        match self {
            Self::Scratch => None,
            Self::Volume { volume_id, .. } => Some(*volume_id),
        }
    }

    /// Whether it is mounted for reading only, at a place that the profile declares so or not.
    pub fn is_read_only(&self, declared: bool) -> bool {
        declared || matches!(self, Self::Volume { read_only: true, .. })
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// Somebody wants it gone.
    Delete,
    /// The node attests that nothing of it is left.
    Removed,
    /// The node was revoked or forgotten.
    NodeGone,
}

/// What has to be done in the same transaction as the change of state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Order the node to remove the bytes.
    OrderRemoval,
    FinishOrder,
    VoidOrder,
}

/// The only way a volume changes. An event that changes nothing gives the same volume and no effect.
pub fn apply(
    volume: Volume,
    event: Event,
    holders: &[Attachment],
    at: Timestamp,
) -> Result<(Volume, Option<Effect>)> {
    use VolumeState as S;
    let moved = |state, volume: Volume| Volume { state, problem: None, ..volume };
    Ok(match (event, volume.state) {
        (Event::Delete, S::Ready) => {
            if !holders.is_empty() {
                return Err(in_use(&volume, holders));
            }
            (Volume { deleting_at: Some(at), ..moved(S::Deleting, volume) }, Some(Effect::OrderRemoval))
        }
        // Nobody can remove anything any more: what is taken away is the record, and the name is free.
        (Event::Delete, S::Lost) => (Volume { ended_at: Some(at), ..moved(S::Deleted, volume) }, None),
        (Event::Removed, S::Deleting) => {
            (Volume { ended_at: Some(at), ..moved(S::Deleted, volume) }, Some(Effect::FinishOrder))
        }
        (Event::NodeGone, S::Ready | S::Deleting) => {
            (Volume { ended_at: Some(at), ..moved(S::Lost, volume) }, Some(Effect::VoidOrder))
        }
        (Event::Delete, S::Deleting | S::Deleted)
        | (Event::Removed, S::Ready | S::Deleted | S::Lost)
        | (Event::NodeGone, S::Deleted | S::Lost) => (volume, None),
    })
}

fn in_use(volume: &Volume, holders: &[Attachment]) -> Error {
    let named: Vec<&str> = holders.iter().map(|holder| holder.instance_name.as_str()).collect();
    let instances: Vec<Value> = holders
        .iter()
        .map(|holder| json!({"id": holder.instance_id, "name": holder.instance_name, "read_only": holder.read_only}))
        .collect();
    Error::conflict(
        "volume_in_use",
        format!(
            "The volume {} is in use by {}; stop what uses it and wait until it is stopped.",
            volume.name,
            named.join(", ")
        ),
    )
    .with_param("volume_id", volume.id.to_string())
    .with_param("instances", instances)
}

/// Everything that keeps an instance on a node from mounting a volume. Where the node is not known yet, it is no obstacle.
pub fn obstacles(known: &KnownVolume, node: Option<NodeId>, read_only: bool) -> Vec<Error> {
    let KnownVolume { volume, holders } = known;
    let mut found = Vec::new();
    if volume.state != VolumeState::Ready {
        let sentence = format!("The volume {} is {}; choose another.", volume.name, volume.state.name());
        found.push(Error::conflict("volume_not_ready", sentence).with_param("state", volume.state.name()));
    }
    if node.is_some_and(|node| node != volume.node_id) {
        let sentence =
            format!("The volume {} lies on another node; launch on an allocation there.", volume.name);
        let elsewhere = Error::conflict("volume_on_other_node", sentence);
        found.push(elsewhere.with_param("node_id", volume.node_id.to_string()));
    }
    let writers: Vec<Attachment> = holders.iter().filter(|holder| !holder.read_only).cloned().collect();
    if !read_only && !writers.is_empty() {
        found.push(in_use(volume, &writers));
    }
    found
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    fn volume(state: VolumeState) -> Volume {
        let at = Timestamp::from_unix_seconds(1_700_000_000).unwrap();
        Volume {
            id: VolumeId::new(Uuid::from_u128(1)),
            tenant_id: TenantId::new(Uuid::from_u128(2)),
            project_id: ProjectId::new(Uuid::from_u128(3)),
            name: "data".into(),
            node_id: NodeId::new(Uuid::from_u128(4)),
            size_mib: Some(1024),
            state,
            problem: Some("the node is away".into()),
            created_by_kind: "user".into(),
            created_by_id: "x".into(),
            created_at: at,
            deleting_at: None,
            ended_at: None,
            version: 1,
            updated_at: at,
        }
    }

    fn held(number: u128, read_only: bool) -> Attachment {
        Attachment {
            volume_id: VolumeId::new(Uuid::from_u128(1)),
            instance_id: InstanceId::new(Uuid::from_u128(number)),
            instance_name: format!("app-{number}"),
            mount: "workspace".into(),
            read_only,
            held_at: Timestamp::from_unix_seconds(1_700_000_000).unwrap(),
        }
    }

    #[test]
    fn a_volume_goes_when_nobody_holds_it_and_the_node_has_said_so() {
        use VolumeState as S;
        let at = Timestamp::from_unix_seconds(1_700_000_100).unwrap();
        for (state, event, next, effect) in [
            (S::Ready, Event::Delete, S::Deleting, Some(Effect::OrderRemoval)),
            (S::Deleting, Event::Delete, S::Deleting, None),
            (S::Deleting, Event::Removed, S::Deleted, Some(Effect::FinishOrder)),
            (S::Ready, Event::Removed, S::Ready, None),
            (S::Ready, Event::NodeGone, S::Lost, Some(Effect::VoidOrder)),
            (S::Deleting, Event::NodeGone, S::Lost, Some(Effect::VoidOrder)),
            (S::Lost, Event::Delete, S::Deleted, None),
            (S::Lost, Event::Removed, S::Lost, None),
            (S::Deleted, Event::Delete, S::Deleted, None),
            (S::Deleted, Event::NodeGone, S::Deleted, None),
        ] {
            let (moved, done) = apply(volume(state), event, &[], at).unwrap();
            assert_eq!((moved.state, done), (next, effect), "{state:?} {event:?}");
            assert_eq!(moved == volume(state), next == state, "unmoved is unchanged: {state:?} {event:?}");
            assert_eq!(moved.ended_at == Some(at), next != state && next != S::Deleting);
        }
        let refused = apply(volume(S::Ready), Event::Delete, &[held(7, true)], at).unwrap_err();
        assert_eq!(refused.code(), "volume_in_use");
        assert!(refused.message().contains("app-7") && refused.params().contains_key("instances"));
    }

    #[test]
    fn one_writes_and_any_number_reads() {
        let known = |holders: Vec<Attachment>| KnownVolume { volume: volume(VolumeState::Ready), holders };
        let here = Some(volume(VolumeState::Ready).node_id);
        let codes = |known: &KnownVolume, node, read_only| {
            obstacles(known, node, read_only).iter().map(Error::code).collect::<Vec<_>>()
        };
        assert!(codes(&known(vec![]), here, false).is_empty());
        assert!(codes(&known(vec![held(1, true), held(2, true)]), here, false).is_empty());
        assert!(codes(&known(vec![held(1, false)]), here, true).is_empty());
        assert_eq!(codes(&known(vec![held(1, false), held(2, true)]), here, false), ["volume_in_use"]);
        let elsewhere = Some(NodeId::new(Uuid::from_u128(99)));
        assert_eq!(codes(&known(vec![]), elsewhere, false), ["volume_on_other_node"]);
        assert!(codes(&known(vec![]), None, false).is_empty());
        let gone = KnownVolume { volume: volume(VolumeState::Deleting), holders: vec![] };
        assert_eq!(codes(&gone, elsewhere, false), ["volume_not_ready", "volume_on_other_node"]);
    }
}
