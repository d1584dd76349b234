//! Custody of secrets behind one seam.
//!
//! [`SecretStore`] is what the platform knows; [`LocalCustody`] seals under a master key file. Another provider
//! (Vault, a KMS) implements the same trait. Values are sealed by envelope encryption: a fresh data key per value,
//! wrapped by a key that belongs to one *class* of secrets, with the value's place (table, column, row, tenant)
//! bound in. A sealed value that is moved, or opened for another class, does not open.

mod keyring;
mod local;

use std::future::Future;
use std::pin::Pin;

use gpuaas_domain::{Result, Secret};
use uuid::Uuid;

pub use keyring::Keyring;
pub use local::{KeyFileLock, LocalCustody};

/// Where randomness comes from. A parameter, so that tests repeat.
pub trait Entropy: Send + Sync {
    fn fill(&self, bytes: &mut [u8]);

    fn bytes16(&self) -> [u8; 16] {
        let mut bytes = [0; 16];
        self.fill(&mut bytes);
        bytes
    }

    fn bytes32(&self) -> Secret<[u8; 32]> {
        let mut bytes = [0; 32];
        self.fill(&mut bytes);
        Secret::new(bytes)
    }
}

/// The operating system's randomness.
pub struct SystemEntropy(ring::rand::SystemRandom);

impl SystemEntropy {
    pub fn new() -> Self {
        Self(ring::rand::SystemRandom::new())
    }
}

impl Default for SystemEntropy {
    fn default() -> Self {
        Self::new()
    }
}

impl Entropy for SystemEntropy {
    fn fill(&self, bytes: &mut [u8]) {
        use ring::rand::SecureRandom as _;
        self.0.fill(bytes).expect("the operating system has randomness");
    }
}

/// The classes of secrets. A key of one class cannot open a value of another (L-02).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SecretClass {
    /// Credentials of build pipelines.
    Ci,
    /// What running workloads use.
    WorkloadRuntime,
    /// The platform's own keys and operators' credentials.
    Operator,
    /// What a node needs to join.
    NodeBootstrap,
}

impl SecretClass {
    pub const ALL: [Self; 4] = [Self::Ci, Self::WorkloadRuntime, Self::Operator, Self::NodeBootstrap];

    pub fn name(self) -> &'static str {
        match self {
            Self::Ci => "ci",
            Self::WorkloadRuntime => "workload_runtime",
            Self::Operator => "operator",
            Self::NodeBootstrap => "node_bootstrap",
        }
    }

    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|class| class.name() == name)
    }
}

/// Where a sealed value lies. Bound into the ciphertext.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    pub table: &'static str,
    pub column: &'static str,
    pub row: Uuid,
    pub tenant: Option<Uuid>,
}

/// Ciphertext and the id of the key that wraps it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sealed {
    pub kek_id: String,
    pub bytes: Vec<u8>,
}

pub type Answer<'a, T> = Pin<Box<dyn Future<Output = Result<T>> + Send + 'a>>;

/// The seam. Asynchronous, because other providers are across a network.
pub trait SecretStore: Send + Sync {
    /// The id of the key that wraps new values.
    fn current_key(&self) -> String;

    /// Seals under the named key, which is the one the database says is current.
    fn seal<'a>(
        &'a self,
        key_id: &'a str,
        class: SecretClass,
        place: Place,
        plain: &'a Secret<Vec<u8>>,
    ) -> Answer<'a, Sealed>;

    fn open<'a>(
        &'a self,
        class: SecretClass,
        place: Place,
        sealed: &'a Sealed,
    ) -> Answer<'a, Secret<Vec<u8>>>;

    /// Looks again for keys that another process may have added.
    fn refresh(&self) -> Result<()>;
}
