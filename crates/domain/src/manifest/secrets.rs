//! Raw secrets in a document. Found before anything is stored, and never repeated in a message.
//!
//! This is a net, not a proof: it knows names that promise a secret and shapes that issuers give theirs. What slips
//! through is still only as visible as the manifest itself.

use serde_json::Value;

use super::forbidden::each_text;
use super::walk::{join, pointer};
use crate::FieldError;

const CODE: &str = "raw_secret_not_allowed";
const ADVICE: &str = "This looks like a secret. Declare it in secrets and name it as secret://name; values stay out of manifests.";

const NAME_ENDS: &[&str] =
    &["TOKEN", "PASSWORD", "PASSWD", "PASSPHRASE", "SECRET", "KEY", "CREDENTIAL", "CREDENTIALS"];
/// Such names ask for a value that a user would type in the clear.
const TYPED_ENDS: &[&str] = &["TOKEN", "PASSWORD", "PASSWD", "PASSPHRASE", "SECRET"];

/// Prefix and least length of the whole.
const SHAPES: &[(&str, usize)] = &[
    ("ghp_", 30),
    ("gho_", 30),
    ("ghs_", 30),
    ("github_pat_", 30),
    ("glpat-", 20),
    ("hf_", 30),
    ("sk-", 30),
    ("sk_live_", 20),
    ("xoxb-", 20),
    ("xoxp-", 20),
    ("npm_", 30),
    ("pypi-", 40),
    ("AKIA", 20),
    ("ASIA", 20),
    ("AIza", 35),
    ("dop_v1_", 30),
    ("hvs.", 20),
    ("nvapi-", 30),
];

pub(super) fn find(document: &Value) -> Vec<FieldError> {
    let mut paths = Vec::new();
    each_text("", document, &mut |path, text| {
        if looks_like_secret(text) {
            paths.push(pointer(path));
        }
    });
    environments(document, &mut paths);
    parameters(document, &mut paths);
    chart(&document["chart"], &mut paths);
    paths.sort();
    paths.dedup();
    paths.into_iter().map(|path| FieldError::new(path, CODE, ADVICE)).collect()
}

fn environments(document: &Value, paths: &mut Vec<String>) {
    let mut each = |at: &str, env: &Value| {
        for (index, variable) in env.as_array().into_iter().flatten().enumerate() {
            if let (Some(name), Some(value)) = (variable["name"].as_str(), variable["value"].as_str())
                && ends_in(name, NAME_ENDS)
                && !is_harmless(value)
            {
                paths.push(format!("{at}/{index}/value"));
            }
        }
    };
    each("/runtime_profile/env", &document["runtime_profile"]["env"]);
    for (index, component) in document["components"].as_array().into_iter().flatten().enumerate() {
        each(&format!("/components/{index}/env"), &component["env"]);
    }
}

fn parameters(document: &Value, paths: &mut Vec<String>) {
    for (name, parameter) in document["parameters"].as_object().into_iter().flatten() {
        let at = join("/parameters", name);
        let is_reference = parameter["type"] == "secret_ref";
        if let Some(default) = parameter["default"].as_str()
            && (is_reference && !default.starts_with("secret://")
                || ends_in(name, NAME_ENDS) && !is_harmless(default))
        {
            paths.push(format!("{at}/default"));
        } else if parameter["type"] == "string"
            && parameter.get("enum").is_none()
            && ends_in(name, TYPED_ENDS)
        {
            paths.push(format!("{at}/type"));
        }
    }
}

/// What a chart has as a default is read by everybody who reads the manifest, and what is set is stored.
fn chart(chart: &Value, paths: &mut Vec<String>) {
    let mut found = |place: &str, value: &Value, shown: Option<&str>| {
        each_text(place, value, &mut |path, text| {
            // An entry of a list is called like the list.
            let name = path.rsplit('/').find(|step| step.parse::<usize>().is_err()).unwrap_or_default();
            if names_secret(name) && !is_harmless(text) {
                paths.push(shown.unwrap_or(path).to_owned());
            }
        });
    };
    found("/chart/defaults", &chart["defaults"], None);
    for (index, one) in chart["set"].as_array().into_iter().flatten().enumerate() {
        for field in ["value", "literal"] {
            let shown = format!("/chart/set/{index}/{field}");
            found(one["path"].as_str().unwrap_or_default(), &one[field], Some(&shown));
        }
    }
}

/// Charts write `adminPassword` and `secretAccessKey`; what exists elsewhere (`existingSecret`) is a name.
fn names_secret(name: &str) -> bool {
    const KEYS: [&str; 4] = ["api", "access", "private", "secret"];
    let mut spaced = String::new();
    for c in name.chars() {
        if c.is_ascii_uppercase() {
            spaced.push(' ');
        }
        spaced.push(if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { ' ' });
    }
    let words: Vec<&str> = spaced.split(' ').filter(|word| !word.is_empty()).collect();
    match words.as_slice() {
        ["existing", ..] | [] => false,
        [.., before, "key"] => KEYS.contains(before),
        [.., last] => TYPED_ENDS.iter().any(|end| end.eq_ignore_ascii_case(last)),
    }
}

/// The last word of the name, whatever its case; a public key is no secret.
fn ends_in(name: &str, ends: &[&str]) -> bool {
    let name = name.to_ascii_uppercase();
    let last = name.rsplit('_').next().unwrap_or_default();
    ends.contains(&last) && !name.ends_with("PUBLIC_KEY")
}

/// Nothing, a reference, an expression or a switch.
fn is_harmless(value: &str) -> bool {
    value.is_empty()
        || value.starts_with("secret://")
        || (value.starts_with("${") && value.ends_with('}') && value.matches("${").count() == 1)
        || ["true", "false", "yes", "no", "on", "off", "0", "1", "none"]
            .contains(&value.to_ascii_lowercase().as_str())
}

/// Whether a text holds what looks like the value of a secret.
pub fn looks_like_secret(text: &str) -> bool {
    if text.contains("-----BEGIN ") && text.contains("PRIVATE KEY") {
        return true;
    }
    let breaks =
        |c: char| c.is_whitespace() || matches!(c, '=' | '"' | '\'' | ',' | ';' | '&' | '?' | '(' | ')');
    text.split(breaks).any(|word| {
        SHAPES.iter().any(|(prefix, least)| {
            word.len() >= *least
                && word.starts_with(prefix)
                && word[prefix.len()..]
                    .bytes()
                    .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'.'))
                && word.bytes().any(|b| b.is_ascii_digit())
        }) || is_jwt(word)
            || has_password(word)
    })
}

fn is_jwt(word: &str) -> bool {
    let base64 = |part: &str| {
        part.len() >= 10 && part.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-'))
    };
    word.starts_with("eyJ") && word.split('.').count() == 3 && word.split('.').all(base64)
}

/// `scheme://user:password@host`.
fn has_password(word: &str) -> bool {
    let Some((_, rest)) = word.split_once("://") else { return false };
    let authority = rest.split('/').next().unwrap_or_default();
    authority
        .rsplit_once('@')
        .and_then(|(user, _)| user.split_once(':'))
        .is_some_and(|(_, password)| !password.is_empty() && !password.starts_with("${"))
}
