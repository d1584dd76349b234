//! Why a manifest is not taken. Every reason is its own, so a person can tell what to mend.

use std::fmt;

use super::{MAX_CONFIG_BYTES, MAX_ENTRIES, MAX_LAYERS, MAX_MANIFEST_BYTES};
use crate::Digest;
use crate::json::BadJson;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BadManifest {
    Json(BadJson),
    /// The bytes are not those that were promised.
    OtherDigest {
        wanted: Digest,
        found: Digest,
    },
    OtherSize {
        promised: u64,
        found: u64,
    },
    /// Docker's first schema: its names are not digests of what runs.
    Schema1,
    UnknownType {
        media_type: String,
    },
    SchemaVersion,
    /// Members of the first schema in a manifest that says it is of the second.
    FirstSchemaMembers,
    /// It calls itself something else than the registry does.
    TypeMismatch {
        own: String,
        sent: String,
    },
    /// It must say what it is and does not.
    TypeMissing,
    BothImageAndIndex,
    /// A list of manifests under the type of an image.
    IndexAsImage,
    ImageAsIndex,
    ConfigMissing,
    LayersMissing,
    ManifestsMissing,
    TooManyLayers {
        found: usize,
    },
    TooManyEntries {
        found: usize,
    },
    MalformedDigest {
        path: String,
    },
    /// An algorithm that we know and do not take.
    UnsupportedDigest {
        path: String,
    },
    MalformedSize {
        path: String,
    },
    /// The bytes written into the descriptor are not those it names.
    InlineData {
        path: String,
    },
    TwoSizes {
        digest: Digest,
    },
    TwoTypes {
        digest: Digest,
    },
    SizesOverflow,
    /// A part lies on another host.
    Elsewhere {
        path: String,
    },
    /// An artifact where an image was wanted.
    Artifact {
        artifact_type: String,
    },
    NoLayers,
    ConfigType {
        media_type: String,
    },
    ConfigTooLarge {
        bytes: u64,
    },
    LayerType {
        media_type: String,
    },
    EncryptedLayer,
    NoPlatform {
        wanted: String,
    },
    TwoPlatforms {
        wanted: String,
    },
    NestedIndex,
    EntryType {
        media_type: String,
    },
    EntryTooLarge {
        bytes: u64,
    },
    /// The configuration is for another machine than the index says.
    ConfigPlatform {
        wanted: String,
        found: String,
    },
    LayerCount {
        layers: usize,
        diff_ids: usize,
    },
    RootFsType {
        found: String,
    },
}

impl From<BadJson> for BadManifest {
    fn from(why: BadJson) -> Self {
        Self::Json(why)
    }
}

impl fmt::Display for BadManifest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Json(why) => write!(f, "the manifest cannot be read: {why}"),
            Self::OtherDigest { wanted, found } => write!(f, "the bytes are {found}, not {wanted}"),
            Self::OtherSize { promised, found } => write!(f, "{promised} bytes are promised, {found} came"),
            Self::Schema1 => f.write_str("the manifest is of Docker's first schema, which is not run"),
            Self::UnknownType { media_type } => {
                write!(f, "a manifest of the type {media_type:?} is not known")
            }
            Self::SchemaVersion => f.write_str("the schemaVersion is not 2"),
            Self::FirstSchemaMembers => f.write_str("the manifest has members of the first schema"),
            Self::TypeMismatch { own, sent } => {
                write!(f, "the manifest calls itself {own:?} and was sent as {sent:?}")
            }
            Self::TypeMissing => f.write_str("the manifest does not say what it is"),
            Self::BothImageAndIndex => f.write_str("the manifest is both an image and an index"),
            Self::IndexAsImage => f.write_str("an index was sent as an image"),
            Self::ImageAsIndex => f.write_str("an image was sent as an index"),
            Self::ConfigMissing => f.write_str("the image has no config"),
            Self::LayersMissing => f.write_str("the image has no list of layers"),
            Self::ManifestsMissing => f.write_str("the index has no list of manifests"),
            Self::TooManyLayers { found } => write!(f, "{found} layers; at most {MAX_LAYERS} are taken"),
            Self::TooManyEntries { found } => write!(f, "{found} entries; at most {MAX_ENTRIES} are taken"),
            Self::MalformedDigest { path } => write!(f, "{path} is no digest"),
            Self::UnsupportedDigest { path } => write!(f, "{path} is of sha512; only sha256 is taken"),
            Self::MalformedSize { path } => write!(f, "{path} is no count of bytes"),
            Self::InlineData { path } => write!(f, "{path} is not what its digest and size say"),
            Self::TwoSizes { digest } => write!(f, "{digest} has two sizes"),
            Self::TwoTypes { digest } => write!(f, "{digest} has two types"),
            Self::SizesOverflow => f.write_str("the sizes add up to more than any disk"),
            Self::Elsewhere { path } => {
                write!(f, "{path} leads to another host; only the registry itself is asked")
            }
            Self::Artifact { artifact_type } => {
                write!(f, "it is an artifact, {artifact_type:?}, and no image")
            }
            Self::NoLayers => f.write_str("an image without layers runs nothing"),
            Self::ConfigType { media_type } => {
                write!(f, "the config has the type {media_type:?}: it is no container image")
            }
            Self::ConfigTooLarge { bytes } => {
                write!(f, "a config of {bytes} bytes; at most {MAX_CONFIG_BYTES} are taken")
            }
            Self::LayerType { media_type } => {
                write!(f, "a layer has the type {media_type:?}, which is not run")
            }
            Self::EncryptedLayer => f.write_str("a layer is encrypted"),
            Self::NoPlatform { wanted } => write!(f, "the index has no image for {wanted}"),
            Self::TwoPlatforms { wanted } => write!(f, "the index has two images for {wanted}"),
            Self::NestedIndex => f.write_str("the index leads to another index"),
            Self::EntryType { media_type } => write!(f, "the index leads to {media_type:?}, not to an image"),
            Self::EntryTooLarge { bytes } => {
                write!(
                    f,
                    "the index leads to a manifest of {bytes} bytes; at most {MAX_MANIFEST_BYTES} are taken"
                )
            }
            Self::ConfigPlatform { wanted, found } => {
                write!(f, "the config is for {found}, not for {wanted}")
            }
            Self::LayerCount { layers, diff_ids } => {
                write!(f, "the config names {diff_ids} layers, the manifest {layers}")
            }
            Self::RootFsType { found } => write!(f, "the root file system is of the type {found:?}"),
        }
    }
}

impl std::error::Error for BadManifest {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        None
    }
}
