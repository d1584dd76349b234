//! The images on their way into the registry, and what is signed beside them.

use std::ops::Range;

use gpuaas_api::Route;
use gpuaas_api::artifacts::{NewPublishIntent, PublishIntent};
use gpuaas_oci::sign::{Policy, PrivateKey, Purpose, SLSA_PROVENANCE_V1, TrustedKey, Unnamed};
use gpuaas_oci::{
    ClientError, Credentials, Digest, Name, Progress, Registry, Repository, SecretText, Settings, Tag,
    TokenRealm,
};
use ring::rand::SystemRandom;

use super::super::registry::unwrap;
use super::build::Built;
use super::report::share;
use super::{PUSHING, Run, origin};
use crate::failure::{Exit, Failure, Result};
use crate::session::parse;
use crate::{clock, files, units};

/// Long enough for a large image; a longer push asks again.
const INTENT_SECONDS: i64 = 3600;
/// A credential with less left than this is not used for something new.
const MARGIN_SECONDS: i64 = 60;
const RENEWALS: u32 = 3;

/// A way into the repository, for a while.
pub(super) struct Way {
    pub(super) intent: PublishIntent,
    registry: Registry,
    repository: Repository,
}

impl Run<'_> {
    /// A new way into the repository. The credential opens once and goes nowhere but to the registry and its tokens.
    async fn way(&self) -> Result<Way> {
        let body = NewPublishIntent {
            app_slug: self.document.manifest.slug.to_string(),
            visibility: self.visibility,
            tag: self.tag(0).map(|tag| tag.to_string()),
            expires_in_seconds: Some(INTENT_SECONDS),
        };
        let raw = self.session.write(Route::PublishIntentCreate, &[&self.project], &body).await?;
        let intent: PublishIntent = parse(&raw)?;
        let login = unwrap(self.session, &intent.credential).await?;
        let name: Name = intent.name.parse().map_err(|_| {
            Failure::new(Exit::Trouble, "unexpected_answer", format!("{:?} is no repository", intent.name))
        })?;
        let ca_file = self.session.app.target()?.ca_file;
        let settings = Settings {
            extra_ca_pem: ca_file.map(|path| files::read_text(&path)).transpose()?,
            token_realms: vec![TokenRealm { url: intent.token_url.clone(), service: intent.service.clone() }],
            known_as: Some(name.host),
            ..Settings::default()
        };
        let password = SecretText::new(login.password.expose().clone());
        let credentials = Credentials::Password { user: login.username.clone(), password };
        let registry = Registry::with(&intent.registry_url, Some(credentials), settings)?;
        Ok(Way { repository: name.repository, registry, intent })
    }

    /// Sends what the registry lacks, and leaves signatures beside it.
    pub(super) async fn push(&self, built: &[Built], key: &PrivateKey, facts: &origin::Facts) -> Result<Way> {
        let mut way = self.way().await?;
        let references: Vec<_> =
            built.iter().map(|built| format!("{}@{}", way.intent.name, built.entry.digest)).collect();
        // Better known now than after the images have travelled.
        self.known_version(&self.source.lock(&references)?).await?;
        for (number, image) in built.iter().enumerate() {
            let share = share(PUSHING, number, built.len());
            let sent = self.push_one(&mut way, image, self.tag(number), &share).await?;
            let digest = &image.entry.digest;
            self.session.printer().end_progress();
            self.session.printer().note(&match sent {
                0 => format!("{digest} is in the registry already."),
                _ => format!("Pushed {digest} ({}).", units::bytes(image.size)),
            });
            self.report.stage("signing the image", share.end);
            if way.intent.expires_at.unix_seconds() - clock::now().unix_seconds() < MARGIN_SECONDS {
                way = self.way().await?;
            }
            self.sign(&way, digest, key, number, facts).await?;
        }
        Ok(way)
    }

    async fn push_one(
        &self,
        way: &mut Way,
        image: &Built,
        tag: Option<Tag>,
        share: &Range<u8>,
    ) -> Result<usize> {
        let told = |of: Progress| {
            let aside = format!(", {} of {}", units::bytes(of.done), units::bytes(of.total));
            self.report.part("pushing the image", share, of.done, of.total, &aside);
        };
        let mut renewals = 0;
        loop {
            let pushed =
                way.registry.push_layout(&way.repository, &image.layout, &image.entry, tag.as_ref(), &told);
            match pushed.await {
                Ok(pushed) => return Ok(pushed.uploaded),
                // The credential may have ended on the way; what has come through is not sent again.
                Err(ClientError::Unauthorized { .. })
                    if renewals < RENEWALS && clock::now() >= way.intent.expires_at =>
                {
                    renewals += 1;
                    *way = self.way().await?;
                }
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// The label that an image is pushed under: its own, or the version. Two of one name would be one.
    pub(super) fn tag(&self, number: usize) -> Option<Tag> {
        let label = |number: usize| {
            let image = &self.source.images[number];
            let version = self.document.manifest.version.as_str();
            image.tag.clone().unwrap_or_else(|| match &image.variant {
                Some(variant) => format!("{version}-{variant}"),
                None => version.to_owned(),
            })
        };
        let own = label(number);
        let taken = (0..number).any(|other| label(other) == own);
        if taken { None } else { own.parse().ok() }
    }

    /// Once per key, and what says how it was made once too.
    async fn sign(
        &self,
        way: &Way,
        digest: &Digest,
        key: &PrivateKey,
        number: usize,
        facts: &origin::Facts,
    ) -> Result<()> {
        let (random, now) = (SystemRandom::new(), clock::now().to_datetime());
        way.registry.sign(&way.repository, digest, key, now, &random).await?;
        if self.args.no_provenance || !facts.contains_key("commit") {
            return Ok(());
        }
        let own = [TrustedKey::new(key.public().clone())];
        let names = [way.registry.name(&way.repository)?];
        let policy = Policy {
            digest,
            names: &names,
            keys: &own,
            now,
            max_age: None,
            unnamed: Unnamed::Refuse,
            predicate_types: &[SLSA_PROVENANCE_V1],
        };
        let known = way.registry.verify(&way.repository, Purpose::Provenance, &policy).await?;
        if !known.verified.is_empty() {
            return Ok(());
        }
        let manifest = &self.document.manifest;
        let image = &self.source.images[number];
        let predicate = origin::provenance(manifest.slug.as_str(), manifest.version.as_str(), image, facts);
        way.registry.attest(&way.repository, digest, SLSA_PROVENANCE_V1, &predicate, key, &random).await?;
        Ok(())
    }
}
