//! Images as the OCI specifications have them: made from files in memory, and pushed to any registry that speaks the
//! distribution protocol. A library: it knows nothing of the platform.
//!
//! What is named here is named by digest. The same files and settings always give the same digest, so an image can be
//! made again anywhere and compared.

mod digest;
mod image;
#[cfg(feature = "client")]
mod push;

pub use digest::{Digest, MalformedDigest};
pub use image::{Blob, BuildError, Image, ImageBuilder, MANIFEST_TYPE};
#[cfg(feature = "client")]
pub use push::{PushError, Pushed, Registry};
