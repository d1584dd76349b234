//! What an app offers people to use once it runs: the commands of `outputs`, filled in for one instance.

use serde_json::{Map, Value};

use super::target::Needs;
use crate::expression::{Budget, Template, Values};
use crate::launch_form::command::quoted;
use crate::launch_form::resolution::{Around, resolve};
use crate::manifest::{Manifest, OutputCommand};
use crate::text::is_deceptive;

/// An instance, as far as its commands can tell.
pub struct Running<'a> {
    pub values: &'a Map<String, Value>,
    pub needs: Needs,
    pub node_name: &'a str,
    pub accelerator: &'a str,
}

/// Each command with its words filled in. `address` says where somebody outside reaches a port of a component. A command that
/// cannot be computed is left out: it was checked at registration, and what is missing is a lane or place that is not there.
/// So is one that would not be what people see when they copy it: whoever launched chose the values in it.
pub fn commands(
    manifest: &Manifest,
    running: &Running<'_>,
    address: impl Fn(&str, u16) -> Option<String>,
) -> Vec<OutputCommand> {
    let mut known = resolve(manifest, running.values, Around { needs: running.needs, addons: &[] }).known;
    known.set(&["placement", "node_name"], running.node_name);
    known.set(&["placement", "accelerator"], running.accelerator);
    for endpoint in manifest.named_endpoints() {
        let at = |member| ["endpoints", endpoint.name.as_str(), member];
        let Some(origin) = address(endpoint.component, endpoint.port) else { continue };
        known.set(&at("port"), i64::from(endpoint.port));
        known.set(&at("path"), endpoint.path);
        known.set(&at("url"), format!("{}{}", origin.trim_end_matches('/'), endpoint.path).as_str());
    }
    let declared = manifest.outputs.iter().flat_map(|outputs| &outputs.commands);
    declared
        .filter_map(|one| Some(OutputCommand { command: words(&one.command, &known)?, ..one.clone() }))
        .collect()
}

fn words(command: &[String], known: &Values) -> Option<Vec<String>> {
    let mut budget = Budget::default();
    let words = command.iter().map(|text| Template::parse(text)?.arguments(known, &mut budget));
    let words = words.collect::<Result<Vec<_>, _>>().ok()?.concat();
    let is_seen = |word: &String| !word.chars().any(is_deceptive);
    words.iter().all(is_seen).then_some(words)
}

/// One line for a shell.
pub fn line(command: &[String]) -> String {
    command.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::manifest::tests::{sample, with};
    use crate::manifest::{Format, parse};

    /// A-18, P-01: a command is filled in with what was chosen and where the app is reached; one that cannot be is left out.
    #[test]
    fn commands_are_filled_in() {
        let document = with(sample(), "/parameters", json!({"model": {"type": "string", "default": "a/b"}}));
        let document = with(
            document,
            "/outputs",
            json!({
                "endpoints": [{"name": "page", "port": 8888, "path": "/lab"}],
                "commands": [
                    {"name": "ask", "title": "Ask", "command": ["curl", "${endpoints.page.url}?m=${params.model}", "it's"]},
                    {"name": "split", "title": "Split", "command": ["x", "${string(1 / resources.gpu_count)}"]}
                ]
            }),
        );
        let manifest = parse(document.to_string().as_bytes(), Format::Json).unwrap().manifest;
        let values = json!({"model": "c/d"});
        let running = Running {
            values: values.as_object().unwrap(),
            needs: Needs::default(),
            node_name: "one",
            accelerator: "",
        };
        let found = commands(&manifest, &running, |_, port| Some(format!("https://a.example:{port}/")));
        let shown: Vec<_> = found.iter().map(|one| (one.name.as_str(), line(&one.command))).collect();
        assert_eq!(shown, [("ask", r"curl 'https://a.example:8888/lab?m=c/d' 'it'\''s'".to_owned())]);
        for hidden in ["a\nrm -rf ~", "a\u{202e}b", "a\u{1b}[2J"] {
            let values = json!({ "model": hidden });
            let running = Running { values: values.as_object().unwrap(), ..running };
            let found = commands(&manifest, &running, |_, _| Some("https://a.example".to_owned()));
            assert!(found.is_empty(), "{hidden:?}: {found:?}");
        }
    }
}
