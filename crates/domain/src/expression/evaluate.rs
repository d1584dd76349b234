//! From a tree and values to a value, within a budget.
//!
//! Nothing is trusted to have been checked: a value that does not fit is a fault with a code, as everything that can go
//! wrong is. Values are borrowed until something new is made of them, so looking at a long list costs no copy.

use std::borrow::Cow;
use std::cmp::Ordering;

use super::budget::Budget;
use super::fault::{Code, Fault, Span};
use super::node::{Function, Kind, Node, Path, Sign};
use super::value::{Lookup, Value};

pub(super) fn evaluate(node: &Node, values: &impl Lookup, budget: &mut Budget) -> Result<Value, Fault> {
    let mut run = Run { values, budget };
    let value = run.node(node)?;
    run.own(value, node.span)
}

fn unfit(span: Span) -> Fault {
    Fault::new(Code::Value, span, "The value here is not of the type that was declared.")
}

struct Run<'v, 'b, L> {
    values: &'v L,
    budget: &'b mut Budget,
}

impl<'v, L: Lookup> Run<'v, '_, L> {
    fn node(&mut self, node: &'v Node) -> Result<Cow<'v, Value>, Fault> {
        let span = node.span;
        self.budget.step(1, span)?;
        match &node.kind {
            Kind::Literal(value) => Ok(Cow::Borrowed(value)),
            Kind::List(items) => self.list(items, span),
            Kind::Name(path) => self.name(path, span),
            Kind::Has(path) => Ok(Cow::Owned(Value::Bool(self.values.look_up(&mut path.names()).is_some()))),
            Kind::Index(of, index) => self.index(of, index, span),
            Kind::Not(of) => Ok(Cow::Owned(Value::Bool(!self.condition(of)?))),
            Kind::Negate(of) => match *self.node(of)? {
                Value::Int(number) => whole(number.checked_neg(), span),
                Value::Double(number) => finite(-number, span),
                _ => Err(unfit(span)),
            },
            Kind::And(left, right) => {
                let both = self.condition(left)? && self.condition(right)?;
                Ok(Cow::Owned(Value::Bool(both)))
            }
            Kind::Or(left, right) => {
                let any = self.condition(left)? || self.condition(right)?;
                Ok(Cow::Owned(Value::Bool(any)))
            }
            Kind::If(condition, yes, no) => {
                if self.condition(condition)? {
                    self.node(yes)
                } else {
                    self.node(no)
                }
            }
            Kind::Binary(sign, left, right) => {
                let (left, right) = (self.node(left)?, self.node(right)?);
                self.binary(*sign, &left, &right, span)
            }
            Kind::Call(function, arguments) => {
                let arguments: Vec<Cow<'v, Value>> =
                    arguments.iter().map(|argument| self.node(argument)).collect::<Result<_, _>>()?;
                let arguments: Vec<&Value> = arguments.iter().map(AsRef::as_ref).collect();
                self.call(*function, &arguments, span)
            }
        }
    }

    fn condition(&mut self, node: &'v Node) -> Result<bool, Fault> {
        match *self.node(node)? {
            Value::Bool(value) => Ok(value),
            _ => Err(unfit(node.span)),
        }
    }

    /// A copy of what was only looked at is something new.
    fn own(&mut self, value: Cow<'_, Value>, span: Span) -> Result<Value, Fault> {
        if let Cow::Borrowed(value) = &value {
            self.budget.produce(value.bytes(), span)?;
        }
        Ok(value.into_owned())
    }

    fn made(&mut self, value: Value, span: Span) -> Result<Cow<'v, Value>, Fault> {
        self.budget.produce(value.bytes(), span)?;
        Ok(Cow::Owned(value))
    }

    fn list(&mut self, items: &'v [Node], span: Span) -> Result<Cow<'v, Value>, Fault> {
        let mut list = Vec::new();
        for item in items {
            let value = self.node(item)?;
            list.push(self.own(value, span)?);
        }
        Ok(Cow::Owned(Value::List(list)))
    }

    fn name(&mut self, path: &Path, span: Span) -> Result<Cow<'v, Value>, Fault> {
        let found = self.values.look_up(&mut path.names());
        found.map(Cow::Borrowed).ok_or_else(|| Fault::new(Code::Value, span, "This has no value here."))
    }

    fn index(&mut self, of: &'v Node, index: &'v Node, span: Span) -> Result<Cow<'v, Value>, Fault> {
        let (list, at) = (self.node(of)?, self.node(index)?);
        let Value::Int(at) = *at else { return Err(unfit(index.span)) };
        let outside = || Fault::new(Code::OutOfRange, index.span, "The list has no entry of this number.");
        let at = usize::try_from(at).map_err(|_| outside())?;
        match list {
            Cow::Borrowed(Value::List(items)) => items.get(at).map(Cow::Borrowed).ok_or_else(outside),
            Cow::Owned(Value::List(items)) => items.into_iter().nth(at).map(Cow::Owned).ok_or_else(outside),
            _ => Err(unfit(span)),
        }
    }

    fn binary(
        &mut self,
        sign: Sign,
        left: &Value,
        right: &Value,
        span: Span,
    ) -> Result<Cow<'v, Value>, Fault> {
        let answer = match sign {
            Sign::Equal => self.equal(left, right, span)?,
            Sign::NotEqual => !self.equal(left, right, span)?,
            Sign::Less => self.order(left, right, span)?.is_lt(),
            Sign::LessOrEqual => self.order(left, right, span)?.is_le(),
            Sign::Greater => self.order(left, right, span)?.is_gt(),
            Sign::GreaterOrEqual => self.order(left, right, span)?.is_ge(),
            Sign::In => {
                let Value::List(items) = right else { return Err(unfit(span)) };
                let mut found = false;
                for item in items {
                    found = self.equal(left, item, span)?;
                    if found {
                        break;
                    }
                }
                found
            }
            Sign::Add | Sign::Subtract | Sign::Multiply | Sign::Divide | Sign::Remainder => {
                return self.arithmetic(sign, left, right, span);
            }
        };
        Ok(Cow::Owned(Value::Bool(answer)))
    }

    fn equal(&mut self, left: &Value, right: &Value, span: Span) -> Result<bool, Fault> {
        match (left, right) {
            (Value::Bool(a), Value::Bool(b)) => Ok(a == b),
            (Value::List(a), Value::List(b)) => {
                if a.len() != b.len() {
                    return Ok(false);
                }
                for (a, b) in a.iter().zip(b) {
                    if !self.equal(a, b, span)? {
                        return Ok(false);
                    }
                }
                Ok(true)
            }
            _ => Ok(self.order(left, right, span)?.is_eq()),
        }
    }

    fn order(&mut self, left: &Value, right: &Value, span: Span) -> Result<Ordering, Fault> {
        self.budget.step(1, span)?;
        match (left, right) {
            (Value::Int(a), Value::Int(b)) => Ok(a.cmp(b)),
            (Value::Double(a), Value::Double(b)) => a.partial_cmp(b).ok_or_else(|| unfit(span)),
            (Value::Int(a), Value::Double(b)) => whole_to_double(*a, *b).ok_or_else(|| unfit(span)),
            (Value::Double(a), Value::Int(b)) => {
                whole_to_double(*b, *a).map(Ordering::reverse).ok_or_else(|| unfit(span))
            }
            (Value::Text(a), Value::Text(b)) => {
                self.budget.read(a.len().min(b.len()), span)?;
                Ok(a.cmp(b))
            }
            _ => Err(unfit(span)),
        }
    }

    fn arithmetic(
        &mut self,
        sign: Sign,
        left: &Value,
        right: &Value,
        span: Span,
    ) -> Result<Cow<'v, Value>, Fault> {
        match (sign, left, right) {
            (Sign::Divide | Sign::Remainder, _, Value::Int(0)) | (Sign::Divide, _, Value::Double(0.0)) => {
                Err(Fault::new(Code::DivisionByZero, span, "This divides by zero."))
            }
            (Sign::Add, Value::Int(a), Value::Int(b)) => whole(a.checked_add(*b), span),
            (Sign::Subtract, Value::Int(a), Value::Int(b)) => whole(a.checked_sub(*b), span),
            (Sign::Multiply, Value::Int(a), Value::Int(b)) => whole(a.checked_mul(*b), span),
            (Sign::Divide, Value::Int(a), Value::Int(b)) => whole(a.checked_div(*b), span),
            (Sign::Remainder, Value::Int(a), Value::Int(b)) => whole(a.checked_rem(*b), span),
            (Sign::Add, Value::Double(a), Value::Double(b)) => finite(a + b, span),
            (Sign::Subtract, Value::Double(a), Value::Double(b)) => finite(a - b, span),
            (Sign::Multiply, Value::Double(a), Value::Double(b)) => finite(a * b, span),
            (Sign::Divide, Value::Double(a), Value::Double(b)) => finite(a / b, span),
            (Sign::Add, Value::Text(a), Value::Text(b)) => {
                self.budget.produce(left.bytes() + b.len(), span)?;
                Ok(Cow::Owned(Value::Text([a.as_str(), b.as_str()].concat())))
            }
            (Sign::Add, Value::List(a), Value::List(b)) => {
                self.budget.produce(left.bytes() + right.bytes(), span)?;
                Ok(Cow::Owned(Value::List(a.iter().chain(b).cloned().collect())))
            }
            _ => Err(unfit(span)),
        }
    }

    fn call(&mut self, function: Function, given: &[&Value], span: Span) -> Result<Cow<'v, Value>, Fault> {
        match (function, given) {
            (Function::Size, [Value::Text(text)]) => {
                self.budget.read(text.len(), span)?;
                whole(i64::try_from(text.chars().count()).ok(), span)
            }
            (Function::Size, [Value::List(items)]) => whole(i64::try_from(items.len()).ok(), span),
            (Function::String, [one]) => {
                let text = one.text().ok_or_else(|| unfit(span))?.into_owned();
                self.made(Value::Text(text), span)
            }
            (Function::Int, [one]) => to_int(one, span),
            (Function::Double, [one]) => to_double(one, span),
            (Function::Min | Function::Max, [a @ (Value::Int(_) | Value::Double(_)), b]) => {
                let first_is_less = self.order(a, b, span)?.is_le();
                let first = first_is_less == (function == Function::Min);
                Ok(Cow::Owned(if first { (*a).clone() } else { (*b).clone() }))
            }
            (
                Function::Contains | Function::StartsWith | Function::EndsWith,
                [Value::Text(text), Value::Text(part)],
            ) => {
                self.budget.read(text.len() + part.len(), span)?;
                let found = match function {
                    Function::StartsWith => text.starts_with(part.as_str()),
                    Function::EndsWith => text.ends_with(part.as_str()),
                    _ => text.contains(part.as_str()),
                };
                Ok(Cow::Owned(Value::Bool(found)))
            }
            (Function::Join, [Value::List(items), Value::Text(between)]) => self.join(items, between, span),
            _ => Err(unfit(span)),
        }
    }

    fn join(&mut self, items: &[Value], between: &str, span: Span) -> Result<Cow<'v, Value>, Fault> {
        self.budget.produce(size_of::<Value>(), span)?;
        let mut joined = String::new();
        for (index, item) in items.iter().enumerate() {
            let text = item.text().ok_or_else(|| unfit(span))?;
            self.budget.step(1, span)?;
            self.budget.produce(text.len() + between.len(), span)?;
            if index > 0 {
                joined.push_str(between);
            }
            joined.push_str(&text);
        }
        Ok(Cow::Owned(Value::Text(joined)))
    }
}

fn whole<'v>(number: Option<i64>, span: Span) -> Result<Cow<'v, Value>, Fault> {
    let number = number.ok_or_else(|| {
        Fault::new(Code::OutOfRange, span, "The result is outside the whole numbers of 64 bits.")
    })?;
    Ok(Cow::Owned(Value::Int(number)))
}

fn finite<'v>(number: f64, span: Span) -> Result<Cow<'v, Value>, Fault> {
    if number.is_finite() {
        return Ok(Cow::Owned(Value::Double(number)));
    }
    Err(Fault::new(Code::NotANumber, span, "The result is no number."))
}

fn no_number(span: Span) -> Fault {
    Fault::new(Code::NotANumber, span, "This text is no number.")
}

/// 2⁶³: the first number above the whole ones, exact as a double.
const ABOVE_WHOLE: f64 = 9_223_372_036_854_775_808.0;

#[expect(clippy::cast_possible_truncation, reason = "the range is checked before")]
fn truncated(number: f64) -> Option<i64> {
    (-ABOVE_WHOLE..ABOVE_WHOLE).contains(&number).then_some(number as i64)
}

fn to_int<'v>(value: &Value, span: Span) -> Result<Cow<'v, Value>, Fault> {
    match value {
        Value::Int(number) => whole(Some(*number), span),
        Value::Double(number) => whole(truncated(*number), span),
        Value::Text(text) => {
            let number = text.parse().map_err(|_| no_number(span))?;
            whole(Some(number), span)
        }
        _ => Err(unfit(span)),
    }
}

#[expect(clippy::cast_precision_loss, reason = "what was asked for; large ones lose their last digits")]
fn to_double<'v>(value: &Value, span: Span) -> Result<Cow<'v, Value>, Fault> {
    match value {
        Value::Int(number) => finite(*number as f64, span),
        Value::Double(number) => finite(*number, span),
        Value::Text(text) => finite(text.parse().map_err(|_| no_number(span))?, span),
        _ => Err(unfit(span)),
    }
}

/// By worth, not by the nearest double: 2⁵³ + 1 is not 2⁵³.
fn whole_to_double(whole: i64, double: f64) -> Option<Ordering> {
    if double.is_nan() {
        return None;
    }
    match truncated(double) {
        None if double < 0.0 => Some(Ordering::Greater),
        None => Some(Ordering::Less),
        Some(part) => Some(whole.cmp(&part).then_with(|| {
            let fraction = double - double.trunc();
            0.0_f64.partial_cmp(&fraction).unwrap_or(Ordering::Equal)
        })),
    }
}
