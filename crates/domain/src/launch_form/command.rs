//! The command line that does what a form was filled in for, ready to be pasted into a shell.

use serde_json::{Map, Value};

use super::{Choices, FormView, LaneWish, MountSource};
use crate::text::is_deceptive;

/// `gpuaas instance create …` with exactly these choices.
pub(super) fn line(choices: &Choices, view: &FormView<'_>, allocation: Option<&str>) -> String {
    let mut words: Vec<String> = ["gpuaas", "instance", "create"].map(str::to_owned).into();
    words.push(choices.slug.clone());
    let mut option = |name: &str, value: Option<String>| {
        if let Some(value) = value {
            words.extend([name.to_owned(), value]);
        }
    };
    option("--project", Some(view.project_slug.to_owned()));
    option("--allocation", Some(allocation.unwrap_or("ALLOCATION").to_owned()));
    option("--version", Some(choices.version.clone()));
    option("--name", choices.name.clone());
    option("--gpus", choices.gpu_count.map(|count| count.to_string()));
    option("--cpu", choices.cpu_millis.map(|millis| format!("{millis}m")));
    option("--memory", choices.memory_mib.map(|mib| mib.to_string()));
    option("--host-port", choices.host_port.map(|port| port.to_string()));
    option("--variant", choices.variant.clone());
    for (endpoint, mode) in &choices.access {
        option("--access", Some(format!("{endpoint}={}", mode.name())));
    }
    for (mount, source) in &choices.mounts {
        option("--mount", Some(format!("{mount}={}", mounted(view, source))));
    }
    for addon in &choices.addons {
        option("--addon", Some(addon.clone()));
    }
    for (lane, wish) in &choices.lanes {
        for setting in lane_settings(wish) {
            option("--lane", Some(format!("{lane}.{setting}")));
        }
    }
    for (name, value) in settings(&choices.values) {
        option("--set", Some(format!("{name}={value}")));
    }
    words.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" ")
}

/// A volume by its name, where the project has one of this id.
fn mounted(view: &FormView<'_>, source: &MountSource) -> String {
    let MountSource::Volume { volume_id, read_only } = source else { return "scratch".to_owned() };
    let known = view.app.volumes.iter().find(|known| known.volume.id == *volume_id);
    let name = known.map_or_else(|| volume_id.to_string(), |known| known.volume.name.clone());
    format!("volume:{name}{}", if *read_only { ":ro" } else { "" })
}

/// `gpus=2`, `tensor-parallel=2`, `slots=0,1`.
fn lane_settings(wish: &LaneWish) -> Vec<String> {
    let number = |name: &str, count: Option<u32>| count.map(|count| format!("{name}={count}"));
    let slots = wish.slots.as_ref().map(|slots| {
        let numbers: Vec<String> = slots.iter().map(ToString::to_string).collect();
        format!("slots={}", numbers.join(","))
    });
    [number("gpus", wish.gpu_count), number("tensor-parallel", wish.tensor_parallel), slots]
        .into_iter()
        .flatten()
        .collect()
}

fn settings(values: &Map<String, Value>) -> impl Iterator<Item = (&String, String)> {
    values.iter().map(|(name, value)| (name, setting(value)))
}

/// The command takes JSON where it reads as JSON, and text otherwise.
fn setting(value: &Value) -> String {
    match value {
        Value::String(text) if !reads_as_json(text) && !text.chars().any(is_deceptive) => text.clone(),
        other => visible(&other.to_string()),
    }
}

fn reads_as_json(text: &str) -> bool {
    serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok()
}

/// JSON can spell every character without showing it, so that none drives a terminal or hides in a line. Outside of
/// texts JSON has none of them.
fn visible(json: &str) -> String {
    let mut text = String::with_capacity(json.len());
    for c in json.chars() {
        if is_deceptive(c) {
            let mut units = [0; 2];
            text.extend(c.encode_utf16(&mut units).iter().map(|unit| format!("\\u{unit:04x}")));
        } else {
            text.push(c);
        }
    }
    text
}

/// For a POSIX shell.
pub(crate) fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_-./:=@%+,".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}
