//! The part of the Kubernetes API that we write: four kinds, and of each only what the renderer fills in. There is no
//! field for privilege, host paths, host networks, host ports, tokens or volumes of any other kind. The chart's schema is
//! generated from these types, so the chart takes nothing else either.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

pub(in crate::render) type Words = BTreeMap<String, String>;

/// Text that the kubelet gives on as it was: in arguments, values of variables and commands of probes it replaces `$(X)`
/// and reads `$$` as `$`. Only [`Escaped::new`] makes one, so none of those fields gets past the escape.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(transparent)]
pub(in crate::render) struct Escaped(String);

impl Escaped {
    pub(super) fn new(text: impl AsRef<str>) -> Self {
        Self(text.as_ref().replace('$', "$$"))
    }
}

macro_rules! words {
    ($($(#[$about:meta])* $name:ident { $($variant:ident = $text:literal),* $(,)? })*) => {
        $($(#[$about])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
        pub(in crate::render) enum $name {
            $(#[serde(rename = $text)] $variant,)*
        })*
    };
}

words! {
    CoreV1 { V1 = "v1" }
    AppsV1 { V1 = "apps/v1" }
    NetworkingV1 { V1 = "networking.k8s.io/v1" }
    ServiceAccountKind { ServiceAccount = "ServiceAccount" }
    ServiceKind { Service = "Service" }
    DeploymentKind { Deployment = "Deployment" }
    NetworkPolicyKind { NetworkPolicy = "NetworkPolicy" }
    StrategyType { Recreate = "Recreate" }
    PullPolicy { Always = "Always" }
    RestartPolicy { Always = "Always" }
    SeccompType { RuntimeDefault = "RuntimeDefault" }
    Capability { All = "ALL" }
    Medium { Memory = "Memory" }
    PolicyType { Ingress = "Ingress", Egress = "Egress" }
    Protocol { Tcp = "TCP", Udp = "UDP" }
    ServiceType { ClusterIp = "ClusterIP" }
}

macro_rules! objects {
    ($($(#[$about:meta])* $name:ident { $($(#[$field_about:meta])* $field:ident: $type:ty,)* })*) => {
        $($(#[$about])*
        #[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
        #[serde(rename_all = "camelCase", deny_unknown_fields)]
        pub(in crate::render) struct $name {
            $($(#[$field_about])* pub(super) $field: $type,)*
        })*
    };
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(untagged)]
pub(in crate::render) enum Object {
    ServiceAccount(ServiceAccount),
    Service(Service),
    NetworkPolicy(NetworkPolicy),
    Deployment(Box<Deployment>),
}

objects! {
    Metadata {
        name: String,
        labels: Words,
        #[serde(skip_serializing_if = "Words::is_empty")]
        annotations: Words,
    }
    Selector { match_labels: Words, }

    ServiceAccount {
        api_version: CoreV1,
        kind: ServiceAccountKind,
        metadata: Metadata,
        #[schemars(extend("const" = false))]
        automount_service_account_token: bool,
        image_pull_secrets: Vec<Reference>,
    }
    Reference { name: String, }

    Service {
        api_version: CoreV1,
        kind: ServiceKind,
        metadata: Metadata,
        spec: ServiceSpec,
    }
    ServiceSpec {
        r#type: ServiceType,
        selector: Words,
        ports: Vec<ServicePort>,
    }
    ServicePort { name: String, port: u16, target_port: u16, protocol: Protocol, }

    NetworkPolicy {
        api_version: NetworkingV1,
        kind: NetworkPolicyKind,
        metadata: Metadata,
        spec: NetworkPolicySpec,
    }
    NetworkPolicySpec {
        pod_selector: Selector,
        policy_types: Vec<PolicyType>,
        #[serde(skip_serializing_if = "Vec::is_empty")]
        ingress: Vec<IngressRule>,
        #[serde(skip_serializing_if = "Vec::is_empty")]
        egress: Vec<EgressRule>,
    }
    IngressRule {
        from: Vec<Peer>,
        #[serde(skip_serializing_if = "Vec::is_empty")]
        ports: Vec<PolicyPort>,
    }
    EgressRule {
        to: Vec<Peer>,
        #[serde(skip_serializing_if = "Vec::is_empty")]
        ports: Vec<PolicyPort>,
    }
    Peer {
        #[serde(skip_serializing_if = "Option::is_none")]
        pod_selector: Option<Selector>,
        #[serde(skip_serializing_if = "Option::is_none")]
        namespace_selector: Option<Selector>,
        #[serde(skip_serializing_if = "Option::is_none")]
        ip_block: Option<IpBlock>,
    }
    IpBlock { cidr: String, except: Vec<String>, }
    PolicyPort { port: u16, protocol: Protocol, }

    Deployment {
        api_version: AppsV1,
        kind: DeploymentKind,
        metadata: Metadata,
        spec: DeploymentSpec,
    }
    DeploymentSpec {
        replicas: u32,
        selector: Selector,
        strategy: Strategy,
        revision_history_limit: u32,
        progress_deadline_seconds: u32,
        template: PodTemplate,
    }
    Strategy { r#type: StrategyType, }
    PodTemplate { metadata: TemplateMetadata, spec: PodSpec, }
    TemplateMetadata { labels: Words, }
    PodSpec {
        service_account_name: String,
        #[schemars(extend("const" = false))]
        automount_service_account_token: bool,
        enable_service_links: bool,
        restart_policy: RestartPolicy,
        termination_grace_period_seconds: u32,
        security_context: PodSecurity,
        containers: [Container; 1],
        #[serde(skip_serializing_if = "Vec::is_empty")]
        volumes: Vec<Volume>,
    }
    PodSecurity {
        run_as_non_root: bool,
        #[serde(skip_serializing_if = "Option::is_none")]
        run_as_user: Option<u32>,
        #[serde(skip_serializing_if = "Option::is_none")]
        run_as_group: Option<u32>,
        #[serde(skip_serializing_if = "Option::is_none")]
        fs_group: Option<u32>,
        seccomp_profile: Seccomp,
    }
    Seccomp { r#type: SeccompType, }
    Container {
        name: String,
        #[schemars(extend("pattern" = "^[^@]+@sha256:[0-9a-f]{64}$"))]
        image: String,
        image_pull_policy: PullPolicy,
        #[serde(skip_serializing_if = "Vec::is_empty")]
        args: Vec<Escaped>,
        env: Vec<Variable>,
        #[serde(skip_serializing_if = "Vec::is_empty")]
        ports: Vec<PodPort>,
        resources: Resources,
        security_context: ContainerSecurity,
        #[serde(skip_serializing_if = "Option::is_none")]
        startup_probe: Option<Probe>,
        #[serde(skip_serializing_if = "Option::is_none")]
        readiness_probe: Option<Probe>,
        #[serde(skip_serializing_if = "Option::is_none")]
        liveness_probe: Option<Probe>,
        #[serde(skip_serializing_if = "Vec::is_empty")]
        volume_mounts: Vec<VolumeMount>,
    }
    Variable {
        name: String,
        #[serde(skip_serializing_if = "Option::is_none")]
        value: Option<Escaped>,
        #[serde(skip_serializing_if = "Option::is_none")]
        value_from: Option<ValueFrom>,
    }
    ValueFrom { secret_key_ref: SecretKey, }
    SecretKey { name: String, key: String, }
    PodPort { name: String, container_port: u16, protocol: Protocol, }
    Resources { requests: Words, limits: Words, }
    ContainerSecurity {
        #[schemars(extend("const" = false))]
        allow_privilege_escalation: bool,
        read_only_root_filesystem: bool,
        capabilities: Capabilities,
    }
    Capabilities { drop: [Capability; 1], }
    Probe {
        #[serde(skip_serializing_if = "Option::is_none")]
        http_get: Option<HttpGet>,
        #[serde(skip_serializing_if = "Option::is_none")]
        tcp_socket: Option<TcpSocket>,
        #[serde(skip_serializing_if = "Option::is_none")]
        exec: Option<Exec>,
        period_seconds: u32,
        timeout_seconds: u32,
        failure_threshold: u32,
    }
    HttpGet { path: String, port: u16, }
    TcpSocket { port: u16, }
    Exec { command: Vec<Escaped>, }
    VolumeMount {
        name: String,
        mount_path: String,
        read_only: bool,
    }
    Volume {
        name: String,
        #[serde(skip_serializing_if = "Option::is_none")]
        empty_dir: Option<EmptyDir>,
        #[serde(skip_serializing_if = "Option::is_none")]
        persistent_volume_claim: Option<Claim>,
        #[serde(skip_serializing_if = "Option::is_none")]
        secret: Option<SecretVolume>,
    }
    EmptyDir {
        #[serde(skip_serializing_if = "Option::is_none")]
        medium: Option<Medium>,
        #[serde(skip_serializing_if = "Option::is_none")]
        size_limit: Option<String>,
    }
    Claim { claim_name: String, read_only: bool, }
    SecretVolume { secret_name: String, default_mode: u32, items: Vec<SecretItem>, }
    SecretItem { key: String, path: String, }
}
