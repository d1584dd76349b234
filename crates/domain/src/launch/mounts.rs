//! What stands at each place for storage that a profile declares. A place for which nothing is chosen is scratch.

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{View, Wish};
use crate::ids::{NodeId, VolumeId};
use crate::manifest::{Mount, MountKind, Profile};
use crate::text::member_at;
use crate::volume::{self, KnownVolume, MountSource};
use crate::{Error, FieldError, Result};

const PATH: &str = "/mounts";

/// A place for storage, and what a launch puts there.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PlannedMount {
    pub name: String,
    pub path: String,
    pub kind: MountKind,
    pub read_only: bool,
    pub source: MountSource,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub volume_name: Option<String>,
}

pub(crate) fn pointer(mount: &str) -> String {
    member_at(PATH, mount)
}

/// What is chosen for a place.
pub(crate) fn chosen(wish: &Wish, mount: &Mount) -> MountSource {
    wish.mounts.get(&mount.name).cloned().unwrap_or_default()
}

fn known<'v>(view: &View<'v>, id: VolumeId) -> Option<&'v KnownVolume> {
    view.volumes.iter().find(|known| known.volume.id == id)
}

/// Whether a place cannot do without a volume: what an app is to find there is not there by itself.
fn needs_volume(mount: &Mount) -> bool {
    mount.required && matches!(mount.kind, MountKind::Data | MountKind::Model)
}

/// What is wrong with the choice for one place whatever the state of things.
pub(crate) fn place_fault(view: &View<'_>, mount: &Mount, source: &MountSource) -> Option<FieldError> {
    let at = pointer(&mount.name);
    let Some(id) = source.volume() else {
        let sentence = "The app needs a volume here; choose one, or create one first.";
        return needs_volume(mount).then(|| FieldError::new(at, "volume_required", sentence));
    };
    let Some(found) = known(view, id) else {
        let sentence = "The project has no such volume.";
        return Some(FieldError::new(format!("{at}/volume_id"), "unknown_volume", sentence));
    };
    let (least, size) = (mount.min_size_mib?.0, found.volume.size_mib?);
    (size < i64::from(least)).then(|| {
        let sentence = format!("The app needs {least} MiB here; the volume is meant for {size} MiB.");
        FieldError::new(format!("{at}/volume_id"), "volume_too_small", sentence)
    })
}

/// Everything in the choices that no state of things could mend.
pub(crate) fn faults(view: &View<'_>, profile: &Profile, wish: &Wish) -> Vec<FieldError> {
    let declared = |name: &String| profile.mounts.iter().any(|mount| mount.name == *name);
    let unknown = wish.mounts.keys().filter(|name| !declared(name));
    let mut found: Vec<FieldError> = unknown
        .map(|name| {
            FieldError::new(
                pointer(name),
                "unknown_mount",
                "The app declares no place for storage of this name.",
            )
        })
        .collect();
    let mut seen = BTreeSet::new();
    for mount in &profile.mounts {
        let source = chosen(wish, mount);
        found.extend(place_fault(view, mount, &source));
        if source.volume().is_some_and(|id| !seen.insert(id)) {
            let sentence = "A volume stands at one place of an instance only.";
            found.push(FieldError::new(pointer(&mount.name), "volume_mounted_twice", sentence));
        }
    }
    found
}

/// Everything about one place that is in the way now, each with its path.
pub(crate) fn obstacles(
    view: &View<'_>,
    mount: &Mount,
    source: &MountSource,
    node: Option<NodeId>,
) -> Vec<Error> {
    let Some(known) = source.volume().and_then(|id| known(view, id)) else { return Vec::new() };
    let at = format!("{}/volume_id", pointer(&mount.name));
    let found = volume::obstacles(known, node, source.is_read_only(mount.read_only));
    let placed = found.into_iter().map(|error| {
        let field = FieldError::new(at.clone(), error.code(), error.message());
        error.with_fields(vec![field])
    });
    placed.collect()
}

/// The same about all places of a launch.
pub(crate) fn all_obstacles(
    view: &View<'_>,
    profile: &Profile,
    wish: &Wish,
    node: Option<NodeId>,
) -> Vec<Error> {
    let each = profile.mounts.iter().flat_map(|mount| obstacles(view, mount, &chosen(wish, mount), node));
    each.collect()
}

/// What stands where, if nothing is in the way.
pub(super) fn plan(
    view: &View<'_>,
    profile: &Profile,
    wish: &Wish,
    node: NodeId,
) -> Result<Vec<PlannedMount>> {
    let mut obstacles = all_obstacles(view, profile, wish, Some(node));
    if !obstacles.is_empty() {
        let fields = obstacles.iter().flat_map(|error| error.field_errors().to_vec()).collect();
        return Err(obstacles.swap_remove(0).with_fields(fields));
    }
    let planned = profile.mounts.iter().map(|mount| {
        let source = chosen(wish, mount);
        PlannedMount {
            name: mount.name.clone(),
            path: mount.path.clone(),
            kind: mount.kind,
            read_only: source.is_read_only(mount.read_only),
            volume_name: source
                .volume()
                .and_then(|id| known(view, id))
                .map(|known| known.volume.name.clone()),
            source,
        }
    });
    Ok(planned.collect())
}
