//! Which requirement is proven by which test.
//!
//! `docs/requirements.md` holds every ID with its title. A test names the IDs it proves in a comment; this module
//! finds them. A requirement without proof is information; an ID that nobody has defined is a mistake.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

use crate::{Result, files_below, read};

const LIST: &str = "docs/requirements.md";
const LONGEST_TITLE: usize = 100;

pub(crate) fn print(root: &Path) -> Result {
    let titles = titles(&read(&root.join(LIST))?)?;
    let mut proofs: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    let mut unknown = Vec::new();
    for folder in ["crates", "tests", "xtask", "e2e", "web", "sdk"] {
        for path in files_below(&root.join(folder))? {
            let Some(rule) = rule_for(&path) else { continue };
            let Ok(text) = std::fs::read_to_string(&path) else { continue };
            let name = path.strip_prefix(root).unwrap_or(&path).display().to_string();
            for (line, id) in named_in(&text, rule) {
                match titles.get_key_value(id) {
                    Some((known, _)) => proofs.entry(known).or_default().push(format!("{name}:{line}")),
                    None => unknown.push(format!("{id} at {name}:{line}")),
                }
            }
        }
    }

    let mut report = String::from("Proven:\n");
    for (id, places) in &proofs {
        let _ = writeln!(report, "  {id} {} ({})", titles[*id], places.join(", "));
    }
    report.push_str("Not proven yet:\n");
    for (id, title) in titles.iter().filter(|(id, _)| !proofs.contains_key(id.as_str())) {
        let _ = writeln!(report, "  {id} {title}");
    }
    let (all, named) = (titles.len(), proofs.len());
    let _ = writeln!(report, "trace: {named} of {all} requirements named by tests, {} not", all - named);
    // A reader that has seen enough (`| head`) is no fault.
    let _ = std::io::Write::write_all(&mut std::io::stdout().lock(), report.as_bytes());
    if unknown.is_empty() { Ok(()) } else { Err(format!("not in {LIST}:\n  {}", unknown.join("\n  "))) }
}

/// `- A-01 — title`, one per line; anything else is prose.
fn titles(list: &str) -> Result<BTreeMap<String, String>> {
    let mut titles = BTreeMap::new();
    for (number, line) in list.lines().enumerate() {
        let Some((id, title)) = line.strip_prefix("- ").and_then(|line| line.split_once(" — ")) else {
            continue;
        };
        let place = format!("{LIST}:{}", number + 1);
        if ids_in(id) != [id] {
            return Err(format!("{place}: `{id}` is not an ID"));
        }
        if title.chars().count() > LONGEST_TITLE {
            return Err(format!("{place}: the title is longer than {LONGEST_TITLE} characters"));
        }
        if titles.insert(id.to_owned(), title.to_owned()).is_some() {
            return Err(format!("{place}: {id} stands twice"));
        }
    }
    Ok(titles)
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Rule {
    /// A file of tests: each comment counts.
    Whole,
    /// A source file: comments count from its test module on.
    TestModule,
}

fn rule_for(path: &Path) -> Option<Rule> {
    let extension = path.extension().unwrap_or_default().to_string_lossy().into_owned();
    let of_tests = path.components().any(|part| part.as_os_str() == "tests")
        || path
            .file_stem()
            .is_some_and(|stem| stem == "tests" || stem.to_string_lossy().starts_with("test_"));
    match extension.as_str() {
        "rs" if !of_tests => Some(Rule::TestModule),
        "py" => Some(Rule::Whole),
        // Of the web only what is called a test, such as e2e/launch.test.mjs: its sources name IDs too.
        "ts" | "tsx" | "mjs" => path.to_string_lossy().contains(".test.").then_some(Rule::Whole),
        // Scripts have no extension, such as tests/contract/run.
        "rs" | "sh" | "" if of_tests => Some(Rule::Whole),
        _ => None,
    }
}

/// Each ID named in a comment, with its line number.
fn named_in(text: &str, rule: Rule) -> Vec<(usize, &str)> {
    let mut counts = rule == Rule::Whole;
    let mut found = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let line = line.trim_start();
        counts |= line.starts_with("#[cfg(test)]");
        if counts && (line.starts_with("//") || line.starts_with('#') || line.starts_with('*')) {
            found.extend(ids_in(line).into_iter().map(|id| (number + 1, id)));
        }
    }
    found
}

/// A letter from A to U, a hyphen, two digits, standing alone: `K-01`, but neither `SHA-256` nor `P-256`.
fn ids_in(line: &str) -> Vec<&str> {
    let bytes = line.as_bytes();
    let word = |at: usize| bytes.get(at).is_some_and(|byte| byte.is_ascii_alphanumeric() || *byte == b'_');
    let alone_before = |at: usize| at == 0 || !(word(at - 1) || bytes[at - 1] == b'-');
    (0..bytes.len().saturating_sub(3))
        .filter(|at| {
            (b'A'..=b'U').contains(&bytes[*at])
                && bytes[at + 1] == b'-'
                && bytes[at + 2].is_ascii_digit()
                && bytes[at + 3].is_ascii_digit()
                && !word(at + 4)
                && alone_before(*at)
        })
        .map(|at| &line[at..at + 4])
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_stands_alone() {
        assert_eq!(ids_in("/// K-01, T-14: only (N-05)."), ["K-01", "T-14", "N-05"]);
        assert!(ids_in("SHA-256 P-256 UTF-16 X-12 a-01 x-A-01 A-1 A-012 A-01b").is_empty());
        assert_eq!(ids_in("K-01..K-07"), ["K-01", "K-07"]);
        assert!(ids_in("ä").is_empty());
    }

    #[test]
    fn prose_above_the_test_module_proves_nothing() {
        let text = "//! K-01\nfn f() {}\n#[cfg(test)]\nmod tests {\n    /// K-02\n}\n";
        assert_eq!(named_in(text, Rule::TestModule), [(5, "K-02")]);
        assert_eq!(named_in(text, Rule::Whole).len(), 2);
    }

    #[test]
    fn of_the_web_only_tests_count() {
        assert_eq!(rule_for(Path::new("e2e/launch.test.mjs")), Some(Rule::Whole));
        assert_eq!(rule_for(Path::new("web/tests/next.test.ts")), Some(Rule::Whole));
        assert_eq!(rule_for(Path::new("web/src/pages/launch/hints.ts")), None);
    }

    #[test]
    fn the_list_is_checked_while_it_is_read() {
        assert_eq!(titles("# Title\n- B-02 — Hints\n").unwrap()["B-02"], "Hints");
        assert!(titles("- B-02 — Hints\n- B-02 — Again\n").is_err());
        assert!(titles("- B-2 — Hints\n").is_err());
        assert!(titles(&format!("- B-02 — {}\n", "x".repeat(101))).is_err());
    }
}
