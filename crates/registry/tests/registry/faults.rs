//! The registry dies, fails or does it twice at every step of every change. Afterwards nothing is half there, and the
//! same things can be done again.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::stream;
use gpuaas_faults::{Action, Faults, points};
use gpuaas_registry::manifest::{self, MediaType};
use gpuaas_registry::storage::NewManifest;
use gpuaas_registry::{Error, LocalDisk, Options, Policy, Reference, RepositoryName, Result, Storage as _};
use serde_json::{Value, json};

use crate::world::{LaterClock, descriptor, image, look, noise, sha256};

fn name(text: &str) -> RepositoryName {
    text.parse().unwrap()
}

async fn open(root: &Path, clock: &Arc<LaterClock>, faults: Faults) -> LocalDisk {
    let options = Options { clock: clock.clone(), faults, ..Options::default() };
    loop {
        match LocalDisk::open(root, options.clone()).await {
            // A write of the dead one may still be on its way; it holds the lock until then.
            Err(error) if error.kind() == std::io::ErrorKind::ResourceBusy => tokio::task::yield_now().await,
            opened => return opened.unwrap(),
        }
    }
}

async fn push(disk: &LocalDisk, repository: &RepositoryName, bytes: &[u8]) -> Result<()> {
    let upload = disk.start_upload(repository).await?;
    for piece in bytes.chunks(bytes.len() / 2 + 1) {
        let length = disk.upload_length(repository, &upload).await?;
        let body = stream::iter([Ok(Bytes::copy_from_slice(piece))]);
        disk.append(repository, &upload, Some(length), body).await?;
    }
    disk.finish_upload(repository, &upload, &sha256(bytes)).await
}

async fn put(disk: &LocalDisk, repository: &RepositoryName, tag: &str, value: &Value) -> Result<Reference> {
    let bytes = Bytes::from(value.to_string());
    let (digest, tag) = (sha256(&bytes), Some(tag.parse().unwrap()));
    let manifest = manifest::read(&bytes, MediaType::OciManifest, Policy::default())?;
    disk.put_manifest(repository, NewManifest { digest: digest.clone(), bytes, manifest, tag }).await?;
    Ok(Reference::Digest(digest))
}

/// Fine if it was gone already: the try before may have come so far.
fn or_gone(result: Result<()>) -> Result<()> {
    match result {
        Err(Error::ManifestUnknown | Error::BlobUnknown) => Ok(()),
        other => other,
    }
}

/// Every kind of change once. Can be tried again from the start after any failure.
async fn live(disk: &LocalDisk, clock: &LaterClock) -> Result<()> {
    let (a, b) = (name("a/b"), name("c"));
    let (config, layer, loose) = (noise(1, 100), noise(2, 3000), noise(3, 500));
    push(disk, &a, &config).await?;
    push(disk, &a, &layer).await?;
    push(disk, &a, &loose).await?;
    assert!(disk.mount_blob(&b, &a, &sha256(&layer)).await?);
    assert!(disk.mount_blob(&b, &a, &sha256(&config)).await?);
    put(disk, &a, "v1", &image(&config, &[&layer])).await?;
    let mut about = image(&config, &[]);
    about["subject"] = descriptor("application/vnd.oci.image.manifest.v1+json", b"its subject");
    let about = put(disk, &a, "about", &about).await?;
    assert_eq!(disk.list_referrers(&a, &sha256(b"its subject")).await?.len(), 1);
    or_gone(disk.delete_manifest(&a, &about).await)?;
    assert!(disk.list_referrers(&a, &sha256(b"its subject")).await?.is_empty());
    put(disk, &b, "moved", &image(&config, &[&layer])).await?;
    put(disk, &b, "moved", &image(&config, &[])).await?;
    or_gone(disk.delete_manifest(&b, &"moved".parse().unwrap()).await)?;
    push(disk, &b, &loose).await?;
    or_gone(disk.delete_blob(&b, &sha256(&loose)).await)?;
    let own = noise(4, 600);
    push(disk, &b, &own).await?;
    or_gone(disk.delete_blob(&b, &sha256(&own)).await)?;
    let cancelled = disk.start_upload(&a).await?;
    disk.cancel_upload(&a, &cancelled).await?;
    disk.start_upload(&a).await?;
    clock.pass(Duration::from_hours(48));
    disk.collect().await?;
    Ok(())
}

/// What must be there in the end, however often it was tried.
fn check_end(root: &Path) {
    let found = look(root);
    let (config, layer) = (sha256(&noise(1, 100)).to_string(), sha256(&noise(2, 3000)).to_string());
    let named: std::collections::BTreeSet<String> = [config, layer].into();
    assert_eq!(found.blobs, [("a/b".to_owned(), named.clone()), ("c".to_owned(), named.clone())].into());
    assert_eq!(found.contents, named);
    assert_eq!(found.tags.keys().collect::<Vec<_>>(), ["a/b"]);
    assert_eq!(found.manifests["c"].len(), 2);
    assert_eq!(found.uploads, 0);
}

fn folder() -> tempfile::TempDir {
    // In memory: what is tested is the order of steps, and a disk would be asked to flush some ten thousand times.
    tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap()
}

fn ours() -> Vec<&'static str> {
    points().into_iter().filter(|point| point.starts_with("registry.")).collect()
}

#[tokio::test]
async fn the_life_of_a_registry_passes_every_step() {
    let folder = folder();
    let (root, clock) = (folder.path().join("r"), Arc::new(LaterClock::default()));
    let faults = Faults::watching();
    let disk = open(&root, &clock, faults.clone()).await;
    live(&disk, &clock).await.unwrap();
    check_end(&root);
    assert_eq!(faults.reached(), ours(), "a step that this life does not pass is not tested below");
    assert!(ours().len() >= 12);
    assert!(LocalDisk::open(&root, Options::default()).await.is_err(), "one process at a time");
}

/// R08, N08.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whatever_breaks_nothing_is_half_there_and_it_can_be_done_again() {
    let mut broken = 0;
    for point in ours() {
        for action in [Action::Die, Action::Error, Action::Twice] {
            for pass in 1.. {
                let folder = folder();
                let (root, clock) = (folder.path().join("r"), Arc::new(LaterClock::default()));
                let faults = Faults::on_pass(point, action, pass);
                let disk = open(&root, &clock, faults.clone()).await;
                let outcome = tokio::select! {
                    outcome = live(&disk, &clock) => Some(outcome),
                    () = faults.died() => None,
                };
                if !faults.spent() {
                    // It was passed less often than this.
                    assert!(outcome.unwrap().is_ok());
                    break;
                }
                broken += 1;
                match (action, outcome) {
                    (Action::Die, None) | (Action::Error, Some(Err(_))) | (Action::Twice, Some(Ok(()))) => {}
                    (_, outcome) => panic!("{point} {action:?} {pass}: {outcome:?}"),
                }
                look(&root);
                // After an error it goes on; after a death it starts anew.
                let disk = if action == Action::Error {
                    disk
                } else {
                    drop(disk);
                    open(&root, &clock, Faults::none()).await
                };
                look(&root);
                live(&disk, &clock)
                    .await
                    .unwrap_or_else(|error| panic!("{point} {action:?} {pass}: {error:?}"));
                check_end(&root);
            }
        }
    }
    assert!(broken > 100, "only {broken} places were broken");
}

/// What is about to be finished can still be finished by the next process.
#[tokio::test]
async fn an_upload_survives_the_process() {
    let folder = folder();
    let (root, clock) = (folder.path().join("r"), Arc::new(LaterClock::default()));
    let (repository, bytes) = (name("a"), noise(1, 2_500_000));
    let disk = open(&root, &clock, Faults::none()).await;
    let upload = disk.start_upload(&repository).await.unwrap();
    let body = stream::iter([Ok(Bytes::copy_from_slice(&bytes[..1_200_000]))]);
    disk.append(&repository, &upload, None, body).await.unwrap();
    drop(disk);
    let disk = open(&root, &clock, Faults::none()).await;
    assert_eq!(disk.upload_length(&repository, &upload).await.unwrap(), 1_200_000);
    assert!(disk.upload_length(&name("b"), &upload).await.is_err());
    let body = stream::iter([Ok(Bytes::copy_from_slice(&bytes[1_200_000..]))]);
    disk.append(&repository, &upload, Some(1_200_000), body).await.unwrap();
    disk.finish_upload(&repository, &upload, &sha256(&bytes)).await.unwrap();
    assert_eq!(look(&root).blobs["a"].len(), 1);
}

/// A manifest that was damaged on the disk is never served, and what it may name is never garbage.
#[tokio::test]
async fn a_damaged_manifest_is_not_served_and_keeps_its_repository_from_the_collector() {
    let folder = folder();
    let (root, clock) = (folder.path().join("r"), Arc::new(LaterClock::default()));
    let disk = open(&root, &clock, Faults::none()).await;
    for repository in ["sound", "damaged"] {
        push(&disk, &name(repository), b"{}").await.unwrap();
        push(&disk, &name(repository), b"loose").await.unwrap();
        put(&disk, &name(repository), "v1", &image(b"{}", &[])).await.unwrap();
    }
    let file = std::fs::read_dir(root.join("repositories/damaged/_manifests"))
        .unwrap()
        .next()
        .unwrap()
        .unwrap()
        .path();
    let text = std::fs::read_to_string(&file).unwrap().replace("\"layers\":[]", "\"layers\":{}");
    std::fs::write(&file, text).unwrap();
    assert!(matches!(disk.find_manifest(&name("damaged"), &"v1".parse().unwrap()).await, Err(Error::Io(_))));
    clock.pass(Duration::from_hours(48));
    assert!(disk.collect().await.is_err());
    let blobs = |repository: &str| {
        std::fs::read_dir(root.join("repositories").join(repository).join("_blobs")).unwrap().count()
    };
    assert_eq!((blobs("sound"), blobs("damaged")), (1, 2));
    assert_eq!(json!(disk.usage().await.unwrap().len()), 2);
}
