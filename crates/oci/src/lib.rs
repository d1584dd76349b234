//! Images as the OCI specifications have them: named, read, made from files in memory, moved to and from any registry
//! that speaks the distribution protocol, signed the way cosign does and checked. A library: it knows nothing of the
//! platform.
//!
//! What is named here is named by digest. The same files and settings always give the same digest, so an image can be
//! made again anywhere and compared.

mod challenge;
#[cfg(feature = "client")]
mod client;
mod docker_archive;
mod image;
mod json;
mod layout;
pub mod manifest;
mod reference;
mod secret;
pub mod sign;

#[doc(hidden)]
pub use challenge::fuzz_one;
#[cfg(feature = "client")]
pub use client::{
    BlobHead, BlobReader, BlobSource, ClientError, Credentials, FetchedManifest, ManifestHead, Mounted,
    Pointer, Progress, Pushed, PutManifest, Redirects, Registry, Renewal, Settings, TokenRealm, TokenSource,
};
pub use docker_archive::{BadArchive, is_docker_archive, unpack_docker_archive};
pub use image::{Blob, BuildError, Image, ImageBuilder, MANIFEST_TYPE};
pub use json::{BadJson, check_json};
pub use layout::{BadLayout, LaidImage, Layout, Place};
pub use reference::{BadReference, Digest, Hasher, Host, Name, Reference, Repository, Tag, parse_digest};
pub use secret::SecretText;
