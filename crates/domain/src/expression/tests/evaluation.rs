use super::*;

fn fault_of(text: &str) -> &'static str {
    evaluate(text).map_or_else(|fault| fault.code.name(), |value| panic!("{text} is {value:?}"))
}

/// B-10: what no type can rule out is a fault with a code, never a panic and never a wrong number.
#[test]
fn arithmetic_that_has_no_result_is_refused() {
    for (text, code) in [
        ("1 / 0", "expression_division_by_zero"),
        ("1 % 0", "expression_division_by_zero"),
        ("1.0 / 0.0", "expression_division_by_zero"),
        ("0.0 / -0.0", "expression_division_by_zero"),
        ("resources.gpu_count / (resources.gpu_count - 2)", "expression_division_by_zero"),
        ("9223372036854775807 + 1", "expression_out_of_range"),
        ("-9223372036854775808 - 1", "expression_out_of_range"),
        ("9223372036854775807 * 2", "expression_out_of_range"),
        ("-(-9223372036854775808)", "expression_out_of_range"),
        ("-9223372036854775808 / -1", "expression_out_of_range"),
        ("-9223372036854775808 % -1", "expression_out_of_range"),
        ("1e308 * 10.0", "expression_not_a_number"),
        ("-1e308 - 1e308", "expression_not_a_number"),
        ("int(1e19)", "expression_out_of_range"),
        ("int(9223372036854775808.0)", "expression_out_of_range"),
        ("int('x')", "expression_not_a_number"),
        ("int('')", "expression_not_a_number"),
        ("int('1.5')", "expression_not_a_number"),
        ("int('9223372036854775808')", "expression_not_a_number"),
        ("double('nan')", "expression_not_a_number"),
        ("double('inf')", "expression_not_a_number"),
        ("double('1e999')", "expression_not_a_number"),
        ("double('one')", "expression_not_a_number"),
        ("params.packages[2]", "expression_out_of_range"),
        ("params.packages[-1]", "expression_out_of_range"),
        ("[1, 2][9223372036854775807]", "expression_out_of_range"),
    ] {
        assert_eq!(fault_of(text), code, "{text}");
    }
    assert_eq!(evaluate("int(-9223372036854775808.0)"), Ok(Value::Int(i64::MIN)));
}

/// An expression that nobody checked is still bounded and still answers with a code.
#[test]
fn without_a_check_a_wrong_value_is_a_fault_and_no_panic() {
    for text in
        ["params.nowhere", "params.model + 1", "!params.model", "params.model[0]", "size(1)", "params"]
    {
        let fault = Expression::parse(text)
            .unwrap()
            .evaluate(&values(), &mut Budget::default())
            .map_or_else(|fault| fault, |value| panic!("{text} is {value:?}"));
        assert_eq!(fault.code, Code::Value, "{text}");
    }
}

/// B-05: a value that looks like an expression stays a value.
#[test]
fn values_are_never_read_again() {
    let mut values = values();
    let trick = "${params.hub_token}' + \"${1 / 0}\" + '";
    values.set(&["params", "model"], trick);
    let mut budget = Budget::default();
    let run = |text: &str, budget: &mut Budget| Template::parse(text).unwrap().evaluate(&values, budget);
    assert_eq!(run("${params.model}", &mut budget), Ok(Value::from(trick)));
    assert_eq!(run("--m=${params.model};", &mut budget), Ok(Value::Text(format!("--m={trick};"))));
}

/// B-04: what a request gives becomes a value of the parameter's type, or none.
#[test]
fn json_becomes_a_value_of_the_type_that_was_declared() {
    use serde_json::json;
    for (given, of, expected) in [
        (json!(1), Type::Int, Some(Value::Int(1))),
        (json!(1), Type::Double, Some(Value::Double(1.0))),
        (json!(1.5), Type::Double, Some(Value::Double(1.5))),
        (json!(1.5), Type::Int, None),
        (json!(u64::MAX), Type::Int, None),
        (json!("x"), Type::Text, Some(Value::from("x"))),
        (json!("x"), Type::Secret, Some(Value::Secret("x".to_owned()))),
        (json!(true), Type::Bool, Some(Value::Bool(true))),
        (json!("true"), Type::Bool, None),
        (json!([1, 2]), Type::list(Type::Int), Some(Value::from(vec![1, 2]))),
        (json!([1, "a"]), Type::list(Type::Int), None),
        (json!([]), Type::list(Type::Text), Some(Value::List(vec![]))),
        (json!(null), Type::Text, None),
        (json!({}), Type::Text, None),
    ] {
        assert_eq!(Value::from_json(&given, &of), expected, "{given} as {of:?}");
    }
    assert_eq!(Value::from(vec![1, 2]).to_json(), json!([1, 2]));
    assert_eq!(Value::Double(0.1).to_json(), json!(0.1));
}

/// B-10: a computed value is taken by a parameter of its type, and by a wider one.
#[test]
fn types_fit_where_nothing_is_lost() {
    let list = Type::list;
    for (given, wanted, fits) in [
        (Type::Int, Type::Int, true),
        (Type::Int, Type::Double, true),
        (Type::Double, Type::Int, false),
        (Type::Text, Type::Secret, true),
        (Type::Secret, Type::Text, false),
        (Type::Int, Type::Text, false),
        (list(Type::Nothing), list(Type::Text), true),
        (list(Type::Int), list(Type::Double), true),
        (list(Type::Int), Type::Int, false),
    ] {
        assert_eq!(given.fits(&wanted), fits, "{given:?} for {wanted:?}");
    }
}
