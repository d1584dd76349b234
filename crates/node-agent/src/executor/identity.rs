//! An identity for each launch: a key made here, shown to the platform, written where its containers alone can read it.
//!
//! The private half lives in that file and nowhere else: not in the journal, not in an order, not in an environment. So a
//! launch that has lost its files gets another key, and the platform ends the lost one.

use std::path::PathBuf;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use gpuaas_agent_protocol::FailureReason;
use gpuaas_agent_protocol::spec::{ComponentSpec, Egress, RunAs, WorkloadSpec};
use gpuaas_api::own_instance::IdentityGranted;
use gpuaas_domain::Secret;
use gpuaas_domain::machine_token::pkcs8_pem;
use gpuaas_faults::step;
use ring::signature::{Ed25519KeyPair, KeyPair as _};
use serde::Serialize;

use super::actor::{Actor, Halt};
use super::launch::run_as;
use super::{Identities, secrets};
use crate::platform::CallError;
use crate::runtime::{SECRETS_PATH, User};
use crate::seams::Failure;
use crate::wall_clock::random;

/// Who may not even reach the platform has nothing to say to it.
pub(super) fn has_identity(component: &ComponentSpec) -> bool {
    component.egress != Egress::None
}

/// What a component's file holds; `docs/how-to/instance-api.md` is its contract.
#[derive(Serialize)]
struct KeyFile<'a> {
    app_instance_id: uuid::Uuid,
    generation: u64,
    service_account_id: String,
    key_id: String,
    audience: String,
    /// PKCS#8 in PEM, Ed25519.
    private_key: &'a str,
}

/// The identity of a launch, as far as containers are told of it.
pub(super) struct Identity {
    launch: PathBuf,
    account: String,
}

impl Identity {
    pub(super) fn folder(&self, component: &str) -> PathBuf {
        self.launch.join(component)
    }

    pub(super) fn env(&self) -> [(String, String); 2] {
        [
            ("GPUAAS_SA_ID".to_owned(), self.account.clone()),
            ("GPUAAS_SA_KEY_FILE".to_owned(), format!("{SECRETS_PATH}/{}", secrets::IDENTITY_FILE)),
        ]
    }
}

fn unavailable(detail: impl Into<String>) -> Failure {
    Failure::new(FailureReason::SecretUnavailable, detail)
}

/// Sorted by whether waiting helps.
fn halt(error: &CallError) -> Halt {
    match error {
        CallError::Refused { status, code, message } if (400..500).contains(status) && *status != 429 => {
            Halt::Failed(unavailable(format!("{code}: {message}")))
        }
        CallError::Refused { .. }
        | CallError::Unreachable(_)
        | CallError::Untrusted(_)
        | CallError::NotANode(_)
        | CallError::Unreadable(_) => Halt::Again(unavailable(error.to_string())),
    }
}

impl Actor {
    /// The identity of this launch: the one whose files are all there, or a new one.
    pub(super) async fn ensure_identity(&self, spec: &WorkloadSpec) -> Result<Option<Identity>, Halt> {
        let Some(identities) = self.shared.options.identities.clone() else { return Ok(None) };
        let holders: Vec<&ComponentSpec> = spec.components.iter().filter(|c| has_identity(c)).collect();
        if holders.is_empty() {
            return Ok(None);
        }
        let launch =
            secrets::launch_folder(&identities.root, self.instance, self.record.era, self.record.generation);
        let texts: Option<Vec<_>> =
            holders.iter().map(|component| secrets::read(&launch, &component.name)).collect();
        let known = texts.and_then(|texts| account_of(&texts));
        let account = match known {
            Some(account) => account,
            None => step!(
                self.shared.options.faults,
                "agent.identity",
                self.new_identity(&identities, &holders, &launch).await
            )?,
        };
        Ok(Some(Identity { launch, account }))
    }

    /// Gives the account that the new key speaks for.
    async fn new_identity(
        &self,
        identities: &Identities,
        holders: &[&ComponentSpec],
        launch: &std::path::Path,
    ) -> Result<String, Halt> {
        let on_disk =
            |error: std::io::Error| unavailable(format!("No place for the instance's key: {error}."));
        secrets::prepare_root(&identities.root).map_err(|error| Halt::Failed(on_disk(error)))?;
        let mut users = Vec::new();
        for component in holders {
            users.push(self.user_of(component).await?);
        }
        let seed = Secret::new(random::<32>());
        let pair = Ed25519KeyPair::from_seed_unchecked(seed.expose()).expect("a seed is 32 bytes");
        let public_key = URL_SAFE_NO_PAD.encode(pair.public_key().as_ref());
        let asking = identities.gate.show_key(self.instance, self.record.generation, &public_key);
        let granted = self.unless_superseded(asking).await?.map_err(|error| halt(&error))?;
        let text = self.key_file(&granted, &seed);
        // A later launch may have begun while the platform was asked: it must not find this one's files.
        self.check_current()?;
        for (component, user) in holders.iter().zip(&users) {
            secrets::write(launch, &component.name, user, &text)
                .map_err(|error| Halt::Again(on_disk(error)))?;
        }
        secrets::remove_others(&identities.root, self.instance, launch)
            .map_err(|error| Halt::Again(on_disk(error)))?;
        Ok(granted.service_account_id.to_string())
    }

    fn key_file(&self, granted: &IdentityGranted, seed: &Secret<[u8; 32]>) -> Secret<String> {
        let pem = pkcs8_pem(seed);
        let file = KeyFile {
            app_instance_id: self.instance,
            generation: self.record.generation,
            service_account_id: granted.service_account_id.to_string(),
            key_id: granted.key_id.to_string(),
            audience: granted.audience.clone(),
            private_key: pem.expose(),
        };
        Secret::new(serde_json::to_string(&file).expect("a key file is plain data") + "\n")
    }

    /// Who the process of a component is or will be; its image is there.
    async fn user_of(&self, component: &ComponentSpec) -> Result<User, Halt> {
        let by_image = match component.user {
            RunAs::User { .. } | RunAs::Root => None,
            RunAs::Image => {
                let name = self.shared.options.images.local_name(&component.image);
                self.runtime().find_image_user(&name).await?
            }
        };
        // Without an image to ask, the user that images without one get.
        Ok(run_as(component, by_image.unwrap_or_else(|| User::numeric((0, 0)))))
    }

    /// Names of what only the instance's containers may read.
    pub(super) fn secrets(&self) -> Vec<String> {
        let identities = self.shared.options.identities.as_ref();
        identities.map(|identities| secrets::list(&identities.root, self.instance)).unwrap_or_default()
    }

    pub(super) async fn remove_secrets(&self) -> Result<(), Halt> {
        let Some(Identities { root, .. }) = self.shared.options.identities.clone() else { return Ok(()) };
        let instance = self.instance;
        step!(self.shared.options.faults, "agent.remove_secrets", {
            let root = root.clone();
            let done = tokio::task::spawn_blocking(move || secrets::remove(&root, instance)).await;
            done.expect("removing a folder does not panic").map_err(|error| {
                Halt::Again(Failure::new(FailureReason::StopFailed, format!("The secrets stay: {error}.")))
            })
        })
    }
}

/// The account that files speak of, if they all speak of the same key.
fn account_of(texts: &[Secret<String>]) -> Option<String> {
    let first = texts.first()?;
    if texts.iter().any(|text| text.expose() != first.expose()) {
        return None;
    }
    let known: serde_json::Value = serde_json::from_str(first.expose()).ok()?;
    known.get("service_account_id")?.as_str().map(str::to_owned)
}
