//! Manifests of our own: the members in one order, nothing that is empty.

use serde::{Serialize, Serializer};

use super::{Annotations, Descriptor, OCI_INDEX, OCI_MANIFEST, Platform};

impl Serialize for Descriptor {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        #[serde(rename_all = "camelCase")]
        struct Written<'a> {
            media_type: &'a str,
            digest: &'a str,
            size: u64,
            #[serde(skip_serializing_if = "Option::is_none")]
            artifact_type: Option<&'a str>,
            #[serde(skip_serializing_if = "Option::is_none")]
            platform: Option<WrittenPlatform<'a>>,
            #[serde(skip_serializing_if = "Annotations::is_empty")]
            annotations: &'a Annotations,
        }
        Written {
            media_type: &self.media_type,
            digest: self.digest.as_str(),
            size: self.size,
            artifact_type: self.artifact_type.as_deref(),
            platform: self.platform.as_ref().map(WrittenPlatform::of),
            annotations: &self.annotations,
        }
        .serialize(serializer)
    }
}

#[derive(Serialize)]
struct WrittenPlatform<'a> {
    architecture: &'a str,
    os: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    variant: &'a str,
}

impl<'a> WrittenPlatform<'a> {
    fn of(platform: &'a Platform) -> Self {
        Self { architecture: &platform.architecture, os: &platform.os, variant: &platform.variant }
    }
}

/// An index of these entries.
pub fn write_index(manifests: &[Descriptor]) -> Vec<u8> {
    #[derive(Serialize)]
    #[serde(rename_all = "camelCase")]
    struct Written<'a> {
        schema_version: u32,
        media_type: &'static str,
        manifests: &'a [Descriptor],
    }
    to_bytes(&Written { schema_version: 2, media_type: OCI_INDEX, manifests })
}

/// A manifest in the shape of an image: an artifact if it has a type, about something if it has a subject.
pub fn write_image(
    artifact_type: Option<&str>,
    config: &Descriptor,
    layers: &[Descriptor],
    subject: Option<&Descriptor>,
    annotations: &Annotations,
) -> Vec<u8> {
    #[derive(Serialize)]
    #[serde(rename_all = "camelCase")]
    struct Written<'a> {
        schema_version: u32,
        media_type: &'static str,
        #[serde(skip_serializing_if = "Option::is_none")]
        artifact_type: Option<&'a str>,
        config: &'a Descriptor,
        layers: &'a [Descriptor],
        #[serde(skip_serializing_if = "Option::is_none")]
        subject: Option<&'a Descriptor>,
        #[serde(skip_serializing_if = "Annotations::is_empty")]
        annotations: &'a Annotations,
    }
    to_bytes(&Written {
        schema_version: 2,
        media_type: OCI_MANIFEST,
        artifact_type,
        config,
        layers,
        subject,
        annotations,
    })
}

fn to_bytes(value: &impl Serialize) -> Vec<u8> {
    serde_json::to_vec(value).expect("text and numbers only")
}
