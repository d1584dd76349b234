//! Every step of the control plane that can break, broken: it fails, it is late, it is done twice. An instance lives on.

use std::time::Duration;

use gpuaas_api::Route;
use gpuaas_faults::{Action, Faults};
use gpuaas_testkit::{Answer, Ready, SimulatedNode, TestPlatform, both_databases};
use serde_json::Value;

const POINTS: &[&str] = &[
    "launch.plan",
    "api.commit",
    "api.answer",
    "dispatch.sign",
    "dispatch.send",
    "dispatch.note",
    "report.record",
    "upkeep.release",
    "upkeep.node",
    // Broken where volumes are deleted and lost: `volumes.rs`.
    "report.volume",
    "upkeep.volume",
];

/// A careful client: the same key until there is an answer that is none of the server's own faults.
async fn insist(
    p: &TestPlatform,
    key: &str,
    route: Route,
    parameters: &[&str],
    body: Option<&Value>,
) -> Answer {
    let caller = p.admin.clone().with_header("idempotency-key", key);
    for _ in 0..5 {
        let answer = caller.call(route, parameters, body).await;
        if answer.status != 500 {
            return answer;
        }
    }
    panic!("{route:?} fails again and again");
}

/// One whole life, from the launch to the release of its allocation.
async fn live(p: &TestPlatform, ready: &Ready, key: &str) -> String {
    let project = ready.home.project.as_str();
    let id = insist(p, &format!("{key}-create"), Route::InstanceCreate, &[project], Some(&ready.wish()))
        .await
        .expect(202)
        .id();
    ready.reaches(p, &id, "running").await;
    insist(p, &format!("{key}-stop"), Route::InstanceStop, &[project, &id], None).await.expect(202);
    ready.reaches(p, &id, "stopped").await;
    insist(p, &format!("{key}-start"), Route::InstanceStart, &[project, &id], None).await.expect(202);
    ready.reaches(p, &id, "running").await;
    insist(p, &format!("{key}-end"), Route::InstanceDecommission, &[project, &id], None).await.expect(202);
    ready.ended(p, &id).await;
    id
}

/// I1, I2, I3, I5, I9, I11, I12 of the catalogue, as far as there is something to see.
async fn invariants(p: &TestPlatform, node: &SimulatedNode, lives: i64) {
    for (what, sql) in [
        ("GPU holds", "SELECT COUNT(*) FROM gpu_holds WHERE instance_id IS NOT NULL AND released_at IS NULL"),
        ("compute holds", "SELECT COUNT(*) FROM compute_holds WHERE released_at IS NULL"),
        ("runs", "SELECT COUNT(*) FROM usage_intervals WHERE instance_id IS NOT NULL AND ended_at IS NULL"),
        ("orders", "SELECT COUNT(*) FROM node_tasks WHERE state IN ('queued', 'sent')"),
        ("live instances", "SELECT COUNT(*) FROM app_instances WHERE decommissioned_at IS NULL"),
    ] {
        assert_eq!(crate::count(p, sql).await, 0, "{what} left open");
    }
    assert_eq!(
        crate::count(p, "SELECT COUNT(*) FROM app_instances").await,
        lives,
        "nothing is created twice"
    );
    assert_eq!(crate::count(p, "SELECT COUNT(*) FROM receipts WHERE attested").await, lives);
    assert_eq!(
        crate::count(p, "SELECT COUNT(*) FROM usage_intervals WHERE instance_id IS NOT NULL").await,
        lives * 2,
        "two runs each"
    );
    assert_eq!(node.runtime.containers(), 0, "orphans");
    let doubled: Vec<_> = node.runtime.counts().creates.into_iter().filter(|(_, count)| *count > 1).collect();
    assert_eq!(doubled, [], "one container per instance, generation and component");
    p.settle().await;
    let report = p.admin.call(Route::AuditVerify, &[], None).await.expect(200);
    assert_eq!(report.body["ok"], true, "{}", report.text);
}

both_databases! {
    /// C01, C03, H-22: every fault point of the control plane × {error, stall, twice} × {create, stop, start, decommission}.
    async fn no_broken_step_loses_or_doubles_anything(p: TestPlatform) {
        let node = p.node("one").await;
        let ready = p.ready("hello").await;
        let mut lives = 0;
        // Those of the upkeep are met by a release and a drain only, below.
        for point in POINTS.iter().filter(|point| !point.starts_with("upkeep") && !point.ends_with(".volume")) {
            for action in [Action::Error, Action::Twice, Action::Stall(Duration::from_millis(30))] {
                for pass in 1..=4 {
                    // A launch is planned once.
                    if pass > 1 && *point == "launch.plan" {
                        continue;
                    }
                    let faults = Faults::on_pass(point, action, pass);
                    p.plane().break_at(faults.clone());
                    live(&p, &ready, &format!("{point}-{action:?}-{pass}")).await;
                    assert!(faults.spent(), "{point} was not passed {pass} times in one life");
                    lives += 1;
                }
            }
        }
        p.plane().break_at(Faults::none());
        invariants(&p, &node, lives).await;
        // A release under faults.
        for action in [Action::Error, Action::Twice] {
            p.plane().break_at(Faults::at("upkeep.release", action, 1));
            let allocation = p.allocation(&ready.home.project, "hello-sku").await;
            p.admin.call(Route::AllocationRelease, &[&ready.home.project, &allocation], None).await.expect(200);
            p.until("the allocation is released", async || {
                p.admin.call(Route::AllocationGet, &[&ready.home.project, &allocation], None).await.expect(200).body["state"] == "released"
            }).await;
        }
        // A drain under faults.
        for action in [Action::Error, Action::Twice] {
            let id = ready.launch(&p.admin).await.expect(202).id();
            ready.reaches(&p, &id, "running").await;
            p.plane().break_at(Faults::at("upkeep.node", action, 1));
            p.admin.call(Route::NodeDrain, &[&node.id], None).await.expect(200);
            ready.reaches(&p, &id, "stopped").await;
            p.admin.call(Route::NodeUncordon, &[&node.id], None).await.expect(200);
        }
    }
}

/// Q04: no fault point of the control plane is forgotten above.
#[test]
fn every_fault_point_is_walked() {
    let walked: Vec<&str> = POINTS.to_vec();
    for point in gpuaas_faults::points() {
        assert!(
            // Agent and registry walk theirs in tests of their own.
            ["agent.", "registry.", "test."].iter().any(|own| point.starts_with(own))
                || walked.contains(&point),
            "{point} is not in the matrix"
        );
    }
}

both_databases! {
    /// C14 in small: random orders of commands, deaths of the agent and moves of the clock against the laws of the end.
    /// With `--full` many more. The seed is printed; a failing one runs again with `GPUAAS_TEST_SEED`.
    async fn random_walks_end_clean(p: TestPlatform) {
        let (walks, first) = crate::random_walks();
        let mut node = p.node("one").await;
        let ready = p.ready("hello").await;
        let project = ready.home.project.clone();
        for seed in first..first + walks {
            crate::say(&format!("seed {seed}"));
            let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
            let mut next = |bound: u64| {
                state ^= state << 13;
                state ^= state >> 7;
                state ^= state << 17;
                state % bound
            };
            // The last walk may have ended before the agent that it killed was back.
            p.until("the node takes work", async || {
                p.admin.call(Route::NodeGet, &[&node.id], None).await.expect(200).body["ready"] == true
            })
            .await;
            let id = ready.launch(&p.admin).await.expect(202).id();
            for _ in 0..next(8) {
                match next(7) {
                    0 => drop(p.admin.call(Route::InstanceStop, &[&project, &id], None).await),
                    1 => drop(p.admin.call(Route::InstanceStart, &[&project, &id], None).await),
                    2 => {
                        node.kill().await;
                        node.start(Faults::none()).await;
                    }
                    3 => p.settle().await,
                    4 => tokio::time::sleep(Duration::from_millis(next(20))).await,
                    5 => p.plane().break_at(Faults::at(POINTS[usize::try_from(next(7)).unwrap()], Action::Error, 1)),
                    _ => p.clock.advance_seconds(1),
                }
            }
            p.plane().break_at(Faults::none());
            insist(&p, &format!("end-{seed}"), Route::InstanceDecommission, &[&project, &id], None).await.expect(202);
            // Time goes on while it waits, as it does elsewhere: an order that met a dying agent is sent again after a pause.
            let mut looks = 0_u32;
            p.until(&format!("instance {id} is decommissioned"), async || {
                looks += 1;
                if looks.is_multiple_of(50) {
                    p.clock.advance_seconds(1);
                }
                ready.instance(&p.admin, &id).await["decommissioned_at"].is_string()
            })
            .await;
            assert_eq!(node.runtime.containers(), 0, "seed {seed}");
        }
        let open = crate::count(&p, "SELECT COUNT(*) FROM compute_holds WHERE released_at IS NULL").await;
        assert_eq!(open, 0);
    }
}
