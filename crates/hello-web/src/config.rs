//! What the environment says. Read once, here alone.

use std::collections::BTreeMap;

const DEFAULT_PORT: u16 = 8080;
const DEFAULT_METER_SECONDS: u64 = 60;
/// Parts of a name that promise a secret behind it.
const SECRET_WORDS: [&str; 9] =
    ["TOKEN", "SECRET", "PASSWORD", "PASSWD", "KEY", "CREDENTIAL", "AUTH", "COOKIE", "PRIVATE"];

pub(crate) struct Config {
    pub(crate) port: u16,
    /// `GPUAAS_INSTANCE_ID`.
    pub(crate) instance_id: Option<String>,
    /// `GPUAAS_GPUS_SIMULATED` is set to something.
    pub(crate) gpus_simulated: bool,
    /// `GPUAAS_BASE_URL`: where heartbeats go.
    pub(crate) base_url: Option<String>,
    /// `GPUAAS_SA_KEY_FILE`: who the instance is, for calls of its own.
    pub(crate) key_file: Option<String>,
    /// `METER_SECONDS`: how often it tells how long it ran.
    pub(crate) meter_seconds: u64,
    /// What `/env.json` shows: every `GPUAAS_*` variable whose name promises no secret.
    pub(crate) shown: BTreeMap<String, String>,
}

impl Config {
    #[expect(clippy::disallowed_methods, reason = "this module is where the environment is read")]
    pub(crate) fn from_environment() -> Result<Self, String> {
        Self::from_pairs(
            std::env::vars_os()
                .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?))),
        )
    }

    fn from_pairs(pairs: impl IntoIterator<Item = (String, String)>) -> Result<Self, String> {
        let set: BTreeMap<String, String> =
            pairs.into_iter().filter(|(_, value)| !value.is_empty()).collect();
        let port = match set.get("PORT") {
            Some(text) => {
                text.parse().map_err(|_| format!("PORT must be a number up to 65535, not {text:?}"))?
            }
            None => DEFAULT_PORT,
        };
        let meter_seconds = match set.get("METER_SECONDS") {
            Some(text) => text
                .parse()
                .ok()
                .filter(|seconds| (1..=3600).contains(seconds))
                .ok_or_else(|| format!("METER_SECONDS must be a number from 1 to 3600, not {text:?}"))?,
            None => DEFAULT_METER_SECONDS,
        };
        let simulated = set.get("GPUAAS_GPUS_SIMULATED");
        Ok(Self {
            port,
            instance_id: set.get("GPUAAS_INSTANCE_ID").cloned(),
            gpus_simulated: simulated.is_some_and(|value| !matches!(value.as_str(), "0" | "false")),
            base_url: set.get("GPUAAS_BASE_URL").cloned(),
            key_file: set.get("GPUAAS_SA_KEY_FILE").cloned(),
            meter_seconds,
            shown: set.into_iter().filter(|(name, _)| may_be_shown(name)).collect(),
        })
    }
}

fn may_be_shown(name: &str) -> bool {
    name.starts_with("GPUAAS_") && !SECRET_WORDS.iter().any(|word| name.to_ascii_uppercase().contains(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(pairs: &[(&str, &str)]) -> Result<Config, String> {
        Config::from_pairs(pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())))
    }

    #[test]
    fn defaults_hold_where_nothing_is_set() {
        let config = config(&[("PORT", ""), ("GPUAAS_INSTANCE_ID", "")]).unwrap();
        assert_eq!((config.port, config.instance_id, config.gpus_simulated), (8080, None, false));
        assert!(config.shown.is_empty());
    }

    #[test]
    fn a_port_that_is_none_is_refused() {
        for text in ["x", "65536", "-1", "80 80"] {
            assert!(self::config(&[("PORT", text)]).is_err(), "{text}");
        }
        assert_eq!(config(&[("PORT", "9000")]).unwrap().port, 9000);
        for text in ["x", "0", "3601"] {
            assert!(self::config(&[("METER_SECONDS", text)]).is_err(), "{text}");
        }
    }

    #[test]
    fn only_our_names_without_a_promise_of_secrets_are_shown() {
        let config = config(&[
            ("GPUAAS_INSTANCE_ID", "i-1"),
            ("GPUAAS_GPUS_SIMULATED", "1"),
            ("GPUAAS_APP_TOKEN", "t"),
            ("GPUAAS_API_KEY", "k"),
            ("GPUAAS_CLIENT_SECRET", "s"),
            ("GPUAAS_DB_PASSWORD", "p"),
            ("GPUAAS_x_token", "t"),
            ("HOME", "/root"),
            ("AWS_SECRET_ACCESS_KEY", "a"),
        ])
        .unwrap();
        assert_eq!(config.shown.keys().collect::<Vec<_>>(), ["GPUAAS_GPUS_SIMULATED", "GPUAAS_INSTANCE_ID"]);
        assert!(config.gpus_simulated);
        assert!(!self::config(&[("GPUAAS_GPUS_SIMULATED", "false")]).unwrap().gpus_simulated);
    }
}
