//! Patterns of texts, read once and matched often.
//!
//! Most patterns that people write are classes in a row: `^[a-z][a-z0-9-]*$`. Such a one is matched in one pass over the bytes
//! by the table below; everything else by the engine, which is ten times slower at it. Both give the same answer: a test
//! holds one against the other.

use regex_lite::{Regex, RegexBuilder};

/// Of a compiled pattern: enough for what people write, too little for one that eats the machine.
const MAX_PATTERN_BYTES: usize = 64 * 1024;
/// Of a row: more than this is for the engine, which has a bound for it.
const MAX_REPEATS: usize = 1000;

/// A pattern as the platform reads it. None where it cannot.
pub(crate) fn compile(pattern: &str) -> Option<Regex> {
    RegexBuilder::new(pattern).size_limit(MAX_PATTERN_BYTES).nest_limit(50).build().ok()
}

#[derive(Clone, Debug)]
pub(super) struct Pattern {
    pub(super) written: String,
    read: Read,
}

#[derive(Clone, Debug)]
enum Read {
    Row(Vec<Part>),
    Engine(Regex),
    /// Registered before patterns were read; it matches nothing.
    Unreadable,
}

impl Pattern {
    pub(super) fn of(written: &str) -> Self {
        let row = row(written).map(Read::Row);
        let read = row.or_else(|| compile(written).map(Read::Engine)).unwrap_or(Read::Unreadable);
        Self { written: written.to_owned(), read }
    }

    pub(super) fn is_match(&self, text: &str) -> bool {
        match &self.read {
            Read::Row(parts) => is_row(parts, text.as_bytes()),
            Read::Engine(engine) => engine.is_match(text),
            Read::Unreadable => false,
        }
    }
}

/// Letters of ASCII, a bit each, and how many of them there may be.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Part {
    letters: u128,
    least: usize,
    most: usize,
}

/// As many as there are of each part, in turn: `row` makes sure that fewer would never do.
fn is_row(parts: &[Part], mut text: &[u8]) -> bool {
    for part in parts {
        let is_one = |byte: &&u8| byte.is_ascii() && (part.letters >> **byte) & 1 == 1;
        let found = text.iter().take(part.most).take_while(is_one).count();
        if found < part.least {
            return false;
        }
        text = &text[found..];
    }
    text.is_empty()
}

/// The parts of a pattern that is a row of them and in which no letter could belong to two.
fn row(pattern: &str) -> Option<Vec<Part>> {
    let mut rest = pattern.strip_prefix('^')?.strip_suffix('$')?;
    if !rest.is_ascii() || rest.ends_with('\\') {
        return None;
    }
    let mut parts = Vec::new();
    while !rest.is_empty() {
        let (letters, after) = letters(rest)?;
        let ((least, most), after) = repeats(after)?;
        parts.push(Part { letters, least, most });
        rest = after;
    }
    let mut open: u128 = 0;
    for part in &parts {
        if part.letters & open != 0 {
            return None;
        }
        // What may be there more often reaches up to the next part that must be there.
        let own = if part.least == part.most { 0 } else { part.letters };
        open = if part.least > 0 { own } else { open | own };
    }
    Some(parts)
}

fn bit(letter: u8) -> u128 {
    1 << letter
}

/// A letter that means itself inside and outside of brackets.
fn is_plain(letter: u8) -> bool {
    letter.is_ascii_alphanumeric() || matches!(letter, b'_' | b'/' | b'@' | b'%' | b',' | b'=' | b'<' | b'>')
}

fn letters(text: &str) -> Option<(u128, &str)> {
    match text.as_bytes() {
        [b'[', ..] => {
            let (class, after) = text[1..].split_once(']')?;
            Some((class_letters(class.as_bytes())?, after))
        }
        [b'\\', escaped @ (b'.' | b'-' | b'/' | b'+'), ..] => Some((bit(*escaped), &text[2..])),
        [letter, ..] if is_plain(*letter) || *letter == b'-' || *letter == b':' => {
            Some((bit(*letter), &text[1..]))
        }
        _ => None,
    }
}

fn class_letters(mut class: &[u8]) -> Option<u128> {
    let mut letters = 0;
    while !class.is_empty() {
        let (found, after) = match class {
            [from, b'-', to, after @ ..]
                if from <= to && from.is_ascii_alphanumeric() && to.is_ascii_alphanumeric() =>
            {
                ((*from..=*to).map(bit).sum(), after)
            }
            [b'\\', escaped @ (b'.' | b'-' | b'/' | b'+'), after @ ..] => (bit(*escaped), after),
            // A hyphen means itself at the end alone.
            [b'-'] => (bit(b'-'), &[][..]),
            [letter, after @ ..] if is_plain(*letter) || matches!(letter, b'.' | b'+' | b'*') => {
                (bit(*letter), after)
            }
            _ => return None,
        };
        // `a-` before anything but a letter is left to the engine.
        if after.first() == Some(&b'-') && after.len() > 1 {
            return None;
        }
        letters |= found;
        class = after;
    }
    (letters != 0).then_some(letters)
}

/// How often, and what follows.
fn repeats(text: &str) -> Option<((usize, usize), &str)> {
    let (bounds, after) = match text.as_bytes() {
        [b'*', ..] => ((0, usize::MAX), &text[1..]),
        [b'+', ..] => ((1, usize::MAX), &text[1..]),
        [b'?', ..] => ((0, 1), &text[1..]),
        [b'{', ..] => {
            let (bounds, after) = text[1..].split_once('}')?;
            let number = |text: &str| {
                text.parse::<usize>().ok().filter(|n| *n <= MAX_REPEATS && !text.starts_with('+'))
            };
            let bounds = match bounds.split_once(',') {
                None => (number(bounds)?, number(bounds)?),
                Some((least, "")) => (number(least)?, usize::MAX),
                Some((least, most)) => (number(least)?, number(most)?),
            };
            (bounds, after)
        }
        _ => return Some(((1, 1), text)),
    };
    // Another sign would mean "as few as possible", or nothing.
    let again = after.starts_with(['*', '+', '?', '{']);
    (bounds.0 <= bounds.1 && !again).then_some((bounds, after))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn what_is_a_row_and_what_is_not() {
        for pattern in [
            "^$",
            "^[a-z]+$",
            "^[A-Za-z0-9][A-Za-z0-9._-]*$",
            "^[A-Za-z0-9][A-Za-z0-9._-]{0,95}/[A-Za-z0-9][A-Za-z0-9._-]{0,95}$",
            "^v[0-9]+\\.[0-9]+$",
            "^[0-9]{2,}Gi?$",
            "^a:b-c$",
        ] {
            assert!(row(pattern).is_some(), "{pattern}");
        }
        for pattern in [
            "",
            "a",
            "^a",
            "a$",
            "^a|b$",
            "^(a)$",
            "^[^a]$",
            "^.$",
            "^[a-z]*a$",
            "^[a-z]*[0-9]?a$",
            "^a\\$",
            "^[é]$",
            "^a*?$",
            "^a{2}{3}$",
            "^[]a]$",
            "^[a-]-z]$",
            "^\\d$",
            "^[\\d]$",
            "^[[:alpha:]]$",
            "^[a--z]$",
            "^[a&&b]$",
            "^a{3,2}$",
            "^a{9999}$",
            "^(?i)a$",
            "^[]$",
        ] {
            assert!(row(pattern).is_none(), "{pattern}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]

        /// B-01: a row says what the engine says, of any pattern and any text.
        #[test]
        fn a_row_and_the_engine_agree(
            pattern in prop_oneof![
                "\\^(([a-c/.:-]|\\[[a-c0-2_.-]{1,4}\\]|\\[a-c[0-2-]?\\]|\\\\[.d+-])([*+?]|\\{[0-3](,[0-3]?)?\\})?){0,4}\\$",
                "\\^[a-c\\[\\]\\-*+?{}0-2,.\\\\/^$]{0,10}\\$",
            ],
            texts in prop::collection::vec("[a-c0-2_./:+$-]{0,8}|\\PC{0,3}", 8),
        ) {
            if let Some(parts) = row(&pattern) {
                let engine = compile(&pattern);
                prop_assert!(engine.is_some(), "the engine does not read {pattern}");
                for text in &texts {
                    let found = engine.as_ref().is_some_and(|engine| engine.is_match(text));
                    prop_assert_eq!(is_row(&parts, text.as_bytes()), found, "{} on {:?}", pattern, text);
                }
            }
        }
    }
}
