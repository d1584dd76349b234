//! Whether the container engine is there, and which it is: asked every few seconds, so that an operator sees an engine
//! that went away, and nobody has to restart the agent when it is back.

use std::path::{Path, PathBuf};
use std::time::Duration;

use bytes::Bytes;
use gpuaas_agent_protocol::inventory::Runtime;
use gpuaas_program::Spawner;
use http_body_util::{BodyExt as _, Empty, Limited};
use hyper::{Request, StatusCode};
use hyper_util::rt::TokioIo;
use serde_json::Value;
use tokio::net::UnixStream;
use tokio::sync::watch;

const PATIENCE: Duration = Duration::from_secs(10);
const MAX_ANSWER: usize = 4 * 1024 * 1024;

/// The engine at this socket, as it stands from now on.
pub(crate) async fn watch_docker(
    socket: PathBuf,
    search_path: String,
    every: Duration,
    spawner: &Spawner,
) -> watch::Receiver<Runtime> {
    let (sender, receiver) = watch::channel(describe(&socket, &search_path).await);
    if let Runtime::Unavailable { reason } = &*receiver.borrow() {
        tracing::warn!("Docker does not answer yet: {reason}");
    }
    spawner.spawn_until_stop(async move {
        loop {
            tokio::time::sleep(every).await;
            let now = describe(&socket, &search_path).await;
            sender.send_if_modified(|before| {
                if *before == now {
                    return false;
                }
                match &now {
                    Runtime::Unavailable { reason } => tracing::warn!("Docker does not answer: {reason}"),
                    Runtime::Docker { version, .. } => tracing::info!("Docker {version} answers"),
                    Runtime::Simulated => {}
                }
                *before = now;
                true
            });
        }
    });
    receiver
}

async fn describe(socket: &Path, search_path: &str) -> Runtime {
    let asked = async { Ok((get(socket, "/version").await?, get(socket, "/info").await?)) };
    match tokio::time::timeout(PATIENCE, asked).await {
        Ok(Ok((version, info))) => runtime(&version, &info, has_hook(search_path)),
        Ok(Err(reason)) => Runtime::Unavailable { reason },
        Err(_) => {
            let reason = format!("{} did not answer within {} s", socket.display(), PATIENCE.as_secs());
            Runtime::Unavailable { reason }
        }
    }
}

/// The engine knows NVIDIA's devices by its runtime, by a CDI description, or by the hook it finds on its own path.
fn runtime(version: &Value, info: &Value, hook: bool) -> Runtime {
    let text = |value: &Value| value.as_str().unwrap_or("unknown").chars().take(100).collect::<String>();
    let components = version["Components"].as_array();
    let runc = components.and_then(|all| all.iter().find(|component| component["Name"] == "runc"));
    let devices = info["DiscoveredDevices"].as_array();
    let cdi = devices.is_some_and(|devices| {
        devices.iter().any(|device| device["ID"].as_str().is_some_and(|id| id.starts_with("nvidia.com/gpu")))
    });
    Runtime::Docker {
        version: text(&version["Version"]),
        api_version: text(&version["ApiVersion"]),
        runc_version: runc.map(|runc| text(&runc["Version"])),
        nvidia: hook || cdi || info["Runtimes"].get("nvidia").is_some(),
    }
}

fn has_hook(search_path: &str) -> bool {
    search_path
        .split(':')
        .filter(|folder| folder.starts_with('/'))
        .any(|folder| Path::new(folder).join("nvidia-container-runtime-hook").is_file())
}

async fn get(socket: &Path, path: &str) -> Result<Value, String> {
    let at = |error: &dyn std::fmt::Display| format!("{}: {error}", socket.display());
    let stream = UnixStream::connect(socket).await.map_err(|error| at(&error))?;
    let (mut sender, connection) =
        hyper::client::conn::http1::handshake(TokioIo::new(stream)).await.map_err(|error| at(&error))?;
    let request = Request::get(path).header("host", "docker").body(Empty::<Bytes>::new());
    let request = request.map_err(|error| at(&error))?;
    let answered = async {
        let response = sender.send_request(request).await.map_err(|error| at(&error))?;
        if response.status() != StatusCode::OK {
            return Err(at(&format!("it answered {} to {path}", response.status())));
        }
        let body = Limited::new(response.into_body(), MAX_ANSWER).collect().await;
        let body = body.map_err(|error| at(&error))?.to_bytes();
        serde_json::from_slice(&body).map_err(|error| at(&error))
    };
    // The connection has to be driven while the answer is awaited; neither outlives this call.
    tokio::pin!(answered, connection);
    let mut driven = true;
    loop {
        tokio::select! {
            answer = &mut answered => return answer,
            _ = &mut connection, if driven => driven = false,
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_the_engine_says_is_read_tolerantly() {
        let version = json!({"Version": "20.10.24", "ApiVersion": "1.41",
            "Components": [{"Name": "Engine", "Version": "x"}, {"Name": "runc", "Version": "1.1.5"}]});
        let nvidia = |info: Value, hook: bool| {
            let Runtime::Docker { version, api_version, runc_version, nvidia } =
                runtime(&version, &info, hook)
            else {
                panic!()
            };
            assert_eq!((version.as_str(), api_version.as_str()), ("20.10.24", "1.41"));
            assert_eq!(runc_version.as_deref(), Some("1.1.5"));
            nvidia
        };
        assert!(!nvidia(json!({"Runtimes": {"runc": {}}}), false));
        assert!(nvidia(json!({"Runtimes": {"runc": {}, "nvidia": {}}}), false));
        assert!(nvidia(json!({"DiscoveredDevices": [{"ID": "nvidia.com/gpu=0"}]}), false));
        assert!(nvidia(Value::Null, true));
        let Runtime::Docker { version, .. } = runtime(&Value::Null, &Value::Null, false) else { panic!() };
        assert_eq!(version, "unknown");
    }

    #[tokio::test]
    async fn an_engine_that_is_away_is_unavailable_and_seen_when_it_comes() {
        let folder = tempfile::tempdir().unwrap();
        let socket = folder.path().join("docker.sock");
        let spawner = Spawner::default();
        let mut engine =
            watch_docker(socket.clone(), String::new(), Duration::from_millis(20), &spawner).await;
        assert!(
            matches!(&*engine.borrow(), Runtime::Unavailable { reason } if reason.contains("docker.sock"))
        );
        let listener = tokio::net::UnixListener::bind(&socket).unwrap();
        spawner.spawn_until_stop(async move {
            loop {
                use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
                let (mut stream, _) = listener.accept().await.unwrap();
                let mut head = [0; 1024];
                let _ = stream.read(&mut head).await;
                let body = r#"{"Version":"9.9"}"#;
                let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n{body}", body.len());
                let _ = stream.write_all(head.as_bytes()).await;
            }
        });
        let up = engine.wait_for(|runtime| matches!(runtime, Runtime::Docker { .. }));
        tokio::time::timeout(Duration::from_secs(5), up).await.unwrap().unwrap();
        spawner.stop(Duration::from_secs(1)).await;
    }
}
