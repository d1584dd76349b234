//! What a manifest may be used for: started on a node, or chosen from an index for one kind of machine.

use super::{
    BadManifest, DOCKER_LIST, DOCKER_MANIFEST, Descriptor, ImageManifest, Index, MAX_CONFIG_BYTES,
    MAX_MANIFEST_BYTES, OCI_INDEX, OCI_MANIFEST, Platform, Result, shown,
};
use crate::{Digest, json};

const CONFIGS: &[&str] =
    &["application/vnd.oci.image.config.v1+json", "application/vnd.docker.container.image.v1+json"];
const LAYERS: &[&str] = &[
    "application/vnd.oci.image.layer.v1.tar",
    "application/vnd.oci.image.layer.v1.tar+gzip",
    "application/vnd.oci.image.layer.v1.tar+zstd",
    "application/vnd.docker.image.rootfs.diff.tar",
    "application/vnd.docker.image.rootfs.diff.tar.gzip",
];
const CONFIG: &[&str] = &["architecture", "os", "variant", "rootfs", "config", "created", "history"];

impl Platform {
    /// The baseline of the architecture: an image for a later variant may not run there.
    fn fits(&self, wanted: &Self) -> bool {
        let variant = self.variant == wanted.variant
            || (wanted.variant.is_empty()
                && matches!(
                    (self.architecture.as_str(), self.variant.as_str()),
                    ("arm64", "v8") | ("amd64", "v1")
                ));
        self.os == wanted.os && self.architecture == wanted.architecture && variant
    }
}

impl ImageManifest {
    /// Whether a node may start it: a container image, all of it in this registry.
    pub fn check_runnable(&self) -> Result<()> {
        if let Some(artifact_type) = &self.artifact_type {
            return Err(BadManifest::Artifact { artifact_type: shown(artifact_type) });
        }
        if !CONFIGS.contains(&self.config.media_type.as_str()) {
            return Err(BadManifest::ConfigType { media_type: shown(&self.config.media_type) });
        }
        if self.config.size > MAX_CONFIG_BYTES {
            return Err(BadManifest::ConfigTooLarge { bytes: self.config.size });
        }
        if self.layers.is_empty() {
            return Err(BadManifest::NoLayers);
        }
        for layer in &self.layers {
            if layer.media_type.ends_with("+encrypted") {
                return Err(BadManifest::EncryptedLayer);
            }
            if !LAYERS.contains(&layer.media_type.as_str()) {
                return Err(BadManifest::LayerType { media_type: shown(&layer.media_type) });
            }
        }
        if self.config.elsewhere {
            return Err(BadManifest::Elsewhere { path: "config".to_owned() });
        }
        match self.layers.iter().position(|layer| layer.elsewhere) {
            Some(at) => Err(BadManifest::Elsewhere { path: format!("layers[{at}]") }),
            None => Ok(()),
        }
    }

    /// Whether the configuration is of this image and for this machine.
    pub fn check_config(&self, config: &[u8], wanted: &Platform) -> Result<()> {
        if config.len() as u64 != self.config.size {
            return Err(BadManifest::OtherSize { promised: self.config.size, found: config.len() as u64 });
        }
        let found = Digest::of(config);
        if found != self.config.digest {
            return Err(BadManifest::OtherDigest { wanted: self.config.digest.clone(), found });
        }
        let most = usize::try_from(MAX_CONFIG_BYTES).unwrap_or(usize::MAX);
        let document = json::read(config, most)?;
        let top = document.open("", CONFIG)?;
        let found = Platform {
            os: top.text("os")?.to_owned(),
            architecture: top.text("architecture")?.to_owned(),
            variant: top.find_text("variant")?.unwrap_or_default().to_owned(),
        };
        if !found.fits(wanted) {
            return Err(BadManifest::ConfigPlatform {
                wanted: wanted.to_string(),
                found: shown(&found.to_string()),
            });
        }
        let rootfs = top.get("rootfs")?.open("rootfs", &["type", "diff_ids"])?;
        let kind = rootfs.text("type")?;
        if kind != "layers" {
            return Err(BadManifest::RootFsType { found: shown(kind) });
        }
        let diff_ids = rootfs.find_list("diff_ids")?.unwrap_or_default().len();
        if diff_ids != self.layers.len() {
            return Err(BadManifest::LayerCount { layers: self.layers.len(), diff_ids });
        }
        Ok(())
    }
}

impl Index {
    /// The one image for this machine. Two would leave the choice to whoever reads it next.
    pub fn choose(&self, wanted: &Platform) -> Result<&Descriptor> {
        if let Some(artifact_type) = &self.artifact_type {
            return Err(BadManifest::Artifact { artifact_type: shown(artifact_type) });
        }
        let fits =
            |entry: &&Descriptor| entry.platform.as_ref().is_some_and(|platform| platform.fits(wanted));
        let mut fitting = self.manifests.iter().enumerate().filter(|(_, entry)| fits(entry));
        let (at, entry) =
            fitting.next().ok_or_else(|| BadManifest::NoPlatform { wanted: wanted.to_string() })?;
        if fitting.next().is_some() {
            return Err(BadManifest::TwoPlatforms { wanted: wanted.to_string() });
        }
        match entry.media_type.as_str() {
            OCI_MANIFEST | DOCKER_MANIFEST => {}
            OCI_INDEX | DOCKER_LIST => return Err(BadManifest::NestedIndex),
            other => return Err(BadManifest::EntryType { media_type: shown(other) }),
        }
        if entry.elsewhere {
            return Err(BadManifest::Elsewhere { path: format!("manifests[{at}]") });
        }
        if entry.size > MAX_MANIFEST_BYTES as u64 {
            return Err(BadManifest::EntryTooLarge { bytes: entry.size });
        }
        Ok(entry)
    }
}
