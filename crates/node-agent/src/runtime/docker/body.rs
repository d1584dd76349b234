//! What Docker is told about a network or a container. Pure, so that a test can read every line of it.

use std::collections::{BTreeMap, HashMap};

use bollard::models::{
    ContainerCreateBody, DeviceMapping, DeviceRequest, EndpointSettings, HostConfig, HostConfigLogConfig,
    Ipam, IpamConfig, Mount, MountBindOptions, MountBindOptionsPropagationEnum, MountType,
    NetworkCreateRequest, NetworkingConfig, RestartPolicy, RestartPolicyNameEnum,
};
use gpuaas_agent_protocol::FailureReason;
use gpuaas_agent_protocol::inventory::Vendor;

use crate::runtime::{ContainerPlan, NetworkPlan, SECRETS_PATH, bridge_name, gpu_env, network_name};
use crate::seams::Failure;

const MIB: i64 = 1024 * 1024;

pub(super) fn network(plan: &NetworkPlan) -> NetworkCreateRequest {
    let instance = plan.labels.instance;
    NetworkCreateRequest {
        name: network_name(instance),
        driver: Some("bridge".to_owned()),
        internal: Some(plan.internal),
        attachable: Some(false),
        enable_ipv6: Some(false),
        ipam: Some(Ipam {
            driver: Some("default".to_owned()),
            config: Some(vec![IpamConfig {
                subnet: Some(plan.subnet.to_string()),
                gateway: Some(plan.subnet.gateway().to_string()),
                ..IpamConfig::default()
            }]),
            options: None,
        }),
        options: Some(HashMap::from([("com.docker.network.bridge.name".to_owned(), bridge_name(instance))])),
        labels: Some(plan.labels.to_map()),
        ..NetworkCreateRequest::default()
    }
}

/// `render_nodes` says which device file is which AMD GPU.
pub(super) fn container(
    plan: &ContainerPlan,
    render_nodes: &BTreeMap<String, String>,
) -> Result<ContainerCreateBody, Failure> {
    let mut env: Vec<String> = plan.env.iter().map(|(name, value)| format!("{name}={value}")).collect();
    env.extend(gpu_env(&plan.gpus).into_iter().map(|(name, value)| format!("{name}={value}")));
    let component = plan.labels.component.clone().unwrap_or_default();
    Ok(ContainerCreateBody {
        hostname: Some(component.clone()),
        user: Some(plan.user.text.clone()),
        env: Some(env),
        cmd: (!plan.command.is_empty()).then(|| plan.command.clone()),
        image: Some(plan.image.clone()),
        labels: Some(plan.labels.to_map()),
        host_config: Some(host_config(plan, render_nodes)?),
        networking_config: Some(NetworkingConfig {
            endpoints_config: Some(HashMap::from([(
                plan.network.clone(),
                EndpointSettings { aliases: Some(vec![component]), ..EndpointSettings::default() },
            )])),
        }),
        ..ContainerCreateBody::default()
    })
}

fn host_config(plan: &ContainerPlan, render_nodes: &BTreeMap<String, String>) -> Result<HostConfig, Failure> {
    let memory = i64::from(plan.memory_mib) * MIB;
    let tmpfs = plan
        .tmpfs
        .iter()
        .map(|tmpfs| (tmpfs.path.clone(), format!("rw,nosuid,nodev,mode=1777,size={}m", tmpfs.size_mib)))
        .collect();
    Ok(HostConfig {
        memory: Some(memory),
        // The same figure means no swap at all.
        memory_swap: Some(memory),
        nano_cpus: Some(i64::from(plan.cpu_millis) * 1_000_000),
        pids_limit: Some(i64::from(plan.pids)),
        cap_drop: Some(vec!["ALL".to_owned()]),
        security_opt: Some(vec!["no-new-privileges:true".to_owned()]),
        readonly_rootfs: Some(plan.read_only_root),
        privileged: Some(false),
        network_mode: Some(plan.network.clone()),
        ipc_mode: Some("private".to_owned()),
        tmpfs: Some(tmpfs),
        mounts: Some(mounts(plan)),
        devices: Some(amd_devices(plan, render_nodes)?),
        device_requests: nvidia_request(plan).map(|request| vec![request]),
        dns: plan.resolver.map(|resolver| vec![resolver.to_string()]),
        restart_policy: Some(RestartPolicy {
            name: Some(RestartPolicyNameEnum::NO),
            maximum_retry_count: None,
        }),
        log_config: Some(HostConfigLogConfig {
            typ: Some("json-file".to_owned()),
            config: Some(HashMap::from([
                ("max-size".to_owned(), "10m".to_owned()),
                ("max-file".to_owned(), "3".to_owned()),
            ])),
        }),
        ..HostConfig::default()
    })
}

fn mounts(plan: &ContainerPlan) -> Vec<Mount> {
    let folders = plan.binds.iter().map(|one| bind(&one.source, &one.target, one.read_only));
    folders.chain(plan.secrets.iter().map(|source| bind(source, SECRETS_PATH, true))).collect()
}

fn bind(source: &std::path::Path, target: &str, read_only: bool) -> Mount {
    Mount {
        target: Some(target.to_owned()),
        source: Some(source.to_string_lossy().into_owned()),
        typ: Some(MountType::BIND),
        read_only: Some(read_only),
        bind_options: Some(MountBindOptions {
            propagation: Some(MountBindOptionsPropagationEnum::RPRIVATE),
            ..MountBindOptions::default()
        }),
        ..Mount::default()
    }
}

fn nvidia_request(plan: &ContainerPlan) -> Option<DeviceRequest> {
    let ids: Vec<String> = plan
        .gpus
        .iter()
        .filter(|gpu| !gpu.simulated && gpu.vendor == Vendor::Nvidia)
        .map(|gpu| gpu.uuid.clone())
        .collect();
    (!ids.is_empty()).then(|| DeviceRequest {
        driver: Some("nvidia".to_owned()),
        device_ids: Some(ids),
        capabilities: Some(vec![vec!["gpu".to_owned()]]),
        ..DeviceRequest::default()
    })
}

fn amd_devices(
    plan: &ContainerPlan,
    render_nodes: &BTreeMap<String, String>,
) -> Result<Vec<DeviceMapping>, Failure> {
    let mut paths = Vec::new();
    for gpu in plan.gpus.iter().filter(|gpu| !gpu.simulated && gpu.vendor == Vendor::Amd) {
        let node = render_nodes.get(&gpu.uuid).ok_or_else(|| {
            Failure::new(
                FailureReason::GpuUnavailable,
                format!("The node has no render device for the GPU {}.", gpu.uuid),
            )
        })?;
        paths.push(node.clone());
    }
    if !paths.is_empty() {
        paths.push("/dev/kfd".to_owned());
    }
    Ok(paths
        .into_iter()
        .map(|path| DeviceMapping {
            path_on_host: Some(path.clone()),
            path_in_container: Some(path),
            cgroup_permissions: Some("rw".to_owned()),
        })
        .collect())
}

#[cfg(test)]
mod tests {
    use gpuaas_agent_protocol::spec::GpuBinding;
    use uuid::Uuid;

    use super::*;
    use crate::runtime::User;
    use crate::runtime::labels::Labels;

    fn plan(gpus: Vec<GpuBinding>) -> ContainerPlan {
        ContainerPlan {
            labels: Labels {
                node: Uuid::from_u128(1),
                instance: Uuid::from_u128(2),
                component: Some("main".to_owned()),
                generation: 1,
                era: 1,
                order: "sha256:00".to_owned(),
            },
            image: "x".to_owned(),
            command: vec![],
            env: vec![],
            user: User::numeric((65532, 65532)),
            cpu_millis: 500,
            memory_mib: 64,
            pids: 32,
            read_only_root: true,
            tmpfs: vec![],
            binds: vec![],
            secrets: None,
            gpus,
            network: "n".to_owned(),
            resolver: None,
        }
    }

    fn gpu(vendor: Vendor, uuid: &str, simulated: bool) -> GpuBinding {
        GpuBinding { vendor, uuid: uuid.to_owned(), simulated }
    }

    fn body(gpus: Vec<GpuBinding>) -> Result<(Vec<String>, HostConfig), Failure> {
        let nodes = BTreeMap::from([("amd-1".to_owned(), "/dev/dri/renderD128".to_owned())]);
        container(&plan(gpus), &nodes).map(|body| (body.env.unwrap(), body.host_config.unwrap()))
    }

    #[test]
    fn a_container_gets_exactly_its_devices() {
        let (env, host) = body(vec![]).unwrap();
        assert_eq!(env, ["NVIDIA_VISIBLE_DEVICES=void"]);
        assert!(host.device_requests.is_none() && host.devices.unwrap().is_empty());

        let (env, host) =
            body(vec![gpu(Vendor::Nvidia, "GPU-a", false), gpu(Vendor::Nvidia, "GPU-b", false)]).unwrap();
        assert_eq!(env, ["GPUAAS_GPUS=GPU-a,GPU-b"]);
        let request = &host.device_requests.unwrap()[0];
        assert_eq!(request.device_ids.as_deref().unwrap(), ["GPU-a", "GPU-b"]);
        assert_eq!(request.count, None, "a count would add devices");

        let (env, host) = body(vec![gpu(Vendor::Nvidia, "GPU-a", true)]).unwrap();
        assert_eq!(env, ["GPUAAS_GPUS=GPU-a", "GPUAAS_GPUS_SIMULATED=1", "NVIDIA_VISIBLE_DEVICES=void"]);
        assert!(host.device_requests.is_none() && host.devices.unwrap().is_empty());

        let (_, host) = body(vec![gpu(Vendor::Amd, "amd-1", false)]).unwrap();
        let paths: Vec<String> = host.devices.unwrap().into_iter().filter_map(|d| d.path_on_host).collect();
        assert_eq!(paths, ["/dev/dri/renderD128", "/dev/kfd"]);
        let missing = body(vec![gpu(Vendor::Amd, "amd-2", false)]).unwrap_err();
        assert_eq!(missing.reason, FailureReason::GpuUnavailable);
    }
}
