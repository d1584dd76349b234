//! The launch form on the wire.

pub use gpuaas_domain::launch_form::{
    Form, FormAddon, FormAllocation, FormComponent, FormLane, FormOffer, FormReason, FormVariant,
};

use std::collections::BTreeMap;

use gpuaas_domain::launch_form::Choices;
use gpuaas_domain::volume::MountSource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::instances::{LaunchRequest, ResourceWish};

/// One app, resolved for one project: everything to choose, what is chosen so far, and what is wrong with it.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct AppForm {
    #[serde(flatten)]
    pub form: Form,
    /// What these choices make, ready for plan and launch.
    pub request: LaunchRequest,
}

/// Left out where all is scratch.
pub fn mounts(chosen: &BTreeMap<String, MountSource>) -> Value {
    if chosen.is_empty() { Value::Null } else { serde_json::to_value(chosen).unwrap_or_default() }
}

impl From<(Form, Choices)> for AppForm {
    fn from((form, choices): (Form, Choices)) -> Self {
        let resources = ResourceWish {
            gpu_count: choices.gpu_count,
            cpu_millis: choices.cpu_millis,
            memory_mib: choices.memory_mib,
        };
        let request = LaunchRequest {
            slug: Some(choices.slug),
            app_version: Some(choices.version),
            name: choices.name,
            target_allocation_id: choices.allocation,
            resources: (!resources.is_empty()).then_some(resources),
            host_port: choices.host_port,
            access: choices.access,
            mounts: mounts(&choices.mounts),
            addons: choices.addons,
            lanes: choices.lanes,
            variant: choices.variant,
            values: choices.values,
            ..LaunchRequest::default()
        };
        Self { form, request }
    }
}
