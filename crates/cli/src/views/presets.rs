//! Presets of launch forms.

use gpuaas_api::presets::Preset;

use super::{Facts, Row, short, yes};

impl Row for Preset {
    const TITLES: &'static [&'static str] = &["NAME", "APP", "DEFAULT", "CHOOSES", "CHANGED", "ID"];
    const EMPTY: &'static str = "No presets. Keep one with `gpuaas preset save APP NAME --from FILE`, or from the form in the browser.";

    fn cells(&self) -> Vec<String> {
        vec![
            self.name.clone(),
            self.app_slug.clone(),
            yes(self.is_default),
            chooses(self),
            short(self.updated_at),
            self.id.to_string(),
        ]
    }
}

impl Facts for Preset {
    fn facts(&self) -> Vec<(&'static str, String)> {
        vec![
            ("name", self.name.clone()),
            ("id", self.id.to_string()),
            ("app", self.app_slug.clone()),
            ("default", yes(self.is_default)),
            ("chooses", chooses(self)),
            ("created by", format!("{} {}", self.created_by_kind, self.created_by_id)),
            ("changed", short(self.updated_at)),
        ]
    }
}

/// The names of what it sets.
fn chooses(preset: &Preset) -> String {
    let choices = &preset.choices;
    let mut names: Vec<String> = choices.values.keys().cloned().collect();
    names.extend(choices.addons.iter().map(|addon| format!("add-on {addon}")));
    names.extend(choices.lanes.keys().map(|lane| format!("lane {lane}")));
    if names.is_empty() { "-".to_owned() } else { names.join(", ") }
}
