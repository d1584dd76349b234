//! Golden forms of the sample manifests, laws that hold for any manifest and any values, and a table of hostile values.

mod composition;
mod conditions;
mod hostile;
mod laws;
mod mounts;

use std::sync::Arc;

use gpuaas_agent_protocol::inventory::{NodeInventory, Runtime, Vendor};
use serde_json::{Value, json};
use uuid::Uuid;

use super::*;
use crate::Timestamp;
use crate::allocation::{Allocation, AllocationState, BoundaryMode, GrantPolicy, Price, Shape, Sku};
use crate::artifact::{
    Artifact, ArtifactState, Channels, Repository, Trust, TrustMode, TrustState, Visibility,
};
use crate::entitlement::{Layers, Terms};
use crate::ids::{
    AppVersionId, ArtifactId, GpuId, NodeId, PriceId, ProjectId, RepositoryId, SkuId, TenantId,
};
use crate::launch::{KnownImage, Plan, QuotaUse};
use crate::manifest::tests::{composition, image, registries, sample};
use crate::manifest::{Format, Manifest};
use crate::node::{Node, NodeStanding};
use crate::preset::{DefaultSource, Defaults};

fn id<T>(make: fn(Uuid) -> T, number: u128) -> T {
    make(Uuid::from_u128(number))
}

fn now() -> Timestamp {
    Timestamp::from_unix_seconds(1_800_000_000).unwrap()
}

/// An allocation with what is around it.
#[derive(Clone)]
struct Place {
    allocation: Allocation,
    node: Option<Node>,
    gpus: Vec<GpuDevice>,
    gpus_in_use: Vec<GpuId>,
    cpu_millis_in_use: i64,
    prices: Vec<Price>,
}

impl Place {
    fn target(&self) -> Target<'_> {
        Target {
            allocation: &self.allocation,
            node: self.node.as_ref(),
            gpus: &self.gpus,
            gpus_in_use: &self.gpus_in_use,
            cpu_millis_in_use: self.cpu_millis_in_use,
            memory_mib_in_use: 0,
            ports_in_use: &[9000],
            prices: &self.prices,
        }
    }
}

fn node() -> Node {
    Node {
        id: id(NodeId::new, 1),
        name: "node-1".into(),
        standing: NodeStanding::Active,
        cordoned: false,
        draining: false,
        agent_version: "1.0.0".into(),
        agent_connected_at: Some(now()),
        last_seen_at: None,
        inventory: NodeInventory {
            agent_version: "1.0.0".into(),
            protocol: gpuaas_agent_protocol::PROTOCOL,
            hostname: "node-1".into(),
            os: "Debian".into(),
            kernel: "6".into(),
            architecture: "amd64".into(),
            cpus: 64,
            memory_mib: 262_144,
            disk_total_mib: 1,
            disk_free_mib: 1,
            runtime: Runtime::Docker {
                version: "29".into(),
                api_version: "1.52".into(),
                runc_version: None,
                nvidia: true,
            },
            gpus: Vec::new(),
            problems: Vec::new(),
            warnings: Vec::new(),
        },
        inventory_at: now(),
        version: 1,
        created_at: now(),
        updated_at: now(),
    }
}

fn place(number: u8, name: &str, shape: Shape, gpus: u8, vcpu: i64, memory_mib: i64) -> Place {
    let gpu = |index: u8| GpuDevice {
        id: id(GpuId::new, u128::from(number) * 1000 + u128::from(index)),
        node_id: id(NodeId::new, 1),
        device_uuid: format!("GPU-{number}-{index}"),
        index: i64::from(index),
        vendor: Vendor::Nvidia,
        model: "h200".into(),
        memory_mib: 143_360,
        simulated: false,
        present: true,
        quarantined: false,
    };
    Place {
        allocation: Allocation {
            id: id(AllocationId::new, 100 + u128::from(number)),
            tenant_id: id(TenantId::new, 2),
            project_id: id(ProjectId::new, 3),
            name: name.into(),
            sku_id: id(SkuId::new, u128::from(number)),
            node_id: Some(id(NodeId::new, 1)),
            state: AllocationState::Active,
            shape,
            gpu_count: i64::from(gpus),
            vcpu,
            memory_mib,
            requested_by_kind: "user".into(),
            requested_by_id: "x".into(),
            note: None,
            requested_at: now(),
            active_at: Some(now()),
            releasing_at: None,
            released_at: None,
            version: 1,
            updated_at: now(),
        },
        node: Some(node()),
        gpus: (0..gpus).map(gpu).collect(),
        gpus_in_use: Vec::new(),
        cpu_millis_in_use: 0,
        prices: vec![Price {
            id: id(PriceId::new, 7),
            sku_id: id(SkuId::new, u128::from(number)),
            amount_micros: 1_500_000,
            currency: "EUR".into(),
            per_units: 3600,
            unit: "allocation_seconds".into(),
            valid_from: now().plus_seconds(-10),
        }],
    }
}

fn sku(number: u8, slug: &str, shape: Shape, gpu_count: i64, vcpu: i64, memory_mib: i64) -> Sku {
    Sku {
        id: id(SkuId::new, u128::from(number)),
        slug: slug.into(),
        display_name: slug.to_uppercase(),
        shape,
        gpu_count,
        gpu_vendor: (gpu_count > 0).then_some(Vendor::Nvidia),
        gpu_model: None,
        vcpu,
        memory_mib,
        grant_policy: GrantPolicy::Auto,
        retired: false,
        version: 1,
        created_at: now(),
        updated_at: now(),
    }
}

/// A project that may launch one app, and what it holds.
struct Scene {
    manifest: Manifest,
    images: Vec<KnownImage>,
    layers: Layers,
    state: VersionState,
    places: Vec<Place>,
    channels: Channels,
    volumes: Vec<crate::volume::KnownVolume>,
    quotas: Vec<QuotaUse>,
    defaults: Defaults,
}

impl Scene {
    fn of(document: &Value) -> Self {
        Self::read(document.to_string().as_bytes(), Format::Json)
    }

    fn read(bytes: &[u8], format: Format) -> Self {
        let checked = crate::manifest::check(bytes, format, &registries());
        let manifest = checked.unwrap_or_else(|faults| panic!("{faults:?}")).manifest;
        let references = manifest.named_images().into_iter();
        let images = references.map(|(_, reference)| KnownImage {
            reference: reference.to_string(),
            canonical: reference.clone(),
            artifact: Some(artifact(reference.digest().clone())),
        });
        Self {
            images: images.collect(),
            manifest,
            layers: Layers { tenant: Some(Terms { enabled: true, ..Terms::default() }), ..Layers::default() },
            state: VersionState::Active,
            places: vec![
                place(1, "large", Shape::Baremetal, 8, 32, 131_072),
                place(2, "small", Shape::GpuSlice, 1, 4, 8192),
                place(3, "tiny", Shape::GpuSlice, 0, 1, 256),
            ],
            channels: Channels::default(),
            volumes: Vec::new(),
            quotas: Vec::new(),
            defaults: Defaults::default(),
        }
    }

    fn plan(&self, place: usize, wish: &Wish) -> Result<Plan> {
        launch::plan(&self.app(), self.places[place].target(), wish).map(|planned| planned.plan)
    }

    fn app(&self) -> View<'_> {
        View {
            version_id: id(AppVersionId::new, 5),
            manifest: &self.manifest,
            prepared: Arc::new(resolution::Prepared::of(&self.manifest)),
            resolved: resolution::Memo::default(),
            version_state: self.state,
            existing: false,
            entitlement: &self.layers,
            images: &self.images,
            trust: TrustMode::Enforce,
            channels: &self.channels,
            boundary: BoundaryMode::DedicatedNode,
            public_ceiling: crate::access::PublicAccess::Off,
            volumes: &self.volumes,
            quotas: &self.quotas,
            defaults: &self.defaults,
            now: now(),
        }
    }

    fn try_form(&self, wanted: &Wanted) -> Result<(Form, Choices)> {
        let version = self.manifest.version.to_string();
        let targets: Vec<NamedTarget<'_>> =
            self.places.iter().map(|place| NamedTarget { sku: "sku", target: place.target() }).collect();
        let skus = [
            sku(1, "whole", Shape::Baremetal, 8, 32, 131_072),
            sku(2, "slice", Shape::GpuSlice, 1, 4, 8192),
            sku(3, "cpu", Shape::GpuSlice, 0, 1, 256),
        ];
        let view = FormView {
            app: self.app(),
            project_slug: "acme-lab",
            versions: &[(version.clone(), self.state)],
            recommended: Some(&version),
            targets: &targets,
            skus: &skus,
        };
        resolve(&view, wanted)
    }

    fn form(&self, wanted: &Wanted) -> Form {
        self.try_form(wanted).expect("a form").0
    }

    fn with_values(&self, values: Value) -> Form {
        self.form(&wanting(values))
    }
}

fn wanting(values: Value) -> Wanted {
    let Value::Object(values) = values else { panic!("values are an object") };
    Wanted { wish: Wish { values, ..Wish::default() }, ..Wanted::default() }
}

fn artifact(digest: gpuaas_agent_protocol::Digest) -> Artifact {
    Artifact {
        id: id(ArtifactId::new, 8),
        repository: Repository {
            id: id(RepositoryId::new, 9),
            tenant_id: id(TenantId::new, 2),
            project_id: id(ProjectId::new, 3),
            namespace: "platform".into(),
            app_slug: "app".into(),
            visibility: Visibility::Platform,
            version: 1,
            created_at: now(),
            updated_at: now(),
        },
        digest,
        tag: None,
        media_type: String::new(),
        size_bytes: 1,
        variant: None,
        source: Value::Null,
        state: ArtifactState::Promoted,
        channel: Some("production".into()),
        trust: Trust {
            state: TrustState::Verified,
            signer: Some("SHA256:key".into()),
            ..Trust::unverified(None)
        },
        created_by_kind: String::new(),
        created_by_id: String::new(),
        version: 1,
        created_at: now(),
        updated_at: now(),
    }
}

/// The smallest manifest with these parameters.
fn with_parameters(parameters: Value) -> Value {
    let mut document = sample();
    document["parameters"] = parameters;
    document
}

fn codes(reasons: &[FormReason]) -> Vec<&str> {
    reasons.iter().map(|reason| reason.code.as_str()).collect()
}

fn errors(form: &Form) -> Vec<(&str, &str)> {
    form.errors.iter().map(|error| (error.path.as_str(), error.code.as_str())).collect()
}

/// B-02, B-03, A-15, P-01: the forms of the apps and samples that this project has, member by member.
#[test]
fn the_samples_have_these_forms() {
    let locked = |source: &str, name: &str| {
        source.replace(&format!("{{build: ../../images/{name}}}"), &image(name)).into_bytes()
    };
    let hello = locked(include_str!("../../../../apps/hello-web/app.yaml"), "hello-web");
    let jupyter = locked(include_str!("../../../../apps/jupyterlab/app.yaml"), "jupyterlab");
    for (name, scene, golden) in [
        ("hello-web", Scene::read(&hello, Format::Yaml), include_str!("tests/hello-web.json")),
        ("jupyterlab", Scene::read(&jupyter, Format::Yaml), include_str!("tests/jupyterlab.json")),
        ("sample", Scene::of(&sample()), include_str!("tests/sample.json")),
        ("composition", Scene::of(&composition()), include_str!("tests/composition.json")),
    ] {
        let form = serde_json::to_value(scene.form(&Wanted::default())).unwrap();
        let golden: Value = serde_json::from_str(golden).unwrap_or_default();
        let shown = serde_json::to_string_pretty(&form).unwrap();
        assert!(
            form == golden,
            "the form of {name} is not crates/domain/src/launch_form/tests/{name}.json but\n{shown}"
        );
    }
}

/// I-03, P-01: of each allocation every reason is told, what fits comes first, and the smallest of it is chosen.
#[test]
fn allocations_come_with_every_reason() {
    let mut document = sample();
    document["compatibility"] = json!({
        "requires_capacity_shape": ["baremetal"], "min_gpu_count": 2, "requires_exclusive_node": true,
        "supported_accelerators": ["nvidia"], "min_gpu_memory_mib": 200_000, "required_capabilities": ["nvlink"]
    });
    let mut scene = Scene::of(&document);
    let mut away = node();
    away.cordoned = true;
    away.agent_connected_at = None;
    scene.places[1].node = Some(away);
    scene.places[0].cpu_millis_in_use = 31_000;
    let form = scene.form(&Wanted::default());
    let reasons: Vec<(&str, Vec<&str>)> =
        form.allocations.iter().map(|one| (one.name.as_str(), codes(&one.reasons))).collect();
    assert_eq!(
        reasons,
        [
            (
                "tiny",
                vec![
                    "requires_capacity_shape",
                    "min_gpu_count",
                    "requires_exclusive_node",
                    "capability_missing",
                    "gpu_already_bound",
                    "allocation_full"
                ]
            ),
            (
                "small",
                vec![
                    "cordoned",
                    "agent_away",
                    "requires_capacity_shape",
                    "min_gpu_count",
                    "requires_exclusive_node",
                    "min_gpu_memory_mib",
                    "capability_missing",
                    "gpu_already_bound"
                ]
            ),
            ("large", vec!["min_gpu_memory_mib", "capability_missing", "allocation_full"]),
        ]
    );
    assert_eq!((form.allocation_id, form.launchable), (None, false));
    assert_eq!(errors(&form), [("/target_allocation_id", "required")]);
    let offers: Vec<(&str, bool)> = form.offers.iter().map(|one| (one.slug.as_str(), one.fits)).collect();
    assert_eq!(offers, [("whole", true), ("slice", false), ("cpu", false)]);

    // A plan on one of them is refused by the gravest, with all of them.
    let refused = scene.plan(1, &Wish::default()).unwrap_err();
    assert_eq!(refused.code(), "node_not_ready");
    let listed: Vec<&str> = refused.field_errors().iter().map(|fault| fault.code).collect();
    assert_eq!(listed, reasons[1].1);

    // Nothing in the way: the smallest that does.
    let form = Scene::of(&sample()).form(&Wanted::default());
    let fitting: Vec<&str> =
        form.allocations.iter().filter(|one| one.fits).map(|one| one.name.as_str()).collect();
    assert_eq!(fitting, ["small", "large"]);
    assert_eq!(form.allocation_id, Some(id(AllocationId::new, 102)));
    assert!(form.launchable, "{:?}", form.errors);
}

/// I-03: the one asked for is kept, whatever speaks against it; one of another project is none.
#[test]
fn the_allocation_asked_for_is_judged() {
    let scene = Scene::of(&sample());
    let on = |number| Wanted { allocation: Some(id(AllocationId::new, number)), ..Wanted::default() };
    let form = scene.form(&on(103));
    assert_eq!(form.allocation_id, Some(id(AllocationId::new, 103)));
    assert_eq!(
        errors(&form),
        [
            ("/target_allocation_id", "min_gpu_count"),
            ("/target_allocation_id", "gpu_already_bound"),
            ("/target_allocation_id", "allocation_full")
        ]
    );
    let form = scene.form(&on(999));
    assert_eq!((form.allocation_id, form.launchable), (None, false));
    assert_eq!(errors(&form), [("/target_allocation_id", "unknown_allocation")]);

    let mut scene = Scene::of(&sample());
    scene.places.truncate(1);
    scene.places[0].allocation.state = AllocationState::Requested;
    (scene.places[0].node, scene.places[0].gpus) = (None, Vec::new());
    let form = scene.form(&Wanted::default());
    assert_eq!(codes(&form.allocations[0].reasons), ["allocation_not_active"]);
}

/// F-26: an image that is not verified, or not promoted as far as the version asks, is shown and not offered.
#[test]
fn only_good_images_are_usable() {
    for (spoil, code) in [
        ((|found| found.artifact = None) as fn(&mut KnownImage), "artifact_not_registered"),
        (|found| found.artifact.as_mut().unwrap().trust = Trust::unverified(None), "artifact_not_verified"),
        (|found| found.artifact.as_mut().unwrap().trust.state = TrustState::Revoked, "artifact_revoked"),
        (|found| found.artifact.as_mut().unwrap().channel = Some("dev".into()), "artifact_not_promoted"),
        (|found| found.artifact.as_mut().unwrap().state = ArtifactState::Deprecated, "artifact_not_active"),
    ] {
        let mut scene = Scene::of(&sample());
        assert!(scene.form(&Wanted::default()).variants[0].chosen);
        scene.images.iter_mut().for_each(spoil);
        let form = scene.form(&Wanted::default());
        let [only] = form.variants.as_slice() else { panic!("one image") };
        assert_eq!((only.usable, only.chosen, codes(&only.reasons)), (false, false, vec![code]));
        assert!(only.reference.contains("@sha256:") && only.digest.starts_with("sha256:"));
        assert_eq!((errors(&form), form.launchable), (vec![("/variant", code)], false));
    }
}

/// E-03, K-11: no form for a project that may not launch the app; a version out of new launches says so in its form.
#[test]
fn who_may_not_launch_gets_no_form() {
    let mut scene = Scene::of(&sample());
    scene.state = VersionState::Deprecated;
    assert_eq!(errors(&scene.form(&Wanted::default())), [("/app_version", "version_not_launchable")]);
    scene.state = VersionState::Active;
    scene.layers = Layers::default();
    assert_eq!(scene.try_form(&Wanted::default()).unwrap_err().code(), "not_entitled");
}

/// B-07: resources have bounds from manifest and allocation, and a wish outside them is told.
#[test]
fn resources_are_bounded() {
    let mut document = sample();
    document["resources"] = json!({
        "gpu_count": {"min": 1, "max": 2, "default": 1}, "vcpu": {"default": 4, "max": 6}, "memory_mib": {"max": 6000}
    });
    let scene = Scene::of(&document);
    let form = scene.form(&Wanted::default());
    let field = |min, max, default, value| ResourceField { min, max: Some(max), default, value };
    assert_eq!(form.resources.gpu_count, field(1, 1, 1, 1), "the small allocation has one");
    assert_eq!(form.resources.cpu_millis, field(4000, 4000, 4000, 4000));
    assert_eq!(form.resources.memory_mib, field(4096, 6000, 4096, 4096));
    let mut wanted = Wanted::default();
    (wanted.wish.gpu_count, wanted.wish.cpu_millis, wanted.wish.memory_mib) = (Some(3), Some(1), Some(6001));
    let form = scene.form(&wanted);
    for path in ["/resources/gpu_count", "/resources/cpu_millis", "/resources/memory_mib"] {
        assert!(errors(&form).contains(&(path, "out_of_range")), "{path} {:?}", form.errors);
    }
}

/// P-01: the command is the launch, ready for a shell, and says no more than what was chosen.
#[test]
fn the_command_is_what_was_chosen() {
    let document = with_parameters(json!({
        "motto": {"type": "string", "default": "x"}, "count": {"type": "integer", "default": 3},
        "list": {"type": "array", "items": {"type": "string"}}
    }));
    let scene = Scene::of(&document);
    let mut wanted = wanting(json!({"motto": "it's $HOME", "count": 3, "list": ["a b"]}));
    wanted.wish.cpu_millis = Some(4500);
    wanted.name = Some("mine".into());
    wanted.allocation = Some(id(AllocationId::new, 101));
    let (form, choices) = scene.try_form(&wanted).unwrap();
    assert_eq!(
        form.command,
        r#"gpuaas instance create jupyter-cuda-dev --project acme-lab --allocation large --version 1.4.2 --name mine --cpu 4500m --set 'list=["a b"]' --set 'motto=it'\''s $HOME'"#
    );
    assert!(!choices.values.contains_key("count"), "the default goes without saying");
    for (value, word) in [
        (json!("12"), r#"'motto="12"'"#),
        (json!("true"), r#"'motto="true"'"#),
        (json!("-rf"), "motto=-rf"),
        (json!(""), "motto="),
        (json!("a\u{1b}[2Jb"), r#"'motto="a\u001b[2Jb"'"#),
        (json!("a\u{202e}b"), r#"'motto="a\u202eb"'"#),
        (json!("`id`"), "'motto=`id`'"),
    ] {
        let form = scene.with_values(json!({ "motto": value }));
        assert!(form.command.ends_with(&format!(" --set {word}")), "{}", form.command);
    }
}

/// J-01, P-01: the way to an endpoint is a choice among those of app and operator; a name that is none is told, and stands in
/// no command.
#[test]
fn access_is_chosen_by_endpoint() {
    use crate::access::AccessMode as Mode;
    let scene = Scene::of(&sample());
    let reach = |endpoint: &str, mode| {
        let access = [(endpoint.to_owned(), mode)].into_iter().collect();
        scene.form(&Wanted { wish: Wish { access, ..Wish::default() }, ..Wanted::default() })
    };
    let form = reach("port-8888", Mode::Private);
    assert_eq!((form.access[0].value, errors(&form)), (Mode::Private, vec![]));
    assert!(form.command.ends_with(" --access port-8888=private"), "{}", form.command);
    let form = reach("port-8888", Mode::Public);
    assert!(!form.launchable && form.errors[0].path.starts_with("/access"), "{:?}", form.errors);
    let form = reach("x\u{1b}[2J", Mode::Private);
    assert_eq!(form.errors.len(), 1, "{:?}", form.errors);
    assert_eq!(form.errors[0].code, "unknown_endpoint");
    assert!(!form.command.contains("--access"), "{:?}", form.command);
}
