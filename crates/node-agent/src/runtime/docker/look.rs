//! A look into an image that has not been started.

use std::collections::HashMap;

use bollard::query_parameters as query;
use futures_util::StreamExt as _;
use gpuaas_agent_protocol::FailureReason;
use uuid::Uuid;

use super::{DockerRuntime, fault, quick, user};
use crate::runtime::{ContainerRuntime as _, labels};
use crate::seams::Failure;

const MAX_FILE: usize = 1024 * 1024;

impl DockerRuntime {
    /// Reads one file out of an image by way of a container that never runs.
    pub(super) async fn image_files(&self, image: &str) -> Result<(String, String), Failure> {
        let body = bollard::models::ContainerCreateBody {
            image: Some(image.to_owned()),
            // It never runs; should anything start it all the same, there is nothing of the image's choosing to run.
            entrypoint: Some(vec!["/never-run".to_owned()]),
            cmd: Some(Vec::new()),
            user: Some("65534:65534".to_owned()),
            network_disabled: Some(true),
            labels: Some(look_labels(self.options.node_id)),
            host_config: Some(bollard::models::HostConfig {
                cap_drop: Some(vec!["ALL".to_owned()]),
                security_opt: Some(vec!["no-new-privileges:true".to_owned()]),
                readonly_rootfs: Some(true),
                memory: Some(16 * 1024 * 1024),
                pids_limit: Some(1),
                ..bollard::models::HostConfig::default()
            }),
            ..bollard::models::ContainerCreateBody::default()
        };
        // One at a time under one name, so that a look that was cut off leaves nothing for good.
        let _turn = self.looking.lock().await;
        let name = self.look_name();
        self.remove_container(&name).await?;
        let options = query::CreateContainerOptions { name: Some(name), ..Default::default() };
        let made = quick(self.docker().await?.create_container(Some(options), body))
            .await?
            .map_err(|error| fault::failure(&error, FailureReason::ContainerCreateFailed))?;
        let mut files = Vec::new();
        for path in ["/etc/passwd", "/etc/group"] {
            let options = query::DownloadFromContainerOptions { path: path.to_owned() };
            let mut parts = Box::pin(self.docker().await?.download_from_container(&made.id, Some(options)));
            let mut bytes = Vec::new();
            // What is longer names nobody that a container could be.
            while bytes.len() <= MAX_FILE
                && let Some(Ok(part)) = quick(parts.next()).await?
            {
                bytes.extend_from_slice(&part);
            }
            files.push(user::first_file(&bytes).filter(|_| bytes.len() <= MAX_FILE).unwrap_or_default());
        }
        self.remove_container(&made.id).await?;
        let groups = files.pop().unwrap_or_default();
        Ok((files.pop().unwrap_or_default(), groups))
    }

    /// One that a former run of this agent left behind.
    pub(super) fn look_name(&self) -> String {
        format!("gpuaas-look-{}", self.options.node_id)
    }
}

/// Every label of ours has a value of ours: an image brings labels too, and must not name an instance.
fn look_labels(node: Uuid) -> HashMap<String, String> {
    let blank = [labels::INSTANCE, labels::COMPONENT, labels::GENERATION, labels::ORDER, labels::ERA];
    let mut map: HashMap<_, _> = blank.map(|key| (key.to_owned(), String::new())).into_iter().collect();
    map.insert(labels::NODE.to_owned(), node.to_string());
    map
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runtime::labels::Labels;

    #[test]
    fn a_look_is_nobodys_container_whatever_the_image_says() {
        let (node, instance) = (Uuid::from_u128(1), Uuid::from_u128(2));
        let of_image = Labels {
            node,
            instance,
            component: Some("main".to_owned()),
            generation: 1,
            era: 1,
            order: "sha256:00".to_owned(),
        };
        // As the engine does it: what is asked for goes over what the image brings.
        let mut merged = of_image.to_map();
        merged.extend(look_labels(node));
        assert_eq!(Labels::from_map(&merged), None);
    }
}
