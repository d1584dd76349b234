//! From the parser's tree to ours, by a list of what is allowed.
//!
//! The parser reads all of CEL; what our tree has no room for is refused here with what to write instead. Its words are
//! not passed on, since they quote the document.

use cel::common::ast::{CallExpr, Expr, IdedExpr, LiteralValue, SelectExpr, SourceInfo, operators};
use cel::parser::{ParseErrors, Parser};

use super::fault::{Code, Fault, Span};
use super::node::{Function, Kind, Node, Path, Sign, Step};
use super::scan;
use super::value::Value;
use crate::text::nearest;

const NO_LOOPS: &str =
    "There are no loops such as map, filter, all or exists; use in, size or join, or a rule for each case.";

/// Reads one expression; the whole text is it.
pub(super) fn parse(text: &str) -> Result<Node, Fault> {
    scan::end(text, 0, false)?;
    match Parser::new().parse_with_source_info(text) {
        Ok((tree, places)) => Lower { text, places }.node(&tree),
        Err(errors) => Err(unreadable(text, &errors)),
    }
}

fn unreadable(text: &str, errors: &ParseErrors) -> Fault {
    // Later ones are echoes of the first; those without a place say nothing.
    let placed = || errors.errors.iter().filter(|error| error.pos.0 > 0);
    let first = placed().find(|error| error.msg.starts_with("Syntax error")).or_else(|| placed().next());
    let start = first.map_or(0, |error| offset(text, error.pos));
    let length = text[start..].chars().next().map_or(0, char::len_utf8);
    let span = Span::new(start, start + length);
    let said = first.map_or("", |error| error.msg.as_str());
    if said.contains("has()") {
        return Fault::new(Code::Syntax, span, "has() takes one name with a point, as in has(params.x).");
    }
    if said.contains("simple name") {
        return Fault::new(Code::NotAllowed, span, NO_LOOPS);
    }
    let message = match (length, said) {
        (0, _) => "The expression ends too early.",
        (_, said) if said.contains("literal") => "This number or text cannot be read.",
        (_, said) if said.contains("reserved") => "This word is reserved and no name.",
        _ => "The expression cannot be read from here on.",
    };
    Fault::new(Code::Syntax, span, message)
}

/// Line and column, both from 1 and the column in characters, as a byte.
fn offset(text: &str, (line, column): (isize, isize)) -> usize {
    let (line, column) = (usize::try_from(line).unwrap_or(1), usize::try_from(column).unwrap_or(1));
    let before: usize =
        text.split_inclusive('\n').take(line.saturating_sub(1)).map(str::len).sum::<usize>().min(text.len());
    let rest = &text[before..];
    rest.char_indices().nth(column.saturating_sub(1)).map_or(text.len(), |(at, _)| before + at)
}

struct Lower<'a> {
    text: &'a str,
    places: SourceInfo,
}

impl Lower<'_> {
    fn node(&self, from: &IdedExpr) -> Result<Node, Fault> {
        let span = self.token(from.id);
        let kind = match &from.expr {
            Expr::Literal(literal) => Kind::Literal(self::literal(literal, span)?),
            Expr::Ident(name) if name.starts_with('.') => {
                return Err(Fault::new(Code::NotAllowed, span, "Names begin without a point."));
            }
            Expr::Ident(name) => Kind::Name(Path { steps: vec![Step { name: name.clone(), span }] }),
            Expr::List(list) => Kind::List(self.nodes(&list.elements)?),
            Expr::Select(select) => return self.select(select, span),
            Expr::Call(call) => return self.call(call, span),
            Expr::Comprehension(_) => return Err(Fault::new(Code::NotAllowed, span, NO_LOOPS)),
            Expr::Map(_) | Expr::Struct(_) => {
                let message = "There are no maps and objects; use a list, or ?: to choose.";
                return Err(Fault::new(Code::NotAllowed, span, message));
            }
            Expr::Unspecified => {
                return Err(Fault::new(Code::Syntax, span, "The expression cannot be read here."));
            }
        };
        Ok(Node { kind, span })
    }

    fn nodes(&self, from: &[IdedExpr]) -> Result<Vec<Node>, Fault> {
        from.iter().map(|one| self.node(one)).collect()
    }

    /// The token that the parser notes for a node; whatever it says, a range of this text.
    fn token(&self, id: u64) -> Span {
        let (start, last) = self.places.offset_for(id).unwrap_or_default();
        let within = |at: u32| {
            let mut at = usize::try_from(at).unwrap_or(usize::MAX).min(self.text.len());
            while !self.text.is_char_boundary(at) {
                at += 1;
            }
            at
        };
        let (start, end) = (within(start), within(last.saturating_add(1)));
        Span::new(start, end.max(start))
    }

    fn select(&self, select: &SelectExpr, token: Span) -> Result<Node, Fault> {
        let operand = self.node(&select.operand)?;
        let Kind::Name(mut path) = operand.kind else {
            let message = "Only names have members, as in params.x.";
            return Err(Fault::new(Code::Type, operand.span, message));
        };
        // Behind `has` the parser notes its bracket, not the point.
        let point = if select.test {
            self.text[operand.span.end..].find('.').map_or(token.start, |at| operand.span.end + at)
        } else {
            token.start
        };
        let rest = self.text.get(point + 1..).unwrap_or_default();
        let start = self.text.len() - rest.trim_start().len();
        let found = self.text[start..].starts_with(&select.field);
        let span = if found { Span::new(start, start + select.field.len()) } else { token };
        path.steps.push(Step { name: select.field.clone(), span });
        let whole = operand.span.with(span);
        let kind = if select.test { Kind::Has(path) } else { Kind::Name(path) };
        Ok(Node { kind, span: whole })
    }

    fn call(&self, call: &CallExpr, token: Span) -> Result<Node, Fault> {
        match (call.func_name.as_str(), call.target.as_deref(), call.args.as_slice()) {
            (operators::CONDITIONAL, None, [condition, yes, no]) => {
                let [condition, yes, no] = [self.boxed(condition)?, self.boxed(yes)?, self.boxed(no)?];
                Ok(Node { kind: Kind::If(condition, yes, no), span: token })
            }
            (operators::LOGICAL_NOT, None, [of]) => {
                Ok(Node { kind: Kind::Not(self.boxed(of)?), span: token })
            }
            (operators::NEGATE, None, [of]) => Ok(Node { kind: Kind::Negate(self.boxed(of)?), span: token }),
            (operators::INDEX, None, [of, index]) => self.index(of, index, token),
            (name, None, [left, right]) if name.starts_with(['_', '@']) => {
                self.binary(name, left, right, token)
            }
            _ => self.function(call, token),
        }
    }

    fn boxed(&self, from: &IdedExpr) -> Result<Box<Node>, Fault> {
        self.node(from).map(Box::new)
    }

    fn index(&self, of: &IdedExpr, index: &IdedExpr, token: Span) -> Result<Node, Fault> {
        let (of, index) = (self.node(of)?, self.node(index)?);
        match (of, index) {
            (
                Node { kind: Kind::Name(mut path), span },
                Node { kind: Kind::Literal(Value::Text(name)), span: at },
            ) => {
                path.steps.push(Step { name, span: at });
                Ok(Node { kind: Kind::Name(path), span: span.with(at) })
            }
            (of, index) => Ok(Node { kind: Kind::Index(Box::new(of), Box::new(index)), span: token }),
        }
    }

    fn binary(&self, name: &str, left: &IdedExpr, right: &IdedExpr, token: Span) -> Result<Node, Fault> {
        let (left, right) = (self.boxed(left)?, self.boxed(right)?);
        let sign = match name {
            operators::LOGICAL_AND => return Ok(Node { kind: Kind::And(left, right), span: token }),
            operators::LOGICAL_OR => return Ok(Node { kind: Kind::Or(left, right), span: token }),
            operators::EQUALS => Sign::Equal,
            operators::NOT_EQUALS => Sign::NotEqual,
            operators::LESS => Sign::Less,
            operators::LESS_EQUALS => Sign::LessOrEqual,
            operators::GREATER => Sign::Greater,
            operators::GREATER_EQUALS => Sign::GreaterOrEqual,
            operators::ADD => Sign::Add,
            operators::SUBSTRACT => Sign::Subtract,
            operators::MULTIPLY => Sign::Multiply,
            operators::DIVIDE => Sign::Divide,
            operators::MODULO => Sign::Remainder,
            operators::IN => Sign::In,
            _ => return Err(Fault::new(Code::NotAllowed, token, "There is no such operator.")),
        };
        Ok(Node { kind: Kind::Binary(sign, left, right), span: token })
    }

    fn function(&self, call: &CallExpr, token: Span) -> Result<Node, Fault> {
        let before = self.text[..token.start].trim_end();
        let name = call.func_name.as_str();
        let span = Span::new(before.len().saturating_sub(name.len()), before.len());
        let span = if before.ends_with(name) { span } else { token };
        let Some(function) = Function::ALL.into_iter().find(|function| function.form().name == name) else {
            return Err(Fault::new(Code::NotAllowed, span, no_function(name)));
        };
        let form = function.form();
        if form.method != call.target.is_some() || form.arguments != call.args.len() {
            return Err(Fault::new(Code::NotAllowed, span, format!("Write it as {}.", form.example)));
        }
        let arguments = call.target.as_deref().into_iter().chain(&call.args);
        let arguments = arguments.map(|argument| self.node(argument)).collect::<Result<_, _>>()?;
        Ok(Node { kind: Kind::Call(function, arguments), span })
    }
}

fn literal(literal: &LiteralValue, span: Span) -> Result<Value, Fault> {
    let no = |message: &str| Err(Fault::new(Code::NotAllowed, span, message));
    match literal {
        LiteralValue::Boolean(value) => Ok(Value::Bool(*value.inner())),
        LiteralValue::Int(value) => Ok(Value::Int(*value.inner())),
        LiteralValue::Double(value) => Ok(Value::Double(*value.inner())),
        LiteralValue::String(text) if text.inner().contains('\0') => {
            no("Text cannot hold the NUL character.")
        }
        LiteralValue::String(text) => Ok(Value::Text(text.inner().to_owned())),
        LiteralValue::Bytes(_) => no("There are no bytes; write text in quotes."),
        LiteralValue::UInt(_) => no("Whole numbers have one kind; write them without u."),
        LiteralValue::Null => no("There is no null; ask has(params.x) whether a value is there."),
    }
}

fn no_function(name: &str) -> String {
    match name {
        "map" | "filter" | "all" | "exists" | "exists_one" | "existsOne" | "sortBy" | "bind" => {
            NO_LOOPS.to_owned()
        }
        "matches" => {
            "There are no regular expressions; use contains, startsWith or endsWith, or the parameter's pattern."
                .to_owned()
        }
        "timestamp" | "duration" => "There are no times; use a whole number of seconds.".to_owned(),
        "uint" | "bytes" | "dyn" | "type" => {
            "There is no such type; use string, int or double to convert.".to_owned()
        }
        _ => {
            let known = Function::ALL.map(|function| function.form().name);
            let hint = Some(name)
                .filter(|name| name.len() <= 40)
                .and_then(|name| nearest(name, known.into_iter().chain(["has"])))
                .map_or(String::new(), |near| format!(" Did you mean {near}?"));
            format!("There is no such function; there are {} and has.{hint}", known.join(", "))
        }
    }
}
