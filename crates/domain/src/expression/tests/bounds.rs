//! Nothing written within the limits can take long, take much, or exhaust a stack.

use super::*;

fn code_of(text: &str) -> Option<Code> {
    Expression::parse(text).err().map(|fault| fault.code)
}

/// refused before the parser sees it.
#[test]
fn long_deep_and_crowded_expressions_are_refused() {
    assert_eq!(code_of(&format!("'{}'", "x".repeat(MAX_BYTES - 2))), None);
    assert_eq!(code_of(&format!("'{}'  ", "x".repeat(MAX_BYTES - 2))), Some(Code::TooLarge));
    assert_eq!(code_of(&"x".repeat(10_000_000)), Some(Code::TooLarge));
    let nested = |depth: usize, open: &str, close: &str| open.repeat(depth) + "1" + &close.repeat(depth);
    for (open, close) in [("(", ")"), ("[", "]"), ("size(", ")"), ("a[", "]"), ("(1+", ")"), ("[(", ")]")] {
        let brackets = open.bytes().filter(|byte| matches!(byte, b'(' | b'[')).count();
        let depth = MAX_NESTING / brackets;
        assert_eq!(code_of(&nested(depth, open, close)), None, "{open}");
        assert_eq!(code_of(&nested(depth + 1, open, close)), Some(Code::TooLarge), "{open}");
        assert_eq!(code_of(&nested(200, open, "")), Some(Code::TooLarge), "{open}");
    }
    let chain = |count: usize| vec!["1"; count].join("+");
    assert_eq!(code_of(&chain(MAX_TOKENS / 2)), None);
    assert_eq!(code_of(&chain(MAX_TOKENS / 2 + 1)), Some(Code::TooLarge));
}

/// The deepest of what passes is read, checked, evaluated and dropped on half the stack that a thread of the server has,
/// even without optimisation.
#[test]
fn the_deepest_expression_fits_a_small_stack() {
    let half = MAX_TOKENS / 2;
    let shapes = vec![
        "(".repeat(MAX_NESTING) + "1" + &")".repeat(MAX_NESTING),
        "[".repeat(MAX_NESTING) + &"]".repeat(MAX_NESTING),
        vec!["1"; half].join("+"),
        vec!["true"; half].join("||"),
        vec!["true"; half].join("=="),
        "true?1:".repeat(half / 2 - 1) + "1",
        "x".to_owned() + &".x".repeat(half - 1),
        "x".to_owned() + &"[0]".repeat(MAX_TOKENS / 3 - 1),
        "!(".repeat(MAX_NESTING) + "true" + &")".repeat(MAX_NESTING),
        "(1+(1+[".repeat(5) + &vec!["1"; half - 40].join("*") + &"]))".repeat(5),
        "size([".repeat(MAX_NESTING / 2) + &vec!["1"; 50].join("-") + &"])".repeat(MAX_NESTING / 2),
        "(true?true?".repeat(MAX_NESTING) + "1" + &":1:1)".repeat(MAX_NESTING),
        "(".repeat(MAX_NESTING) + &vec!["1"; half - MAX_NESTING].join("+") + &")".repeat(MAX_NESTING),
        "{".repeat(500),
        "[".repeat(500) + "}",
        "-".repeat(500),
    ];
    for shape in shapes {
        let work = move || {
            if let Ok(expression) = Expression::parse(&shape) {
                let _ = expression.check(&types());
                let _ = expression.evaluate(&values(), &mut Budget::default());
                let _ = expression.names();
            }
        };
        let thread = std::thread::Builder::new().stack_size(1024 * 1024).spawn(work).unwrap();
        thread.join().unwrap();
    }
}

/// Short texts that make much: refused before the memory is taken. (Doubling needs a name for a part, which the language
/// does not have; so it is written out over the longest values that a launch can give.)
#[test]
fn blow_ups_are_refused_by_the_budget() {
    let mut values = values();
    values.set(&["params", "model"], "x".repeat(MAX_TEXT).as_str());
    values.set(&["params", "packages"], vec!["x".repeat(1000).as_str(); 1024]);
    let doubled = |part: &str| (0..5).fold(part.to_owned(), |text, _| format!("({text}+{text})"));
    let shapes = [
        doubled("params.model"),
        doubled("params.packages"),
        vec!["params.model"; 64].join("+"),
        "size(".to_owned() + &vec!["params.packages"; 60].join("+") + ")",
        "[".to_owned() + &vec!["params.model"; 60].join(",") + "]",
        format!("({}).join(params.model)", vec!["params.packages"; 50].join("+")),
        "params.packages.join(params.model)".to_owned(),
    ];
    for shape in shapes {
        let expression = Expression::parse(&shape).unwrap();
        let mut budget = Budget::default();
        let fault = expression.evaluate(&values, &mut budget).unwrap_err();
        assert_eq!(fault.code, Code::LimitExceeded, "{shape}");
        assert!(budget.bytes_used() <= MAX_PRODUCED_BYTES && budget.steps_used() <= MAX_STEPS);
    }
    // Lists of lists are no type at all, so that road is closed before it begins.
    assert_eq!(judge("[[[[1,1],[1,1]],[[1,1],[1,1]]]]").unwrap_err().code, Code::Type);
}

/// Many comparisons of long lists are work without memory.
#[test]
fn long_searches_are_refused_by_the_budget() {
    let mut values = values();
    let long = "x".repeat(1000);
    values.set(&["params", "packages"], vec![long.as_str(); 1024]);
    let searches = vec!["'x' in params.packages"; 40].join("||");
    let compared = vec!["params.packages==params.packages"; 30].join("&&");
    for text in [searches, compared] {
        let expression = Expression::parse(&text).unwrap();
        let mut one = Budget::default();
        let result = expression.evaluate(&values, &mut one);
        // Many small ones share a budget, so that they are bounded like a large one.
        let mut shared = Budget::default();
        let many = (0..20).try_for_each(|_| expression.evaluate(&values, &mut shared).map(drop));
        assert_eq!(many.unwrap_err().code, Code::LimitExceeded, "{result:?}");
        assert!(shared.steps_used() <= MAX_STEPS);
    }
}

/// A budget counts what was done, so that a caller can tell what a launch cost.
#[test]
fn a_budget_counts() {
    let mut budget = Budget::default();
    let expression = Expression::parse("'--m=' + params.model").unwrap();
    expression.evaluate(&values(), &mut budget).unwrap();
    assert_eq!(budget.steps_used(), 3);
    assert_eq!(budget.bytes_used(), size_of::<Value>() + "--m=a/b".len());
}
