//! Every expression of a manifest is read and checked here, so that a launch meets none that is wrong.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use super::Faults;
use crate::expression::scan::tokens;
use crate::expression::template::{Raw, split};
use crate::expression::{Code, Expression, Fault, Span, Template, Type, Types};
use crate::manifest::runtime::Container;
use crate::manifest::walk::join;
use crate::manifest::{ChartValue, FieldHint, Manifest, Scope, SmokeTest};

/// The parser is the slowest part of reading a manifest: a name, value or sign takes it some 3 µs, so that all of them take
/// less than 50 ms.
const MAX_EXPRESSIONS: usize = 1024;
const MAX_TOKENS: usize = 8192;
/// Sentences with a guess at what was meant cost time too, and nobody mends more in one go.
const MAX_FAULTS: usize = 50;

pub(super) fn check(manifest: &Manifest, faults: &mut Faults) {
    let mut lint = Lint { faults, expressions: 0, tokens: 0, wrong: 0, full: false };
    let choices = manifest.types(Scope::Choices);
    let uses = lint.parameters(manifest, &choices);
    for (index, rule) in manifest.validation.iter().flat_map(|validation| &validation.rules).enumerate() {
        lint.condition(&format!("/validation/rules/{index}/rule"), &rule.rule, &choices);
    }
    let composition = manifest.types(Scope::Composition);
    for (index, component) in manifest.components.iter().enumerate() {
        if let Some(when) = &component.when {
            lint.condition(&format!("/components/{index}/when"), when, &composition);
        }
    }
    let instance = manifest.types(Scope::Instance);
    for (at, container) in manifest.containers() {
        lint.container(&at, container, &instance);
    }
    for (index, output) in manifest.outputs.iter().flat_map(|outputs| &outputs.commands).enumerate() {
        lint.command(&format!("/outputs/commands/{index}/command"), &output.command, &instance);
    }
    for (index, test) in manifest.validation.iter().flat_map(|validation| &validation.smoke).enumerate() {
        lint.smoke(&format!("/validation/smoke/{index}"), test, &instance);
    }
    for (index, one) in manifest.chart.iter().flat_map(|chart| &chart.set).enumerate() {
        lint.chart_value(&format!("/chart/set/{index}/value"), one, &instance);
    }
    for (name, hint) in manifest.ui_hints.iter().flat_map(|hints| &hints.fields) {
        lint.hint(&join("/ui_hints/fields", name), hint, &choices);
    }
    cycles(&uses, faults);
}

/// Parameters that a field of a parameter looks at, by parameter and field.
type Uses<'m> = BTreeMap<&'m str, Vec<(&'static str, BTreeSet<String>)>>;

struct Lint<'f> {
    faults: &'f mut Faults,
    expressions: usize,
    tokens: usize,
    wrong: usize,
    full: bool,
}

impl Lint<'_> {
    fn fault(&mut self, at: &str, text: &str, fault: &Fault) {
        let field = fault.at(at, text);
        self.faults.add(field.path, field.code, field.message);
        self.wrong += 1;
        self.full |= self.wrong >= MAX_FAULTS;
    }

    fn result<T>(&mut self, at: &str, text: &str, result: Result<T, Fault>) -> Option<T> {
        result.map_err(|fault| self.fault(at, text, &fault)).ok()
    }

    /// Whether one more may be read; says so once if not.
    fn admits(&mut self, tokens: usize) -> bool {
        self.expressions += 1;
        self.tokens += tokens;
        self.full |= self.expressions > MAX_EXPRESSIONS || self.tokens > MAX_TOKENS;
        if self.full {
            let message = format!(
                "The expressions of a manifest are at most {MAX_EXPRESSIONS}, with {MAX_TOKENS} names, values and signs in all."
            );
            self.faults.add("/", Code::TooLarge.name(), message);
        }
        !self.full
    }

    fn expression(&mut self, at: &str, text: &str, types: &Types) -> Option<(Expression, Type)> {
        if self.full {
            return None;
        }
        let tokens = self.result(at, text, tokens(text))?;
        if !self.admits(tokens) {
            return None;
        }
        let read = Expression::parse(text);
        let expression = self.result(at, text, read)?;
        let kind = self.result(at, text, expression.check(types))?;
        Some((expression, kind))
    }

    fn condition(&mut self, at: &str, text: &str, types: &Types) -> Option<Expression> {
        let (expression, kind) = self.expression(at, text, types)?;
        if kind != Type::Bool {
            self.unfit(at, text, &format!("A condition is true or false; this is {}.", kind.name()));
        }
        Some(expression)
    }

    fn unfit(&mut self, at: &str, text: &str, message: &str) {
        let span = Span { start: 0, end: text.len() };
        self.fault(at, text, &Fault { code: Code::Type, span, message: message.to_owned() });
    }

    fn parameters<'m>(&mut self, manifest: &'m Manifest, types: &Types) -> Uses<'m> {
        let mut uses = Uses::new();
        for (name, parameter) in &manifest.parameters {
            let at = join("/parameters", name);
            let mut fields = Vec::new();
            if let Some(text) = &parameter.when
                && let Some(when) = self.condition(&format!("{at}/when"), text, types)
            {
                fields.push(("when", parameters_in(&when)));
            }
            if let Some(text) = &parameter.value {
                let at = format!("{at}/value");
                if let Some((value, kind)) = self.expression(&at, text, types) {
                    let wanted = parameter.value_type();
                    if !kind.fits(&wanted) {
                        let (is, wanted) = (kind.name(), wanted.name());
                        self.unfit(&at, text, &format!("The parameter is {wanted}; this is {is}."));
                    }
                    fields.push(("value", parameters_in(&value)));
                }
            }
            uses.insert(name.as_str(), fields);
        }
        uses
    }

    fn container(&mut self, at: &str, container: Container<'_>, types: &Types) {
        for (index, variable) in container.env.iter().enumerate() {
            if let Some(when) = &variable.when {
                self.condition(&format!("{at}/env/{index}/when"), when, types);
            }
            let at = format!("{at}/env/{index}/value");
            if let Some(kind) = self.template(&at, &variable.value, types)
                && !kind.has_text()
                && kind != Type::Secret
            {
                let message = format!("A variable is text; this is {}. Use join.", kind.name());
                self.unfit(&at, &variable.value, &message);
            }
        }
        self.command(&format!("{at}/command"), container.command, types);
    }

    fn command(&mut self, at: &str, command: &[String], types: &Types) {
        for (index, argument) in command.iter().enumerate() {
            let at = format!("{at}/{index}");
            // Lists hold nothing but what has a text, so every list can be several arguments.
            if self.template(&at, argument, types) == Some(Type::Secret) {
                let message = "No secret stands in a command, where others can read it; use a variable.";
                self.unfit(&at, argument, message);
            }
        }
    }

    fn smoke(&mut self, at: &str, test: &SmokeTest, types: &Types) {
        if let Some(when) = &test.when {
            self.condition(&format!("{at}/when"), when, types);
        }
        self.command(&format!("{at}/check/command"), test.check.command(), types);
        for (field, text) in test.check.texts() {
            let at = format!("{at}/check/{field}");
            match self.template(&at, text, types) {
                Some(Type::Secret) => {
                    self.unfit(&at, text, "No secret stands in a smoke test, whose words are written down.");
                }
                Some(kind) if !kind.has_text() => {
                    let message = format!("This must be text; it is {}. Use join.", kind.name());
                    self.unfit(&at, text, &message);
                }
                Some(_) | None => {}
            }
        }
    }

    /// A chart takes values of every type but secrets: what is rendered is stored and shown.
    fn chart_value(&mut self, at: &str, one: &ChartValue, types: &Types) {
        if let Some(text) = &one.value
            && self.template(at, text, types) == Some(Type::Secret)
        {
            self.unfit(at, text, "No secret is a value of a chart, where others can read it.");
        }
    }

    /// Hints are evaluated where values are chosen, so they see what parameters see.
    fn hint(&mut self, at: &str, hint: &FieldHint, types: &Types) {
        if let Some(when) = &hint.when {
            self.condition(&format!("{at}/when"), when, types);
        }
        for (index, warning) in hint.warnings.iter().enumerate() {
            self.condition(&format!("{at}/warnings/{index}/when"), &warning.when, types);
        }
    }

    /// The type of a text with expressions in it; a text without is not looked at further.
    fn template(&mut self, at: &str, text: &str, types: &Types) -> Option<Type> {
        if self.full {
            return None;
        }
        let pieces = self.result(at, text, split(text))?;
        for piece in &pieces {
            if let Raw::Expression(inner, _) = piece
                && !self.admits(tokens(inner).unwrap_or(0))
            {
                return None;
            }
        }
        let template = self.result(at, text, Template::parse(text))?;
        self.result(at, text, template.check(types))
    }
}

fn parameters_in(expression: &Expression) -> BTreeSet<String> {
    let names = expression.names().into_iter();
    names
        .filter_map(|path| match path[..] {
            ["params", name, ..] => Some(name.to_owned()),
            _ => None,
        })
        .collect()
}

/// A value that waits for itself never comes.
fn cycles(uses: &Uses<'_>, faults: &mut Faults) {
    for (name, fields) in uses {
        for (field, names) in fields {
            if let Some(way) = way_back(uses, name, names) {
                let at = format!("{}/{field}", join("/parameters", name));
                let through = match way.as_slice() {
                    [] => String::new(),
                    way => format!(" through {}", way.join(", ")),
                };
                faults.add(at, "parameter_cycle", format!("The parameter depends on itself{through}."));
            }
        }
    }
}

/// The parameters between this one and itself, by the shortest way, if there is one that begins with `first`.
fn way_back<'a>(uses: &'a Uses<'_>, name: &str, first: &'a BTreeSet<String>) -> Option<Vec<&'a str>> {
    let mut before: BTreeMap<&str, Option<&str>> = first.iter().map(|one| (one.as_str(), None)).collect();
    let mut waiting: VecDeque<&str> = first.iter().map(String::as_str).collect();
    while let Some(here) = waiting.pop_front() {
        if here == name {
            let mut way = Vec::new();
            let mut step = before.get(here).copied().flatten();
            while let Some(one) = step {
                way.push(one);
                step = before.get(one).copied().flatten();
            }
            way.reverse();
            return Some(way);
        }
        for next in uses.get(here).into_iter().flatten().flat_map(|(_, names)| names) {
            if !before.contains_key(next.as_str()) {
                before.insert(next, Some(here));
                waiting.push_back(next);
            }
        }
    }
    None
}
