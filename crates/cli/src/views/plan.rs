//! A plan as a report: what runs, what it takes, which checks were made, how engines would take it.

use gpuaas_domain::launch::{Plan, PlanCheck, PlannedComponent, PlannedEngine, QuoteLine};
use gpuaas_domain::render::Severity;

use super::form::Table;
use super::{dash, simulated, yes};
use crate::units;

/// Those that have something to show, in the order of reading.
pub(crate) fn tables(plan: &Plan) -> Vec<Table> {
    let several = plan.components.len() > 1;
    let components = plan.components.iter().filter(|_| several).map(|one| component(plan, one));
    let addons = plan.addons.iter().map(|addon| {
        vec![
            addon.name.clone(),
            if addon.brought_by.is_empty() {
                "chosen".to_owned()
            } else {
                format!("with {}", addon.brought_by.join(", "))
            },
            addon.components.join(", "),
            dash(addon.storage_mib.map(|mib| units::mib(i64::from(mib)))),
        ]
    });
    let currency = plan.quote.currency.as_deref();
    let tables: [Table; 6] = [
        (&["COMPONENT", "CLASS", "LANE", "ADD-ON", "CPU", "MEMORY", "GPUS", "AFTER"], components.collect()),
        (&["ADD-ON", "WHY", "COMPONENTS", "STORAGE"], addons.collect()),
        (
            &["COST OF", "GPUS", "CPU", "MEMORY", "PART OF THE ALLOCATION"],
            plan.quote.lines.iter().map(|line| quote(line, currency)).collect(),
        ),
        (&["CHECK", "PASSED", "FOUND"], plan.checks.iter().map(check).collect()),
        (&["ENGINE", "HERE", "RENDERS", "NOTES"], plan.engines.iter().map(engine).collect()),
        (&["ENGINE", "WHERE", "TAKEN OTHERWISE"], plan.engines.iter().flat_map(gaps).collect()),
    ];
    tables.into_iter().filter(|(_, rows)| !rows.is_empty()).collect()
}

fn component(plan: &Plan, one: &PlannedComponent) -> Vec<String> {
    let gpus = match (one.gpus.len(), one.tensor_parallel) {
        (0, _) => "-".to_owned(),
        (_, degree) if degree > 1 => format!("{} (tensor parallel {degree})", one.gpus.join(", ")),
        _ => one.gpus.join(", "),
    };
    let name = if one.replicas > 1 { format!("{} x{}", one.name, one.replicas) } else { one.name.clone() };
    vec![
        name,
        one.class.name().to_owned(),
        dash(one.lane.clone()),
        dash(one.addon.clone()),
        units::cpus(one.cpu_millis),
        units::mib(one.memory_mib),
        simulated(gpus, plan.simulated && !one.gpus.is_empty()),
        if one.depends_on.is_empty() { "-".to_owned() } else { one.depends_on.join(", ") },
    ]
}

fn quote(line: &QuoteLine, currency: Option<&str>) -> Vec<String> {
    let of = match &line.addon {
        Some(addon) => format!("{} ({addon})", line.component),
        None => line.component.clone(),
    };
    let part = line.share_micros_per_hour.zip(currency);
    vec![
        of,
        line.gpu_count.to_string(),
        units::cpus(line.cpu_millis),
        units::mib(line.memory_mib),
        dash(part.map(|(micros, currency)| format!("{} {currency} per hour", units::money(micros)))),
    ]
}

fn check(check: &PlanCheck) -> Vec<String> {
    vec![check.name.name().to_owned(), yes(check.passed), check.message.clone()]
}

fn engine(one: &PlannedEngine) -> Vec<String> {
    vec![one.engine.name().to_owned(), yes(one.available), yes(one.renders), one.gaps.len().to_string()]
}

/// What an engine cannot say at all; what it takes otherwise is in the JSON.
fn gaps(one: &PlannedEngine) -> Vec<Vec<String>> {
    let refused = one.gaps.iter().filter(|gap| gap.severity == Severity::Refuse);
    refused.map(|gap| vec![one.engine.name().to_owned(), gap.path.clone(), gap.message.clone()]).collect()
}
