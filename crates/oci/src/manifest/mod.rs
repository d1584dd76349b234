//! What a manifest says, read so that nobody can read it otherwise.
//!
//! First the shape (`read`), which holds for images, indexes and artifacts alike; then the use: `check_runnable` for
//! what a node starts, `Index::choose` for the one image of a machine. Strict, because the engine (written in another
//! language, with a more forgiving reader) will read the same bytes again and must not come to another meaning.

mod fitness;
mod refusal;
mod write;

use std::collections::BTreeMap;
use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

pub use refusal::BadManifest;
pub use write::{write_image, write_index};

use crate::json::{self, Json, Object};
use crate::reference::{BadReference, Digest, parse_digest};

/// A manifest of an ordinary image has some kilobytes.
pub const MAX_MANIFEST_BYTES: usize = 4 * 1024 * 1024;
pub const MAX_CONFIG_BYTES: u64 = 8 * 1024 * 1024;
pub const MAX_LAYERS: usize = 128;
pub const MAX_ENTRIES: usize = 256;

pub const OCI_MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";
pub const OCI_INDEX: &str = "application/vnd.oci.image.index.v1+json";
pub const DOCKER_MANIFEST: &str = "application/vnd.docker.distribution.manifest.v2+json";
pub const DOCKER_LIST: &str = "application/vnd.docker.distribution.manifest.list.v2+json";
/// What we ask a registry for.
pub const ACCEPTED: &[&str] = &[OCI_MANIFEST, DOCKER_MANIFEST, OCI_INDEX, DOCKER_LIST];

const SCHEMA1: &[&str] = &[
    "application/vnd.docker.distribution.manifest.v1+json",
    "application/vnd.docker.distribution.manifest.v1+prettyjws",
];
const MEMBERS: &[&str] = &[
    "schemaVersion",
    "mediaType",
    "artifactType",
    "config",
    "layers",
    "manifests",
    "subject",
    "annotations",
    "fsLayers",
    "history",
    "signatures",
];
const DESCRIPTOR: &[&str] =
    &["mediaType", "artifactType", "digest", "size", "urls", "data", "platform", "annotations"];
const PLATFORM: &[&str] = &["architecture", "os", "os.version", "os.features", "variant"];

pub type Annotations = BTreeMap<String, String>;

/// A part: so many bytes of this digest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Descriptor {
    pub media_type: String,
    pub digest: Digest,
    pub size: u64,
    pub artifact_type: Option<String>,
    pub platform: Option<Platform>,
    pub annotations: Annotations,
    /// It names other hosts that have it. They are never asked; an image with such a part is not run.
    pub elsewhere: bool,
}

/// A kind of machine, in Go's words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Platform {
    pub os: String,
    pub architecture: String,
    pub variant: String,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Manifest {
    Image(ImageManifest),
    Index(Index),
}

/// An image, or an artifact in the shape of one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImageManifest {
    pub artifact_type: Option<String>,
    pub config: Descriptor,
    pub layers: Vec<Descriptor>,
    pub subject: Option<Descriptor>,
    pub annotations: Annotations,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Index {
    pub artifact_type: Option<String>,
    pub manifests: Vec<Descriptor>,
    pub subject: Option<Descriptor>,
    pub annotations: Annotations,
}

type Result<T> = std::result::Result<T, BadManifest>;

impl Platform {
    pub fn linux(architecture: impl Into<String>) -> Self {
        Self { os: "linux".to_owned(), architecture: architecture.into(), variant: String::new() }
    }
}

impl fmt::Display for Platform {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.os, self.architecture)?;
        if self.variant.is_empty() { Ok(()) } else { write!(f, "/{}", self.variant) }
    }
}

/// Reads a manifest that came under this content type.
pub fn read(bytes: &[u8], content_type: &str) -> Result<Manifest> {
    if SCHEMA1.contains(&content_type) {
        return Err(BadManifest::Schema1);
    }
    if !ACCEPTED.contains(&content_type) {
        return Err(BadManifest::UnknownType { media_type: shown(content_type) });
    }
    let document = json::read(bytes, MAX_MANIFEST_BYTES)?;
    let top = document.open("", MEMBERS)?;
    if top.find("schemaVersion") != Some(&Json::Unsigned(2)) {
        return Err(BadManifest::SchemaVersion);
    }
    if ["fsLayers", "history", "signatures"].iter().any(|member| top.find(member).is_some()) {
        return Err(BadManifest::FirstSchemaMembers);
    }
    match top.find_text("mediaType")? {
        Some(own) if own != content_type => {
            return Err(BadManifest::TypeMismatch { own: shown(own), sent: content_type.to_owned() });
        }
        // OCI lets the type be left out; Docker does not.
        None if [DOCKER_MANIFEST, DOCKER_LIST].contains(&content_type) => {
            return Err(BadManifest::TypeMissing);
        }
        Some(_) | None => {}
    }
    let is_index = [OCI_INDEX, DOCKER_LIST].contains(&content_type);
    let image_members = top.find("config").is_some() || top.find("layers").is_some();
    match (is_index, image_members, top.find("manifests").is_some()) {
        (_, true, true) => Err(BadManifest::BothImageAndIndex),
        (false, false, true) => Err(BadManifest::IndexAsImage),
        (true, true, false) => Err(BadManifest::ImageAsIndex),
        (true, false, _) => index(&top).map(Manifest::Index),
        (false, _, false) => image(&top).map(Manifest::Image),
    }
}

/// Reads a manifest that a descriptor promised: its type, size and digest hold before a byte is looked at.
pub fn read_promised(bytes: &[u8], promise: &Descriptor) -> Result<Manifest> {
    if bytes.len() as u64 != promise.size {
        return Err(BadManifest::OtherSize { promised: promise.size, found: bytes.len() as u64 });
    }
    let found = Digest::of(bytes);
    if found != promise.digest {
        return Err(BadManifest::OtherDigest { wanted: promise.digest.clone(), found });
    }
    read(bytes, &promise.media_type)
}

fn image(top: &Object<'_>) -> Result<ImageManifest> {
    let config = top.find("config").ok_or(BadManifest::ConfigMissing)?;
    let layers = top.find_list("layers")?.ok_or(BadManifest::LayersMissing)?;
    if layers.len() > MAX_LAYERS {
        return Err(BadManifest::TooManyLayers { found: layers.len() });
    }
    let config = descriptor(config, "config")?;
    let layers = descriptors(layers, "layers")?;
    consistent(std::iter::once(&config).chain(&layers))?;
    Ok(ImageManifest {
        artifact_type: top.find_text("artifactType")?.map(str::to_owned),
        config,
        layers,
        subject: top.find("subject").map(|subject| descriptor(subject, "subject")).transpose()?,
        annotations: annotations(top)?,
    })
}

fn index(top: &Object<'_>) -> Result<Index> {
    let manifests = top.find_list("manifests")?.ok_or(BadManifest::ManifestsMissing)?;
    if manifests.len() > MAX_ENTRIES {
        return Err(BadManifest::TooManyEntries { found: manifests.len() });
    }
    let manifests = descriptors(manifests, "manifests")?;
    consistent(&manifests)?;
    Ok(Index {
        artifact_type: top.find_text("artifactType")?.map(str::to_owned),
        manifests,
        subject: top.find("subject").map(|subject| descriptor(subject, "subject")).transpose()?,
        annotations: annotations(top)?,
    })
}

fn descriptors(items: &[Json], path: &str) -> Result<Vec<Descriptor>> {
    items.iter().enumerate().map(|(at, item)| descriptor(item, &format!("{path}[{at}]"))).collect()
}

fn descriptor(value: &Json, path: &str) -> Result<Descriptor> {
    let object = value.open(path, DESCRIPTOR)?;
    let digest = parse_digest(object.text("digest")?).map_err(|why| match why {
        BadReference::UnsupportedAlgorithm => BadManifest::UnsupportedDigest { path: object.path("digest") },
        _ => BadManifest::MalformedDigest { path: object.path("digest") },
    })?;
    let &Json::Unsigned(size) = object.get("size")? else {
        return Err(BadManifest::MalformedSize { path: object.path("size") });
    };
    if let Some(data) = object.find_text("data")? {
        let inline = STANDARD.decode(data).ok();
        if !inline.is_some_and(|data| data.len() as u64 == size && Digest::of(&data) == digest) {
            return Err(BadManifest::InlineData { path: object.path("data") });
        }
    }
    Ok(Descriptor {
        media_type: object.text("mediaType")?.to_owned(),
        digest,
        size,
        artifact_type: object.find_text("artifactType")?.map(str::to_owned),
        platform: object
            .find("platform")
            .map(|value| platform(value, &object.path("platform")))
            .transpose()?,
        annotations: annotations(&object)?,
        elsewhere: object.find_list("urls")?.is_some_and(|urls| !urls.is_empty()),
    })
}

fn platform(value: &Json, path: &str) -> Result<Platform> {
    let object = value.open(path, PLATFORM)?;
    Ok(Platform {
        os: object.text("os")?.to_owned(),
        architecture: object.text("architecture")?.to_owned(),
        variant: object.find_text("variant")?.unwrap_or_default().to_owned(),
    })
}

fn annotations(object: &Object<'_>) -> Result<Annotations> {
    let Some(value) = object.find("annotations") else { return Ok(Annotations::new()) };
    let object = value.open(&object.path("annotations"), &[])?;
    let pairs = object.members().iter().map(|(name, value)| match value {
        Json::Text(text) => Ok((name.clone(), text.clone())),
        _ => Err(json::BadJson::WrongType { path: object.path(name), wanted: "text" }.into()),
    });
    pairs.collect()
}

/// The same bytes have one size and one type, and all of them together fit a number that disks are counted in.
fn consistent<'a>(parts: impl IntoIterator<Item = &'a Descriptor>) -> Result<()> {
    let mut known: BTreeMap<&Digest, &Descriptor> = BTreeMap::new();
    let mut total = 0_u64;
    for part in parts {
        match known.insert(&part.digest, part) {
            Some(other) if other.size != part.size => {
                return Err(BadManifest::TwoSizes { digest: part.digest.clone() });
            }
            Some(other) if other.media_type != part.media_type => {
                return Err(BadManifest::TwoTypes { digest: part.digest.clone() });
            }
            Some(_) => {}
            None => total = total.checked_add(part.size).ok_or(BadManifest::SizesOverflow)?,
        }
    }
    if i64::try_from(total).is_err() { Err(BadManifest::SizesOverflow) } else { Ok(()) }
}

impl Descriptor {
    /// Of bytes at hand.
    pub fn of(media_type: impl Into<String>, bytes: &[u8]) -> Self {
        Self {
            media_type: media_type.into(),
            digest: Digest::of(bytes),
            size: bytes.len() as u64,
            artifact_type: None,
            platform: None,
            annotations: Annotations::new(),
            elsewhere: false,
        }
    }
}

/// A stranger's words in a sentence of ours: not too many of them.
fn shown(text: &str) -> String {
    text.chars().take(100).collect()
}

#[cfg(test)]
mod tests;
