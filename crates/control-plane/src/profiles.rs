//! Profiles as they were read, with their parameters made ready. A version never changes, so what was read of it once holds
//! for every form and plan that follows.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use gpuaas_domain::Result;
use gpuaas_domain::launch_form::resolution::Prepared;
use gpuaas_domain::manifest::Manifest;
use gpuaas_store::catalog::StoredVersion;

use crate::operations::catalog::manifest_of;

/// More than are launched at one time, and no more memory than large manifests may take. When it is full, all are forgotten and
/// read again as they are asked for.
const MOST: usize = 64;

#[derive(Default)]
pub(crate) struct Profiles {
    by_digest: Mutex<HashMap<String, Arc<ReadProfile>>>,
}

pub(crate) struct ReadProfile {
    pub(crate) manifest: Manifest,
    pub(crate) prepared: Arc<Prepared>,
}

impl Profiles {
    pub(crate) fn of(&self, version: &StoredVersion) -> Result<Arc<ReadProfile>> {
        let known = || self.by_digest.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(found) = known().get(&version.manifest_digest) {
            return Ok(found.clone());
        }
        let manifest = manifest_of(version)?;
        let prepared = Arc::new(Prepared::of(&manifest));
        let read = Arc::new(ReadProfile { manifest, prepared });
        let mut known = known();
        if known.len() >= MOST {
            known.clear();
        }
        known.insert(version.manifest_digest.clone(), read.clone());
        Ok(read)
    }
}
