//! What a launch gets for its parameters: which of them it is asked for, what was given, defaults, computed values, rules
//! between them. Form, plan and launch use this one function, so none of them accepts what another refuses (B-01).
//!
//! A parameter whose condition does not hold is hidden: what was given for it is dropped and not kept, and expressions see
//! its default, or nothing. Conditions come first, so each parameter is settled after those it looks at.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

use super::values::{MAX_FAULTS, Rules, placed, pointer};
use crate::FieldError;
use crate::expression::{Budget, Expression, Fault, Type, Value as Known, Values};
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

/// Checks what was given, fills in defaults, computes the rest.
pub fn resolve(manifest: &Manifest, given: &Map<String, Value>, needs: Needs) -> Resolved {
    Prepared::of(manifest).resolve(given, needs)
}

/// The parameters of a manifest, made ready for any number of launches: expressions read, patterns compiled, each parameter
/// after those that its condition and value look at. What a version says never changes, so this can be kept beside it.
#[derive(Clone, Debug)]
pub struct Prepared {
    /// In the order in which they are settled.
    steps: Vec<Step>,
    names: BTreeSet<String>,
    rules: Vec<(Rule, Formula)>,
    shared_memory_mib: i64,
    addons: Vec<String>,
}

#[derive(Clone, Debug)]
struct Step {
    name: String,
    owner: ParameterOwner,
    required: bool,
    default: Option<Value>,
    rules: Rules,
    kind: Type,
    when: Option<Formula>,
    value: Option<Formula>,
}

/// An expression as it was read, and the places of the parameters that it looks at among the steps.
#[derive(Clone, Debug)]
struct Formula {
    read: Read,
    uses: Vec<usize>,
}

type Read = Result<Expression, Fault>;

impl Formula {
    fn new(read: Read, places: &BTreeMap<&str, usize>) -> Self {
        let uses = used(&read).into_iter().filter_map(|name| places.get(name).copied()).collect();
        Self { read, uses }
    }
}

/// The parameters that an expression looks at.
fn used(read: &Read) -> Vec<&str> {
    let names = read.iter().flat_map(Expression::names);
    names
        .filter_map(|path| match path[..] {
            ["params", name, ..] => Some(name),
            _ => None,
        })
        .collect()
}

/// A parameter whose expressions were read.
struct Draft<'m> {
    name: &'m str,
    parameter: &'m Parameter,
    when: Option<Read>,
    value: Option<Read>,
}

/// Each parameter after those that its condition and value look at. What leads back to itself is refused at registration;
/// in a manifest from before that rule it is taken as it comes.
fn order(manifest: &Manifest) -> Vec<Draft<'_>> {
    fn visit<'m>(
        name: &'m str,
        manifest: &'m Manifest,
        seen: &mut BTreeSet<&'m str>,
        sorted: &mut Vec<Draft<'m>>,
    ) {
        if !seen.insert(name) {
            return;
        }
        let parameter = &manifest.parameters[name];
        let read = |text: &Option<String>| text.as_deref().map(Expression::parse);
        let draft = Draft { name, parameter, when: read(&parameter.when), value: read(&parameter.value) };
        for needed in draft.when.iter().chain(&draft.value).flat_map(used) {
            if let Some((needed, _)) = manifest.parameters.get_key_value(needed) {
                visit(needed, manifest, seen, sorted);
            }
        }
        sorted.push(draft);
    }
    let (mut seen, mut sorted) = (BTreeSet::new(), Vec::new());
    for name in manifest.parameters.keys() {
        visit(name, manifest, &mut seen, &mut sorted);
    }
    sorted
}

impl Prepared {
    pub fn of(manifest: &Manifest) -> Self {
        let drafts = order(manifest);
        let places: BTreeMap<&str, usize> =
            drafts.iter().enumerate().map(|(place, draft)| (draft.name, place)).collect();
        let formula = |read: Read| Formula::new(read, &places);
        let rules = manifest.validation.iter().flat_map(|validation| &validation.rules);
        let shared = manifest.resources.as_ref().and_then(|resources| resources.shared_memory_mib);
        Self {
            rules: rules.map(|rule| (rule.clone(), formula(Expression::parse(&rule.rule)))).collect(),
            names: manifest.parameters.keys().cloned().collect(),
            shared_memory_mib: shared.and_then(|range| range.default).map_or(0, |mib| i64::from(mib.0)),
            addons: manifest.addons.iter().map(|addon| addon.name.clone()).collect(),
            steps: drafts
                .into_iter()
                .map(|draft| Step {
                    name: draft.name.to_owned(),
                    owner: draft.parameter.owner,
                    required: draft.parameter.required,
                    default: draft.parameter.default.clone(),
                    rules: Rules::of(draft.parameter),
                    kind: draft.parameter.value_type(),
                    when: draft.when.map(formula),
                    value: draft.value.map(formula),
                })
                .collect(),
        }
    }

    /// As the function of the same name.
    pub fn resolve(&self, given: &Map<String, Value>, needs: Needs) -> Resolved {
        let mut work = Work {
            prepared: self,
            given,
            broken: vec![false; self.steps.len()],
            budget: Budget::default(),
            resolved: Resolved { known: self.chosen(needs), ..Resolved::default() },
        };
        for (place, step) in self.steps.iter().enumerate() {
            work.settle(place, step);
        }
        work.unknown();
        for (rule, formula) in &self.rules {
            work.rule(rule, formula);
        }
        let mut resolved = work.resolved;
        resolved.faults.sort_by(|a, b| a.path.cmp(&b.path));
        resolved.faults.truncate(MAX_FAULTS);
        resolved
    }

    /// The names that do not depend on parameters.
    fn chosen(&self, needs: Needs) -> Values {
        let mut known = Values::default();
        for (name, amount) in [
            ("gpu_count", i64::from(needs.gpu_count)),
            ("cpu_millis", needs.cpu_millis),
            ("memory_mib", needs.memory_mib),
            ("shared_memory_mib", self.shared_memory_mib.min(needs.memory_mib)),
        ] {
            known.set(&["resources", name], amount);
        }
        for addon in &self.addons {
            known.set(&["addons", addon], false);
        }
        known
    }
}

struct Work<'a> {
    prepared: &'a Prepared,
    given: &'a Map<String, Value>,
    /// Parameters with a fault, by their places: what looks at them cannot be judged yet, and says nothing.
    broken: Vec<bool>,
    budget: Budget,
    resolved: Resolved,
}

impl<'a> Work<'a> {
    fn settle(&mut self, place: usize, step: &'a Step) {
        let given = self.given.get(&step.name);
        if step.owner == ParameterOwner::Platform && given.is_some() {
            let sentence = "The platform computes this value; leave it out.";
            return self.fault(place, vec![FieldError::new(pointer(&step.name), "platform_owned", sentence)]);
        }
        let condition = step.when.as_ref().map(|when| self.holds(place, step, when));
        if condition == Some(Some(false)) {
            self.resolved.hidden.insert(step.name.clone());
            return self.see(step, step.default.as_ref());
        }
        let computed;
        let value = match (step.owner, &step.value) {
            (ParameterOwner::Platform, Some(formula)) => match self.evaluate(place, step, formula) {
                Some(value) => {
                    computed = value.to_json();
                    Some(&computed)
                }
                None => return,
            },
            (ParameterOwner::Platform, None) => step.default.as_ref(),
            (ParameterOwner::User, _) => given.or(step.default.as_ref()),
        };
        match value.map(|value| step.rules.check(value)) {
            Some(Ok(value)) => {
                self.see(step, Some(&value));
                // What is computed is computed again whenever it is needed; nobody could have chosen it.
                if step.owner == ParameterOwner::User {
                    self.resolved.values.insert(step.name.clone(), value.into_owned());
                }
            }
            Some(Err(refused)) => self.fault(place, placed(&pointer(&step.name), refused)),
            // Whether it is asked for at all must be known first.
            None if step.required && step.owner == ParameterOwner::User && condition != Some(None) => {
                let sentence = "The app needs this value.";
                self.fault(place, vec![FieldError::new(pointer(&step.name), "required", sentence)]);
            }
            None => {}
        }
    }

    fn fault(&mut self, place: usize, faults: Vec<FieldError>) {
        self.broken[place] = true;
        self.resolved.faults.extend(faults);
    }

    /// From here on expressions see it.
    fn see(&mut self, step: &Step, value: Option<&Value>) {
        if let Some(value) = value.and_then(|value| Known::from_json(value, &step.kind)) {
            self.resolved.known.set(&["params", &step.name], value);
        }
    }

    fn is_broken(&self, formula: &Formula) -> bool {
        formula.uses.iter().any(|place| self.broken[*place])
    }

    fn compute(&mut self, formula: &Formula) -> Result<Known, Fault> {
        match &formula.read {
            Ok(expression) => expression.evaluate(&self.resolved.known, &mut self.budget),
            Err(fault) => Err(fault.clone()),
        }
    }

    /// None where it cannot be told, or not yet.
    fn evaluate(&mut self, place: usize, step: &Step, formula: &Formula) -> Option<Known> {
        if self.is_broken(formula) {
            self.broken[place] = true;
            return None;
        }
        match self.compute(formula) {
            Ok(value) => Some(value),
            Err(fault) => {
                self.fault(place, vec![at_launch(&pointer(&step.name), &fault)]);
                None
            }
        }
    }

    fn holds(&mut self, place: usize, step: &Step, formula: &Formula) -> Option<bool> {
        match self.evaluate(place, step, formula)? {
            Known::Bool(holds) => Some(holds),
            Known::Int(_) | Known::Double(_) | Known::Text(_) | Known::Secret(_) | Known::List(_) => None,
        }
    }

    fn rule(&mut self, rule: &Rule, formula: &Formula) {
        if self.is_broken(formula) {
            return;
        }
        let at = || rule.parameter.as_deref().map_or_else(|| "/values".to_owned(), pointer);
        match self.compute(formula) {
            Ok(Known::Bool(false)) => {
                self.resolved.faults.push(FieldError::new(at(), "rule_failed", rule.message.clone()));
            }
            Ok(_) => {}
            Err(fault) => self.resolved.faults.push(at_launch(&at(), &fault)),
        }
    }

    fn unknown(&mut self) {
        let names = &self.prepared.names;
        for name in self.given.keys().filter(|name| !names.contains(*name)) {
            let near = nearest(name, names.iter().map(String::as_str));
            let hint = near.map_or(String::new(), |near| format!(" Did you mean {near}?"));
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
