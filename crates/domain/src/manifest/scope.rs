//! Which names the expressions of a manifest see, and of what type. Launch planning gives values to exactly these.

use std::collections::{BTreeMap, BTreeSet};

use super::{Expose, ItemType, MAIN, Manifest, Parameter, ParameterOwner, ParameterType};
use crate::expression::{Type, Types};

/// When an expression is evaluated decides what it can know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// While values are chosen: parameters and rules. Nothing is placed yet.
    Choices,
    /// While it is decided which components run. The node is known; GPUs of lanes and endpoints follow from the answer.
    Composition,
    /// When a component is rendered or an output shown. Everything is known.
    Instance,
}

/// An endpoint that expressions can name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedEndpoint<'m> {
    pub name: String,
    pub component: &'m str,
    pub port: u16,
    pub path: &'m str,
}

/// Of resources.
const AMOUNTS: [&str; 4] = ["gpu_count", "cpu_millis", "memory_mib", "shared_memory_mib"];
/// Of the node; empty texts where no GPU is bound.
const PLACE: [&str; 3] = ["node_name", "accelerator", "gpu_model"];

impl Manifest {
    /// The names that an expression of this scope may use.
    pub fn types(&self, scope: Scope) -> Types {
        let mut types = Types::default();
        for root in ["params", "resources", "addons"] {
            types.group(&[root]);
        }
        for (name, parameter) in &self.parameters {
            let path = ["params", name.as_str()];
            if parameter.may_be_absent() {
                types.set_optional(&path, parameter.value_type());
            } else {
                types.set(&path, parameter.value_type());
            }
        }
        for name in AMOUNTS {
            types.set(&["resources", name], Type::Int);
        }
        for addon in &self.addons {
            types.set(&["addons", &addon.name], Type::Bool);
        }
        match scope {
            Scope::Choices => {
                let sentence =
                    "Nothing is placed while values are chosen; here there are params, resources and addons.";
                types.elsewhere(&["placement"], sentence);
                types.elsewhere(&["endpoints"], sentence);
            }
            Scope::Composition => {
                add_place(&mut types);
                let sentence = "This follows from which components run, so it cannot decide it.";
                types.elsewhere(&["placement", "lanes"], sentence);
                types.elsewhere(&["endpoints"], sentence);
            }
            Scope::Instance => {
                add_place(&mut types);
                self.add_lanes(&mut types);
                self.add_endpoints(&mut types);
            }
        }
        types
    }

    fn add_lanes(&self, types: &mut Types) {
        types.group(&["placement", "lanes"]);
        for lane in self.lanes() {
            types.set(&["placement", "lanes", lane, "gpu_count"], Type::Int);
            types.set(&["placement", "lanes", lane, "tensor_parallel"], Type::Int);
            types.set(&["placement", "lanes", lane, "gpus"], Type::list(Type::Text));
        }
    }

    fn add_endpoints(&self, types: &mut Types) {
        types.group(&["endpoints"]);
        for endpoint in self.named_endpoints() {
            types.set(&["endpoints", &endpoint.name, "port"], Type::Int);
            types.set(&["endpoints", &endpoint.name, "path"], Type::Text);
            types.set(&["endpoints", &endpoint.name, "url"], Type::Text);
        }
    }

    /// The lanes that components declare.
    pub fn lanes(&self) -> BTreeSet<&str> {
        self.components.iter().filter_map(|component| component.lane.as_deref()).collect()
    }

    /// Those of `outputs.endpoints`, and every port that somebody outside can reach and whose name is no other's.
    pub fn named_endpoints(&self) -> Vec<NamedEndpoint<'_>> {
        let first = self.components.first().map_or(MAIN, |component| component.name.as_str());
        let outputs = self.outputs.iter().flat_map(|outputs| &outputs.endpoints);
        let mut named: Vec<NamedEndpoint<'_>> = outputs
            .map(|endpoint| NamedEndpoint {
                name: endpoint.name.clone(),
                component: endpoint.component.as_deref().unwrap_or(first),
                port: endpoint.port,
                path: endpoint.path.as_deref().unwrap_or("/"),
            })
            .collect();
        let names = self.components.iter().map(|component| component.name.as_str());
        let names = self.runtime_profile.iter().map(|_| MAIN).chain(names);
        let mut ports: BTreeMap<String, Vec<(&str, u16)>> = BTreeMap::new();
        for (component, (_, container)) in names.zip(self.containers()) {
            for port in container.ports.iter().filter(|port| port.expose != Expose::Internal) {
                ports.entry(port.name()).or_default().push((component, port.container));
            }
        }
        for (name, found) in ports {
            if let [(component, port)] = found[..]
                && named.iter().all(|known| known.name != name)
            {
                named.push(NamedEndpoint { name, component, port, path: "/" });
            }
        }
        named
    }
}

fn add_place(types: &mut Types) {
    for name in PLACE {
        types.set(&["placement", name], Type::Text);
    }
}

impl Parameter {
    /// The type of its values in expressions.
    pub fn value_type(&self) -> Type {
        match self.kind {
            ParameterType::String => Type::Text,
            ParameterType::Integer => Type::Int,
            ParameterType::Number => Type::Double,
            ParameterType::Boolean => Type::Bool,
            ParameterType::SecretRef => Type::Secret,
            ParameterType::Array => {
                Type::list(match self.items.as_ref().map_or(ItemType::String, |items| items.kind) {
                    ItemType::String => Type::Text,
                    ItemType::Integer => Type::Int,
                    ItemType::Number => Type::Double,
                    ItemType::Boolean => Type::Bool,
                })
            }
        }
    }

    /// Whether a launch can be without a value for it. A default always counts, also where `when` does not hold;
    /// without one, a parameter that is not offered has no value.
    pub fn may_be_absent(&self) -> bool {
        let given = match self.owner {
            ParameterOwner::User => self.required,
            ParameterOwner::Platform => self.value.is_some(),
        };
        self.default.is_none() && (self.when.is_some() || !given)
    }
}
