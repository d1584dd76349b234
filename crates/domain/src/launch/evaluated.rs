//! A component with its expressions evaluated: commands and variables hold values from here on, and nothing reads them again.

use crate::expression::{Budget, Expression, Fault, Template, Value, Values};
use crate::manifest::{Component, EnvVar, Manifest};
use crate::node::{GpuDevice, Node};
use crate::{Error, FieldError, Kind, Result};

/// What expressions of a component see beside what was chosen: the place, and the endpoints inside the instance's network.
pub(super) fn placed(
    manifest: &Manifest,
    component: &Component,
    mut known: Values,
    node: &Node,
    gpus: &[&GpuDevice],
) -> Values {
    let first = gpus.first();
    known.set(&["placement", "node_name"], node.name.as_str());
    known.set(&["placement", "accelerator"], first.map_or("", |gpu| gpu.vendor.name()));
    known.set(&["placement", "gpu_model"], first.map_or("", |gpu| gpu.model.as_str()));
    if let Some(lane) = &component.lane {
        let count = i64::try_from(gpus.len()).unwrap_or(i64::MAX);
        let degree = component.tensor_parallel.and_then(|range| range.default).map_or(count, i64::from);
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

/// The component as it runs.
pub(super) fn component(written: &Component, known: &Values) -> Result<Component> {
    let mut work = Work { known, budget: Budget::default() };
    let mut command = Vec::new();
    for (index, argument) in written.command.iter().enumerate() {
        command.extend(work.arguments(argument).map_err(|fault| refusal("command", index, &fault))?);
    }
    let mut env = Vec::new();
    for (index, variable) in written.env.iter().enumerate() {
        let refused = |fault: Fault| refusal("env", index, &fault);
        if let Some(when) = &variable.when
            && !work.holds(when).map_err(refused)?
        {
            continue;
        }
        let value = work.text(&variable.value).map_err(refused)?.ok_or_else(|| {
            Error::new(
                Kind::Unprocessable,
                "secret_not_supported",
                "The app wants a secret of the project in a variable, which this engine cannot give yet; leave it empty.",
            )
            .with_param("variable", variable.name.clone())
        })?;
        env.push(EnvVar { name: variable.name.clone(), value, when: None });
    }
    Ok(Component { command, env, ..written.clone() })
}

struct Work<'v> {
    known: &'v Values,
    budget: Budget,
}

impl Work<'_> {
    fn arguments(&mut self, text: &str) -> std::result::Result<Vec<String>, Fault> {
        Template::parse(text)?.arguments(self.known, &mut self.budget)
    }

    /// None for a secret, which has no text.
    fn text(&mut self, text: &str) -> std::result::Result<Option<String>, Fault> {
        let value = Template::parse(text)?.evaluate(self.known, &mut self.budget)?;
        Ok(value.text().map(std::borrow::Cow::into_owned))
    }

    fn holds(&mut self, text: &str) -> std::result::Result<bool, Fault> {
        let value = Expression::parse(text)?.evaluate(self.known, &mut self.budget)?;
        Ok(value == Value::Bool(true))
    }
}

fn refusal(what: &str, index: usize, fault: &Fault) -> Error {
    let sentence = format!("The app cannot compute its {what} from what was chosen: {}", fault.message);
    let field = FieldError::new(format!("/{what}/{index}"), fault.code.name(), sentence.clone());
    Error::new(Kind::Unprocessable, "expression_failed", sentence).with_fields(vec![field])
}
