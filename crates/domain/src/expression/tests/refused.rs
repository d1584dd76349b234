use super::*;

/// The expression, its code, and the part that is underlined.
const TABLE: &[(&str, &str, &str)] = &[
    // Not an expression.
    ("", "expression_syntax", ""),
    ("   ", "expression_syntax", "   "),
    ("1 +", "expression_syntax", ""),
    ("+ 1", "expression_syntax", "+"),
    ("1 2", "expression_syntax", "2"),
    ("a b", "expression_syntax", "b"),
    ("(1", "expression_syntax", "("),
    ("1)", "expression_syntax", ")"),
    ("[1)", "expression_syntax", ")"),
    ("'abc", "expression_syntax", "'"),
    ("'abc\\'", "expression_syntax", "'"),
    ("\"abc'", "expression_syntax", "\""),
    ("params.", "expression_syntax", ""),
    ("params..model", "expression_syntax", "."),
    ("params.1", "expression_syntax", "."),
    ("1.", "expression_syntax", ""),
    ("params.fast ? 1", "expression_syntax", ""),
    ("params.fast = true", "expression_syntax", "="),
    ("params.fast & true", "expression_syntax", "&"),
    ("params.fast | true", "expression_syntax", "|"),
    ("${params.fast}", "expression_syntax", "$"),
    ("params.model == ’a’", "expression_syntax", "’"),
    ("größe", "expression_syntax", "ö"),
    ("1 ; 2", "expression_syntax", ";"),
    ("a @ b", "expression_syntax", "@"),
    ("1 \\ 2", "expression_syntax", "\\"),
    ("9223372036854775808", "expression_syntax", "9"),
    ("1e999", "expression_syntax", "1"),
    ("'\\q'", "expression_syntax", "'"),
    ("'\\ud800'", "expression_syntax", "'"),
    ("for", "expression_syntax", "f"),
    ("if", "expression_syntax", "i"),
    ("in", "expression_syntax", "i"),
    ("has(1)", "expression_syntax", "1"),
    ("has(params)", "expression_syntax", "p"),
    ("has(params['note'])", "expression_syntax", "["),
    ("size(1,)", "expression_syntax", ")"),
    ("params.?note", "expression_syntax", "."),
    ("params.packages[?0]", "expression_syntax", "["),
    // Left out of the language.
    ("params.packages.all(p, p != '')", "expression_not_allowed", "("),
    ("params.packages.exists(p, p == 'x')", "expression_not_allowed", "("),
    ("params.packages.map(p, p + p)", "expression_not_allowed", "("),
    ("params.packages.map(p)", "expression_not_allowed", "map"),
    ("params.packages.filter(1, 2)", "expression_not_allowed", "1"),
    ("params.packages.exists_one(p, true)", "expression_not_allowed", "("),
    ("params.model.matches('a+')", "expression_not_allowed", "matches"),
    ("matches(params.model, 'a')", "expression_not_allowed", "matches"),
    ("timestamp('2024-01-01T00:00:00Z')", "expression_not_allowed", "timestamp"),
    ("duration('1h')", "expression_not_allowed", "duration"),
    ("type(1)", "expression_not_allowed", "type"),
    ("dyn(1)", "expression_not_allowed", "dyn"),
    ("uint(1)", "expression_not_allowed", "uint"),
    ("siez(params.model)", "expression_not_allowed", "siez"),
    ("exec('rm')", "expression_not_allowed", "exec"),
    ("params.model.size()", "expression_not_allowed", "size"),
    ("contains(params.model, 'a')", "expression_not_allowed", "contains"),
    ("join(params.packages, ',')", "expression_not_allowed", "join"),
    ("params.packages.join()", "expression_not_allowed", "join"),
    ("size()", "expression_not_allowed", "size"),
    ("min(1, 2, 3)", "expression_not_allowed", "min"),
    ("null", "expression_not_allowed", "null"),
    ("1u", "expression_not_allowed", "1u"),
    ("b'a'", "expression_not_allowed", "'"),
    ("r'a'", "expression_not_allowed", "'"),
    ("'''a'''", "expression_not_allowed", "'"),
    ("\"\"\"a\"\"\"", "expression_not_allowed", "\""),
    ("{'a': 1}", "expression_not_allowed", "{"),
    ("{}", "expression_not_allowed", "{"),
    ("Point{x: 1}", "expression_not_allowed", "{"),
    ("params.`model`", "expression_not_allowed", "`"),
    (".params.model", "expression_not_allowed", "params"),
    ("1 // comment", "expression_not_allowed", "//"),
    ("!!params.fast", "expression_not_allowed", "!"),
    ("--1", "expression_not_allowed", "-"),
    ("!-1", "expression_not_allowed", "-"),
    ("1 - - -1", "expression_not_allowed", "-"),
    ("'a\\u0000b'", "expression_not_allowed", "'a\\u0000b'"),
    ("addons[params.model]", "expression_not_allowed", "params.model"),
    ("placement.lanes[0]", "expression_not_allowed", "0"),
    ("elsewhere.x", "expression_not_allowed", "elsewhere"),
    // Names.
    ("parms.model", "expression_unknown_name", "parms"),
    ("params.modle", "expression_unknown_name", "modle"),
    ("params['modle']", "expression_unknown_name", "'modle'"),
    ("model", "expression_unknown_name", "model"),
    ("has(params.modle)", "expression_unknown_name", "modle"),
    ("addons.logs", "expression_unknown_name", "logs"),
    ("placement.lanes.b.gpus", "expression_unknown_name", "b"),
    ("endpoints.api.host", "expression_unknown_name", "host"),
    ("env.HOME", "expression_unknown_name", "env"),
    ("metrics-exporter", "expression_unknown_name", "metrics"),
    // Types.
    ("1 + 'a'", "expression_type", "+"),
    ("'a' + 1", "expression_type", "+"),
    ("1 + 1.5", "expression_type", "+"),
    ("params.context * params.ratio", "expression_type", "*"),
    ("true + true", "expression_type", "+"),
    ("'a' - 'b'", "expression_type", "-"),
    ("1.5 % 2.0", "expression_type", "%"),
    ("!1", "expression_type", "1"),
    ("-'a'", "expression_type", "-"),
    ("-params.fast", "expression_type", "-"),
    ("1 && true", "expression_type", "1"),
    ("true || params.model", "expression_type", "params.model"),
    ("params.context ? 1 : 2", "expression_type", "params.context"),
    ("params.fast ? 1 : 'a'", "expression_type", "?"),
    ("params.fast ? 1 : 1.5", "expression_type", "?"),
    ("1 == 'a'", "expression_type", "=="),
    ("params.fast == 'true'", "expression_type", "=="),
    ("[1] == ['a']", "expression_type", "=="),
    ("1 < 'a'", "expression_type", "<"),
    ("true < false", "expression_type", "<"),
    ("[1] < [2]", "expression_type", "<"),
    ("1 in ['a']", "expression_type", "in"),
    ("'a' in params.model", "expression_type", "in"),
    ("'metrics' in addons", "expression_type", "addons"),
    ("[1, 'a']", "expression_type", "'a'"),
    ("[[1], [2]]", "expression_type", "["),
    ("[1] + ['a']", "expression_type", "+"),
    ("params.packages['numpy']", "expression_type", "'numpy'"),
    ("params.packages[1.0]", "expression_type", "1.0"),
    ("params.packages.first", "expression_type", "first"),
    ("params.model[0]", "expression_type", "["),
    ("[][0]", "expression_type", "["),
    ("'a'.length", "expression_type", "'a'"),
    ("params", "expression_type", "params"),
    ("placement.lanes", "expression_type", "lanes"),
    ("size(1)", "expression_type", "size"),
    ("string(params.packages)", "expression_type", "string"),
    ("int(true)", "expression_type", "int"),
    ("min(1, 2.0)", "expression_type", "min"),
    ("max('a', 'b')", "expression_type", "max"),
    ("params.packages.contains('numpy')", "expression_type", "contains"),
    ("params.model.startsWith(1)", "expression_type", "startsWith"),
    ("params.model.join(',')", "expression_type", "join"),
    // A secret is handed on and nothing else.
    ("params.hub_token + 'x'", "expression_type", "+"),
    ("params.hub_token == 'x'", "expression_type", "=="),
    ("params.hub_token in ['x']", "expression_type", "in"),
    ("size(params.hub_token)", "expression_type", "size"),
    ("string(params.hub_token)", "expression_type", "string"),
    ("params.hub_token.startsWith('x')", "expression_type", "startsWith"),
    ("[params.hub_token]", "expression_type", "params.hub_token"),
    ("(params.fast ? params.hub_token : 'x') + 'y'", "expression_type", "+"),
    // What may be absent is asked for first.
    ("params.note", "expression_type", "params.note"),
    ("params.limit + 1", "expression_type", "params.limit"),
    ("has(params.note) ? params.limit : 0", "expression_type", "params.limit"),
    ("has(params.limit) ? 0 : params.limit", "expression_type", "params.limit"),
    ("has(params.limit) || params.limit > 1", "expression_type", "params.limit"),
    ("params.limit > 1 && has(params.limit)", "expression_type", "params.limit"),
    ("!has(params.limit) && params.limit > 1", "expression_type", "params.limit"),
    ("(has(params.limit) || params.fast) ? params.limit : 0", "expression_type", "params.limit"),
    ("(has(params.limit) && params.fast) ? 0 : params.limit", "expression_type", "params.limit"),
    ("has(params.limit) ? params.limit : params.limit", "expression_type", "params.limit"),
];

/// everything else is refused, with a code that never changes and the place.
#[test]
fn what_is_wrong_is_refused_where_it_is_wrong() {
    assert!(TABLE.len() >= 80, "{}", TABLE.len());
    for (text, code, part) in TABLE {
        let fault = judge(text).map_or_else(|fault| fault, |kind| panic!("{text} passed as {kind:?}"));
        assert_eq!(fault.code.name(), *code, "{text}: {}", fault.sentence(text));
        assert_eq!(&text[fault.span.start..fault.span.end], *part, "{text}: {}", fault.message);
    }
}

/// The underlined part is the one that is meant, not another one spelled alike.
#[test]
fn the_place_is_a_range_of_bytes() {
    let text = "'é' == params.model && params.modle == 'x'";
    let fault = judge(text).unwrap_err();
    assert_eq!((fault.span.start, fault.span.end), (31, 36));
    assert_eq!(fault.character(text), 31, "characters, not bytes, and from 1");
    assert_eq!(
        fault.at("/components/0/when", text),
        crate::FieldError::new(
            "/components/0/when",
            "expression_unknown_name",
            "At character 31: There is no such name; there are context, extra_token, fast, hub_token, limit, model, \
             note, packages, ports, ratio. Did you mean model?"
        )
    );
    let second_line = "'é' ==\n + 1";
    let fault = judge(second_line).unwrap_err();
    assert_eq!(fault.span.start, 9);
}

/// a sentence says what to write instead.
#[test]
fn a_refusal_says_what_to_use() {
    for (text, part) in [
        ("params.note", "has(params.x) ? params.x : ''"),
        ("'a' + 1", "string(x)"),
        ("1 + 1.5", "double(x)"),
        ("params.packages.map(p, p)", "join"),
        ("params.model.matches('a')", "startsWith"),
        ("siez('a')", "Did you mean size?"),
        ("params.model.size()", "size(x)"),
        ("join(params.packages, ',')", "list.join(',')"),
        ("'a' in params.model", "contains"),
        ("params.packages.contains('a')", "x in list"),
        ("addons[params.model]", "addons[\"the-name\"]"),
        ("null", "has(params.x)"),
        ("a = b", "=="),
        ("placement", "accelerator, gpu_model, lanes, node_name"),
        ("${params.x}", "without ${ }"),
    ] {
        let said = judge(text).unwrap_err().message;
        assert!(said.contains(part), "{text}: {said}");
    }
}

/// T-10: what stands in an expression may be what must not be repeated.
#[test]
fn no_sentence_repeats_a_text() {
    for text in
        ["'hunter2' + 1", "params.hunter2", "hunter2('x')", "'hunter2", "[1, 'hunter2']", "hunter2 hunter2"]
    {
        let said = judge(text).unwrap_err().message;
        assert!(!said.contains("hunter2"), "{said}");
    }
}

/// Every code has its lines in the reference, and the tables above know no other.
#[test]
fn every_code_is_documented() {
    let page = include_str!("../../../../../docs/reference/expressions.md");
    for code in Code::ALL {
        assert!(page.contains(&format!("`{}`", code.name())), "{} is not in the reference", code.name());
    }
    for (_, code, _) in TABLE {
        assert!(Code::ALL.iter().any(|known| known.name() == *code), "{code}");
    }
}
