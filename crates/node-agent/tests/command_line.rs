//! The program itself: what it prints, how it refuses, how it ends.

use std::io::{BufRead as _, BufReader};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use gpuaas_domain::ids::NodeId;
use gpuaas_node_agent::identity::{Identity, StateFolder};
use rcgen::{BasicConstraints, CertificateParams, IsCa, KeyPair};
use serde_json::Value;

fn program(state: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_gpuaas-agent"));
    command.env_clear().env("PATH", "/usr/bin:/bin").arg("--state").arg(state);
    command
}

fn ran(command: &mut Command) -> (bool, String, String) {
    let Output { status, stdout, stderr } = command.output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (status.success(), text(stdout), text(stderr))
}

/// A node that joined a platform which is gone.
fn joined(folder: &Path) -> StateFolder {
    let state = StateFolder::at(folder);
    state.ensure().unwrap();
    state.ensure_key().unwrap();
    let mut params = CertificateParams::default();
    params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    let ca = params.self_signed(&KeyPair::generate().unwrap()).unwrap();
    let identity = Identity {
        node_id: NodeId::new(uuid::Uuid::from_u128(7)),
        name: "n1".into(),
        server_url: "https://127.0.0.1:9".into(),
        ca_pem: ca.pem(),
    };
    state.save_identity(&identity).unwrap();
    state
}

#[test]
fn it_explains_itself_and_refuses_what_is_wrong() {
    let folder = tempfile::tempdir().unwrap();
    for arguments in [
        &["--help"][..],
        &["join", "--help"],
        &["run", "--help"],
        &["status", "--help"],
        &["config", "--help"],
    ] {
        let (fine, out, _) = ran(program(folder.path()).args(arguments));
        assert!(fine && out.contains("Usage:"), "{arguments:?}: {out}");
    }
    let (fine, out, _) = ran(program(folder.path()).args(["config", "check"]));
    assert!(fine && out.contains("valid"), "{out}");
    let (fine, _, err) =
        ran(program(folder.path()).args(["config", "check"]).env("GPUAAS_AGENT__DOCKER__SOKET", "/x"));
    assert!(!fine && err.contains("config_invalid") && err.contains("docker.socket"), "{err}");
    let (fine, _, err) = ran(program(folder.path()).arg("run"));
    assert!(!fine && err.contains("not_joined") && err.contains("gpuaas-agent join"), "{err}");
    let (fine, _, err) =
        ran(program(folder.path()).args(["join", "--server", "https://h", "--token", "x.y"]));
    assert!(!fine && err.contains("join_token_malformed"), "{err}");
    let (fine, out, _) = ran(program(folder.path()).args(["status", "-o", "json"]));
    let status: Value = serde_json::from_str(&out).unwrap();
    assert!(fine && status["joined"] == false && status["running"] == false, "{status}");

    let state = joined(folder.path());
    let (fine, out, _) = ran(program(folder.path()).arg("status"));
    assert!(fine && out.contains("n1") && out.contains("Running  no"), "{out}");
    let token = format!("a.b.{}", "0".repeat(64));
    let (fine, out, _) =
        ran(program(folder.path()).args(["join", "--server", "https://127.0.0.1:9", "--token", &token]));
    assert!(fine && out.contains("already"), "{out}");
    let key = state.path().join("key.p8");
    std::fs::remove_file(&key).unwrap();
    std::fs::OpenOptions::new().write(true).create_new(true).mode(0o644).open(&key).unwrap();
    let (fine, _, err) = ran(program(folder.path()).arg("run").env("GPUAAS_AGENT__RUNTIME", "simulated"));
    assert!(!fine && err.contains("key_exposed"), "{err}");
}

#[test]
fn it_keeps_trying_says_so_and_ends_soon_after_a_signal() {
    let folder = tempfile::tempdir().unwrap();
    joined(folder.path());
    let mut agent = program(folder.path())
        .arg("run")
        .env("GPUAAS_AGENT__RUNTIME", "simulated")
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(agent.stderr.take().unwrap()).lines().map(Result::unwrap);
    let seen: Vec<String> = {
        let mut seen = Vec::new();
        for line in lines.by_ref() {
            let enough = line.contains("control link is down");
            seen.push(line);
            if enough {
                break;
            }
        }
        seen
    };
    assert!(
        seen.iter().any(|line| line.contains("WARN") && line.contains("the platform does not answer")),
        "{seen:?}"
    );

    let (_, _, err) = ran(program(folder.path()).arg("run").env("GPUAAS_AGENT__RUNTIME", "simulated"));
    assert!(err.contains("state_in_use"), "{err}");
    let mut status = Value::Null;
    for _ in 0..100 {
        let (_, out, _) = ran(program(folder.path()).args(["status", "-o", "json"]));
        status = serde_json::from_str(&out).unwrap();
        if status["link"]["trouble"].is_string() {
            break;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    assert_eq!(
        (status["running"].as_bool(), status["link"]["connected"].as_bool()),
        (Some(true), Some(false))
    );

    let asked = Instant::now();
    Command::new("kill").arg("-TERM").arg(agent.id().to_string()).status().unwrap();
    assert!(agent.wait().unwrap().success());
    assert!(asked.elapsed() < Duration::from_secs(5), "{:?}", asked.elapsed());
    assert!(lines.any(|line| line.contains("workloads go on")));
}
