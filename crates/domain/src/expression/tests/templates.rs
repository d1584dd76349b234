use super::*;

fn text_of(text: &str) -> Result<Value, Fault> {
    let template = Template::parse(text)?;
    template.check(&types())?;
    template.evaluate(&values(), &mut Budget::default())
}

fn arguments_of(text: &str) -> Vec<String> {
    Template::parse(text).unwrap().arguments(&values(), &mut Budget::default()).unwrap()
}

/// A-16, B-05: pieces are put together as text; a lone expression keeps its value.
#[test]
fn a_text_takes_values_in() {
    for (text, expected) in [
        ("", Value::from("")),
        ("plain", Value::from("plain")),
        ("--model=${params.model}", Value::from("--model=a/b")),
        ("${params.model}:${params.context}", Value::from("a/b:4096")),
        ("${params.ratio} ${params.fast}", Value::from("0.5 true")),
        ("${params.context}", Value::Int(4096)),
        ("${ params.context }", Value::Int(4096)),
        (" ${params.context}", Value::from(" 4096")),
        ("${params.packages}", Value::from(vec!["numpy", "torch"])),
        ("${params.hub_token}", Value::Secret("hub".to_owned())),
        // Braces and quotes in the expression's own texts.
        ("${'}'}", Value::from("}")),
        ("a${\"}\" + '\\'}'}b", Value::from("a}'}b")),
        ("${'${params.model}'}", Value::from("${params.model}")),
        // Dollars that are themselves.
        ("$${params.model}", Value::from("${params.model}")),
        ("$$${params.model}", Value::from("$${params.model}")),
        ("${1}$${2}${3}", Value::from("1${2}3")),
        ("$ $x $(y) $$ {z} 5$", Value::from("$ $x $(y) $$ {z} 5$")),
        ("größe ${size('größe')} 😀", Value::from("größe 5 😀")),
    ] {
        assert_eq!(text_of(text), Ok(expected), "{text}");
    }
}

/// in a command a list is as many arguments as it has entries, also none.
#[test]
fn a_list_is_several_arguments() {
    assert_eq!(arguments_of("--x"), ["--x"]);
    assert_eq!(arguments_of("--port=${endpoints.api.port}"), ["--port=8080"]);
    assert_eq!(arguments_of("${params.packages}"), ["numpy", "torch"]);
    assert_eq!(arguments_of("${params.ports}"), ["80", "443"]);
    assert_eq!(arguments_of("${params.fast ? ['--fast', '1'] : []}"), ["--fast", "1"]);
    assert_eq!(arguments_of("${addons['metrics-exporter'] ? ['--metrics'] : []}"), Vec::<String>::new());
    assert_eq!(arguments_of("${''}"), [""], "an empty text is an argument");
    let secret = Template::parse("${params.hub_token}").unwrap();
    let fault = secret.arguments(&values(), &mut Budget::default()).unwrap_err();
    assert_eq!(fault.code, Code::Value, "a secret never becomes text");
}

/// places are those of the whole text.
#[test]
fn a_wrong_piece_is_shown_in_the_whole_text() {
    for (text, code, part) in [
        ("a ${params.model", Code::Syntax, "params.model"),
        ("a ${params.model} ${", Code::Syntax, ""),
        ("${}", Code::Syntax, ""),
        ("x ${ } y", Code::Syntax, " "),
        ("é ${1 +} y", Code::Syntax, ""),
        ("é ${1 2} y", Code::Syntax, "2"),
        ("é ${params.modle} y", Code::UnknownName, "modle"),
        ("${params.model} ${(1} y", Code::Syntax, "("),
        ("${'a} y", Code::Syntax, "'"),
        ("x ${ {'a': 1} }", Code::NotAllowed, "{"),
        ("x ${a ${b}}", Code::Syntax, "$"),
        ("x ${params.packages}", Code::Type, "params.packages"),
        ("Bearer ${params.hub_token}", Code::Type, "params.hub_token"),
        ("${1} ${params.note}", Code::Type, "params.note"),
    ] {
        let fault = Template::parse(text)
            .and_then(|template| template.check(&types()))
            .map_or_else(|fault| fault, |kind| panic!("{text} passed as {kind:?}"));
        assert_eq!(fault.code, code, "{text}: {fault:?}");
        assert_eq!(&text[fault.span.start..fault.span.end], part, "{text}: {fault:?}");
    }
    for script in ["echo ${HOME}", "echo ${X:-1}", "echo ${X%.*}", "echo ${#X}", "echo ${X"] {
        let fault = Template::parse(script).and_then(|template| template.check(&types())).unwrap_err();
        assert!(fault.message.ends_with(" A plain ${ is written $${."), "{script}: {}", fault.message);
    }
    let fault = text_of("é ${1 / (resources.gpu_count - 2)}").unwrap_err();
    assert_eq!((fault.code, fault.span.start), (Code::DivisionByZero, 7));
}

#[test]
fn a_text_without_expressions_is_fixed() {
    for (text, fixed) in [("", true), ("a $b $${c}", true), ("${1}", false)] {
        assert_eq!(Template::parse(text).unwrap().is_fixed(), fixed, "{text}");
    }
    assert_eq!(Template::parse("${1}${params.model}").unwrap().expressions().count(), 2);
}

/// B-06: what a node would not take is refused before anything is sent.
#[test]
fn results_are_as_small_as_a_node_takes_them() {
    let mut values = values();
    values.set(&["params", "model"], "x".repeat(MAX_TEXT).as_str());
    values.set(&["params", "packages"], vec!["x"; MAX_ARGUMENTS + 1]);
    for (text, code) in [
        ("${params.model}", None),
        ("a${params.model}", Some(Code::LimitExceeded)),
        ("${params.model + 'a'}", Some(Code::LimitExceeded)),
        ("${[params.model + 'a']}", Some(Code::LimitExceeded)),
        ("${params.packages}", Some(Code::LimitExceeded)),
        ("${params.packages.join('')}", None),
    ] {
        let run = Template::parse(text).unwrap().arguments(&values, &mut Budget::default());
        assert_eq!(run.err().map(|fault| fault.code), code, "{text}");
    }
    let many = "${1}".repeat(MAX_EXPRESSIONS + 1);
    assert_eq!(Template::parse(&many).unwrap_err().code, Code::TooLarge);
    assert!(Template::parse(&many[4..]).is_ok());
}
