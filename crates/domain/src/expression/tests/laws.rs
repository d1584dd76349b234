//! Laws that hold for any input.

use std::fmt::Write as _;

use proptest::prelude::*;

use super::*;
use crate::expression::node::{Function, Kind, Node, Path, Sign};

/// The tree as text, every part in brackets.
pub(super) fn print(node: &Node) -> String {
    match &node.kind {
        Kind::Literal(value) => literal(value),
        Kind::List(items) => format!("[{}]", items.iter().map(print).collect::<Vec<_>>().join(", ")),
        Kind::Name(path) => name(path),
        Kind::Has(path) => {
            let names: Vec<&str> = path.names().collect();
            format!("has({})", names.join("."))
        }
        Kind::Index(of, index) => format!("({})[{}]", print(of), print(index)),
        Kind::Not(of) => format!("!({})", print(of)),
        Kind::Negate(of) => format!("-({})", print(of)),
        Kind::And(a, b) => format!("({}) && ({})", print(a), print(b)),
        Kind::Or(a, b) => format!("({}) || ({})", print(a), print(b)),
        Kind::If(a, b, c) => format!("({}) ? ({}) : ({})", print(a), print(b), print(c)),
        Kind::Binary(sign, a, b) => format!("({}) {} ({})", print(a), sign_text(*sign), print(b)),
        Kind::Call(function, arguments) => call(*function, arguments),
    }
}

fn name(path: &Path) -> String {
    let mut names = path.names();
    let root = names.next().unwrap_or_default().to_owned();
    names.fold(root, |text, name| format!("{text}[{}]", literal(&Value::from(name))))
}

fn literal(value: &Value) -> String {
    match value {
        Value::Double(number) => format!("{number:?}"),
        Value::Text(text) => {
            let escaped = text.chars().fold(String::new(), |mut text, c| {
                match c {
                    ' '..='~' if !matches!(c, '\'' | '\\') => text.push(c),
                    c => drop(write!(text, "\\U{:08x}", u32::from(c))),
                }
                text
            });
            format!("'{escaped}'")
        }
        other => other.text().unwrap_or_default().into_owned(),
    }
}

fn sign_text(sign: Sign) -> &'static str {
    match sign {
        Sign::Equal => "==",
        Sign::NotEqual => "!=",
        Sign::Less => "<",
        Sign::LessOrEqual => "<=",
        Sign::Greater => ">",
        Sign::GreaterOrEqual => ">=",
        Sign::Add => "+",
        Sign::Subtract => "-",
        Sign::Multiply => "*",
        Sign::Divide => "/",
        Sign::Remainder => "%",
        Sign::In => "in",
    }
}

fn call(function: Function, arguments: &[Node]) -> String {
    let form = function.form();
    let printed: Vec<String> = arguments.iter().map(print).collect();
    if form.method {
        format!("({}).{}({})", printed[0], form.name, printed[1..].join(", "))
    } else {
        format!("{}({})", form.name, printed.join(", "))
    }
}

fn leaf() -> impl Strategy<Value = String> {
    prop_oneof![
        prop::sample::select(vec![
            "params.model",
            "params.context",
            "params.ratio",
            "params.fast",
            "params.packages",
            "params.ports",
            "params.hub_token",
            "params.note",
            "params.limit",
            "has(params.note)",
            "has(params.limit)",
            "resources.gpu_count",
            "addons['metrics-exporter']",
            "placement.lanes['lane-a'].gpus",
            "endpoints.api.url",
            "true",
            "false",
            "0",
            "1",
            "-1",
            "9223372036854775807",
            "0.0",
            "1.5",
            "1e300",
            "''",
            "'a'",
            "'1'",
            "[]",
            "params",
            "nowhere.x",
        ])
        .prop_map(str::to_owned),
        any::<i64>().prop_map(|number| number.to_string()),
        any::<f64>()
            .prop_filter("finite", |number| number.is_finite())
            .prop_map(|number| format!("{number:?}")),
        "[a-z}${]{0,4}".prop_map(|text| format!("'{text}'")),
    ]
}

/// Expressions of any type, some of them wrong; more often right than a random text would be.
fn any_expression() -> impl Strategy<Value = String> {
    leaf().prop_recursive(6, 40, 4, |inner| {
        let sign = prop::sample::select(vec![
            "+", "-", "*", "/", "%", "==", "!=", "<", "<=", ">", ">=", "in", "&&", "||",
        ]);
        let one = prop::sample::select(vec!["size", "string", "int", "double"]);
        let two = prop::sample::select(vec!["min", "max"]);
        let method = prop::sample::select(vec!["contains", "startsWith", "endsWith", "join"]);
        prop_oneof![
            4 => (inner.clone(), sign, inner.clone()).prop_map(|(a, sign, b)| format!("({a} {sign} {b})")),
            2 => (inner.clone(), inner.clone(), inner.clone()).prop_map(|(a, b, c)| format!("({a} ? {b} : {c})")),
            1 => inner.clone().prop_map(|a| format!("!({a})")),
            1 => inner.clone().prop_map(|a| format!("-({a})")),
            1 => (one, inner.clone()).prop_map(|(name, a)| format!("{name}({a})")),
            1 => (two, inner.clone(), inner.clone()).prop_map(|(name, a, b)| format!("{name}({a}, {b})")),
            1 => (inner.clone(), method, inner.clone()).prop_map(|(a, name, b)| format!("({a}).{name}({b})")),
            1 => (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("({a})[{b}]")),
            1 => prop::collection::vec(inner, 0..4).prop_map(|items| format!("[{}]", items.join(", "))),
        ]
    })
}

/// Expressions that are right by construction, so that every operator is reached with values that fit.
fn typed(kind: &Type, depth: u32) -> BoxedStrategy<String> {
    let pick = |all: &[&str]| {
        prop::sample::select(all.iter().map(|&one| one.to_owned()).collect::<Vec<_>>()).boxed()
    };
    let leaf = match kind {
        Type::Bool => pick(&["params.fast", "addons.metrics", "true", "false", "has(params.note)"]),
        Type::Int => prop_oneof![
            pick(&["params.context", "resources.gpu_count", "0", "1", "-1", "9223372036854775807"]),
            any::<i64>().prop_map(|number| number.to_string()),
            Just("(has(params.limit) ? params.limit : 0)".to_owned()),
        ]
        .boxed(),
        Type::Double => pick(&["params.ratio", "0.0", "1.5", "-1e300", "1e308", "double(params.context)"]),
        Type::Text => pick(&["params.model", "'a'", "''", "'12'", "(has(params.note) ? params.note : 'x')"]),
        Type::List(item) if **item == Type::Int => pick(&["params.ports", "[]", "[1, 2]"]),
        _ => pick(&["params.packages", "placement.lanes['lane-a'].gpus", "[]", "['a']"]),
    };
    if depth == 0 {
        return leaf;
    }
    let of = |kind: Type| typed(&kind, depth - 1);
    let texts = || of(Type::list(Type::Text));
    let ints = || of(Type::list(Type::Int));
    let choice = (of(Type::Bool), typed(kind, depth - 1), typed(kind, depth - 1))
        .prop_map(|(a, b, c)| format!("({a} ? {b} : {c})"));
    let more = match kind {
        Type::Bool => {
            let order = || pick(&["==", "!=", "<", "<=", ">", ">="]);
            let number = || prop_oneof![of(Type::Int), of(Type::Double)];
            let part = pick(&["contains", "startsWith", "endsWith"]);
            prop_oneof![
                (number(), order(), number()).prop_map(|(a, sign, b)| format!("({a} {sign} {b})")),
                (of(Type::Text), order(), of(Type::Text))
                    .prop_map(|(a, sign, b)| format!("({a} {sign} {b})")),
                (of(Type::Bool), pick(&["&&", "||"]), of(Type::Bool))
                    .prop_map(|(a, s, b)| format!("({a} {s} {b})")),
                of(Type::Bool).prop_map(|a| format!("!({a})")),
                (of(Type::Text), texts()).prop_map(|(a, b)| format!("({a} in {b})")),
                (number(), ints()).prop_map(|(a, b)| format!("({a} in {b})")),
                (of(Type::Text), part, of(Type::Text)).prop_map(|(a, name, b)| format!("({a}).{name}({b})")),
                (texts(), texts()).prop_map(|(a, b)| format!("({a} == {b})")),
                of(Type::Int).prop_map(|a| format!("(has(params.limit) && params.limit < {a})")),
            ]
            .boxed()
        }
        Type::Int => prop_oneof![
            (of(Type::Int), pick(&["+", "-", "*", "/", "%"]), of(Type::Int))
                .prop_map(|(a, sign, b)| format!("({a} {sign} {b})")),
            (pick(&["min", "max"]), of(Type::Int), of(Type::Int))
                .prop_map(|(f, a, b)| format!("{f}({a}, {b})")),
            of(Type::Int).prop_map(|a| format!("-({a})")),
            prop_oneof![of(Type::Text), texts(), ints()].prop_map(|a| format!("size({a})")),
            prop_oneof![of(Type::Text), of(Type::Double)].prop_map(|a| format!("int({a})")),
            of(Type::Int).prop_map(|at| format!("params.ports[{at}]")),
        ]
        .boxed(),
        Type::Double => prop_oneof![
            (of(Type::Double), pick(&["+", "-", "*", "/"]), of(Type::Double))
                .prop_map(|(a, sign, b)| format!("({a} {sign} {b})")),
            prop_oneof![of(Type::Text), of(Type::Int)].prop_map(|a| format!("double({a})")),
        ]
        .boxed(),
        Type::Text => prop_oneof![
            (of(Type::Text), of(Type::Text)).prop_map(|(a, b)| format!("({a} + {b})")),
            prop_oneof![of(Type::Int), of(Type::Double), of(Type::Bool)].prop_map(|a| format!("string({a})")),
            (prop_oneof![texts(), ints()], of(Type::Text)).prop_map(|(a, b)| format!("({a}).join({b})")),
            (texts(), of(Type::Int)).prop_map(|(a, at)| format!("({a} + ['z'])[{at}]")),
        ]
        .boxed(),
        other => (typed(other, depth - 1), typed(other, depth - 1))
            .prop_map(|(a, b)| format!("({a} + {b})"))
            .boxed(),
    };
    prop_oneof![1 => leaf, 1 => choice, 3 => more].boxed()
}

fn any_typed() -> impl Strategy<Value = (Type, String)> {
    let kinds =
        [Type::Bool, Type::Int, Type::Double, Type::Text, Type::list(Type::Text), Type::list(Type::Int)];
    prop::sample::select(kinds.to_vec()).prop_flat_map(|kind| (Just(kind.clone()), typed(&kind, 3)))
}

/// Values of the declared types, the optional ones at random there or not.
fn any_values() -> impl Strategy<Value = Values> {
    let texts = || prop::collection::vec("[a-z0-9 ${}]{0,6}", 0..4);
    let ints = prop::collection::vec(any::<i64>(), 0..4);
    let finite = any::<f64>().prop_filter("finite", |number| number.is_finite());
    let optional = (prop::option::of("\\PC{0,6}"), prop::option::of(any::<i64>()));
    ("\\PC{0,8}", any::<i64>(), finite, any::<bool>(), texts(), ints, optional).prop_map(
        |(model, context, ratio, fast, packages, ports, (note, limit))| {
            let mut values = values();
            let packages: Vec<Value> = packages.into_iter().map(Value::Text).collect();
            let ports: Vec<Value> = ports.into_iter().map(Value::Int).collect();
            values.set(&["params", "model"], Value::Text(model));
            values.set(&["params", "context"], context);
            values.set(&["params", "ratio"], Value::Double(ratio));
            values.set(&["params", "fast"], fast);
            values.set(&["params", "packages"], Value::List(packages));
            values.set(&["params", "ports"], Value::List(ports));
            values.remove(&["params", "limit"]);
            if let Some(note) = note {
                values.set(&["params", "note"], Value::Text(note));
            }
            if let Some(limit) = limit {
                values.set(&["params", "limit"], limit);
            }
            values
        },
    )
}

/// What was checked meets only faults that depend on numbers and sizes.
fn sound(text: &str, values: &Values) -> Result<(), TestCaseError> {
    let Ok(expression) = Expression::parse(text) else { return Ok(()) };
    let Ok(kind) = expression.check(&types()) else { return Ok(()) };
    let mut budget = Budget::default();
    match expression.evaluate(values, &mut budget) {
        Ok(value) => prop_assert!(value.is_of(&kind), "{text} is {value:?}, not {}", kind.name()),
        Err(fault) => prop_assert!(
            matches!(
                fault.code,
                Code::DivisionByZero | Code::OutOfRange | Code::NotANumber | Code::LimitExceeded
            ),
            "{text}: {fault:?}"
        ),
    }
    prop_assert!(budget.steps_used() <= MAX_STEPS && budget.bytes_used() <= MAX_PRODUCED_BYTES);
    Ok(())
}

proptest! {
    /// whatever was checked does at a launch what it promised.
    #[test]
    fn checked_expressions_do_not_fail_by_type(text in any_expression(), values in any_values()) {
        sound(&text, &values)?;
    }

    /// The same for expressions that are right by construction: these must pass the check.
    #[test]
    fn right_expressions_pass_and_keep_their_type((kind, text) in any_typed(), values in any_values()) {
        match Expression::parse(&text) {
            Ok(expression) => {
                let found = expression.check(&types());
                prop_assert!(found.as_ref().is_ok_and(|found| found.fits(&kind)), "{text}: {found:?}");
                sound(&text, &values)?;
            }
            Err(fault) => prop_assert_eq!(fault.code, Code::TooLarge, "{}: {:?}", text, fault),
        }
    }

    /// What is read can be written and read again, and is the same.
    #[test]
    fn reading_and_writing_are_each_others_reverse(text in any_expression()) {
        if let Ok(first) = Expression::parse(&text) {
            let printed = print(&first.root);
            match Expression::parse(&printed) {
                Ok(second) => prop_assert_eq!(print(&second.root), printed),
                // Brackets around everything may be more than is read.
                Err(fault) => prop_assert_eq!(fault.code, Code::TooLarge, "{}", printed),
            }
        }
    }

    /// every fault is a range of the text that a caller can underline.
    #[test]
    fn any_text_is_read_or_refused_with_a_place(text in "\\PC{0,60}") {
        if let Err(fault) = judge(&text) {
            prop_assert!(text.get(fault.span.start..fault.span.end).is_some(), "{fault:?}");
        }
        if let Err(fault) = Template::parse(&text).and_then(|template| template.check(&types())) {
            prop_assert!(text.get(fault.span.start..fault.span.end).is_some(), "{fault:?}");
        }
    }

    #[test]
    fn any_text_of_the_alphabet_is_read_or_refused(
        text in "[-a-c0-2.'\"\\\\()\\[\\]{}?:,!&|<>=+*/% $`é\n]{0,40}",
    ) {
        for text in [text.clone(), format!("${{{text}}}"), format!("x ${{{text}}} y")] {
            fuzz_one(text.as_bytes());
            for fault in [judge(&text).err(), Template::parse(&text).err()].into_iter().flatten() {
                prop_assert!(text.get(fault.span.start..fault.span.end).is_some(), "{fault:?}");
            }
        }
    }

    #[test]
    fn any_mix_of_words_is_read_or_refused(
        words in prop::collection::vec(prop::sample::select(vec![
            "params", ".", "x", "n", "l", "(", ")", "[", "]", "{", "}", "${", "$", "?", ":", "&&", "||", "!", "-", "+",
            "*", "/", "%", "==", "<", "in", " ", ",", "has", "size", "'", "\"", "'a'", "1", "1.5", "join", "true",
            "null", "all", "//", "r'", "0x", "1u", "\\", "é",
        ]), 0..40),
    ) {
        fuzz_one(words.concat().as_bytes());
    }

    #[test]
    fn any_bytes_are_survived(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        fuzz_one(&bytes);
    }

    /// B-05: text around expressions comes out as it went in, and a value in it as it is.
    #[test]
    fn plain_text_stays_as_it_is(before in "[^$]{0,20}", value in "\\PC{0,20}", after in "[^$]{0,20}") {
        let mut values = Values::default();
        values.set(&["params", "x"], Value::Text(value.clone()));
        let template = Template::parse(&format!("{before}|${{params.x}}|{after}$${{y}}")).unwrap();
        let made = template.evaluate(&values, &mut Budget::default());
        prop_assert_eq!(made, Ok(Value::Text(format!("{before}|{value}|{after}${{y}}"))));
    }
}
