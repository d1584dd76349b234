//! Moving, saving and bringing back a whole platform.

use std::io::{BufRead as _, BufReader};
use std::path::Path;

use gpuaas_control_plane::{Clock as _, SystemClock};
use gpuaas_custody::{KeyFileLock, Keyring, SystemEntropy};
use gpuaas_domain::{Error, Result, Secret};
use gpuaas_store::transfer::Fingerprints;
use serde_json::json;

use super::private_file::{PrivateFile, write_private};
use super::{print, say};
use crate::config::Config;
use crate::roles;

fn report(prints: &Fingerprints) {
    for (table, print) in prints {
        say(&format!("  {table:<22} {:>10} rows  {}", print.rows, &print.sha256[..16]));
    }
}

pub(super) async fn export(config: &Config, file: &Path) -> Result<()> {
    let store = roles::connect(config).await?;
    check_current(&store).await?;
    let mut out = PrivateFile::create(file)?;
    let prints = store.export(&mut out.out).await?;
    out.finish()?;
    report(&prints);
    print(&format!("Exported to {}. The master key is not in it; `backup create` has both.", file.display()));
    Ok(())
}

async fn check_current(store: &gpuaas_store::Store) -> Result<()> {
    match store.schema_state().await? {
        gpuaas_store::SchemaState::Current => Ok(()),
        gpuaas_store::SchemaState::Behind => Err(Error::conflict(
            "schema_behind",
            "The database schema is older than this program; run gpuaas-server db migrate.",
        )),
        gpuaas_store::SchemaState::Newer => store.migrate().await,
    }
}

fn open_file(file: &Path) -> Result<BufReader<std::fs::File>> {
    let file = std::fs::File::open(file).map_err(|error| {
        Error::invalid("file_unreadable", format!("{} cannot be read: {error}.", file.display()))
    })?;
    Ok(BufReader::new(file))
}

pub(super) async fn import(config: &Config, file: &Path) -> Result<()> {
    let mut lines = open_file(file)?;
    let store = roles::connect(config).await?;
    store.migrate().await?;
    let stamp = roles::first_stamp(&SystemClock, &SystemEntropy::new());
    let prints = store.import(&mut lines, stamp, false).await?;
    report(&prints);
    print("Imported; every table's count and hash is equal to the export's. Copy the master key file along.");
    Ok(())
}

const BACKUP_FORMAT: &str = "gpuaas-backup/1";

pub(super) async fn backup(config: &Config, file: &Path) -> Result<()> {
    let store = roles::connect(config).await?;
    check_current(&store).await?;
    // No turning over meanwhile: the key in the file must open what the file holds.
    let _turn = KeyFileLock::take(&config.master_key_file())?;
    let key = Keyring::load(&config.master_key_file())?.to_text();
    let mut files = json!({});
    for name in ["ca.pem", "ca-key.pem"] {
        if let Ok(text) = std::fs::read_to_string(config.ca_dir().join(name)) {
            files[name] = json!(text);
        }
    }
    let head = json!({"format": BACKUP_FORMAT, "made_at": SystemClock.now(), "master_key": key.expose(), "ca": files});
    let mut out = PrivateFile::create(file)?;
    out.write(&format!("{head}\n"))?;
    let prints = store.export(&mut out.out).await?;
    out.finish()?;
    report(&prints);
    print(&format!(
        "Saved to {} (it holds the master key: keep it as safe as the platform itself).",
        file.display()
    ));
    Ok(())
}

fn rename(from: &Path, to: &Path) -> Result<()> {
    std::fs::rename(from, to).map_err(|error| {
        Error::invalid("file_unwritable", format!("{} cannot be written: {error}.", to.display()))
    })
}

pub(super) async fn restore(config: &Config, file: &Path) -> Result<()> {
    let refuse =
        |why: &str| Error::invalid("invalid_backup_file", format!("The file is not a backup: {why}."));
    if config.master_key_file().exists() {
        return Err(Error::conflict(
            "data_dir_not_empty",
            "The data folder already has a master key; restore into an empty one.",
        ));
    }
    let mut lines = open_file(file)?;
    let mut head = String::new();
    lines.read_line(&mut head).map_err(|error| refuse(&error.to_string()))?;
    let head: serde_json::Value =
        serde_json::from_str(&head).map_err(|_| refuse("its first line is no JSON"))?;
    if head["format"] != BACKUP_FORMAT {
        return Err(refuse("it has another format"));
    }
    let key = Secret::new(head["master_key"].as_str().unwrap_or_default().to_owned());
    let keyring = Keyring::parse(&key).map_err(|why| refuse(&why))?;
    let store = roles::connect(config).await?;
    store.migrate().await?;
    let stamp = roles::first_stamp(&SystemClock, &SystemEntropy::new());
    // The key is on disk before the rows are: a run that is killed in between is finished by the next one.
    let pending = config.master_key_file().with_extension("restoring");
    if let Some(platform) = store.read().await?.find_platform().await?
        && pending.exists()
        && platform.kek_id == keyring.current()
    {
        rename(&pending, &config.master_key_file())?;
        print("An earlier restore was killed just before its end; it is finished now.");
        return Ok(());
    }
    keyring.save(&pending)?;
    let prints = store.import(&mut lines, stamp, true).await?;
    rename(&pending, &config.master_key_file())?;
    if let Some(files) = head["ca"].as_object().filter(|files| !files.is_empty()) {
        std::fs::create_dir_all(config.ca_dir()).map_err(|error| Error::internal(error.to_string()))?;
        for name in ["ca.pem", "ca-key.pem"] {
            if let Some(text) = files.get(name).and_then(serde_json::Value::as_str) {
                write_private(&config.ca_dir().join(name), text)?;
            }
        }
    }
    report(&prints);
    print(
        "Restored. The platform's era has grown by one, so that nodes adopt what runs instead of ending it.",
    );
    Ok(())
}
