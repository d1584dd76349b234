//! JSON with one meaning. Other readers of the same bytes take the last of two equal members, or a member in another
//! case of letters; what they could read in another way than we do is refused.

use std::collections::HashSet;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};

/// Members with a meaning for somebody who reads a manifest.
const MEMBERS: &[&str] = &[
    "schemaVersion",
    "mediaType",
    "artifactType",
    "config",
    "layers",
    "manifests",
    "subject",
    "annotations",
    "digest",
    "size",
    "urls",
    "data",
    "platform",
    "architecture",
    "os",
    "variant",
    "fsLayers",
    "history",
    "signatures",
];

/// A manifest is flat: a list of descriptors with a platform and annotations each.
const MAX_DEPTH: u32 = 32;

/// Says why these bytes are no JSON, or JSON with two meanings.
pub(super) fn check(bytes: &[u8]) -> Result<(), serde_json::Error> {
    let mut reader = serde_json::Deserializer::from_slice(bytes);
    Value { depth: 0, free: false }.deserialize(&mut reader)?;
    reader.end()
}

#[derive(Clone, Copy)]
struct Value {
    depth: u32,
    /// Inside annotations and members that nobody knows, names are the author's own.
    free: bool,
}

/// As readers that ignore the case of letters fold a name; two letters outside ASCII fold into it.
fn fold(name: &str) -> String {
    name.chars()
        .map(|letter| match letter {
            'ſ' => 's',
            '\u{212a}' => 'k',
            other => other.to_ascii_lowercase(),
        })
        .collect()
}

impl<'de> DeserializeSeed<'de> for Value {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        if self.depth > MAX_DEPTH {
            return Err(D::Error::custom(format!("it is nested deeper than {MAX_DEPTH} levels")));
        }
        deserializer.deserialize_any(self)
    }
}

macro_rules! scalar {
    ($($visit:ident: $kind:ty),*) => {$(
        fn $visit<E>(self, _: $kind) -> Result<(), E> {
            Ok(())
        }
    )*};
}

impl<'de> Visitor<'de> for Value {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    scalar!(visit_bool: bool, visit_i64: i64, visit_u64: u64, visit_f64: f64, visit_str: &str);

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<(), A::Error> {
        while list.next_element_seed(Self { depth: self.depth + 1, ..self })?.is_some() {}
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<(), A::Error> {
        let mut seen = HashSet::new();
        while let Some(name) = members.next_key::<String>()? {
            if !self.free {
                let folded = fold(&name);
                let ours = MEMBERS.iter().find(|known| known.eq_ignore_ascii_case(&folded));
                if ours.is_some_and(|known| *known != name) {
                    return Err(A::Error::custom(format!("{name:?} is spelt in another way")));
                }
            }
            let free = self.free || name == "annotations" || !MEMBERS.contains(&name.as_str());
            if seen.contains(&name) {
                return Err(A::Error::custom(format!("{name:?} is there twice")));
            }
            seen.insert(name);
            members.next_value_seed(Self { depth: self.depth + 1, free })?;
        }
        Ok(())
    }
}
