//! TLS: the local CA, certificate files, and reading them again.

use std::time::Duration;

use gpuaas_testkit::process::ServerProcess;
use gpuaas_testkit::{Database, TestDatabase};

fn client(ca: &str) -> reqwest::Client {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let root = reqwest::Certificate::from_pem(ca.as_bytes()).unwrap();
    reqwest::Client::builder()
        .tls_certs_only([root])
        .timeout(Duration::from_secs(10))
        .no_proxy()
        .build()
        .unwrap()
}

async fn peer_certificate(client: &reqwest::Client, url: &str) -> Result<u16, reqwest::Error> {
    client.get(format!("{url}/readyz")).send().await.map(|answer| answer.status().as_u16())
}

/// The CA made at first start is enough to trust the server; without it the connection is refused.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_local_ca_secures_the_first_start() {
    let database = TestDatabase::create(Database::Sqlite).await;
    let data = database.folder().join("data");
    let mut server = ServerProcess::prepare(&data, None).with("GPUAAS__TLS__MODE", "local_ca");
    server.serve_tls();
    let ca = std::fs::read_to_string(data.join("ca/ca.pem")).unwrap();
    let url = server.url().replace("http://", "https://");
    assert_eq!(peer_certificate(&client(&ca), &url).await.unwrap(), 200);
    assert_eq!(peer_certificate(&client(&ca), &url.replace("127.0.0.1", "localhost")).await.unwrap(), 200);
    let stranger = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    assert!(peer_certificate(&client(&stranger.cert.pem()), &url).await.is_err());
    let said = server.run(&["tls", "trust"]);
    assert!(String::from_utf8_lossy(&said.stdout).contains("update-ca-certificates"));
    // Behind TLS the cookie is bound to this host and never sent in the clear.
    let file = crate::admin_file(&server);
    let login = serde_json::json!({"email": file["email"], "password": file["password"]});
    let answer = client(&ca).post(format!("{url}/api/v1/auth/login")).json(&login).send().await.unwrap();
    let cookie = answer.headers()["set-cookie"].to_str().unwrap();
    assert!(cookie.starts_with("__Host-") && cookie.contains("; Secure"), "{cookie}");
}

/// A certificate replaced on disk is used without a restart; half a pair is ignored until it is whole.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn certificate_files_are_read_again() {
    let database = TestDatabase::create(Database::Sqlite).await;
    let (certificate, key) = (database.folder().join("c.pem"), database.folder().join("k.pem"));
    let make =
        || rcgen::generate_simple_self_signed(["127.0.0.1".to_owned(), "localhost".to_owned()]).unwrap();
    let (first, second) = (make(), make());
    std::fs::write(&certificate, first.cert.pem()).unwrap();
    std::fs::write(&key, first.signing_key.serialize_pem()).unwrap();
    let mut server = ServerProcess::prepare(&database.folder().join("data"), None)
        .with("GPUAAS__TLS__MODE", "files")
        .with("GPUAAS__TLS__CERTIFICATE_FILE", &certificate.display().to_string())
        .with("GPUAAS__TLS__KEY_FILE", &key.display().to_string());
    server.serve_tls();
    let url = server.url().replace("http://127.0.0.1", "https://localhost");
    assert_eq!(peer_certificate(&client(&first.cert.pem()), &url).await.unwrap(), 200);
    std::fs::write(&certificate, second.cert.pem()).unwrap();
    assert_eq!(peer_certificate(&client(&first.cert.pem()), &url).await.unwrap(), 200, "half a pair");
    std::fs::write(&key, second.signing_key.serialize_pem()).unwrap();
    let patience = std::time::Instant::now();
    while peer_certificate(&client(&second.cert.pem()), &url).await.is_err() {
        assert!(
            patience.elapsed() < Duration::from_secs(15),
            "the new certificate is not used: {}",
            server.log()
        );
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}
