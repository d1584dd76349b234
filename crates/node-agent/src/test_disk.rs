//! A disk of 1 MiB that can be filled, for tests.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

pub(crate) struct SmallDisk(PathBuf);

impl SmallDisk {
    pub(crate) fn mount(at: &Path) -> Self {
        let path = at.join("small-disk");
        std::fs::create_dir_all(&path).unwrap();
        let done = Command::new("mount")
            .args(["-t", "tmpfs", "-o", "size=1m,mode=0700", "tmpfs"])
            .arg(&path)
            .status()
            .is_ok_and(|status| status.success());
        assert!(
            done,
            "this test mounts a small disk and needs root: sudo -E cargo test -p gpuaas-node-agent"
        );
        Self(path)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }

    pub(crate) fn fill(&self) {
        let mut file = std::fs::File::create(self.0.join("ballast")).unwrap();
        while file.write_all(&[0; 4096]).is_ok() {}
    }

    pub(crate) fn relieve(&self) {
        std::fs::remove_file(self.0.join("ballast")).unwrap();
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(&self.0).status();
    }
}
