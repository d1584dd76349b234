//! Collecting garbage beside everything else.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::stream;
use gpuaas_faults::{Action, Faults};
use gpuaas_registry::manifest::{self, MediaType};
use gpuaas_registry::storage::NewManifest;
use gpuaas_registry::{
    Algorithm, Digest, Error, LocalDisk, Options, Policy, Reference, RepositoryName, Result, Storage as _,
};
use proptest::prelude::{Just, Strategy, prop_oneof};
use proptest::strategy::ValueTree as _;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use reqwest::Method;
use tokio::task::JoinSet;

use crate::world::{LaterClock, World, image, look, noise, sha256};

const ROUNDS: usize = 1000;

/// A small world, so that operations meet: two repositories, four blobs, six possible images.
#[derive(Clone, Debug)]
enum Op {
    Push { repository: usize, blob: usize },
    Mount { from: usize, blob: usize },
    Look { repository: usize, blob: usize },
    Put { repository: usize, blobs: (usize, usize), tag: usize },
    DeleteTag { repository: usize, tag: usize },
    DeleteManifest { repository: usize, blobs: (usize, usize) },
    DeleteBlob { repository: usize, blob: usize },
    Abandon { repository: usize },
    TimePasses,
    Collect,
}

fn any_op() -> impl Strategy<Value = Op> {
    let (repository, blob) = (0..2_usize, 0..4_usize);
    let pair = (0..4_usize, 0..4_usize);
    prop_oneof![
        4 => (repository.clone(), blob.clone()).prop_map(|(repository, blob)| Op::Push { repository, blob }),
        2 => (repository.clone(), blob.clone()).prop_map(|(from, blob)| Op::Mount { from, blob }),
        1 => (repository.clone(), blob.clone()).prop_map(|(repository, blob)| Op::Look { repository, blob }),
        4 => (repository.clone(), pair.clone(), 0..2_usize)
            .prop_map(|(repository, blobs, tag)| Op::Put { repository, blobs, tag }),
        1 => (repository.clone(), 0..2_usize).prop_map(|(repository, tag)| Op::DeleteTag { repository, tag }),
        3 => (repository.clone(), pair).prop_map(|(repository, blobs)| Op::DeleteManifest { repository, blobs }),
        1 => (repository.clone(), blob).prop_map(|(repository, blob)| Op::DeleteBlob { repository, blob }),
        1 => repository.prop_map(|repository| Op::Abandon { repository }),
        2 => Just(Op::TimePasses),
        4 => Just(Op::Collect),
    ]
}

fn name(number: usize) -> RepositoryName {
    ["one/app", "two"][number].parse().unwrap()
}

fn blob(number: usize) -> Vec<u8> {
    noise(number as u64 + 1, 200 + number)
}

fn manifest_of((config, layer): (usize, usize)) -> Bytes {
    image(&blob(config), &[&blob(layer)]).to_string().into()
}

async fn perform(disk: &LocalDisk, clock: &LaterClock, op: &Op) -> Result<()> {
    match op {
        Op::Push { repository, blob: number } => {
            let (repository, bytes) = (name(*repository), blob(*number));
            let upload = disk.start_upload(&repository).await?;
            disk.append(&repository, &upload, None, stream::iter([Ok(bytes.clone().into())])).await?;
            disk.finish_upload(&repository, &upload, &sha256(&bytes)).await
        }
        Op::Mount { from, blob: number } => {
            let digest = sha256(&blob(*number));
            disk.mount_blob(&name(1 - from), &name(*from), &digest).await.map(drop)
        }
        Op::Look { repository, blob: number } => disk
            .find_blob_size(&name(*repository), &sha256(&blob(*number)))
            .await?
            .map(drop)
            .ok_or(Error::BlobUnknown),
        Op::Put { repository, blobs, tag } => {
            let bytes = manifest_of(*blobs);
            let manifest = manifest::read(&bytes, MediaType::OciManifest, Policy::default())?;
            let tag = Some(["v0", "v1"][*tag].parse().unwrap());
            let new = NewManifest { digest: sha256(&bytes), bytes, manifest, tag };
            disk.put_manifest(&name(*repository), new).await
        }
        Op::DeleteTag { repository, tag } => {
            disk.delete_manifest(&name(*repository), &["v0", "v1"][*tag].parse().unwrap()).await
        }
        Op::DeleteManifest { repository, blobs } => {
            let digest = sha256(&manifest_of(*blobs));
            disk.delete_manifest(&name(*repository), &Reference::Digest(digest)).await
        }
        Op::DeleteBlob { repository, blob: number } => {
            disk.delete_blob(&name(*repository), &sha256(&blob(*number))).await
        }
        Op::Abandon { repository } => disk.start_upload(&name(*repository)).await.map(drop),
        Op::TimePasses => {
            clock.pass(Duration::from_hours(25));
            Ok(())
        }
        Op::Collect => disk.collect().await.map(drop),
    }
}

/// What a caller may be told here; everything else is a fault of ours.
fn is_expected(error: &Error) -> bool {
    matches!(
        error,
        Error::BlobUnknown
            | Error::ManifestUnknown
            | Error::PartsMissing(_)
            | Error::BlobInUse
            | Error::UploadUnknown
    )
}

/// R08: no interleaving of pushes, mounts, manifests, deletes and collections loses a blob that a manifest names, and
/// after the grace nothing is left that no manifest names.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_interleaving_loses_what_is_named_or_keeps_what_is_not() {
    let folder = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap();
    let (root, clock) = (folder.path().join("r"), Arc::new(LaterClock::default()));
    let options = Options { clock: clock.clone(), ..Options::default() };
    let disk = Arc::new(LocalDisk::open(&root, options).await.unwrap());
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &[7; 32]);
    let mut runner = TestRunner::new_with_rng(Config::default(), rng);
    let rounds = proptest::collection::vec((any_op(), 0..6_usize), 4..14);
    let mut kept = 0;
    for round in 0..ROUNDS {
        let ops = rounds.new_tree(&mut runner).unwrap().current();
        // Old blobs that nothing names yet, in turn with old contents that no repository has: what the collector is
        // about to take when somebody comes for it.
        for number in 0..4 {
            perform(&disk, &clock, &Op::Push { repository: round % 2, blob: number }).await.unwrap();
            if round % 4 < 2 {
                let _ = perform(&disk, &clock, &Op::DeleteBlob { repository: round % 2, blob: number }).await;
            }
        }
        clock.pass(Duration::from_hours(25));
        let mut running = JoinSet::new();
        for (op, pauses) in ops.clone() {
            let (disk, clock) = (disk.clone(), clock.clone());
            running.spawn(async move {
                for _ in 0..pauses {
                    tokio::task::yield_now().await;
                }
                (perform(&disk, &clock, &op).await, op)
            });
        }
        for (outcome, op) in running.join_all().await {
            assert!(
                outcome.as_ref().is_ok_and(|()| true) || outcome.as_ref().is_err_and(is_expected),
                "round {round}: {op:?}: {outcome:?}"
            );
        }
        // Here every blob that a manifest names is there, or this panics.
        look(&root);
        clock.pass(Duration::from_hours(50));
        disk.collect().await.unwrap();
        let found = look(&root);
        let named: BTreeSet<&String> = found.named.values().flatten().collect();
        assert_eq!(found.blobs, found.named, "round {round}: {ops:?}");
        assert_eq!(found.contents.iter().collect::<BTreeSet<_>>(), named, "round {round}: {ops:?}");
        assert_eq!(found.uploads, 0);
        kept += named.len();
    }
    assert!(kept > ROUNDS / 2, "the world was mostly empty: {kept}");
}

#[tokio::test]
async fn what_is_young_is_left_alone_and_a_look_makes_it_young_again() {
    let world = World::new().await;
    let kept = world.push("a", b"its manifest is on the way").await;
    let lost = world.push("a", b"nobody wants this").await;
    world.clock.pass(Duration::from_hours(20));
    world.registry.collect().await.unwrap();
    world.head(&format!("/v2/a/blobs/{kept}")).await.is(200);
    world.clock.pass(Duration::from_hours(20));
    let collected = world.registry.collect().await.unwrap();
    assert_eq!((collected.unlinked, collected.contents, collected.bytes), (1, 1, 17));
    world.head(&format!("/v2/a/blobs/{kept}")).await.is(200);
    world.head(&format!("/v2/a/blobs/{lost}")).await.is(404);
}

/// F-06: what runs is named by digest, so a manifest without a tag is no garbage.
#[tokio::test]
async fn a_manifest_without_a_tag_and_its_blobs_stay() {
    let world = World::new().await;
    let digest = world.push_image("a", "v1", 1).await;
    world.call(Method::DELETE, "/v2/a/manifests/v1").await.is(202);
    world.clock.pass(Duration::from_hours(1000));
    assert_eq!(world.registry.collect().await.unwrap(), gpuaas_registry::Collected::default());
    world.get(&format!("/v2/a/manifests/{digest}")).await.is(200);
    world.get(&format!("/v2/a/blobs/{}", sha256(&noise(1001, 5000)))).await.is(200);
    world.call(Method::DELETE, &format!("/v2/a/manifests/{digest}")).await.is(202);
    let collected = world.registry.collect().await.unwrap();
    assert_eq!((collected.unlinked, collected.contents, collected.bytes), (2, 2, 5100));
}

/// A reader that has begun gets all of it, whatever is deleted meanwhile.
#[tokio::test]
async fn a_pull_under_way_outlives_the_blob() {
    let world = World::new().await;
    let bytes = noise(1, 30_000_000);
    let path = format!("/v2/a/blobs/{}", world.push("a", &bytes).await);
    let mut response = world.request(Method::GET, &path).send().await.unwrap();
    let mut got = response.chunk().await.unwrap().unwrap().to_vec();
    world.call(Method::DELETE, &path).await.is(202);
    assert!(look(&world.root()).contents.is_empty());
    while let Some(chunk) = response.chunk().await.unwrap() {
        got.extend_from_slice(&chunk);
    }
    assert!(got == bytes);
}

/// A file system allows an inode only so many names. Beyond that a repository gets a fresh copy.
#[tokio::test]
async fn a_content_with_as_many_links_as_the_file_system_allows_takes_more_repositories() {
    let world = World::new().await;
    let digest = world.push("a", b"{}").await;
    let content = world.root().join("content/sha256").join(&digest.hex()[..2]).join(digest.hex());
    let crowd = world.root().join("crowd");
    std::fs::create_dir(&crowd).unwrap();
    let full =
        (0..70_000).any(|number| std::fs::hard_link(&content, crowd.join(number.to_string())).is_err());
    if !full {
        // This file system has no such limit within reach.
        return;
    }
    let mount = format!("/v2/b/blobs/uploads/?mount={digest}&from=a");
    world.call(Method::POST, &mount).await.is(201);
    world.push("c", b"{}").await;
    for repository in ["a", "b", "c"] {
        assert_eq!(world.get(&format!("/v2/{repository}/blobs/{digest}")).await.is(200).bytes, b"{}");
    }
    assert_eq!(digest, Digest::of(Algorithm::Sha256, b"{}"));
}

/// The collector, or whoever is first, is held up at a step; meanwhile the other one comes.
async fn meet(
    point: &'static str,
    before: &[Op],
    first: Op,
    second: Op,
) -> (tempfile::TempDir, Arc<LocalDisk>, Result<()>) {
    let folder = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap();
    let clock = Arc::new(LaterClock::default());
    let faults = Faults::on_pass(point, Action::Stall(Duration::from_millis(200)), 1);
    let options = Options { clock: clock.clone(), faults: faults.clone(), ..Options::default() };
    let disk = Arc::new(LocalDisk::open(&folder.path().join("r"), options).await.unwrap());
    for op in before {
        perform(&disk, &clock, op).await.unwrap();
    }
    let mut running = JoinSet::new();
    let (held_up, its_clock) = (disk.clone(), clock.clone());
    running.spawn(async move { perform(&held_up, &its_clock, &first).await });
    while !faults.reached().contains(&point) {
        tokio::task::yield_now().await;
    }
    let outcome = perform(&disk, &clock, &second).await;
    running.join_all().await.into_iter().for_each(|outcome| outcome.unwrap());
    (folder, disk, outcome)
}

/// R08: whoever is told that a blob is there can count on it, also if the collector was about to take it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_comes_back_while_the_collector_is_about_to_take_it_stays() {
    let push = Op::Push { repository: 0, blob: 0 };
    let old = [push.clone(), Op::TimePasses];
    let digest = sha256(&blob(0));
    let (folder, disk, outcome) = meet("registry.collect.unlink", &old, Op::Collect, push.clone()).await;
    outcome.unwrap();
    assert!(disk.find_blob(&name(0), &digest).await.unwrap().is_some(), "pushed again");
    assert!(look(&folder.path().join("r")).contents.contains(digest.as_str()));

    let (folder, disk, outcome) = meet("registry.content.remove", &old, Op::Collect, push.clone()).await;
    outcome.unwrap();
    assert!(disk.find_blob(&name(0), &digest).await.unwrap().is_some(), "pushed again after it was unlinked");
    assert!(look(&folder.path().join("r")).contents.contains(digest.as_str()));

    let look_at = Op::Look { repository: 0, blob: 0 };
    let (_folder, disk, outcome) = meet("registry.collect.unlink", &old, Op::Collect, look_at).await;
    let kept = disk.find_blob(&name(0), &digest).await.unwrap().is_some();
    assert_eq!(outcome.is_ok(), kept, "who was told that it is there finds it there");
}

/// What is deleted by name goes at once, unless another repository has it or gets it meanwhile.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_deleted_takes_its_content_along_unless_somebody_else_has_it() {
    let (push, delete) = (Op::Push { repository: 0, blob: 0 }, Op::DeleteBlob { repository: 0, blob: 0 });
    let (elsewhere, mount) = (Op::Push { repository: 1, blob: 0 }, Op::Mount { from: 0, blob: 0 });
    let digest = sha256(&blob(0));
    for point in ["registry.blob.unlink", "registry.content.remove"] {
        for second in [&push, &elsewhere, &mount] {
            let (folder, disk, outcome) =
                meet(point, std::slice::from_ref(&push), delete.clone(), second.clone()).await;
            outcome.unwrap();
            let mut has = [false; 2];
            for (number, has) in has.iter_mut().enumerate() {
                *has = disk.find_blob(&name(number), &digest).await.unwrap().is_some();
            }
            let expected = match second {
                Op::Push { repository: 0, .. } => [true, false],
                Op::Push { .. } => [false, true],
                // Either it came first, or there was nothing to mount.
                _ => [false, has[1]],
            };
            assert_eq!(has, expected, "{point} {second:?}");
            let found = look(&folder.path().join("r"));
            assert_eq!(found.contents.contains(digest.as_str()), has.contains(&true), "{point} {second:?}");
        }
    }
    let (folder, disk, outcome) = meet("registry.blob.link", &[], push, elsewhere).await;
    outcome.unwrap();
    disk.delete_blob(&name(0), &digest).await.unwrap();
    assert!(look(&folder.path().join("r")).contents.contains(digest.as_str()), "another repository has it");
    disk.delete_blob(&name(1), &digest).await.unwrap();
    assert!(look(&folder.path().join("r")).contents.is_empty());
}

/// R08: between the look at its parts and the manifest's being there, nobody takes a part away.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_manifest_under_way_keeps_its_parts() {
    let before = [Op::Push { repository: 0, blob: 0 }, Op::Push { repository: 0, blob: 1 }, Op::TimePasses];
    let put = Op::Put { repository: 0, blobs: (0, 1), tag: 0 };
    let (folder, disk, outcome) = meet("registry.manifest.put", &before, put, Op::Collect).await;
    outcome.unwrap();
    let found = look(&folder.path().join("r"));
    assert_eq!(found.named["one/app"].len(), 2);
    assert!(disk.find_manifest(&name(0), &"v0".parse().unwrap()).await.unwrap().is_some());
}
