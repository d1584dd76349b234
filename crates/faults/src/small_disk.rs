//! A disk of its own that a test can fill.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

pub struct SmallDisk(PathBuf);

impl SmallDisk {
    /// Of 1 MiB, in this folder.
    pub fn mount(at: &Path) -> Self {
        Self::with_size(at, "1m")
    }

    pub fn with_size(at: &Path, size: &str) -> Self {
        let path = at.join("small-disk");
        std::fs::create_dir_all(&path).expect("a folder");
        let done = Command::new("mount")
            .args(["-t", "tmpfs", "-o", &format!("size={size},mode=0700"), "tmpfs"])
            .arg(&path)
            .status()
            .is_ok_and(|status| status.success());
        assert!(done, "this test mounts a small disk and needs root: sudo -E ./test");
        Self(path)
    }

    pub fn path(&self) -> &Path {
        &self.0
    }

    pub fn fill(&self) {
        let mut file = std::fs::File::create(self.0.join("ballast")).expect("a file");
        while file.write_all(&[0; 4096]).is_ok() {}
    }

    pub fn relieve(&self) {
        std::fs::remove_file(self.0.join("ballast")).expect("a file");
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(&self.0).status();
    }
}
