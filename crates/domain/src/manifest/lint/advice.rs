//! Advice: what is allowed and probably not meant. Nothing here keeps a manifest from being registered.

use std::collections::BTreeSet;

use gpuaas_agent_protocol::spec::Check;
use serde_json::Map;

use super::Faults;
use crate::FieldError;
use crate::launch::Wish;
use crate::launch::target::needs;
use crate::launch_form::resolution::{Around, resolve};
use crate::manifest::runtime::Container;
use crate::manifest::walk::join;
use crate::manifest::{
    Addon, ArtifactKind, ComponentClass, ExecutionEngine, Expose, Injection, Manifest, ManifestComponent,
    Parameter, ParameterType, Probe, Widget, tidy,
};

/// Programs whose work is to keep several others running.
const SUPERVISORS: &[&str] = &[
    "supervisord",
    "s6-svscan",
    "runsvdir",
    "circusd",
    "honcho",
    "foreman",
    "goreman",
    "overmind",
    "pm2",
    "pm2-runtime",
    "systemd",
];
const SHELLS: &[&str] = &["sh", "bash", "dash", "ash", "zsh", "busybox"];

/// Every warning about a manifest of good shape, in the order of the pointers.
pub fn advise(manifest: &Manifest) -> Vec<FieldError> {
    let mut found = Faults::default();
    ports(manifest, &mut found);
    probes(manifest, &mut found);
    smoke(manifest, &mut found);
    variants(manifest, &mut found);
    hints(manifest, &mut found);
    one_or_many(manifest, &mut found);
    one_network(manifest, &mut found);
    rules(manifest, &mut found);
    secrets(manifest, &mut found);
    for (at, container) in manifest.containers() {
        marks(&at, container, manifest, &mut found);
    }
    tidy(found.list)
}

/// A port that only the instance itself reaches, in which nothing asks for it.
fn ports(manifest: &Manifest, found: &mut Faults) {
    let asked = |container: Container<'_>, number: u16, name: Option<&str>| {
        let probes = [container.readiness, container.liveness].into_iter().flatten();
        let smoke = manifest.validation.iter().flat_map(|validation| &validation.smoke);
        // Where there is one container only, nobody needs to name it.
        let is_asked = |asked: &str| name.is_none_or(|name| name == asked);
        let smoke = smoke.filter(|test| test.component.as_deref().is_none_or(is_asked));
        let ports = probes.map(|probe| port_of(&probe.check)).chain(smoke.map(|test| test.check.port()));
        ports.into_iter().flatten().any(|port| port == number)
    };
    let mut add = |at: &str, container: Container<'_>, name: Option<&str>| {
        for (index, port) in container.ports.iter().enumerate() {
            if port.expose == Expose::Internal && !asked(container, port.container, name) {
                found.add(
                    format!("{at}/ports/{index}/expose"),
                    "port_unreachable",
                    "Nothing of the app depends on this component, so nobody reaches its internal port.",
                );
            }
        }
    };
    if let Some(only) = &manifest.runtime_profile {
        return add("/runtime_profile", only.container(), None);
    }
    for (index, component) in manifest.components.iter().enumerate() {
        let wanted = |other: &ManifestComponent| other.depends_on.contains(&component.name);
        let endpoints = manifest.outputs.iter().flat_map(|outputs| &outputs.endpoints);
        let shown =
            endpoints.filter_map(|endpoint| endpoint.component.as_ref()).any(|name| *name == component.name);
        // Helpers are asked by those they help, which say nothing of it.
        let is_helper = matches!(component.class, ComponentClass::Sidecar | ComponentClass::Addon);
        if !is_helper && !shown && !manifest.components.iter().any(wanted) {
            add(&format!("/components/{index}"), component.container(), Some(&component.name));
        }
    }
}

fn port_of(check: &Check) -> Option<u16> {
    match check {
        Check::Http { port, .. } | Check::Tcp { port } => Some(*port),
        Check::Exec { .. } | Check::Heartbeat => None,
    }
}

fn probes(manifest: &Manifest, found: &mut Faults) {
    let mut missing = |at: String, probe: Option<&Probe>| {
        if probe.is_none() {
            found.add(
                format!("{at}/readiness"),
                "readiness_missing",
                "Without a readiness probe, running means only that the process was started.",
            );
        }
    };
    if let Some(only) = &manifest.runtime_profile {
        missing("/runtime_profile".to_owned(), only.readiness.as_ref());
    }
    for (index, component) in manifest.components.iter().enumerate() {
        if matches!(component.class, ComponentClass::Primary | ComponentClass::Gateway) {
            missing(format!("/components/{index}"), component.readiness.as_ref());
        }
    }
    let runs = manifest.runtime_profile.is_some() || !manifest.components.is_empty();
    let tested = manifest.validation.as_ref().is_some_and(|validation| !validation.smoke.is_empty());
    if runs && manifest.artifact_kind != ArtifactKind::Controller && !tested {
        found.add(
            "/validation/smoke",
            "smoke_missing",
            "Nothing tells whether a launched instance works: no smoke test is declared.",
        );
    }
}

/// What is asked of a component that may not be there.
fn smoke(manifest: &Manifest, found: &mut Faults) {
    let tests = manifest.validation.iter().flat_map(|validation| &validation.smoke);
    for (index, test) in tests.enumerate() {
        let is_of =
            |addon: &Addon| test.component.as_ref().is_some_and(|name| addon.components.contains(name));
        if test.when.is_none() && manifest.addons.iter().any(is_of) {
            found.add(
                format!("/validation/smoke/{index}/component"),
                "smoke_condition_missing",
                "This component runs only with its add-on; the test would fail where nobody chose it.",
            );
        }
    }
}

fn variants(manifest: &Manifest, found: &mut Faults) {
    if manifest.compatibility.min_gpu_count > 0 {
        return;
    }
    for (index, artifact) in manifest.artifacts.iter().enumerate() {
        if artifact.variants.iter().all(|variant| !variant.accelerators.is_empty()) {
            found.add(
                format!("/artifacts/{index}/variants"),
                "cpu_variant_missing",
                "The app is offered without a GPU, but no variant runs without an accelerator.",
            );
        }
    }
}

/// What a launch gets that chooses nothing.
fn rules(manifest: &Manifest, found: &mut Faults) {
    let (needs, _) = needs(&manifest.expand(), &Wish::default(), None, false);
    let faults = resolve(manifest, &Map::new(), Around { needs, addons: &[] }).faults;
    let rules = manifest.validation.iter().flat_map(|validation| &validation.rules);
    for (index, rule) in rules.enumerate() {
        if faults.iter().any(|fault| fault.code == "rule_failed" && fault.message == rule.message) {
            found.add(
                format!("/validation/rules/{index}/rule"),
                "default_breaks_rule",
                "The defaults break this rule, so nobody can launch without changing them.",
            );
        }
    }
}

fn fits(widget: Widget, parameter: &Parameter) -> bool {
    let is_number = matches!(parameter.kind, ParameterType::Integer | ParameterType::Number);
    match widget {
        Widget::Text => parameter.kind == ParameterType::String || is_number,
        Widget::Textarea => parameter.kind == ParameterType::String,
        Widget::Select | Widget::Radio => {
            !parameter.choices.is_empty() || parameter.kind == ParameterType::Boolean
        }
        Widget::Checkbox => parameter.kind == ParameterType::Boolean,
        Widget::Slider => is_number && parameter.minimum.is_some() && parameter.maximum.is_some(),
        Widget::Tags => parameter.kind == ParameterType::Array,
        Widget::SecretPicker => parameter.kind == ParameterType::SecretRef,
    }
}

/// A parameter has one place in the order and one group, and a widget that can show it.
fn hints(manifest: &Manifest, found: &mut Faults) {
    let Some(hints) = &manifest.ui_hints else { return };
    for (name, field) in &hints.fields {
        if let (Some(widget), Some(parameter)) = (field.widget, manifest.parameters.get(name))
            && !fits(widget, parameter)
        {
            found.add(
                join("/ui_hints/fields", name) + "/widget",
                "widget_mismatch",
                "This widget is not for such a parameter; the form shows its usual one.",
            );
        }
    }
    let mut twice = |seen: &mut BTreeSet<String>, at: String, name: &str| {
        if !seen.insert(name.to_owned()) {
            found.add(at, "duplicate_hint", "The parameter has its place already; the first counts.");
        }
    };
    let mut seen = BTreeSet::new();
    for (index, name) in hints.order.iter().enumerate() {
        twice(&mut seen, format!("/ui_hints/order/{index}"), name);
    }
    let mut seen = BTreeSet::new();
    for (number, group) in hints.groups.iter().enumerate() {
        for (index, name) in group.parameters.iter().enumerate() {
            twice(&mut seen, format!("/ui_hints/groups/{number}/parameters/{index}"), name);
        }
    }
}

/// One service is a runtime profile; several are components.
fn one_or_many(manifest: &Manifest, found: &mut Faults) {
    if manifest.components.len() == 1 && manifest.renderer.is_none() {
        found.add(
            "/components",
            "composition_of_one",
            "One component is no composition; it runs simpler as a runtime_profile.",
        );
    }
    for (at, container) in manifest.containers() {
        let program = container.command.first().and_then(|program| program.rsplit('/').next());
        if program.is_some_and(|program| SUPERVISORS.contains(&program)) {
            found.add(
                format!("{at}/command/0"),
                "several_services",
                "This runs several services in one container, where the platform sees, probes and restarts only one.",
            );
        }
    }
}

/// Compose gives an instance one network.
fn one_network(manifest: &Manifest, found: &mut Faults) {
    let compose = ExecutionEngine::DockerCompose;
    let egress = |component: &ManifestComponent| component.container().egress;
    let first = manifest.components.first().map(egress);
    let is_mixed = manifest.components.iter().any(|component| Some(egress(component)) != first);
    if is_mixed && manifest.expand().engines.contains(&compose) {
        let listed = manifest.execution_engines.iter().position(|engine| *engine == compose);
        let at = listed.map_or_else(String::new, |index| format!("/{index}"));
        found.add(
            format!("/execution_engines{at}"),
            "engine_cannot_say",
            "On Compose the components of an instance share one network, so all need the same egress.",
        );
    }
}

fn secrets(manifest: &Manifest, found: &mut Faults) {
    const CODE: &str = "secret_in_environment";
    const WHY: &str =
        "A secret in a variable is seen by every process of the container and by its crash reports.";
    for (index, secret) in manifest.secrets.iter().enumerate() {
        if let Injection::Env { .. } = secret.inject {
            found.add(format!("/secrets/{index}/inject"), CODE, WHY);
        }
    }
    let chosen = manifest.parameters.iter().filter(|(_, one)| one.kind == ParameterType::SecretRef);
    let chosen: Vec<String> = chosen.map(|(name, _)| format!("${{params.{name}}}")).collect();
    for (at, container) in manifest.containers() {
        for (index, variable) in container.env.iter().enumerate() {
            if variable.value.starts_with("secret://") || chosen.contains(&variable.value) {
                found.add(format!("{at}/env/{index}/value"), CODE, WHY);
            }
        }
    }
}

/// Marks that some reader would replace. Here none does: each engine is fed so that the text arrives as written.
fn marks(at: &str, container: Container<'_>, manifest: &Manifest, found: &mut Faults) {
    let engines = manifest.expand().engines;
    let mut look = |at: String, text: &str| {
        if let Some(mark) = mark_in(text) {
            let sentence = sentence(mark, &engines);
            found.add(at, "arrives_as_written", sentence);
        }
    };
    for (index, variable) in container.env.iter().enumerate() {
        look(format!("{at}/env/{index}/value"), &variable.value);
    }
    // What a shell is told is the shell's to read, and it gets every mark.
    let has_shell = container
        .command
        .iter()
        .any(|word| word.rsplit('/').next().is_some_and(|program| SHELLS.contains(&program)));
    if !has_shell {
        for (index, word) in container.command.iter().enumerate() {
            look(format!("{at}/command/{index}"), word);
        }
    }
}

#[derive(Clone, Copy)]
enum MarkOf {
    /// `$NAME`
    Variable,
    /// `$(NAME)`
    Reference,
    /// `{{ … }}`
    Template,
}

fn mark_in(text: &str) -> Option<MarkOf> {
    if text.contains("{{") {
        return Some(MarkOf::Template);
    }
    let is_name = |c: char| c.is_ascii_alphabetic() || c == '_';
    for (at, _) in text.match_indices('$') {
        let rest = &text[at + 1..];
        if rest.starts_with('(') {
            return Some(MarkOf::Reference);
        }
        // `${…}` is an expression of the platform, and judged as one.
        if rest.starts_with(is_name) {
            return Some(MarkOf::Variable);
        }
    }
    None
}

fn sentence(mark: MarkOf, engines: &[ExecutionEngine]) -> String {
    let reads = |engine: &ExecutionEngine| match (mark, engine) {
        (MarkOf::Variable | MarkOf::Reference, ExecutionEngine::DockerCompose) => Some("docker_compose"),
        (MarkOf::Reference, ExecutionEngine::Kubernetes) => Some("kubernetes"),
        (MarkOf::Reference | MarkOf::Template, ExecutionEngine::Helm) => Some("helm"),
        (MarkOf::Template, ExecutionEngine::Dstack) => Some("dstack"),
        (
            _,
            ExecutionEngine::NodeAgent
            | ExecutionEngine::DockerCompose
            | ExecutionEngine::Kubernetes
            | ExecutionEngine::Helm
            | ExecutionEngine::Dstack,
        ) => None,
    };
    let what = match mark {
        MarkOf::Variable => "A variable",
        MarkOf::Reference => "$(…)",
        MarkOf::Template => "{{ … }}",
    };
    let readers: Vec<&str> = engines.iter().filter_map(reads).collect();
    match readers.as_slice() {
        [] => {
            format!("{what} is not replaced here: no engine of this app reads it, so it arrives as written.")
        }
        readers => format!(
            "{what} is not replaced here: {} would read it, so the platform escapes it and it arrives as written.",
            readers.join(" and ")
        ),
    }
}
