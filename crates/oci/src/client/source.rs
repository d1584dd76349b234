//! Where the bytes of a blob come from: anything that can be read again from any place, because an upload may have to
//! be taken up again.

use std::io::{self, SeekFrom};
use std::path::PathBuf;

use bytes::Bytes;
use tokio::io::{AsyncReadExt as _, AsyncSeekExt as _};

use super::{ClientError, Result};
use crate::{Digest, Hasher};

const READ_BYTES: u64 = 1024 * 1024;

/// How much of a blob is through.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    pub done: u64,
    pub total: u64,
}

#[derive(Clone, Debug)]
pub enum BlobSource {
    Memory(Bytes),
    /// A part of a file: a whole one, or an entry of a tar.
    File {
        path: PathBuf,
        offset: u64,
        size: u64,
    },
}

impl BlobSource {
    pub async fn file(path: impl Into<PathBuf>) -> Result<Self> {
        let path = path.into();
        let size = tokio::fs::metadata(&path).await.map_err(|error| unreadable(&path, error))?.len();
        Ok(Self::File { path, offset: 0, size })
    }

    pub fn size(&self) -> u64 {
        match self {
            Self::Memory(bytes) => bytes.len() as u64,
            Self::File { size, .. } => *size,
        }
    }

    /// So many bytes from this place on, or fewer at the end.
    pub async fn read(&self, from: u64, length: u64) -> Result<Bytes> {
        let end = from.saturating_add(length).min(self.size());
        let length = end.saturating_sub(from);
        match self {
            Self::Memory(bytes) => {
                let place = |at: u64| usize::try_from(at).unwrap_or(usize::MAX).min(bytes.len());
                Ok(bytes.slice(place(end - length)..place(end)))
            }
            Self::File { path, offset, .. } => {
                read_file(path, offset + from, length).await.map_err(|error| unreadable(path, error))
            }
        }
    }

    /// The name of the bytes, from a pass over all of them.
    pub async fn digest(&self) -> Result<Digest> {
        let mut hasher = Hasher::new();
        let mut at = 0;
        while at < self.size() {
            let piece = self.read(at, READ_BYTES).await?;
            at += piece.len() as u64;
            hasher.update(&piece);
        }
        Ok(hasher.finish())
    }
}

async fn read_file(path: &PathBuf, from: u64, length: u64) -> io::Result<Bytes> {
    let length = usize::try_from(length).map_err(io::Error::other)?;
    let mut file = tokio::fs::File::open(path).await?;
    file.seek(SeekFrom::Start(from)).await?;
    let mut bytes = vec![0; length];
    file.read_exact(&mut bytes).await?;
    Ok(Bytes::from(bytes))
}

fn unreadable(path: &std::path::Path, source: io::Error) -> ClientError {
    ClientError::Local { what: format!("{} cannot be read", path.display()), source }
}
