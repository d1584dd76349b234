//! Which image runs: made for the bound devices, and one that may be started.

use std::collections::BTreeSet;

use super::{KnownImage, PlannedArtifact, View, Wish};
use crate::artifact::{self, Artifact};
use crate::manifest::{Component, Image, Profile};
use crate::node::GpuDevice;
use crate::{Error, Kind, Result};

/// Whether an image is made for exactly these devices; without any it must claim none. The only image of a component is no
/// variant of anything and claims nothing.
pub(crate) fn fits(image: &Image, gpus: &[&GpuDevice]) -> bool {
    let vendor_fits = |gpu: &&GpuDevice| image.accelerators.contains(&gpu.vendor);
    let model_fits = |gpu: &&GpuDevice| image.gpu_models.is_empty() || image.gpu_models.contains(&gpu.model);
    if image.variant.is_none() {
        true
    } else if gpus.is_empty() {
        image.accelerators.is_empty()
    } else {
        gpus.iter().all(|gpu| vendor_fits(gpu) && model_fits(gpu))
    }
}

/// Refuses a variant that no component has; one that only some have is meant for these.
pub(crate) fn check_variant(profile: &Profile, wish: &Wish) -> Result<()> {
    let Some(variant) = &wish.variant else { return Ok(()) };
    let images = profile.components.iter().flat_map(|component| &component.images);
    let known: BTreeSet<&str> = images.filter_map(|image| image.variant.as_deref()).collect();
    if known.contains(variant.as_str()) {
        return Ok(());
    }
    let sentence = if known.is_empty() {
        "The app has one image only; leave the variant out.".to_owned()
    } else {
        format!("The app has the variants {}.", known.into_iter().collect::<Vec<_>>().join(", "))
    };
    Err(Error::field("/variant", "unknown_variant", sentence))
}

/// The variant asked for; else the first image made for the bound devices, or the first of all.
pub(crate) fn choose<'c>(
    view: &View<'_>,
    component: &'c Component,
    gpus: &[&GpuDevice],
    wish: &Wish,
) -> Result<&'c Image> {
    let named = |image: &&Image| wish.variant.is_some() && image.variant == wish.variant;
    if let Some(image) = component.images.iter().find(named) {
        return Ok(image);
    }
    let usable = |image: &&Image| known(view, image).is_some_and(|found| check(view, found).is_ok());
    let images = || component.images.iter();
    images()
        .find(|image| fits(image, gpus) && usable(image))
        .or_else(|| images().find(|image| fits(image, gpus)))
        .or(component.images.first())
        .ok_or_else(|| {
            Error::new(Kind::Unprocessable, "no_image", "The profile names no image that could run here.")
        })
}

pub(crate) fn known<'v>(view: &View<'v>, image: &Image) -> Option<&'v KnownImage> {
    let reference = image.reference.to_string();
    view.images.iter().find(|known| known.reference == reference)
}

/// What the artifact's own lifecycle and trust say about a launch (F-25, F-29, T-19).
pub(crate) fn check<'v>(view: &View<'_>, found: &'v KnownImage) -> Result<&'v Artifact> {
    let Some(artifact) = &found.artifact else {
        return Err(Error::conflict(
            "artifact_not_registered",
            format!("Nothing is registered as {}, or not for this project.", found.canonical),
        )
        .with_param("reference", found.canonical.to_string()));
    };
    artifact::check_trust(artifact, view.trust, view.now)?;
    if !view.existing {
        artifact::check_rung(artifact, view.version_state, view.channels, view.trust, view.now)?;
    }
    Ok(artifact)
}

/// The image by its canonical name, if it may be started now.
pub(super) fn pin(view: &View<'_>, image: &Image) -> Result<(Image, PlannedArtifact)> {
    let found = known(view, image)
        .ok_or_else(|| Error::internal(format!("{} was not looked up", image.reference)))?;
    let artifact = check(view, found)?;
    let planned = PlannedArtifact {
        artifact_id: artifact.id,
        reference: found.canonical.to_string(),
        variant: image.variant.clone().or_else(|| artifact.variant.clone()),
        trust: artifact.trust.state,
        signer: artifact.trust.signer.clone(),
        channel: artifact.channel.clone(),
    };
    Ok((Image { reference: found.canonical.clone(), ..image.clone() }, planned))
}
