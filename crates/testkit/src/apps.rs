//! A small app and everything it takes to launch it.

use gpuaas_api::Route;
use serde_json::{Value, json};

use crate::{Answer, Caller, Home, TestPlatform};

pub const DIGEST: &str = "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

/// A manifest of one small container; tests change what they want.
pub fn manifest(slug: &str, version: &str) -> Value {
    let image = format!("registry.example.org/apps/{slug}@{DIGEST}");
    json!({
        "slug": slug,
        "display_name": format!("The app {slug}"),
        "version": version,
        "artifact_kind": "oci",
        "artifact_ref": image,
        "compatibility": {"requires_capacity_shape": ["baremetal", "gpu_slice"], "min_gpu_count": 0},
        "runtime_profile": {
            "kind": "launchable_oci",
            "image_ref": image,
            "ports": [{"name": "web", "container": 8080, "expose": "private"}],
            "resources": {"min_memory_mib": 64, "min_vcpu": 0.1},
            "readiness": {"check": {"kind": "tcp", "port": 8080}, "interval_ms": 50},
            "readiness_deadline_seconds": 20,
            "stop_grace_seconds": 1
        }
    })
}

/// A project that may launch an app on an allocation it holds.
pub struct Ready {
    pub home: Home,
    pub app: String,
    pub allocation: String,
}

impl TestPlatform {
    /// A SKU that fits the nodes of tests, granted at once.
    pub async fn sku(&self, slug: &str, gpus: i64) {
        let body = json!({"slug": slug, "shape": "gpu_slice", "gpu_count": gpus, "vcpu": 1, "memory_mib": 1024,
                          "grant_policy": "auto", "price": {"amount_micros": 1_500_000, "currency": "EUR", "per_units": 3600}});
        self.admin.call(Route::SkuCreate, &[], Some(&body)).await.expect(201);
    }

    pub async fn allocation(&self, project: &str, sku: &str) -> String {
        let answer = self
            .admin
            .call(Route::AllocationRequest, &[project], Some(&json!({ "sku": sku })))
            .await
            .expect(201);
        assert_eq!(answer.body["state"], "active", "{}", answer.text);
        answer.id()
    }

    /// Registers, publishes and allows an app.
    pub async fn publish(&self, manifest: &Value, project: &str) {
        self.stock(manifest, project).await;
        self.admin.call(Route::ManifestRegister, &[], Some(manifest)).await.expect(201);
        let text = |name: &str| manifest[name].as_str().expect("a text").to_owned();
        let (slug, version) = (text("slug"), text("version"));
        self.admin.call(Route::AppPublish, &[&slug, &version], None).await.expect(200);
        self.admin
            .call(Route::EntitlementSet, &[project, &slug], Some(&json!({"enabled": true})))
            .await
            .expect(200);
    }

    /// Everything before a launch: a home, a SKU, an allocation, a published app. A node must be there.
    pub async fn ready(&self, name: &str) -> Ready {
        let home = self.home(name).await;
        self.ready_in(name, home).await
    }

    /// The same in a home that is there.
    pub async fn ready_in(&self, name: &str, home: Home) -> Ready {
        self.sku(&format!("{name}-sku"), 1).await;
        let allocation = self.allocation(&home.project, &format!("{name}-sku")).await;
        self.publish(&manifest(name, "1.0.0"), &home.project).await;
        Ready { home, app: name.to_owned(), allocation }
    }
}

impl Ready {
    pub fn wish(&self) -> Value {
        json!({"slug": self.app, "target_allocation_id": self.allocation})
    }

    pub async fn launch(&self, caller: &Caller) -> Answer {
        caller.call(Route::InstanceCreate, &[&self.home.project], Some(&self.wish())).await
    }

    pub async fn instance(&self, caller: &Caller, id: &str) -> Value {
        caller.call(Route::InstanceGet, &[&self.home.project, id], None).await.expect(200).body
    }

    /// Waits for a status, or says what it was instead.
    pub async fn reaches(&self, p: &TestPlatform, id: &str, status: &str) {
        p.until(&format!("instance {id} is {status}"), async || {
            let body = self.instance(&p.admin, id).await;
            assert!(body["status"] != "failed" || status == "failed", "{}", body["failure_message"]);
            body["status"] == status && body["current_operation"].is_null()
        })
        .await;
    }

    pub async fn ended(&self, p: &TestPlatform, id: &str) {
        p.until(&format!("instance {id} is decommissioned"), async || {
            !self.instance(&p.admin, id).await["decommissioned_at"].is_null()
        })
        .await;
    }
}
