//! Smoke steps that can be taken: the component is there and has the port, and what is expected can come.

use super::Faults;
use crate::expression::template::{Raw, split};
use crate::manifest::runtime::Container;
use crate::manifest::{HttpMethod, Manifest, ManifestComponent, RuntimeProfile, SmokeCheck, SmokeTest};

pub(super) fn check(manifest: &Manifest, faults: &mut Faults) {
    for (index, test) in manifest.validation.iter().flat_map(|validation| &validation.smoke).enumerate() {
        let at = format!("/validation/smoke/{index}/check");
        if let (Some(port), Some(container)) = (test.check.port(), container_of(manifest, test))
            && container.ports.iter().all(|declared| declared.container != port)
        {
            faults.add(format!("{at}/port"), "probe_port_not_declared", "Declare this port in ports first.");
        }
        if test.check.path().is_some_and(|path| !is_visible(path)) {
            let sentence = "A path starts with / and is visible ASCII beside its expressions.";
            faults.add(format!("{at}/path"), "invalid_value", sentence);
        }
        request(&at, &test.check, faults);
    }
}

/// The one that is asked; `None` where that is a fault by itself.
fn container_of<'m>(manifest: &'m Manifest, test: &SmokeTest) -> Option<Container<'m>> {
    let named = match (&test.component, manifest.components.as_slice()) {
        (Some(name), all) => all.iter().find(|one| one.name == *name),
        (None, [only]) => Some(only),
        (None, _) => None,
    };
    let single = || manifest.runtime_profile.as_ref().map(RuntimeProfile::container);
    named.map(ManifestComponent::container).or_else(single)
}

/// What is wrong with its expressions is told as their fault.
fn is_visible(path: &str) -> bool {
    let is_clean = |piece: &Raw<'_>| match piece {
        Raw::Text(text) => text.bytes().all(|b| b.is_ascii_graphic()),
        Raw::Expression(..) => true,
    };
    split(path).map_or(true, |pieces| pieces.iter().all(is_clean))
}

/// A body goes with `POST`, and the answer to `HEAD` has none.
fn request(at: &str, check: &SmokeCheck, faults: &mut Faults) {
    let SmokeCheck::Http { method, body, expect_body_contains, .. } = check else { return };
    if body.is_some() && *method != HttpMethod::Post {
        faults.add(format!("{at}/body"), "exclusive_blocks", "A body is sent with method POST only.");
    }
    if expect_body_contains.is_some() && *method == HttpMethod::Head {
        let sentence = "The answer to HEAD has no body; ask with GET.";
        faults.add(format!("{at}/expect_body_contains"), "exclusive_blocks", sentence);
    }
}
