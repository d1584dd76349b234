//! The distribution protocol over HTTP: parse, ask the guard, do it, answer. Nothing is decided here.
//!
//! One handler for all paths, because repositories have any number of segments and a router's patterns end at one.
//! Bodies are streamed both ways; only manifests, which are bounded, are ever held whole.

mod answer;
mod blobs;
mod manifests;
mod range;
mod uploads;

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::{Body, BodyDataStream};
use axum::extract::Request;
use axum::http::HeaderMap;
use axum::response::Response;
use bytes::Bytes;
use futures_util::{Stream, StreamExt as _};

use crate::error::{Error, Result};
use crate::guard::{Guard, Verdict};
use crate::manifest::Policy;
use crate::operation::Operation;
use crate::storage::{Collected, Storage};
use crate::tasks::Tasks;

const DRAINED_BYTES: usize = 8 << 20;
const DRAINED_TIME: Duration = Duration::from_secs(1);

#[derive(Clone, Copy, Debug)]
pub struct Settings {
    pub policy: Policy,
    /// A client that sends nothing for this long while we wait for its body is told to go. What it sent is kept.
    pub idle: Duration,
}

impl Default for Settings {
    fn default() -> Self {
        Self { policy: Policy::default(), idle: Duration::from_secs(30) }
    }
}

/// A registry: a storage, and somebody at the door.
pub struct Registry<S> {
    storage: Arc<S>,
    guard: Arc<dyn Guard>,
    settings: Settings,
    tasks: Tasks,
}

impl<S: Storage> Registry<S> {
    pub fn new(storage: S, guard: impl Guard, settings: Settings) -> Arc<Self> {
        Arc::new(Self {
            storage: Arc::new(storage),
            guard: Arc::new(guard),
            settings,
            tasks: Tasks::default(),
        })
    }

    pub fn storage(&self) -> &S {
        &self.storage
    }

    /// Serves `/v2/` and all below it.
    pub fn router(self: &Arc<Self>) -> Router {
        let registry = self.clone();
        Router::new().fallback(move |request: Request| {
            let registry = registry.clone();
            async move { registry.serve(request).await }
        })
    }

    /// One round of garbage collection, to its end even if the caller goes.
    pub async fn collect(&self) -> Result<Collected> {
        let storage = self.storage.clone();
        self.tasks.run(async move { storage.collect().await }).await
    }

    /// Waits until every change that was begun is done, at most this long. Says whether it is.
    pub async fn settle(&self, at_most: Duration) -> bool {
        self.tasks.settle(at_most).await
    }

    async fn serve(&self, request: Request) -> Response {
        let (parts, body) = request.into_parts();
        let operation = match Operation::parse(&parts.method, parts.uri.path(), parts.uri.query()) {
            Ok(operation) => operation,
            Err(error) => {
                drain(&mut self.frames(body)).await;
                return answer::refusal(&error);
            }
        };
        let needs = operation.needs();
        match self.guard.check(&parts.headers, needs.must.as_ref()).await {
            Verdict::Allow => {}
            verdict => {
                drain(&mut self.frames(body)).await;
                return answer::denial(&verdict, &needs);
            }
        }
        let answer = self.perform(operation, &parts.headers, body).await;
        answer.unwrap_or_else(|error| answer::refusal(&error))
    }

    async fn perform(&self, operation: Operation, headers: &HeaderMap, body: Body) -> Result<Response> {
        match operation {
            Operation::Version => Ok(answer::version()),
            Operation::HeadBlob { repository, digest } => self.head_blob(&repository, &digest).await,
            Operation::GetBlob { repository, digest } => self.get_blob(&repository, &digest, headers).await,
            Operation::DeleteBlob { repository, digest } => self.delete_blob(repository, digest).await,
            Operation::StartUpload { repository, start } => {
                self.start_upload(repository, start, headers, body).await
            }
            Operation::UploadStatus { repository, upload } => self.upload_status(&repository, &upload).await,
            Operation::AppendUpload { repository, upload } => {
                self.append(&repository, &upload, headers, body).await
            }
            Operation::FinishUpload { repository, upload, digest } => {
                self.finish(repository, upload, digest, headers, body).await
            }
            Operation::CancelUpload { repository, upload } => self.cancel(repository, upload).await,
            Operation::HeadManifest { repository, reference } => {
                self.get_manifest(&repository, &reference, true).await
            }
            Operation::GetManifest { repository, reference } => {
                self.get_manifest(&repository, &reference, false).await
            }
            Operation::PutManifest { repository, reference } => {
                self.put_manifest(repository, reference, headers, body).await
            }
            Operation::DeleteManifest { repository, reference } => {
                self.delete_manifest(repository, reference).await
            }
            Operation::ListTags { repository, limit, last } => self.list_tags(&repository, limit, last).await,
            Operation::ListReferrers { repository, subject, artifact_type, last } => {
                self.list_referrers(&repository, &subject, artifact_type, last.as_ref()).await
            }
        }
    }

    /// The frames of a body, as long as they keep coming.
    fn frames(&self, body: Body) -> impl Stream<Item = Result<Bytes>> + Send + Unpin + use<S> {
        let idle = self.settings.idle;
        let next = move |mut frames: BodyDataStream| async move {
            let item = match tokio::time::timeout(idle, frames.next()).await {
                Err(_) => Err(Error::TooSlow(idle)),
                Ok(None) => return None,
                Ok(Some(frame)) => frame.map_err(|error| Error::BodyBroken(error.to_string())),
            };
            Some((item, frames))
        };
        // Fused: who drains may ask again after the end.
        Box::pin(futures_util::stream::unfold(body.into_data_stream(), next).fuse())
    }
}

/// Takes a little more of a body that nobody wants. Whoever is refused while still sending would otherwise find the
/// connection reset and never read why; a small rest is cheaper than that. Bounded, as the sender may mean no good.
async fn drain(frames: &mut (impl Stream<Item = Result<Bytes>> + Unpin)) {
    let reading = async {
        let mut left = DRAINED_BYTES;
        while let Some(Ok(frame)) = frames.next().await {
            match left.checked_sub(frame.len()) {
                Some(less) => left = less,
                None => break,
            }
        }
    };
    // Out of time is as good as done.
    let _ = tokio::time::timeout(DRAINED_TIME, reading).await;
}
