//! A version as people write it: `1.4.2`, `24.05-py3`, `2.0.0-rc.1+cuda12`.
//!
//! Semantic versioning, loosened where image families are: one to four numbers, leading zeros kept. The text stands
//! in addresses, so it has no slash, space or percent sign.

use std::cmp::Ordering;

use serde::{Deserialize, Serialize};

use crate::text::Refused;

pub(crate) const PATTERN: &str = r"^[0-9]{1,9}(\.[0-9]{1,9}){0,3}(-[0-9A-Za-z.-]+)?(\+[0-9A-Za-z.-]+)?$";
pub(crate) const MAX: usize = 64;

#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(transparent)]
pub struct Version(String);

impl Version {
    pub fn parse(text: &str) -> Result<Self, Refused> {
        let refused = || Refused {
            code: "invalid_version",
            message:
                "A version is one to four numbers, then an optional -suffix and +build, as in 1.4.2-rc.1."
                    .to_owned(),
        };
        let (numbers, pre, build) = split(text);
        let number = |part: &str| (1..=9).contains(&part.len()) && part.bytes().all(|b| b.is_ascii_digit());
        let suffix = |part: &str| {
            part.split('.')
                .all(|id| !id.is_empty() && id.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-'))
        };
        let good = text.len() <= MAX
            && numbers.split('.').count() <= 4
            && numbers.split('.').all(number)
            && pre.is_none_or(suffix)
            && build.is_none_or(suffix);
        if good { Ok(Self(text.to_owned())) } else { Err(refused()) }
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Has a suffix that ranks it below the release of the same numbers.
    pub fn is_prerelease(&self) -> bool {
        split(&self.0).1.is_some()
    }
}

fn split(text: &str) -> (&str, Option<&str>, Option<&str>) {
    let (rest, build) = match text.split_once('+') {
        Some((rest, build)) => (rest, Some(build)),
        None => (text, None),
    };
    match rest.split_once('-') {
        Some((numbers, pre)) => (numbers, Some(pre), build),
        None => (rest, None, build),
    }
}

impl Ord for Version {
    /// Precedence as in semantic versioning; texts of equal precedence are ordered as text, so that order and
    /// equality agree.
    fn cmp(&self, other: &Self) -> Ordering {
        let (numbers, pre, _) = split(&self.0);
        let (other_numbers, other_pre, _) = split(&other.0);
        padded(numbers)
            .cmp(&padded(other_numbers))
            .then_with(|| match (pre, other_pre) {
                (None, None) => Ordering::Equal,
                (None, Some(_)) => Ordering::Greater,
                (Some(_), None) => Ordering::Less,
                (Some(a), Some(b)) => compare_suffix(a, b),
            })
            .then_with(|| self.0.cmp(&other.0))
    }
}

impl PartialOrd for Version {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

fn padded(numbers: &str) -> [u32; 4] {
    let mut parts = [0; 4];
    for (slot, number) in parts.iter_mut().zip(numbers.split('.')) {
        *slot = number.parse().unwrap_or(u32::MAX);
    }
    parts
}

fn compare_suffix(a: &str, b: &str) -> Ordering {
    let (mut a, mut b) = (a.split('.'), b.split('.'));
    loop {
        let order = match (a.next(), b.next()) {
            (None, None) => return Ordering::Equal,
            (None, Some(_)) => Ordering::Less,
            (Some(_), None) => Ordering::Greater,
            (Some(a), Some(b)) => match (a.parse::<u64>(), b.parse::<u64>()) {
                (Ok(a), Ok(b)) => a.cmp(&b),
                (Ok(_), Err(_)) => Ordering::Less,
                (Err(_), Ok(_)) => Ordering::Greater,
                (Err(_), Err(_)) => a.cmp(b),
            },
        };
        if order != Ordering::Equal {
            return order;
        }
    }
}

impl std::fmt::Display for Version {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for Version {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::parse(&text).map_err(|refused| serde::de::Error::custom(refused.message))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A-12.
    #[test]
    fn versions_are_ordered_by_meaning_and_then_by_text() {
        let ordered =
            ["1.0.0-rc.1", "1.0.0-rc.2", "1.0.0-rc.10", "1.0.0", "1.0.1", "1.10", "24.05-py3", "24.5"];
        for pair in ordered.windows(2) {
            assert!(Version::parse(pair[0]).unwrap() < Version::parse(pair[1]).unwrap(), "{pair:?}");
        }
        let (a, b) = (Version::parse("1.2").unwrap(), Version::parse("1.02").unwrap());
        assert_ne!(a.cmp(&b), Ordering::Equal);
    }

    #[test]
    fn a_version_can_stand_in_an_address() {
        for good in ["1", "1.4.2", "24.05-py3", "2.0.0-rc.1+cuda12.4", "1.2.3.4"] {
            assert!(Version::parse(good).is_ok(), "{good}");
        }
        for bad in
            ["", "v1", "1.", ".1", "1..2", "1.2.3.4.5", "1-", "1+", "1/2", "1 2", "latest", "1-a/b", "1-a..b"]
        {
            assert!(Version::parse(bad).is_err(), "{bad}");
        }
    }
}
