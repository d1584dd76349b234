//! Reading the configuration.

use std::path::Path;

use gpuaas_domain::Result;
use gpuaas_program::config::{self, Settings};

use super::Config;

impl Settings for Config {
    const PREFIX: &'static str = "GPUAAS_AGENT__";
    const PROGRAM: &'static str = "gpuaas-agent";

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
    config::faults("GPUAAS_AGENT_FAULT")
}

/// The same from text and pairs, for tests.
pub fn from_parts(text: &str, environment: impl IntoIterator<Item = (String, String)>) -> Result<Config> {
    config::from_parts(text, environment)
}

#[cfg(test)]
mod tests {
    use gpuaas_domain::Error;
    use gpuaas_program::config::known_keys;

    use super::*;
    use crate::config::RuntimeKind;

    fn parse(text: &str, environment: &[(&str, &str)]) -> Result<Config> {
        from_parts(text, environment.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())))
    }

    fn refusal(text: &str, environment: &[(&str, &str)]) -> Error {
        parse(text, environment).expect_err("this configuration is wrong")
    }

    #[test]
    fn the_environment_overrides_the_file_and_gpus_can_be_declared_in_both() {
        let config = parse(
            "runtime = \"docker\"\n[pull]\nstall_seconds = 5\n[[gpus]]\nvendor = \"nvidia\"\nmodel = \"H100\"\nmemory_mib = 81559\ncount = 2",
            &[("GPUAAS_AGENT__RUNTIME", "simulated"), ("GPUAAS_AGENT__DOCKER__SOCKET", "/x/docker.sock")],
        )
        .unwrap();
        assert_eq!(config.runtime, RuntimeKind::Simulated);
        assert_eq!(config.docker.socket, Path::new("/x/docker.sock"));
        assert_eq!((config.pull.stall_seconds, config.gpus[0].count), (5, 2));
        let gpus = "[{vendor = \"amd\", model = \"MI300X\", memory_mib = 196592}]";
        let config = parse("", &[("GPUAAS_AGENT__GPUS", gpus)]).unwrap();
        assert_eq!((config.gpus[0].model.as_str(), config.gpus[0].count), ("MI300X", 1));
    }

    #[test]
    fn wrong_names_and_values_say_where_and_why() {
        let error = refusal("[docker]\nsoket = \"/x\"", &[]);
        assert_eq!(error.field_errors()[0].path, "/docker/soket");
        assert!(error.field_errors()[0].message.contains("docker.socket"), "{error}");
        assert_eq!(refusal("", &[("GPUAAS_AGENT__LOGG__LEVEL", "x")]).field_errors()[0].code, "unknown_key");
        for (text, path) in [
            ("runtime = \"podman\"", "/runtime"),
            ("[pull]\nstall_seconds = 0", "/pull/stall_seconds"),
            ("[network]\nrange = \"8.8.8.0/24\"", "/network/range"),
            ("[network]\nrange = \"10.213.0.1/16\"", "/network/range"),
            ("[network]\nrange = \"10.213.0.0/30\"", "/network/range"),
            ("[network]\ninstance_api_port = 80", "/network/instance_api_port"),
            ("[storage]\nscratch_dir = \"/a\"\nvolumes_dir = \"/a\"", "/storage/volumes_dir"),
            ("[storage]\nscratch_dir = \"/a/b\"\nvolumes_dir = \"/a\"", "/storage/volumes_dir"),
            ("[storage]\nscratch_dir = \"/a\"\nvolumes_dir = \"/a/b\"", "/storage/volumes_dir"),
            ("[[gpus]]\nvendor = \"nvidia\"\nmodel = \"\"\nmemory_mib = 5", "/gpus/0/model"),
            ("[[gpus]]\nvendor = \"nvidia\"\nmodel = \"x\"\nmemory_mib = 5\ncount = 1000", "/gpus/0/count"),
            ("[[gpus]]\nvendor = \"voodoo\"\nmodel = \"x\"\nmemory_mib = 5", "/gpus/0/vendor"),
        ] {
            assert_eq!(refusal(text, &[]).field_errors()[0].path, path, "{text}");
        }
        assert_eq!(refusal("= 5", &[]).code(), "config_invalid");
    }

    #[test]
    fn what_is_shown_can_be_read_back_and_has_every_setting() {
        let gpus = "[[gpus]]\nvendor = \"amd\"\nmodel = \"MI\\\"300X\"\nmemory_mib = 7";
        let config = parse(gpus, &[]).unwrap();
        let shown = config.show();
        assert_eq!(parse(&shown, &[]).unwrap().show(), shown);
        for key in known_keys::<Config>() {
            let name = key.rsplit('.').next().unwrap();
            let there = shown.contains(&format!("{name} = ")) || shown.contains(&format!("[[{name}]]"));
            assert!(there, "{key}");
        }
    }
}
