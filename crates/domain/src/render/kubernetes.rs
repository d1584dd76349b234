//! Kubernetes objects for one instance in a namespace of its own.
//!
//! Escape law: the kubelet replaces `$(X)` in a container's arguments, in the values of its variables and in the commands
//! of its probes, and reads `$$` as `$` there; so each `$` of those, and of nothing else, is doubled. The type of those
//! fields can be made in no other way.
//!
//! - *The namespace* is the adapter's, one for each instance, and therefore in no object. Components then find each other
//!   by their names, as they do on a node, and an instance is gone when its namespace is.
//! - *A component* is a Deployment that is recreated, not rolled: neither a GPU nor a volume can be held twice. A
//!   StatefulSet would add names and claims of its own, and volumes here are the project's.
//! - *Volumes of the project* are claims that the adapter has made, `volume-<id>`; scratch is an empty folder of the pod.
//! - *Secrets* are keys of the Secret `workload-secrets`, which the adapter writes; here stand only references.
//! - *The network* lets the instance's own pods and the resolver be reached, and beyond that what a component's ports and
//!   egress say; policies only ever add.

mod gaps;
mod model;
mod network;
mod pod;

use std::collections::BTreeMap;

pub(super) use self::model::Object;
use self::model::{
    AppsV1, CoreV1, Deployment, DeploymentKind, DeploymentSpec, Metadata, PodTemplate, Protocol, Reference,
    Selector, Service, ServiceAccount, ServiceAccountKind, ServiceKind, ServicePort, ServiceSpec,
    ServiceType, Strategy, StrategyType, TemplateMetadata, Words,
};
use super::input::{ComponentInput, RenderInput};
use super::shared::{self, COMPONENT, INSTANCE};
use super::{Gap, Refusal, Rendered, check, yaml_file};
use crate::manifest::ExecutionEngine;

/// Raised when the same input would give another output.
pub const RENDERER_VERSION: i64 = 1;

/// What the adapter puts beside the objects, by these names.
pub const SECRETS: &str = "workload-secrets";
pub const PULL_SECRET: &str = "workload-pull";
const ACCOUNT: &str = "workload";

pub fn render(input: &RenderInput) -> Result<Rendered, Refusal> {
    let gaps = Refusal::unless_clean(all_gaps(input))?;
    // One file for each object: each is the body of one request.
    let files = objects(input)
        .iter()
        .enumerate()
        .map(|(index, object)| {
            let (kind, name) = object.named();
            yaml_file(format!("{index:02}-{kind}-{name}.yaml"), object)
        })
        .collect();
    Ok(Rendered::new(ExecutionEngine::Kubernetes, RENDERER_VERSION, files, gaps))
}

pub(super) fn all_gaps(input: &RenderInput) -> Vec<Gap> {
    let mut gaps = check::faults(input);
    gaps.extend(shared::check_identity(input));
    gaps.extend(gaps::find(input));
    gaps
}

/// In an order in which they can be applied.
pub(super) fn objects(input: &RenderInput) -> Vec<Object> {
    let mut objects =
        vec![Object::ServiceAccount(account(input)), Object::NetworkPolicy(network::of_instance(input))];
    for component in &input.components {
        objects.extend(network::of_component(input, component).map(Object::NetworkPolicy));
        objects.extend(service(input, component).map(Object::Service));
        objects.push(Object::Deployment(Box::new(deployment(input, component))));
    }
    objects
}

impl Object {
    fn named(&self) -> (&'static str, &str) {
        match self {
            Self::ServiceAccount(object) => ("serviceaccount", &object.metadata.name),
            Self::Service(object) => ("service", &object.metadata.name),
            Self::NetworkPolicy(object) => ("networkpolicy", &object.metadata.name),
            Self::Deployment(object) => ("deployment", &object.metadata.name),
        }
    }
}

fn account(input: &RenderInput) -> ServiceAccount {
    ServiceAccount {
        api_version: CoreV1::V1,
        kind: ServiceAccountKind::ServiceAccount,
        metadata: metadata(input, ACCOUNT.to_owned(), None),
        automount_service_account_token: false,
        image_pull_secrets: vec![Reference { name: PULL_SECRET.to_owned() }],
    }
}

/// The name under which the others find it; a component without ports listens to nobody.
fn service(input: &RenderInput, component: &ComponentInput) -> Option<Service> {
    let port = |port: &super::input::PortInput| ServicePort {
        name: port_name(&port.name),
        port: port.container,
        target_port: port.container,
        protocol: Protocol::Tcp,
    };
    (!component.ports.is_empty()).then(|| Service {
        api_version: CoreV1::V1,
        kind: ServiceKind::Service,
        metadata: metadata(input, object_name(&component.name), Some(component)),
        spec: ServiceSpec {
            r#type: ServiceType::ClusterIp,
            selector: selector(input, component),
            ports: component.ports.iter().map(port).collect(),
        },
    })
}

fn deployment(input: &RenderInput, component: &ComponentInput) -> Deployment {
    Deployment {
        api_version: AppsV1::V1,
        kind: DeploymentKind::Deployment,
        metadata: metadata(input, object_name(&component.name), Some(component)),
        spec: DeploymentSpec {
            replicas: component.replicas,
            selector: Selector { match_labels: selector(input, component) },
            strategy: Strategy { r#type: StrategyType::Recreate },
            // The platform keeps the revisions.
            revision_history_limit: 0,
            progress_deadline_seconds: input.readiness_deadline_seconds,
            template: PodTemplate {
                metadata: TemplateMetadata { labels: labels(input, Some(component)) },
                spec: pod::spec(input, component),
            },
        },
    }
}

fn metadata(input: &RenderInput, name: String, component: Option<&ComponentInput>) -> Metadata {
    let identity = &input.identity;
    let annotations = BTreeMap::from([
        ("gpuaas.instance-name".to_owned(), identity.instance_name.to_string()),
        ("gpuaas.project-slug".to_owned(), identity.project_slug.to_string()),
        ("gpuaas.app-version".to_owned(), identity.app_version.as_str().to_owned()),
    ]);
    Metadata { name, labels: labels(input, component), annotations }
}

fn labels(input: &RenderInput, component: Option<&ComponentInput>) -> Words {
    let own = match component {
        Some(component) => shared::component_labels(input, component),
        None => shared::labels(input),
    };
    let mut labels: Words = own.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
    let identity = &input.identity;
    let common = [
        ("app.kubernetes.io/name", identity.app_slug.to_string()),
        ("app.kubernetes.io/instance", shared::instance_name(input)),
        ("app.kubernetes.io/version", label_value(identity.app_version.as_str())),
        ("app.kubernetes.io/managed-by", "gpuaas".to_owned()),
    ];
    labels.extend(common.map(|(name, value)| (name.to_owned(), value)));
    if let Some(component) = component {
        labels.insert("app.kubernetes.io/component".to_owned(), component.name.clone());
    }
    labels
}

/// What never changes between revisions: a Deployment's selector cannot be changed.
fn selector(input: &RenderInput, component: &ComponentInput) -> Words {
    let mut selector = of_instance(input);
    selector.insert(COMPONENT.to_owned(), component.name.clone());
    selector
}

fn of_instance(input: &RenderInput) -> Words {
    BTreeMap::from([(INSTANCE.to_owned(), input.identity.instance_id.to_string())])
}

/// Names of objects are labels of host names, and those of Services start with a letter.
fn object_name(name: &str) -> String {
    if name.starts_with(|c: char| c.is_ascii_digit()) { format!("c-{name}") } else { name.to_owned() }
}

/// Names of ports have at most 15 characters, a letter among them, and no two hyphens in a row.
fn port_name(name: &str) -> String {
    let plain = name.len() <= 15 && !name.contains("--") && name.bytes().any(|b| b.is_ascii_lowercase());
    if plain { name.to_owned() } else { cut(&format!("p-{}", name.replace("--", "-")), 15, name) }
}

/// Values of labels have at most 63 of letters, digits and `. _ -`, the first and the last no sign.
fn label_value(text: &str) -> String {
    let clean: String =
        text.chars().map(|c| if c.is_ascii_alphanumeric() || ".-_".contains(c) { c } else { '-' }).collect();
    let trimmed = clean.trim_matches(|c: char| !c.is_ascii_alphanumeric());
    if trimmed == text && text.len() <= 63 { text.to_owned() } else { cut(trimmed, 63, text) }
}

/// At most so many characters, of which the last stand for the whole, so that two long names stay two.
fn cut(text: &str, most: usize, whole: &str) -> String {
    let digest = gpuaas_agent_protocol::Digest::of(whole.as_bytes());
    let head: String = text.chars().take(most - 9).collect();
    format!("{}-{}", head.trim_end_matches(|c: char| !c.is_ascii_alphanumeric()), &digest.hex()[..8])
}

#[cfg(test)]
mod tests {
    use super::*;

    /// D-10: what is cut keeps apart what was apart.
    #[test]
    fn names_fit_and_stay_different() {
        assert_eq!(object_name("worker"), "worker");
        assert_eq!(object_name("3d"), "c-3d");
        assert_eq!(port_name("web"), "web");
        for name in ["a-very-long-name-of-a-port", "a-very-long-name-of-another", "8080", "a--b", "a--b--c"] {
            let short = port_name(name);
            assert!(short.len() <= 15 && !short.contains("--"), "{short}");
            assert!(short.bytes().any(|b| b.is_ascii_lowercase()), "{short}");
        }
        assert_ne!(port_name("a-very-long-name-of-a-port"), port_name("a-very-long-name-of-another"));
        assert_eq!(label_value("1.4.2-rc.1"), "1.4.2-rc.1");
        let built = label_value("1.4.2+cuda12");
        assert!(built.starts_with("1.4.2-cuda12-") && built.len() <= 63, "{built}");
        assert_ne!(label_value("1.0+a"), label_value("1.0-a"));
        assert!(label_value(&"9".repeat(64)).len() <= 63);
    }
}
