//! The launch form on the wire.

pub use gpuaas_domain::launch_form::{Form, FormAllocation, FormOffer, FormReason, FormVariant};

use gpuaas_domain::launch_form::Choices;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::instances::{LaunchRequest, ResourceWish};

/// One app, resolved for one project: everything to choose, what is chosen so far, and what is wrong with it.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct AppForm {
    #[serde(flatten)]
    pub form: Form,
    /// What these choices make, ready for plan and launch.
    pub request: LaunchRequest,
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
            resources: (resources != ResourceWish::default()).then_some(resources),
            host_port: choices.host_port,
            access: choices.access,
            variant: choices.variant,
            values: choices.values,
            ..LaunchRequest::default()
        };
        Self { form, request }
    }
}
