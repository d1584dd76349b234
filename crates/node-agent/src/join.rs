//! Becoming a node, once.

use gpuaas_agent_protocol::inventory::NodeInventory;
use gpuaas_api::agent::JoinRequest;
use gpuaas_domain::{Error, Result, Secret};

use crate::identity::{Identity, StateFolder};
use crate::pinned::Pin;
use crate::platform::{self, CallError, parse_server_url};

/// `id.secret.pin`, as the platform prints it.
pub struct JoinToken {
    /// `id.secret`: what the platform gets to see.
    credential: Secret<String>,
    pin: Pin,
}

impl JoinToken {
    pub fn parse(text: &str) -> Result<Self> {
        let refuse = || {
            Error::invalid(
                "join_token_malformed",
                "A join token is id.secret.pin; copy all of it, with both points.",
            )
        };
        let (credential, pin) = text.trim().rsplit_once('.').ok_or_else(refuse)?;
        let pin = Pin::parse(pin).ok_or_else(refuse)?;
        let (id, secret) = credential.split_once('.').ok_or_else(refuse)?;
        let clean = |part: &str| {
            !part.is_empty() && part.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_')
        };
        if !clean(id) || !clean(secret) || credential.len() > 200 {
            return Err(refuse());
        }
        Ok(Self { credential: Secret::new(credential.to_owned()), pin })
    }
}

/// What joining came to.
#[derive(Debug, PartialEq, Eq)]
pub enum Outcome {
    Joined(Identity),
    /// This folder belongs to a node of this server already.
    Already(Identity),
}

/// Joins, or finds that it has been done. `inventory` is made with the node's public key.
pub async fn join(
    state: &StateFolder,
    server: &str,
    token: &JoinToken,
    name: Option<String>,
    inventory: impl AsyncFnOnce(&[u8]) -> NodeInventory,
) -> Result<Outcome> {
    let url = parse_server_url(server).map_err(|why| {
        Error::invalid("server_url_invalid", format!("{server:?} is not the address of a platform: {why}."))
    })?;
    let server_url = url.origin().ascii_serialization();
    state.ensure()?;
    if let Some(identity) = state.find_identity()? {
        return already(state, identity, &server_url);
    }
    let _lock = state.lock()?;
    // Another process may have joined while we waited for nothing.
    if let Some(identity) = state.find_identity()? {
        return already(state, identity, &server_url);
    }
    let key = state.ensure_key()?;
    let request = JoinRequest {
        token: token.credential.expose().clone(),
        name,
        public_key: key.public_text(),
        inventory: inventory(key.public()).await,
    };
    let joined = platform::join(&url, &token.pin, &request).await.map_err(|error| explain(&error))?;
    let identity = Identity { node_id: joined.node_id, name: joined.name, server_url, ca_pem: joined.ca_pem };
    state.save_identity(&identity)?;
    Ok(Outcome::Joined(identity))
}

fn already(state: &StateFolder, identity: Identity, server_url: &str) -> Result<Outcome> {
    if identity.server_url == server_url {
        return Ok(Outcome::Already(identity));
    }
    Err(Error::conflict(
        "joined_elsewhere",
        format!(
            "{} belongs to the node {} of {}; use another --state, or remove that folder once the node is forgotten there.",
            state.path().display(),
            identity.name,
            identity.server_url
        ),
    ))
}

fn explain(error: &CallError) -> Error {
    match error {
        CallError::Untrusted(what) => Error::invalid(
            "server_untrusted",
            format!(
                "Whoever answers at this address is not the platform of the token: {what}. Nothing was sent."
            ),
        ),
        CallError::Refused { status, code, message } => {
            Error::invalid("join_refused", format!("The platform refused the join: {message}"))
                .with_internal(format!("{status} {code}"))
        }
        CallError::Unreachable(_) | CallError::Unreadable(_) | CallError::NotANode(_) => Error::invalid(
            "join_unfinished",
            format!("Joining did not finish: {error}. Running the same line again is safe."),
        ),
    }
}
