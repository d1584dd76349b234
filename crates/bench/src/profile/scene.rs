//! Manifests as publishing completes them, and the form of one.

use gpuaas_domain::launch::offline::Offline;
use gpuaas_domain::launch_form::{self, Form, FormView, NamedTarget, Wanted};
use gpuaas_domain::manifest::ladder::VersionState;
use gpuaas_domain::manifest::{Format, Manifest, parse};

use crate::Result;

/// Stands where publishing puts what it has built.
const MADE_UP: &str = "registry.example.org/apps/made-up@sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

pub(crate) fn manifest(source: &str) -> Result<Manifest> {
    let text = source.replace("{build: vllm-openai}", MADE_UP);
    let document = parse(text.as_bytes(), Format::Yaml).map_err(|faults| format!("{faults:?}"))?;
    Ok(document.manifest)
}

pub(crate) fn form(offline: &Offline, manifest: &Manifest) -> Result<Form> {
    let version = manifest.version.to_string();
    let view = FormView {
        app: offline.view(),
        project_slug: "bench",
        versions: &[(version.clone(), VersionState::Active)],
        recommended: Some(&version),
        targets: &[NamedTarget { sku: "made-up", target: offline.target() }],
        skus: &[],
    };
    let (form, _) = launch_form::resolve(&view, &Wanted::default())?;
    Ok(form)
}
