//! Starting, stopping and ending, and waiting for either.

use gpuaas_api::Route;
use gpuaas_api::identity::Because;
use gpuaas_api::instances::{ForceDecommission, Instance, InstanceDetail, ReceiptView, TimelineEntry};
use gpuaas_domain::ids::{InstanceId, ProjectId};
use gpuaas_domain::lifecycle::Status;

use super::InstanceArg;
use crate::failure::{Exit, Failure, Result};
use crate::json::Raw;
use crate::progress::{self, Standing, WaitArgs};
use crate::session::{Session, parse};
use crate::views::instances::status;
use crate::{terminal, units};

/// What is waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Goal {
    Running,
    Stopped,
    Decommissioned,
}

pub(super) async fn start(session: &Session<'_>, instance: &InstanceArg, wait: &WaitArgs) -> Result<()> {
    let (project, id) = instance.resolve(session).await?;
    let raw: Raw = session.client.call::<(), Raw>(Route::InstanceStart, &[&project, &id], None, None).await?;
    settle(session, &raw, &parse(&raw)?, Goal::Running, wait).await
}

pub(super) async fn stop(
    session: &Session<'_>,
    instance: &InstanceArg,
    reason: Option<String>,
    wait: &WaitArgs,
) -> Result<()> {
    let (project, id) = instance.resolve(session).await?;
    let raw = session.write(Route::InstanceStop, &[&project, &id], &Because { reason }).await?;
    settle(session, &raw, &parse(&raw)?, Goal::Stopped, wait).await
}

pub(super) async fn decommission(
    session: &Session<'_>,
    instance: &InstanceArg,
    reason: Option<String>,
    force: bool,
    wait: &WaitArgs,
) -> Result<()> {
    let (project, id) = instance.resolve(session).await?;
    let name = &instance.instance;
    let raw = if force {
        terminal::confirm(
            session.app,
            &format!(
                "Instance {name} will be ended without asking its node, and nothing will prove that it is gone."
            ),
        )?;
        let body = ForceDecommission { reason: reason.unwrap_or_default() };
        session.write(Route::InstanceForceDecommission, &[&project, &id], &body).await?
    } else {
        terminal::confirm(
            session.app,
            &format!("Instance {name} will be ended for ever, with what it keeps."),
        )?;
        session.write(Route::InstanceDecommission, &[&project, &id], &Because { reason }).await?
    };
    settle(session, &raw, &parse(&raw)?, Goal::Decommissioned, wait).await
}

/// Shows what became of an order: at once, or once its goal is reached.
pub(super) async fn settle(
    session: &Session<'_>,
    raw: &Raw,
    taken: &Instance,
    goal: Goal,
    wait: &WaitArgs,
) -> Result<()> {
    let printer = session.printer();
    let (project, id) = (taken.project_id, taken.id);
    if !wait.waits() {
        printer.facts::<Instance>(raw)?;
        printer
            .note(&format!("Under way. Look with: {}", session.again(&format!("gpuaas instance get {id}"))));
        return Ok(());
    }
    let look = async || {
        let raw = session.read(Route::InstanceGet, &[&project, &id]).await?;
        let detail: InstanceDetail = parse(&raw)?;
        Ok((raw, detail))
    };
    let again = |command: &str| session.again(command);
    let tell = |(_, detail): &(Raw, InstanceDetail)| (line(detail), standing(&detail.instance, goal, &again));
    let how = session.again(&format!("gpuaas instance get {id}"));
    let ((raw, detail), verdict) = progress::follow(printer, wait.timeout, &how, look, tell).await?;
    if verdict.is_ok() || printer.is_json() {
        printer.facts::<InstanceDetail>(&raw)?;
    }
    verdict?;
    let attested = match goal {
        Goal::Decommissioned => is_attested(session, project, id).await,
        Goal::Running | Goal::Stopped => true,
    };
    if attested {
        printer.note(&next(&detail, goal, &again));
    } else {
        let receipt = again(&format!("gpuaas instance receipt {id}"));
        printer.warn(&format!(
            "{} is written off, but nobody looked at its node: {receipt}",
            detail.instance.name
        ));
    }
    Ok(())
}

/// Whether the node itself says that nothing is left. An answer that cannot be had is no proof.
async fn is_attested(session: &Session<'_>, project: ProjectId, id: InstanceId) -> bool {
    let raw = session.read(Route::InstanceReceipt, &[&project, &id]).await;
    raw.and_then(|raw| parse::<ReceiptView>(&raw)).is_ok_and(|kept| kept.receipt.attested)
}

/// Gives a command as it has to be typed for the same project.
type Again<'a> = &'a dyn Fn(&str) -> String;

fn next(detail: &InstanceDetail, goal: Goal, again: Again<'_>) -> String {
    let name = &detail.instance.name;
    match goal {
        Goal::Running if detail.access.endpoints.iter().any(|one| one.url.is_some()) => {
            format!("{name} is running. Open it with: {}", again(&format!("gpuaas open {name}")))
        }
        Goal::Running if detail.access.endpoints.iter().any(|one| one.endpoint.expose != "internal") => {
            format!("{name} is running. Open it with: {}", again(&format!("gpuaas port-forward {name}")))
        }
        Goal::Running => format!("{name} is running."),
        Goal::Stopped => {
            let start = again(&format!("gpuaas instance start {name}"));
            format!("{name} is stopped. Start it again with: {start}")
        }
        Goal::Decommissioned => {
            let receipt = again(&format!("gpuaas instance receipt {}", detail.instance.id));
            format!("{name} is gone. The proof: {receipt}")
        }
    }
}

/// Where an instance is, in one line.
fn line(detail: &InstanceDetail) -> String {
    let instance = &detail.instance;
    let operation =
        instance.current_operation.map_or_else(String::new, |operation| format!(" ({})", operation.name()));
    let waits = matches!(instance.status, Status::Created | Status::Starting | Status::Stopping);
    let last = detail.recent_events.last().filter(|_| waits);
    let news = last.and_then(|entry| pulling(entry).or_else(|| waiting(entry))).unwrap_or_default();
    format!("{}: {}{operation}{news}", instance.name, status(instance))
}

/// What holds it up, if that is what the node said last.
fn waiting(entry: &TimelineEntry) -> Option<String> {
    let said = |name: &str| entry.payload[name].as_str();
    (entry.event_type == "waiting").then_some(())?;
    Some(format!(", waits ({}): {}", said("reason")?, said("detail")?))
}

/// How far a pull is, if that is what happened last.
fn pulling(entry: &TimelineEntry) -> Option<String> {
    if entry.event_type != "pulling" {
        return None;
    }
    let done = entry.payload["done_bytes"].as_u64()?;
    let Some(total) = entry.payload["total_bytes"].as_u64().filter(|total| *total > 0) else {
        return Some(format!(", pulled {}", units::bytes(done)));
    };
    let percent = u128::from(done) * 100 / u128::from(total);
    Some(format!(", pulled {} of {} ({percent} %)", units::bytes(done), units::bytes(total)))
}

fn standing(instance: &Instance, goal: Goal, again: Again<'_>) -> Standing {
    let ended = instance.decommissioned_at.is_some();
    let overtaken = || {
        let message = format!(
            "instance {} is {} instead: somebody, or a deadline, decided otherwise",
            instance.name,
            status(instance)
        );
        Standing::Over(Failure::new(Exit::No, "overtaken", message).fix(look_at(instance, again)))
    };
    match (goal, instance.status) {
        (Goal::Decommissioned, _) if ended => Standing::Reached,
        (_, _) if ended => overtaken(),
        // A failed launch is no obstacle to its end, which is never given up.
        (Goal::Decommissioned, _) => Standing::Going,
        (_, Status::Failed) => Standing::Over(failed(instance, again)),
        (Goal::Running, Status::Running) | (Goal::Stopped, Status::Stopped) => Standing::Reached,
        // Given up for a reason, and stopped to be sure that nothing runs.
        (Goal::Running, Status::Stopped) if instance.failure_reason.is_some() => {
            Standing::Over(failed(instance, again))
        }
        (Goal::Running, Status::Stopped) => overtaken(),
        (Goal::Stopped, Status::Running) if instance.current_operation.is_none() => overtaken(),
        (Goal::Running, Status::Created | Status::Starting | Status::Stopping)
        | (Goal::Stopped, Status::Created | Status::Starting | Status::Running | Status::Stopping) => {
            Standing::Going
        }
    }
}

fn failed(instance: &Instance, again: Again<'_>) -> Failure {
    let reason = instance.failure_reason.map_or("unknown", |reason| reason.name());
    let sentence = instance.failure_message.as_deref().unwrap_or("The platform gave no reason.");
    Failure::new(
        Exit::No,
        "instance_failed",
        format!("instance {} failed ({reason}): {sentence}", instance.name),
    )
    .fix(look_at(instance, again))
}

fn look_at(instance: &Instance, again: Again<'_>) -> String {
    format!(
        "`{}` shows what it wrote, `{}` what happened",
        again(&format!("gpuaas instance logs {}", instance.id)),
        again(&format!("gpuaas instance events {}", instance.id)),
    )
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::tests::samples;

    fn in_lab(command: &str) -> String {
        format!("{command} --project lab")
    }

    fn at(status: &str, operation: Option<&str>) -> Instance {
        let mut value = samples::instance();
        value["status"] = json!(status);
        value["current_operation"] = json!(operation);
        serde_json::from_value(value).unwrap()
    }

    #[test]
    fn waiting_ends_at_the_goal_or_where_it_cannot_be_reached() {
        let word = |instance: &Instance, goal| match standing(instance, goal, &in_lab) {
            Standing::Going => "going".to_owned(),
            Standing::Reached => "reached".to_owned(),
            Standing::Over(failure) => failure.body().unwrap().error.code,
        };
        for (status, operation, goal, expected) in [
            ("created", Some("deploy"), Goal::Running, "going"),
            ("starting", Some("deploy"), Goal::Running, "going"),
            ("running", None, Goal::Running, "reached"),
            ("failed", None, Goal::Running, "instance_failed"),
            ("stopping", Some("stop"), Goal::Running, "going"),
            ("stopped", None, Goal::Running, "overtaken"),
            ("running", Some("stop"), Goal::Stopped, "going"),
            ("stopping", Some("stop"), Goal::Stopped, "going"),
            ("stopped", None, Goal::Stopped, "reached"),
            ("failed", None, Goal::Stopped, "instance_failed"),
            ("running", None, Goal::Stopped, "overtaken"),
            ("stopping", Some("decommission"), Goal::Decommissioned, "going"),
            ("stopped", Some("decommission"), Goal::Decommissioned, "going"),
            ("failed", None, Goal::Decommissioned, "going"),
        ] {
            assert_eq!(word(&at(status, operation), goal), expected, "{status} {operation:?} {goal:?}");
        }
        let mut gone = at("stopped", None);
        gone.decommissioned_at = Some(gone.created_at);
        assert_eq!(word(&gone, Goal::Decommissioned), "reached");
        assert_eq!(word(&gone, Goal::Running), "overtaken");
    }

    #[test]
    fn a_failure_says_why_and_where_to_look() {
        let mut value = samples::instance();
        value["status"] = json!("failed");
        value["failure_reason"] = json!("image_not_found");
        value["failure_message"] = json!("The registry has no image of this digest.");
        let instance: Instance = serde_json::from_value(value).unwrap();
        let failure = failed(&instance, &in_lab);
        assert_eq!(failure.exit_code(), 1);
        assert_eq!(
            failure.body().unwrap().error.message,
            "instance jupyter failed (image_not_found): The registry has no image of this digest."
        );
        assert!(
            failure.hint().unwrap().contains(&format!("gpuaas instance logs {} --project lab", instance.id))
        );
    }

    #[test]
    fn what_a_launch_waits_for_is_told() {
        let mut value = samples::instance_detail();
        value["status"] = json!("starting");
        value["current_operation"] = json!("deploy");
        value["recent_events"] = json!([samples::timeline(
            "pulling",
            &json!({"done_bytes": 1_572_864, "total_bytes": 6_291_456})
        )]);
        let detail: InstanceDetail = serde_json::from_value(value.clone()).unwrap();
        assert_eq!(line(&detail), "jupyter: starting (deploy), pulled 1.5 MiB of 6.0 MiB (25 %)");
        value["recent_events"] =
            json!([samples::timeline("pulling", &json!({"done_bytes": 10, "total_bytes": null}))]);
        let detail: InstanceDetail = serde_json::from_value(value.clone()).unwrap();
        assert_eq!(line(&detail), "jupyter: starting (deploy), pulled 10 B");
        value["recent_events"] = json!([samples::timeline(
            "waiting",
            &json!({"reason": "engine_unavailable", "detail": "Docker does not answer."})
        )]);
        let detail: InstanceDetail = serde_json::from_value(value.clone()).unwrap();
        assert_eq!(
            line(&detail),
            "jupyter: starting (deploy), waits (engine_unavailable): Docker does not answer."
        );
        value["status"] = json!("running");
        value["current_operation"] = json!(null);
        let detail: InstanceDetail = serde_json::from_value(value).unwrap();
        assert_eq!(line(&detail), "jupyter: running");
    }
}
