//! An OCI layout to read from: a folder as `skopeo copy … oci:` leaves it, or a tar as `docker save` writes it.
//!
//! Nothing is unpacked. A tar is walked once for where its files lie, and they are read from there. Links and other
//! things that are no plain files do not count: a layout that somebody sends must not lead to a file of ours.

use std::collections::BTreeMap;
use std::fmt;
use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};

use crate::Digest;
use crate::json;
use crate::manifest::{
    self, BadManifest, Descriptor, ImageManifest, MAX_MANIFEST_BYTES, Manifest, OCI_INDEX,
};

const VERSION: &str = "1.0.0";
const MAX_INDEX_BYTES: u64 = 4 * 1024 * 1024;
const MAX_FILES: usize = 100_000;

/// Why a path is no layout, or not a whole one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BadLayout {
    Unreadable {
        path: PathBuf,
        why: String,
    },
    /// There is no `oci-layout` of a version we know.
    NoLayout {
        path: PathBuf,
    },
    /// A tar that has the same file twice: readers differ in which one they take.
    Twice {
        file: String,
    },
    TooManyFiles,
    Index(BadManifest),
    Missing {
        digest: Digest,
    },
    /// A link, a folder, or something else where a file must be.
    NoFile {
        file: String,
    },
    OtherSize {
        digest: Digest,
        promised: u64,
        found: u64,
    },
    OtherBytes {
        digest: Digest,
    },
    TooLarge {
        digest: Digest,
        most: u64,
    },
    /// A manifest among its blobs.
    Manifest {
        digest: Digest,
        why: BadManifest,
    },
}

impl fmt::Display for BadLayout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unreadable { path, why } => write!(f, "{} cannot be read: {why}", path.display()),
            Self::NoLayout { path } => write!(f, "{} is no OCI layout of version {VERSION}", path.display()),
            Self::Twice { file } => write!(f, "{file} is in the archive twice"),
            Self::TooManyFiles => write!(f, "it has more than {MAX_FILES} files"),
            Self::Index(why) => write!(f, "its index: {why}"),
            Self::Missing { digest } => write!(f, "{digest} is missing"),
            Self::NoFile { file } => write!(f, "{file} is no plain file"),
            Self::OtherSize { digest, promised, found } => {
                write!(f, "{digest} has {found} bytes, not {promised}")
            }
            Self::OtherBytes { digest } => write!(f, "the file of {digest} holds something else"),
            Self::TooLarge { digest, most } => write!(f, "{digest} has more than {most} bytes"),
            Self::Manifest { digest, why } => write!(f, "{digest}: {why}"),
        }
    }
}

impl std::error::Error for BadLayout {}

/// Where a blob lies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    pub path: PathBuf,
    pub offset: u64,
    pub size: u64,
}

/// One image of a layout.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LaidImage {
    pub entry: Descriptor,
    pub manifest: ImageManifest,
}

impl LaidImage {
    /// Everything it is made of, the configuration last: with it a registry has the whole image.
    pub fn parts(&self) -> impl Iterator<Item = &Descriptor> {
        self.manifest.layers.iter().chain([&self.manifest.config])
    }
}

enum Root {
    Folder(PathBuf),
    Tar { path: PathBuf, files: BTreeMap<String, (u64, u64)> },
}

pub struct Layout {
    root: Root,
    entries: Vec<Descriptor>,
}

type Result<T> = std::result::Result<T, BadLayout>;

impl Layout {
    pub fn open(path: impl Into<PathBuf>) -> Result<Self> {
        let path = path.into();
        let about = std::fs::metadata(&path).map_err(|error| unreadable(&path, &error))?;
        let root = if about.is_dir() {
            Root::Folder(path.clone())
        } else {
            let files = tar_files(&path)?;
            Root::Tar { path: path.clone(), files }
        };
        let mut layout = Self { root, entries: Vec::new() };
        let marker = layout.small("oci-layout")?.ok_or_else(|| BadLayout::NoLayout { path: path.clone() })?;
        if version(&marker).as_deref() != Some(VERSION) {
            return Err(BadLayout::NoLayout { path });
        }
        let index = layout.small("index.json")?.ok_or(BadLayout::NoLayout { path })?;
        match manifest::read(&index, OCI_INDEX).map_err(BadLayout::Index)? {
            Manifest::Index(index) => layout.entries = index.manifests,
            Manifest::Image(_) => return Err(BadLayout::Index(BadManifest::ImageAsIndex)),
        }
        Ok(layout)
    }

    /// What the layout is there for, with the names it was saved under among the annotations.
    pub fn entries(&self) -> &[Descriptor] {
        &self.entries
    }

    /// Where a blob lies, its size as promised. The bytes are not looked at.
    pub fn place(&self, part: &Descriptor) -> Result<Place> {
        let missing = || BadLayout::Missing { digest: part.digest.clone() };
        let place = self.find(&format!("blobs/sha256/{}", part.digest.hex()))?.ok_or_else(missing)?;
        if place.size != part.size {
            let digest = part.digest.clone();
            return Err(BadLayout::OtherSize { digest, promised: part.size, found: place.size });
        }
        Ok(place)
    }

    /// A small blob, compared with its digest.
    pub fn read(&self, part: &Descriptor, most: u64) -> Result<Vec<u8>> {
        if part.size > most {
            return Err(BadLayout::TooLarge { digest: part.digest.clone(), most });
        }
        let bytes = read_place(&self.place(part)?)?;
        if Digest::of(&bytes) == part.digest {
            Ok(bytes)
        } else {
            Err(BadLayout::OtherBytes { digest: part.digest.clone() })
        }
    }

    /// The image of this entry, or all images of an index, each manifest compared with its promise.
    pub fn images(&self, entry: &Descriptor) -> Result<Vec<LaidImage>> {
        match self.manifest(entry)? {
            Manifest::Image(manifest) => Ok(vec![LaidImage { entry: entry.clone(), manifest }]),
            Manifest::Index(index) => {
                let images = index.manifests.into_iter().map(|part| match self.manifest(&part)? {
                    Manifest::Image(manifest) => Ok(LaidImage { entry: part, manifest }),
                    Manifest::Index(_) => {
                        Err(BadLayout::Manifest { digest: part.digest, why: BadManifest::NestedIndex })
                    }
                });
                images.collect()
            }
        }
    }

    fn manifest(&self, entry: &Descriptor) -> Result<Manifest> {
        let bytes = self.read(entry, MAX_MANIFEST_BYTES as u64)?;
        manifest::read_promised(&bytes, entry)
            .map_err(|why| BadLayout::Manifest { digest: entry.digest.clone(), why })
    }

    fn small(&self, file: &str) -> Result<Option<Vec<u8>>> {
        match self.find(file)? {
            Some(place) if place.size > MAX_INDEX_BYTES => {
                let most = usize::try_from(MAX_INDEX_BYTES).unwrap_or(usize::MAX);
                let bytes = usize::try_from(place.size).unwrap_or(usize::MAX);
                Err(BadLayout::Index(BadManifest::Json(json::BadJson::TooLarge { bytes, most })))
            }
            Some(place) => read_place(&place).map(Some),
            None => Ok(None),
        }
    }

    fn find(&self, file: &str) -> Result<Option<Place>> {
        match &self.root {
            Root::Tar { path, files } => {
                Ok(files.get(file).map(|&(offset, size)| Place { path: path.clone(), offset, size }))
            }
            Root::Folder(folder) => find_in_folder(folder, file),
        }
    }
}

/// No part of the way may be a link.
fn find_in_folder(folder: &Path, file: &str) -> Result<Option<Place>> {
    let mut path = folder.to_path_buf();
    let mut size = 0;
    let parts: Vec<&str> = file.split('/').collect();
    for (at, part) in parts.iter().enumerate() {
        path.push(part);
        let about = match std::fs::symlink_metadata(&path) {
            Ok(about) => about,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(unreadable(&path, &error)),
        };
        let last = at + 1 == parts.len();
        if (last && !about.is_file()) || (!last && !about.is_dir()) {
            return Err(BadLayout::NoFile { file: file.to_owned() });
        }
        size = about.len();
    }
    Ok(Some(Place { path, offset: 0, size }))
}

/// Where the plain files of a tar lie.
fn tar_files(path: &Path) -> Result<BTreeMap<String, (u64, u64)>> {
    let broken = |error: io::Error| unreadable(path, &error);
    let mut archive = tar::Archive::new(File::open(path).map_err(broken)?);
    let mut files = BTreeMap::new();
    for (count, entry) in archive.entries_with_seek().map_err(broken)?.enumerate() {
        if count >= MAX_FILES {
            return Err(BadLayout::TooManyFiles);
        }
        let entry = entry.map_err(broken)?;
        if entry.header().entry_type() != tar::EntryType::Regular {
            continue;
        }
        let name = String::from_utf8_lossy(&entry.path_bytes()).into_owned();
        let name = name.strip_prefix("./").unwrap_or(&name).to_owned();
        if files.insert(name.clone(), (entry.raw_file_position(), entry.size())).is_some() {
            return Err(BadLayout::Twice { file: name.chars().take(200).collect() });
        }
    }
    Ok(files)
}

fn version(marker: &[u8]) -> Option<String> {
    let document = json::read(marker, 4096).ok()?;
    let top = document.open("", &["imageLayoutVersion"]).ok()?;
    top.text("imageLayoutVersion").ok().map(str::to_owned)
}

fn read_place(place: &Place) -> Result<Vec<u8>> {
    let read = || -> io::Result<Vec<u8>> {
        let mut file = File::open(&place.path)?;
        file.seek(SeekFrom::Start(place.offset))?;
        let mut bytes = Vec::new();
        file.take(place.size).read_to_end(&mut bytes)?;
        Ok(bytes)
    };
    read().map_err(|error| unreadable(&place.path, &error))
}

fn unreadable(path: &Path, error: &io::Error) -> BadLayout {
    BadLayout::Unreadable { path: path.to_owned(), why: error.to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Image, ImageBuilder};

    fn image() -> Image {
        ImageBuilder::new("amd64").file("x", 0o644, b"x".to_vec()).build().unwrap()
    }

    fn saved(folder: &Path) -> PathBuf {
        let path = folder.join("image.tar");
        std::fs::write(&path, image().to_archive(Some("a:1"))).unwrap();
        path
    }

    /// F-24.
    #[test]
    fn a_saved_image_is_found_whole_in_its_tar_and_in_a_folder() {
        let folder = tempfile::tempdir().unwrap();
        let tar = saved(folder.path());
        let unpacked = folder.path().join("unpacked");
        tar::Archive::new(File::open(&tar).unwrap()).unpack(&unpacked).unwrap();
        for path in [tar, unpacked] {
            let layout = Layout::open(path).unwrap();
            let [entry] = layout.entries() else { panic!("one image") };
            assert_eq!(entry.digest, *image().digest());
            assert_eq!(layout.read(entry, 1 << 20).unwrap(), image().manifest.bytes);
            let layer = Descriptor::of("x", &image().layers[0].bytes);
            assert_eq!(layout.read(&layer, 1 << 20).unwrap(), image().layers[0].bytes);
        }
    }

    /// R02, F07.
    #[test]
    fn a_layout_that_lies_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let tar = saved(folder.path());
        let unpacked = folder.path().join("unpacked");
        tar::Archive::new(File::open(&tar).unwrap()).unpack(&unpacked).unwrap();
        let layer = Descriptor::of("x", &image().layers[0].bytes);
        let blob = unpacked.join("blobs/sha256").join(layer.digest.hex());
        let layout = Layout::open(&unpacked).unwrap();

        let changed = vec![0; image().layers[0].bytes.len()];
        std::fs::write(&blob, &changed).unwrap();
        assert!(matches!(layout.read(&layer, 1 << 20), Err(BadLayout::OtherBytes { .. })));
        std::fs::write(&blob, b"short").unwrap();
        assert!(matches!(layout.place(&layer), Err(BadLayout::OtherSize { found: 5, .. })));
        assert!(matches!(layout.read(&layer, 1), Err(BadLayout::TooLarge { most: 1, .. })));
        std::fs::remove_file(&blob).unwrap();
        assert!(matches!(layout.place(&layer), Err(BadLayout::Missing { .. })));
        std::os::unix::fs::symlink("/etc/passwd", &blob).unwrap();
        assert!(matches!(layout.place(&layer), Err(BadLayout::NoFile { .. })));

        std::fs::write(unpacked.join("oci-layout"), r#"{"imageLayoutVersion":"2"}"#).unwrap();
        assert!(matches!(Layout::open(&unpacked), Err(BadLayout::NoLayout { .. })));
        assert!(matches!(Layout::open(folder.path()), Err(BadLayout::NoLayout { .. })));
        let mut twice = tar::Builder::new(File::create(folder.path().join("twice.tar")).unwrap());
        for _ in 0..2 {
            let mut header = tar::Header::new_gnu();
            header.set_size(0);
            twice.append_data(&mut header, "index.json", &b""[..]).unwrap();
        }
        twice.into_inner().unwrap();
        assert!(matches!(Layout::open(folder.path().join("twice.tar")), Err(BadLayout::Twice { .. })));
        let noise = folder.path().join("noise");
        std::fs::write(&noise, vec![7; 4096]).unwrap();
        assert!(matches!(Layout::open(&noise), Err(BadLayout::Unreadable { .. })));
    }
}
