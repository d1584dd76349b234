//! What each class of component may ask for. Asking for more is refused when a manifest is registered.
//!
//! A helper is not where the work is done: it has no GPUs, no root, and gets no further out than the app it helps.

use gpuaas_agent_protocol::spec::{Egress, RunAs};

use super::Faults;
use crate::manifest::{ComponentClass, Manifest, ManifestComponent};

/// What a class is given on asking.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Allowed {
    pub gpus: bool,
    pub root: bool,
    pub internet: Internet,
}

/// Whether `egress: internet` is given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Internet {
    Yes,
    /// Only where a component that the app cannot be without has it too.
    WithThePrimary,
}

impl ComponentClass {
    pub fn allowed(self) -> Allowed {
        match self {
            Self::Primary => Allowed { gpus: true, root: true, internet: Internet::Yes },
            Self::Gateway => Allowed { gpus: false, root: false, internet: Internet::Yes },
            Self::Sidecar | Self::Addon => {
                Allowed { gpus: false, root: false, internet: Internet::WithThePrimary }
            }
        }
    }

    pub fn name(self) -> &'static str {
        match self {
            Self::Primary => "primary",
            Self::Gateway => "gateway",
            Self::Sidecar => "sidecar",
            Self::Addon => "addon",
        }
    }
}

pub(super) fn check(manifest: &Manifest, faults: &mut Faults) {
    let gets_out = |one: &ManifestComponent| {
        matches!(one.class, ComponentClass::Primary | ComponentClass::Gateway)
            && one.egress == Egress::Internet
    };
    let app_gets_out = manifest.components.iter().any(gets_out);
    for (index, component) in manifest.components.iter().enumerate() {
        let allowed = component.class.allowed();
        let class = component.class.name();
        let mut refuse = |field: &str, message: String| {
            faults.add(format!("/components/{index}/{field}"), "class_not_allowed", message);
        };
        let asks = |range: Option<crate::manifest::Range<u32>>| {
            range.is_some_and(|range| {
                [range.default, range.min, range.max].into_iter().flatten().any(|count| count > 0)
            })
        };
        if !allowed.gpus && asks(component.gpu_count) {
            refuse("gpu_count", format!("A component of class {class} has no GPUs."));
        }
        if !allowed.gpus && component.lane.is_some() {
            refuse("lane", format!("A component of class {class} has no GPUs, so it is no lane."));
        }
        if !allowed.root && component.user == RunAs::Root {
            refuse("user", format!("A component of class {class} does not run as root."));
        }
        let may_out = match allowed.internet {
            Internet::Yes => true,
            Internet::WithThePrimary => app_gets_out,
        };
        if component.egress == Egress::Internet && !may_out {
            refuse(
                "egress",
                format!("A component of class {class} reaches the internet only where the app itself does."),
            );
        }
    }
}
