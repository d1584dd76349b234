//! A component with its expressions evaluated: commands and variables hold values from here on, and nothing reads them again.

use super::composition::Composition;
use super::report::{CheckName, failed};
use crate::expression::{Budget, Expression, Fault, Template, Value, Values};
use crate::launch_form::values;
use crate::manifest::{Component, EnvVar, Injection, Manifest};
use crate::node::{GpuDevice, Node};
use crate::render::input::{HelmRelease, SecretInput};
use crate::{Error, FieldError, Kind, Result};

/// How a manifest names a secret where a variable's text stands.
const SECRET: &str = "secret://";

/// What expressions of components see beside what was chosen: the place, the lanes, and the endpoints inside the instance's
/// network.
pub(super) fn placed(
    manifest: &Manifest,
    composition: &Composition<'_>,
    bound: &[Vec<&GpuDevice>],
    node: &Node,
) -> Values {
    let mut known = composition.resolved.known.clone();
    let first = bound.iter().flatten().next();
    known.set(&["placement", "node_name"], node.name.as_str());
    known.set(&["placement", "accelerator"], first.map_or("", |gpu| gpu.vendor.name()));
    known.set(&["placement", "gpu_model"], first.map_or("", |gpu| gpu.model.as_str()));
    for (part, gpus) in composition.parts.iter().zip(bound) {
        // A lane that does not run has nothing; it may still be looked at.
        let Some(lane) = &part.component.lane else { continue };
        let count = i64::try_from(gpus.len()).unwrap_or(i64::MAX);
        let degree = if gpus.is_empty() { 0 } else { i64::from(part.tensor_parallel) };
        known.set(&["placement", "lanes", lane, "gpu_count"], count);
        known.set(&["placement", "lanes", lane, "tensor_parallel"], degree);
        let ids: Vec<&str> = gpus.iter().map(|gpu| gpu.device_uuid.as_str()).collect();
        known.set(&["placement", "lanes", lane, "gpus"], ids);
    }
    for endpoint in manifest.named_endpoints() {
        let at = |member| ["endpoints", endpoint.name.as_str(), member];
        known.set(&at("port"), i64::from(endpoint.port));
        known.set(&at("path"), endpoint.path);
        let url = format!("http://{}:{}{}", endpoint.component, endpoint.port, endpoint.path);
        known.set(&at("url"), url.as_str());
    }
    known
}

/// The component as it runs, and the secrets that its variables hold.
pub(super) fn component(written: &Component, known: &Values) -> Result<(Component, Vec<SecretInput>)> {
    let mut work = Work { known, budget: Budget::default() };
    let of = |what: &str| format!("components/{}/{what}", written.name);
    let mut command = Vec::new();
    for (index, argument) in written.command.iter().enumerate() {
        command.extend(work.arguments(argument).map_err(|fault| refusal(&of("command"), index, &fault))?);
    }
    let (mut env, mut secrets) = (Vec::new(), Vec::new());
    for (index, variable) in written.env.iter().enumerate() {
        let refused = |fault: Fault| refusal(&of("env"), index, &fault);
        if let Some(when) = &variable.when
            && !work.holds(when).map_err(refused)?
        {
            continue;
        }
        let name = variable.name.clone();
        // Only what the manifest itself writes names a secret so; a value that somebody chose is text, whatever it says.
        if let Some(secret) = variable.value.strip_prefix(SECRET) {
            secrets.push(SecretInput { name: secret.to_owned(), inject: Injection::Env { name } });
            continue;
        }
        match work.value(&variable.value).map_err(refused)? {
            Value::Secret(secret) => {
                secrets.push(SecretInput { name: secret, inject: Injection::Env { name } });
            }
            value => {
                let value = value.text().unwrap_or_default().into_owned();
                env.push(EnvVar { name, value, when: None });
            }
        }
    }
    Ok((Component { command, env, ..written.clone() }, secrets))
}

/// What the manifest's chart is given, held against its subset, defaults and schema (B-11, D-11).
pub(super) fn release(manifest: &Manifest, known: &Values) -> Result<Option<HelmRelease>> {
    let Some(chart) = &manifest.chart else { return Ok(None) };
    let (values, uncomputed) = chart.values(known);
    if let Some((index, fault)) = uncomputed.first() {
        return Err(failed(CheckName::Values, refusal("chart/set", *index, fault)));
    }
    let mut faults = chart.faults(&values);
    for fault in &mut faults {
        let at = fault.path.trim_end_matches('/').to_owned();
        // Who launches knows parameters, not the chart's values.
        match chart.parameter_at(&at) {
            Some((parameter, rest)) => {
                fault.message = format!("The chart does not take this as {at}: {}", fault.message);
                fault.path = values::pointer(&parameter) + rest;
            }
            None => fault.path = format!("/chart/values{at}"),
        }
    }
    if !faults.is_empty() {
        return Err(failed(CheckName::Values, values::refusal(faults)));
    }
    Ok(Some(HelmRelease { chart: chart.name.clone(), version: chart.version.clone(), values }))
}

struct Work<'v> {
    known: &'v Values,
    budget: Budget,
}

impl Work<'_> {
    fn arguments(&mut self, text: &str) -> std::result::Result<Vec<String>, Fault> {
        Template::parse(text)?.arguments(self.known, &mut self.budget)
    }

    fn value(&mut self, text: &str) -> std::result::Result<Value, Fault> {
        Template::parse(text)?.evaluate(self.known, &mut self.budget)
    }

    fn holds(&mut self, text: &str) -> std::result::Result<bool, Fault> {
        let value = Expression::parse(text)?.evaluate(self.known, &mut self.budget)?;
        Ok(value == Value::Bool(true))
    }
}

fn refusal(what: &str, index: usize, fault: &Fault) -> Error {
    let sentence = format!("The app cannot compute /{what}/{index} from what was chosen: {}", fault.message);
    let field = FieldError::new(format!("/{what}/{index}"), fault.code.name(), sentence.clone());
    Error::new(Kind::Unprocessable, "expression_failed", sentence).with_fields(vec![field])
}
