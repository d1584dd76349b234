//! What was taken from the quota for something that is on its way.

use std::sync::Arc;

use crate::error::{Error, Result};
use crate::names::RepositoryName;
use crate::storage::Quota;

/// Bytes that count for a repository. They are given back unless they are kept: whatever breaks off on the way, nobody
/// pays for what never came.
pub(super) struct Charge {
    quota: Arc<dyn Quota>,
    repository: RepositoryName,
    bytes: u64,
}

impl Charge {
    /// For bytes that the quota counts already.
    pub(super) fn counted(quota: &Arc<dyn Quota>, repository: &RepositoryName, bytes: u64) -> Self {
        Self { quota: quota.clone(), repository: repository.clone(), bytes }
    }

    pub(super) fn take(quota: &Arc<dyn Quota>, repository: &RepositoryName, bytes: u64) -> Result<Self> {
        let mut charge = Self::counted(quota, repository, 0);
        charge.grow(bytes).map(|()| charge)
    }

    pub(super) fn grow(&mut self, bytes: u64) -> Result<()> {
        if !self.quota.take(&self.repository, bytes) {
            return Err(Error::OverQuota);
        }
        self.bytes += bytes;
        Ok(())
    }

    pub(super) fn shrink(&mut self, bytes: u64) {
        self.bytes -= bytes;
        self.quota.give_back(&self.repository, bytes);
    }

    /// It is there: whoever takes it away gives the bytes back.
    pub(super) fn keep(mut self) {
        self.bytes = 0;
    }

    /// The same bytes, from now on to be kept or given back by somebody else.
    pub(super) fn hand_over(&mut self) -> Self {
        let bytes = std::mem::take(&mut self.bytes);
        Self::counted(&self.quota, &self.repository, bytes)
    }
}

impl Drop for Charge {
    fn drop(&mut self) {
        if self.bytes > 0 {
            self.quota.give_back(&self.repository, self.bytes);
        }
    }
}
