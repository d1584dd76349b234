//! The registry role: the OCI distribution protocol, version 1.1, on a storage seam.
//!
//! ```text
//! request ─▶ operation (parsed once) ─▶ guard (may it?) ─▶ http ─▶ Storage ─▶ files
//! ```
//!
//! The server brings a [`Guard`] that knows its tokens and a [`Quota`] that knows its projects, mounts
//! [`Registry::router`] where `/v2/` is served, and calls [`Registry::collect`] now and then. The library knows neither
//! users nor projects nor a database, so the platform can also stand before any other registry that speaks the protocol.
//!
//! What it promises is written at [`Storage`]; how the files keep it, at [`storage::disk`].

mod cache;
mod clock;
mod digest;
mod error;
mod guard;
mod http;
pub mod manifest;
mod names;
mod operation;
pub mod storage;
mod tasks;

pub use clock::{Clock, SystemClock};
pub use digest::{Algorithm, Digest, MalformedDigest};
pub use error::{Error, Result};
pub use guard::{Action, Challenge, Checking, Guard, Need, Needs, OpenGuard, Verdict, What};
pub use http::{Registry, Settings};
pub use manifest::Policy;
pub use names::{BadName, BadReference, Reference, RepositoryName, Tag, UploadId};
pub use operation::{Operation, Start};
pub use storage::disk::{LocalDisk, Options};
pub use storage::{Collected, NoQuota, Quota, Storage};
