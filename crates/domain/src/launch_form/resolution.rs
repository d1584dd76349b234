//! What a launch gets for its parameters: which of them it is asked for, what was given, defaults, computed values, rules
//! between them. Form, plan and launch use this one function, so none of them accepts what another refuses (B-01).
//!
//! A parameter whose condition does not hold is hidden: what was given for it is dropped and not kept, and expressions see
//! its default, or nothing. Conditions come first, so each parameter is settled after those it looks at.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use super::values::{MAX_FAULTS, check, pointer};
use crate::FieldError;
use crate::expression::{Budget, Expression, Fault, Value as Known, Values};
use crate::launch::target::Needs;
use crate::manifest::{Manifest, Parameter, ParameterOwner, Rule};
use crate::text::nearest;

/// What a launch gets, and what is wrong with what was given.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Resolved {
    /// What was given and is good, over the defaults. Resolving them again gives the same.
    pub values: Map<String, Value>,
    /// Parameters that this launch is not asked for.
    pub hidden: BTreeSet<String>,
    /// In the order of the names.
    pub faults: Vec<FieldError>,
    /// What expressions see.
    pub known: Values,
}

impl Resolved {
    /// Whether something is wrong with the value of this parameter, or with an entry of it.
    pub fn has_fault(&self, name: &str) -> bool {
        let at = pointer(name);
        self.faults.iter().any(|fault| {
            fault.path.strip_prefix(&at).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        })
    }
}

/// Checks what was given, fills in defaults, computes the rest. The amounts and add-ons are what expressions see of them.
pub fn resolve(
    manifest: &Manifest,
    given: &Map<String, Value>,
    needs: Needs,
    addons: &BTreeSet<&str>,
) -> Resolved {
    let mut work = Work {
        manifest,
        given,
        broken: BTreeSet::new(),
        budget: Budget::default(),
        resolved: Resolved { known: chosen(manifest, needs, addons), ..Resolved::default() },
    };
    for name in order(manifest) {
        work.settle(name, &manifest.parameters[name]);
    }
    work.unknown();
    for rule in manifest.validation.iter().flat_map(|validation| &validation.rules) {
        work.rule(rule);
    }
    let mut resolved = work.resolved;
    resolved.faults.sort_by(|a, b| a.path.cmp(&b.path));
    resolved.faults.truncate(MAX_FAULTS);
    resolved
}

/// The names that do not depend on parameters.
fn chosen(manifest: &Manifest, needs: Needs, addons: &BTreeSet<&str>) -> Values {
    let mut known = Values::default();
    let shared = manifest.resources.as_ref().and_then(|resources| resources.shared_memory_mib);
    let shared = shared.and_then(|range| range.default).map_or(0, |mib| i64::from(mib.0));
    for (name, amount) in [
        ("gpu_count", i64::from(needs.gpu_count)),
        ("cpu_millis", needs.cpu_millis),
        ("memory_mib", needs.memory_mib),
        ("shared_memory_mib", shared.min(needs.memory_mib)),
    ] {
        known.set(&["resources", name], amount);
    }
    for addon in &manifest.addons {
        known.set(&["addons", &addon.name], addons.contains(addon.name.as_str()));
    }
    known
}

/// Each parameter after those that its condition and value look at. What leads back to itself is refused at registration;
/// in a manifest from before that rule it is taken as it comes.
fn order(manifest: &Manifest) -> Vec<&str> {
    fn visit<'m>(
        name: &'m str,
        manifest: &'m Manifest,
        seen: &mut BTreeSet<&'m str>,
        sorted: &mut Vec<&'m str>,
    ) {
        if !seen.insert(name) {
            return;
        }
        let parameter = &manifest.parameters[name];
        for text in parameter.when.iter().chain(&parameter.value) {
            for needed in used(text) {
                if let Some((needed, _)) = manifest.parameters.get_key_value(&needed) {
                    visit(needed, manifest, seen, sorted);
                }
            }
        }
        sorted.push(name);
    }
    let (mut seen, mut sorted) = (BTreeSet::new(), Vec::new());
    for name in manifest.parameters.keys() {
        visit(name, manifest, &mut seen, &mut sorted);
    }
    sorted
}

/// The parameters that an expression looks at.
fn used(text: &str) -> Vec<String> {
    let Ok(expression) = Expression::parse(text) else { return Vec::new() };
    let names = expression.names().into_iter();
    names
        .filter_map(|path| match path[..] {
            ["params", name, ..] => Some(name.to_owned()),
            _ => None,
        })
        .collect()
}

struct Work<'a> {
    manifest: &'a Manifest,
    given: &'a Map<String, Value>,
    /// Parameters with a fault: what looks at them cannot be judged yet, and says nothing.
    broken: BTreeSet<String>,
    budget: Budget,
    resolved: Resolved,
}

impl Work<'_> {
    fn settle(&mut self, name: &str, parameter: &Parameter) {
        let at = pointer(name);
        if parameter.owner == ParameterOwner::Platform && self.given.contains_key(name) {
            let sentence = "The platform computes this value; leave it out.";
            return self.fault(name, vec![FieldError::new(at, "platform_owned", sentence)]);
        }
        let condition = parameter.when.as_ref().map(|when| self.holds(name, when));
        if condition == Some(Some(false)) {
            self.resolved.hidden.insert(name.to_owned());
            return self.see(name, parameter, parameter.default.as_ref());
        }
        let value = match (parameter.owner, &parameter.value) {
            (ParameterOwner::Platform, Some(text)) => match self.evaluate(name, text) {
                Some(value) => Some(value.to_json()),
                None => return,
            },
            (ParameterOwner::Platform, None) => parameter.default.clone(),
            (ParameterOwner::User, _) => self.given.get(name).or(parameter.default.as_ref()).cloned(),
        };
        match value.map(|value| check(&at, parameter, &value)) {
            Some(Ok(value)) => {
                self.see(name, parameter, Some(&value));
                // What is computed is computed again whenever it is needed; nobody could have chosen it.
                if parameter.owner == ParameterOwner::User {
                    self.resolved.values.insert(name.to_owned(), value);
                }
            }
            Some(Err(faults)) => self.fault(name, faults),
            // Whether it is asked for at all must be known first.
            None if parameter.required
                && parameter.owner == ParameterOwner::User
                && condition != Some(None) =>
            {
                self.fault(name, vec![FieldError::new(at, "required", "The app needs this value.")]);
            }
            None => {}
        }
    }

    fn fault(&mut self, name: &str, faults: Vec<FieldError>) {
        self.broken.insert(name.to_owned());
        self.resolved.faults.extend(faults);
    }

    /// From here on expressions see it.
    fn see(&mut self, name: &str, parameter: &Parameter, value: Option<&Value>) {
        if let Some(value) = value.and_then(|value| Known::from_json(value, &parameter.value_type())) {
            self.resolved.known.set(&["params", name], value);
        }
    }

    /// None where it cannot be told, or not yet.
    fn evaluate(&mut self, name: &str, text: &str) -> Option<Known> {
        if used(text).iter().any(|one| self.broken.contains(one)) {
            self.broken.insert(name.to_owned());
            return None;
        }
        let found = Expression::parse(text)
            .and_then(|expression| expression.evaluate(&self.resolved.known, &mut self.budget));
        match found {
            Ok(value) => Some(value),
            Err(fault) => {
                self.fault(name, vec![at_launch(&pointer(name), &fault)]);
                None
            }
        }
    }

    fn holds(&mut self, name: &str, text: &str) -> Option<bool> {
        match self.evaluate(name, text)? {
            Known::Bool(holds) => Some(holds),
            Known::Int(_) | Known::Double(_) | Known::Text(_) | Known::Secret(_) | Known::List(_) => None,
        }
    }

    fn rule(&mut self, rule: &Rule) {
        if used(&rule.rule).iter().any(|one| self.broken.contains(one)) {
            return;
        }
        let at = rule.parameter.as_deref().map_or_else(|| "/values".to_owned(), pointer);
        let found = Expression::parse(&rule.rule)
            .and_then(|expression| expression.evaluate(&self.resolved.known, &mut self.budget));
        match found {
            Ok(Known::Bool(false)) => {
                self.resolved.faults.push(FieldError::new(at, "rule_failed", rule.message.clone()));
            }
            Ok(_) => {}
            Err(fault) => self.resolved.faults.push(at_launch(&at, &fault)),
        }
    }

    fn unknown(&mut self) {
        let known = || self.manifest.parameters.keys().map(String::as_str);
        for name in self.given.keys().filter(|name| !self.manifest.parameters.contains_key(name.as_str())) {
            let hint = nearest(name, known()).map_or(String::new(), |near| format!(" Did you mean {near}?"));
            let sentence = format!("The profile has no such parameter.{hint}");
            self.resolved.faults.push(FieldError::new(pointer(name), "unknown_value", sentence));
            if self.resolved.faults.len() >= MAX_FAULTS {
                break;
            }
        }
    }
}

/// Who launches does not see the expression, so no place in it is named.
fn at_launch(path: &str, fault: &Fault) -> FieldError {
    let sentence = format!("The app cannot compute this from what was chosen: {}", fault.message);
    FieldError::new(path, fault.code.name(), sentence)
}
