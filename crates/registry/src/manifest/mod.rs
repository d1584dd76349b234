//! What a pushed manifest says, and whether it says it in one way only.
//!
//! Pure: bytes, content type and policy in, a [`Manifest`] or a sentence out. Whether the parts are there is the
//! storage's question. Strict, because engines and other registries read the same bytes with more forgiving readers and
//! must not come to another meaning than we did when we let them in.

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, HashMap};
use std::fmt;

use base64::Engine as _;
use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};

use crate::digest::Digest;

/// The specification asks registries to take at least this much; nobody needs more.
pub const MAX_MANIFEST_BYTES: usize = 4 * 1024 * 1024;

/// Members with a meaning for somebody who reads a manifest.
const MEMBERS: &[&str] = &[
    "schemaVersion",
    "mediaType",
    "artifactType",
    "config",
    "layers",
    "manifests",
    "subject",
    "annotations",
    "digest",
    "size",
    "urls",
    "data",
    "platform",
    "architecture",
    "os",
    "variant",
    "fsLayers",
    "history",
    "signatures",
];
/// Of these, the one whose members are the author's.
const FREE: &[&str] = &["annotations"];

pub const OCI_MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";
pub const OCI_INDEX: &str = "application/vnd.oci.image.index.v1+json";
pub const DOCKER_MANIFEST: &str = "application/vnd.docker.distribution.manifest.v2+json";
pub const DOCKER_LIST: &str = "application/vnd.docker.distribution.manifest.list.v2+json";

/// The kinds of manifest that are stored. Docker's first schema is none: its digest does not cover what it says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MediaType {
    OciManifest,
    OciIndex,
    DockerManifest,
    DockerList,
}

impl MediaType {
    pub const ALL: [Self; 4] = [Self::OciManifest, Self::OciIndex, Self::DockerManifest, Self::DockerList];

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::OciManifest => OCI_MANIFEST,
            Self::OciIndex => OCI_INDEX,
            Self::DockerManifest => DOCKER_MANIFEST,
            Self::DockerList => DOCKER_LIST,
        }
    }

    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == text)
    }

    const fn is_index(self) -> bool {
        match self {
            Self::OciIndex | Self::DockerList => true,
            Self::OciManifest | Self::DockerManifest => false,
        }
    }

    const fn is_docker(self) -> bool {
        match self {
            Self::DockerManifest | Self::DockerList => true,
            Self::OciManifest | Self::OciIndex => false,
        }
    }
}

/// What an operator may allow beyond the safe default.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Policy {
    /// Layers that lie on another host. A puller would send its request, perhaps its credentials, there.
    pub foreign_layers: bool,
    /// An index may name images that were never pushed.
    pub sparse_indexes: bool,
}

/// So many bytes of this digest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    pub digest: Digest,
    pub size: u64,
}

/// A manifest that was read and found to have one meaning.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Manifest {
    pub media_type: MediaType,
    /// Config and layers that must be there as blobs, each once.
    pub blobs: Vec<Part>,
    /// Manifests that must be there, each once; empty for a sparse index.
    pub children: Vec<Part>,
    /// What it is about, there or not.
    pub subject: Option<Digest>,
    /// What the referrers list shows of it.
    pub artifact_type: Option<String>,
    pub annotations: BTreeMap<String, String>,
}

/// Why a manifest is not taken; a sentence for its author.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ambiguous(pub String);

impl fmt::Display for Ambiguous {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Ambiguous {}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Document {
    schema_version: u32,
    media_type: Option<String>,
    artifact_type: Option<String>,
    config: Option<Descriptor>,
    layers: Option<Vec<Descriptor>>,
    manifests: Option<Vec<Descriptor>>,
    subject: Option<Descriptor>,
    annotations: Option<BTreeMap<String, String>>,
    fs_layers: Option<IgnoredAny>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Descriptor {
    media_type: String,
    digest: String,
    size: u64,
    #[serde(default)]
    urls: Option<Vec<String>>,
    data: Option<String>,
}

/// One line of the referrers list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Referrer {
    pub media_type: &'static str,
    pub digest: String,
    pub size: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub artifact_type: Option<String>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub annotations: BTreeMap<String, String>,
}

/// What a line of the referrers list shows at most. A list is read by everybody who pulls the subject, and written by
/// anybody who may push beside it.
const MAX_LISTED_ANNOTATIONS: usize = 4 << 10;
/// The longest media type there is: two names of 127 characters.
const MAX_LISTED_TYPE: usize = 255;

impl Referrer {
    /// What is too long for a list is left out of it; it stands in the manifest.
    pub fn new(digest: &Digest, size: u64, manifest: Manifest) -> Self {
        // As they are sent: an escape makes one character six.
        let sent = serde_json::to_string(&manifest.annotations).map_or(usize::MAX, |text| text.len());
        let annotations = if sent > MAX_LISTED_ANNOTATIONS { BTreeMap::new() } else { manifest.annotations };
        Self {
            media_type: manifest.media_type.as_str(),
            digest: digest.to_string(),
            size,
            artifact_type: manifest.artifact_type.filter(|kind| kind.len() <= MAX_LISTED_TYPE),
            annotations,
        }
    }
}

/// Reads a manifest that was sent with this content type.
pub fn read(bytes: &[u8], content_type: MediaType, policy: Policy) -> Result<Manifest, Ambiguous> {
    let refuse = |why: String| Err(Ambiguous(why));
    if bytes.len() > MAX_MANIFEST_BYTES {
        return refuse("a manifest has at most 4 MiB".to_owned());
    }
    gpuaas_oci::check_json(bytes, MAX_MANIFEST_BYTES, MEMBERS, FREE)
        .map_err(|error| Ambiguous(format!("it is ambiguous or no JSON: {error}")))?;
    let document: Document =
        serde_json::from_slice(bytes).map_err(|error| Ambiguous(format!("it cannot be read: {error}")))?;
    if document.schema_version != 2 || document.fs_layers.is_some() {
        return refuse("it is not of schema version 2".to_owned());
    }
    match &document.media_type {
        Some(own) if own != content_type.as_str() => {
            return refuse(format!("it calls itself {own:?} and was sent as {:?}", content_type.as_str()));
        }
        None if content_type.is_docker() => return refuse("it does not say what it is".to_owned()),
        Some(_) | None => {}
    }
    let subject = document.subject.as_ref().map(|subject| part(subject, policy)).transpose()?;
    let (mut blobs, mut children) = (Parts::default(), Parts::default());
    let artifact_type = match (content_type.is_index(), document.config, document.layers, document.manifests)
    {
        (false, Some(config), layers, None) => {
            blobs.add(part(&config, Policy { foreign_layers: false, ..policy })?)?;
            for layer in layers.iter().flatten() {
                let foreign = is_foreign(layer);
                let layer = part(layer, policy)?;
                if !foreign {
                    blobs.add(layer)?;
                }
            }
            document.artifact_type.or(Some(config.media_type))
        }
        (true, None, None, manifests) => {
            for child in manifests.iter().flatten() {
                let child = part(child, Policy { foreign_layers: false, ..policy })?;
                if child.size > MAX_MANIFEST_BYTES as u64 {
                    return refuse(format!("{} cannot be a manifest of {} bytes", child.digest, child.size));
                }
                children.add(child)?;
            }
            document.artifact_type
        }
        _ => return refuse("it is both an image and an index, or neither".to_owned()),
    };
    Ok(Manifest {
        media_type: content_type,
        blobs: blobs.list,
        children: if policy.sparse_indexes { Vec::new() } else { children.list },
        subject: subject.map(|subject| subject.digest),
        artifact_type,
        annotations: document.annotations.unwrap_or_default(),
    })
}

/// Its bytes are not ours to have.
fn is_foreign(descriptor: &Descriptor) -> bool {
    descriptor.media_type.contains(".nondistributable.")
        || descriptor.media_type.contains(".foreign.")
        || descriptor.urls.as_ref().is_some_and(|urls| !urls.is_empty())
}

fn part(descriptor: &Descriptor, policy: Policy) -> Result<Part, Ambiguous> {
    let digest: Digest = descriptor
        .digest
        .parse()
        .map_err(|error| Ambiguous(format!("{:?} is no digest: {error}", descriptor.digest)))?;
    if is_foreign(descriptor) && !policy.foreign_layers {
        return Err(Ambiguous(format!("{digest} lies on another host; push it here")));
    }
    // Other readers keep sizes in signed numbers.
    if descriptor.size > i64::MAX as u64 {
        return Err(Ambiguous(format!("{digest} cannot have {} bytes", descriptor.size)));
    }
    if let Some(data) = &descriptor.data {
        let bytes = base64::engine::general_purpose::STANDARD
            .decode(data)
            .map_err(|_| Ambiguous(format!("the data of {digest} is no base64")))?;
        if bytes.len() as u64 != descriptor.size || Digest::of(digest.algorithm(), &bytes) != digest {
            return Err(Ambiguous(format!("the data beside {digest} are other bytes")));
        }
    }
    Ok(Part { digest, size: descriptor.size })
}

/// Each part once, with one size.
#[derive(Default)]
struct Parts {
    list: Vec<Part>,
    sizes: HashMap<Digest, u64>,
    total: u64,
}

impl Parts {
    fn add(&mut self, part: Part) -> Result<(), Ambiguous> {
        match self.sizes.get(&part.digest) {
            Some(size) if *size != part.size => {
                return Err(Ambiguous(format!("it gives {} two sizes", part.digest)));
            }
            Some(_) => return Ok(()),
            None => {}
        }
        self.total = self.total.saturating_add(part.size);
        if self.total > i64::MAX as u64 {
            return Err(Ambiguous("its sizes overflow".to_owned()));
        }
        self.sizes.insert(part.digest.clone(), part.size);
        self.list.push(part);
        Ok(())
    }
}
