//! Which versions something is for: one of them, or all between bounds.

use serde::{Deserialize, Serialize};

use super::version::{self, Version};
use crate::text::Refused;

/// Two versions, two signs each and the space between.
pub(crate) const MAX: usize = 2 * version::MAX + 5;
pub(crate) const PATTERN: &str =
    r"^([0-9][0-9A-Za-z.+-]*|[<>]=?[0-9][0-9A-Za-z.+-]*|>=?[0-9][0-9A-Za-z.+-]* <=?[0-9][0-9A-Za-z.+-]*)$";

/// Kept as it was written: `1.4.2`, `<2.0.0`, `>=1.2.0 <2.0.0`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(into = "String")]
pub struct VersionRange {
    text: String,
    low: Option<Bound>,
    high: Option<Bound>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Bound {
    version: Version,
    inclusive: bool,
}

impl Bound {
    /// Whether a lower bound lets in all that the other lets in.
    fn starts_before(&self, other: &Self) -> bool {
        self.version < other.version
            || (self.version == other.version && (self.inclusive || !other.inclusive))
    }

    /// Whether an upper bound lets in all that the other lets in.
    fn ends_after(&self, other: &Self) -> bool {
        self.version > other.version
            || (self.version == other.version && (self.inclusive || !other.inclusive))
    }
}

impl VersionRange {
    pub fn parse(text: &str) -> Result<Self, Refused> {
        let refused = || Refused {
            code: "invalid_version",
            message: "Name one version, or bounds as in <2.0.0 or >=1.2.0 <2.0.0.".to_owned(),
        };
        let (mut low, mut high) = (None, None);
        for part in text.split(' ') {
            let at = part.find(|c| !matches!(c, '<' | '>' | '=')).ok_or_else(refused)?;
            let (sign, version) = part.split_at(at);
            let version = Version::parse(version).map_err(|_| refused())?;
            let bound = |inclusive| Some(Bound { version: version.clone(), inclusive });
            match sign {
                "" if low.is_none() && high.is_none() => (low, high) = (bound(true), bound(true)),
                ">" | ">=" if low.is_none() && high.is_none() => low = bound(sign == ">="),
                "<" | "<=" if high.is_none() => high = bound(sign == "<="),
                _ => return Err(refused()),
            }
        }
        Ok(Self { text: text.to_owned(), low, high })
    }

    pub fn as_str(&self) -> &str {
        &self.text
    }

    pub fn covers(&self, version: &Version) -> bool {
        let point = Bound { version: version.clone(), inclusive: true };
        self.low.as_ref().is_none_or(|low| low.starts_before(&point))
            && self.high.as_ref().is_none_or(|high| high.ends_after(&point))
    }

    /// Whether it covers all that the other covers.
    pub fn includes(&self, other: &Self) -> bool {
        let low = match (&self.low, &other.low) {
            (None, _) => true,
            (Some(_), None) => false,
            (Some(own), Some(other)) => own.starts_before(other),
        };
        let high = match (&self.high, &other.high) {
            (None, _) => true,
            (Some(_), None) => false,
            (Some(own), Some(other)) => own.ends_after(other),
        };
        low && high
    }

    /// Whether all that it covers comes before this version.
    pub fn is_below(&self, version: &Version) -> bool {
        self.high
            .as_ref()
            .is_some_and(|high| high.version < *version || (high.version == *version && !high.inclusive))
    }

    /// Whether its bounds leave nothing between them.
    pub fn is_empty(&self) -> bool {
        match (&self.low, &self.high) {
            (Some(low), Some(high)) => {
                low.version > high.version
                    || (low.version == high.version && !(low.inclusive && high.inclusive))
            }
            (Some(_), None) | (None, Some(_) | None) => false,
        }
    }
}

impl From<VersionRange> for String {
    fn from(range: VersionRange) -> Self {
        range.text
    }
}

impl<'de> Deserialize<'de> for VersionRange {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::parse(&text).map_err(|refused| serde::de::Error::custom(refused.message))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn range(text: &str) -> VersionRange {
        VersionRange::parse(text).unwrap()
    }

    fn version(text: &str) -> Version {
        Version::parse(text).unwrap()
    }

    #[test]
    fn a_range_covers_what_stands_between_its_bounds() {
        for (text, covered, not) in [
            ("1.4.2", &["1.4.2"][..], &["1.4.1", "1.4.3", "1.4.2-rc.1"][..]),
            ("<2.0.0", &["0.1", "1.9.9", "2.0.0-rc.1"], &["2.0.0", "2.0.1"]),
            ("<=2.0.0", &["1.0.0", "2.0.0"], &["2.0.1"]),
            (">=1.2.0 <2.0.0", &["1.2.0", "1.10.0"], &["1.1.9", "2.0.0"]),
            (">1.2.0 <=2.0.0", &["1.2.1", "2.0.0"], &["1.2.0", "2.0.1"]),
        ] {
            assert!(covered.iter().all(|one| range(text).covers(&version(one))), "{text}");
            assert!(!not.iter().any(|one| range(text).covers(&version(one))), "{text}");
        }
        assert!(range("<2").is_below(&version("2")) && !range("<=2").is_below(&version("2")));
        assert!(!range(">=1").is_below(&version("9")), "it has no end");
        assert!(range("<3").includes(&range(">=1 <2")) && !range(">=1 <2").includes(&range("<2")));
        assert!(range("<2").includes(&range("1.9")) && !range("<2").includes(&range("<=2")));
        assert!(range(">=2 <1").is_empty() && range(">1 <=1").is_empty() && !range(">=1 <=1").is_empty());
    }

    #[test]
    fn what_is_no_range_is_refused() {
        for bad in
            ["", " ", "v1", "<", "<2 >=1", "1 2", "1 <2", "<1 <2", ">=1 >=2", ">=1  <2", "=>1", "^1.2", "*"]
        {
            assert!(VersionRange::parse(bad).is_err(), "{bad}");
        }
    }
}
