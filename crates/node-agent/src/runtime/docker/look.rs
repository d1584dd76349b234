//! A look into an image that has not been started.

use std::collections::HashMap;

use bollard::errors::Error;
use bollard::query_parameters as query;
use futures_util::{StreamExt as _, TryStreamExt as _};
use gpuaas_agent_protocol::FailureReason;

use super::{DockerRuntime, fault, quick, user};
use crate::runtime::{ContainerRuntime as _, labels};
use crate::seams::Failure;

impl DockerRuntime {
    /// Reads one file out of an image by way of a container that never runs.
    pub(super) async fn image_files(&self, image: &str) -> Result<(String, String), Failure> {
        let body = bollard::models::ContainerCreateBody {
            image: Some(image.to_owned()),
            cmd: Some(vec!["-".to_owned()]),
            network_disabled: Some(true),
            labels: Some(HashMap::from([(labels::NODE.to_owned(), self.options.node_id.to_string())])),
            ..bollard::models::ContainerCreateBody::default()
        };
        // One at a time under one name, so that a look that was cut off leaves nothing for good.
        let _turn = self.looking.lock().await;
        let name = format!("gpuaas-look-{}", self.options.node_id);
        self.remove_container(&name).await?;
        let options = query::CreateContainerOptions { name: Some(name), ..Default::default() };
        let made = quick(self.docker().await?.create_container(Some(options), body))
            .await?
            .map_err(|error| fault::failure(&error, FailureReason::ContainerCreateFailed))?;
        let mut files = Vec::new();
        for path in ["/etc/passwd", "/etc/group"] {
            let options = query::DownloadFromContainerOptions { path: path.to_owned() };
            let parts: Result<Vec<_>, Error> = self
                .docker()
                .await?
                .download_from_container(&made.id, Some(options))
                .take(4096)
                .try_collect()
                .await;
            let bytes = parts.map(|parts| parts.concat()).unwrap_or_default();
            files.push(user::first_file(&bytes).unwrap_or_default());
        }
        self.remove_container(&made.id).await?;
        let groups = files.pop().unwrap_or_default();
        Ok((files.pop().unwrap_or_default(), groups))
    }
}
