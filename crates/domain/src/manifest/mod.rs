//! The manifest of an app version: one typed document from which form, values, artifacts and pages derive.
//!
//! [`parse`] reads JSON or YAML and reports *every* fault of shape as a JSON pointer, a code and a sentence;
//! [`lint`] judges what was read by the rules of the platform; [`Manifest::expand`] makes of it the [`Profile`] that
//! planning uses, in which a plain manifest is a composition of one.
//!
//! Laws: nothing of an engine can be written, beside the files of a chart that is named; images are named by digest; secrets are named, never held; no message
//! repeats a value of the document. What is stored is the document as written, in canonical form: defaults are not
//! filled in, so a later default does not change an old digest.
//!
//! Expressions (`${…}`, `when`, `rule`) stay text in the types; [`lint`] reads and checks every one against the names of its
//! [`Scope`].

mod amount;
mod blocks;
mod chart;
mod contract;
mod delivery;
pub mod diff;
mod envelope;
mod examples;
mod forbidden;
mod formats;
pub mod ladder;
mod lint;
mod migration;
mod parameters;
mod places;
mod profile;
mod read;
mod reference;
mod runtime;
pub(crate) mod schema;
mod scope;
mod secrets;
mod smoke;
#[cfg(test)]
pub(crate) mod tests;
mod version;
mod version_range;
pub(crate) mod walk;
mod yaml;

use gpuaas_agent_protocol::Digest;
use serde::Deserialize as _;
use serde_json::Value;

pub use amount::{Mib, Range, Vcpu};
pub use blocks::{
    AccessNotes, Addon, AddonKind, Dashboard, GpuPlacement, Injection, Mount, MountKind, OutputCommand,
    OutputEndpoint, Outputs, PlacementIntent, Resources, SecretKind, SecretNeed,
};
pub use chart::{Chart, ChartValue};
pub use contract::{Contract, Observability, ObservedField};
pub use delivery::{
    Artifact, ControlPlaneScope, ExecutionEngine, MemberRole, OperatingMode, Operation, Role, Rule, Source,
    Topology, Validation, Variant,
};
pub use envelope::{
    ArtifactKind, CapacityShape, Compatibility, ExtensionKind, Manifest, MeterKind, Metering, SupportLevel,
    Ui,
};
pub use lint::{Allowed, CODES, Code, Internet, RENDERERS, Severity, advise, find_code, lint};
pub use migration::{Migration, migrate};
pub use parameters::{
    FieldHint, FieldWarning, HintGroup, ItemType, Items, Parameter, ParameterFormat, ParameterOwner,
    ParameterType, UiHints, Widget,
};
pub use places::{Mark, Place, Places, Position, position};
pub use profile::{Component, Image, MAIN, Profile};
pub use read::{Format, MAX_BYTES};
pub use reference::reference;
pub use runtime::{
    ComponentClass, EndpointPolicy, EnvVar, Expose, Frame, ManifestComponent, Minima, Port, Probe,
    RuntimeBackend, RuntimeProfile,
};
pub use schema::{SCHEMA_FILE, json_schema};
pub use scope::{NamedEndpoint, Scope};
pub use secrets::looks_like_secret;
pub use smoke::{HttpMethod, SmokeCheck, SmokeTest};
pub use version::Version;
pub use version_range::VersionRange;

use crate::artifact::RegistryNames;
use crate::event::canonical;
use crate::{Error, FieldError};

/// More than a person would mend in one go.
const MAX_FAULTS: usize = 200;

/// A manifest and the document it was read from.
#[derive(Clone, Debug, PartialEq)]
pub struct Document {
    pub manifest: Manifest,
    value: Value,
}

impl Document {
    /// A document that was accepted before and kept since. The rules may have become stricter; it stays readable.
    pub fn from_stored(value: Value) -> crate::Result<Self> {
        let manifest = Manifest::deserialize(&value)
            .map_err(|error| Error::internal("a stored manifest does not fit its type").with_source(error))?;
        Ok(Self { manifest, value })
    }

    /// The document as written, as a tree.
    pub fn value(&self) -> &Value {
        &self.value
    }

    /// The text that is stored: JSON without spaces, keys sorted. Reading it gives the same text again.
    pub fn canonical(&self) -> String {
        canonical(&self.value)
    }

    /// Of the canonical text: the same for JSON and YAML of one meaning.
    pub fn digest(&self) -> Digest {
        Digest::of(self.canonical().as_bytes())
    }
}

/// The tree that a document spells, whatever it means: for callers that complete it before it is a manifest.
pub fn tree(bytes: &[u8], format: Format) -> Result<Value, Vec<FieldError>> {
    read::tree(bytes, format)
}

/// The tree, and where each of its parts stands in the text, as far as that could be read.
pub fn tree_and_places(bytes: &[u8], format: Format) -> (Result<Value, Vec<FieldError>>, Places) {
    read::tree_and_places(bytes, format)
}

/// Reads a manifest, or lists all its faults of shape, in the order of their pointers.
pub fn parse(bytes: &[u8], format: Format) -> Result<Document, Vec<FieldError>> {
    let value = read::tree(bytes, format)?;
    let Value::Object(map) = &value else {
        return Err(read::one("wrong_type", "A manifest is an object."));
    };
    if let Some(foreign) = forbidden::foreign(map) {
        return Err(vec![foreign]);
    }
    let mut faults = walk::faults(&value, schema::schema());
    faults.extend(forbidden::texts(&value));
    faults.extend(secrets::find(&value));
    faults.extend(map_keys(&value));
    if !faults.is_empty() {
        return Err(tidy(faults));
    }
    match Manifest::deserialize(&value) {
        Ok(manifest) => Ok(Document { manifest, value }),
        // The walk knows the types; should it have missed something, the place is lost but no value is quoted.
        Err(_) => Err(read::one("invalid_value", "The document does not fit the schema.")),
    }
}

/// [`parse`] and [`lint`] in one, for a caller that wants a manifest without fault or the list of all.
pub fn check(bytes: &[u8], format: Format, registry: &RegistryNames) -> Result<Document, Vec<FieldError>> {
    let document = parse(bytes, format)?;
    let faults = lint(&document.manifest, Some(registry));
    if faults.is_empty() { Ok(document) } else { Err(faults) }
}

/// Names that are keys, which the walk takes as they come.
fn map_keys(value: &Value) -> Vec<FieldError> {
    let mut maps = vec![("/parameters".to_owned(), &value["parameters"])];
    for (index, step) in value["migrations"].as_array().into_iter().flatten().enumerate() {
        maps.push((format!("/migrations/{index}/rename"), &step["rename"]));
        maps.push((format!("/migrations/{index}/set"), &step["set"]));
    }
    let keys = maps
        .iter()
        .flat_map(|(at, map)| map.as_object().into_iter().flatten().map(move |(key, _)| (at, key)));
    keys.filter_map(|(at, key)| {
        formats::check_parameter_name(key).err().map(|no| no.at(&walk::join(at, key)))
    })
    .collect()
}

fn tidy(mut faults: Vec<FieldError>) -> Vec<FieldError> {
    faults.sort_by(|a, b| a.path.cmp(&b.path).then(a.code.cmp(b.code)));
    faults.dedup();
    faults.truncate(MAX_FAULTS);
    faults
}
