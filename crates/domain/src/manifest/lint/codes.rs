//! Every code that a manifest can be told off with: how much it weighs, what it means, what to do.
//!
//! One table, so that the command line, the pages and the tests speak of the same codes. `docs/reference/lint.md` has a
//! section for each, with an example that fails and one that does not; a test runs them.

/// How much a finding weighs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// The manifest is refused.
    Error,
    /// It is accepted; somebody should look.
    Warning,
}

impl Severity {
    pub fn name(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Warning => "warning",
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Code {
    pub code: &'static str,
    pub severity: Severity,
    pub meaning: &'static str,
    /// What to do about it.
    pub fix: &'static str,
}

/// The entry of a code; a newer platform may send one that is not here.
pub fn find_code(code: &str) -> Option<&'static Code> {
    CODES.iter().find(|entry| entry.code == code)
}

const fn error(code: &'static str, meaning: &'static str, fix: &'static str) -> Code {
    Code { code, severity: Severity::Error, meaning, fix }
}

const fn warning(code: &'static str, meaning: &'static str, fix: &'static str) -> Code {
    Code { code, severity: Severity::Warning, meaning, fix }
}

/// In the order of their names.
pub const CODES: &[Code] = &[
    warning(
        "arrives_as_written",
        "A command or variable holds `$NAME`, `$(…)` or `{{ … }}`, which nothing replaces.",
        "write the value itself, a `${…}` expression over params, or run `sh -c` if a shell in the container shall read it",
    ),
    error(
        "artifact_ref_mismatch",
        "None of the images that run is the artifact that the version releases.",
        "name the same image in `artifact_ref` and where it runs",
    ),
    error(
        "class_not_allowed",
        "A component asks for GPUs, root or the internet, which its class does not get.",
        "make it a `primary` component if the app cannot be without it, or leave the request out",
    ),
    error(
        "composition_limit_exceeded",
        "More services, replicas or members than allowed.",
        "lower the numbers, or raise `topology` as far as the platform's own limits go",
    ),
    warning(
        "composition_of_one",
        "`components` has a single entry.",
        "move its fields into `runtime_profile`, with `kind: launchable_oci`",
    ),
    error(
        "contract_incomplete",
        "The states of the contract lack one that the rest of it needs.",
        "add `running`, and `failed` where there are `failure_reasons`; or leave `lifecycle_states` out",
    ),
    warning(
        "cpu_variant_missing",
        "An app that is offered without GPUs has only variants for accelerators.",
        "add a variant with `accelerators: []`, or say `min_gpu_count: 1`",
    ),
    error(
        "default_below_minimum",
        "A default or maximum is less than the app needs to run.",
        "raise it to the sum of the minima in `runtime_profile` or `components`",
    ),
    warning(
        "default_breaks_rule",
        "A launch that chooses nothing breaks a rule of the profile.",
        "change the defaults or the rule, so that the first form somebody sees can be launched",
    ),
    error(
        "dependency_cycle",
        "Components wait for each other, or add-ons require each other.",
        "take one of the `depends_on` or `requires` away, so that something comes first",
    ),
    error(
        "digest_required",
        "An image is named without its digest.",
        "write `…@sha256:` and the digest, or `{build: FOLDER}` and publish with `gpuaas app publish`",
    ),
    error("document_too_deep", "More than 32 levels.", "nest less: no field of a manifest is that deep"),
    error("document_too_large", "More than 256 KiB.", "keep data in the image, not in the manifest"),
    warning(
        "duplicate_hint",
        "`ui_hints` names a parameter twice in the order or in groups.",
        "keep one of the two",
    ),
    error("duplicate_key", "A key stands twice in one object.", "keep one of the two"),
    error("duplicate_name", "A name or path is taken by an entry before.", "give each entry its own"),
    warning(
        "engine_cannot_say",
        "An engine of the profile cannot express a part of it.",
        "say the same for all components, or name in `execution_engines` only those that can",
    ),
    error(
        "engine_mismatch",
        "Engine, renderer and kind of runtime do not fit each other.",
        "let `runtime_profile.kind`, `renderer` and `execution_engines` agree; docs/how-to/write-a-profile.md has a table",
    ),
    error(
        "engine_native_not_allowed",
        "Values or configuration of an engine.",
        "take it out and say what is meant with the fields of the manifest; the platform writes the engine's files",
    ),
    error("exclusive_blocks", "Two fields or blocks of which one may stand.", "keep one of the two"),
    error(
        "expression_not_allowed",
        "An expression uses a part of the syntax, a function or a name that is not for this place.",
        "use what docs/reference/expressions.md lists for this place",
    ),
    error(
        "expression_syntax",
        "What stands between `${` and `}`, or in a condition, is no expression.",
        "mend it at the character that is named; a plain `${` is written `$${`",
    ),
    error(
        "expression_too_large",
        "An expression is longer, deeper or of more parts than is read.",
        "split it, or compute a part of it as a parameter with `value`",
    ),
    error(
        "expression_type",
        "An expression yields another type than its place takes, or uses a value that may be absent.",
        "compare and combine values of one type; ask `has()` before a value that may be absent",
    ),
    error(
        "expression_unknown_name",
        "An expression names something that is not there.",
        "use a declared parameter, resource, add-on or endpoint; the sentence names the nearest",
    ),
    error(
        "gpu_total_mismatch",
        "What `resources.gpu_count` says of the whole launch is not what its lanes take by default.",
        "leave the default out of `resources.gpu_count`: lanes say themselves what they take",
    ),
    error(
        "helper_not_exposed",
        "A sidecar's port faces people.",
        "say `expose: internal`, or make it a `gateway` or `primary` component",
    ),
    error(
        "host_mount_not_allowed",
        "Something of the host is asked for.",
        "declare a place in `resources.mounts`; which volume stands there is chosen at launch",
    ),
    error(
        "image_source_not_allowed",
        "An image that is not in the platform's registry.",
        "push it there with `gpuaas app publish`; `gpuaas registry info` shows the name",
    ),
    error("invalid_name", "A name that cannot be shown.", "use 1 to 120 visible characters"),
    error(
        "invalid_pattern",
        "A parameter's pattern is no regular expression that the platform reads.",
        "leave out look-around, back-references and `\\p`",
    ),
    error(
        "invalid_policy",
        "A content security policy that is none, or says what is the gateway's to say.",
        "write directives with semicolons between, without frame-ancestors, sandbox and reports",
    ),
    error(
        "invalid_slug",
        "A slug that cannot stand in an address.",
        "use 2 to 40 of a-z, 0-9 and single hyphens",
    ),
    error(
        "invalid_value",
        "A value that is not among those allowed, or not of the form that is asked for.",
        "use one of the values in the sentence; docs/reference/manifest.md has them all",
    ),
    error(
        "invalid_version",
        "A version that is none.",
        "write one to four numbers, then an optional `-suffix` and `+build`, in quotes if it looks like a number",
    ),
    error("malformed_digest", "Not `sha256:` and 64 lower-case hexadecimal digits.", "copy the whole digest"),
    error(
        "malformed_document",
        "The text is not JSON or YAML.",
        "look at this place: a bracket, quote, colon or indentation is wrong here or just before",
    ),
    error(
        "malformed_image_name",
        "Not `registry/repository` before the digest.",
        "write registry, repository and digest: `registry.example.org/apps/name@sha256:…`",
    ),
    error(
        "migration_conflict",
        "One step of `migrations` speaks of a name twice.",
        "keep one of the two, or put the second into a step of its own after this one",
    ),
    error(
        "migration_not_below",
        "A step of `migrations` is for this version or for later ones.",
        "write `from` with an upper bound that is not above `version`, as in `<2.0.0`",
    ),
    error("min_above_max", "A minimum is above its maximum.", "swap the two, or leave one out"),
    error("missing_field", "A needed field is not there.", "add it here"),
    error(
        "not_found",
        "In a source manifest: a folder or file to make an image of is not there.",
        "paths start from the folder of the manifest; a folder to build holds a program `build` or a Dockerfile",
    ),
    error(
        "out_of_range",
        "A number, length or count outside its limits.",
        "stay within the limits in the sentence",
    ),
    error(
        "parameter_cycle",
        "A parameter's `when` or `value` leads back to itself.",
        "let one of the parameters on the way stand by itself",
    ),
    error(
        "pattern_mismatch",
        "A default does not have the form that its parameter asks for.",
        "change the default or the pattern, so that a launch that chooses nothing passes",
    ),
    error(
        "port_clash",
        "A port or its name stands twice, or two ports are the app's page.",
        "give each port its own number and name; let one be `embedded_ui_gateway` and the others `platform_proxy` or `private`",
    ),
    warning(
        "port_unreachable",
        "A port that faces nobody, in a component on which nothing depends.",
        "expose it, name the component in another's `depends_on`, or leave the port out",
    ),
    error(
        "privileged_not_allowed",
        "A privilege that apps do not get.",
        "take it out; GPUs come from the allocation, storage from `resources.mounts`, ports from `ports`",
    ),
    error(
        "probe_port_not_declared",
        "A probe or smoke test asks a port that the component does not declare.",
        "add the port to `ports`, with `expose: internal` if nobody else needs it",
    ),
    error(
        "raw_secret_not_allowed",
        "What looks like the value of a secret.",
        "declare it in `secrets` and let the platform inject it; change the secret, since it was written down",
    ),
    warning(
        "readiness_missing",
        "A component that the app cannot be without has no readiness probe.",
        "add one, such as `readiness: {check: {kind: http, port: 8080, path: /healthz}}`, or `{kind: heartbeat}`",
    ),
    error(
        "required",
        "In a source manifest: neither how to make the image nor its reference.",
        "write `{build: FOLDER}`, `{image: SOURCE}`, or a reference with its digest",
    ),
    error(
        "reserved_env_name",
        "The variable steers the loader, the GPU runtime or the platform.",
        "choose another name, or leave it out: the platform sets what it needs itself",
    ),
    error(
        "schema_not_supported",
        "A chart's schema has a rule, reference or pattern that the platform cannot judge.",
        "say it with rules that are known, or leave it out of `chart.values_schema`: the chart itself still has it",
    ),
    warning(
        "secret_in_environment",
        "A secret is put into a plain variable.",
        "inject it as a file: `inject: {as: file, env: NAME_FILE}`, and read the file that the variable names",
    ),
    warning(
        "several_services",
        "One container runs a supervisor for several services.",
        "make each service a component, with its own probe",
    ),
    warning(
        "smoke_condition_missing",
        "A smoke test asks a component of an add-on, which runs only where it is chosen.",
        "add `when: addons.NAME` to the test",
    ),
    warning(
        "smoke_missing",
        "No smoke test is declared.",
        "add one to `validation.smoke`, such as `{name: page, check: {kind: http, port: 8080, path: /}}`",
    ),
    error(
        "template_in_value",
        "A value for a chart holds `{{`, which the chart might run as a template.",
        "write the text without `{{`; an expression is `${…}`",
    ),
    error(
        "tensor_parallel_mismatch",
        "The default degree of a lane does not divide its default number of GPUs.",
        "let the default of `tensor_parallel` be one that divides the default of `gpu_count`, or leave it out: all work together then",
    ),
    error(
        "ui_block_missing",
        "A port faces the browser, but there is no `ui` block.",
        "add `ui: {extension_kind: embedded, path: /}`, or expose the port as `platform_proxy`",
    ),
    error(
        "ui_port_missing",
        "There is a `ui` block, but no port faces the browser.",
        "expose the page's port as `embedded_ui_gateway`, or take `ui` out",
    ),
    error(
        "unknown_field",
        "There is no such field.",
        "correct the name or take it out; docs/reference/manifest.md has every field",
    ),
    error(
        "unknown_reference",
        "A name that nothing in the manifest, or of the platform, has.",
        "correct the name, or declare what it means",
    ),
    error(
        "unsupported_chart",
        "A Helm chart in a place where none is taken.",
        "describe components and parameters in a manifest, and name the chart in its block `chart`",
    ),
    error(
        "unsupported_compose_yaml",
        "Docker Compose YAML.",
        "describe components in a manifest; `gpuaas app init proxied` writes one to start from",
    ),
    error(
        "unsupported_k8s_manifest",
        "A Kubernetes object.",
        "describe components and resources in a manifest; `gpuaas app init` writes one to start from",
    ),
    warning(
        "widget_mismatch",
        "A widget that cannot show values of this parameter; the form takes its usual one.",
        "leave `widget` out, or name one for this type: `slider` for numbers with bounds, `select` and `radio` for choices",
    ),
    error(
        "workspace_path_not_allowed",
        "A place for storage that is not fixed or not free.",
        "name an absolute path in the container that nothing else has, such as /workspace in `resources.mounts` or /tmp in `tmpfs`",
    ),
    error(
        "wrong_type",
        "Text, number, list or object: another one is needed here.",
        "write what the sentence asks for; a number that means text stands in quotes",
    ),
    error(
        "yaml_feature_not_allowed",
        "Anchors, aliases, tags and keys that are not text are not read.",
        "write the value out where it is used",
    ),
];
