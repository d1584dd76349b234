//! What stands at the places for storage.

use super::*;
use crate::ids::{InstanceId, VolumeId};
use crate::volume::{Attachment, KnownVolume, Volume, VolumeState};

fn volume(number: u128, name: &str, node: u128) -> KnownVolume {
    let volume = Volume {
        id: id(VolumeId::new, number),
        tenant_id: id(TenantId::new, 2),
        project_id: id(ProjectId::new, 3),
        name: name.into(),
        node_id: id(NodeId::new, node),
        size_mib: Some(512),
        state: VolumeState::Ready,
        problem: None,
        created_by_kind: "user".into(),
        created_by_id: "x".into(),
        created_at: now(),
        deleting_at: None,
        ended_at: None,
        version: 1,
        updated_at: now(),
    };
    KnownVolume { volume, holders: Vec::new() }
}

fn held(mut known: KnownVolume, read_only: bool) -> KnownVolume {
    known.holders.push(Attachment {
        volume_id: known.volume.id,
        instance_id: id(InstanceId::new, 77),
        instance_name: "notebook".into(),
        mount: "workspace".into(),
        read_only,
        held_at: now(),
    });
    known
}

/// A workspace, and a data set that the app cannot do without.
fn scene() -> Scene {
    let mut document = sample();
    document["resources"] = json!({"mounts": [
        {"name": "workspace", "path": "/workspace", "kind": "workspace"},
        {"name": "corpus", "path": "/data/corpus", "kind": "data", "required": true, "read_only": true, "min_size_mib": 256},
    ]});
    let mut scene = Scene::of(&document);
    let gone = {
        let mut known = volume(23, "gone", 1);
        known.volume.state = VolumeState::Deleting;
        known
    };
    let small = {
        let mut known = volume(24, "small", 1);
        known.volume.size_mib = Some(1);
        known
    };
    scene.volumes =
        vec![volume(20, "home", 1), volume(21, "far", 9), held(volume(22, "busy", 1), false), gone, small];
    scene
}

fn choose(mounts: &[(&str, u128, bool)]) -> Wanted {
    let source = |number: &u128, read_only: &bool| MountSource::Volume {
        volume_id: id(VolumeId::new, *number),
        read_only: *read_only,
    };
    let mounts = mounts.iter().map(|(name, number, ro)| ((*name).to_owned(), source(number, ro))).collect();
    Wanted { wish: Wish { mounts, ..Wish::default() }, ..Wanted::default() }
}

/// I-06, I-07, P-01: every choice is offered with its fit or every reason; the default is scratch; a data set that is needed
/// needs a volume.
#[test]
fn each_place_offers_scratch_and_every_volume() {
    let form = scene().form(&Wanted::default());
    let workspace = &form.mounts[0];
    assert_eq!(workspace.value, MountSource::Scratch);
    let shown: Vec<(&str, bool, Vec<&str>)> =
        workspace.choices.iter().map(|one| (one.title.as_str(), one.fits, codes(&one.reasons))).collect();
    assert_eq!(
        shown,
        [
            ("Scratch: deleted with the instance", true, vec![]),
            ("Volume home", true, vec![]),
            ("Volume far", false, vec!["volume_on_other_node"]),
            ("Volume busy", false, vec!["volume_in_use"]),
            ("Volume gone", false, vec!["volume_not_ready"]),
            ("Volume small", true, vec![]),
        ]
    );
    let corpus: Vec<Vec<&str>> = form.mounts[1].choices.iter().map(|one| codes(&one.reasons)).collect();
    assert_eq!(
        corpus,
        [
            vec!["volume_required"],
            vec![],
            vec!["volume_on_other_node"],
            vec![],
            vec!["volume_not_ready"],
            vec!["volume_too_small"]
        ],
        "who only reads may read what another writes"
    );
    assert_eq!(errors(&form), [("/mounts/corpus", "volume_required")]);
    assert!(!form.launchable);
}

/// I-06, T-07: what cannot be is told with its path; what can be is planned, rendered and in the command.
#[test]
fn a_choice_is_checked_and_planned() {
    let scene = scene();
    for (mounts, expected) in [
        (vec![("corpus", 20, false), ("root", 20, false)], ("/mounts/root", "unknown_mount")),
        (vec![("corpus", 99, false)], ("/mounts/corpus/volume_id", "unknown_volume")),
        (vec![("corpus", 24, false)], ("/mounts/corpus/volume_id", "volume_too_small")),
        (vec![("corpus", 20, false), ("workspace", 20, true)], ("/mounts/corpus", "volume_mounted_twice")),
        (
            vec![("corpus", 20, false), ("workspace", 22, false)],
            ("/mounts/workspace/volume_id", "volume_in_use"),
        ),
        (vec![("corpus", 23, false)], ("/mounts/corpus/volume_id", "volume_not_ready")),
    ] {
        let form = scene.form(&choose(&mounts));
        assert_eq!(errors(&form), [expected], "{mounts:?}");
        assert!(!form.launchable);
    }
    let far = scene.form(&choose(&[("corpus", 21, false)]));
    assert!(far.allocations.iter().all(|one| codes(&one.reasons).contains(&"volume_on_other_node")));
    assert_eq!(errors(&far), [("/target_allocation_id", "required")]);

    let wanted = choose(&[("corpus", 22, false), ("workspace", 20, false)]);
    let (form, choices) = scene.try_form(&wanted).unwrap();
    assert_eq!((errors(&form), form.launchable), (vec![], true));
    assert!(
        form.command.ends_with(" --mount corpus=volume:busy --mount workspace=volume:home"),
        "{}",
        form.command
    );
    assert_eq!(choices.mounts.len(), 2);
    let chosen = scene.places.iter().find(|place| Some(place.allocation.id) == form.allocation_id).unwrap();
    let plan = launch::plan(&scene.app(), chosen.target(), &wanted.wish).unwrap().plan;
    let spec = &plan.rendered.as_ref().unwrap().components[0];
    assert!(spec.scratch.is_empty());
    let volumes: Vec<(u128, &str, bool)> =
        spec.volumes.iter().map(|one| (one.id.as_u128(), one.path.as_str(), one.read_only)).collect();
    assert_eq!(volumes, [(20, "/workspace", false), (22, "/data/corpus", true)]);
    let mounts: Vec<_> = plan
        .mounts
        .iter()
        .map(|one| (one.name.as_str(), one.volume_name.as_deref(), one.read_only))
        .collect();
    assert_eq!(mounts, [("workspace", Some("home"), false), ("corpus", Some("busy"), true)]);
    // What a plan refuses, it refuses with the code of the first and the paths of all.
    let refused = choose(&[("corpus", 23, false), ("workspace", 22, false)]);
    let error = launch::plan(&scene.app(), chosen.target(), &refused.wish).unwrap_err();
    assert_eq!((error.code(), error.field_errors().len()), ("volume_in_use", 2));
}

/// A launch without volumes has the bytes it had before there were any.
#[test]
fn without_volumes_nothing_is_rendered_of_them() {
    let mut document = sample();
    document["resources"] =
        json!({"mounts": [{"name": "workspace", "path": "/workspace", "kind": "workspace"}]});
    let scene = Scene::of(&document);
    let plan = scene.plan(0, &Wish::default()).unwrap();
    let text = serde_json::to_string(plan.rendered.as_ref().unwrap()).unwrap();
    assert!(
        !text.contains("volume")
            && text.contains(r#""scratch":[{"name":"workspace","path":"/workspace"}],"gpus""#),
        "{text}"
    );
    // An order of before is read as it is.
    let again: gpuaas_agent_protocol::spec::WorkloadSpec = serde_json::from_str(&text).unwrap();
    assert_eq!(Some(again), plan.rendered);
}
