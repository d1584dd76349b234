//! A value that cannot be printed, serialised or cloned by accident.
//!
//! `Secret` implements none of `Debug`, `Display`, `Serialize`, `Clone` or `Deref`; whoever wants the plain value
//! writes `.expose()`, which reviewers can search for. It is wiped from memory when dropped.
//!
//! ```compile_fail
//! let secret = gpuaas_domain::Secret::new(String::from("x"));
//! println!("{secret:?}");
//! ```
//! ```compile_fail
//! let secret = gpuaas_domain::Secret::new(String::from("x"));
//! println!("{secret}");
//! ```
//! ```compile_fail
//! let secret = gpuaas_domain::Secret::new(String::from("x"));
//! serde_json::to_string(&secret).unwrap();
//! ```
//! ```compile_fail
//! let secret = gpuaas_domain::Secret::new(String::from("x"));
//! let copy: gpuaas_domain::Secret<String> = secret.clone();
//! ```

use serde::{Deserialize, Deserializer};
use zeroize::Zeroize;

pub struct Secret<T: Zeroize>(T);

impl<T: Zeroize> Secret<T> {
    pub const fn new(value: T) -> Self {
        Self(value)
    }

    /// The plain value. Every call is a place where a secret could leak: keep it short.
    pub const fn expose(&self) -> &T {
        &self.0
    }
}

impl<T: Zeroize> Drop for Secret<T> {
    fn drop(&mut self) {
        self.0.zeroize();
    }
}

impl<'de, T: Zeroize + Deserialize<'de>> Deserialize<'de> for Secret<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        T::deserialize(deserializer).map(Self)
    }
}

impl<T: Zeroize + schemars::JsonSchema> schemars::JsonSchema for Secret<T> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> std::borrow::Cow<'static, str> {
        T::schema_name()
    }

    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        let mut schema = T::json_schema(generator);
        schema.insert("format".into(), "password".into());
        schema.insert("writeOnly".into(), true.into());
        schema
    }
}
