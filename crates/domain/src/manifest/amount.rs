//! Amounts as a manifest writes them, and the ranges they may move in.

use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::text::cpus;

/// Mebibytes. Written as a number, or as digits in quotes, which some tools make of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(transparent)]
pub struct Mib(pub u32);

impl fmt::Display for Mib {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} MiB", self.0)
    }
}

impl Mib {
    /// 64 TiB, what the node agent takes at most.
    pub const MAX: u32 = 64 * 1024 * 1024;

    pub fn parse(text: &str) -> Option<Self> {
        let digits = (1..=8).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_digit());
        text.parse().ok().filter(|mib| digits && *mib <= Self::MAX).map(Self)
    }
}

impl<'de> Deserialize<'de> for Mib {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Written {
            Number(u32),
            Digits(String),
        }
        match Written::deserialize(deserializer)? {
            Written::Number(mib) if mib <= Self::MAX => Ok(Self(mib)),
            Written::Digits(text) => Self::parse(&text).ok_or_else(|| D::Error::custom("not an amount")),
            Written::Number(_) => Err(D::Error::custom("not an amount")),
        }
    }
}

impl JsonSchema for Mib {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Mib".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "Mebibytes, as a number or as digits in quotes.",
            "anyOf": [
                { "type": "integer", "minimum": 0, "maximum": Self::MAX },
                { "type": "string", "format": "mib", "pattern": "^[0-9]{1,8}$", "maxLength": 8 }
            ]
        })
    }
}

/// Processor cores, kept in thousandths.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Vcpu(u32);

impl fmt::Display for Vcpu {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} vCPU", cpus(i64::from(self.0)))
    }
}

impl Vcpu {
    pub const MAX_CORES: u32 = 4096;

    pub fn from_millis(millis: u32) -> Self {
        Self(millis)
    }

    pub fn millis(self) -> u32 {
        self.0
    }
}

impl Serialize for Vcpu {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if self.0.is_multiple_of(1000) {
            serializer.serialize_u32(self.0 / 1000)
        } else {
            serializer.serialize_f64(f64::from(self.0) / 1000.0)
        }
    }
}

impl<'de> Deserialize<'de> for Vcpu {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let cores = f64::deserialize(deserializer)?;
        if !(0.0..=f64::from(Self::MAX_CORES)).contains(&cores) {
            return Err(D::Error::custom("not a number of cores"));
        }
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "the range was checked, and a thousandth of a core is as fine as it gets"
        )]
        let millis = (cores * 1000.0).round() as u32;
        Ok(Self(millis))
    }
}

impl JsonSchema for Vcpu {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Vcpu".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "Processor cores; parts of a core as 0.5.",
            "type": "number",
            "minimum": 0,
            "maximum": Self::MAX_CORES
        })
    }
}

/// What a launch gets unless its user chooses, and the bounds of that choice.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Range<T> {
    /// What a launch gets that does not choose.
    #[serde(default)]
    pub default: Option<T>,
    /// The least that may be chosen.
    #[serde(default)]
    pub min: Option<T>,
    /// The most that may be chosen.
    #[serde(default)]
    pub max: Option<T>,
}
