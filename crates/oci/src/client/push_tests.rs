//! Registries that misbehave, played by a few lines on a socket.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpListener;
use std::thread::JoinHandle;

use super::*;
use crate::ImageBuilder;
use std::error::Error as _;

/// Answers one connection after the other and returns the request lines it saw.
fn peer(answers: Vec<String>) -> (String, JoinHandle<Vec<String>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let here = url.clone();
    let served = std::thread::spawn(move || {
        let mut seen = Vec::new();
        for answer in answers {
            let (stream, _) = listener.accept().unwrap();
            let mut reader = BufReader::new(&stream);
            let (mut first, mut length) = (String::new(), 0);
            reader.read_line(&mut first).unwrap();
            loop {
                let mut line = String::new();
                reader.read_line(&mut line).unwrap();
                if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
                    length = value.trim().parse().unwrap();
                }
                if line.trim().is_empty() {
                    break;
                }
            }
            let mut body = vec![0; length];
            reader.read_exact(&mut body).unwrap();
            seen.push(first.trim_end().trim_end_matches(" HTTP/1.1").to_owned());
            let answer = answer.replace("HERE", &here);
            (&stream).write_all(answer.as_bytes()).unwrap();
        }
        seen
    });
    (url, served)
}

fn answer(status: &str, headers: &str) -> String {
    format!("HTTP/1.1 {status}\r\n{headers}content-length: 0\r\nconnection: close\r\n\r\n")
}

fn image() -> Image {
    ImageBuilder::new("amd64").file("x", 0o755, b"x".to_vec()).build().unwrap()
}

#[tokio::test]
async fn what_may_pass_is_tried_again_and_an_upload_starts_over() {
    let accepted = |location: &str| answer("202 Accepted", &format!("location: {location}\r\n"));
    let (url, served) = peer(vec![
        answer("503 Service Unavailable", ""),
        answer("404 Not Found", ""),
        accepted("/v2/a/blobs/uploads/1?_state=s"),
        answer("500 Internal Server Error", ""),
        answer("404 Not Found", ""),
        accepted("HERE/v2/a/blobs/uploads/2"),
        answer("201 Created", ""),
        answer("200 OK", ""),
        answer("429 Too Many Requests", ""),
        answer("201 Created", ""),
    ]);
    let image = image();
    let pushed = Registry::new(&url).unwrap().push("a", &image, None).await.unwrap();
    assert_eq!(pushed, Pushed { digest: image.digest().clone(), uploaded: 1 });
    let seen = served.join().unwrap();
    let (layer, config) = (&image.layers[0].digest, &image.config.digest);
    let encoded = layer.as_str().replace(':', "%3A");
    assert_eq!(
        seen,
        [
            format!("HEAD /v2/a/blobs/{layer}"),
            format!("HEAD /v2/a/blobs/{layer}"),
            "POST /v2/a/blobs/uploads/".to_owned(),
            format!("PUT /v2/a/blobs/uploads/1?_state=s&digest={encoded}"),
            format!("HEAD /v2/a/blobs/{layer}"),
            "POST /v2/a/blobs/uploads/".to_owned(),
            format!("PUT /v2/a/blobs/uploads/2?digest={encoded}"),
            format!("HEAD /v2/a/blobs/{config}"),
            format!("PUT /v2/a/manifests/{}", image.digest()),
            format!("PUT /v2/a/manifests/{}", image.digest()),
        ]
    );
}

#[tokio::test]
async fn another_host_gets_nothing() {
    let elsewhere = "location: http://127.0.0.2:9/v2/a/blobs/uploads/1\r\n";
    let (url, served) = peer(vec![answer("404 Not Found", ""), answer("202 Accepted", elsewhere)]);
    let error = Registry::new(&url).unwrap().push("a", &image(), None).await.unwrap_err();
    assert!(matches!(&error, ClientError::OtherHost { url } if url == "http://127.0.0.2:9"), "{error}");
    served.join().unwrap();

    let (url, served) = peer(vec![answer("307 Temporary Redirect", elsewhere)]);
    let error = Registry::new(&url).unwrap().exists("a", &Digest::of(b"")).await.unwrap_err();
    assert!(matches!(&error, ClientError::OtherHost { .. }), "{error}");
    served.join().unwrap();

    let (url, served) =
        peer(vec![answer("307 Temporary Redirect", "location: HERE/moved\r\n"), answer("200 OK", "")]);
    assert!(Registry::new(&url).unwrap().exists("a", &Digest::of(b"")).await.unwrap());
    assert_eq!(served.join().unwrap()[1], "HEAD /moved");
}

#[tokio::test]
async fn a_refusal_is_final_and_told() {
    let body = "HTTP/1.1 403 Forbidden\r\ncontent-length: 6\r\nconnection: close\r\n\r\ndenied".to_owned();
    let (url, served) = peer(vec![answer("404 Not Found", ""), body]);
    let error = Registry::new(&url).unwrap().push("a", &image(), None).await.unwrap_err();
    assert_eq!(error.to_string(), format!("{url}/v2/a/blobs/uploads/ answered 403: denied"));
    served.join().unwrap();
}

#[tokio::test]
async fn another_digest_is_noticed() {
    let other = format!("docker-content-digest: {}\r\n", Digest::of(b"other"));
    let (url, served) = peer(vec![answer("200 OK", ""), answer("200 OK", ""), answer("201 Created", &other)]);
    let error = Registry::new(&url).unwrap().push("a", &image(), None).await.unwrap_err();
    assert!(matches!(&error, ClientError::OtherDigest { .. }), "{error}");
    served.join().unwrap();
}

#[tokio::test]
async fn nobody_there_ends_with_the_address() {
    let closed = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let error =
        Registry::new(&format!("http://{closed}")).unwrap().exists("a", &Digest::of(b"")).await.unwrap_err();
    assert!(error.to_string().contains(&closed.to_string()) && error.source().is_some(), "{error}");
}

#[tokio::test]
async fn names_that_change_the_path_are_refused_before_anything_is_sent() {
    for url in ["", "ftp://a", "http://u:p@a", "http://a/v2", "http://a?x", "a:5000"] {
        assert!(Registry::new(url).is_err(), "{url}");
    }
    let registry = Registry::new("http://127.0.0.1:9").unwrap();
    for repository in ["", "/", "A", "a/../b", "a//b", "a?x", "a#x", "a b", "-a", "a/"] {
        let error = registry.push(repository, &image(), None).await.unwrap_err();
        assert!(matches!(error, ClientError::Unusable { .. }), "{repository}");
    }
    for tag in ["", ".a", "a/b", "a:b", &"a".repeat(129)] {
        let error = registry.push("a", &image(), Some(tag)).await.unwrap_err();
        assert!(matches!(error, ClientError::Unusable { .. }), "{tag}");
    }
}
