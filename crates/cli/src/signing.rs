//! Keys that sign images: made here, kept in private files, one for each platform unless another is named.

use std::path::{Path, PathBuf};

use gpuaas_api::Route;
use gpuaas_api::artifacts::{NewTrustKey, TrustKey};
use gpuaas_domain::ids::ProjectId;
use gpuaas_oci::SecretText;
use gpuaas_oci::sign::{BadKey, PrivateKey, PublicKey};
use ring::rand::SystemRandom;

use crate::app::App;
use crate::failure::{Exit, Failure, Result};
use crate::files::{self, Reserved};
use crate::json::Raw;
use crate::session::{Session, parse};
use crate::{clock, views};

/// Where the key for a platform is kept unless another is named: beside the context file.
pub(crate) fn default_path(app: &App, url: &str) -> Result<PathBuf> {
    let config = app.env.config_path()?;
    let folder = config.parent().map_or_else(PathBuf::new, Path::to_path_buf);
    Ok(folder.join("keys").join(format!("{}.pem", file_name(url))))
}

/// A platform's address as the name of a file.
fn file_name(url: &str) -> String {
    let url = url.trim_end_matches('/').to_ascii_lowercase();
    let place = url.split_once("://").map_or(url.as_str(), |(_, place)| place);
    place.chars().map(|c| if c.is_ascii_alphanumeric() || c == '.' { c } else { '-' }).collect()
}

/// Refuses a file that others can read: whoever reads it can sign.
pub(crate) fn load(path: &Path) -> Result<PrivateKey> {
    let pem = SecretText::new(files::read_text(path)?);
    if files::is_exposed(path) {
        let message = format!("{} can be read by others, so its key is not used", path.display());
        let fix = format!(
            "chmod 600 {0}; if others may have read it, revoke the key and make another",
            path.display()
        );
        return Err(Failure::new(Exit::Usage, "key_file_exposed", message).fix(fix));
    }
    PrivateKey::from_pem(&pem).map_err(|why| {
        let message = format!("{}: {why}", path.display());
        let failure = Failure::new(Exit::Usage, "not_a_signing_key", message);
        match why {
            BadKey::Encrypted => failure.fix(
                "keys with a password, such as cosign's, are used with their own program: push, sign with `cosign sign \
                 --key FILE`, then run `gpuaas artifact register`",
            ),
            _ => failure.fix("make one with `gpuaas key generate --out FILE`"),
        }
    })
}

pub(crate) fn load_public(path: &Path) -> Result<PublicKey> {
    PublicKey::from_pem(&files::read_text(path)?)
        .map_err(|why| Failure::new(Exit::Usage, "not_a_public_key", format!("{}: {why}", path.display())))
}

/// A new key in a file of its own, its public half beside it.
pub(crate) fn create(path: &Path) -> Result<PrivateKey> {
    if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        files::create_private_folder(folder)?;
    }
    let place = Reserved::new(path)?;
    let key = PrivateKey::generate(&SystemRandom::new()).ok_or_else(|| {
        Failure::new(Exit::Trouble, "no_entropy", "the operating system gave no random bytes")
    })?;
    place.fill(key.to_pem().expose().as_bytes())?;
    let public = public_path(path);
    std::fs::write(&public, key.public().to_pem())
        .map_err(|source| Failure::file("write", &public, &source))?;
    Ok(key)
}

/// `key.pem` and `key.pub`.
pub(crate) fn public_path(path: &Path) -> PathBuf {
    path.with_extension("pub")
}

/// What a key is called unless its owner says otherwise.
pub(crate) fn name_of(key: &PublicKey) -> String {
    format!("key-{}", &key.id().digest().hex()[..12])
}

/// Whether a key on record is this one. Records may or may not spell the algorithm.
pub(crate) fn is_same(record: &TrustKey, key: &PublicKey) -> bool {
    let hex = record.fingerprint.strip_prefix("sha256:").unwrap_or(&record.fingerprint);
    hex.eq_ignore_ascii_case(key.id().digest().hex())
}

/// How a key stands with a project.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Standing {
    Unknown,
    Good,
    /// It will never count again, and why.
    Over(String),
}

/// One revocation is enough, however often the key is on record.
pub(crate) fn standing(records: &[TrustKey], key: &PublicKey, now: gpuaas_domain::Timestamp) -> Standing {
    let mut standing = Standing::Unknown;
    for record in records.iter().filter(|record| is_same(record, key)) {
        match (record.revoked_at, record.valid_until) {
            (Some(at), _) => {
                let why = record.revoked_reason.as_ref().map_or_else(String::new, |why| format!(": {why}"));
                return Standing::Over(format!("it was revoked on {}{why}", views::short(at)));
            }
            (None, Some(end)) if end <= now && standing == Standing::Unknown => {
                standing = Standing::Over(format!("it was good until {}", views::short(end)));
            }
            (None, end) if end.is_none_or(|end| now < end) => standing = Standing::Good,
            (None, _) => {}
        }
    }
    standing
}

/// Makes sure that the project takes this key's signatures. True if it had to be added.
pub(crate) async fn ensure_registered(
    session: &Session<'_>,
    project: ProjectId,
    key: &PublicKey,
    public_file: &Path,
) -> Result<bool> {
    let records: Vec<TrustKey> = session.list_all(Route::TrustKeyList, &[&project]).await?;
    match standing(&records, key, clock::now()) {
        Standing::Good => return Ok(false),
        Standing::Over(why) => {
            return Err(Failure::new(
                Exit::Conflict,
                "signing_key_over",
                format!("the signing key {} cannot be used: {why}", key.id()),
            )
            .fix("make another with `gpuaas key generate --out FILE` and pass it with --key"));
        }
        Standing::Unknown => {}
    }
    let body = NewTrustKey { name: name_of(key), public_key: key.to_pem(), valid_until: None };
    match session.write(Route::TrustKeyAdd, &[&project], &body).await {
        Ok(raw) => parse::<TrustKey>(&raw).map(|_| true),
        Err(failure) if failure.is_forbidden() => Err(Failure::new(
            Exit::Forbidden,
            "signing_key_unknown",
            format!("the project does not know the signing key {}, and you may not add it", key.id()),
        )
        .fix(format!(
            "a project admin runs `gpuaas key add {} --public {}`",
            name_of(key),
            public_file.display()
        ))),
        Err(failure) => Err(failure),
    }
}

/// Adds a key for a project, or for the whole platform.
pub(crate) async fn add(
    session: &Session<'_>,
    project: Option<ProjectId>,
    body: &NewTrustKey,
) -> Result<Raw> {
    match project {
        Some(project) => session.write(Route::TrustKeyAdd, &[&project], body).await,
        None => session.write(Route::PlatformTrustKeyAdd, &[], body).await,
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use serde_json::json;

    use super::*;
    use crate::tests::samples;

    #[test]
    fn a_key_is_private_survives_and_is_never_overwritten() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("keys").join("a.pem");
        let key = create(&path).unwrap();
        let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(&path), 0o600);
        assert_eq!(load(&path).unwrap().public(), key.public());
        assert_eq!(load_public(&public_path(&path)).unwrap(), *key.public());
        assert_eq!(create(&path).err().unwrap().exit_code(), 2);
        assert_eq!(load(&path).unwrap().public(), key.public());
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o644)).unwrap();
        assert!(load(&path).err().unwrap().hint().unwrap().starts_with("chmod 600 "));
    }

    #[test]
    fn a_key_of_cosigns_is_sent_to_cosign() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("cosign.key");
        let pem = "-----BEGIN ENCRYPTED SIGSTORE PRIVATE KEY-----\neA==\n-----END ENCRYPTED SIGSTORE PRIVATE KEY-----\n";
        files::replace_private(&path, pem.as_bytes()).unwrap();
        assert!(load(&path).err().unwrap().hint().unwrap().contains("cosign sign"));
    }

    #[test]
    fn a_platform_has_a_file_of_its_own() {
        assert_eq!(file_name("https://GPU.example.org:8443/"), "gpu.example.org-8443");
        assert_eq!(file_name("http://localhost:8080/a/../b"), "localhost-8080-a-..-b");
    }

    #[test]
    fn a_key_counts_while_the_project_says_so() {
        let folder = tempfile::tempdir().unwrap();
        let key = create(&folder.path().join("a.pem")).unwrap();
        let now = clock::now();
        let record = |more: serde_json::Value| -> TrustKey {
            let mut value = samples::trust_key();
            value["fingerprint"] = json!(key.public().id().to_string());
            value.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            serde_json::from_value(value).unwrap()
        };
        let stranger: TrustKey = serde_json::from_value(samples::trust_key()).unwrap();
        let judged = |records: &[TrustKey]| standing(records, key.public(), now);
        assert_eq!(judged(&[stranger]), Standing::Unknown);
        assert_eq!(judged(&[record(json!({}))]), Standing::Good);
        let ended = record(json!({"valid_until": "2020-01-01T00:00:00Z"}));
        assert!(matches!(judged(&[ended]), Standing::Over(_)));
        let revoked = record(json!({"revoked_at": "2020-01-01T00:00:00Z", "revoked_reason": "lost"}));
        let Standing::Over(why) = judged(&[record(json!({})), revoked]) else {
            panic!("revoked once is enough")
        };
        assert!(why.ends_with(": lost"), "{why}");
    }
}
