//! A text that cannot be printed, serialised or cloned by accident, and is wiped when it goes.
//!
//! ```compile_fail
//! println!("{:?}", gpuaas_oci::SecretText::new("x".to_owned()));
//! ```
//! ```compile_fail
//! println!("{}", gpuaas_oci::SecretText::new("x".to_owned()));
//! ```
//! ```compile_fail
//! let copy = gpuaas_oci::SecretText::new("x".to_owned()).clone();
//! ```

use zeroize::Zeroizing;

pub struct SecretText(Zeroizing<String>);

impl SecretText {
    pub fn new(text: String) -> Self {
        Self(Zeroizing::new(text))
    }

    /// The plain text. Every call is a place where it could leak: keep it short.
    pub fn expose(&self) -> &str {
        &self.0
    }
}
