//! Signatures and statements in a registry: where they lie, and how one is added.
//!
//! cosign 2 keeps them in a manifest under a tag made from the digest (`.sig`, `.att`), one layer each; cosign 3 as
//! manifests that name the image as their subject. Both are read; the first is written, because every cosign and every
//! registry understands it. What lies there is whoever may write to the repository, so one bad candidate must not hide
//! a good one: each is judged by itself.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use chrono::{DateTime, Utc};
use ring::rand::SecureRandom;
use serde_json::Value;

use super::{
    DSSE_ENVELOPE, Evidence, MAX_CANDIDATES, MAX_ENVELOPE_BYTES, MAX_PAYLOAD_BYTES, Policy, PrivateKey,
    Purpose, Refusal, SIGNATURE_ANNOTATION, SIGSTORE_BUNDLE, SIMPLE_SIGNING, TrustedKey, Unnamed, Verdict,
    provenance_envelope, simple_payload,
};
use crate::client::{BlobSource, ClientError, FetchedManifest, Registry};
use crate::manifest::{self, Annotations, BadManifest, Descriptor, ImageManifest, Manifest, OCI_MANIFEST};
use crate::{Digest, Repository, Tag};

const CONFIG_TYPE: &str = "application/vnd.oci.image.config.v1+json";
const PREDICATE_ANNOTATION: &str = "predicateType";
const ADD_ATTEMPTS: usize = 3;
/// Of all that lies beside one image.
const MAX_EVIDENCE_BYTES: u64 = 32 * 1024 * 1024;

/// Something beside an image: where it lay, and what it is or why it is nothing.
#[derive(Clone, Debug)]
pub struct Candidate {
    pub origin: String,
    pub evidence: Result<Evidence, Refusal>,
}

/// What was found so far, and how much more may be read.
struct Pile {
    found: Vec<Candidate>,
    bytes_left: u64,
}

impl Pile {
    fn add(&mut self, origin: String, evidence: Result<Evidence, Refusal>) {
        self.found.push(Candidate { origin, evidence });
    }

    fn too_many(&mut self, origin: &str) {
        let refusal = Refusal::TooManyCandidates { found: self.found.len() };
        self.add(origin.to_owned(), Err(refusal));
    }
}

impl Purpose {
    fn tag(self, digest: &Digest) -> Tag {
        match self {
            Self::Signature => Tag::of_digest(digest, ".sig"),
            Self::Provenance => Tag::of_digest(digest, ".att"),
        }
    }
}

impl Registry {
    /// Everything beside a digest that may be a proof of this kind. Whoever may write there may pile things up, so there
    /// is an end to what is looked at; that it was reached is among the refusals.
    pub async fn list_evidence(
        &self,
        repository: &Repository,
        digest: &Digest,
        purpose: Purpose,
    ) -> Result<Vec<Candidate>, ClientError> {
        let mut pile = Pile { found: Vec::new(), bytes_left: MAX_EVIDENCE_BYTES };
        let tag = purpose.tag(digest);
        let (tagged, referrers) =
            tokio::join!(self.find_manifest(repository, &tag), self.list_referrers(repository, digest, None));
        self.collect_at(repository, format!("the tag {tag}"), tagged, None, &mut pile).await?;
        let referrers = referrers?;
        for referrer in referrers.iter().filter(|referrer| referrer.media_type == OCI_MANIFEST) {
            if pile.found.len() >= MAX_CANDIDATES {
                pile.too_many("the referrers");
                break;
            }
            let fetched = self.find_manifest(repository, &referrer.digest).await;
            let origin = format!("the referrer {}", referrer.digest);
            self.collect_at(repository, origin, fetched, Some(digest), &mut pile).await?;
        }
        Ok(pile.found)
    }

    /// What lies at one place, if anything. Bytes that are not what the registry calls them are a bad candidate and
    /// nothing more.
    async fn collect_at(
        &self,
        repository: &Repository,
        origin: String,
        fetched: Result<Option<FetchedManifest>, ClientError>,
        subject: Option<&Digest>,
        pile: &mut Pile,
    ) -> Result<(), ClientError> {
        match fetched {
            Ok(None) => Ok(()),
            Ok(Some(fetched)) => self.collect(repository, &origin, &fetched, subject, pile).await,
            Err(ClientError::OtherDigest { ours, theirs }) => {
                pile.add(origin, Err(Refusal::OtherBytes { wanted: ours, found: theirs }));
                Ok(())
            }
            Err(ClientError::Damaged { .. }) => {
                pile.add(origin, Err(Refusal::Damaged));
                Ok(())
            }
            Err(error) => Err(error),
        }
    }

    /// The layers of one manifest that could be proofs.
    async fn collect(
        &self,
        repository: &Repository,
        origin: &str,
        fetched: &FetchedManifest,
        subject: Option<&Digest>,
        pile: &mut Pile,
    ) -> Result<(), ClientError> {
        let manifest = match fetched.read() {
            Ok(Manifest::Image(manifest)) => manifest,
            Ok(Manifest::Index(_)) => {
                let found = super::shown(&fetched.media_type);
                pile.add(origin.to_owned(), Err(Refusal::LayerType { found }));
                return Ok(());
            }
            Err(why) => {
                pile.add(origin.to_owned(), Err(Refusal::Manifest(why)));
                return Ok(());
            }
        };
        let named = manifest.subject.as_ref().map(|named| &named.digest);
        let elsewhere = named.filter(|named| subject.is_some_and(|wanted| wanted != *named));
        for (at, layer) in manifest.layers.iter().enumerate() {
            if pile.found.len() >= MAX_CANDIDATES || pile.bytes_left < layer.size {
                pile.too_many(origin);
                break;
            }
            let evidence = match elsewhere {
                Some(found) => Err(Refusal::OtherSubject { found: found.clone() }),
                None => self.evidence(repository, layer).await?,
            };
            if evidence.is_ok() {
                pile.bytes_left -= layer.size;
            }
            pile.add(format!("{origin}, layer {at}"), evidence);
        }
        Ok(())
    }

    async fn evidence(
        &self,
        repository: &Repository,
        layer: &Descriptor,
    ) -> Result<Result<Evidence, Refusal>, ClientError> {
        let most = match layer.media_type.as_str() {
            SIMPLE_SIGNING => MAX_PAYLOAD_BYTES as u64,
            DSSE_ENVELOPE | SIGSTORE_BUNDLE => MAX_ENVELOPE_BYTES as u64,
            other => return Ok(Err(Refusal::LayerType { found: super::shown(other) })),
        };
        if layer.size > most {
            return Ok(Err(Refusal::TooLarge { bytes: layer.size, most }));
        }
        let bytes = match self.blob_bytes(repository, &layer.digest, layer.size, most).await {
            Ok(bytes) => bytes.to_vec(),
            Err(ClientError::OtherDigest { ours, theirs }) => {
                return Ok(Err(Refusal::OtherBytes { wanted: ours, found: theirs }));
            }
            Err(ClientError::OtherSize { found, .. }) => {
                let found = format!("{found} bytes");
                return Ok(Err(Refusal::OtherBytes { wanted: layer.digest.clone(), found }));
            }
            Err(ClientError::NotFound { .. }) => {
                let found = "nothing".to_owned();
                return Ok(Err(Refusal::OtherBytes { wanted: layer.digest.clone(), found }));
            }
            Err(error) => return Err(error),
        };
        Ok(match layer.media_type.as_str() {
            SIMPLE_SIGNING => match layer.annotations.get(SIGNATURE_ANNOTATION) {
                Some(signature) => Ok(Evidence::Simple { payload: bytes, signature: signature.clone() }),
                None => Err(Refusal::SignatureMissing),
            },
            DSSE_ENVELOPE => Ok(Evidence::Envelope(bytes)),
            _ => Ok(Evidence::Bundle(bytes)),
        })
    }

    /// Looks for proofs of this kind beside the policy's image and judges each.
    pub async fn verify(
        &self,
        repository: &Repository,
        purpose: Purpose,
        policy: &Policy<'_>,
    ) -> Result<Verdict, ClientError> {
        let mut verdict = Verdict::default();
        for candidate in self.list_evidence(repository, policy.digest, purpose).await? {
            match candidate.evidence.and_then(|evidence| evidence.check(purpose, policy)) {
                Ok(verified) => verdict.verified.push(verified),
                Err(why) => verdict.refused.push((candidate.origin, why)),
            }
        }
        Ok(verdict)
    }

    /// Signs a digest beside it, once per key. Gives the digest of what was signed.
    pub async fn sign(
        &self,
        repository: &Repository,
        digest: &Digest,
        key: &PrivateKey,
        now: DateTime<Utc>,
        random: &(dyn SecureRandom + Send + Sync),
    ) -> Result<Digest, ClientError> {
        let name = self.name(repository)?;
        let own = [TrustedKey::new(key.public().clone())];
        let policy = Policy {
            digest,
            names: std::slice::from_ref(&name),
            keys: &own,
            now,
            max_age: None,
            unnamed: Unnamed::Refuse,
            predicate_types: &[],
        };
        let verdict = self.verify(repository, Purpose::Signature, &policy).await?;
        if let Some(known) = verdict.verified.into_iter().next() {
            return Ok(known.statement);
        }
        let payload = simple_payload(&name, digest, now);
        let signature = key.sign(random, &payload).ok_or_else(no_randomness)?;
        let annotations = Annotations::from([(SIGNATURE_ANNOTATION.to_owned(), STANDARD.encode(signature))]);
        self.add_layer(repository, &Purpose::Signature.tag(digest), SIMPLE_SIGNING, &payload, annotations)
            .await?;
        Ok(Digest::of(&payload))
    }

    /// Leaves a signed statement about a digest beside it.
    pub async fn attest(
        &self,
        repository: &Repository,
        digest: &Digest,
        predicate_type: &str,
        predicate: &Value,
        key: &PrivateKey,
        random: &(dyn SecureRandom + Send + Sync),
    ) -> Result<(), ClientError> {
        let name = self.name(repository)?;
        let envelope = provenance_envelope(&name, digest, predicate_type, predicate, key, random)
            .ok_or_else(no_randomness)?;
        let annotations = Annotations::from([
            (SIGNATURE_ANNOTATION.to_owned(), String::new()),
            (PREDICATE_ANNOTATION.to_owned(), predicate_type.to_owned()),
        ]);
        self.add_layer(repository, &Purpose::Provenance.tag(digest), DSSE_ENVELOPE, &envelope, annotations)
            .await
    }

    /// Adds a layer to what lies under a tag. Two who add at the same time may overwrite each other, so the tag is
    /// read again and the layer added again if it is gone.
    async fn add_layer(
        &self,
        repository: &Repository,
        tag: &Tag,
        media_type: &str,
        bytes: &[u8],
        annotations: Annotations,
    ) -> Result<(), ClientError> {
        let mut layer = Descriptor::of(media_type, bytes);
        layer.annotations = annotations;
        self.push_blob(repository, &layer.digest, &memory(bytes), &|_| ()).await?;
        for _ in 0..ADD_ATTEMPTS {
            let mut layers = match self.find_manifest(repository, tag).await {
                Ok(Some(found)) => image_in(tag, &found)?.layers,
                // What was there is lost; a new one may take its place.
                Ok(None) | Err(ClientError::Damaged { .. }) => Vec::new(),
                Err(error) => return Err(error),
            };
            if layers.contains(&layer) {
                return Ok(());
            }
            layers.push(layer.clone());
            let config = config_of(&layers);
            let config_part = Descriptor::of(CONFIG_TYPE, &config);
            self.push_blob(repository, &config_part.digest, &memory(&config), &|_| ()).await?;
            let manifest = manifest::write_image(None, &config_part, &layers, None, &Annotations::new());
            self.put_manifest(repository, tag, OCI_MANIFEST, manifest).await?;
        }
        match self.find_manifest(repository, tag).await? {
            Some(found) if image_in(tag, &found)?.layers.contains(&layer) => Ok(()),
            _ => Err(ClientError::Unusable { what: format!("others keep overwriting {repository}:{tag}") }),
        }
    }
}

fn image_in(tag: &Tag, found: &FetchedManifest) -> Result<ImageManifest, ClientError> {
    let bad = |why| ClientError::Manifest { url: tag.to_string(), why };
    match found.read().map_err(bad)? {
        Manifest::Image(image) => Ok(image),
        Manifest::Index(_) => Err(bad(BadManifest::IndexAsImage)),
    }
}

/// The configuration of an image that is none: cosign's reader wants the layers counted here too.
fn config_of(layers: &[Descriptor]) -> Vec<u8> {
    let diff_ids: Vec<&str> = layers.iter().map(|layer| layer.digest.as_str()).collect();
    let config = serde_json::json!({
        "architecture": "", "os": "", "config": {}, "rootfs": { "type": "layers", "diff_ids": diff_ids },
    });
    config.to_string().into_bytes()
}

fn memory(bytes: &[u8]) -> BlobSource {
    BlobSource::Memory(bytes.to_vec().into())
}

fn no_randomness() -> ClientError {
    ClientError::Unusable { what: "the source of randomness fails".to_owned() }
}

#[cfg(test)]
#[path = "registry_tests.rs"]
mod tests;
