//! What `docker save` of older engines writes, made into an OCI layout.
//!
//! Such an archive has a `manifest.json`, a configuration and the layers as plain tars. The configuration is kept byte by
//! byte; the layers are compressed, always in the same way, so the same archive gives the same digest anywhere. Each
//! layer is compared with what the configuration says of it. Nothing is unpacked: a layer goes from its place in the
//! archive through the compressor into the layout, a piece at a time.
//!
//! An engine writes a layer that occurs twice as a link to the first. That one shape of link is followed, by name and
//! inside of the archive only; no other is.

use std::collections::BTreeMap;
use std::fmt;
use std::fs::File;
use std::io::{self, Read, Seek as _, SeekFrom, Write};
use std::path::{Path, PathBuf};

use flate2::write::GzEncoder;
use flate2::{Compression, GzBuilder};

use crate::json::{self, BadJson, Json};
use crate::manifest::{self, Annotations, Descriptor, MAX_CONFIG_BYTES, MAX_LAYERS, OCI_MANIFEST};
use crate::{Digest, Hasher};

const LIST: &str = "manifest.json";
const CONFIG_TYPE: &str = "application/vnd.oci.image.config.v1+json";
const LAYER_TYPE: &str = "application/vnd.oci.image.layer.v1.tar+gzip";
const MAX_LIST_BYTES: u64 = 1024 * 1024;
const MAX_FILES: usize = 100_000;
/// Of all layers, before they are compressed.
const MAX_TOTAL_BYTES: u64 = 256 * 1024 * 1024 * 1024;
const PIECE: usize = 256 * 1024;

/// Why an archive cannot be made into a layout.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BadArchive {
    Unreadable {
        path: PathBuf,
        why: String,
    },
    Unwritable {
        path: PathBuf,
        why: String,
    },
    /// There is no `manifest.json`.
    NoList,
    List(BadJson),
    /// Several images were saved into it, or none.
    Images {
        found: usize,
    },
    /// The same name twice: readers differ in which one they take.
    Twice {
        file: String,
    },
    TooManyFiles,
    TooManyLayers {
        found: usize,
    },
    TooLarge {
        most: u64,
    },
    /// The list names something that is not there, or is no plain file.
    NoFile {
        file: String,
    },
    Config(BadJson),
    /// The configuration is not called by its digest.
    ConfigName {
        file: String,
    },
    /// The configuration counts other layers than the list.
    LayerCount {
        layers: usize,
        diff_ids: usize,
    },
    /// A layer is not the one that the configuration means.
    OtherLayer {
        file: String,
    },
    /// Whoever watches said stop.
    Stopped,
}

impl fmt::Display for BadArchive {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unreadable { path, why } => write!(f, "{} cannot be read: {why}", path.display()),
            Self::Unwritable { path, why } => write!(f, "{} cannot be written: {why}", path.display()),
            Self::NoList => write!(f, "it is neither an OCI layout nor what `docker save` writes"),
            Self::List(why) => write!(f, "its {LIST}: {why}"),
            Self::Images { found } => write!(f, "it holds {found} images; save exactly one"),
            Self::Twice { file } => write!(f, "{file} is in the archive twice"),
            Self::TooManyFiles => write!(f, "it has more than {MAX_FILES} files"),
            Self::TooManyLayers { found } => {
                write!(f, "it has {found} layers, at most {MAX_LAYERS} are taken")
            }
            Self::TooLarge { most } => write!(f, "it has more than {most} bytes"),
            Self::NoFile { file } => write!(f, "{file} is missing, or is no plain file"),
            Self::Config(why) => write!(f, "its configuration: {why}"),
            Self::ConfigName { file } => write!(f, "the configuration {file} is not called by its digest"),
            Self::LayerCount { layers, diff_ids } => {
                write!(f, "it has {layers} layers, and its configuration counts {diff_ids}")
            }
            Self::OtherLayer { file } => write!(f, "{file} is not the layer that the configuration names"),
            Self::Stopped => f.write_str("it was stopped"),
        }
    }
}

impl std::error::Error for BadArchive {}

type Result<T> = std::result::Result<T, BadArchive>;

enum Entry {
    File { offset: u64, size: u64 },
    Link { target: String },
}

/// Whether this is a tar with a `manifest.json` of Docker's. Says nothing of what is in it.
pub fn is_docker_archive(path: &Path) -> bool {
    entries(path).is_ok_and(|found| found.contains_key(LIST))
}

/// Makes an OCI layout in an empty folder of the one image in an archive. `watch` hears how many bytes of how many are
/// through, and ends it by saying no.
pub fn unpack_docker_archive(archive: &Path, into: &Path, watch: &dyn Fn(u64, u64) -> bool) -> Result<()> {
    let found = entries(archive)?;
    let (config_name, layer_names) = listed(archive, &found)?;
    let config = small(archive, &found, &config_name, MAX_CONFIG_BYTES)?;
    check_config_name(&config_name, &config)?;
    let diff_ids = diff_ids(&config)?;
    if diff_ids.len() != layer_names.len() {
        return Err(BadArchive::LayerCount { layers: layer_names.len(), diff_ids: diff_ids.len() });
    }
    let places: Vec<(u64, u64)> =
        layer_names.iter().map(|name| layer_place(&found, name)).collect::<Result<_>>()?;
    let total = places
        .iter()
        .try_fold(0_u64, |sum, (_, size)| sum.checked_add(*size))
        .filter(|total| *total <= MAX_TOTAL_BYTES)
        .ok_or(BadArchive::TooLarge { most: MAX_TOTAL_BYTES })?;

    let blobs = into.join("blobs").join("sha256");
    std::fs::create_dir_all(&blobs).map_err(|error| unwritable(&blobs, &error))?;
    let mut made: BTreeMap<(u64, u64), (Descriptor, Digest)> = BTreeMap::new();
    let mut layers = Vec::new();
    let mut done = 0;
    for ((name, place), diff_id) in layer_names.iter().zip(places).zip(&diff_ids) {
        let (layer, plain) = match made.get(&place) {
            Some(known) => known.clone(),
            None => compress(archive, place, &blobs, &|of| watch(done + of, total))?,
        };
        if plain != *diff_id {
            return Err(BadArchive::OtherLayer { file: shown(name) });
        }
        layers.push(layer.clone());
        made.insert(place, (layer, plain));
        done += place.1;
    }
    finish(into, &blobs, &config, &layers)
}

/// Everything in the archive that could be meant, by name.
fn entries(path: &Path) -> Result<BTreeMap<String, Entry>> {
    let broken = |error: io::Error| unreadable(path, &error);
    let mut archive = tar::Archive::new(File::open(path).map_err(broken)?);
    let mut found = BTreeMap::new();
    for (count, entry) in archive.entries_with_seek().map_err(broken)?.enumerate() {
        if count >= MAX_FILES {
            return Err(BadArchive::TooManyFiles);
        }
        let entry = entry.map_err(broken)?;
        let kind = entry.header().entry_type();
        let what = if kind == tar::EntryType::Regular {
            Entry::File { offset: entry.raw_file_position(), size: entry.size() }
        } else if kind == tar::EntryType::Symlink {
            let target = entry.link_name_bytes().unwrap_or_default();
            Entry::Link { target: String::from_utf8_lossy(&target).into_owned() }
        } else {
            continue;
        };
        let name = String::from_utf8_lossy(&entry.path_bytes()).into_owned();
        let name = name.strip_prefix("./").unwrap_or(&name).to_owned();
        if found.insert(name.clone(), what).is_some() {
            return Err(BadArchive::Twice { file: shown(&name) });
        }
    }
    Ok(found)
}

/// The configuration and the layers of the one image.
fn listed(archive: &Path, found: &BTreeMap<String, Entry>) -> Result<(String, Vec<String>)> {
    if !found.contains_key(LIST) {
        return Err(BadArchive::NoList);
    }
    let bytes = small(archive, found, LIST, MAX_LIST_BYTES)?;
    let most = usize::try_from(MAX_LIST_BYTES).unwrap_or(usize::MAX);
    let document = json::read(&bytes, most).map_err(BadArchive::List)?;
    let Json::List(images) = &document else {
        return Err(BadArchive::List(BadJson::WrongType { path: LIST.to_owned(), wanted: "a list" }));
    };
    let [image] = images.as_slice() else { return Err(BadArchive::Images { found: images.len() }) };
    let image = image.open("[0]", &["Config", "Layers", "RepoTags"]).map_err(BadArchive::List)?;
    let config = image.text("Config").map_err(BadArchive::List)?.to_owned();
    let layers = image.find_list("Layers").map_err(BadArchive::List)?.unwrap_or_default();
    if layers.len() > MAX_LAYERS {
        return Err(BadArchive::TooManyLayers { found: layers.len() });
    }
    Ok((config, texts(layers, "[0].Layers").map_err(BadArchive::List)?))
}

fn texts(items: &[Json], path: &str) -> std::result::Result<Vec<String>, BadJson> {
    let text = |(at, item): (usize, &Json)| match item {
        Json::Text(text) => Ok(text.clone()),
        _ => Err(BadJson::WrongType { path: format!("{path}[{at}]"), wanted: "text" }),
    };
    items.iter().enumerate().map(text).collect()
}

fn check_config_name(name: &str, config: &[u8]) -> Result<()> {
    let stem = name.strip_suffix(".json").or_else(|| name.strip_prefix("blobs/sha256/"));
    if stem == Some(Digest::of(config).hex()) {
        return Ok(());
    }
    Err(BadArchive::ConfigName { file: shown(name) })
}

fn diff_ids(config: &[u8]) -> Result<Vec<Digest>> {
    let read = || -> std::result::Result<Vec<Digest>, BadJson> {
        let document = json::read(config, usize::try_from(MAX_CONFIG_BYTES).unwrap_or(usize::MAX))?;
        let top = document.open("", &["rootfs"])?;
        let rootfs = top.get("rootfs")?.open("rootfs", &["type", "diff_ids"])?;
        let named = texts(rootfs.find_list("diff_ids")?.unwrap_or_default(), "rootfs.diff_ids")?;
        let digest = |text: &String| {
            let wrong =
                BadJson::WrongType { path: "rootfs.diff_ids".to_owned(), wanted: "digests of sha256" };
            crate::parse_digest(text).map_err(|_| wrong)
        };
        named.iter().map(digest).collect()
    };
    read().map_err(BadArchive::Config)
}

/// Where a layer lies: in the file of this name, or in the one that an engine's link of this name means.
fn layer_place(found: &BTreeMap<String, Entry>, name: &str) -> Result<(u64, u64)> {
    let no_file = || BadArchive::NoFile { file: shown(name) };
    match found.get(name) {
        Some(Entry::File { offset, size }) => Ok((*offset, *size)),
        Some(Entry::Link { target }) => {
            let meant =
                target.strip_prefix("../").filter(|meant| is_layer_name(meant)).ok_or_else(no_file)?;
            match found.get(meant) {
                Some(Entry::File { offset, size }) if is_layer_name(name) => Ok((*offset, *size)),
                _ => Err(no_file()),
            }
        }
        None => Err(no_file()),
    }
}

/// `<64 hexadecimal digits>/layer.tar`, as engines call them.
fn is_layer_name(name: &str) -> bool {
    name.strip_suffix("/layer.tar").is_some_and(|folder| {
        folder.len() == 64
            && folder.bytes().all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte))
    })
}

fn small(archive: &Path, found: &BTreeMap<String, Entry>, name: &str, most: u64) -> Result<Vec<u8>> {
    let Some(&Entry::File { offset, size }) = found.get(name) else {
        return Err(BadArchive::NoFile { file: shown(name) });
    };
    if size > most {
        return Err(BadArchive::TooLarge { most });
    }
    let mut bytes = Vec::new();
    piece_of(archive, offset, size)
        .and_then(|mut piece| piece.read_to_end(&mut bytes))
        .map_err(|error| unreadable(archive, &error))?;
    Ok(bytes)
}

fn piece_of(archive: &Path, offset: u64, size: u64) -> io::Result<io::Take<File>> {
    let mut file = File::open(archive)?;
    file.seek(SeekFrom::Start(offset))?;
    Ok(file.take(size))
}

/// Counts and hashes what passes on its way to a file.
struct Counted {
    file: File,
    hasher: Hasher,
    bytes: u64,
}

impl Write for Counted {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.file.write(bytes)?;
        self.hasher.update(&bytes[..written]);
        self.bytes += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

/// One layer into the layout. Gives its descriptor there and the digest of the plain tar.
fn compress(
    archive: &Path,
    (offset, size): (u64, u64),
    blobs: &Path,
    watch: &dyn Fn(u64) -> bool,
) -> Result<(Descriptor, Digest)> {
    let read = |error: io::Error| unreadable(archive, &error);
    let draft = blobs.join("draft");
    let write = |error: io::Error| unwritable(&draft, &error);
    let mut source = piece_of(archive, offset, size).map_err(read)?;
    let file = File::create_new(&draft).map_err(write)?;
    let counted = Counted { file, hasher: Hasher::new(), bytes: 0 };
    // Neither name nor time, and one level for all: images are large and are compressed while somebody waits.
    let mut gzip: GzEncoder<Counted> = GzBuilder::new().mtime(0).write(counted, Compression::fast());
    let mut plain = Hasher::new();
    let mut piece = vec![0; PIECE];
    let mut done = 0;
    while done < size {
        let count = source.read(&mut piece).map_err(read)?;
        if count == 0 {
            return Err(read(io::ErrorKind::UnexpectedEof.into()));
        }
        plain.update(&piece[..count]);
        gzip.write_all(&piece[..count]).map_err(write)?;
        done += count as u64;
        if !watch(done) {
            return Err(BadArchive::Stopped);
        }
    }
    let Counted { hasher, bytes, .. } = gzip.finish().map_err(write)?;
    let digest = hasher.finish();
    std::fs::rename(&draft, blobs.join(digest.hex())).map_err(write)?;
    let layer = Descriptor {
        media_type: LAYER_TYPE.to_owned(),
        digest,
        size: bytes,
        artifact_type: None,
        platform: None,
        annotations: Annotations::new(),
        elsewhere: false,
    };
    Ok((layer, plain.finish()))
}

fn finish(into: &Path, blobs: &Path, config: &[u8], layers: &[Descriptor]) -> Result<()> {
    let write =
        |path: PathBuf, bytes: &[u8]| std::fs::write(&path, bytes).map_err(|error| unwritable(&path, &error));
    let config_part = Descriptor::of(CONFIG_TYPE, config);
    let image = manifest::write_image(None, &config_part, layers, None, &Annotations::new());
    let entry = Descriptor::of(OCI_MANIFEST, &image);
    write(blobs.join(config_part.digest.hex()), config)?;
    write(blobs.join(entry.digest.hex()), &image)?;
    write(into.join("index.json"), &manifest::write_index(std::slice::from_ref(&entry)))?;
    write(into.join("oci-layout"), br#"{"imageLayoutVersion":"1.0.0"}"#)
}

fn unreadable(path: &Path, error: &io::Error) -> BadArchive {
    BadArchive::Unreadable { path: path.to_owned(), why: error.to_string() }
}

fn unwritable(path: &Path, error: &io::Error) -> BadArchive {
    BadArchive::Unwritable { path: path.to_owned(), why: error.to_string() }
}

fn shown(name: &str) -> String {
    name.chars().take(200).collect()
}

#[cfg(test)]
#[path = "docker_archive_tests.rs"]
mod tests;
