//! Bytes in both directions, over connections that break and from registries that lie about them.

use std::sync::{Arc, Mutex};

use super::*;
use crate::manifest::{Descriptor, MAX_MANIFEST_BYTES, OCI_INDEX, OCI_MANIFEST};

const BLOB: &[u8] = b"0123456789abcdefghijklmnopqrstuvwxyz!";

/// A registry that keeps one upload, and says how far it came if it remembers.
fn keeping(remembers: bool, kept: Arc<Mutex<Vec<u8>>>) -> Stub {
    Stub::start(move |seen| {
        let mut kept = kept.lock().unwrap();
        let method = seen.line.split(' ').next().unwrap();
        let range = |kept: &[u8]| format!("0-{}", kept.len().saturating_sub(1));
        match method {
            "POST" => {
                kept.clear();
                answer("202 Accepted", &[("location", "/upload/1?_state=0")], b"")
            }
            "PATCH" => {
                let from: usize =
                    seen.header("content-range").unwrap().split_once('-').unwrap().0.parse().unwrap();
                if from != kept.len() {
                    return answer("416 Range Not Satisfiable", &[], b"");
                }
                kept.extend_from_slice(&seen.body);
                let state = format!("/upload/1?_state={}", kept.len());
                answer("202 Accepted", &[("location", &state), ("range", &range(&kept))], b"")
            }
            "GET" if remembers => {
                let state = format!("/upload/1?_state={}", kept.len());
                answer("204 No Content", &[("location", &state), ("range", &range(&kept))], b"")
            }
            "GET" | "HEAD" => answer("404 Not Found", &[], b""),
            _ if seen.line.ends_with(&Digest::of(&kept).as_str().replace(':', "%3A")) => {
                answer("201 Created", &[], b"")
            }
            _ => answer("400 Bad Request", &[], br#"{"errors":[{"code":"DIGEST_INVALID"}]}"#),
        }
    })
}

#[tokio::test]
async fn an_upload_goes_on_where_the_connection_broke() {
    let kept = Arc::new(Mutex::new(Vec::new()));
    let registry = keeping(true, Arc::clone(&kept));
    registry.cut_next("PATCH /upload/1?_state=10", 4);
    let steps = Mutex::new(Vec::new());
    let source = BlobSource::Memory(Bytes::from_static(BLOB));
    let client = client(&registry, quick());
    let note = |progress: Progress| steps.lock().unwrap().push(progress.done);
    assert!(client.push_blob(&repository(), &Digest::of(BLOB), &source, &note).await.unwrap());
    assert_eq!(*kept.lock().unwrap(), BLOB);
    assert_eq!(*steps.lock().unwrap(), [0, 10, 14, 24, 34, 37]);
    let ranges: Vec<String> =
        registry.seen().iter().filter_map(|seen| seen.header("content-range").map(str::to_owned)).collect();
    assert_eq!(ranges, ["0-9", "10-19", "14-23", "24-33", "34-36"]);
}

#[tokio::test]
async fn an_upload_that_the_registry_has_forgotten_starts_over() {
    let kept = Arc::new(Mutex::new(Vec::new()));
    let registry = keeping(false, Arc::clone(&kept));
    registry.cut_next("PATCH /upload/1?_state=20", 3);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("blob");
    std::fs::write(&path, BLOB).unwrap();
    let source = BlobSource::file(&path).await.unwrap();
    assert_eq!(source.digest().await.unwrap(), Digest::of(BLOB));
    client(&registry, quick()).push_blob(&repository(), &Digest::of(BLOB), &source, &|_| ()).await.unwrap();
    assert_eq!(*kept.lock().unwrap(), BLOB);
    assert_eq!(registry.lines().iter().filter(|line| line.starts_with("POST")).count(), 2);
}

/// Bytes that change under us, or a registry that never agrees: the trying has an end.
#[tokio::test]
async fn an_upload_that_can_never_match_ends() {
    let registry = keeping(false, Arc::default());
    let source = BlobSource::Memory(Bytes::from_static(BLOB));
    let client = client(&registry, quick());
    let refused = client.push_blob(&repository(), &Digest::of(b"other"), &source, &|_| ()).await.unwrap_err();
    assert!(matches!(refused, ClientError::Refused { status: 400, .. }), "{refused}");
    assert!(refused.to_string().contains("DIGEST_INVALID"), "{refused}");
    assert!(registry.lines().len() < 50);
}

/// Serves a blob by ranges; the first answer breaks off after some bytes.
fn breaking(ranges: bool) -> Stub {
    let mut first = true;
    Stub::start(move |seen| {
        if std::mem::take(&mut first) {
            return promising("200 OK", &[], BLOB.len(), &BLOB[..7]);
        }
        match seen
            .header("range")
            .and_then(|range| range.strip_prefix("bytes=")?.strip_suffix('-')?.parse().ok())
        {
            Some(from) if ranges => {
                let from: usize = from;
                let range = format!("bytes {from}-{}/{}", BLOB.len() - 1, BLOB.len());
                answer("206 Partial Content", &[("content-range", &range)], &BLOB[from..])
            }
            _ => answer("200 OK", &[], BLOB),
        }
    })
}

#[tokio::test]
async fn a_download_goes_on_where_the_connection_broke() {
    let registry = breaking(true);
    let mut file = Vec::new();
    let client = client(&registry, quick());
    let (digest, size) = (Digest::of(BLOB), BLOB.len() as u64);
    client.pull_blob(&repository(), &digest, size, &mut file, &|_| ()).await.unwrap();
    assert_eq!(file, BLOB);
    assert_eq!(registry.seen()[1].header("range"), Some("bytes=7-"));

    let registry = breaking(false);
    let refused =
        self::client(&registry, quick()).blob_bytes(&repository(), &digest, size, 1000).await.unwrap_err();
    assert!(refused.to_string().contains("cannot go on where it stopped"), "{refused}");
}

/// R02: a blob is what its descriptor says or an error, and no more is read than was promised.
#[tokio::test]
async fn a_blob_that_is_not_what_was_promised_is_refused() {
    let size = BLOB.len() as u64;
    let other: &[u8] = b"0123456789abcdefghijklmnopqrstuvwxyz?";
    let chunked = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\nconnection: close\r\n\r\n40\r\n0123456789abcdefghijklmnopqrstuvwxyz!0123456789abcdefghijklmnop!\r\n";
    for (reply, why) in [
        (answer("200 OK", &[], other), "the registry has sha256:"),
        (answer("200 OK", &[], &BLOB[1..]), "37 bytes are promised, 36 came"),
        (chunked.to_vec(), "37 bytes are promised, 64 came"),
        (promising("200 OK", &[], BLOB.len(), &BLOB[..1]), "broke off"),
        (answer("404 Not Found", &[], b""), "is not there"),
    ] {
        let registry = Stub::start(move |_| reply.clone());
        let client = client(&registry, quick());
        let refused = client.blob_bytes(&repository(), &Digest::of(BLOB), size, 1000).await.unwrap_err();
        assert!(refused.to_string().contains(why), "{why}: {refused}");
    }
    let refused = Registry::new("http://127.0.0.1:9")
        .unwrap()
        .blob_bytes(&repository(), &Digest::of(BLOB), size, 10)
        .await;
    assert!(matches!(refused, Err(ClientError::TooLarge { most: 10, .. })), "nothing is asked for");
}

#[tokio::test]
async fn a_registry_that_falls_silent_is_left() {
    let registry = Stub::start(|_| {
        std::thread::sleep(Duration::from_millis(400));
        Vec::new()
    });
    let settings = Settings { answer_timeout: Duration::from_millis(100), attempts: 1, ..quick() };
    let refused = client(&registry, settings).find_blob(&repository(), &Digest::of(BLOB)).await.unwrap_err();
    assert!(matches!(refused, ClientError::TimedOut { .. }), "{refused}");
}

/// F07: a byte now and then is as bad as silence.
#[tokio::test]
async fn a_registry_that_drips_is_left() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        use std::io::{Read as _, Write as _};
        let (mut stream, _) = listener.accept().unwrap();
        let _ = stream.read(&mut [0; 4096]);
        let mut drip = b"HTTP/1.1 200 OK\r\ncontent-length: 1000\r\n\r\n".to_vec();
        while stream.write_all(&drip).is_ok() {
            drip = b" ".to_vec();
            std::thread::sleep(Duration::from_millis(50));
        }
    });
    let settings = Settings {
        answer_timeout: Duration::from_millis(300),
        slowest_bytes_per_second: u64::MAX,
        attempts: 1,
        ..quick()
    };
    let client = Registry::with(&url, None, settings).unwrap();
    let refused = client.get_manifest(&repository(), &Digest::of(BLOB)).await.unwrap_err();
    assert!(matches!(refused, ClientError::TimedOut { .. }), "{refused}");
}

/// R01, R02: by digest the bytes are those of the digest; by tag they get their name from themselves.
#[tokio::test]
async fn a_manifest_is_named_by_its_bytes() {
    let registry = Stub::start(|seen| match seen.line.as_str() {
        line if line.ends_with("/lie") => {
            let other = Digest::of(b"other").to_string();
            answer("200 OK", &[("docker-content-digest", &other)], b"{}")
        }
        line if line.ends_with("/huge") => promising("200 OK", &[], MAX_MANIFEST_BYTES + 1, b"{"),
        _ => answer(
            "200 OK",
            &[("content-type", "application/vnd.oci.image.index.v1+json; charset=utf-8")],
            b"{}",
        ),
    });
    let client = client(&registry, quick());
    let tag = |text: &str| text.parse::<Tag>().unwrap();
    let fetched = client.get_manifest(&repository(), &tag("1.0")).await.unwrap();
    assert_eq!((&fetched.digest, fetched.media_type.as_str()), (&Digest::of(b"{}"), OCI_INDEX));
    assert_eq!(client.get_manifest(&repository(), &Digest::of(b"{}")).await.unwrap(), fetched);
    let refused = client.get_manifest(&repository(), &Digest::of(b"swapped")).await.unwrap_err();
    assert!(matches!(refused, ClientError::OtherDigest { .. }), "{refused}");
    let refused = client.get_manifest(&repository(), &tag("lie")).await.unwrap_err();
    assert!(matches!(refused, ClientError::OtherDigest { .. }), "{refused}");
    let refused = client.get_manifest(&repository(), &tag("huge")).await.unwrap_err();
    assert!(matches!(refused, ClientError::TooLarge { .. }), "{refused}");
}

#[tokio::test]
async fn tags_come_page_by_page() {
    let registry = Stub::start(|seen| match seen.line.as_str() {
        "GET /v2/apps/a/tags/list" => {
            let next = [("link", "</v2/apps/a/tags/list?last=b>; rel=\"next\"")];
            answer("200 OK", &next, br#"{"name":"apps/a","tags":["a","b"]}"#)
        }
        "GET /v2/apps/a/tags/list?last=b" => answer("200 OK", &[], br#"{"name":"apps/a","tags":["c"]}"#),
        _ => answer("200 OK", &[], br#"{"name":"apps/b","tags":["../x"]}"#),
    });
    let client = client(&registry, quick());
    let tags: Vec<String> =
        client.list_tags(&repository()).await.unwrap().iter().map(ToString::to_string).collect();
    assert_eq!(tags, ["a", "b", "c"]);
    let refused = client.list_tags(&"apps/b".parse().unwrap()).await.unwrap_err();
    assert!(matches!(refused, ClientError::BadAnswer { .. }), "{refused}");
}

fn entry(text: &str, kind: &str) -> Descriptor {
    let mut entry = Descriptor::of(OCI_MANIFEST, text.as_bytes());
    entry.artifact_type = Some(kind.to_owned());
    entry
}

#[tokio::test]
async fn referrers_come_from_the_registry_or_from_the_tag() {
    let index = crate::manifest::write_index(&[entry("one", "a/b"), entry("two", "c/d")]);
    let from_api = index.clone();
    let newer = Stub::start(move |_| answer("200 OK", &[("content-type", OCI_INDEX)], &from_api));
    let digest = Digest::of(b"image");
    let found = client(&newer, quick()).list_referrers(&repository(), &digest, Some("c/d")).await.unwrap();
    assert_eq!(found, [entry("two", "c/d")]);
    assert_eq!(newer.lines(), [format!("GET /v2/apps/a/referrers/{digest}")]);

    let older = Stub::start(move |seen| {
        if seen.line.contains("/manifests/") {
            answer("200 OK", &[("content-type", OCI_INDEX)], &index)
        } else {
            answer("404 Not Found", &[], b"")
        }
    });
    let found = client(&older, quick()).list_referrers(&repository(), &digest, None).await.unwrap();
    assert_eq!(found.len(), 2);
    assert_eq!(older.lines()[1], format!("GET /v2/apps/a/manifests/sha256-{}", digest.hex()));

    let hostile = Stub::start(|_| answer("200 OK", &[("content-type", OCI_INDEX)], b"{\"schemaVersion\":2}"));
    let refused = client(&hostile, quick()).list_referrers(&repository(), &digest, None).await.unwrap_err();
    assert!(matches!(refused, ClientError::Manifest { .. }), "{refused}");
}

#[tokio::test]
async fn a_mount_that_becomes_an_upload_is_called_off() {
    let (from, digest) = ("apps/b".parse().unwrap(), Digest::of(BLOB));
    let registry = Stub::start(|seen| {
        if seen.line.starts_with("POST") {
            answer("202 Accepted", &[("location", "/upload/7")], b"")
        } else {
            answer("204 No Content", &[], b"")
        }
    });
    let mounted = client(&registry, quick()).mount_blob(&from, &repository(), &digest).await.unwrap();
    assert_eq!(mounted, Mounted::No);
    let encoded = digest.as_str().replace(':', "%3A");
    let post = format!("POST /v2/apps/a/blobs/uploads/?mount={encoded}&from=apps%2Fb");
    assert_eq!(registry.lines(), [post, "DELETE /upload/7".to_owned()]);
}
