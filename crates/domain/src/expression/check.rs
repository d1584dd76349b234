//! Types of an expression against the names of its place.
//!
//! Law: what passes here and is evaluated over values of the declared types can divide by zero, leave a range or exceed a
//! limit, and can fail in no other way. Names that may be absent are followed through `has()`: behind a test that
//! succeeded they count as present.

use super::fault::{Code, Fault, Span};
use super::names::Names;
use super::node::{Function, Kind, Node, Path, Sign};
use super::types::{Member, Type, Types};
use super::value::Value;
use crate::text::nearest;

/// Names that are known to be present.
type Present<'n> = Vec<&'n Path>;

/// A type, and what is known where the value turns out true or false.
struct Typed<'n> {
    kind: Type,
    if_true: Present<'n>,
    if_false: Present<'n>,
}

impl Typed<'_> {
    fn plain(kind: Type) -> Self {
        Self { kind, if_true: Vec::new(), if_false: Vec::new() }
    }
}

pub(super) fn check(node: &Node, types: &Types) -> Result<Type, Fault> {
    Check { types }.node(node, &[]).map(|typed| typed.kind)
}

fn wrong(span: Span, message: impl Into<String>) -> Fault {
    Fault::new(Code::Type, span, message)
}

struct Check<'t> {
    types: &'t Types,
}

impl Check<'_> {
    fn node<'n>(&self, node: &'n Node, present: &[&'n Path]) -> Result<Typed<'n>, Fault> {
        match &node.kind {
            Kind::Literal(value) => Ok(Typed::plain(literal(value))),
            Kind::List(items) => self.list(items, present).map(Typed::plain),
            Kind::Name(path) => self.name(path, node.span, present).map(Typed::plain),
            Kind::Has(path) => {
                self.find(path)?;
                Ok(Typed { kind: Type::Bool, if_true: vec![path], if_false: Vec::new() })
            }
            Kind::Index(of, index) => self.index(of, index, node.span, present).map(Typed::plain),
            Kind::Not(of) => {
                let of = self.condition(of, present)?;
                Ok(Typed { kind: Type::Bool, if_true: of.if_false, if_false: of.if_true })
            }
            Kind::Negate(of) => {
                let kind = self.node(of, present)?.kind;
                if !kind.is_number() {
                    return Err(wrong(node.span, format!("- needs a number; this is {}.", kind.name())));
                }
                Ok(Typed::plain(kind))
            }
            Kind::And(left, right) => {
                let left = self.condition(left, present)?;
                let right = self.condition(right, &together(present, &left.if_true))?;
                let if_true = together(&left.if_true, &right.if_true);
                Ok(Typed { kind: Type::Bool, if_true, if_false: shared(&left.if_false, &right.if_false) })
            }
            Kind::Or(left, right) => {
                let left = self.condition(left, present)?;
                let right = self.condition(right, &together(present, &left.if_false))?;
                let if_false = together(&left.if_false, &right.if_false);
                Ok(Typed { kind: Type::Bool, if_true: shared(&left.if_true, &right.if_true), if_false })
            }
            Kind::If(condition, yes, no) => self.choice(condition, yes, no, node.span, present),
            Kind::Binary(sign, left, right) => {
                let (left, right) = (self.node(left, present)?.kind, self.node(right, present)?.kind);
                binary(*sign, &left, &right, node.span).map(Typed::plain)
            }
            Kind::Call(function, arguments) => {
                let kinds: Vec<Type> = arguments
                    .iter()
                    .map(|argument| Ok(self.node(argument, present)?.kind))
                    .collect::<Result<_, Fault>>()?;
                call(*function, &kinds, node.span).map(Typed::plain)
            }
        }
    }

    fn condition<'n>(&self, node: &'n Node, present: &[&'n Path]) -> Result<Typed<'n>, Fault> {
        let typed = self.node(node, present)?;
        if typed.kind == Type::Bool {
            return Ok(typed);
        }
        Err(wrong(node.span, format!("This must be true or false; it is {}.", typed.kind.name())))
    }

    fn list<'n>(&self, items: &'n [Node], present: &[&'n Path]) -> Result<Type, Fault> {
        let mut of = Type::Nothing;
        for item in items {
            let kind = self.node(item, present)?.kind;
            if !kind.has_text() {
                let message =
                    format!("A list holds texts, numbers or true and false; this is {}.", kind.name());
                return Err(wrong(item.span, message));
            }
            of = of.common(&kind).ok_or_else(|| {
                let message =
                    format!("The entries of a list are of one type: {}, {}.", of.name(), kind.name());
                wrong(item.span, message)
            })?;
        }
        Ok(Type::list(of))
    }

    fn name<'n>(&self, path: &'n Path, span: Span, present: &[&'n Path]) -> Result<Type, Fault> {
        let member = self.find(path)?;
        if member.optional && !present.iter().any(|known| known.names().eq(path.names())) {
            return Err(wrong(
                span,
                "This may have no value. Ask first, as in has(params.x) ? params.x : '', or give it a default.",
            ));
        }
        Ok(member.kind.clone())
    }

    fn find(&self, path: &Path) -> Result<&Member, Fault> {
        let mut here = &self.types.names;
        for (depth, step) in path.steps.iter().enumerate() {
            let known = path.names().take(depth + 1);
            if let Some((_, sentence)) = self
                .types
                .elsewhere
                .iter()
                .find(|(names, _)| known.clone().eq(names.iter().map(String::as_str)))
            {
                return Err(Fault::new(Code::NotAllowed, step.span, *sentence));
            }
            if let Some(Member { kind, .. }) = &here.value {
                return Err(wrong(step.span, format!("This has no members; it is {}.", kind.name())));
            }
            here = here.members.get(&step.name).ok_or_else(|| unknown(&step.name, depth, here, step.span))?;
        }
        here.value.as_ref().ok_or_else(|| {
            let span = path.steps.last().map_or_else(Span::default, |step| step.span);
            let known: Vec<&str> = here.members.keys().map(String::as_str).take(SHOWN).collect();
            let of = if known.is_empty() {
                "; there are none".to_owned()
            } else {
                format!(": {}", known.join(", "))
            };
            wrong(span, format!("This is a group of names, not a value; name one of them{of}."))
        })
    }

    fn index<'n>(
        &self,
        of: &'n Node,
        index: &'n Node,
        span: Span,
        present: &[&'n Path],
    ) -> Result<Type, Fault> {
        if let Kind::Name(path) = &of.kind
            && self.is_group(path)
        {
            let message = "Write the name out, as in addons[\"the-name\"]; it cannot be computed.";
            return Err(Fault::new(Code::NotAllowed, index.span, message));
        }
        let (of, at) = (self.node(of, present)?.kind, self.node(index, present)?.kind);
        match (of, at) {
            (Type::List(item), Type::Int) if *item == Type::Nothing => {
                Err(wrong(span, "This list has no entries."))
            }
            (Type::List(item), Type::Int) => Ok(*item),
            (Type::List(_), at) => Err(wrong(
                index.span,
                format!("An entry is chosen by a whole number; this is {}.", at.name()),
            )),
            (of, _) => Err(wrong(span, format!("Only lists have entries; this is {}.", of.name()))),
        }
    }

    fn is_group(&self, path: &Path) -> bool {
        let mut here = Some(&self.types.names);
        for name in path.names() {
            here = here.and_then(|group| group.members.get(name));
        }
        here.is_some_and(|found| found.value.is_none())
    }

    fn choice<'n>(
        &self,
        condition: &'n Node,
        yes: &'n Node,
        no: &'n Node,
        span: Span,
        present: &[&'n Path],
    ) -> Result<Typed<'n>, Fault> {
        let condition = self.condition(condition, present)?;
        let yes = self.node(yes, &together(present, &condition.if_true))?;
        let no = self.node(no, &together(present, &condition.if_false))?;
        let kind = yes.kind.common(&no.kind).ok_or_else(|| {
            let advice = match (yes.kind.is_number(), no.kind.is_number()) {
                (true, true) => " Convert one with double(x).",
                _ => "",
            };
            let (yes, no) = (yes.kind.name(), no.kind.name());
            wrong(span, format!("Both values of ?: are of one type; these are {yes} and {no}.{advice}"))
        })?;
        // Whichever way it went, the condition went that way too; only what both know is kept.
        let if_true =
            shared(&together(&condition.if_true, &yes.if_true), &together(&condition.if_false, &no.if_true));
        let if_false = shared(
            &together(&condition.if_true, &yes.if_false),
            &together(&condition.if_false, &no.if_false),
        );
        Ok(Typed { kind, if_true, if_false })
    }
}

const SHOWN: usize = 12;

fn unknown(name: &str, depth: usize, group: &Names<Member>, span: Span) -> Fault {
    let known = || group.members.keys().map(String::as_str);
    let hint = Some(name)
        .filter(|name| name.len() <= 40)
        .and_then(|name| nearest(name, known()))
        .map_or(String::new(), |near| format!(" Did you mean {near}?"));
    let listed: Vec<&str> = known().take(SHOWN).collect();
    let more = if group.members.len() > SHOWN { ", …" } else { "" };
    let there = match (depth, listed.is_empty()) {
        (_, true) => "there are none".to_owned(),
        (0, false) => format!("expressions here begin with {}{more}", listed.join(", ")),
        (_, false) => format!("there are {}{more}", listed.join(", ")),
    };
    Fault::new(Code::UnknownName, span, format!("There is no such name; {there}.{hint}"))
}

fn together<'n>(a: &[&'n Path], b: &[&'n Path]) -> Present<'n> {
    a.iter().chain(b).copied().collect()
}

fn shared<'n>(a: &[&'n Path], b: &[&'n Path]) -> Present<'n> {
    a.iter().filter(|one| b.iter().any(|other| other.names().eq(one.names()))).copied().collect()
}

fn literal(value: &Value) -> Type {
    match value {
        Value::Bool(_) => Type::Bool,
        Value::Int(_) => Type::Int,
        Value::Double(_) => Type::Double,
        Value::Text(_) => Type::Text,
        Value::Secret(_) => Type::Secret,
        Value::List(items) => Type::list(items.first().map_or(Type::Nothing, literal)),
    }
}

fn secret(span: Span) -> Fault {
    wrong(span, "The name of a secret can only be handed on whole: no comparing, joining or converting.")
}

fn binary(sign: Sign, left: &Type, right: &Type, span: Span) -> Result<Type, Fault> {
    if *left == Type::Secret || *right == Type::Secret {
        return Err(secret(span));
    }
    let both = || format!("these are {} and {}", left.name(), right.name());
    match sign {
        Sign::Equal | Sign::NotEqual if left.compares_with(right) => Ok(Type::Bool),
        Sign::Equal | Sign::NotEqual => {
            Err(wrong(span, format!("Only values of one type can be equal; {}.", both())))
        }
        Sign::Less | Sign::LessOrEqual | Sign::Greater | Sign::GreaterOrEqual => {
            let good = left.is_number() && right.is_number() || *left == Type::Text && *right == Type::Text;
            if good {
                Ok(Type::Bool)
            } else {
                Err(wrong(span, format!("Numbers or texts have an order; {}.", both())))
            }
        }
        Sign::In => match right {
            Type::List(item) if left.compares_with(item) && !matches!(left, Type::List(_)) => Ok(Type::Bool),
            Type::List(_) => Err(wrong(span, format!("No entry can be equal to this; {}.", both()))),
            _ => Err(wrong(
                span,
                format!("in looks into a list; for a part of a text use contains; {}.", both()),
            )),
        },
        Sign::Remainder => match (left, right) {
            (Type::Int, Type::Int) => Ok(Type::Int),
            _ => Err(wrong(span, format!("% needs whole numbers; {}.", both()))),
        },
        Sign::Add => match (left, right) {
            (Type::Text, Type::Text) => Ok(Type::Text),
            (Type::Text, other) | (other, Type::Text) if other.has_text() => Err(wrong(
                span,
                format!("Text is put together with text; convert with string(x); {}.", both()),
            )),
            (Type::List(_), Type::List(_)) => left
                .common(right)
                .ok_or_else(|| wrong(span, format!("Both lists hold one type; {}.", both()))),
            _ => number(left, right, span, "+ needs numbers, texts or lists"),
        },
        Sign::Subtract | Sign::Multiply | Sign::Divide => number(left, right, span, "This needs numbers"),
    }
}

fn number(left: &Type, right: &Type, span: Span, what: &str) -> Result<Type, Fault> {
    if left.is_number() && left == right {
        return Ok(left.clone());
    }
    let advice =
        if left.is_number() && right.is_number() { " Convert one with double(x) or int(x)." } else { "" };
    Err(wrong(span, format!("{what} of one type; these are {} and {}.{advice}", left.name(), right.name())))
}

fn call(function: Function, arguments: &[Type], span: Span) -> Result<Type, Fault> {
    if arguments.contains(&Type::Secret) {
        return Err(secret(span));
    }
    let result = match (function, arguments) {
        (Function::Size, [Type::Text | Type::List(_)])
        | (Function::Int, [Type::Int | Type::Double | Type::Text]) => Some(Type::Int),
        (Function::Double, [Type::Int | Type::Double | Type::Text]) => Some(Type::Double),
        (Function::String, [one]) if one.has_text() => Some(Type::Text),
        (Function::Join, [Type::List(_), Type::Text]) => Some(Type::Text),
        (Function::Min | Function::Max, [a, b]) if a.is_number() && a == b => Some(a.clone()),
        (Function::Contains | Function::StartsWith | Function::EndsWith, [Type::Text, Type::Text]) => {
            Some(Type::Bool)
        }
        _ => None,
    };
    result.ok_or_else(|| {
        let given: Vec<String> = arguments.iter().map(Type::name).collect();
        let (example, needed) = (function.form().example, needs(function));
        wrong(span, format!("{example} needs {needed}; given is {}.", given.join(" and ")))
    })
}

fn needs(function: Function) -> &'static str {
    match function {
        Function::Size => "text or a list",
        Function::String => "text, a number or true and false (for a list use join)",
        Function::Int | Function::Double => "a number or text",
        Function::Min | Function::Max => "two numbers of one type",
        Function::Contains => "two texts (for a list use x in list)",
        Function::StartsWith | Function::EndsWith => "two texts",
        Function::Join => "a list and a text",
    }
}
