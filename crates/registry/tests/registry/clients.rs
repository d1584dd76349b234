//! Clients that we did not write.

use std::path::Path;
use std::process::{Command, Output};

use gpuaas_registry::manifest::{DOCKER_MANIFEST, OCI_MANIFEST};

use crate::process::serve;
use crate::world::Caller;

/// Runs a program; a missing one fails the test with the line that installs it.
fn run(install: &str, program: &str, arguments: &[&str]) -> Output {
    let output = Command::new(program)
        .args(arguments)
        .output()
        .unwrap_or_else(|error| panic!("{program} cannot be run ({error}); as root: {install}"));
    assert!(output.status.success(), "{program} {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    output
}

fn docker(arguments: &[&str]) -> String {
    let output = run("apt-get install -y --no-install-recommends docker.io", "docker", arguments);
    String::from_utf8(output.stdout).unwrap()
}

/// Removes what it made in the engine, also when the test fails.
struct Image(String);

impl Drop for Image {
    fn drop(&mut self) {
        let _ = Command::new("docker").args(["rmi", "--force", &self.0]).output();
    }
}

fn archive(folder: &Path) -> String {
    let file = folder.join("file");
    std::fs::write(&file, crate::world::noise(42, 300_000)).unwrap();
    let archive = folder.join("root.tar").to_str().unwrap().to_owned();
    run("apt-get install -y tar", "tar", &["-cf", &archive, "-C", folder.to_str().unwrap(), "file"]);
    archive
}

/// F-01, F-12: an ordinary `docker push`, and a pull by digest of the same image.
#[tokio::test]
async fn docker_pushes_and_pulls() {
    let folder = tempfile::tempdir().unwrap();
    let (_process, caller): (_, Caller) = serve(&folder.path().join("registry"));
    let host = caller.base.strip_prefix("http://").unwrap();
    let image = Image(format!("{host}/gpuaas/apps/acme/tools:v1"));
    docker(&["import", &archive(folder.path()), &image.0]);
    docker(&["push", &image.0]);
    let pushed = caller.head("/v2/gpuaas/apps/acme/tools/manifests/v1").await.is(200);
    assert_eq!(pushed.header("content-type"), DOCKER_MANIFEST);
    let digest = pushed.header("docker-content-digest").to_owned();
    docker(&["rmi", "--force", &image.0]);
    let by_digest = Image(format!("{host}/gpuaas/apps/acme/tools@{digest}"));
    assert!(docker(&["pull", &by_digest.0]).contains(&digest));
}

/// An OCI client: copies between repositories by mount, converts, lists, deletes.
#[tokio::test]
async fn skopeo_copies_lists_and_deletes() {
    let folder = tempfile::tempdir().unwrap();
    let (_process, caller) = serve(&folder.path().join("registry"));
    let host = caller.base.strip_prefix("http://").unwrap();
    let skopeo = |arguments: &[&str]| {
        let output = run("apt-get install -y --no-install-recommends skopeo", "skopeo", arguments);
        String::from_utf8(output.stdout).unwrap()
    };
    caller.push_image("a/b", "v1", 1).await;
    let layout = format!("oci:{}:v1", folder.path().join("layout").to_str().unwrap());
    let (from, to) = (format!("docker://{host}/a/b:v1"), format!("docker://{host}/c:v2"));
    let config =
        br#"{"architecture":"amd64","os":"linux","rootfs":{"type":"layers","diff_ids":[]},"config":{}}"#;
    caller.push("a/b", config).await;
    caller.put_manifest("a/b", "v1", &crate::world::image(config, &[])).await.is(201);
    skopeo(&["copy", "--src-tls-verify=false", "--dest-tls-verify=false", &from, &to]);
    skopeo(&["copy", "--src-tls-verify=false", &to, &layout]);
    skopeo(&["copy", "--dest-tls-verify=false", &layout, &format!("docker://{host}/d/e/f:v3")]);
    let got = caller.get("/v2/d/e/f/manifests/v3").await.is(200);
    assert_eq!(got.header("content-type"), OCI_MANIFEST);
    let tags = skopeo(&["list-tags", "--tls-verify=false", &format!("docker://{host}/d/e/f")]);
    assert!(tags.contains("\"v3\""), "{tags}");
    skopeo(&["delete", "--tls-verify=false", &format!("docker://{host}/d/e/f:v3")]);
    caller.get("/v2/d/e/f/manifests/v3").await.is(404);
}
