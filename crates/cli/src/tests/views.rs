//! How every kind of answer looks, full and empty.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use gpuaas_api::allocations::{Allocation, AllocationDetail, SkuView};
use gpuaas_api::artifacts::{
    Artifact, ArtifactDetail, RegistryCredential, RegistryInfo, RepositoryView, TrustKey,
};
use gpuaas_api::catalog::{App, AppVersion, Entitlement, LaunchableApp};
use gpuaas_api::form::AppForm;
use gpuaas_api::instances::{Instance, InstanceDetail, InstanceStats, ReceiptView, TimelineEntry};
use gpuaas_api::nodes::{CreatedJoinToken, Node, NodeDetail};
use gpuaas_api::volumes::{Volume, VolumeDetail};
use ring::signature::{Ed25519KeyPair, KeyPair as _};
use serde_json::{Value, json};

use super::samples;
use crate::printer::{escape_but_tabs, render_members, render_table};
use crate::views::compute::{
    ALLOCATION_TITLES, GPU_TITLES, NO_ALLOCATIONS, SkuNames, allocation_cells, gpu_cells, join_line,
};
use crate::views::instances::{
    COMPONENT_TITLES, ENDPOINT_TITLES, NO_STATS, STATS_TITLES, component_cells, endpoint_cells, stats_rows,
};
use crate::views::volumes::{ATTACHMENT_TITLES, attachment_cells};
use crate::views::{Facts, Row, form, receipt};

fn table<T: Row>(items: &[Value]) -> String {
    let rows: Vec<_> =
        items.iter().map(|item| serde_json::from_value::<T>(item.clone()).unwrap().cells()).collect();
    assert!(rows.iter().all(|row| row.len() == T::TITLES.len()));
    render_table(T::TITLES, &rows, false)
}

fn facts<T: Facts>(value: Value) -> String {
    render_members(&serde_json::from_value::<T>(value).unwrap().facts(), false)
}

#[test]
fn nodes_show_what_they_have_and_what_is_made_up() {
    let gpus =
        json!([samples::gpu(0, "A100", false), samples::gpu(1, "A100", false), samples::gpu(2, "X", true)]);
    let mut made_up = samples::node(&json!({"kind": "simulated"}), &json!([samples::gpu(0, "A100", true)]));
    made_up["simulated"] = json!(true);
    made_up["ready"] = json!(false);
    made_up["reasons"] = json!([{"code": "cordoned", "message": "The node is cordoned."},
        {"code": "agent_away", "message": "The node's agent is not connected."}]);
    made_up["agent_connected_at"] = json!(null);
    let shown = table::<Node>(&[samples::node(&samples::docker(), &gpus), made_up.clone()]);
    assert_eq!(
        shown,
        "NAME               READY                     AGENT  CONNECTED                        GPUS                         RUNTIME      ID\n\
         gpu-1              ready                     0.1.0  since 2026-01-02 03:04:05Z       2 × A100, 1 × X (simulated)  docker 28.1  01900000-0000-7000-8000-000000000001\n\
         gpu-1 (simulated)  no: cordoned, agent_away  0.1.0  away, seen 2026-01-02 03:04:05Z  1 × A100 (simulated)         simulated    01900000-0000-7000-8000-000000000001\n"
    );
    let shown = facts::<Node>(made_up.clone());
    assert!(shown.contains("why not       The node is cordoned.\n"), "{shown}");
    let mut detail = made_up;
    detail["gpus"] = json!([samples::device(true)]);
    detail["allocations"] = json!([samples::ID]);
    detail["instances"] = json!([]);
    let shown = facts::<NodeDetail>(detail.clone());
    assert!(shown.contains("instances     none\n") && shown.contains("gpu-1 (simulated)\n"), "{shown}");
    let gpus: Vec<_> =
        serde_json::from_value::<NodeDetail>(detail).unwrap().gpus.iter().map(gpu_cells).collect();
    assert_eq!(
        render_table(GPU_TITLES, &gpus, false),
        "GPU  VENDOR  MODEL             MEMORY    STATE    DEVICE\n0    nvidia  A100 (simulated)  80.0 GiB  present  GPU-0\n"
    );
    let down = samples::node(&json!({"kind": "unavailable", "reason": "no socket"}), &json!([]));
    assert!(table::<Node>(&[down]).contains("unavailable: no socket"));
}

#[test]
fn a_join_token_comes_with_the_line_to_run() {
    let token: CreatedJoinToken = serde_json::from_value(samples::join_token()).unwrap();
    let line = "gpuaas-agent join --server https://gpu.example.org:8443 --token id.secret.pin";
    assert_eq!(join_line(&token).as_deref(), Some(line));
    assert!(facts::<CreatedJoinToken>(samples::join_token()).contains(line));
    let mut again = samples::join_token();
    again["token"] = json!(null);
    assert_eq!(join_line(&serde_json::from_value(again).unwrap()), None, "a repeated answer has no secret");
}

#[test]
fn skus_and_allocations() {
    assert_eq!(
        table::<SkuView>(&[samples::sku()]),
        "SLUG   SHAPE      GPUS             VCPU  MEMORY    GRANTED BY  PRICE              OFFERED\n\
         gpu-1  gpu_slice  1 × nvidia A100  4     16.0 GiB  admin       1.50 EUR per hour  yes\n"
    );
    let shown = facts::<SkuView>(samples::sku());
    assert!(shown.contains("1.50 EUR per hour from 2026-01-02 03:04:05Z, holds now"), "{shown}");
    let allocation: Allocation = serde_json::from_value(samples::allocation()).unwrap();
    let names = [(allocation.sku_id, "gpu-1".to_owned())].into();
    let rows = [allocation_cells(&allocation, &names), allocation_cells(&allocation, &SkuNames::default())];
    let shown = render_table(ALLOCATION_TITLES, &rows, false);
    assert!(
        shown.lines().nth(1).unwrap().starts_with("training  active  gpu-1  1     4     16.0 GiB  "),
        "{shown}"
    );
    assert!(shown.lines().nth(2).unwrap().starts_with("training  active  -      1 "), "{shown}");
    let shown = facts::<AllocationDetail>(samples::allocation_detail());
    assert!(
        shown.contains("gpu-1 (simulated)") && shown.contains("1 GPUs, 2.5 processors, 8.0 GiB"),
        "{shown}"
    );
}

#[test]
fn apps_and_entitlements() {
    let mut making = samples::app();
    making["preparing"] = json!({"stage": "building the image", "percent": 40, "failure": null,
        "updated_at": making["updated_at"]});
    let mut broken = making.clone();
    broken["preparing"]["failure"] = json!("the disk is full");
    assert_eq!(
        table::<App>(&[samples::app(), making, broken]),
        "SLUG     NAME     UPDATED               PREPARING\n\
         jupyter  Jupyter  2026-01-02 03:04:05Z  -\n\
         jupyter  Jupyter  2026-01-02 03:04:05Z  building the image, 40 %\n\
         jupyter  Jupyter  2026-01-02 03:04:05Z  failed: the disk is full\n"
    );
    assert!(
        table::<AppVersion>(&[samples::app_version()]).contains("1.0.0    active  Jupyter  oci   supported")
    );
    assert!(facts::<AppVersion>(samples::app_version()).contains("publisher        -\n"));
    let mut launchable = samples::app();
    launchable["versions"] = json!([samples::app_version()]);
    assert!(table::<LaunchableApp>(&[launchable]).contains("jupyter  Jupyter  1.0.0 (active)"));
    let said = json!({"app_slug": "jupyter", "enabled": true, "tenant": {"enabled": true},
        "allowed": {"enabled": true, "versions": ["1.0.0"], "channels": ["canary", "active"]},
        "narrowed": {"enabled": false}});
    assert_eq!(
        table::<Entitlement>(std::slice::from_ref(&said)),
        "APP      ENABLED  TENANT      PROJECT                        NARROWED\n\
         jupyter  yes      on: active  on: canary+active, only 1.0.0  off\n"
    );
    assert!(facts::<Entitlement>(said).contains("narrowed by the project  off\n"));
}

#[test]
fn images_keys_and_credentials() {
    let mut revoked = samples::artifact();
    revoked["channel"] = json!(null);
    revoked["status"] = json!("published");
    revoked["trust"]["state"] = json!("revoked");
    let shown = table::<Artifact>(&[samples::artifact(), revoked]);
    let lines: Vec<_> = shown.lines().collect();
    assert!(
        lines[1].starts_with(
            "lab/jupyter  0123456789ab  1.0.0  cpu      promoted (dev)  verified  no      1.0 MiB"
        ),
        "{shown}"
    );
    assert!(lines[2].contains("published       revoked "), "{shown}");
    let shown = facts::<ArtifactDetail>(samples::artifact_detail());
    assert!(
        shown.contains("reference    registry.example.org/gpuaas/apps/lab/jupyter@sha256:0123456789abcdef"),
        "{shown}"
    );
    assert!(shown.contains("commit=abc, repository=https://git.example.org/lab\n"), "{shown}");
    assert!(
        shown.contains("used by      jupyter 1.0.0 (draft)\n") && shown.contains("promoted to  dev "),
        "{shown}"
    );
    let mut unsigned = samples::artifact_detail();
    unsigned["trust"] = json!({"state": "unverified", "key_id": null, "signer": null, "verified_at": null,
        "statement_digest": null, "provenance_digest": null, "reason": "no signature"});
    assert!(facts::<ArtifactDetail>(unsigned).contains("trust        unverified: no signature\n"));
    let shown = facts::<RegistryInfo>(samples::registry_info());
    assert!(shown.contains("dev → staging → production (counts here)\n"), "{shown}");
    assert!(
        shown.contains("registry.example.org/gpuaas/apps/lab/APP\n")
            && shown.contains("1.0 MiB of 10.0 MiB taken")
    );
    assert!(table::<RepositoryView>(&[samples::repository()]).contains("gpuaas/apps/lab/jupyter  tenant "));
    assert!(
        table::<RegistryCredential>(&[samples::registry_credential()])
            .contains("publish  gpuaas/apps/lab/jupyter  user ")
    );
    let mut key = samples::trust_key();
    key["project_id"] = json!(null);
    key["revoked_at"] = key["created_at"].clone();
    key["revoked_reason"] = json!("lost");
    let shown = table::<TrustKey>(&[samples::trust_key(), key]);
    assert!(
        shown.contains("key-1  project   ecdsa-p256  good ")
            && shown.contains("platform  ecdsa-p256  revoked: lost"),
        "{shown}"
    );
}

#[test]
fn instances_and_what_happens_to_them() {
    let mut failed = samples::instance();
    failed["status"] = json!("failed");
    failed["failure_reason"] = json!("image_not_found");
    let mut gone = samples::instance();
    gone["decommissioned_at"] = gone["created_at"].clone();
    let shown = table::<Instance>(&[samples::instance(), failed, gone]);
    let lines: Vec<_> = shown.lines().collect();
    assert!(
        lines[1].starts_with("jupyter  jupyter  1.0.0    running                   healthy  -  "),
        "{shown}"
    );
    assert!(lines[2].contains("failed (image_not_found)") && lines[3].contains("decommissioned"), "{shown}");
    let shown = facts::<InstanceDetail>(samples::instance_detail());
    assert!(shown.contains("gpu-1 (simulated)\n") && shown.contains("GPU-0 (simulated)\n"), "{shown}");
    assert!(shown.contains("gpuaas port-forward"), "{shown}");
    let detail: InstanceDetail = serde_json::from_value(samples::instance_detail()).unwrap();
    let components: Vec<_> = detail.components.iter().map(component_cells).collect();
    assert!(
        render_table(COMPONENT_TITLES, &components, false).ends_with("2026-01-02 03:04:05Z  0123456789ab\n")
    );
    let endpoints: Vec<_> = detail.access.endpoints.iter().map(endpoint_cells).collect();
    assert_eq!(
        render_table(ENDPOINT_TITLES, &endpoints, false),
        "PORT  NAME  COMPONENT  ACCESS    ADDRESS\n5432  sql   db         internal  -\n8888  ui    web        private   127.0.0.1:20000 on the node\n"
    );
    let pull = samples::timeline("pulling", &json!({"done_bytes": 1_048_576, "total_bytes": null}));
    let shown = table::<TimelineEntry>(&[pull, samples::timeline("failed", &json!({"reason": "disk_full"}))]);
    assert!(
        shown.contains("pulling  done=1.0 MiB\n") && shown.contains("failed   reason=disk_full\n"),
        "{shown}"
    );
}

#[test]
fn figures_say_when_they_are_made_up() {
    let component = json!({"name": "web", "cpu_millis": 250, "memory_bytes": 524_288, "memory_limit_bytes": 1_048_576,
        "pids": 3, "network_rx_bytes": 10, "network_tx_bytes": 2048});
    let stats: InstanceStats =
        serde_json::from_value(json!({"components": [component], "simulated": true})).unwrap();
    assert_eq!(
        render_table(STATS_TITLES, &stats_rows(&stats), false),
        "COMPONENT        CPU   MEMORY     LIMIT    USED  PIDS  RECEIVED  SENT\n\
         web (simulated)  0.25  512.0 KiB  1.0 MiB  50 %  3     10 B      2.0 KiB\n"
    );
    let none: InstanceStats = serde_json::from_value(json!({"components": [], "simulated": false})).unwrap();
    assert!(stats_rows(&none).is_empty());
}

#[test]
fn a_receipt_says_who_looked_and_is_loud_when_nobody_did() {
    let read = |value: Value| serde_json::from_value::<ReceiptView>(value).unwrap();
    let seen: InstanceDetail = serde_json::from_value(samples::instance_detail()).unwrap();
    let kept = read(samples::receipt(true));
    let (facts, aloud) = receipt::facts(&kept, Some(&seen));
    let shown = render_members(&facts, false);
    assert!(aloud.is_empty(), "{aloud:?}");
    assert!(shown.contains("node gpu-1, 01900000-0000-7000-8000-000000000001 (simulated)\n"), "{shown}");
    assert!(
        shown.contains("nothing: looked for containers, networks, ports, scratch paths, secrets, volumes"),
        "{shown}"
    );
    assert!(
        shown.contains("2026-01-02 03:04:05Z") && shown.contains("not checked: the node's key is not known"),
        "{shown}"
    );
    assert_eq!(receipt::removed_rows(&kept.receipt).len(), 2);

    let kept = read(samples::receipt(false));
    let (facts, aloud) = receipt::facts(&kept, None);
    let shown = render_members(&facts, false);
    assert!(aloud[0].starts_with("NOT ATTESTED"), "{aloud:?}");
    assert!(
        shown.contains("NOBODY") && shown.contains("UNKNOWN") && shown.contains("the node burnt down"),
        "{shown}"
    );
    assert!(receipt::removed_rows(&kept.receipt).is_empty());

    let mut left = samples::receipt(true);
    let payload = left["payload"].as_str().unwrap().replace("\"containers\":0", "\"containers\":2");
    left["payload"] = json!(payload);
    let (_, aloud) = receipt::facts(&read(left), None);
    assert!(aloud[0].contains("2 containers"), "{aloud:?}");

    // What the node signed is checked here, and a changed byte is said aloud.
    let pair = Ed25519KeyPair::from_seed_unchecked(&[7; 32]).unwrap();
    let mut signed = samples::receipt(true);
    let bytes = [b"gpuaas-receipt-v1\0", signed["payload"].as_str().unwrap().as_bytes()].concat();
    signed["signature"] = json!(URL_SAFE_NO_PAD.encode(pair.sign(&bytes)));
    signed["node_public_key"] = json!(URL_SAFE_NO_PAD.encode(pair.public_key()));
    let (facts, aloud) = receipt::facts(&read(signed.clone()), None);
    assert!(aloud.is_empty() && render_members(&facts, false).contains("valid, checked here"), "{aloud:?}");
    signed["payload"] = json!(signed["payload"].as_str().unwrap().replace("c-1", "c-2"));
    let (facts, aloud) = receipt::facts(&read(signed), None);
    assert!(aloud[0].contains("does NOT hold") && render_members(&facts, false).contains("INVALID"));
}

/// A sentence with a command in it, so that nobody is left in front of an empty table.
#[test]
fn empty_lists_say_what_to_do_next() {
    for sentence in [
        Node::EMPTY,
        SkuView::EMPTY,
        NO_ALLOCATIONS,
        App::EMPTY,
        AppVersion::EMPTY,
        LaunchableApp::EMPTY,
        Entitlement::EMPTY,
        Artifact::EMPTY,
        RepositoryView::EMPTY,
        RegistryCredential::EMPTY,
        TrustKey::EMPTY,
        Instance::EMPTY,
        NO_STATS,
    ] {
        assert!(sentence.contains("`gpuaas "), "{sentence}");
    }
}

#[test]
fn a_log_line_cannot_drive_the_terminal() {
    let hostile = "a\tb\u{1b}]0;title\u{7}\u{1b}[2J\r\u{9b}31m\u{202e}x\u{8}\u{0}";
    let shown = escape_but_tabs(hostile);
    assert_eq!(shown, "a\tb\\u{1b}]0;title\\u{7}\\u{1b}[2J\\r\\u{9b}31m\\u{202e}x\\u{8}\\u{0}");
    assert!(shown.chars().all(|c| c == '\t' || !gpuaas_domain::text::is_deceptive(c)));
    let line = json!({"component": "web", "stream": "stdout", "at": 1, "line": hostile}).to_string();
    let shown = crate::json::compact(&line);
    assert!(!shown.chars().any(gpuaas_domain::text::is_deceptive), "{shown:?}");
    assert_eq!(serde_json::from_str::<Value>(&shown).unwrap()["line"], hostile, "the same line for programs");
}

/// Scripts read these members: what the platform said goes through as it came, in its order.
#[test]
fn json_is_what_the_platform_said() {
    let raw = r#"{"id":"i","token":"a.b.c","server":"https://x:1","expires_at":"2026-01-01T00:00:00Z","secret_redacted":false}"#;
    let shown = crate::json::pretty(raw);
    assert_eq!(
        shown,
        "{\n  \"id\": \"i\",\n  \"token\": \"a.b.c\",\n  \"server\": \"https://x:1\",\n  \"expires_at\": \"2026-01-01T00:00:00Z\",\n  \"secret_redacted\": false\n}"
    );
    for sample in [
        samples::node(&samples::docker(), &json!([])),
        samples::sku(),
        samples::allocation_detail(),
        samples::instance_detail(),
        samples::receipt(true),
        samples::artifact_detail(),
        samples::registry_info(),
    ] {
        let raw = sample.to_string();
        assert_eq!(serde_json::from_str::<Value>(&crate::json::pretty(&raw)).unwrap(), sample);
    }
}

/// B-03, I-03, P-01: everything there is to choose, with the reasons, on paper.
#[test]
fn a_form_shows_what_can_be_chosen_and_why_not() {
    let golden = include_str!("../../../domain/src/launch_form/tests/composition.json");
    let mut value: Value = serde_json::from_str(golden).unwrap();
    value["request"] = json!({"slug": "mixed-model-observable"});
    let shown = facts::<AppForm>(value.clone());
    assert_eq!(
        shown,
        "app          mixed-model-observable 2.0.0-rc.1 (active)\n\
         name         Mixed models, observable\n\
         description  Lanes behind a gateway.\n\
         allocation   -\n\
         gpus         2 (2 to 8)\n\
         processors   8 (at least 4.5)\n\
         memory       16.0 GiB (8.5 GiB to 64.0 GiB)\n\
         storage      workspace at /workspace: scratch\n\
         access       web on port 8080: embedded_ui_gateway\n\
         launchable   no\n"
    );
    let form: AppForm = serde_json::from_value(value.clone()).unwrap();
    let tables = form::tables(&form);
    assert!(tables.iter().all(|(titles, rows)| rows.iter().all(|row| row.len() == titles.len())));
    let titles: Vec<&str> = tables.iter().map(|(titles, _)| titles[0]).collect();
    assert_eq!(
        titles,
        ["PARAMETER", "MIND", "COMPONENT", "ADD-ON", "LANE", "IMAGE", "ALLOCATION", "OFFER", "WRONG"]
    );
    let shown: Vec<String> = tables.iter().map(|(titles, rows)| render_table(titles, rows, false)).collect();
    assert_eq!(
        shown[0],
        "PARAMETER  TYPE     VALUE              TAKES       ABOUT\n\
         model      string   a/b                a/b, c/d    Model\n\
         context    integer  4096               1 to 65536  -\n\
         lanes      integer  (by the platform)  -           -\n\
         packages   array    []                 -           -\n"
    );
    assert_eq!(
        shown[3],
        "ADD-ON   CHOSEN  CPU  MEMORY     STORAGE  PART OF THE PRICE  BRINGS  ABOUT\n\
         metrics  no      1    256.0 MiB  1.0 GiB  -                  -       metrics\n"
    );
    assert!(
        shown[6].contains("nvlink is missing.")
            && shown[6].contains("The app needs 2 GPUs, the allocation has 1."),
        "{}",
        shown[6]
    );
    assert!(shown[8].starts_with("WRONG"), "{}", shown[8]);

    // Where something fits, nothing has to be requested.
    value["allocations"][0]["fits"] = json!(true);
    let form: AppForm = serde_json::from_value(value).unwrap();
    assert!(form::tables(&form).iter().all(|(titles, _)| titles[0] != "OFFER"));
}

/// I-08, P-03: a volume, where it lies, what it waits for and who holds it.
#[test]
fn a_volume_shows_where_it_is_and_who_holds_it() {
    assert_eq!(
        table::<Volume>(&[samples::volume()]),
        "NAME  STATE     MEANT FOR  NODE                                  CREATED               ID\n\
         home  deleting  2.0 GiB    01900000-0000-7000-8000-000000000001  2026-01-02 03:04:05Z  01900000-0000-7000-8000-000000000001\n"
    );
    let shown = facts::<VolumeDetail>(samples::volume());
    assert!(shown.contains("gpu-1 (away), 01900000") && shown.contains("the node is away\n"), "{shown}");
    let detail: VolumeDetail = serde_json::from_value(samples::volume()).unwrap();
    let held: Vec<_> = detail.attachments.iter().map(attachment_cells).collect();
    assert!(render_table(ATTACHMENT_TITLES, &held, false).contains("jupyter  workspace  yes "));
    let mut mounted = samples::instance_detail();
    mounted["mounts"] = json!([{"name": "workspace", "path": "/workspace", "kind": "workspace", "read_only": false,
        "source": {"kind": "volume", "volume_id": samples::ID}, "volume_name": "home"}]);
    assert!(facts::<InstanceDetail>(mounted).contains("workspace at /workspace: volume home\n"));
}
