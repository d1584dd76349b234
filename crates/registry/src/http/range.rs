//! Ranges of bytes: which part of a blob is wanted, and where a chunk of an upload belongs.

use std::ops::Range;

use axum::http::{HeaderMap, header};

use crate::error::{Error, Result};

/// What a `Range` header asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Wanted {
    All,
    Part(Range<u64>),
    /// Nothing of this blob lies there.
    Nothing,
}

/// Several ranges, or a unit that is not bytes, get the whole, as HTTP allows.
pub(super) fn wanted(headers: &HeaderMap, size: u64) -> Wanted {
    let value = headers.get(header::RANGE).and_then(|value| value.to_str().ok());
    let Some((first, last)) =
        value.and_then(|value| value.strip_prefix("bytes=")).and_then(|range| range.split_once('-'))
    else {
        return Wanted::All;
    };
    let range = match (first.trim().parse::<u64>(), last.trim().parse::<u64>()) {
        (Ok(first), Ok(last)) => first..last.saturating_add(1).min(size),
        (Ok(first), Err(_)) if last.trim().is_empty() => first..size,
        (Err(_), Ok(length)) if first.trim().is_empty() => size.saturating_sub(length)..size,
        _ => return Wanted::All,
    };
    if range.is_empty() { Wanted::Nothing } else { Wanted::Part(range) }
}

/// Where a chunk starts, from `Content-Range: 0-99`, which some clients write as HTTP does for answers. Its length must
/// be the body's.
pub(super) fn chunk_start(headers: &HeaderMap) -> Result<Option<u64>> {
    let Some(value) = headers.get(header::CONTENT_RANGE) else { return Ok(None) };
    let text = value.to_str().map_err(|_| Error::BadRange)?;
    let text = text.strip_prefix("bytes ").unwrap_or(text);
    let text = text.split_once('/').map_or(text, |(range, _)| range);
    let (first, last) = text.split_once('-').ok_or(Error::BadRange)?;
    let number = |text: &str| text.trim().parse::<u64>().map_err(|_| Error::BadRange);
    let (first, last) = (number(first)?, number(last)?);
    let length = last.checked_sub(first).ok_or(Error::BadRange)?.saturating_add(1);
    match content_length(headers) {
        Some(given) if given != length => Err(Error::OtherLength),
        Some(_) | None => Ok(Some(first)),
    }
}

pub(super) fn content_length(headers: &HeaderMap) -> Option<u64> {
    headers.get(header::CONTENT_LENGTH)?.to_str().ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;

    use super::*;

    fn range(text: &'static str, size: u64) -> Wanted {
        wanted(&HeaderMap::from_iter([(header::RANGE, HeaderValue::from_static(text))]), size)
    }

    #[test]
    fn a_range_is_cut_to_the_blob_and_one_outside_is_nothing() {
        assert_eq!(range("bytes=0-9", 100), Wanted::Part(0..10));
        assert_eq!(range("bytes=90-200", 100), Wanted::Part(90..100));
        assert_eq!(range("bytes=90-", 100), Wanted::Part(90..100));
        assert_eq!(range("bytes=-10", 100), Wanted::Part(90..100));
        assert_eq!(range("bytes=-1000", 100), Wanted::Part(0..100));
        for nothing in ["bytes=100-", "bytes=100-200", "bytes=50-0", "bytes=-0"] {
            assert_eq!(range(nothing, 100), Wanted::Nothing, "{nothing}");
        }
        assert_eq!(range("bytes=0-", 0), Wanted::Nothing);
        for all in ["bytes=0-1,5-6", "bytes=-", "bytes=a-b", "bytes=5", "lines=0-1", "bytes=0-x"] {
            assert_eq!(range(all, 100), Wanted::All, "{all}");
        }
        assert_eq!(range("bytes=0-18446744073709551615", 100), Wanted::Part(0..100));
    }

    #[test]
    fn a_chunk_says_where_it_belongs_and_does_not_lie_about_its_length() {
        let start = |text: &'static str, length: &'static str| {
            chunk_start(&HeaderMap::from_iter([
                (header::CONTENT_RANGE, HeaderValue::from_static(text)),
                (header::CONTENT_LENGTH, HeaderValue::from_static(length)),
            ]))
        };
        assert_eq!(start("0-9", "10").unwrap(), Some(0));
        assert_eq!(start("bytes 10-19/*", "10").unwrap(), Some(10));
        assert!(matches!(start("10-19", "11"), Err(Error::OtherLength)));
        for bad in ["", "a-b", "9-0", "-5", "5-", "0-18446744073709551616"] {
            assert!(matches!(start(bad, "1"), Err(Error::BadRange)), "{bad}");
        }
        assert_eq!(chunk_start(&HeaderMap::new()).unwrap(), None);
    }
}
