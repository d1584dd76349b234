//! The two paths of the links: who is it, shake hands, hold the link until it ends.

use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::response::Response;
use axum::routing::get;
use gpuaas_agent_protocol::link::{CONTROL_PATH, DATA_PATH};
use gpuaas_domain::ids::NodeId;
use gpuaas_domain::{Error, Secret};
use gpuaas_program::Spawner;
use gpuaas_tunnel::{KeepAlive, accept, handshake_answer};
use hyper::upgrade::OnUpgrade;
use hyper_util::rt::TokioIo;

use super::NodeGate;
use super::links::{Kind, Links};
use crate::http::{ApiResult, AppState, Presented, presented};

pub(super) struct Door {
    pub(super) gate: Arc<dyn NodeGate>,
    pub(super) links: Arc<Links>,
    pub(super) tasks: Spawner,
}

pub(super) fn router(door: Arc<Door>) -> Router<AppState> {
    let (control, data) = (door.clone(), door);
    Router::new()
        .route(
            CONTROL_PATH,
            get(move |State(app): State<AppState>, request: Request| async move {
                control.enter(&app, Kind::Control, request).await
            }),
        )
        .route(
            DATA_PATH,
            get(move |State(app): State<AppState>, request: Request| async move {
                data.enter(&app, Kind::Data, request).await
            }),
        )
}

impl Door {
    async fn enter(
        self: &Arc<Self>,
        app: &AppState,
        kind: Kind,
        mut request: Request,
    ) -> ApiResult<Response> {
        let Some(Presented::Bearer(bearer)) = presented(app, request.headers())? else {
            return Err(
                Error::unauthenticated("unauthenticated", "A node says who it is with its token.").into()
            );
        };
        let node = self.gate.admit(bearer.expose()).await?;
        let answer = handshake_answer(request.headers()).ok_or_else(|| {
            Error::invalid("websocket_required", "Connect to this path with a WebSocket handshake.")
        })?;
        let (upgrade, door) = (hyper::upgrade::on(&mut request), self.clone());
        self.tasks.spawn(async move { door.hold(node, kind, bearer, upgrade).await });
        Ok(answer.map(|()| Body::empty()))
    }

    /// From the handshake to the end of the link.
    async fn hold(&self, node: NodeId, kind: Kind, bearer: Secret<String>, upgrade: OnUpgrade) {
        let Ok(io) = upgrade.await else { return };
        let link = match accept(TokioIo::new(io), KeepAlive::default()).await {
            Ok(link) => link,
            Err(error) => {
                tracing::info!(node.id = %node, "node {node} dialled a {} link that did not come up: {error}", kind.name());
                return;
            }
        };
        let number = self.links.add(node, kind, link.clone());
        // A revocation between the first look and now found no link to end.
        if self.gate.admit(bearer.expose()).await.is_err() {
            link.close();
        } else {
            tracing::info!(node.id = %node, "the {} link of node {node} is up", kind.name());
            if kind == Kind::Control {
                self.gate.connected(node).await;
            }
        }
        drop(bearer);
        tokio::select! {
            () = link.closed() => {}
            () = self.tasks.stopped() => link.close(),
        }
        let was_current = self.links.remove(node, kind, number);
        tracing::info!(node.id = %node, replaced = !was_current, "the {} link of node {node} ended", kind.name());
        if was_current && kind == Kind::Control {
            self.gate.disconnected(node).await;
        }
    }
}
