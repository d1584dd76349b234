//! Which error codes the code can send, and which of them lack their page in `docs/errors/`.
//!
//! Found by reading the source: a code is the literal that an `Error` constructor, or `reworded`, takes. That misses a code
//! put together at run time, which would be a mistake anyway, since codes are public and fixed.

use std::collections::BTreeSet;
use std::path::Path;

use crate::{Result, files_below, read};

/// Of these the literal is a path or a text for the log, not a code.
const OTHER_CONSTRUCTORS: &[&str] = &["field", "fields", "internal"];

/// The codes without a page.
pub(crate) fn without_page(root: &Path) -> Result<Vec<String>> {
    let mut codes = BTreeSet::new();
    for path in files_below(&root.join("crates"))? {
        let in_src = path.components().any(|part| part.as_os_str() == "src");
        if in_src && path.extension().is_some_and(|extension| extension == "rs") {
            codes.extend(codes_in(&read(&path)?));
        }
    }
    Ok(codes.into_iter().filter(|code| !root.join(format!("docs/errors/{code}.md")).is_file()).collect())
}

fn codes_in(source: &str) -> Vec<String> {
    let product = source.split("#[cfg(test)]").next().unwrap_or_default();
    let mut codes = Vec::new();
    for start in ["Error::", "Self::", ".reworded"] {
        for (_, rest) in product.match_indices(start).map(|(at, found)| product.split_at(at + found.len())) {
            let Some((constructor, arguments)) = rest.split_once('(') else { continue };
            if constructor.contains(|c: char| !(c.is_ascii_lowercase() || c == '_'))
                || OTHER_CONSTRUCTORS.contains(&constructor)
            {
                continue;
            }
            let mut arguments = arguments.trim_start();
            if arguments.starts_with("Kind::") {
                arguments = arguments.split_once(',').map_or("", |(_, rest)| rest.trim_start());
            }
            // A lone string may be anything; a code is followed by its message.
            let literal = arguments.strip_prefix('"').and_then(|text| text.split_once('"'));
            if let Some((code, after)) = literal
                && after.trim_start().starts_with(',')
                && !code.is_empty()
                && code.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_')
            {
                codes.push(code.to_owned());
            }
        }
    }
    codes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_is_the_literal_before_the_message() {
        let source = r#"
            Error::conflict("slug_taken", "Choose another.");
            Error::new(
                Kind::TooLarge,
                "body_too_large",
                format!("At most {limit} bytes."),
            );
            Error::field("/slug", "invalid_slug", "No.");
            Error::internal("lost");
            Self::new(Kind::NotFound, "not_found", "There is none.")
            Error::fields(faults).reworded("incompatible_allocation", "No.");
            #[cfg(test)]
            Error::invalid("only_in_a_test", "x");
        "#;
        assert_eq!(
            codes_in(source),
            ["slug_taken", "body_too_large", "not_found", "incompatible_allocation"]
        );
    }
}
