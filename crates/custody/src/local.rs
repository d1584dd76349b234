//! Sealing under the master key file.

use std::path::{Path, PathBuf};
use std::sync::{Arc, RwLock};

use gpuaas_domain::{Error, Kind, Result, Secret};
use ring::aead::{AES_256_GCM, Aad, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use ring::hkdf;

use crate::{Answer, Entropy, Keyring, Place, Sealed, SecretClass, SecretStore};

const VERSION: u8 = 1;
const TAG: usize = 16;
const WRAPPED: usize = 32 + TAG;

pub struct LocalCustody {
    path: PathBuf,
    keyring: RwLock<Keyring>,
    entropy: Arc<dyn Entropy>,
}

/// Held by whoever makes, turns over or saves the master key: one at a time, between processes too. The operating
/// system gives it back when its holder dies.
pub struct KeyFileLock(#[expect(dead_code, reason = "held, not read")] std::fs::File);

impl KeyFileLock {
    pub fn take(key_file: &Path) -> Result<Self> {
        let path = key_file.with_extension("lock");
        let failed = |error: std::io::Error| Error::internal(format!("locking {}: {error}", path.display()));
        let file = std::fs::OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(false)
            .open(&path)
            .map_err(failed)?;
        file.lock().map_err(failed)?;
        Ok(Self(file))
    }
}

impl LocalCustody {
    /// Loads the master key, or makes one at the very first start. Of several first starts one makes it.
    pub fn open_or_create(path: &Path, entropy: Arc<dyn Entropy>) -> Result<Self> {
        if !path.exists() {
            let _turn = KeyFileLock::take(path)?;
            if !path.exists() {
                Keyring::generate(&*entropy).save(path)?;
            }
        }
        let keyring = Keyring::load(path)?;
        Ok(Self { path: path.to_owned(), keyring: RwLock::new(keyring), entropy })
    }

    /// The right to change the key file, or to rely on its staying as it is.
    pub fn lock(&self) -> Result<KeyFileLock> {
        KeyFileLock::take(&self.path)
    }

    /// Changes the key file and what is in memory together.
    pub fn update(&self, change: impl FnOnce(&mut Keyring, &dyn Entropy)) -> Result<()> {
        let mut keyring = self.keyring.write().expect("no holder of the keyring panics");
        let mut fresh = Keyring::load(&self.path)?;
        change(&mut fresh, &*self.entropy);
        fresh.save(&self.path)?;
        *keyring = fresh;
        Ok(())
    }

    fn class_key(&self, kek_id: &str, class: SecretClass) -> Option<LessSafeKey> {
        let keyring = self.keyring.read().expect("no holder of the keyring panics");
        let master = keyring.key(kek_id)?;
        let prk = hkdf::Salt::new(hkdf::HKDF_SHA256, b"gpuaas custody v1").extract(master);
        let info = [class.name().as_bytes()];
        let key = prk.expand(&info, &AES_256_GCM).ok()?;
        Some(LessSafeKey::new(UnboundKey::from(key)))
    }

    fn nonce(&self) -> [u8; NONCE_LEN] {
        let mut nonce = [0; NONCE_LEN];
        self.entropy.fill(&mut nonce);
        nonce
    }

    fn seal_now(
        &self,
        key_id: &str,
        class: SecretClass,
        place: Place,
        plain: &Secret<Vec<u8>>,
    ) -> Result<Sealed> {
        let kek_id = key_id.to_owned();
        let mut kek = self.class_key(&kek_id, class);
        if kek.is_none() {
            self.refresh()?;
            kek = self.class_key(&kek_id, class);
        }
        let kek = kek.ok_or_else(|| {
            Error::new(
                Kind::Unavailable,
                "master_key_changing",
                "The master key is being turned over; try again.",
            )
            .with_internal(format!("the key file has no {kek_id}"))
        })?;
        let data_key = self.entropy.bytes32();
        let context = context(class, place);
        let (wrap_nonce, value_nonce) = (self.nonce(), self.nonce());

        let mut wrapped = data_key.expose().to_vec();
        let failed = |_| Error::internal("sealing failed");
        kek.seal_in_place_append_tag(
            Nonce::assume_unique_for_key(wrap_nonce),
            Aad::from(&context),
            &mut wrapped,
        )
        .map_err(failed)?;
        let mut value = plain.expose().clone();
        data_cipher(&data_key)?
            .seal_in_place_append_tag(
                Nonce::assume_unique_for_key(value_nonce),
                Aad::from(&context),
                &mut value,
            )
            .map_err(failed)?;

        let bytes = [&[VERSION], wrap_nonce.as_slice(), &wrapped, &value_nonce, &value].concat();
        Ok(Sealed { kek_id, bytes })
    }

    fn open_now(&self, class: SecretClass, place: Place, sealed: &Sealed) -> Result<Secret<Vec<u8>>> {
        let mut kek = self.class_key(&sealed.kek_id, class);
        if kek.is_none() {
            self.refresh()?;
            kek = self.class_key(&sealed.kek_id, class);
        }
        let kek = kek.ok_or_else(|| cannot_open("its master key is not here"))?;
        let context = context(class, place);
        let rest = sealed.bytes.strip_prefix(&[VERSION]).ok_or_else(|| cannot_open("unknown format"))?;
        let (wrap_nonce, rest) = rest.split_at_checked(NONCE_LEN).ok_or_else(|| cannot_open("too short"))?;
        let (wrapped, rest) = rest.split_at_checked(WRAPPED).ok_or_else(|| cannot_open("too short"))?;
        let (value_nonce, value) =
            rest.split_at_checked(NONCE_LEN).ok_or_else(|| cannot_open("too short"))?;

        let mut wrapped = Secret::new(wrapped.to_vec());
        let data_key = open_with(&kek, wrap_nonce, &context, &mut wrapped)?;
        let data_key: [u8; 32] = data_key.try_into().map_err(|_| cannot_open("bad data key"))?;
        let mut value = Secret::new(value.to_vec());
        let plain = open_with(&data_cipher(&Secret::new(data_key))?, value_nonce, &context, &mut value)?;
        Ok(Secret::new(plain))
    }
}

fn open_with(
    key: &LessSafeKey,
    nonce: &[u8],
    context: &[u8],
    sealed: &mut Secret<Vec<u8>>,
) -> Result<Vec<u8>> {
    let nonce = Nonce::try_assume_unique_for_key(nonce).map_err(|_| cannot_open("bad nonce"))?;
    let mut bytes = sealed.expose().clone();
    let plain = key
        .open_in_place(nonce, Aad::from(context), &mut bytes)
        .map_err(|_| cannot_open("it was changed, moved, or sealed for another class"))?;
    Ok(plain.to_vec())
}

fn data_cipher(key: &Secret<[u8; 32]>) -> Result<LessSafeKey> {
    let key =
        UnboundKey::new(&AES_256_GCM, key.expose()).map_err(|_| Error::internal("a data key is 32 bytes"))?;
    Ok(LessSafeKey::new(key))
}

/// Everything a sealed value is bound to, unambiguously.
fn context(class: SecretClass, place: Place) -> Vec<u8> {
    let mut bytes = Vec::new();
    for part in
        [class.name().as_bytes(), place.table.as_bytes(), place.column.as_bytes(), place.row.as_bytes()]
    {
        bytes.extend_from_slice(&(part.len() as u64).to_be_bytes());
        bytes.extend_from_slice(part);
    }
    match place.tenant {
        None => bytes.push(0),
        Some(tenant) => {
            bytes.push(1);
            bytes.extend_from_slice(tenant.as_bytes());
        }
    }
    bytes
}

fn cannot_open(why: &str) -> Error {
    Error::internal(format!("a sealed value cannot be opened: {why}"))
}

impl SecretStore for LocalCustody {
    fn current_key(&self) -> String {
        self.keyring.read().expect("no holder of the keyring panics").current().to_owned()
    }

    fn seal<'a>(
        &'a self,
        key_id: &'a str,
        class: SecretClass,
        place: Place,
        plain: &'a Secret<Vec<u8>>,
    ) -> Answer<'a, Sealed> {
        Box::pin(async move { self.seal_now(key_id, class, place, plain) })
    }

    fn open<'a>(
        &'a self,
        class: SecretClass,
        place: Place,
        sealed: &'a Sealed,
    ) -> Answer<'a, Secret<Vec<u8>>> {
        Box::pin(async move { self.open_now(class, place, sealed) })
    }

    fn refresh(&self) -> Result<()> {
        let fresh = Keyring::load(&self.path)?;
        *self.keyring.write().expect("no holder of the keyring panics") = fresh;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use uuid::Uuid;

    use super::*;
    use crate::SystemEntropy;

    struct Bench {
        _folder: tempfile::TempDir,
        path: PathBuf,
        custody: LocalCustody,
    }

    fn bench() -> Bench {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("master-key.json");
        let custody = LocalCustody::open_or_create(&path, Arc::new(SystemEntropy::new())).unwrap();
        Bench { _folder: folder, path, custody }
    }

    fn place(row: u128) -> Place {
        Place {
            table: "secrets",
            column: "sealed",
            row: Uuid::from_u128(row),
            tenant: Some(Uuid::from_u128(9)),
        }
    }

    fn secret() -> Secret<Vec<u8>> {
        Secret::new(b"a model token".to_vec())
    }

    fn seal(b: &Bench, class: SecretClass, place: Place, plain: &Secret<Vec<u8>>) -> Result<Sealed> {
        b.custody.seal_now(&b.custody.current_key(), class, place, plain)
    }

    /// K04: a sealed value moved to another row, column, table or tenant does not open.
    #[test]
    fn a_sealed_value_opens_only_in_its_place() {
        let b = bench();
        let sealed = seal(&b, SecretClass::Ci, place(1), &secret()).unwrap();
        let open = |place| b.custody.open_now(SecretClass::Ci, place, &sealed);
        assert_eq!(open(place(1)).unwrap().expose(), secret().expose());
        for moved in [
            place(2),
            Place { table: "wraps", ..place(1) },
            Place { column: "other", ..place(1) },
            Place { tenant: None, ..place(1) },
            Place { tenant: Some(Uuid::from_u128(8)), ..place(1) },
        ] {
            assert!(open(moved).is_err(), "{moved:?}");
        }
    }

    /// L-02: of the four classes, none opens another's values.
    #[test]
    fn one_class_cannot_open_another() {
        let b = bench();
        for sealed_for in SecretClass::ALL {
            let sealed = seal(&b, sealed_for, place(1), &secret()).unwrap();
            for opened_for in SecretClass::ALL {
                let opened = b.custody.open_now(opened_for, place(1), &sealed);
                assert_eq!(opened.is_ok(), sealed_for == opened_for, "{sealed_for:?} {opened_for:?}");
            }
        }
    }

    #[test]
    fn any_flipped_bit_is_noticed() {
        let b = bench();
        let sealed = seal(&b, SecretClass::Operator, place(1), &secret()).unwrap();
        for index in 0..sealed.bytes.len() {
            let mut bytes = sealed.bytes.clone();
            bytes[index] ^= 1;
            let changed = Sealed { bytes, ..sealed.clone() };
            assert!(b.custody.open_now(SecretClass::Operator, place(1), &changed).is_err(), "byte {index}");
        }
        for length in 0..sealed.bytes.len() {
            let cut = Sealed { bytes: sealed.bytes[..length].to_vec(), ..sealed.clone() };
            assert!(b.custody.open_now(SecretClass::Operator, place(1), &cut).is_err());
        }
    }

    /// K03: after rotation old values open until their key is retired, and never after.
    #[test]
    fn a_retired_key_opens_nothing() {
        let b = bench();
        let old = seal(&b, SecretClass::Ci, place(1), &secret()).unwrap();
        b.custody.update(Keyring::add_key).unwrap();
        assert!(b.custody.open_now(SecretClass::Ci, place(1), &old).is_ok());
        let new = seal(&b, SecretClass::Ci, place(1), &secret()).unwrap();
        assert_ne!(old.kek_id, new.kek_id);
        b.custody.update(|keyring, _| keyring.retire_others()).unwrap();
        assert!(b.custody.open_now(SecretClass::Ci, place(1), &old).is_err());
        assert!(b.custody.open_now(SecretClass::Ci, place(1), &new).is_ok());
    }

    #[test]
    fn another_process_finds_a_key_added_meanwhile() {
        let b = bench();
        let other = LocalCustody::open_or_create(&b.path, Arc::new(SystemEntropy::new())).unwrap();
        b.custody.update(Keyring::add_key).unwrap();
        let sealed = seal(&b, SecretClass::Ci, place(1), &secret()).unwrap();
        assert!(other.open_now(SecretClass::Ci, place(1), &sealed).is_ok());
    }

    #[test]
    fn the_master_key_is_for_its_owner_alone() {
        let b = bench();
        assert_eq!(std::fs::metadata(&b.path).unwrap().permissions().mode() & 0o777, 0o600);
        std::fs::set_permissions(&b.path, std::fs::Permissions::from_mode(0o640)).unwrap();
        let refused = LocalCustody::open_or_create(&b.path, Arc::new(SystemEntropy::new())).err().unwrap();
        assert_eq!(refused.code(), "master_key_exposed");
    }
}
