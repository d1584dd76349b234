//! A process of its own that is killed.

use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use reqwest::Method;
use tokio::io::AsyncWriteExt as _;

use crate::world::{Caller, image, look, noise, sha256};

/// The example `serve`, which cargo builds beside the tests.
fn program() -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let program = test.parent().and_then(Path::parent).unwrap().join("examples/serve");
    assert!(program.is_file(), "missing: cargo build -p gpuaas-registry --example serve");
    program
}

/// Killed when it is dropped, as if the power had gone.
pub(crate) struct Process(Child);

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

pub(crate) fn serve(root: &Path) -> (Process, Caller) {
    let mut child = Command::new(program()).arg(root).stdout(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    (Process(child), Caller::new(line.trim()))
}

/// N08, R08: `kill -9` at some byte of an upload; the next process goes on from what it has.
#[tokio::test]
async fn an_upload_goes_on_after_kill_9() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("registry");
    let bytes = noise(5, 9_000_000);
    let (mut process, mut caller) = serve(&root);
    caller.push_image("before", "v1", 1).await;
    let location = caller.start("a").await;
    let mut at = 0;
    for stop in [1_500_000, 4_000_000, 6_500_000] {
        let address = caller.base.strip_prefix("http://").unwrap().to_owned();
        let mut socket = tokio::net::TcpStream::connect(address).await.unwrap();
        let length = bytes.len() - at;
        let range = format!("{at}-{}", bytes.len() - 1);
        let head = format!(
            "PATCH {location} HTTP/1.1\r\nhost: a\r\ncontent-length: {length}\r\ncontent-range: {range}\r\n\r\n"
        );
        socket.write_all(head.as_bytes()).await.unwrap();
        socket.write_all(&bytes[at..stop]).await.unwrap();
        drop(process);
        look(&root);
        (process, caller) = serve(&root);
        caller.get(&format!("/v2/a/blobs/{}", sha256(&bytes))).await.is(404);
        let status = caller.get(&location).await.is(204);
        let last: usize = status.header("range").strip_prefix("0-").unwrap().parse().unwrap();
        at = if last == 0 { 0 } else { last + 1 };
        assert!(at <= stop);
    }
    caller.chunk(Method::PATCH, &location, at, &bytes[at..]).await.is(202);
    caller.call(Method::PUT, &format!("{location}?digest={}", sha256(&bytes))).await.is(201);
    caller.push("a", b"{}").await;
    caller.put_manifest("a", "v1", &image(b"{}", &[&bytes])).await.is(201);
    drop(process);
    let (_process, caller) = serve(&root);
    assert!(caller.get(&format!("/v2/a/blobs/{}", sha256(&bytes))).await.is(200).bytes == bytes);
    caller.get("/v2/a/manifests/v1").await.is(200);
    caller.get("/v2/before/manifests/v1").await.is(200);
    assert_eq!(look(&root).uploads, 0);
}
