//! Ranges of addresses: which are free, and which of them an instance gets.

use std::fmt;
use std::net::Ipv4Addr;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// Addresses per instance: 16, of which 13 are for containers.
pub const INSTANCE_PREFIX: u8 = 28;

/// An IPv4 range in its plain form: no bits below the prefix.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Subnet {
    base: u32,
    prefix: u8,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BadSubnet;

impl fmt::Display for BadSubnet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("A range is written like 10.213.0.0/16.")
    }
}

impl std::error::Error for BadSubnet {}

impl Subnet {
    /// The range that an agent uses if it is told nothing else.
    pub const DEFAULT_POOL: Self = Self { base: 0x0AD5_0000, prefix: 16 };

    pub fn prefix(self) -> u8 {
        self.prefix
    }

    /// The node's own address in it.
    pub fn gateway(self) -> Ipv4Addr {
        Ipv4Addr::from(self.base + 1)
    }

    pub fn overlaps(self, other: Self) -> bool {
        let mask = mask(self.prefix.min(other.prefix));
        self.base & mask == other.base & mask
    }

    /// The first /28 of this pool that touches none of the taken ones.
    pub fn first_free(self, taken: &[Self]) -> Option<Self> {
        let count = 1_u32.checked_shl(u32::from(INSTANCE_PREFIX.checked_sub(self.prefix)?))?;
        (0..count)
            .map(|index| Self { base: self.base + index * 16, prefix: INSTANCE_PREFIX })
            .find(|candidate| taken.iter().all(|taken| !candidate.overlaps(*taken)))
    }
}

fn mask(prefix: u8) -> u32 {
    u32::MAX.checked_shl(32 - u32::from(prefix)).unwrap_or(0)
}

impl FromStr for Subnet {
    type Err = BadSubnet;

    fn from_str(text: &str) -> Result<Self, BadSubnet> {
        let (address, prefix) = text.split_once('/').ok_or(BadSubnet)?;
        let prefix: u8 = prefix.parse().map_err(|_| BadSubnet)?;
        let base = u32::from(address.parse::<Ipv4Addr>().map_err(|_| BadSubnet)?);
        if prefix > 32 || base & mask(prefix) != base {
            return Err(BadSubnet);
        }
        Ok(Self { base, prefix })
    }
}

impl fmt::Display for Subnet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", Ipv4Addr::from(self.base), self.prefix)
    }
}

impl TryFrom<String> for Subnet {
    type Error = BadSubnet;

    fn try_from(text: String) -> Result<Self, BadSubnet> {
        text.parse()
    }
}

impl From<Subnet> for String {
    fn from(subnet: Subnet) -> Self {
        subnet.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn subnet(text: &str) -> Subnet {
        text.parse().unwrap()
    }

    #[test]
    fn the_first_free_range_touches_nothing_taken_and_an_empty_pool_says_so() {
        let pool = Subnet::DEFAULT_POOL;
        assert_eq!(pool.to_string(), "10.213.0.0/16");
        assert_eq!(pool.first_free(&[]), Some(subnet("10.213.0.0/28")));
        let taken = [subnet("10.213.0.0/28"), subnet("10.213.0.32/27"), subnet("172.17.0.0/16")];
        assert_eq!(pool.first_free(&taken), Some(subnet("10.213.0.16/28")));
        assert_eq!(pool.first_free(&[subnet("10.0.0.0/8")]), None);
        let mut taken = Vec::new();
        while let Some(next) = subnet("10.213.0.0/24").first_free(&taken) {
            taken.push(next);
        }
        assert_eq!(taken.len(), 16);
        assert_eq!(subnet("10.213.0.16/28").gateway().to_string(), "10.213.0.17");
        assert_eq!(subnet("10.213.0.0/30").first_free(&[]), None, "smaller than one instance needs");
    }

    #[test]
    fn a_range_with_loose_bits_is_refused() {
        for text in ["10.213.0.1/16", "10.213.0.0", "10.213.0.0/33", "::/0", "", "10.213.0/16"] {
            assert_eq!(text.parse::<Subnet>(), Err(BadSubnet), "{text}");
        }
    }
}
