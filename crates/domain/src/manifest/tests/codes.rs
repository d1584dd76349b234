//! The table of codes: whole, true to the code, and with examples that do what they say.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use serde_json::Value;

use super::super::*;

const PAGE: &str = include_str!("../../../../../docs/reference/lint.md");
/// Too long to print, or of source manifests, which only the command line reads.
const WITHOUT_EXAMPLE: &[&str] = &["document_too_large", "not_found", "required"];

fn product_sources(folder: &Path, all: &mut Vec<String>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() && !path.ends_with("tests") {
            product_sources(&path, all);
        } else if path.extension().is_some_and(|end| end == "rs") && !path.ends_with("lint/codes.rs") {
            let text = std::fs::read_to_string(&path).unwrap();
            let product = text.split("#[cfg(test)]\nmod tests {").next().unwrap();
            let lines = product.lines().filter(|line| !line.trim_start().starts_with("#["));
            all.push(lines.collect::<Vec<_>>().join("\n"));
        }
    }
}

/// The literal that stands where the callers of these take a code.
fn codes_in(source: &str) -> BTreeSet<String> {
    const STARTS: &[&str] = &[
        ".add(",
        "::new(",
        "refused(",
        ".fault(",
        "(one(",
        " one(",
        ":one(",
        "Refusal =",
        "const CODE: &str =",
        "code:",
        "no(",
    ];
    let mut found = BTreeSet::new();
    for start in STARTS {
        for (at, _) in source.match_indices(start) {
            let rest: String = source[at + start.len()..].chars().take(300).collect();
            // A field called so may be of any type.
            if *start == "code:" && !rest.trim_start().starts_with('"') {
                continue;
            }
            let statement = rest.split(';').next().unwrap_or_default();
            let literals = statement.split('"').skip(1).step_by(2);
            let code = literals.into_iter().find(|text| {
                text.contains('_')
                    && text.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_')
            });
            found.extend(code.map(str::to_owned));
        }
    }
    found
}

/// A code that is sent has an entry, and an entry is of a code that is sent.
#[test]
fn every_code_of_the_crate_stands_in_the_table() {
    let mut sources = Vec::new();
    product_sources(Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/src/manifest")), &mut sources);
    let sent: BTreeSet<String> = sources.iter().flat_map(|source| codes_in(source)).collect();
    assert!(sent.len() > 40, "{sent:?}");
    let table: BTreeSet<&str> = CODES.iter().map(|code| code.code).collect();
    let missing: Vec<&String> = sent.iter().filter(|code| !table.contains(code.as_str())).collect();
    assert_eq!(missing, Vec::<&String>::new(), "put them into lint::CODES and docs/reference/lint.md");
    // Names, slugs and values are judged beside their types; the last two by the command line.
    let elsewhere = ["invalid_name", "invalid_slug", "pattern_mismatch", "not_found", "required"];
    let expressions = crate::expression::Code::ALL.map(crate::expression::Code::name);
    let written = |code: &str| {
        expressions.contains(&code) || sources.iter().any(|source| source.contains(&format!("\"{code}\"")))
    };
    let unsent: Vec<&str> =
        table.into_iter().filter(|code| !written(code) && !elsewhere.contains(code)).collect();
    assert_eq!(unsent, Vec::<&str>::new());
}

#[test]
fn the_table_is_in_order_and_says_what_to_do() {
    assert!(CODES.windows(2).all(|pair| pair[0].code < pair[1].code));
    for Code { code, meaning, fix, .. } in CODES {
        assert!(meaning.ends_with('.') && !fix.ends_with('.') && !fix.is_empty(), "{code}");
    }
    assert_eq!(find_code("smoke_missing").unwrap().severity, Severity::Warning);
    assert_eq!(find_code("from_the_future"), None);
}

struct Example<'a> {
    about: &'a str,
    text: &'a str,
}

/// The fenced blocks, by what follows `yaml` on their first line.
fn examples() -> Vec<Example<'static>> {
    let mut blocks = PAGE.split("```yaml ").skip(1);
    let mut found = Vec::new();
    for block in blocks.by_ref() {
        let (about, rest) = block.split_once('\n').unwrap();
        let (text, _) = rest.split_once("```").unwrap();
        found.push(Example { about, text });
    }
    found
}

/// What is named replaces what was there, null takes it away, lists are replaced.
fn laid_over(base: &mut Value, change: &Value) {
    match (base, change) {
        (Value::Object(base), Value::Object(change)) => {
            for (name, value) in change {
                if value.is_null() {
                    base.remove(name);
                } else {
                    laid_over(base.entry(name.clone()).or_insert(Value::Null), value);
                }
            }
        }
        (base, change) => *base = change.clone(),
    }
}

fn findings(text: &[u8], format: Format) -> BTreeSet<&'static str> {
    let registry = RegistryNames { host: "registry.example.org".to_owned(), ..super::registries() };
    let found = match parse(text, format) {
        Err(faults) => faults,
        Ok(document) => {
            let mut found = lint(&document.manifest, Some(&registry));
            assert!(found.iter().all(|fault| find_code(fault.code).unwrap().severity == Severity::Error));
            let advice = advise(&document.manifest);
            assert!(advice.iter().all(|fault| find_code(fault.code).unwrap().severity == Severity::Warning));
            found.extend(advice);
            found
        }
    };
    found.into_iter().map(|fault| fault.code).collect()
}

/// A-11, C-10, C-13, C-14, T-01, T-02, T-03, T-04, T-05, T-06, T-07, T-08, T-10: the page is run.
#[test]
fn every_example_of_the_page_does_what_it_says() {
    let examples = examples();
    let bases: BTreeMap<&str, Value> = examples
        .iter()
        .filter(|example| example.about.starts_with("base"))
        .map(|example| (example.about, tree(example.text.as_bytes(), Format::Yaml).unwrap()))
        .collect();
    for (about, base) in &bases {
        assert_eq!(findings(base.to_string().as_bytes(), Format::Json), BTreeSet::new(), "{about}");
    }
    let (mut failing, mut good) = (BTreeSet::new(), BTreeSet::new());
    for Example { about, text } in &examples {
        let mut words = about.split(' ');
        let Some((kind @ ("fails" | "good"), code)) = words.next().and_then(|word| word.split_once('='))
        else {
            continue;
        };
        let found = match words.next() {
            Some("whole") => findings(text.as_bytes(), Format::Yaml),
            over => {
                let base = over.map_or("base".to_owned(), |over| over.replace("over", "base"));
                let mut document = bases[base.as_str()].clone();
                laid_over(&mut document, &tree(text.as_bytes(), Format::Yaml).unwrap());
                findings(document.to_string().as_bytes(), Format::Json)
            }
        };
        assert_eq!(found.contains(code), kind == "fails", "{about}: {found:?}");
        if !about.ends_with("whole") && kind == "good" {
            assert_eq!(found, BTreeSet::new(), "{about}: a remedy brings no other fault");
        }
        (if kind == "fails" { &mut failing } else { &mut good }).insert(code);
    }
    for Code { code, meaning, fix, severity } in CODES {
        let section = PAGE
            .split("\n### `")
            .find(|section| section.starts_with(&format!("{code}`")))
            .unwrap_or_else(|| panic!("docs/reference/lint.md has no section `{code}`"));
        assert!(section.contains(meaning) && section.contains(fix), "{code}: the page says it otherwise");
        let warnings = PAGE.split("\n## Warnings\n").nth(1).unwrap();
        assert_eq!(warnings.contains(&format!("### `{code}`")), *severity == Severity::Warning, "{code}");
        let shown = failing.contains(code) && good.contains(code);
        assert_ne!(
            shown,
            WITHOUT_EXAMPLE.contains(code),
            "{code}: one example that fails and one that does not"
        );
    }
}
