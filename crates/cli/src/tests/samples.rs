//! Answers of a platform, as they come over the wire.

use serde_json::{Value, json};

pub(crate) const ID: &str = "01900000-0000-7000-8000-000000000001";
const AT: &str = "2026-01-02T03:04:05.000000Z";

fn merge(mut base: Value, more: Value) -> Value {
    if let (Some(base), Value::Object(more)) = (base.as_object_mut(), more) {
        base.extend(more);
    }
    base
}

pub(crate) fn node(runtime: &Value, gpus: &Value) -> Value {
    json!({"id": ID, "name": "gpu-1", "standing": "active", "cordoned": false, "draining": false, "ready": true,
        "reasons": [], "capabilities": ["container", "nvidia"], "simulated": false, "agent_version": "0.1.0",
        "agent_connected_at": AT, "last_seen_at": AT, "inventory": {"agent_version": "0.1.0", "protocol": 1,
        "hostname": "host", "os": "Debian 13", "kernel": "6.12", "architecture": "amd64", "cpus": 16,
        "memory_mib": 65536, "disk_total_mib": 102_400, "disk_free_mib": 51200, "runtime": runtime, "gpus": gpus,
        "warnings": []}, "inventory_at": AT, "version": 1, "created_at": AT, "updated_at": AT})
}

pub(crate) fn docker() -> Value {
    json!({"kind": "docker", "version": "28.1", "api_version": "1.49", "runc_version": null, "nvidia": true})
}

pub(crate) fn gpu(index: u32, model: &str, simulated: bool) -> Value {
    json!({"index": index, "uuid": format!("GPU-{index}"), "vendor": "nvidia", "model": model, "memory_mib": 81920,
        "bus_id": null, "driver_version": null, "simulated": simulated})
}

pub(crate) fn device(simulated: bool) -> Value {
    json!({"id": ID, "node_id": ID, "device_uuid": "GPU-0", "index": 0, "vendor": "nvidia", "model": "A100",
        "memory_mib": 81920, "simulated": simulated, "present": true, "quarantined": false})
}

pub(crate) fn join_token() -> Value {
    json!({"id": ID, "token": "id.secret.pin", "server": "https://gpu.example.org:8443", "expires_at": AT,
        "secret_redacted": false})
}

pub(crate) fn price() -> Value {
    json!({"id": ID, "sku_id": ID, "amount_micros": 1_500_000, "currency": "EUR", "per_units": 3600,
        "unit": "allocation_seconds", "valid_from": AT})
}

pub(crate) fn sku() -> Value {
    json!({"id": ID, "slug": "gpu-1", "display_name": "One A100", "shape": "gpu_slice", "gpu_count": 1,
        "gpu_vendor": "nvidia", "gpu_model": "A100", "vcpu": 4, "memory_mib": 16384, "grant_policy": "admin",
        "retired": false, "version": 1, "created_at": AT, "updated_at": AT, "prices": [price()],
        "current_price_ids": [ID]})
}

pub(crate) fn volume() -> Value {
    json!({"id": ID, "tenant_id": ID, "project_id": ID, "name": "home", "node_id": ID, "size_mib": 2048, "state": "deleting",
        "problem": "the node is away", "created_by_kind": "user", "created_by_id": ID, "created_at": AT,
        "deleting_at": AT, "ended_at": null, "version": 2, "updated_at": AT, "node_name": "gpu-1", "node_connected": false,
        "attachments": [{"volume_id": ID, "instance_id": ID, "instance_name": "jupyter", "mount": "workspace",
        "read_only": true, "held_at": AT}], "receipt": null})
}

pub(crate) fn allocation() -> Value {
    json!({"id": ID, "tenant_id": ID, "project_id": ID, "name": "training", "sku_id": ID, "node_id": ID,
        "state": "active", "shape": "gpu_slice", "gpu_count": 1, "vcpu": 4, "memory_mib": 16384,
        "requested_by_kind": "user", "requested_by_id": ID, "note": null, "requested_at": AT, "active_at": AT,
        "releasing_at": null, "released_at": null, "version": 1, "updated_at": AT})
}

pub(crate) fn allocation_detail() -> Value {
    merge(
        allocation(),
        json!({"sku": "gpu-1", "node_name": "gpu-1", "capabilities": ["container"], "accelerators": ["nvidia"],
            "gpus": [device(true)], "simulated": true,
            "free": {"gpus": 1, "cpu_millis": 2500, "memory_mib": 8192}}),
    )
}

pub(crate) fn app() -> Value {
    json!({"slug": "jupyter", "display_name": "Jupyter", "created_at": AT, "updated_at": AT})
}

pub(crate) fn app_version() -> Value {
    json!({"id": ID, "slug": "jupyter", "app_version": "1.0.0", "display_name": "Jupyter", "status": "active",
        "artifact_kind": "oci", "artifact_ref": "registry.example.org/apps/jupyter@sha256:00", "publisher": null,
        "support_level": "supported", "notes": null, "manifest_digest": "sha256:00", "version": 1,
        "created_at": AT, "updated_at": AT})
}

pub(crate) fn artifact() -> Value {
    let digest = format!("sha256:{}", "0123456789abcdef".repeat(4));
    json!({"id": ID, "project_id": ID, "app_slug": "jupyter", "repository": "gpuaas/apps/lab/jupyter",
        "reference": format!("registry.example.org/gpuaas/apps/lab/jupyter@{digest}"), "digest": digest,
        "tag": "1.0.0", "media_type": "application/vnd.oci.image.manifest.v1+json", "size_bytes": 1_048_576,
        "variant": "cpu", "source": {"commit": "abc", "repository": "https://git.example.org/lab"},
        "visibility": "project", "status": "promoted", "channel": "dev", "active": false,
        "trust": {"state": "verified", "key_id": ID, "signer": "sha256:00", "verified_at": AT,
            "statement_digest": "sha256:01", "provenance_digest": null, "reason": null},
        "created_by_kind": "user", "created_by_id": ID, "version": 1, "created_at": AT, "updated_at": AT})
}

pub(crate) fn artifact_detail() -> Value {
    merge(
        artifact(),
        json!({"promotions": [{"channel": "dev", "promoted_at": AT, "actor_kind": "user", "actor_id": ID}],
            "used_by": [{"app_slug": "jupyter", "app_version": "1.0.0", "status": "draft"}]}),
    )
}

pub(crate) fn repository() -> Value {
    json!({"id": ID, "name": "gpuaas/apps/lab/jupyter", "app_slug": "jupyter", "visibility": "tenant",
        "project_id": ID, "version": 1, "created_at": AT, "updated_at": AT})
}

pub(crate) fn registry_info() -> Value {
    json!({"host": "registry.example.org", "url": "https://registry.example.org", "root": "gpuaas/apps",
        "namespace": "gpuaas/apps/lab", "token_url": "https://gpu.example.org/api/v1/registry/token",
        "service": "registry.example.org", "channels": ["dev", "staging", "production"],
        "environment": "production", "trust": "enforce", "quota_bytes": 10_485_760, "used_bytes": 1_048_576,
        "repositories": [repository()]})
}

pub(crate) fn registry_credential() -> Value {
    json!({"id": ID, "purpose": "publish", "repository": "gpuaas/apps/lab/jupyter", "digest": null,
        "actor_kind": "user", "actor_id": ID, "created_at": AT, "expires_at": AT, "first_used_at": AT,
        "revoked_at": null, "version": 1})
}

pub(crate) fn trust_key() -> Value {
    json!({"id": ID, "project_id": ID, "name": "key-1", "fingerprint": format!("sha256:{}", "0".repeat(64)),
        "algorithm": "ecdsa-p256", "public_key": "-----BEGIN PUBLIC KEY-----", "valid_until": null,
        "revoked_at": null, "revoked_reason": null, "version": 1, "created_at": AT})
}

pub(crate) fn instance() -> Value {
    json!({"id": ID, "name": "jupyter", "app_slug": "jupyter", "app_version": "1.0.0", "app_version_id": ID,
        "previous_version": null, "artifact_digest": "sha256:00", "tenant_id": ID, "project_id": ID,
        "status": "running", "current_operation": null, "health": "healthy", "failure_reason": null,
        "failure_message": null, "target_allocation_id": ID, "placement_intent": {"allocation_id": ID},
        "node_id": ID, "operating_mode": "tenant_dedicated", "control_plane_scope": "project",
        "runtime_backend": "launchable_oci", "tenant_boundary_mode": "dedicated_node",
        "execution_engine": "node_agent", "revision_id": ID, "desired_generation": 1, "observed_generation": 1,
        "requested_by": {"kind": "user", "id": ID}, "correlation_id": null, "created_at": AT,
        "activated_at": AT, "decommissioned_at": null, "version": 1, "updated_at": AT})
}

pub(crate) fn timeline(event_type: &str, payload: &Value) -> Value {
    json!({"id": ID, "event_type": event_type, "payload": payload, "occurred_at": AT})
}

pub(crate) fn endpoints() -> Value {
    json!([
        {"component": "db", "name": "sql", "port": 5432, "expose": "internal", "host_port": null,
         "mode": "internal", "public_access": "off", "url": null, "path": "/", "title": null, "health": "ready"},
        {"component": "web", "name": "ui", "port": 8888, "expose": "private", "host_port": 20000,
         "mode": "private", "public_access": "off", "url": null, "path": "/", "title": null, "health": "ready"},
    ])
}

pub(crate) fn instance_detail() -> Value {
    merge(
        instance(),
        json!({"node_name": "gpu-1", "simulated": true,
            "members": [{"id": ID, "allocation_id": ID, "role": "node", "status": "running"}],
            "components": [{"name": "web", "container_id": "0123456789abcdef", "running": true, "ready": true,
                "restarts": 2, "exit_code": null, "started_at": AT}],
            "gpus": ["GPU-0"], "access": {"endpoints": endpoints(),
                "instructions": ["gpuaas port-forward x --port 8888 opens ui on your own machine"]},
            "recent_events": [timeline("start_completed", &json!({"status": "running", "generation": 1}))]}),
    )
}

pub(crate) fn receipt(attested: bool) -> Value {
    let payload = json!({"instance_id": ID, "node_id": ID, "generation": 3,
        "removed": [{"kind": "container", "name": "c-1"}, {"kind": "network", "name": "n-1"}],
        "left": {"containers": 0, "networks": 0, "volumes": 0, "scratch_paths": 0, "secrets": 0, "ports": 0},
        "checked_at": 1_767_323_045_000_000_i64, "simulated": false});
    json!({"instance_id": ID, "node_id": ID, "attested": attested,
        "payload": if attested { payload.to_string() } else { "{}".into() },
        "signature": attested.then_some("c2ln"), "reason": (!attested).then_some("the node burnt down"),
        "created_at": AT})
}
