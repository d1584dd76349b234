//! Where images come from, and that the artifact released is the one that runs.

use gpuaas_agent_protocol::image::ImageRef;

use super::{Faults, Registries};
use crate::manifest::{ArtifactKind, Manifest};

pub(super) fn check(manifest: &Manifest, registries: &Registries, faults: &mut Faults) {
    let running = running(manifest);
    for (at, image) in
        std::iter::once(("/artifact_ref".to_owned(), &manifest.artifact_ref)).chain(running.clone())
    {
        source(&at, image, registries, faults);
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

fn source(at: &str, image: &ImageRef, registries: &Registries, faults: &mut Faults) {
    let mut hosts = registries.allowed.iter().filter(|registry| registry.host == image.registry()).peekable();
    let message = if hosts.peek().is_none() {
        let mut known: Vec<&str> = registries.allowed.iter().map(|registry| registry.host.as_str()).collect();
        known.dedup();
        match known.as_slice() {
            [] => "This platform has no registry configured yet.".to_owned(),
            known => format!("Images come from {}; push it there first.", known.join(", ")),
        }
    } else if hosts.any(|registry| registry.holds(image.repository())) {
        return;
    } else {
        "The registry is known, but this repository is not one that apps may come from.".to_owned()
    };
    faults.add(at, "image_source_not_allowed", message);
}
