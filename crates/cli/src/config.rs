//! The environment and the context file: the only place where either is read.
//!
//! A context is one platform with the credential for it. Its token is used with its own URL and no other: naming
//! another URL by flag or variable never sends the token there.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use gpuaas_domain::ids::PersonalTokenId;
use gpuaas_domain::{Secret, Timestamp};
use serde::{Deserialize, Serialize};

use crate::failure::{Exit, Failure, Result};
use crate::files;

/// What the environment says.
#[derive(Default)]
pub(crate) struct Environment {
    pub(crate) url: Option<String>,
    pub(crate) token: Option<Secret<String>>,
    pub(crate) context: Option<String>,
    pub(crate) config: Option<PathBuf>,
    pub(crate) ca_file: Option<PathBuf>,
    pub(crate) xdg_config_home: Option<PathBuf>,
    pub(crate) home: Option<PathBuf>,
    pub(crate) no_color: bool,
}

impl Environment {
    #[expect(clippy::disallowed_methods, reason = "this module is where the environment is read")]
    pub(crate) fn read() -> Self {
        let text = |name| std::env::var(name).ok().filter(|value: &String| !value.is_empty());
        let path = |name| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        Self {
            url: text("GPUAAS_URL"),
            token: text("GPUAAS_TOKEN").map(Secret::new),
            context: text("GPUAAS_CONTEXT"),
            config: path("GPUAAS_CONFIG"),
            ca_file: path("GPUAAS_CA_FILE"),
            xdg_config_home: path("XDG_CONFIG_HOME"),
            home: path("HOME"),
            no_color: text("NO_COLOR").is_some(),
        }
    }

    pub(crate) fn config_path(&self) -> Result<PathBuf> {
        if let Some(path) = &self.config {
            return Ok(path.clone());
        }
        let folder =
            self.xdg_config_home.clone().or_else(|| self.home.as_ref().map(|home| home.join(".config")));
        folder.map(|folder| folder.join("gpuaas").join("config.toml")).ok_or_else(|| {
            Failure::usage("there is no home folder to keep the context file in")
                .fix("set GPUAAS_CONFIG to a path")
        })
    }
}

#[derive(Default, Serialize, Deserialize)]
pub(crate) struct Config {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) current: Option<String>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) contexts: BTreeMap<String, Context>,
}

/// One platform and who we are there. Neither printable nor comparable as a whole, because it holds a token.
#[derive(Clone, Default, Serialize, Deserialize)]
pub(crate) struct Context {
    pub(crate) url: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) email: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) token: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) token_id: Option<PersonalTokenId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) expires_at: Option<Timestamp>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) ca_file: Option<PathBuf>,
    /// Defaults for `--tenant` and `--project`, id or slug.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) tenant: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) project: Option<String>,
}

impl Config {
    /// A missing file is an empty one.
    pub(crate) fn load(path: &Path) -> Result<Self> {
        let text = match std::fs::read_to_string(path) {
            Ok(text) => text,
            Err(source) if source.kind() == std::io::ErrorKind::NotFound => return Ok(Self::default()),
            Err(source) => return Err(Failure::file("read", path, &source)),
        };
        toml::from_str(&text).map_err(|source| {
            // The parser's own message quotes the line, which may be the one with the token.
            let line = source.span().map_or(0, |span| text[..span.start.min(text.len())].lines().count());
            Failure::usage(format!(
                "{} is not a context file: line {line}: {}",
                path.display(),
                source.message()
            ))
            .fix("mend the line, or remove the file and sign in again")
        })
    }

    pub(crate) fn save(&self, path: &Path) -> Result<()> {
        let text = toml::to_string(self).map_err(|source| {
            Failure::new(Exit::Trouble, "config", format!("the contexts cannot be written: {source}"))
        })?;
        files::replace_private(path, text.as_bytes())
    }

    /// The context called `name`, or the current one; none is fine unless one was named.
    pub(crate) fn find(&self, name: Option<&str>) -> Result<Option<(&str, &Context)>> {
        let Some(wanted) = name.or(self.current.as_deref()) else { return Ok(None) };
        match self.contexts.get_key_value(wanted) {
            Some((name, context)) => Ok(Some((name, context))),
            None if name.is_none() => Ok(None),
            None => Err(self.unknown(wanted)),
        }
    }

    pub(crate) fn get_mut(&mut self, name: &str) -> Result<&mut Context> {
        if !self.contexts.contains_key(name) {
            return Err(self.unknown(name));
        }
        Ok(self.contexts.entry(name.to_owned()).or_default())
    }

    pub(crate) fn unknown(&self, name: &str) -> Failure {
        let near = gpuaas_domain::text::nearest(name, self.contexts.keys().map(String::as_str));
        let fix = near.map_or_else(
            || "`gpuaas context list` shows the ones there are; `gpuaas login` makes one".to_owned(),
            |near| format!("did you mean {near:?}?"),
        );
        Failure::new(Exit::NotFound, "no_such_context", format!("there is no context {name:?}")).fix(fix)
    }
}

/// Whether two URLs name the same platform. Compared as written but for case and a last slash; anything else that
/// might be the same is treated as different, which only means signing in again.
pub(crate) fn same_platform(one: &str, other: &str) -> bool {
    let plain = |url: &str| url.trim_end_matches('/').to_ascii_lowercase();
    plain(one) == plain(other)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    fn sample() -> Config {
        let context = Context {
            url: "https://gpu.example.org".into(),
            email: Some("ada@example.org".into()),
            token: Some("t0p".into()),
            token_id: Some(PersonalTokenId::new(uuid::Uuid::from_u128(7))),
            expires_at: Timestamp::from_unix_seconds(1_800_000_000),
            ca_file: Some("ca.pem".into()),
            tenant: Some("acme".into()),
            project: None,
        };
        Config { current: Some("default".into()), contexts: BTreeMap::from([("default".into(), context)]) }
    }

    #[test]
    fn contexts_survive_a_round_trip_and_are_private() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("deep").join("config.toml");
        sample().save(&path).unwrap();
        sample().save(&path).unwrap();
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        assert!(!files::is_exposed(&path));
        let again = Config::load(&path).unwrap();
        assert_eq!(toml::to_string(&again).unwrap(), toml::to_string(&sample()).unwrap());
        assert_eq!(std::fs::read_dir(path.parent().unwrap()).unwrap().count(), 1, "no draft is left behind");
    }

    #[test]
    fn a_missing_file_is_empty_and_a_broken_one_does_not_show_its_content() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("config.toml");
        assert!(Config::load(&path).unwrap().contexts.is_empty());
        std::fs::write(&path, "[contexts.x]\nurl = \"u\"\ntoken = hunter2\n").unwrap();
        let failure = Config::load(&path).err().unwrap();
        assert!(!format!("{failure:?}").contains("hunter2"), "{failure:?}");
    }

    #[test]
    fn the_path_follows_the_environment() {
        let mut env = Environment { home: Some("/h".into()), ..Environment::default() };
        assert_eq!(env.config_path().unwrap(), Path::new("/h/.config/gpuaas/config.toml"));
        env.xdg_config_home = Some("/x".into());
        assert_eq!(env.config_path().unwrap(), Path::new("/x/gpuaas/config.toml"));
        env.config = Some("/c.toml".into());
        assert_eq!(env.config_path().unwrap(), Path::new("/c.toml"));
        assert!(Environment::default().config_path().is_err());
    }

    #[test]
    fn an_unknown_context_is_refused_only_if_it_was_named() {
        assert!(Config::default().find(None).unwrap().is_none());
        let failure = sample().find(Some("defualt")).err().unwrap();
        assert_eq!(failure.hint().unwrap(), "did you mean \"default\"?");
    }
}
