//! What a registry says about who may come in: `WWW-Authenticate` and the answer of its token server, read without trusting
//! who wrote them. Pure, and so built with or without the client.

use zeroize::Zeroizing;

use crate::json::{self, BadJson};

/// A token with many scopes has some kilobytes.
pub(crate) const MAX_TOKEN_BYTES: usize = 64 * 1024;

/// What a registry asks for before it answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Challenge {
    Basic,
    Bearer { realm: String, service: Option<String> },
}

/// The first challenge that we can answer; Bearer before Basic, because a token says less than a password.
pub(crate) fn choose<'a>(headers: impl Iterator<Item = &'a str>) -> Option<Challenge> {
    let all: Vec<Challenge> = headers.flat_map(parse).collect();
    let bearer = all.iter().find(|challenge| matches!(challenge, Challenge::Bearer { .. }));
    bearer.or(all.first()).cloned()
}

/// One header may hold several challenges: `Basic realm="x", Bearer realm="y",service="z"`. A parameter given twice
/// makes a challenge ambiguous, and it is left out.
fn parse(header: &str) -> Vec<Challenge> {
    let mut found: Vec<(String, Vec<(String, String)>)> = Vec::new();
    let mut rest = header.trim_start_matches([' ', ',']);
    while !rest.is_empty() {
        let end = rest.find([' ', '=', ',']).unwrap_or(rest.len());
        let (word, after) = rest.split_at(end);
        if let Some(value) = after.trim_start().strip_prefix('=') {
            let Some((value, after)) = value_of(value.trim_start()) else { return Vec::new() };
            let Some((_, parameters)) = found.last_mut() else { return Vec::new() };
            parameters.push((word.to_ascii_lowercase(), value));
            rest = after;
        } else {
            if word.is_empty() {
                return Vec::new();
            }
            found.push((word.to_ascii_lowercase(), Vec::new()));
            rest = after;
        }
        rest = rest.trim_start_matches([' ', ',']);
    }
    found.into_iter().filter_map(|(scheme, parameters)| known(&scheme, &parameters)).collect()
}

/// A quoted text or a word, and what follows.
fn value_of(text: &str) -> Option<(String, &str)> {
    let Some(quoted) = text.strip_prefix('"') else {
        let end = text.find([' ', ',']).unwrap_or(text.len());
        return Some((text[..end].to_owned(), &text[end..]));
    };
    let mut value = String::new();
    let mut letters = quoted.char_indices();
    while let Some((at, letter)) = letters.next() {
        match letter {
            '"' => return Some((value, &quoted[at + 1..])),
            '\\' => value.push(letters.next()?.1),
            letter => value.push(letter),
        }
    }
    None
}

fn known(scheme: &str, parameters: &[(String, String)]) -> Option<Challenge> {
    let mut names: Vec<&str> = parameters.iter().map(|(name, _)| name.as_str()).collect();
    names.sort_unstable();
    if names.windows(2).any(|pair| pair[0] == pair[1]) {
        return None;
    }
    let find =
        |wanted: &str| parameters.iter().find(|(name, _)| name == wanted).map(|(_, value)| value.clone());
    match scheme {
        "basic" => Some(Challenge::Basic),
        "bearer" => Some(Challenge::Bearer { realm: find("realm")?, service: find("service") }),
        _ => None,
    }
}

/// Why an answer holds no token.
#[derive(Debug)]
pub(crate) enum NoToken {
    Unreadable(BadJson),
    /// It would break the header that it is sent in.
    Misspelled,
}

impl std::fmt::Display for NoToken {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Unreadable(why) => why.fmt(f),
            Self::Misspelled => f.write_str("it has characters that no token has"),
        }
    }
}

impl From<BadJson> for NoToken {
    fn from(why: BadJson) -> Self {
        Self::Unreadable(why)
    }
}

/// `token`, or `access_token` as the other standard calls it.
pub(crate) fn token_in(body: &[u8]) -> Result<Zeroizing<String>, NoToken> {
    let document = json::read(body, MAX_TOKEN_BYTES)?;
    let top = document.open("", &["token", "access_token"])?;
    let token = match top.find_text("token")? {
        Some(token) => token,
        None => top.text("access_token")?,
    };
    if (1..=MAX_TOKEN_BYTES).contains(&token.len()) && token.bytes().all(|b| b.is_ascii_graphic()) {
        Ok(Zeroizing::new(token.to_owned()))
    } else {
        Err(NoToken::Misspelled)
    }
}

/// Reads the bytes as each of both: what a fuzzer calls.
#[doc(hidden)]
pub fn fuzz_one(bytes: &[u8]) {
    if let Ok(header) = std::str::from_utf8(bytes)
        && let Some(Challenge::Bearer { realm, service }) = choose([header].into_iter())
    {
        let longest = realm.len().max(service.map_or(0, |service| service.len()));
        assert!(longest < header.len(), "nothing is read that was not written");
    }
    match token_in(bytes) {
        Ok(token) => assert!(token.bytes().all(|b| b.is_ascii_graphic()), "a token fits a header"),
        Err(why) => assert!(!why.to_string().is_empty(), "a refusal says why"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bearer(realm: &str, service: Option<&str>) -> Challenge {
        Challenge::Bearer { realm: realm.to_owned(), service: service.map(str::to_owned) }
    }

    #[test]
    fn a_challenge_is_read_as_the_standard_has_it() {
        let one = |header: &'static str| choose([header].into_iter());
        let full = r#"Bearer realm="https://a/t?x=1,2",service="r \"q\"",scope="repository:a:pull,push""#;
        assert_eq!(one(full), Some(bearer("https://a/t?x=1,2", Some("r \"q\""))));
        assert_eq!(one("bearer  REALM=https://a/t , Service=b"), Some(bearer("https://a/t", Some("b"))));
        assert_eq!(one(r#"Basic realm="x", Bearer realm="y""#), Some(bearer("y", None)));
        assert_eq!(one(r#"Basic realm="registry""#), Some(Challenge::Basic));
        assert_eq!(one("Basic"), Some(Challenge::Basic));
        assert_eq!(one(r#"Negotiate, Basic realm="x""#), Some(Challenge::Basic));
        for nothing in [
            "",
            "Bearer",
            "Digest realm=\"x\"",
            "Bearer realm=\"x",
            "=",
            "realm=\"x\"",
            "Bearer realm=\"https://good/\",realm=\"https://evil/\"",
            "Bearer service=\"x\"",
        ] {
            assert_eq!(one(nothing), None, "{nothing}");
        }
    }

    proptest::proptest! {
        /// F06.
        #[test]
        fn any_header_is_read_without_a_panic(header in "[ -~äö\\\\\",=]{0,100}") {
            let _ = choose([header.as_str()].into_iter());
        }
    }
}
