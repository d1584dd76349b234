//! What a launch gets for its parameters: which of them it is asked for, what was given, defaults, computed values, rules
//! between them. Form, plan and launch use this one function, so none of them accepts what another refuses (B-01).
//!
//! A parameter whose condition does not hold is hidden: what was given for it is dropped and not kept, and expressions see
//! its default, or nothing. Conditions come first, so each parameter is settled after those it looks at.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};

use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, Visitor};
use serde_json::{Map, Value};

use super::seen::Seen;
use super::values::{MAX_FAULTS, Rules, placed, pointer};
use crate::FieldError;
use crate::expression::{Budget, Expression, Fault, Lookup, Type, Value as Known, Values};
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
        self.faults_of(name).next().is_some()
    }

    pub(super) fn faults_of(&self, name: &str) -> impl Iterator<Item = &FieldError> {
        let at = pointer(name);
        self.faults.iter().filter(move |fault| {
            fault.path.strip_prefix(&at).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        })
    }
}

/// What was resolved for one request. A form looks at every allocation, and values may take long to judge: those that come to
/// the same are judged once.
#[derive(Debug, Default)]
pub struct Memo(Mutex<Vec<Remembered>>);

#[derive(Debug)]
struct Remembered {
    given: Map<String, Value>,
    needs: Needs,
    addons: Vec<String>,
    resolved: Arc<Resolved>,
}

/// Allocations differ in few ways that values depend on.
const MOST_REMEMBERED: usize = 8;

impl Memo {
    pub(crate) fn of(
        &self,
        prepared: &Prepared,
        given: &Map<String, Value>,
        around: Around<'_>,
    ) -> Arc<Resolved> {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let is_same = |one: &&Remembered| {
            one.needs == around.needs && one.addons == around.addons && one.given == *given
        };
        if let Some(found) = known.iter().find(is_same) {
            return found.resolved.clone();
        }
        let resolved = Arc::new(prepared.resolve(given, around));
        if known.len() < MOST_REMEMBERED {
            let addons = around.addons.iter().map(|name| (*name).to_owned()).collect();
            known.push(Remembered {
                given: given.clone(),
                needs: around.needs,
                addons,
                resolved: resolved.clone(),
            });
        }
        resolved
    }
}

/// What expressions see beside parameters: the amounts that were chosen, and the add-ons that are on.
#[derive(Clone, Copy, Debug, Default)]
pub struct Around<'a> {
    pub needs: Needs,
    pub addons: &'a [&'a str],
}

/// Checks what was given, fills in defaults, computes the rest.
pub fn resolve(manifest: &Manifest, given: &Map<String, Value>, around: Around<'_>) -> Resolved {
    Prepared::of(manifest).resolve(given, around)
}

/// The parameters of a manifest, made ready for any number of launches: expressions read, patterns compiled, each parameter
/// after those that its condition and value look at. What a version says never changes, so this can be kept beside it.
#[derive(Clone, Debug)]
pub struct Prepared {
    /// In the order in which they are settled.
    steps: Vec<Step>,
    /// Names and their places among the steps, in the order of a number made of the name, so that most are found at once.
    places: Vec<(Box<str>, usize)>,
    /// Where the names of a number begin, and of the next.
    begins: Vec<usize>,
    rules: Vec<(Rule, Formula)>,
    /// Whether an expression looks at something else than parameters.
    looks_around: bool,
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
    /// Whether a condition, a value or a rule looks at it.
    is_seen: bool,
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

    fn looks_around(&self) -> bool {
        self.read.iter().flat_map(Expression::names).any(|path| path.first() != Some(&"params"))
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
        let rules: Vec<(Rule, Formula)> =
            rules.map(|rule| (rule.clone(), formula(Expression::parse(&rule.rule)))).collect();
        let shared = manifest.resources.as_ref().and_then(|resources| resources.shared_memory_mib);
        let mut numbered: Vec<(Box<str>, usize)> =
            places.iter().map(|(name, place)| (Box::from(*name), *place)).collect();
        numbered.sort_by_key(|(name, _)| number(name));
        let begin = |wanted: usize| numbered.partition_point(|(name, _)| number(name) < wanted);
        let begins = (0..=NUMBERS).map(begin).collect();
        let mut steps: Vec<Step> = drafts
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
                is_seen: false,
            })
            .collect();
        let formulas = steps.iter().flat_map(|step| step.when.iter().chain(&step.value));
        let formulas: Vec<&Formula> = formulas.chain(rules.iter().map(|(_, formula)| formula)).collect();
        let looks_around = formulas.iter().any(|formula| formula.looks_around());
        let seen: BTreeSet<usize> = formulas.iter().flat_map(|formula| &formula.uses).copied().collect();
        for place in seen {
            steps[place].is_seen = true;
        }
        Self {
            steps,
            places: numbered,
            begins,
            rules,
            looks_around,
            shared_memory_mib: shared.and_then(|range| range.default).map_or(0, |mib| i64::from(mib.0)),
            addons: manifest.addons.iter().map(|addon| addon.name.clone()).collect(),
        }
    }

    /// As the function of the same name.
    pub fn resolve(&self, given: &Map<String, Value>, around: Around<'_>) -> Resolved {
        let strangers = given.keys().filter(|name| self.place(name).is_none());
        let values: Vec<_> = self.steps.iter().map(|step| given.get(&step.name).map(Seen::from)).collect();
        let settled = self.settle(&values, strangers, around, Sight::Whole);
        let mut known = settled.known.around;
        for (step, value) in self.steps.iter().zip(settled.known.parameters) {
            if let Some(value) = value {
                known.set(&["params", &step.name], value);
            }
        }
        let mut values = Map::new();
        let mut hidden = BTreeSet::new();
        let mut others = settled.others.into_iter().peekable();
        for (place, step) in self.steps.iter().enumerate() {
            let other = others.next_if(|(other, _)| *other == place).map(|(_, outcome)| outcome);
            let value = match other.unwrap_or(Outcome::AsGiven) {
                Outcome::Absent => continue,
                Outcome::Hidden => {
                    hidden.insert(step.name.clone());
                    continue;
                }
                Outcome::AsGiven => given.get(&step.name).cloned(),
                Outcome::Default => step.default.clone(),
                Outcome::Changed(value) => Some(value.to_value()),
            };
            values.extend(value.map(|value| (step.name.clone(), value)));
        }
        Resolved { values, hidden, faults: settled.faults, known }
    }

    /// The same for the text of a request, for who wants to know whether it is good and what is kept of it. Nothing is
    /// copied that need not be, so this is several times as fast as reading the text and resolving it.
    pub fn accept<'t>(&self, text: &'t str, around: Around<'_>) -> Result<Accepted<'_, 't>, Vec<FieldError>> {
        let mut given = Given { prepared: self, values: Vec::new(), strangers: BTreeSet::new() };
        given.values.resize_with(self.steps.len(), || None);
        let mut reader = serde_json::Deserializer::from_str(text);
        (&mut given).deserialize(&mut reader).and_then(|()| reader.end()).map_err(|_| {
            vec![FieldError::new("/values", "wrong_type", "Values are an object, written in JSON.")]
        })?;
        let Given { mut values, strangers, .. } = given;
        let settled = self.settle(&values, strangers.iter(), around, Sight::Needed);
        if !settled.faults.is_empty() {
            return Err(settled.faults);
        }
        for (place, outcome) in settled.others {
            match outcome {
                Outcome::AsGiven | Outcome::Default => {}
                Outcome::Absent | Outcome::Hidden => values[place] = Some(Seen::Null),
                Outcome::Changed(kept) => values[place] = Some(kept),
            }
        }
        Ok(Accepted { steps: &self.steps, values })
    }

    #[inline]
    fn place(&self, name: &str) -> Option<usize> {
        let number = number(name);
        let same = &self.places[self.begins[number]..self.begins[number + 1]];
        same.iter().find(|(known, _)| **known == *name).map(|(_, place)| *place)
    }

    fn settle<'a, S: AsRef<str> + 'a>(
        &'a self,
        given: &'a [Option<Seen<'_>>],
        strangers: impl Iterator<Item = &'a S>,
        around: Around<'_>,
        sight: Sight,
    ) -> Settled<'a> {
        let is_seen = sight == Sight::Whole || self.looks_around;
        let mut work = Work {
            prepared: self,
            given,
            sight,
            broken: BTreeSet::new(),
            budget: Budget::default(),
            settled: Settled {
                others: Vec::new(),
                faults: Vec::new(),
                known: Sights {
                    prepared: self,
                    around: if is_seen { self.chosen(around) } else { Values::default() },
                    parameters: vec![None; self.steps.len()],
                },
            },
        };
        for (place, step) in self.steps.iter().enumerate() {
            if work.is_as_given(place, step) {
                continue;
            }
            let outcome = work.settle(place, step);
            work.settled.others.push((place, outcome));
        }
        work.unknown(strangers);
        for (rule, formula) in &self.rules {
            work.rule(rule, formula);
        }
        let mut settled = work.settled;
        settled.faults.sort_by(|a, b| a.path.cmp(&b.path));
        settled.faults.truncate(MAX_FAULTS);
        settled
    }

    /// The names that do not depend on parameters.
    fn chosen(&self, Around { needs, addons }: Around<'_>) -> Values {
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
            known.set(&["addons", addon], addons.contains(&addon.as_str()));
        }
        known
    }
}

const NUMBERS: usize = 256;

/// Made of the length and the last letters, which tell names such as `max_model_len` and `max_num_seqs` apart.
#[inline]
fn number(name: &str) -> usize {
    let letters = name.as_bytes().iter().rev().take(3);
    letters.fold(name.len(), |sum, letter| sum.wrapping_mul(31) + usize::from(*letter)) % NUMBERS
}

/// How much expressions are shown.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Sight {
    /// Everything, for those that come later, in commands and variables.
    Whole,
    /// What those of the parameters look at.
    Needed,
}

/// What became of a parameter.
enum Outcome {
    Absent,
    Hidden,
    AsGiven,
    Default,
    /// Kept otherwise than it was written.
    Changed(Seen<'static>),
}

struct Settled<'a> {
    /// What became of those that are not simply as given, by their places.
    others: Vec<(usize, Outcome)>,
    faults: Vec<FieldError>,
    known: Sights<'a>,
}

/// What expressions see of the parameters so far, and of the rest.
struct Sights<'a> {
    prepared: &'a Prepared,
    around: Values,
    parameters: Vec<Option<Known>>,
}

impl Lookup for Sights<'_> {
    fn look_up(&self, path: &mut dyn Iterator<Item = &str>) -> Option<&Known> {
        match path.next()? {
            "params" => {
                let place = self.prepared.place(path.next()?)?;
                // A parameter has no members.
                if path.next().is_some() { None } else { self.parameters[place].as_ref() }
            }
            group => self.around.find(std::iter::once(group).chain(path)),
        }
    }
}

/// Values that a launch takes, by the names of their parameters.
#[derive(Debug)]
pub struct Accepted<'p, 't> {
    steps: &'p [Step],
    /// Nothing where the default counts, null where there is no value.
    values: Vec<Option<Seen<'t>>>,
}

impl Accepted<'_, '_> {
    /// As they are kept, defaults filled in.
    pub fn to_map(&self) -> Map<String, Value> {
        let kept = self.steps.iter().zip(&self.values).filter_map(|(step, value)| {
            let value = match value {
                None => step.default.clone()?,
                Some(Seen::Null) => return None,
                Some(value) => value.to_value(),
            };
            Some((step.name.clone(), value))
        });
        kept.collect()
    }
}

/// Reads an object into the places of its parameters. Of two values of one name the last counts, as in any map.
struct Given<'p, 't> {
    prepared: &'p Prepared,
    values: Vec<Option<Seen<'t>>>,
    strangers: BTreeSet<String>,
}

impl<'de> DeserializeSeed<'de> for &mut Given<'_, 'de> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for &mut Given<'_, 'de> {
    type Value = ();

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<(), A::Error> {
        while let Some(name) = entries.next_key::<Name<'de>>()? {
            if let Some(place) = self.prepared.place(&name.0) {
                self.values[place] = Some(entries.next_value()?);
            } else {
                entries.next_value::<IgnoredAny>()?;
                self.strangers.insert(name.0.into_owned());
            }
        }
        Ok(())
    }
}

/// Borrowed from the text unless something in it is escaped.
#[derive(Deserialize)]
struct Name<'a>(#[serde(borrow)] Cow<'a, str>);

struct Work<'a, 't> {
    prepared: &'a Prepared,
    given: &'a [Option<Seen<'t>>],
    sight: Sight,
    /// Parameters with a fault, by their places: what looks at them cannot be judged yet, and says nothing.
    broken: BTreeSet<usize>,
    budget: Budget,
    settled: Settled<'a>,
}

impl<'a> Work<'a, '_> {
    /// The short way that most values take: given without a condition, good, and kept as written.
    #[inline]
    fn is_as_given(&mut self, place: usize, step: &'a Step) -> bool {
        let (ParameterOwner::User, None, Some(value)) = (step.owner, &step.when, &self.given[place]) else {
            return false;
        };
        let good = matches!(step.rules.check(value), Ok(None));
        if good {
            self.see(place, step, Some(value));
        }
        good
    }

    fn settle(&mut self, place: usize, step: &'a Step) -> Outcome {
        let given = self.given[place].as_ref();
        if step.owner == ParameterOwner::Platform && given.is_some() {
            let sentence = "The platform computes this value; leave it out.";
            return self.fault(place, vec![FieldError::new(pointer(&step.name), "platform_owned", sentence)]);
        }
        let condition = step.when.as_ref().map(|when| self.holds(place, step, when));
        if condition == Some(Some(false)) {
            self.see(place, step, step.default.as_ref().map(Seen::from).as_ref());
            return Outcome::Hidden;
        }
        let (computed, other);
        let value = match (step.owner, &step.value) {
            (ParameterOwner::Platform, Some(formula)) => match self.evaluate(place, step, formula) {
                Some(value) => {
                    computed = value.to_json();
                    other = Seen::from(&computed);
                    Some(&other)
                }
                None => return Outcome::Absent,
            },
            (ParameterOwner::User, _) if given.is_some() => given,
            _ => match &step.default {
                Some(default) => {
                    other = Seen::from(default);
                    Some(&other)
                }
                None => None,
            },
        };
        match value.map(|value| (value, step.rules.check(value))) {
            Some((value, Ok(kept))) => {
                self.see(place, step, Some(kept.as_ref().unwrap_or(value)));
                match (step.owner, kept) {
                    // What is computed is computed again whenever it is needed; nobody could have chosen it.
                    (ParameterOwner::Platform, _) => Outcome::Absent,
                    (ParameterOwner::User, Some(kept)) => Outcome::Changed(kept),
                    (ParameterOwner::User, None) if given.is_some() => Outcome::AsGiven,
                    (ParameterOwner::User, None) => Outcome::Default,
                }
            }
            Some((_, Err(refused))) => self.fault(place, placed(&pointer(&step.name), refused)),
            // Whether it is asked for at all must be known first.
            None if step.required && step.owner == ParameterOwner::User && condition != Some(None) => {
                let sentence = "The app needs this value.";
                self.fault(place, vec![FieldError::new(pointer(&step.name), "required", sentence)])
            }
            None => Outcome::Absent,
        }
    }

    fn fault(&mut self, place: usize, faults: Vec<FieldError>) -> Outcome {
        self.broken.insert(place);
        self.settled.faults.extend(faults);
        Outcome::Absent
    }

    /// From here on expressions see it.
    #[inline]
    fn see(&mut self, place: usize, step: &Step, value: Option<&Seen<'_>>) {
        if self.sight == Sight::Whole || step.is_seen {
            self.settled.known.parameters[place] = value.and_then(|value| value.to_known(&step.kind));
        }
    }

    fn is_broken(&self, formula: &Formula) -> bool {
        !self.broken.is_empty() && formula.uses.iter().any(|place| self.broken.contains(place))
    }

    fn compute(&mut self, formula: &Formula) -> Result<Known, Fault> {
        match &formula.read {
            Ok(expression) => expression.evaluate(&self.settled.known, &mut self.budget),
            Err(fault) => Err(fault.clone()),
        }
    }

    /// None where it cannot be told, or not yet.
    fn evaluate(&mut self, place: usize, step: &Step, formula: &Formula) -> Option<Known> {
        if self.is_broken(formula) {
            self.broken.insert(place);
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
                self.settled.faults.push(FieldError::new(at(), "rule_failed", rule.message.clone()));
            }
            Ok(_) => {}
            Err(fault) => self.settled.faults.push(at_launch(&at(), &fault)),
        }
    }

    fn unknown<S: AsRef<str> + 'a>(&mut self, strangers: impl Iterator<Item = &'a S>) {
        for name in strangers.map(AsRef::as_ref) {
            let near = nearest(name, self.prepared.steps.iter().map(|step| step.name.as_str()));
            let hint = near.map_or(String::new(), |near| format!(" Did you mean {near}?"));
            let sentence = format!("The profile has no such parameter.{hint}");
            self.settled.faults.push(FieldError::new(pointer(name), "unknown_value", sentence));
            if self.settled.faults.len() >= MAX_FAULTS {
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
