//! What the engine of an instance was given, for those who look after it (B-13): read only, with secrets masked, and with the
//! proof that it is what the stored input gives.

use gpuaas_domain::iam::Permission;
use gpuaas_domain::ids::{InstanceId, ProjectId};
use gpuaas_domain::manifest::ExecutionEngine;
use gpuaas_domain::render::{Gap, RenderInput, Rendered, RenderedFile, masked, render};
use gpuaas_domain::{Error, Kind, Result};
use gpuaas_store::instances::StoredRevision;

use crate::OpContext;

/// One rendering of a revision.
pub struct Rendering {
    pub engine: ExecutionEngine,
    pub revision: i64,
    pub renderer_version: i64,
    pub digest: String,
    /// Whether this is what the instance runs from; otherwise it is how another engine would be told.
    pub stored: bool,
    pub verification: Verification,
    pub files: Vec<RenderedFile>,
    pub masked: Vec<String>,
    pub gaps: Vec<Gap>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verification {
    /// The stored input gives the stored bytes again.
    Rederived,
    /// The renderer has another version by now: only the stored bytes were held against their digest.
    StoredBytes,
    /// It was rendered just now; there is nothing to hold it against.
    Preview,
    /// The stored bytes are not what their digest says.
    Mismatch,
}

pub async fn get(
    ctx: &OpContext,
    project: ProjectId,
    id: InstanceId,
    engine: Option<ExecutionEngine>,
) -> Result<Rendering> {
    let permit = ctx.permit_project(Permission::InstanceInspect, project).await?;
    let mut session = ctx.plane.store.read().await?;
    let instance = session.find_instance(permit.tenant_scope(), id).await?.ok_or_else(Error::not_found)?;
    let revision = session
        .find_revision(instance.revision_id)
        .await?
        .ok_or_else(|| Error::internal("an instance without its revision"))?;
    let own = ExecutionEngine::parse(&instance.execution_engine)
        .ok_or_else(|| Error::internal("an instance with an unknown engine"))?;
    let input = revision.render_input.clone().ok_or_else(|| {
        Error::new(
            Kind::Conflict,
            "not_rendered_yet",
            "The instance was launched before its input was kept; it is kept from its next start on.",
        )
    })?;
    let input: RenderInput = serde_json::from_value(input)
        .map_err(|error| Error::internal(format!("a stored input cannot be read: {error}")))?;
    let engine = engine.unwrap_or(own);
    let (shown, pointers) = masked(&input);
    let shown = render(engine, &shown)?;
    let stored = engine == own;
    let verification = if stored { verify(&revision, engine, &input) } else { Verification::Preview };
    Ok(Rendering {
        engine,
        revision: revision.number,
        renderer_version: if stored { revision.renderer_version } else { shown.renderer_version },
        digest: if stored { revision.rendered_digest.clone() } else { render(engine, &input)?.digest },
        stored,
        verification,
        files: shown.files,
        masked: pointers,
        gaps: shown.gaps,
    })
}

fn verify(revision: &StoredRevision, engine: ExecutionEngine, input: &RenderInput) -> Verification {
    let again = render(engine, input).ok();
    let is_same = |again: &Rendered| {
        again.digest == revision.rendered_digest
            && again.files.first().is_some_and(|file| file.bytes == revision.rendered)
    };
    match again {
        Some(again) if again.renderer_version == revision.renderer_version => {
            if is_same(&again) {
                Verification::Rederived
            } else {
                Verification::Mismatch
            }
        }
        other => {
            let file = other.and_then(|other| other.files.into_iter().next());
            let files: Vec<RenderedFile> = file
                .map(|file| RenderedFile { bytes: revision.rendered.clone(), ..file })
                .into_iter()
                .collect();
            let digest = gpuaas_domain::render::digest(engine, revision.renderer_version, &files);
            if digest == revision.rendered_digest {
                Verification::StoredBytes
            } else {
                Verification::Mismatch
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use gpuaas_domain::Timestamp;
    use gpuaas_domain::ids::{AppVersionId, RevisionId};
    use uuid::Uuid;

    use super::*;

    const INPUT: &str = include_str!("../../../domain/tests/golden/render/one/input.json");

    /// B-05, B-13: stored bytes are believed only as far as they can be rendered again, or held against their digest.
    #[test]
    fn stored_bytes_are_held_against_their_input_and_digest() {
        let input: RenderInput = serde_json::from_str(INPUT).unwrap();
        let engine = ExecutionEngine::DockerCompose;
        let rendered = render(engine, &input).unwrap();
        let file = &rendered.files[0];
        let revision = StoredRevision {
            id: RevisionId::new(Uuid::nil()),
            number: 1,
            app_version_id: AppVersionId::new(Uuid::nil()),
            renderer_version: rendered.renderer_version,
            wish: serde_json::Value::Null,
            render_input: None,
            rendered: file.bytes.clone(),
            rendered_digest: rendered.digest.clone(),
            created_at: Timestamp::from_unix_seconds(0).unwrap(),
        };
        assert_eq!(verify(&revision, engine, &input), Verification::Rederived);
        let changed =
            StoredRevision { rendered: file.bytes.replace("services", "servicez"), ..revision.clone() };
        assert_eq!(verify(&changed, engine, &input), Verification::Mismatch);
        let files = [RenderedFile { ..file.clone() }];
        let older = StoredRevision {
            renderer_version: 0,
            rendered_digest: gpuaas_domain::render::digest(engine, 0, &files),
            ..revision
        };
        assert_eq!(verify(&older, engine, &input), Verification::StoredBytes);
        let changed = StoredRevision { rendered: "x".to_owned(), ..older };
        assert_eq!(verify(&changed, engine, &input), Verification::Mismatch);
    }
}
