//! What an image says it consists of. Strict, because the engine (written in another language, with a more forgiving
//! reader) will read the same bytes again and must not come to another meaning.

use std::collections::BTreeSet;
use std::fmt;

use gpuaas_agent_protocol::Digest;
use serde::Deserialize;
use serde::de::{Deserializer, Error as _, IgnoredAny, MapAccess, SeqAccess, Visitor};

/// A manifest of an ordinary image has some kilobytes.
pub(super) const MAX_MANIFEST_BYTES: usize = 4 * 1024 * 1024;
const MAX_CONFIG_BYTES: u64 = 8 * 1024 * 1024;
const MAX_LAYERS: usize = 128;
const MAX_INDEX: usize = 256;

const OCI_MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";
const OCI_INDEX: &str = "application/vnd.oci.image.index.v1+json";
const DOCKER_MANIFEST: &str = "application/vnd.docker.distribution.manifest.v2+json";
const DOCKER_LIST: &str = "application/vnd.docker.distribution.manifest.list.v2+json";
/// What we ask a registry for.
pub(super) const ACCEPTED: &[&str] = &[OCI_MANIFEST, DOCKER_MANIFEST, OCI_INDEX, DOCKER_LIST];

const CONFIGS: &[&str] =
    &["application/vnd.oci.image.config.v1+json", "application/vnd.docker.container.image.v1+json"];
const LAYERS: &[&str] = &[
    "application/vnd.oci.image.layer.v1.tar",
    "application/vnd.oci.image.layer.v1.tar+gzip",
    "application/vnd.oci.image.layer.v1.tar+zstd",
    "application/vnd.docker.image.rootfs.diff.tar",
    "application/vnd.docker.image.rootfs.diff.tar.gzip",
];

/// Members with a meaning. The engine's reader takes them in any case of letters; we take one.
const MEMBERS: &[&str] = &[
    "schemaVersion",
    "mediaType",
    "artifactType",
    "config",
    "layers",
    "manifests",
    "fsLayers",
    "digest",
    "size",
    "urls",
    "platform",
    "architecture",
    "os",
    "variant",
];

/// A part of an image: so many bytes of this digest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Part {
    pub(super) digest: Digest,
    pub(super) size: u64,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Manifest {
    /// Config first, then the layers.
    Image(Vec<Part>),
    /// An index, and the one image in it that fits this machine.
    Index(Part),
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Document {
    schema_version: u32,
    media_type: Option<String>,
    artifact_type: Option<String>,
    config: Option<Descriptor>,
    layers: Option<Vec<Descriptor>>,
    manifests: Option<Vec<Descriptor>>,
    fs_layers: Option<IgnoredAny>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Descriptor {
    media_type: String,
    digest: Digest,
    size: u64,
    #[serde(default)]
    urls: Vec<String>,
    platform: Option<Platform>,
}

#[derive(Deserialize)]
struct Platform {
    architecture: String,
    os: String,
    #[serde(default)]
    variant: String,
}

impl Platform {
    /// The baseline of the architecture: an image for a later variant may not run here.
    fn fits(&self, architecture: &str) -> bool {
        let baseline =
            matches!((architecture, self.variant.as_str()), (_, "") | ("arm64", "v8") | ("amd64", "v1"));
        self.os == "linux" && self.architecture == architecture && baseline
    }
}

/// Reads a manifest that came with this content type. The refusal is a sentence.
pub(super) fn read(bytes: &[u8], content_type: &str, architecture: &str) -> Result<Manifest, String> {
    if !ACCEPTED.contains(&content_type) {
        return Err(format!("the registry sent a manifest of the type {content_type:?}, which is not run"));
    }
    serde_json::from_slice::<Unambiguous>(bytes)
        .map_err(|error| format!("the manifest is ambiguous or no JSON: {error}"))?;
    let document: Document =
        serde_json::from_slice(bytes).map_err(|error| format!("the manifest cannot be read: {error}"))?;
    let is_index = [OCI_INDEX, DOCKER_LIST].contains(&content_type);
    if document.schema_version != 2 || document.fs_layers.is_some() {
        return Err("the manifest is not of schema version 2".to_owned());
    }
    match &document.media_type {
        Some(own) if own != content_type => {
            return Err(format!("the manifest calls itself {own:?} and was sent as {content_type:?}"));
        }
        None if [DOCKER_MANIFEST, DOCKER_LIST].contains(&content_type) => {
            return Err("the manifest does not say what it is".to_owned());
        }
        Some(_) | None => {}
    }
    if document.artifact_type.is_some() {
        return Err("it is an artifact, not an image".to_owned());
    }
    match (is_index, document.config, document.layers, document.manifests) {
        (false, Some(config), Some(layers), None) => image(config, layers),
        (true, None, None, Some(manifests)) => index(manifests, architecture),
        _ => Err("the manifest is both an image and an index, or neither".to_owned()),
    }
}

fn image(config: Descriptor, layers: Vec<Descriptor>) -> Result<Manifest, String> {
    if !CONFIGS.contains(&config.media_type.as_str()) {
        return Err(format!("the config has the type {:?}: it is no container image", config.media_type));
    }
    if config.size > MAX_CONFIG_BYTES || layers.len() > MAX_LAYERS || layers.is_empty() {
        return Err(format!("an image has a config of at most 8 MiB and 1 to {MAX_LAYERS} layers"));
    }
    if let Some(layer) = layers.iter().find(|layer| !LAYERS.contains(&layer.media_type.as_str())) {
        return Err(format!("a layer has the type {:?}, which is not run", layer.media_type));
    }
    let mut parts: Vec<Part> = Vec::with_capacity(layers.len() + 1);
    let mut total: u64 = 0;
    for descriptor in std::iter::once(config).chain(layers) {
        if !descriptor.urls.is_empty() {
            return Err(
                "a part of the image lies on another host; only the registry itself is asked".to_owned()
            );
        }
        let part = Part { digest: descriptor.digest, size: descriptor.size };
        match parts.iter().find(|known| known.digest == part.digest) {
            Some(known) if *known != part => {
                return Err(format!("the manifest gives {} two sizes", part.digest));
            }
            // The same layer twice is transferred once.
            Some(_) => continue,
            None => total = total.checked_add(part.size).ok_or("the sizes of the image overflow")?,
        }
        parts.push(part);
    }
    if total > i64::MAX as u64 {
        return Err("the sizes of the image overflow".to_owned());
    }
    Ok(Manifest::Image(parts))
}

fn index(manifests: Vec<Descriptor>, architecture: &str) -> Result<Manifest, String> {
    if manifests.len() > MAX_INDEX {
        return Err(format!("an index has at most {MAX_INDEX} entries"));
    }
    let mut fitting = manifests
        .into_iter()
        .filter(|entry| entry.platform.as_ref().is_some_and(|platform| platform.fits(architecture)));
    let Some(entry) = fitting.next() else {
        return Err(format!("the index has no image for linux/{architecture}"));
    };
    if fitting.next().is_some() {
        return Err(format!("the index has two images for linux/{architecture}"));
    }
    if ![OCI_MANIFEST, DOCKER_MANIFEST].contains(&entry.media_type.as_str()) {
        return Err(format!("the index leads to {:?}, not to an image", entry.media_type));
    }
    if !entry.urls.is_empty() || entry.size > MAX_MANIFEST_BYTES as u64 {
        return Err("the index leads to another host or to a manifest of more than 4 MiB".to_owned());
    }
    Ok(Manifest::Index(Part { digest: entry.digest, size: entry.size }))
}

/// JSON in which no object names a member twice, in whatever case of letters, nor one of ours in another case.
struct Unambiguous;

impl<'de> Deserialize<'de> for Unambiguous {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Reading)
    }
}

struct Reading;

macro_rules! scalar {
    ($($visit:ident: $kind:ty),*) => {$(
        fn $visit<E>(self, _: $kind) -> Result<Unambiguous, E> {
            Ok(Unambiguous)
        }
    )*};
}

/// As engines compare names, which is not as ASCII does: to them a long s is an s.
fn fold(name: &str) -> String {
    name.replace('\u{17f}', "s").to_lowercase()
}

impl<'de> Visitor<'de> for Reading {
    type Value = Unambiguous;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    scalar!(visit_bool: bool, visit_i64: i64, visit_u64: u64, visit_f64: f64, visit_str: &str);

    fn visit_unit<E>(self) -> Result<Unambiguous, E> {
        Ok(Unambiguous)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Unambiguous, A::Error> {
        while list.next_element::<Unambiguous>()?.is_some() {}
        Ok(Unambiguous)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Unambiguous, A::Error> {
        let mut seen = BTreeSet::new();
        while let Some(name) = members.next_key::<String>()? {
            let folded = fold(&name);
            let ours = MEMBERS.iter().find(|known| fold(known) == folded);
            if ours.is_some_and(|known| *known != name) {
                return Err(A::Error::custom(format!("{name:?} is spelt in another way")));
            }
            if !seen.insert(folded) {
                return Err(A::Error::custom(format!("{name:?} is there twice")));
            }
            members.next_value::<Unambiguous>()?;
        }
        Ok(Unambiguous)
    }
}

#[cfg(test)]
mod tests;
