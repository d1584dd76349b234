//! An example of every block, as an author would write it. They stand in the published schema, for editors, and on the
//! reference page; a test holds each against the block it is of.

use std::sync::LazyLock;

use serde_json::Value;

use super::read::{self, Format};

/// The name of the whole document.
pub(super) const WHOLE: &str = "Manifest";

pub(super) struct Example {
    /// The type in the schema.
    pub(super) of: &'static str,
    pub(super) yaml: &'static str,
    pub(super) value: Value,
}

/// In the order in which a reader should meet the blocks: what names a block stands before it.
pub(super) static EXAMPLES: LazyLock<Vec<Example>> = LazyLock::new(|| {
    let read = |(of, yaml): &(&'static str, &'static str)| Example {
        of,
        yaml,
        value: read::tree(yaml.as_bytes(), Format::Yaml).expect("the examples are YAML"),
    };
    TEXTS.iter().map(read).collect()
});

/// Of a type of the schema, in order. Types that differ only in their numbers share theirs.
pub(super) fn of(name: &str) -> impl Iterator<Item = &'static Example> {
    let plain = name.trim_end_matches(|c: char| c.is_ascii_digit());
    EXAMPLES.iter().filter(move |example| example.of == plain)
}

const TEXTS: &[(&str, &str)] = &[
    (
        WHOLE,
        "slug: chat
display_name: Chat
version: 2.0.0
artifact_kind: oci
artifact_ref: registry.example.org/apps/chat@sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef
compatibility: {requires_capacity_shape: [gpu_slice], min_gpu_count: 1, supported_accelerators: [nvidia]}
runtime_profile:
  kind: launchable_oci
  image_ref: registry.example.org/apps/chat@sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef
  command: [serve, --model, '${params.model}']
  ports: [{name: web, container: 8080, expose: embedded_ui_gateway}]
  readiness: {check: {kind: http, port: 8080, path: /healthz}}
  resources: {min_memory_mib: 8192, min_vcpu: 2}
ui: {extension_kind: embedded}
parameters:
  model: {type: string, title: Model, enum: [small, large], default: small}
migrations:
  - {from: <2.0.0, rename: {model_name: model}}
validation:
  smoke:
    - name: answers
      check: {kind: openai_chat, port: 8080, model: '${params.model}', prompt: Say yes., expect_contains: 'yes'}
",
    ),
    (
        "Compatibility",
        "requires_capacity_shape: [baremetal, gpu_slice]
min_gpu_count: 1
supported_accelerators: [nvidia]
min_gpu_memory_mib: 40960
required_capabilities: [nvlink]
",
    ),
    (
        "RuntimeProfile",
        "kind: launchable_oci
image_ref: registry.example.org/apps/chat@sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef
command: [serve, --model, '${params.model}']
env: [{name: LOG_LEVEL, value: info}]
ports: [{name: web, container: 8080, expose: embedded_ui_gateway}]
resources: {min_memory_mib: 8192, min_vcpu: 2}
user: {as: user, uid: 1000, gid: 1000}
read_only_root: true
tmpfs: [{path: /tmp, size_mib: 256}]
scratch: [{name: cache, path: /cache}]
readiness: {check: {kind: http, port: 8080, path: /healthz}}
readiness_deadline_seconds: 900
egress: none
",
    ),
    (
        "ManifestComponent",
        "name: lane-a
artifact: server
lane: a
command: [serve, '${params.model}', '--tp=${placement.lanes.a.tensor_parallel}']
ports: [{container: 8000, expose: internal}]
readiness: {check: {kind: http, port: 8000, path: /health}}
gpu_count: {default: 2, min: 1, max: 8}
tensor_parallel: {default: 2}
resources: {min_memory_mib: 16384, min_vcpu: 4}
egress: internet
",
    ),
    ("EnvVar", "{name: WEIGHTS, value: '${params.model}.bin', when: 'params.model != \"small\"'}\n"),
    (
        "Port",
        "name: web
container: 8080
expose: embedded_ui_gateway
policy: {max_body_mib: 64}
",
    ),
    (
        "EndpointPolicy",
        "content_security_policy: \"img-src 'self'; font-src 'none'\"
frame: nobody
max_body_mib: 64
max_connections: 200
",
    ),
    ("Minima", "{min_memory_mib: 4096, min_vcpu: 0.5}\n"),
    ("RunAs", "{as: user, uid: 1000, gid: 1000}\n"),
    ("RunAs", "{as: root}\n"),
    ("Tmpfs", "{path: /tmp, size_mib: 64}\n"),
    ("Scratch", "{name: cache, path: /cache}\n"),
    (
        "Probe",
        "check: {kind: http, port: 8080, path: /healthz}
interval_ms: 5000
timeout_ms: 2000
failures: 5
",
    ),
    ("Check", "{kind: http, port: 8080, path: /healthz}\n"),
    ("Check", "{kind: exec, command: [test, -e, /tmp/ready]}\n"),
    ("RestartBudget", "{max_restarts: 3, window_seconds: 600}\n"),
    (
        "Resources",
        "gpu_count: {default: 1, min: 1, max: 8}
gpu_placement: {intent: packed}
vcpu: {default: 8}
memory_mib: {default: 32768, max: 131072}
shared_memory_mib: {default: 4096}
mounts: [{name: workspace, path: /workspace, kind: workspace}]
",
    ),
    ("Range", "{default: 2, min: 1, max: 8}\n"),
    ("GpuPlacement", "{intent: packed, tensor_parallel: {default: 2, max: 8}}\n"),
    ("Mount", "{name: models, path: /models, kind: model, read_only: true, min_size_mib: 65536}\n"),
    (
        "Parameter",
        "type: integer
title: Context length
description: Tokens that one request may have.
minimum: 1024
maximum: 131072
default: 8192
",
    ),
    (
        "Parameter",
        "type: array
items: {type: string, format: pip_specifier}
max_items: 20
default: []
when: params.mode == 'custom'
",
    ),
    ("Parameter", "{type: integer, owner: platform, value: 'max(resources.gpu_count / 2, 1)'}\n"),
    ("Items", "{type: string, format: pip_specifier, max_length: 200}\n"),
    (
        "UiHints",
        "order: [model, context]
groups: [{title: Model, parameters: [model, context]}]
fields:
  context:
    widget: slider
    warnings: [{when: params.context > 32768, message: Long contexts need much memory.}]
",
    ),
    ("HintGroup", "{title: Advanced, parameters: [seed, packages], collapsed: true}\n"),
    (
        "FieldHint",
        "widget: slider
help: More is slower.
when: params.mode == 'custom'
warnings: [{when: params.context > 32768, message: Long contexts need much memory.}]
",
    ),
    ("FieldWarning", "{when: params.context > 32768, message: Long contexts need much memory.}\n"),
    (
        "Addon",
        "name: metrics
kind: metrics
display_name: Metrics
description: Numbers about requests, for a month.
components: [prometheus]
storage_mib: 10240
",
    ),
    (
        "SecretNeed",
        "name: hub-token
kind: model_token
description: A token of the model hub that may read the chosen model.
required: false
inject: {as: file, env: HF_TOKEN_FILE}
",
    ),
    ("Injection", "{as: file, env: HF_TOKEN_FILE}\n"),
    ("Injection", "{as: env, name: HF_TOKEN}\n"),
    (
        "Outputs",
        "endpoints: [{name: api, port: 8080, path: /v1}]
commands:
  - {name: models, title: List the models, command: [curl, '${endpoints.api.url}/models']}
access:
  private: Forward port 8080 and open it in a browser.
  proxy: Open the page, or use the address with a token of the project.
",
    ),
    ("OutputEndpoint", "{name: api, component: gateway, port: 8080, path: /v1, title: API}\n"),
    ("Dashboard", "{name: load, title: Load, endpoint: grafana, path: /d/load, addon: dashboards}\n"),
    ("OutputCommand", "{name: models, title: List the models, command: [curl, '${endpoints.api.url}/models']}\n"),
    (
        "AccessNotes",
        "private: Forward port 8080 and open it in a browser.
proxy: Open the page, or use the address with a token of the project.
",
    ),
    (
        "Validation",
        "smoke:
  - {name: page, check: {kind: http, port: 8080, path: /}}
rules:
  - rule: params.context <= 32768 || resources.gpu_count >= 2
    message: A long context needs two GPUs.
    parameter: context
",
    ),
    (
        "SmokeTest",
        "name: metrics
component: prometheus
when: addons.metrics
check: {kind: http, port: 9090, path: /-/ready, expect_status: [200]}
timeout_seconds: 120
",
    ),
    ("SmokeCheck", "{kind: http, port: 8080, path: '/v1/models', expect_body_contains: '${params.model}'}\n"),
    (
        "SmokeCheck",
        "kind: http
port: 8080
path: /v1/embeddings
method: POST
body: '{\"input\": \"hello\"}'
expect_status: [200]
",
    ),
    ("SmokeCheck", "{kind: exec, command: [nvidia-smi, -L], expect_output_contains: GPU}\n"),
    ("SmokeCheck", "{kind: web_socket, port: 8080, path: /ws, send: ping, expect_contains: pong}\n"),
    (
        "SmokeCheck",
        "{kind: openai_chat, port: 8080, model: '${params.model}', prompt: Say yes., expect_contains: 'yes'}\n",
    ),
    (
        "Rule",
        "rule: params.context <= 32768 || resources.gpu_count >= 2
message: A long context needs two GPUs.
parameter: context
",
    ),
    (
        "Topology",
        "members: [{role: head, min: 1, max: 1, components: [gateway]}, {role: worker, min: 1, max: 4}]
max_members: 5
max_replicas: 4
",
    ),
    ("MemberRole", "{role: worker, min: 1, max: 4, components: [lane-a]}\n"),
    (
        "Artifact",
        "name: server
variants:
  - name: nvidia
    image_ref: registry.example.org/apps/server@sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef
    accelerators: [nvidia]
    notes: Kernels for the h200 are new.
source:
  dockerfile: images/server/Dockerfile
  upstream: vLLM 0.9
  build_inputs: {commit: 4f2a91c, base: 'python:3.12-slim@sha256:9f1c…'}
",
    ),
    (
        "Variant",
        "name: amd-rocm
image_ref: registry.example.org/apps/server@sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef
accelerators: [amd]
notes: The first version for this accelerator.
",
    ),
    (
        "Source",
        "dockerfile: images/server/Dockerfile
upstream: vLLM 0.9
build_inputs: {commit: 4f2a91c, base: 'python:3.12-slim@sha256:9f1c…'}
",
    ),
    ("Ui", "{extension_kind: embedded, path: /lab}\n"),
    ("Metering", "{kind: tokens}\n"),
    ("Operation", "{modes: [tenant_dedicated], scope: project}\n"),
    (
        "Chart",
        "name: inference-stack
version: 1.2.0
values_schema:
  type: object
  properties:
    replicaCount: {type: integer, minimum: 1, maximum: 8}
    auth: {type: object, properties: {enabled: {type: boolean}}}
defaults: {replicaCount: 1, auth: {enabled: false}}
set:
  - {path: /replicaCount, value: '${params.replicas}'}
  - {path: /auth/enabled, literal: true}
",
    ),
    ("ChartValue", "{path: /replicaCount, value: '${params.replicas}'}\n"),
    ("ChartValue", "{path: /auth/enabled, literal: true}\n"),
    (
        "Migration",
        "from: '>=1.2.0 <2.0.0'
rename: {model_name: model}
remove: [legacy_cache]
set: {mode: hub}
",
    ),
    (
        "Contract",
        "lifecycle_states: [created, starting, running, stopping, stopped, failed]
failure_reasons: [readiness_timeout, out_of_memory]
observability:
  fields: [app_instance_id, project_id, correlation_id]
  metrics: [requests_total, tokens_total]
",
    ),
    ("Observability", "{fields: [app_instance_id, correlation_id], metrics: [requests_total]}\n"),
];
