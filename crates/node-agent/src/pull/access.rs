//! The platform's leave to use one image for one order: asked for, held as a token, asked for again when it ends.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use gpuaas_agent_protocol::FailureReason;
use gpuaas_api::agent::{ImageAccess, ImageAccessRequest, ImageTrust};
use gpuaas_oci::{ClientError, Digest, Renewal, SecretText, TokenSource};
use tokio::time::Instant;

use super::TRIES;
use super::registries::{failed, failure_of};
use crate::platform::CallError;
use crate::seams::{Failure, ImageGate};

pub(super) struct Access {
    gate: Arc<dyn ImageGate>,
    request: ImageAccessRequest,
    /// Before the platform is asked again because it did not answer; four times longer before each next.
    retry_pause: Duration,
    pub(super) deadline: Instant,
    pub(super) registry_url: Option<String>,
    pub(super) trust: ImageTrust,
    token: Mutex<Arc<SecretText>>,
    /// One request of a pull renews for all of them.
    renewing: tokio::sync::Mutex<()>,
    /// Why the token was not renewed: the reason of whatever fails next.
    ended: Mutex<Option<Failure>>,
}

impl Access {
    pub(super) async fn ask(
        gate: Arc<dyn ImageGate>,
        request: ImageAccessRequest,
        retry_pause: Duration,
        deadline: Instant,
    ) -> Result<Self, Failure> {
        let ImageAccess { registry_url, token, trust, .. } =
            ask(&*gate, &request, retry_pause, deadline).await?;
        Ok(Self {
            gate,
            request,
            retry_pause,
            deadline,
            registry_url,
            trust,
            token: Mutex::new(Arc::new(SecretText::new(token))),
            renewing: tokio::sync::Mutex::default(),
            ended: Mutex::default(),
        })
    }

    /// What to call it that the registry did not give this part.
    pub(super) fn failure(&self, error: &ClientError, part: &Digest) -> Failure {
        let ended = self.ended.lock().expect("no holder of a failure panics").clone();
        ended.unwrap_or_else(|| failure_of(error, part))
    }

    async fn next_token(&self) -> Result<Arc<SecretText>, Failure> {
        let next = ask(&*self.gate, &self.request, self.retry_pause, self.deadline).await?;
        if next.registry_url != self.registry_url {
            // The new token is not for whom we are talking to.
            return Err(failed("the image moved to another registry while it was pulled"));
        }
        let token = Arc::new(SecretText::new(next.token));
        *self.token.lock().expect("no holder of a token panics") = token.clone();
        Ok(token)
    }
}

impl TokenSource for Access {
    fn token(&self) -> Arc<SecretText> {
        self.token.lock().expect("no holder of a token panics").clone()
    }

    fn renew<'a>(&'a self, refused: &'a Arc<SecretText>) -> Renewal<'a> {
        Box::pin(async move {
            let _turn = self.renewing.lock().await;
            let now = self.token();
            if !Arc::ptr_eq(&now, refused) {
                return Ok(now);
            }
            self.next_token().await.map_err(|failure| {
                let detail = failure.detail.clone();
                self.ended.lock().expect("no holder of a failure panics").get_or_insert(failure);
                detail
            })
        })
    }
}

/// Asks until there is an answer worth having, with pauses, within the deadline.
async fn ask(
    gate: &dyn ImageGate,
    request: &ImageAccessRequest,
    mut pause: Duration,
    deadline: Instant,
) -> Result<ImageAccess, Failure> {
    let mut tries = 1;
    loop {
        let error = match tokio::time::timeout_at(deadline, gate.ask(request)).await {
            Ok(Ok(access)) => return Ok(access),
            Ok(Err(error)) => error,
            Err(_) => CallError::Unreachable("the image's deadline passed".to_owned()),
        };
        if !may_pass(&error) || tries == TRIES || Instant::now() + pause >= deadline {
            return Err(failure(&request.reference, &error));
        }
        tokio::time::sleep(pause).await;
        (pause, tries) = (pause * 4, tries + 1);
    }
}

fn may_pass(error: &CallError) -> bool {
    match error {
        CallError::Unreachable(_) => true,
        CallError::Refused { status, .. } => *status == 429 || *status >= 500,
        CallError::Untrusted(_) | CallError::NotANode(_) | CallError::Unreadable(_) => false,
    }
}

fn failure(reference: &str, error: &CallError) -> Failure {
    let reason = match error {
        CallError::NotANode(_) => FailureReason::ImageNotAllowed,
        CallError::Refused { status, .. } if (400..500).contains(status) && *status != 429 => {
            FailureReason::ImageNotAllowed
        }
        CallError::Refused { .. }
        | CallError::Unreachable(_)
        | CallError::Untrusted(_)
        | CallError::Unreadable(_) => FailureReason::RegistryUnreachable,
    };
    let detail = match error {
        CallError::Refused { code, message, .. } => format!("{reference}: {code}: {message}"),
        error => format!("{reference}: {error}"),
    };
    Failure::new(reason, detail)
}
