//! Passwords: argon2id, hashed off the async threads, a few at a time.

use argon2::password_hash::{PasswordHash, PasswordHasher as _, PasswordVerifier as _, SaltString};
use argon2::{Algorithm, Argon2, Params, Version};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use gpuaas_domain::{Error, Result, Secret};

use crate::plane::ControlPlane;

const MIN_CHARACTERS: usize = 12;
const MAX_BYTES: usize = 1024;

/// A hash nobody's password has: checked when the account is unknown, so that both cases take the same time.
const NOBODY: &str =
    "$argon2id$v=19$m=19456,t=2,p=1$bm9ib2R5bm9ib2R5$NFLFRdLlFpgULpYH5sh4Nl4hHQ7WSNCk2EN5OUL0SDE";

fn hasher() -> Argon2<'static> {
    let params = Params::new(19_456, 2, 1, None).expect("these parameters are valid");
    Argon2::new(Algorithm::Argon2id, Version::V0x13, params)
}

pub(crate) fn check_strength(path: &str, password: &Secret<String>) -> Result<()> {
    let characters = password.expose().chars().count();
    if characters < MIN_CHARACTERS || password.expose().len() > MAX_BYTES {
        return Err(Error::field(
            path,
            "weak_password",
            format!("Use a password of {MIN_CHARACTERS} characters or more, at most {MAX_BYTES} bytes."),
        ));
    }
    Ok(())
}

impl ControlPlane {
    /// A password with 132 bits of chance, for people to change.
    pub(crate) fn make_password(&self) -> Secret<String> {
        let bytes = self.entropy.bytes32();
        Secret::new(URL_SAFE_NO_PAD.encode(&bytes.expose()[..18])[..22].to_owned())
    }

    pub(crate) async fn hash_password(&self, password: &Secret<String>) -> Result<String> {
        let _turn = self.hashing.acquire().await.map_err(|_| Error::internal("hashing was closed"))?;
        let salt = SaltString::encode_b64(&self.entropy.bytes16())
            .map_err(|error| Error::internal(error.to_string()))?;
        let password = Secret::new(password.expose().clone());
        tokio::task::spawn_blocking(move || {
            hasher()
                .hash_password(password.expose().as_bytes(), &salt)
                .map(|hash| hash.to_string())
                .map_err(|error| Error::internal(format!("hashing a password: {error}")))
        })
        .await
        .map_err(|error| Error::internal(error.to_string()))?
    }

    /// Whether the password fits; takes as long when there is no hash to compare with.
    pub(crate) async fn password_fits(
        &self,
        password: &Secret<String>,
        hash: Option<String>,
    ) -> Result<bool> {
        if password.expose().len() > MAX_BYTES {
            return Ok(false);
        }
        let _turn = self.hashing.acquire().await.map_err(|_| Error::internal("hashing was closed"))?;
        let known = hash.is_some();
        let hash = hash.unwrap_or_else(|| NOBODY.to_owned());
        let password = Secret::new(password.expose().clone());
        let fits = tokio::task::spawn_blocking(move || {
            let parsed = PasswordHash::new(&hash)
                .map_err(|error| Error::internal(format!("a stored hash: {error}")))?;
            Ok::<_, Error>(hasher().verify_password(password.expose().as_bytes(), &parsed).is_ok())
        })
        .await
        .map_err(|error| Error::internal(error.to_string()))??;
        Ok(fits && known)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hash_of_nobody_is_well_formed() {
        assert!(PasswordHash::new(NOBODY).is_ok());
    }
}
