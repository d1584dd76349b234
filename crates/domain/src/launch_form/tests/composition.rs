//! Several components: which run, what each takes, which devices it gets, and what is said where that cannot be.

use proptest::prelude::*;

use super::*;
use crate::launch::{CheckName, LaneWish};
use crate::manifest::ExecutionEngine;

/// Two lanes behind a gateway, with add-ons of which one brings another.
fn stack() -> Value {
    let mut manifest = composition();
    let server = manifest["components"][1].clone();
    let mut second = server.clone();
    second["name"] = json!("lane-b");
    second["lane"] = json!("b");
    second["gpu_count"] = json!({"default": 1, "min": 1, "max": 4});
    second["tensor_parallel"] = json!({"default": 1, "max": 4});
    second["when"] = json!("params.context > 1000");
    for lane in [&mut manifest["components"][1], &mut second] {
        let lane = lane.as_object_mut().unwrap();
        lane.remove("replicas");
        lane.remove("env");
        lane.remove("scratch");
        lane.remove("egress");
    }
    let dashboards = json!({"name": "dashboards", "class": "addon", "image_ref": image("metrics"),
        "resources": {"min_memory_mib": 128, "min_vcpu": 0.25}, "depends_on": ["metrics"]});
    let components = manifest["components"].as_array_mut().unwrap();
    components.push(second);
    components.push(dashboards);
    components[0]["depends_on"] = json!(["lane-a", "lane-b", "metrics"]);
    components[2]["resources"]["min_vcpu"] = json!(0.5);
    manifest["addons"].as_array_mut().unwrap().push(
        json!({"name": "dashboards", "kind": "dashboards", "components": ["dashboards"], "requires": ["metrics"]}),
    );
    manifest["compatibility"]["required_capabilities"] = json!([]);
    manifest["execution_engines"] = json!(["docker_compose", "kubernetes", "helm"]);
    manifest["resources"]["gpu_placement"] = json!({"intent": "packed"});
    manifest["secrets"] = json!([]);
    manifest["resources"]["gpu_count"] = json!({});
    manifest
}

/// The same with devices that no component claims.
fn without_lanes() -> Value {
    let mut manifest = stack();
    for index in [1, 3] {
        let component = manifest["components"][index].as_object_mut().unwrap();
        for member in ["gpu_count", "lane", "tensor_parallel"] {
            component.remove(member);
        }
    }
    manifest
}

fn scene() -> Scene {
    Scene::of(&stack())
}

fn wish(addons: &[&str]) -> Wish {
    Wish { addons: addons.iter().map(|name| (*name).to_owned()).collect(), ..Wish::default() }
}

fn lane(gpu_count: Option<u32>, tensor_parallel: Option<u32>, slots: Option<Vec<u32>>) -> LaneWish {
    LaneWish { gpu_count, tensor_parallel, slots }
}

fn names(plan: &Plan) -> Vec<&str> {
    plan.components.iter().map(|component| component.name.as_str()).collect()
}

/// C-06, C-07: every add-on is off unless chosen; one that is chosen brings what it needs.
#[test]
fn add_ons_run_where_they_are_chosen_or_brought() {
    let scene = scene();
    assert_eq!(names(&scene.plan(0, &wish(&[])).unwrap()), ["gateway", "lane-a", "lane-b"]);
    assert_eq!(
        names(&scene.plan(0, &wish(&["metrics"])).unwrap()),
        ["gateway", "lane-a", "metrics", "lane-b"]
    );
    let all = scene.plan(0, &wish(&["dashboards"])).unwrap();
    assert_eq!(names(&all), ["gateway", "lane-a", "metrics", "lane-b", "dashboards"]);
    let brought: Vec<_> =
        all.addons.iter().map(|addon| (addon.name.as_str(), addon.brought_by.clone())).collect();
    assert_eq!(brought, [("metrics", vec!["dashboards".to_owned()]), ("dashboards", vec![])]);
    let gateway = |plan: &Plan| plan.components[0].depends_on.clone();
    assert_eq!(gateway(&all), ["lane-a", "lane-b", "metrics"]);
    assert_eq!(
        gateway(&scene.plan(0, &wish(&[])).unwrap()),
        ["lane-a", "lane-b"],
        "nobody waits for what does not run"
    );
}

/// C-07: a name that is no add-on is told with the nearest that is.
#[test]
fn an_unknown_add_on_or_lane_is_told() {
    let scene = scene();
    let mut wanted = wish(&["metrics", "dashbords"]);
    wanted.lanes.insert("c".into(), LaneWish::default());
    let error = scene.plan(0, &wanted).unwrap_err();
    let told: Vec<_> = error.field_errors().iter().map(|field| (field.path.as_str(), field.code)).collect();
    assert_eq!(told, [("/addons/1", "unknown_addon"), ("/lanes/c", "unknown_lane")]);
    assert!(error.field_errors()[0].message.contains("Did you mean dashboards?"));
    assert_eq!(error.params()["check"], "values");
    let flood = Wish { addons: vec!["x".to_owned(); 10_000], ..Wish::default() };
    assert_eq!(scene.plan(0, &flood).unwrap_err().field_errors().len(), 1);
    let lanes = (0..10_000).map(|number| (format!("lane-{number}"), LaneWish::default())).collect();
    let flood = Wish { lanes, ..Wish::default() };
    assert!(scene.plan(0, &flood).unwrap_err().field_errors().len() < 40);
}

/// A component whose condition does not hold is not there, and takes nothing.
#[test]
fn a_condition_takes_a_component_away() {
    let scene = scene();
    let plan = scene.plan(0, &wanting(json!({"context": 512})).wish).unwrap();
    assert_eq!(names(&plan), ["gateway", "lane-a"]);
    assert_eq!(plan.gpus.len(), 2);
    let form = scene.with_values(json!({"context": 512}));
    let idle = form.components.iter().find(|one| one.name == "lane-b").unwrap();
    assert!(!idle.runs && idle.gpu_count == 0 && idle.cpu_millis == 0);
    assert_eq!(idle.why_not.as_deref(), Some("Its condition does not hold for what was chosen."));
}

/// C-09: a launch of which nothing would run is refused as that, before anything is placed; and no two lanes share a name.
#[test]
fn a_launch_of_nothing_and_a_lane_of_two_are_refused() {
    let mut manifest = stack();
    for component in manifest["components"].as_array_mut().unwrap() {
        component["when"] = json!("params.context > 60000");
    }
    let error = Scene::of(&manifest).plan(0, &wish(&[])).unwrap_err();
    assert_eq!((error.code(), error.params()["check"].as_str()), ("nothing_runs", Some("values")));
    let mut manifest = stack();
    manifest["components"][3]["lane"] = json!("a");
    let document = crate::manifest::parse(manifest.to_string().as_bytes(), Format::Json).unwrap();
    let faults = crate::manifest::lint(&document.manifest, None);
    let told: Vec<_> = faults.iter().map(|fault| (fault.path.as_str(), fault.code)).collect();
    assert_eq!(told, [("/components/3/lane", "duplicate_name")]);
}

/// B-07: devices that no lane claims are those of the first primary component that runs, whatever its condition took away.
#[test]
fn devices_follow_what_runs() {
    let mut manifest = without_lanes();
    manifest["components"][1]["when"] = json!("params.context < 1000");
    let plan = Scene::of(&manifest).plan(0, &Wish { gpu_count: Some(4), ..wish(&[]) }).unwrap();
    assert_eq!(names(&plan), ["gateway", "lane-b"]);
    assert_eq!((plan.components[1].gpus.len(), plan.gpus.len()), (4, 4));
    // An image that is the only one of its component says nothing of devices.
    let same = manifest["artifact_ref"].clone();
    for component in manifest["components"].as_array_mut().unwrap() {
        component.as_object_mut().unwrap().remove("artifact");
        component["image_ref"] = same.clone();
    }
    let wanted = Wanted { wish: Wish { gpu_count: Some(4), ..wish(&[]) }, ..Wanted::default() };
    let (form, _) = Scene::of(&manifest).try_form(&wanted).unwrap();
    let chosen: Vec<_> = form.variants.iter().map(|image| (image.chosen, image.fits)).collect();
    assert_eq!(chosen, [(true, true), (true, true)]);
}

/// B-07, D-10: replicas cannot share devices, so a launch that would let them is refused.
#[test]
fn replicas_get_no_devices() {
    let mut manifest = without_lanes();
    for index in [1, 3] {
        manifest["components"][index]["replicas"] = json!({"default": 2});
    }
    let scene = Scene::of(&manifest);
    let error = scene.plan(0, &Wish { gpu_count: Some(2), ..wish(&[]) }).unwrap_err();
    let told: Vec<_> = error.field_errors().iter().map(|fault| (fault.path.as_str(), fault.code)).collect();
    assert_eq!(told, [("/resources/gpu_count", "out_of_range")]);
}

/// A-17, B-07: the app's own components share what was chosen, add-ons come on top.
#[test]
fn totals_are_shared_by_minima_and_the_rest_goes_to_primary_components() {
    let scene = scene();
    let parts = |wish: &Wish| -> Vec<(String, i64, i64)> {
        let plan = scene.plan(0, wish).unwrap();
        plan.components.iter().map(|one| (one.name.clone(), one.cpu_millis, one.memory_mib)).collect()
    };
    let of = |name: &str, cpu: i64, memory: i64| (name.to_owned(), cpu, memory);
    // 8 vCPU by default are less than the minima of 8.5: what runs decides.
    assert_eq!(
        parts(&wish(&[])),
        [of("gateway", 500, 512), of("lane-a", 4000, 8192), of("lane-b", 4000, 8192)]
    );
    let more = Wish { cpu_millis: Some(10_500), memory_mib: Some(17_000), ..wish(&["metrics"]) };
    assert_eq!(
        parts(&more),
        [
            of("gateway", 500, 512),
            of("lane-a", 5000, 8244),
            of("metrics", 500, 256),
            of("lane-b", 5000, 8244)
        ]
    );
    let less = Wish { cpu_millis: Some(8_400), ..wish(&[]) };
    let error = scene.plan(0, &less).unwrap_err();
    assert_eq!(error.field_errors()[0].path, "/resources/cpu_millis");
    assert_eq!(error.field_errors()[0].message, "The components that run need 8.5 vCPU together.");
}

/// C-04, C-09, U-12: lanes have devices of their own, in the number that the profile or the user says. They are chosen as the
/// allocation's first, second and so on, never by the numbers of devices.
#[test]
fn lanes_get_disjoint_devices() {
    let mut scene = scene();
    for gpu in &mut scene.places[0].gpus {
        gpu.index += 8;
    }
    let plan = scene.plan(0, &wish(&[])).unwrap();
    let sets: Vec<_> = plan.components.iter().map(|one| one.gpus.clone()).collect();
    assert_eq!(sets, [vec![], vec!["GPU-1-0".to_owned(), "GPU-1-1".into()], vec!["GPU-1-2".to_owned()]]);
    let mut wanted = wish(&[]);
    wanted.lanes.insert("a".into(), lane(Some(4), Some(4), None));
    wanted.lanes.insert("b".into(), lane(Some(2), None, Some(vec![5, 1])));
    let plan = scene.plan(0, &wanted).unwrap();
    assert_eq!(plan.components[2].gpus, ["GPU-1-5", "GPU-1-1"]);
    // Packed: of the closest four that are left the first.
    assert_eq!(plan.components[1].gpus, ["GPU-1-0", "GPU-1-2", "GPU-1-3", "GPU-1-4"]);
    assert_eq!((plan.components[1].tensor_parallel, plan.components[2].tensor_parallel), (4, 1));
    let check = plan.checks.iter().find(|check| check.name == CheckName::Gpus).unwrap();
    assert_eq!(check.evidence["slots"], json!({"lane-a": [0, 2, 3, 4], "lane-b": [5, 1]}));
    assert!(
        scene
            .form(&Wanted { wish: wanted, ..Wanted::default() })
            .command
            .contains("--lane a.gpus=4 --lane a.tensor-parallel=4 --lane b.gpus=2 --lane b.slots=5,1")
    );
}

/// C-09: overlaps, totals above the allocation, degrees that do not divide and counts out of bounds are refused, each with
/// a sentence that says what is missing for whom.
#[test]
fn what_cannot_be_bound_is_explained() {
    let scene = scene();
    let refused = |a: LaneWish, b: LaneWish| {
        let mut wanted = wish(&[]);
        wanted.lanes.insert("a".into(), a);
        wanted.lanes.insert("b".into(), b);
        let error = scene.plan(0, &wanted).unwrap_err();
        let field = error.field_errors().first().cloned();
        (
            field.as_ref().map_or(error.code(), |field| field.code),
            field.map_or(error.message().to_owned(), |field| field.message),
        )
    };
    let none = LaneWish::default;
    let overlap = refused(lane(None, None, Some(vec![0, 1])), lane(None, None, Some(vec![1])));
    assert_eq!(overlap, ("lane_overlap", "GPU 1 cannot be bound to the lanes a and b at once.".into()));
    let twice = refused(lane(None, None, Some(vec![3, 3])), none());
    assert_eq!(twice, ("lane_overlap", "GPU 3 is named twice for lane a.".into()));
    let unknown = refused(lane(None, None, Some(vec![0, 9])), none());
    assert_eq!(unknown.0, "unknown_gpu");
    let count = refused(lane(Some(2), None, Some(vec![0])), none());
    assert_eq!(count, ("gpu_total_mismatch", "Lane a has 2 GPUs; name as many.".into()));
    let many = refused(lane(Some(8), Some(8), None), lane(Some(4), Some(4), None));
    let sentence =
        "8 GPUs of the allocation are free, the lanes need 12 (a 8, b 4); stop something or ask for fewer.";
    assert_eq!(many, ("gpu_already_bound", sentence.into()));
    let degree = refused(lane(Some(3), None, None), none());
    assert_eq!(degree.0, "tensor_parallel_mismatch");
    let bounds = refused(lane(Some(9), Some(9), None), none());
    assert_eq!(bounds, ("out_of_range", "This lane takes 1 to 8 GPUs.".into()));
    // Who names them says how many.
    let mut named = wish(&[]);
    named.lanes.insert("b".into(), lane(None, None, Some(vec![6, 7])));
    assert_eq!(scene.plan(0, &named).unwrap().components[2].gpus, ["GPU-1-6", "GPU-1-7"]);
    // What is said of the whole launch holds for its lanes together.
    let mut bounded = stack();
    bounded["resources"]["gpu_count"] = json!({"max": 3});
    let bounded = Scene::of(&bounded);
    bounded.plan(0, &wish(&[])).unwrap();
    let error = bounded.plan(0, &named).unwrap_err();
    let told = &error.field_errors()[0];
    assert_eq!((told.path.as_str(), told.code), ("/resources/gpu_count", "out_of_range"));
    assert!(told.message.ends_with("Its lanes take 4."), "{}", told.message);
    let total = Wish { gpu_count: Some(5), ..wish(&[]) };
    assert_eq!(scene.plan(0, &total).unwrap_err().field_errors()[0].code, "gpu_total_mismatch");
    let busy = {
        let mut scene = self::scene();
        scene.places[0].gpus_in_use = vec![scene.places[0].gpus[1].id];
        let mut wanted = wish(&[]);
        wanted.lanes.insert("b".into(), lane(None, None, Some(vec![1])));
        scene.plan(0, &wanted).unwrap_err()
    };
    assert_eq!((busy.code(), busy.params()["check"].as_str()), ("gpu_already_bound", Some("gpus")));
}

/// C-09: a lane with a memory floor takes devices that have it, and leaves the others to those who can use them.
#[test]
fn a_memory_floor_is_kept() {
    let mut manifest = stack();
    manifest["components"][3]["min_gpu_memory_mib"] = json!(141_000);
    manifest["compatibility"].as_object_mut().unwrap().remove("min_gpu_memory_mib");
    let mut scene = Scene::of(&manifest);
    for gpu in &mut scene.places[0].gpus[..6] {
        gpu.memory_mib = 81_920;
    }
    let plan = scene.plan(0, &wish(&[])).unwrap();
    assert_eq!(plan.components[2].gpus, ["GPU-1-6"]);
    assert_eq!(plan.components[1].gpus, ["GPU-1-0", "GPU-1-1"]);
    let mut wanted = wish(&[]);
    wanted.lanes.insert("b".into(), lane(Some(4), Some(4), None));
    let error = scene.plan(0, &wanted).unwrap_err();
    assert_eq!(error.code(), "gpu_memory_floor");
    assert_eq!(error.message(), "b needs 4 GPUs of at least 141000 MiB each. 2 such are free for it.");
}

/// B-06, H-01: the checks have names and an order, each with what was found; the one that fails is named.
#[test]
fn checks_are_named_and_ordered() {
    let mut scene = scene();
    let plan = scene.plan(0, &wish(&["metrics"])).unwrap();
    let names: Vec<&str> = plan.checks.iter().map(|check| check.name.name()).collect();
    assert_eq!(
        names,
        [
            "entitlement",
            "quota",
            "values",
            "allocation",
            "compatibility",
            "capabilities",
            "gpus",
            "resources",
            "storage",
            "artifacts",
            "exposure",
            "secrets",
            "security",
            "engine"
        ]
    );
    let failed: Vec<_> = plan.checks.iter().filter(|check| !check.passed).map(|check| check.name).collect();
    assert_eq!(failed, [CheckName::Engine], "several components run with the next engine");
    assert_eq!(plan.check_engine().unwrap_err().code(), "engine_not_available");
    let digest = plan.digest();
    scene.places[0].cpu_millis_in_use = 1000;
    let later = scene.plan(0, &wish(&["metrics"])).unwrap();
    assert_ne!(later.checks, plan.checks);
    assert_eq!(later.digest(), digest, "what is free changes no plan");
    scene.quotas = vec![QuotaUse { limit: crate::limit::Limit::Instances, most: 3, used: 3 }];
    let error = scene.plan(0, &wish(&[])).unwrap_err();
    assert_eq!((error.code(), error.params()["check"].as_str()), ("limit_reached", Some("quota")));
}

/// C-07, E-06: each component and add-on has its line, and the form shows what an add-on would take before it is chosen.
#[test]
fn the_quote_has_a_line_for_each_component() {
    let scene = scene();
    let plan = scene.plan(0, &wish(&["dashboards"])).unwrap();
    let hour = plan.quote.allocation_micros_per_hour.expect("the allocation has a price");
    let lines: Vec<_> = plan
        .quote
        .lines
        .iter()
        .map(|line| (line.component.as_str(), line.addon.as_deref(), line.share_micros_per_hour.unwrap()))
        .collect();
    assert_eq!(
        lines,
        [
            ("gateway", None, hour / 64),
            ("lane-a", None, hour / 4),
            ("metrics", Some("metrics"), hour / 64),
            ("lane-b", None, hour / 8),
            ("dashboards", Some("dashboards"), hour / 128),
        ]
    );
    let form = scene.form(&Wanted::default());
    let metrics = &form.addons[0];
    assert!(!metrics.chosen && metrics.fits);
    assert_eq!(
        (metrics.effect.cpu_millis, metrics.effect.memory_mib, metrics.effect.storage_mib),
        (500, 256, 1024)
    );
    assert_eq!(metrics.effect.share.as_ref().unwrap().amount_micros, hour / 64);
    assert_eq!(form.addons[1].requires, ["metrics"]);
    assert!(form.plannable && !form.launchable);
    assert_eq!(
        form.errors.iter().map(|error| error.code.as_str()).collect::<Vec<_>>(),
        ["engine_not_available"]
    );
}

/// C-18, D-01: what each listed engine would take otherwise is told field by field before the launch.
#[test]
fn every_listed_engine_says_what_it_cannot_express() {
    let plan = scene().plan(0, &wish(&["dashboards"])).unwrap();
    let engines: Vec<_> = plan.engines.iter().map(|one| (one.engine, one.renders, one.available)).collect();
    assert_eq!(
        engines,
        [
            (ExecutionEngine::DockerCompose, true, false),
            (ExecutionEngine::Kubernetes, true, false),
            (ExecutionEngine::Helm, true, false),
        ]
    );
    let kubernetes = &plan.engines[1];
    assert!(
        kubernetes.gaps.iter().any(|gap| gap.code == "devices_by_count" && gap.path == "/components/1/gpus")
    );
    assert_eq!(plan.execution_engine, "docker_compose");
    assert_eq!(plan.rendered_digest, plan.engines[0].digest.clone().unwrap());
    // One network for all is Compose's own limit: it is told, and the next engine is taken.
    let mut mixed = stack();
    mixed["components"][1]["egress"] = json!("internet");
    let plan = Scene::of(&mixed).plan(0, &wish(&[])).unwrap();
    assert_eq!((plan.engines[0].renders, plan.execution_engine.as_str()), (false, "kubernetes"));
    assert!(plan.engines[0].gaps.iter().any(|gap| gap.code == "mixed_egress"));
}

/// B-01, C-07: the project's default stands before the site's, and that before the app's; what the profile does not take is
/// no default, and what was chosen stands before all.
#[test]
fn defaults_come_from_project_and_site() {
    let mut scene = scene();
    let map = |value: Value| value.as_object().unwrap().clone();
    scene.defaults = Defaults {
        site: map(json!({"context": 2048, "model": "c/d", "nonsense": 1})),
        project: map(json!({"context": 1024, "model": "no such model", "lanes": 7})),
    };
    let form = scene.form(&Wanted::default());
    assert_eq!((&form.values["context"], &form.values["model"]), (&json!(1024), &json!("c/d")));
    let sources: Vec<_> =
        form.default_sources.iter().map(|(name, source)| (name.as_str(), *source)).collect();
    assert_eq!(
        sources,
        [
            ("context", DefaultSource::Project),
            ("model", DefaultSource::Site),
            ("packages", DefaultSource::App)
        ]
    );
    let back = scene.try_form(&wanting(json!({"context": 4096, "model": "c/d"}))).unwrap().1;
    assert_eq!(
        Value::Object(back.values),
        json!({"context": 4096}),
        "the app's own default is a choice here"
    );
    let given = scene.plan(0, &wanting(json!({"context": 4096})).wish).unwrap();
    assert_eq!((&given.values["context"], &given.values["model"]), (&json!(4096), &json!("c/d")));
}

/// A-09, D-01: a profile can be planned and rendered where there is no platform.
#[test]
fn a_profile_is_planned_without_a_platform() {
    let scene = scene();
    let devices = launch::offline::Devices::of(&scene.manifest);
    let offline = launch::offline::Offline::new(&scene.manifest, &devices);
    let planned = offline.plan(&wish(&["dashboards"])).unwrap();
    assert!(planned.plan.simulated);
    assert_eq!(planned.input.components.len(), 5);
    assert!(planned.plan.engines.iter().all(|engine| engine.renders));
}

/// H-08, H-10: an app that is made to be shared otherwise than by a project is refused, not run otherwise than it expects.
#[test]
fn an_operating_mode_that_no_policy_defines_is_refused() {
    let mut manifest = stack();
    manifest["operation"] = json!({"modes": ["tenant_dedicated", "platform_managed"]});
    let plan = Scene::of(&manifest).plan(0, &wish(&[])).unwrap();
    assert_eq!(
        (plan.operating_mode.name(), plan.control_plane_scope.name()),
        ("tenant_dedicated", "project")
    );
    for operation in [
        json!({"modes": ["platform_managed"], "scope": "platform"}),
        json!({"modes": ["tenant_dedicated"], "scope": "tenant"}),
    ] {
        manifest["operation"] = operation;
        let error = Scene::of(&manifest).plan(0, &wish(&[])).unwrap_err();
        assert_eq!(error.code(), "operation_not_supported");
    }
}

proptest! {
    /// C-09: whatever lanes ask for and whatever is free, either every lane has as many devices as it takes, all its own, free
    /// and large enough, or there is no way to do that.
    #[test]
    fn lanes_share_no_device_and_are_refused_only_where_they_must_be(
        sizes in proptest::collection::vec(prop_oneof![Just(40_000_i64), Just(80_000), Just(143_360)], 8),
        busy in proptest::collection::vec(any::<bool>(), 8),
        counts in (0_u32..5, 0_u32..5),
        floors in (prop_oneof![Just(None), Just(Some(80_000)), Just(Some(100_000))], prop_oneof![Just(None), Just(Some(80_000)), Just(Some(100_000))]),
        intent in prop_oneof![Just("any"), Just("packed"), Just("spread")],
    ) {
        let mut manifest = stack();
        manifest["compatibility"] = json!({"requires_capacity_shape": ["baremetal"], "min_gpu_count": 0});
        manifest["resources"]["gpu_count"] = json!({"default": 0, "min": 0});
        manifest["resources"]["gpu_placement"]["intent"] = json!(intent);
        for (index, count, floor) in [(1, counts.0, floors.0), (3, counts.1, floors.1)] {
            manifest["components"][index]["gpu_count"] = json!({"default": count, "min": 0, "max": 8});
            manifest["components"][index].as_object_mut().unwrap().remove("tensor_parallel");
            if let Some(floor) = floor {
                manifest["components"][index]["min_gpu_memory_mib"] = json!(floor);
            }
        }
        let mut scene = Scene::of(&manifest);
        let place = &mut scene.places[0];
        for (gpu, size) in place.gpus.iter_mut().zip(&sizes) {
            gpu.memory_mib = *size;
        }
        place.gpus_in_use = place.gpus.iter().zip(&busy).filter(|(_, busy)| **busy).map(|(gpu, _)| gpu.id).collect();
        let free: Vec<i64> = sizes.iter().zip(&busy).filter(|(_, busy)| !**busy).map(|(size, _)| *size).collect();
        let of = |floor: Option<i64>| free.iter().filter(|size| **size >= floor.unwrap_or(0)).count();
        let wanted = [(counts.0 as usize, floors.0), (counts.1 as usize, floors.1)];
        // Floors are nested, so it can be done exactly where every floor finds enough for all that need it or more.
        let possible = wanted.iter().all(|(_, floor)| {
            let need: usize = wanted.iter().filter(|(_, other)| other.unwrap_or(0) >= floor.unwrap_or(0)).map(|(count, _)| count).sum();
            need <= of(*floor)
        });
        let planned = scene.plan(0, &wish(&[]));
        prop_assert_eq!(planned.is_ok(), possible, "{:?}", planned.err());
        let Ok(plan) = scene.plan(0, &wish(&[])) else { return Ok(()) };
        let mut seen = std::collections::BTreeSet::new();
        for (index, (count, floor)) in [(1, wanted[0]), (2, wanted[1])] {
            let set = &plan.components[index].gpu_ids;
            prop_assert_eq!(set.len(), count);
            for id in set {
                let gpu = scene.places[0].gpus.iter().find(|gpu| gpu.id == *id).unwrap();
                prop_assert!(seen.insert(*id), "no device twice");
                prop_assert!(gpu.memory_mib >= floor.unwrap_or(0));
                prop_assert!(!scene.places[0].gpus_in_use.contains(id));
            }
        }
    }
}
