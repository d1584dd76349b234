//! Keyset pages with opaque cursors that fit only the list they came from.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use crate::{Error, Result};

pub const MAX_LIMIT: u32 = 200;
pub const DEFAULT_LIMIT: u32 = 50;

/// What to read: at most `limit` rows after `after`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PageRequest {
    pub limit: u32,
    pub after: Option<String>,
}

/// Rows, and the key of the last one if more follow.
#[derive(Clone, Debug)]
pub struct Page<T> {
    pub items: Vec<T>,
    pub next: Option<String>,
}

impl<T> Page<T> {
    /// From rows read with `limit + 1`: the extra row tells that more follow.
    pub fn from_rows(mut items: Vec<T>, limit: u32, key: impl Fn(&T) -> String) -> Self {
        let limit = limit as usize;
        let more = items.len() > limit;
        items.truncate(limit);
        let next = if more { items.last().map(key) } else { None };
        Self { items, next }
    }

    pub fn map<U>(self, f: impl FnMut(T) -> U) -> Page<U> {
        Page { items: self.items.into_iter().map(f).collect(), next: self.next }
    }
}

impl PageRequest {
    /// `list` names the list and its filters; a cursor made for another one is refused.
    pub fn parse(limit: Option<u32>, cursor: Option<&str>, list: &str) -> Result<Self> {
        let limit = limit.unwrap_or(DEFAULT_LIMIT);
        if limit == 0 || limit > MAX_LIMIT {
            return Err(Error::field(
                "/limit",
                "out_of_range",
                format!("Use a number from 1 to {MAX_LIMIT}."),
            ));
        }
        let after = cursor.map(|text| decode(text, list)).transpose()?;
        Ok(Self { limit, after })
    }
}

fn seal(list: &str, key: &str) -> [u8; 8] {
    let mut context = ring::digest::Context::new(&ring::digest::SHA256);
    context.update(list.as_bytes());
    context.update(&[0]);
    context.update(key.as_bytes());
    context.finish().as_ref()[..8].try_into().expect("SHA-256 has more than eight bytes")
}

pub fn encode(list: &str, key: &str) -> String {
    let mut bytes = seal(list, key).to_vec();
    bytes.extend_from_slice(key.as_bytes());
    URL_SAFE_NO_PAD.encode(bytes)
}

fn decode(cursor: &str, list: &str) -> Result<String> {
    let refuse = || {
        Error::field(
            "/cursor",
            "invalid_cursor",
            "This cursor is not from this list; start again without a cursor.",
        )
    };
    if cursor.len() > 512 {
        return Err(refuse());
    }
    let bytes = URL_SAFE_NO_PAD.decode(cursor).map_err(|_| refuse())?;
    let (mark, key) = bytes.split_at_checked(8).ok_or_else(refuse)?;
    let key = std::str::from_utf8(key).map_err(|_| refuse())?;
    if mark != seal(list, key) {
        return Err(refuse());
    }
    Ok(key.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_fits_only_its_own_list() {
        let cursor = encode("tenants", "k1");
        assert_eq!(PageRequest::parse(None, Some(&cursor), "tenants").unwrap().after.as_deref(), Some("k1"));
        assert!(PageRequest::parse(None, Some(&cursor), "projects").is_err());
        for bad in ["", "x", "%%%", "AAAAAAAAAAA", &"A".repeat(600)] {
            assert!(PageRequest::parse(None, Some(bad), "tenants").is_err(), "{bad}");
        }
        assert!(PageRequest::parse(Some(0), None, "tenants").is_err());
        assert!(PageRequest::parse(Some(201), None, "tenants").is_err());
    }
}
