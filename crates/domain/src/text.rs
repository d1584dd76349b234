//! Names that people type, parsed once at the door.

use serde::Serialize;

use crate::FieldError;

/// Why a text is not acceptable: a stable code and a sentence that says what to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused {
    pub code: &'static str,
    pub message: String,
}

impl Refused {
    fn new(code: &'static str, message: impl Into<String>) -> Self {
        Self { code, message: message.into() }
    }

    pub fn at(self, path: &str) -> FieldError {
        FieldError::new(path, self.code, self.message)
    }
}

/// Processors from thousandths, without zeros that say nothing.
pub fn cpus(millis: i64) -> String {
    let text = format!("{}.{:03}", millis / 1000, millis.unsigned_abs() % 1000);
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// Where a member of an object stands, as a JSON pointer. The name is the caller's: it is cut, and cannot lie in a log.
pub fn member_at(object: &str, name: &str) -> String {
    let shown: String =
        name.chars().take(100).map(|c| if is_deceptive(c) { '\u{fffd}' } else { c }).collect();
    format!("{object}/{}", shown.replace('~', "~0").replace('/', "~1"))
}

/// A step of a JSON pointer as the name it stands for.
pub fn unescaped(step: &str) -> String {
    step.replace("~1", "/").replace("~0", "~")
}

/// Characters that have no business in a name and would let it lie in a log, a terminal or a page: controls
/// (NUL among them) and the bidirectional and zero-width formatting marks.
pub fn is_deceptive(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}')
}

macro_rules! text_type {
    ($(#[$doc:meta])* $name:ident, $max:expr, $pattern:expr) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
        #[serde(transparent)]
        pub struct $name(String);

        impl $name {
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl From<$name> for String {
            fn from(name: $name) -> String {
                name.0
            }
        }

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let text = String::deserialize(deserializer)?;
                $name::parse(&text).map_err(|refused| serde::de::Error::custom(refused.message))
            }
        }

        impl schemars::JsonSchema for $name {
            fn inline_schema() -> bool {
                true
            }

            fn schema_name() -> std::borrow::Cow<'static, str> {
                stringify!($name).into()
            }

            fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
                schemars::json_schema!({ "type": "string", "minLength": 1, "maxLength": $max, "pattern": $pattern })
            }
        }
    };
}

text_type! {
    /// A name that stands in addresses: `[a-z0-9]` with single hyphens inside, 2 to 40 characters.
    Slug, 40, "^[a-z0-9]+(-[a-z0-9]+)*$"
}

impl Slug {
    pub fn parse(text: &str) -> Result<Self, Refused> {
        let parts_ok = text.split('-').all(|part| {
            !part.is_empty() && part.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit())
        });
        if !(2..=40).contains(&text.len()) || !parts_ok {
            return Err(Refused::new(
                "invalid_slug",
                "Use 2 to 40 lower-case letters and digits, with single hyphens between them.",
            ));
        }
        Ok(Self(text.to_owned()))
    }
}

text_type! {
    /// A name for people to read: 1 to 120 characters, no control or hidden characters, no space at the ends.
    DisplayName, 120, "^[^\\u0000-\\u001f\\u007f]+$"
}

impl DisplayName {
    pub fn parse(text: &str) -> Result<Self, Refused> {
        let length = text.chars().count();
        if length == 0 || length > 120 || text.trim() != text || text.chars().any(is_deceptive) {
            return Err(Refused::new(
                "invalid_name",
                "Use 1 to 120 visible characters, without spaces at the ends or hidden characters.",
            ));
        }
        Ok(Self(text.to_owned()))
    }
}

text_type! {
    /// An e-mail address, case-folded: two spellings of one address are one account.
    Email, 254, "^[^@\\s\\u0000-\\u001f\\u007f]+@[^@\\s\\u0000-\\u001f\\u007f]+$"
}

impl Email {
    pub fn parse(text: &str) -> Result<Self, Refused> {
        let refuse = || Refused::new("invalid_email", "Use an address of the form name@example.org.");
        let folded = text.to_lowercase();
        let (local, host) = folded.split_once('@').ok_or_else(refuse)?;
        let clean = |part: &str| {
            !part.is_empty()
                && !part.starts_with('.')
                && !part.ends_with('.')
                && !part.chars().any(|c| {
                    c.is_whitespace() || is_deceptive(c) || matches!(c, '@' | '<' | '>' | '"' | ',' | ';')
                })
        };
        if folded.len() > 254 || local.len() > 64 || !clean(local) || !clean(host) {
            return Err(refuse());
        }
        Ok(Self(folded))
    }
}

/// Free text that somebody wrote to explain themselves: at most 500 characters, no deceptive ones but line ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reason(String);

impl Reason {
    pub fn parse(text: &str) -> Result<Self, Refused> {
        if text.chars().count() > 500 || text.chars().any(|c| c != '\n' && is_deceptive(c)) {
            return Err(Refused::new("invalid_reason", "Use at most 500 visible characters."));
        }
        Ok(Self(text.to_owned()))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// The name in `known` closest to `given`, if one is close enough to be what was meant.
pub fn nearest<'a>(given: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    known
        .into_iter()
        .map(|name| (edit_distance(given, name), name))
        .filter(|(distance, name)| *distance <= 1 + name.len() / 3)
        .min()
        .map(|(_, name)| name)
}

fn edit_distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, ca) in a.chars().take(200).enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, cb) in b.iter().enumerate() {
            let above = row[j + 1];
            row[j + 1] = (diagonal + usize::from(ca != *cb)).min(above + 1).min(row[j] + 1);
            diagonal = above;
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slugs_that_could_play_tricks_in_a_path_are_refused() {
        for good in ["demo", "demo-lab", "a1", "9lives"] {
            assert!(Slug::parse(good).is_ok(), "{good}");
        }
        for bad in [
            "",
            "a",
            "-a",
            "a-",
            "a--b",
            "A",
            "a_b",
            "a.b",
            "..",
            "../x",
            "a/b",
            "a%2fb",
            "a\0b",
            "a b",
            "é",
            "xn--",
            "ａｂ",
            "a\u{202e}b",
            "a\nb",
            &"a".repeat(41),
        ] {
            assert!(Slug::parse(bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn one_address_is_one_account() {
        assert_eq!(Email::parse("Ada@Example.ORG").unwrap().as_str(), "ada@example.org");
        for bad in ["", "ada", "@x", "ada@", "a b@c", "a@b@c", "a@b\n", "a\0@b", ".a@b", "a@b.", "<a>@b"] {
            assert!(Email::parse(bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn display_names_cannot_carry_terminal_or_direction_tricks() {
        assert!(DisplayName::parse("Größe 9 – Labor").is_ok());
        for bad in ["", " x", "x ", "a\u{1b}[31m", "a\u{202e}b", "a\0", "a\nb", &"x".repeat(121)] {
            assert!(DisplayName::parse(bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn a_typing_slip_finds_the_name_that_was_meant() {
        assert_eq!(nearest("lisen", ["listen", "port"]), Some("listen"));
        assert_eq!(nearest("zzzzzz", ["listen", "port"]), None);
    }
}
