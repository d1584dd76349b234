//! Who may reach a pod and whom it may reach.

use std::collections::BTreeMap;

use gpuaas_agent_protocol::spec::Egress;

use super::model::{
    EgressRule, IngressRule, IpBlock, NetworkPolicy, NetworkPolicyKind, NetworkPolicySpec, NetworkingV1,
    Peer, PolicyPort, PolicyType, Protocol, Selector,
};
use super::{metadata, object_name, selector};
use crate::manifest::Expose;
use crate::render::input::{ComponentInput, RenderInput};

/// The namespaces of the platform's gateway and of its instance API carry these; the operator's charts set them.
const GATEWAY: &str = "gpuaas.gateway";
const PLATFORM: &str = "gpuaas.platform";
const RESOLVER_PORT: u16 = 53;
/// Private ranges, and where clouds answer for their machines.
const PRIVATE: &[&str] = &[
    "10.0.0.0/8",
    "172.16.0.0/12",
    "192.168.0.0/16",
    "100.64.0.0/10",
    "169.254.0.0/16",
    "168.63.129.16/32",
    "192.0.0.0/24",
    "198.18.0.0/15",
    "224.0.0.0/3",
];

/// The floor for every pod: the instance's own pods both ways, and the resolver.
pub(super) fn of_instance(input: &RenderInput) -> NetworkPolicy {
    let own =
        || Peer { pod_selector: Some(Selector { match_labels: super::of_instance(input) }), ..nobody() };
    let resolver = Peer {
        namespace_selector: Some(matching("kubernetes.io/metadata.name", "kube-system")),
        pod_selector: Some(matching("k8s-app", "kube-dns")),
        ..nobody()
    };
    let port = |protocol| PolicyPort { port: RESOLVER_PORT, protocol };
    NetworkPolicy {
        api_version: NetworkingV1::V1,
        kind: NetworkPolicyKind::NetworkPolicy,
        metadata: metadata(input, "instance".to_owned(), None),
        spec: NetworkPolicySpec {
            pod_selector: Selector { match_labels: super::of_instance(input) },
            policy_types: vec![PolicyType::Ingress, PolicyType::Egress],
            ingress: vec![IngressRule { from: vec![own()], ports: Vec::new() }],
            egress: vec![
                EgressRule { to: vec![own()], ports: Vec::new() },
                EgressRule { to: vec![resolver], ports: vec![port(Protocol::Udp), port(Protocol::Tcp)] },
            ],
        },
    }
}

/// What one component gets beyond the floor, if anything.
pub(super) fn of_component(input: &RenderInput, component: &ComponentInput) -> Option<NetworkPolicy> {
    let ports: Vec<PolicyPort> = component
        .ports
        .iter()
        .filter(|port| is_for_gateway(port.expose))
        .map(|port| PolicyPort { port: port.container, protocol: Protocol::Tcp })
        .collect();
    let gateway = Peer { namespace_selector: Some(matching(GATEWAY, "true")), ..nobody() };
    let ingress =
        if ports.is_empty() { Vec::new() } else { vec![IngressRule { from: vec![gateway], ports }] };
    let egress = egress(component.egress);
    if ingress.is_empty() && egress.is_empty() {
        return None;
    }
    let mut policy_types = Vec::new();
    policy_types.extend((!ingress.is_empty()).then_some(PolicyType::Ingress));
    policy_types.extend((!egress.is_empty()).then_some(PolicyType::Egress));
    Some(NetworkPolicy {
        api_version: NetworkingV1::V1,
        kind: NetworkPolicyKind::NetworkPolicy,
        metadata: metadata(input, format!("component-{}", object_name(&component.name)), Some(component)),
        spec: NetworkPolicySpec {
            pod_selector: Selector { match_labels: selector(input, component) },
            policy_types,
            ingress,
            egress,
        },
    })
}

/// Whether the platform comes in by this port; the others are for the instance's own pods.
fn is_for_gateway(expose: Expose) -> bool {
    match expose {
        Expose::EmbeddedUiGateway | Expose::PlatformProxy | Expose::Public | Expose::Private => true,
        Expose::Internal => false,
    }
}

fn egress(egress: Egress) -> Vec<EgressRule> {
    let platform = Peer { namespace_selector: Some(matching(PLATFORM, "true")), ..nobody() };
    let internet = Peer {
        ip_block: Some(IpBlock {
            cidr: "0.0.0.0/0".to_owned(),
            except: PRIVATE.iter().map(|range| (*range).to_owned()).collect(),
        }),
        ..nobody()
    };
    let to = match egress {
        Egress::None => return Vec::new(),
        Egress::Platform => vec![platform],
        Egress::Internet => vec![platform, internet],
    };
    vec![EgressRule { to, ports: Vec::new() }]
}

fn matching(label: &str, value: &str) -> Selector {
    Selector { match_labels: BTreeMap::from([(label.to_owned(), value.to_owned())]) }
}

fn nobody() -> Peer {
    Peer { pod_selector: None, namespace_selector: None, ip_block: None }
}
