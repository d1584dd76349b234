//! Files that only their owner may read.

use std::io::{BufWriter, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use gpuaas_domain::{Error, Result};

/// A file in the making that only its owner may read. It takes its place when finished, and leaves nothing if not.
pub(super) struct PrivateFile {
    pub(super) out: BufWriter<std::fs::File>,
    temporary: PathBuf,
    path: PathBuf,
}

impl PrivateFile {
    pub(super) fn create(path: &Path) -> Result<Self> {
        let mut temporary = path.as_os_str().to_owned();
        temporary.push(".part");
        let temporary = PathBuf::from(temporary);
        // Made anew, so that it has our mode and is nobody's link.
        let _ = std::fs::remove_file(&temporary);
        let file = std::fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(&temporary);
        let file = file.map_err(|error| unwritable(path, &error))?;
        Ok(Self { out: BufWriter::new(file), temporary, path: path.to_owned() })
    }

    pub(super) fn write(&mut self, text: &str) -> Result<()> {
        self.out.write_all(text.as_bytes()).map_err(|error| unwritable(&self.path, &error))
    }

    pub(super) fn finish(mut self) -> Result<()> {
        let done = self.out.flush().and_then(|()| self.out.get_ref().sync_all());
        done.and_then(|()| std::fs::rename(&self.temporary, &self.path))
            .map_err(|error| unwritable(&self.path, &error))
    }
}

impl Drop for PrivateFile {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.temporary);
    }
}

fn unwritable(path: &Path, error: &std::io::Error) -> Error {
    Error::invalid("file_unwritable", format!("{} cannot be written: {error}.", path.display()))
}

pub(super) fn write_private(path: &Path, text: &str) -> Result<()> {
    let mut file = PrivateFile::create(path)?;
    file.write(text)?;
    file.finish()
}
