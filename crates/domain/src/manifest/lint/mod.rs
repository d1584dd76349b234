//! The rules of the platform over a manifest of good shape. All faults, each with its pointer; no value is repeated.

mod advice;
mod chart;
mod class;
mod codes;
mod composition;
mod container;
mod contract;
mod expressions;
mod images;
mod migrations;
mod parameters;
mod resources;
mod smoke;

use std::collections::BTreeSet;

use super::profile::engines_of;
use super::{ArtifactKind, ComponentClass, ExecutionEngine, Expose, Manifest, RuntimeBackend};
use crate::FieldError;
use crate::artifact::RegistryNames;

pub use advice::advise;
pub use class::{Allowed, Internet};
pub use codes::{CODES, Code, Severity, find_code};

/// Renderers that the platform owns.
pub const RENDERERS: &[&str] = &["vllm_openai"];

/// Everything the platform objects to; empty means that the manifest may be registered. Where images may come from only the
/// platform knows: without its names that is not looked at.
pub fn lint(manifest: &Manifest, registry: Option<&RegistryNames>) -> Vec<FieldError> {
    let mut faults = Faults::default();
    shape(manifest, &mut faults);
    images::check(manifest, registry, &mut faults);
    for (at, container) in manifest.containers() {
        container::check(&at, container, &mut faults);
    }
    ui(manifest, &mut faults);
    engines(manifest, &mut faults);
    composition::check(manifest, &mut faults);
    class::check(manifest, &mut faults);
    resources::check(manifest, &mut faults);
    parameters::check(manifest, &mut faults);
    smoke::check(manifest, &mut faults);
    migrations::check(manifest, &mut faults);
    contract::check(manifest, &mut faults);
    chart::check(manifest, &mut faults);
    expressions::check(manifest, &mut faults);
    super::tidy(faults.list)
}

#[derive(Default)]
pub(super) struct Faults {
    list: Vec<FieldError>,
}

impl Faults {
    fn add(&mut self, path: impl Into<String>, code: &'static str, message: impl Into<String>) {
        self.list.push(FieldError::new(path, code, message));
    }

    /// Each name once; the second is the fault.
    fn names<'a>(&mut self, at: &str, names: impl Iterator<Item = &'a str>) {
        let mut seen = BTreeSet::new();
        for (index, name) in names.enumerate() {
            if !seen.insert(name) {
                self.add(
                    format!("{at}/{index}/name"),
                    "duplicate_name",
                    "The name is taken by an entry before.",
                );
            }
        }
    }

    /// Each entry is one of `known`.
    fn references<'a>(
        &mut self,
        at: &str,
        names: impl IntoIterator<Item = &'a String>,
        known: &BTreeSet<&str>,
        what: &str,
    ) {
        for (index, name) in names.into_iter().enumerate() {
            self.reference(format!("{at}/{index}"), name, known, what);
        }
    }

    fn reference(&mut self, at: String, name: &str, known: &BTreeSet<&str>, what: &str) {
        if !known.contains(name) {
            let hint = crate::text::nearest(name, known.iter().copied())
                .map_or(String::new(), |near| format!(" Did you mean {near}?"));
            self.add(at, "unknown_reference", format!("There is no such {what}.{hint}"));
        }
    }
}

fn shape(manifest: &Manifest, faults: &mut Faults) {
    match (&manifest.runtime_profile, manifest.components.is_empty()) {
        (Some(_), false) => faults.add(
            "/components",
            "exclusive_blocks",
            "Either runtime_profile or components says what runs, not both.",
        ),
        (None, true) if manifest.artifact_kind != ArtifactKind::Controller => {
            faults.add("/runtime_profile", "missing_field", "Say what runs: runtime_profile, or components.");
        }
        _ => {}
    }
    if let Some(renderer) = &manifest.renderer {
        let known = RENDERERS.iter().copied().collect();
        faults.reference("/renderer".to_owned(), renderer, &known, "renderer");
    }
}

/// One port is the app's page, a page needs a port, and helpers face nobody. Add-ons may have a page of their own.
fn ui(manifest: &Manifest, faults: &mut Faults) {
    let mut pages = Vec::new();
    let classes = manifest.components.iter().map(|component| component.class);
    let classes = manifest.runtime_profile.iter().map(|_| ComponentClass::Primary).chain(classes);
    for ((at, container), class) in manifest.containers().into_iter().zip(classes) {
        for (index, port) in container.ports.iter().enumerate() {
            let at = format!("{at}/ports/{index}/expose");
            match (class, port.expose) {
                (
                    ComponentClass::Sidecar,
                    Expose::EmbeddedUiGateway | Expose::PlatformProxy | Expose::Public | Expose::Private,
                ) => {
                    faults.add(at, "helper_not_exposed", "A sidecar is a helper: its ports are internal.");
                }
                (ComponentClass::Primary | ComponentClass::Gateway, Expose::EmbeddedUiGateway) => {
                    pages.push(at);
                }
                (ComponentClass::Addon, _)
                | (_, Expose::PlatformProxy | Expose::Public | Expose::Private | Expose::Internal) => {}
            }
        }
    }
    match (&manifest.ui, pages.first()) {
        (Some(_), None) => {
            faults.add("/ui", "ui_port_missing", "The page needs a port with expose: embedded_ui_gateway.");
        }
        (None, Some(first)) => faults.add(
            first,
            "ui_block_missing",
            "A port of the gateway needs the ui block: how it appears, and where.",
        ),
        (Some(_), Some(_)) | (None, None) => {}
    }
    for second in pages.iter().skip(1) {
        faults.add(second, "port_clash", "One port is the app's page; expose the others privately.");
    }
}

/// `runtime_profile.kind` and the engines say the same thing twice, so they must agree.
fn engines(manifest: &Manifest, faults: &mut Faults) {
    let engines = &manifest.execution_engines;
    if let Some(only) = &manifest.runtime_profile {
        let fitting = engines_of(only.kind);
        for (index, engine) in engines.iter().enumerate() {
            if !fitting.is_empty() && !fitting.contains(engine) {
                faults.add(
                    format!("/execution_engines/{index}"),
                    "engine_mismatch",
                    "This engine does not run what runtime_profile.kind says.",
                );
            }
        }
        if only.kind == RuntimeBackend::DockerCompose && manifest.renderer.is_none() {
            faults.add(
                "/runtime_profile/kind",
                "engine_mismatch",
                "docker_compose needs a renderer of the platform; for one container write launchable_oci, for several write components.",
            );
        }
        if only.kind == RuntimeBackend::LaunchableOci && manifest.renderer.is_some() {
            faults.add("/renderer", "engine_mismatch", "A renderer is for kind docker_compose.");
        }
    }
    if manifest.components.len() > 1
        && let Some(index) = engines.iter().position(|engine| *engine == ExecutionEngine::NodeAgent)
    {
        faults.add(
            format!("/execution_engines/{index}"),
            "engine_mismatch",
            "The node agent runs a single container by itself; several components need docker_compose.",
        );
    }
}
