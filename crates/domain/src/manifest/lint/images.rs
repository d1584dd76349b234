//! Where images come from, and that the artifact released is the one that runs.

use gpuaas_agent_protocol::image::ImageRef;

use super::Faults;
use crate::artifact::RegistryNames;
use crate::manifest::{ArtifactKind, Manifest};

pub(super) fn check(manifest: &Manifest, registry: Option<&RegistryNames>, faults: &mut Faults) {
    let running = running(manifest);
    for (at, image) in manifest.named_images() {
        source(&at, image, registry, faults);
    }
    let same = |image: &ImageRef| {
        image.digest() == manifest.artifact_ref.digest()
            && image.repository() == manifest.artifact_ref.repository()
    };
    let runs_here = running.iter().any(|(_, image)| same(image));
    if manifest.artifact_kind != ArtifactKind::Controller && !running.is_empty() && !runs_here {
        faults.add(
            "/artifact_ref",
            "artifact_ref_mismatch",
            "None of the images that run is this artifact; name the same repository and digest.",
        );
    }
}

fn running(manifest: &Manifest) -> Vec<(String, &ImageRef)> {
    let single = manifest
        .runtime_profile
        .iter()
        .map(|only| ("/runtime_profile/image_ref".to_owned(), &only.image_ref));
    let many = manifest.components.iter().enumerate().filter_map(|(index, component)| {
        component.image_ref.as_ref().map(|image| (format!("/components/{index}/image_ref"), image))
    });
    let variants = manifest.artifacts.iter().enumerate().flat_map(|(index, artifact)| {
        let variants = artifact.variants.iter().enumerate();
        variants.map(move |(number, variant)| {
            (format!("/artifacts/{index}/variants/{number}/image_ref"), &variant.image_ref)
        })
    });
    single.chain(many).chain(variants).collect()
}

fn source(at: &str, image: &ImageRef, registry: Option<&RegistryNames>, faults: &mut Faults) {
    if let Some(names) = registry
        && let Err(not_ours) = names.parse(image)
    {
        faults.add(at, "image_source_not_allowed", not_ours.sentence(names));
    }
}

impl Manifest {
    /// Every image that is named, with where.
    pub fn named_images(&self) -> Vec<(String, &ImageRef)> {
        std::iter::once(("/artifact_ref".to_owned(), &self.artifact_ref)).chain(running(self)).collect()
    }
}
