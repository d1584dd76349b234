//! Reading the configuration.

use std::path::Path;

use gpuaas_domain::Result;
use gpuaas_program::config::{self, Settings};

use super::Config;

impl Settings for Config {
    const PREFIX: &'static str = "GPUAAS__";
    const PROGRAM: &'static str = "gpuaas-server";

    fn validate(&self) -> Result<()> {
        self.check()
    }
}

/// Reads `file` (if given) and the process's environment.
pub fn load(file: Option<&Path>) -> Result<Config> {
    config::load(file)
}

/// Where a test told this process to break.
pub fn faults() -> gpuaas_faults::Faults {
    config::faults("GPUAAS_FAULT")
}

/// The same from text and pairs, for tests.
pub fn from_parts(text: &str, environment: impl IntoIterator<Item = (String, String)>) -> Result<Config> {
    config::from_parts(text, environment)
}

#[cfg(test)]
mod tests {
    use gpuaas_domain::Error;

    use super::*;

    fn parse(text: &str, environment: &[(&str, &str)]) -> Result<Config> {
        from_parts(text, environment.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())))
    }

    fn refusal(text: &str, environment: &[(&str, &str)]) -> Error {
        parse(text, environment).err().expect("this configuration is wrong")
    }

    #[test]
    fn the_environment_overrides_the_file() {
        let config = parse(
            "[http]\nlisten = \"127.0.0.1:1\"\n[auth]\nsession_ttl_seconds = 600",
            &[("GPUAAS__HTTP__LISTEN", "127.0.0.1:2"), ("GPUAAS__DATABASE__AUTO_MIGRATE", "false")],
        )
        .unwrap();
        assert_eq!(config.http.listen.port(), 2);
        assert_eq!(config.auth.session_ttl_seconds, 600);
        assert!(!config.database.auto_migrate);
    }

    #[test]
    fn an_unknown_key_is_refused_with_the_nearest_name() {
        let error = refusal("[http]\nlisen = \"127.0.0.1:1\"", &[]);
        assert_eq!(error.field_errors()[0].path, "/http/lisen");
        assert!(error.field_errors()[0].message.contains("http.listen"), "{error}");
        assert_eq!(refusal("", &[("GPUAAS__HTP__LISTEN", "x")]).field_errors()[0].code, "unknown_key");
    }

    #[test]
    fn wrong_values_say_where_and_why() {
        assert_eq!(refusal("[http]\nlisten = 5", &[]).field_errors()[0].path, "/http/listen");
        assert_eq!(
            refusal("[auth]\nservice_account_token_ttl_seconds = 901", &[]).field_errors()[0].path,
            "/auth/service_account_token_ttl_seconds"
        );
        assert_eq!(
            refusal("[http]\nlisten = \"0.0.0.0:80\"", &[]).field_errors()[0].code,
            "plain_http_beyond_loopback"
        );
        assert_eq!(
            refusal("[agents]\npublic_url = \"http://plain.example\"", &[]).field_errors()[0].path,
            "/agents/public_url"
        );
        assert_eq!(
            refusal("[agents]\ncertificate_file = \"c.pem\"", &[]).field_errors()[0].path,
            "/agents/key_file"
        );
        assert_eq!(refusal("= 5", &[]).code(), "config_invalid");
    }
}
