//! What could be requested where no allocation fits.

use super::target::Needs;
use super::view::{FormOffer, FormReason};
use crate::FieldError;
use crate::allocation::Sku;
use crate::launch::target;
use crate::manifest::Manifest;
use crate::text::cpus;

/// Whether an allocation of this SKU would carry the launch. Which devices it gets is known once it is granted, so only
/// what the SKU promises is looked at.
pub(super) fn offer(manifest: &Manifest, sku: &Sku, needs: Needs) -> FormOffer {
    let wanted = &manifest.compatibility;
    let mut faults = target::shape_faults(wanted, sku.shape, sku.gpu_count, "offer");
    let mut note =
        |code: &'static str, message: String| faults.push(FieldError::new(target::PATH, code, message));
    if let Some(vendor) = sku.gpu_vendor
        && wanted.min_gpu_count > 0
        && !wanted.supported_accelerators.is_empty()
        && !wanted.supported_accelerators.contains(&vendor)
    {
        note("supported_accelerators", "The offer's GPUs are of a vendor the app does not support.".into());
    }
    if i64::from(needs.gpu_count) > sku.gpu_count && needs.gpu_count > wanted.min_gpu_count {
        note(
            "too_few_gpus",
            format!("The launch needs {} GPUs, the offer has {}.", needs.gpu_count, sku.gpu_count),
        );
    }
    if needs.cpu_millis > sku.vcpu * 1000 {
        note(
            "too_few_cpus",
            format!("The launch needs {} vCPU, the offer has {}.", cpus(needs.cpu_millis), sku.vcpu),
        );
    }
    if needs.memory_mib > sku.memory_mib {
        note(
            "too_little_memory",
            format!("The launch needs {} MiB, the offer has {}.", needs.memory_mib, sku.memory_mib),
        );
    }
    FormOffer {
        sku_id: sku.id,
        slug: sku.slug.clone(),
        display_name: sku.display_name.clone(),
        shape: sku.shape,
        gpu_count: sku.gpu_count,
        gpu_vendor: sku.gpu_vendor,
        gpu_model: sku.gpu_model.clone(),
        vcpu: sku.vcpu,
        memory_mib: sku.memory_mib,
        fits: faults.is_empty(),
        reasons: faults.into_iter().map(FormReason::from).collect(),
        grant_policy: sku.grant_policy,
    }
}
