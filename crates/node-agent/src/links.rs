//! Keeping the two links up: dial, serve, and dial again, for ever.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use gpuaas_program::Spawner;
use gpuaas_tunnel::{Backoff, Error as TunnelError, KeepAlive, Scope, client_config_with_ca, dial, serve};
use hyper::service::service_fn;
use rustls::ClientConfig;
use tokio::sync::watch;
use tokio::time::Instant;

use crate::platform::{CallError, Platform};
use crate::service::{AgentApi, LinkKind};
use crate::wall_clock::random;

/// Where the platform accepts the links, by WebSocket.
pub use gpuaas_agent_protocol::link::{CONTROL_PATH, DATA_PATH};

/// A node that the platform does not want is not in a hurry.
const UNWANTED: Duration = Duration::from_mins(1);

/// How a link stands.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LinkState {
    pub connected: bool,
    /// Counts the times it came up.
    pub times: u64,
    /// Why it is down, if it is.
    pub trouble: Option<String>,
}

pub struct Link {
    pub kind: LinkKind,
    pub api: Arc<AgentApi>,
    pub platform: Arc<Platform>,
    pub keep_alive: KeepAlive,
    pub state: watch::Sender<LinkState>,
    pub spawner: Spawner,
}

/// What to do after an attempt.
enum After {
    /// It was up for so long, or never.
    Lived(Duration),
    /// Another token may do.
    Renew,
    /// The platform has no place for this node.
    Unwanted,
}

impl Link {
    fn name(&self) -> &'static str {
        match self.kind {
            LinkKind::Control => "control",
            LinkKind::Data => "data",
        }
    }

    /// Runs until the agent stops; never gives up.
    pub async fn keep(self) {
        let tls = match client_config_with_ca(&self.platform.identity().ca_pem) {
            Ok(tls) => tls,
            Err(error) => {
                self.down(&format!("the platform's CA certificate in the state folder is unusable: {error}"));
                return;
            }
        };
        let mut backoff = Backoff::default();
        let mut renewals = 0;
        loop {
            let wait = match self.attempt(&tls).await {
                After::Lived(lived) => {
                    renewals = 0;
                    backoff.delay(lived, f64::from(random::<1>()[0]) / 255.0)
                }
                After::Renew if renewals == 0 => {
                    renewals += 1;
                    Duration::ZERO
                }
                After::Renew | After::Unwanted => UNWANTED,
            };
            tokio::time::sleep(wait).await;
        }
    }

    async fn attempt(&self, tls: &ClientConfig) -> After {
        let token = match self.platform.token().await {
            Ok(token) => token,
            Err(error @ CallError::NotANode(_)) => {
                self.down(&error.to_string());
                return After::Unwanted;
            }
            Err(error) => {
                self.down(&error.to_string());
                return After::Lived(Duration::ZERO);
            }
        };
        let server = self.platform.identity().server_url.replacen("https://", "wss://", 1);
        let path = match self.kind {
            LinkKind::Control => CONTROL_PATH,
            LinkKind::Data => DATA_PATH,
        };
        let io = match dial(&format!("{}{path}", server.trim_end_matches('/')), token.expose(), tls).await {
            Ok(io) => io,
            Err(error) => {
                self.down(&chain(&error));
                return match error {
                    TunnelError::Answered { status: 401, .. } => {
                        self.platform.drop_token(&token).await;
                        After::Renew
                    }
                    TunnelError::Answered { status: 403 | 410, .. } => After::Unwanted,
                    _ => After::Lived(Duration::ZERO),
                };
            }
        };
        drop(token);
        self.up();
        let (scope, started) = (Scope::new(), Instant::now());
        let (api, kind, inner) = (self.api.clone(), self.kind, scope.clone());
        let service = service_fn(move |request| {
            let (api, scope) = (api.clone(), inner.clone());
            async move { Ok::<_, Infallible>(api.handle(kind, request, &scope).await) }
        });
        let ended = serve(io, service, &scope, self.keep_alive).await;
        self.down(&ended.map_or_else(|error| chain(&error), |()| "the platform closed it".to_owned()));
        After::Lived(started.elapsed())
    }

    fn up(&self) {
        self.state.send_modify(|state| {
            *state = LinkState { connected: true, times: state.times + 1, trouble: None };
        });
        let identity = self.platform.identity();
        tracing::info!("the {} link to {} is up", self.name(), identity.server_url);
    }

    /// The same trouble is told once, not every few seconds.
    fn down(&self, why: &str) {
        let news = self.state.send_if_modified(|state| {
            let news = state.connected || state.trouble.as_deref() != Some(why);
            state.connected = false;
            state.trouble = Some(why.to_owned());
            news
        });
        if news && !self.spawner.is_stopping() {
            tracing::warn!("the {} link is down: {why}", self.name());
        }
    }
}

/// The whole chain in one line.
fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        text = format!("{text}: {cause}");
        source = cause.source();
    }
    text
}
