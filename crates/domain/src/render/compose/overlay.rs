//! The second file of a project: what only the node knows, and what nobody stores. Compose merges it over the first.
//!
//! It is written to the node's tmpfs, used and removed, since it may hold secrets; it is not part of the rendered bytes.

use std::collections::{BTreeMap, BTreeSet};

use gpuaas_agent_protocol::inventory::Vendor;
use serde::{Deserialize, Serialize};

use super::model::{Text, Texts};
use super::{NETWORK, secrets_key, volume_key};
use crate::Secret;
use crate::manifest::Injection;
use crate::render::input::{ComponentInput, MountSource, RenderInput};
use crate::render::shared::{has_secret_files, real};
use crate::render::{Gap, Refusal, RenderedFile, yaml_file};

/// What the agent has made or found before it starts the project.
#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct NodeFacts {
    /// On everything that the project makes.
    pub labels: BTreeMap<String, String>,
    pub subnet: String,
    pub gateway: String,
    pub bridge: String,
    /// Asked for names outside the instance.
    pub resolver: Option<String>,
    /// By component: the image under the name that the engine has it by.
    pub images: BTreeMap<String, String>,
    /// By component, where the image says nothing or root: `uid:gid`.
    pub users: BTreeMap<String, String>,
    /// By the name of the scratch: a folder of the instance.
    pub scratch: BTreeMap<String, String>,
    /// By component: a folder in memory with a file for each secret.
    pub secret_files: BTreeMap<String, String>,
    /// By the name of the secret.
    pub secret_values: BTreeMap<String, Secret<String>>,
    /// By the id of an AMD device: its device file.
    pub render_nodes: BTreeMap<String, String>,
}

#[derive(Serialize)]
struct Overlay {
    services: BTreeMap<String, ServiceOverlay>,
    networks: BTreeMap<&'static str, NetworkOverlay>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    volumes: BTreeMap<String, VolumeOverlay>,
}

#[derive(Serialize)]
struct ServiceOverlay {
    #[serde(skip_serializing_if = "Option::is_none")]
    image: Option<Text>,
    #[serde(skip_serializing_if = "Option::is_none")]
    user: Option<Text>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    dns: Vec<Text>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    devices: Vec<Text>,
    #[serde(skip_serializing_if = "Texts::is_empty")]
    environment: Texts,
    labels: Texts,
}

#[derive(Serialize)]
struct NetworkOverlay {
    driver_opts: BTreeMap<&'static str, Text>,
    ipam: Ipam,
    labels: Texts,
}

#[derive(Serialize)]
struct Ipam {
    config: [BTreeMap<&'static str, Text>; 1],
}

#[derive(Serialize)]
struct VolumeOverlay {
    driver: &'static str,
    driver_opts: BTreeMap<&'static str, Text>,
    labels: Texts,
}

/// Refused where the node lacks something that the project needs.
pub fn overlay(input: &RenderInput, facts: &NodeFacts) -> Result<RenderedFile, Refusal> {
    let mut missing = Vec::new();
    let mut services = BTreeMap::new();
    let mut volumes = BTreeMap::new();
    for (index, component) in input.components.iter().enumerate() {
        let at = format!("/components/{index}");
        services.insert(component.name.clone(), service(&at, component, facts, &mut missing));
        for (index, mount) in component.mounts.iter().enumerate() {
            if mount.source == MountSource::Scratch {
                match facts.scratch.get(&mount.name) {
                    Some(folder) => drop(volumes.insert(volume_key(mount), folder_volume(folder, facts))),
                    None => missing.push(lacks(format!("{at}/mounts/{index}"))),
                }
            }
        }
        if has_secret_files(component) {
            match facts.secret_files.get(&component.name) {
                Some(folder) => drop(volumes.insert(secrets_key(component), folder_volume(folder, facts))),
                None => missing.push(lacks(format!("{at}/secrets"))),
            }
        }
    }
    Refusal::unless_clean(missing)?;
    let network = NetworkOverlay {
        driver_opts: BTreeMap::from([("com.docker.network.bridge.name", Text::new(&facts.bridge))]),
        ipam: Ipam {
            config: [BTreeMap::from([
                ("subnet", Text::new(&facts.subnet)),
                ("gateway", Text::new(&facts.gateway)),
            ])],
        },
        labels: labels(facts),
    };
    let overlay = Overlay { services, networks: BTreeMap::from([(NETWORK, network)]), volumes };
    Ok(yaml_file("node.yaml", &overlay))
}

fn service(
    at: &str,
    component: &ComponentInput,
    facts: &NodeFacts,
    missing: &mut Vec<Gap>,
) -> ServiceOverlay {
    let mut devices = BTreeSet::new();
    for (index, gpu) in component.gpus.iter().enumerate() {
        if !gpu.simulated && gpu.vendor == Vendor::Amd {
            match facts.render_nodes.get(&gpu.uuid) {
                Some(node) => drop(devices.insert(format!("{node}:{node}:rw"))),
                None => missing.push(lacks(format!("{at}/gpus/{index}"))),
            }
        }
    }
    if !real(&component.gpus, Vendor::Amd).is_empty() {
        devices.insert("/dev/kfd:/dev/kfd:rw".to_owned());
    }
    let mut environment = Texts::new();
    for (index, secret) in component.secrets.iter().enumerate() {
        if let Injection::Env { name } = &secret.inject {
            match facts.secret_values.get(&secret.name) {
                Some(value) => drop(environment.insert(name.clone(), Text::new(value.expose()))),
                None => missing.push(lacks(format!("{at}/secrets/{index}"))),
            }
        }
    }
    ServiceOverlay {
        image: facts.images.get(&component.name).map(Text::new),
        user: facts.users.get(&component.name).map(Text::new),
        dns: facts.resolver.iter().map(Text::new).collect(),
        devices: devices.iter().map(Text::new).collect(),
        environment,
        labels: labels(facts),
    }
}

/// A folder of the node under a volume's name, so that it is mounted as it is, with its owner.
fn folder_volume(folder: &str, facts: &NodeFacts) -> VolumeOverlay {
    VolumeOverlay {
        driver: "local",
        driver_opts: BTreeMap::from([
            ("type", Text::new("none")),
            ("o", Text::new("bind")),
            ("device", Text::new(folder)),
        ]),
        labels: labels(facts),
    }
}

fn labels(facts: &NodeFacts) -> Texts {
    facts.labels.iter().map(|(name, value)| (name.clone(), Text::new(value))).collect()
}

fn lacks(path: String) -> Gap {
    Gap::refuse(path, "missing_on_node", "The node has not got this ready.")
}
