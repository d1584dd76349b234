use super::*;

/// Each with the value it has in the launch of [`values`].
fn table() -> Vec<(&'static str, Value)> {
    let yes = || Value::Bool(true);
    let no = || Value::Bool(false);
    let text = |text: &str| Value::from(text);
    let int = |number: i64| Value::Int(number);
    let double = |number: f64| Value::Double(number);
    vec![
        // Literals.
        ("true", yes()),
        ("1", int(1)),
        ("-1", int(-1)),
        ("0x10", int(16)),
        ("-9223372036854775808", int(i64::MIN)),
        ("9223372036854775807", int(i64::MAX)),
        ("1.5", double(1.5)),
        ("1e3", double(1000.0)),
        (".5", double(0.5)),
        ("'a'", text("a")),
        ("\"it's\"", text("it's")),
        ("'a\\'b\\n\\u00e9'", text("a'b\né")),
        ("'größe 😀'", text("größe 😀")),
        ("'}'", text("}")),
        ("[]", Value::List(vec![])),
        ("[1, 2,]", Value::from(vec![1, 2])),
        ("['a', \"b\"]", Value::from(vec!["a", "b"])),
        // Names.
        ("params.model", text("a/b")),
        ("params[\"model\"]", text("a/b")),
        (" params . model ", text("a/b")),
        ("(params).model", text("a/b")),
        ("resources.gpu_count", int(2)),
        ("resources.shared_memory_mib", int(1024)),
        ("addons.metrics", yes()),
        ("addons[\"metrics-exporter\"]", no()),
        ("placement.node_name", text("node-1")),
        ("placement.lanes['lane-a'].tensor_parallel", int(2)),
        ("placement.lanes[\"lane-a\"][\"gpus\"]", Value::from(vec!["GPU-1", "GPU-2"])),
        ("placement.lanes['lane-a'].gpus.join(',')", text("GPU-1,GPU-2")),
        ("endpoints.api.url", text("https://api.example.org/v1")),
        ("endpoints.api.port", int(8080)),
        // Secrets, whole.
        ("params.hub_token", Value::Secret("hub".to_owned())),
        ("has(params.extra_token) ? params.extra_token : ''", text("")),
        ("params.fast ? params.hub_token : ''", Value::Secret("hub".to_owned())),
        // Logic.
        ("!params.fast", no()),
        ("params.fast && !addons.metrics", no()),
        ("params.fast || 1 / 0 == 1", yes()),
        ("false && 1 / 0 == 1", no()),
        ("params.fast ? 'fast' : 'slow'", text("fast")),
        ("params.context > 8192 ? 'l' : params.context > 2048 ? 'm' : 's'", text("m")),
        ("true && true && false && true", no()),
        // Comparing.
        ("params.model == 'a/b'", yes()),
        ("params.model != 'a/b'", no()),
        ("params.context <= 32768 || params.model == 'c/d'", yes()),
        ("1 == 1.0", yes()),
        ("9007199254740993 == 9007199254740992.0", no()),
        ("9223372036854775807 < 1e19", yes()),
        ("params.ratio < 1", yes()),
        ("-1 > -1.5", yes()),
        ("'a' < 'b'", yes()),
        ("[1, 2] == [1.0, 2.0]", yes()),
        ("params.packages == []", no()),
        // Numbers and texts.
        ("resources.gpu_count * 2 + 1", int(5)),
        ("7 / 2", int(3)),
        ("-7 / 2", int(-3)),
        ("-7 % 2", int(-1)),
        ("7.0 / 2.0", double(3.5)),
        ("1 - -1", int(2)),
        ("-params.context", int(-4096)),
        ("-(1 + 2)", int(-3)),
        ("'--model=' + params.model", text("--model=a/b")),
        ("[1] + [2, 3]", Value::from(vec![1, 2, 3])),
        ("params.packages + ['scipy']", Value::from(vec!["numpy", "torch", "scipy"])),
        ("params.packages[1]", text("torch")),
        ("[10, 20][resources.gpu_count - 1]", int(20)),
        // Membership.
        ("'numpy' in params.packages", yes()),
        ("'scipy' in params.packages", no()),
        ("80.0 in params.ports", yes()),
        ("params.model in ['a/b', 'c/d']", yes()),
        ("'x' in []", no()),
        // Functions.
        ("size('größe')", int(5)),
        ("size(params.packages)", int(2)),
        ("size([])", int(0)),
        ("string(1) + string(2.5) + string(true)", text("12.5true")),
        ("string(3.0)", text("3")),
        ("int(2.9)", int(2)),
        ("int(-2.9)", int(-2)),
        ("int('42')", int(42)),
        ("double(1) / 3.0 > 0.3", yes()),
        ("double('1.5')", double(1.5)),
        ("min(resources.gpu_count, 8)", int(2)),
        ("max(1.5, params.ratio)", double(1.5)),
        ("params.model.contains('/')", yes()),
        ("params.model.startsWith('a')", yes()),
        ("params.model.endsWith('a')", no()),
        ("params.packages.join(' ')", text("numpy torch")),
        ("params.ports.join(',')", text("80,443")),
        ("[].join(',')", text("")),
        // Names that may be absent.
        ("has(params.note)", no()),
        ("has(params.limit)", yes()),
        ("has(params.model)", yes()),
        ("has( params . limit )", yes()),
        ("has(params.note) ? params.note : 'none'", text("none")),
        ("has(params.limit) ? params.limit : 0", int(5)),
        ("!has(params.limit) ? 0 : params.limit", int(5)),
        ("has(params.limit) && params.limit > 3", yes()),
        ("!has(params.note) || params.note == ''", yes()),
        ("has(params.note) && has(params.limit) && size(params.note) > params.limit", no()),
        ("(has(params.limit) && params.fast) ? params.limit : 0", int(5)),
        ("!(!has(params.limit) || !params.fast) ? params.limit : 0", int(5)),
        ("(has(params.note) ? has(params.limit) : has(params.limit)) ? params.limit : 0", int(5)),
        ("has(params.note) ? [params.note] : []", Value::List(vec![])),
    ]
}

/// the language, by example.
#[test]
fn what_is_written_right_has_its_value() {
    let table = table();
    assert!(table.len() >= 60, "{}", table.len());
    for (text, expected) in table {
        let kind = judge(text).unwrap_or_else(|fault| panic!("{text}: {}", fault.sentence(text)));
        assert!(expected.is_of(&kind), "{text} is {}", kind.name());
        assert_eq!(evaluate(text), Ok(expected), "{text}");
    }
}

/// The printed form of the tree reads back to the same tree: nothing is lost on the way from the parser's.
#[test]
fn what_was_read_can_be_written_again() {
    for (text, _) in table() {
        let first = Expression::parse(text).unwrap();
        let printed = super::laws::print(&first.root);
        let second = Expression::parse(&printed).unwrap_or_else(|fault| panic!("{printed}: {fault:?}"));
        assert_eq!(super::laws::print(&second.root), printed, "{text}");
    }
}

/// What launch planning follows to find out what depends on what.
#[test]
fn an_expression_tells_the_names_and_texts_it_holds() {
    let expression = Expression::parse(
        "has(params.note) && params.model == 'x' ? addons['metrics-exporter'] : 'y' in ['']",
    )
    .unwrap();
    assert_eq!(
        expression.names(),
        [vec!["params", "note"], vec!["params", "model"], vec!["addons", "metrics-exporter"]]
    );
    assert_eq!(expression.texts(), ["x", "y", ""]);
}
