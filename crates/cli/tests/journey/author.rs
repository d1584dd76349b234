//! What an author does before there is a platform: form, renderings, records.

use std::path::Path;

use serde_json::{Value, json};

use super::Cli;

fn app(name: &str) -> String {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../apps").join(name).display().to_string()
}

fn author() -> (Cli, tempfile::TempDir) {
    let folder = tempfile::tempdir().unwrap();
    (Cli { folder: folder.path().to_owned() }, folder)
}

fn written(folder: &Path, name: &str, text: &str) -> String {
    let path = folder.join(name);
    std::fs::write(&path, text).unwrap();
    path.display().to_string()
}

/// A-19, B-05, B-13: a record is rendered again and compared; one that was changed, or cannot be rendered, is no good one.
#[test]
fn a_record_is_held_against_its_own_input() {
    let (cli, folder) = author();
    for engine in ["docker_compose", "kubernetes", "helm"] {
        let record =
            cli.json(&["render", &app("mixed-model-observable"), "--engine", engine, "--addon", "metrics"]);
        let good = written(folder.path(), "good.json", &record.to_string());
        assert_eq!(cli.json(&["render", "--verify", &good])["verification"], "rederived", "{engine}");
        let refuse = |change: fn(&mut Value), said: &str| {
            let mut record = record.clone();
            change(&mut record);
            let bad = written(folder.path(), "bad.json", &record.to_string());
            let (code, told) = cli.refused(&["render", "--verify", &bad]);
            assert!(code == 1 && told.contains("mismatch") && told.contains(said), "{engine}: {code} {told}");
        };
        refuse(|record| record["files"][0]["bytes"] = json!("other"), "not what the digest says");
        refuse(|record| record["input"]["components"][0]["cpu_millis"] = json!(7), "other bytes");
        refuse(|record| record["input"]["components"][0]["name"] = json!("A B"), "cannot be rendered");
        refuse(|record| record["digest"] = json!("sha256:0"), "not what the digest says");
    }
    let (code, told) = cli.refused(&["render", "--verify", &written(folder.path(), "none.json", "{}")]);
    assert!(code == 2 && told.contains("is no record"), "{told}");
}

/// B-04: files go into a folder that is theirs alone, and through no link.
#[test]
fn files_go_into_a_folder_of_their_own() {
    let (cli, folder) = author();
    let into = folder.path().join("rendered");
    let shown = into.display().to_string();
    let render = ["render", &app("mixed-model-observable"), "--engine", "kubernetes", "--into", &shown];
    let first = cli.ok(&render);
    assert!(first.lines().count() >= 1 && first.lines().all(|path| Path::new(path).is_file()), "{first}");
    assert_eq!(cli.ok(&render), first, "again is the same");
    let other = written(&into, "old.yaml", "kind: Secret");
    let (code, told) = cli.refused(&render);
    assert!(code == 2 && told.contains("folder_in_use") && told.contains("old.yaml"), "{told}");
    std::fs::remove_file(other).unwrap();
    let elsewhere = written(folder.path(), "precious", "keep");
    let ours = first.lines().next().unwrap();
    std::fs::remove_file(ours).unwrap();
    std::os::unix::fs::symlink(&elsewhere, ours).unwrap();
    assert!(cli.refused(&render).1.contains("folder_in_use"));
    assert_eq!(std::fs::read_to_string(elsewhere).unwrap(), "keep");
}

/// B-01, U-12: nothing that was typed is passed over in silence.
#[test]
fn what_was_typed_counts_or_is_told() {
    let (cli, folder) = author();
    let app = app("jupyterlab");
    for (typed, told) in [
        (["--mount", "nowhere=scratch"], "/mounts/nowhere"),
        (["--version", "9.9.9"], "not 9.9.9"),
        (["--preset", "mine"], "kept by a platform"),
        (["--mount", "workspace=volume:home"], "no volume"),
        (["--addon", "nothing"], "/addons/0"),
        (["--lane", "a.gpus=2"], "/lanes/a"),
        (["--set", "nothing=1"], "/values/nothing"),
    ] {
        let (_, said) = cli.refused(&["render", &app, typed[0], typed[1]]);
        assert!(said.contains(told), "{typed:?}: {said}");
    }
    for (text, told) in [
        ("resources: {gpu_count: two}", ":1:24: /resources/gpu_count: This must be a whole number."),
        ("resources: {gpu_count: 65}", "/resources/gpu_count: This must be 0 to 64."),
        ("valeus: {}", "Did you mean values?"),
        ("addons: metrics", "/addons: This must be a list."),
        ("values: [", "cannot be read"),
    ] {
        let file = written(folder.path(), "values.yaml", text);
        let (code, said) = cli.refused(&["render", &app, "--values", &file]);
        assert!(code == 2 && said.contains(told), "{text}: {said}");
    }
}
