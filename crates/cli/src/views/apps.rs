//! Apps, versions and entitlements.

use gpuaas_api::artifacts::Preparing;
use gpuaas_api::catalog::{App, AppVersion, Entitlement, LaunchableApp, Terms};

use super::{Facts, Row, dash, short, yes};

impl Row for App {
    const TITLES: &'static [&'static str] = &["SLUG", "NAME", "UPDATED", "PREPARING"];
    const EMPTY: &'static str = "No apps. Publish the first version of one with `gpuaas app publish FOLDER`.";

    fn cells(&self) -> Vec<String> {
        vec![
            self.slug.clone(),
            self.display_name.clone(),
            short(self.updated_at),
            dash(self.preparing.as_ref().map(preparing)),
        ]
    }
}

fn preparing(preparing: &Preparing) -> String {
    match &preparing.failure {
        Some(why) => format!("failed: {why}"),
        None => format!("{}, {} %", preparing.stage, preparing.percent),
    }
}

impl Row for AppVersion {
    const TITLES: &'static [&'static str] =
        &["VERSION", "STATUS", "NAME", "KIND", "SUPPORT", "UPDATED", "MANIFEST"];
    const EMPTY: &'static str = "No versions of this app. Publish one with `gpuaas app publish FOLDER`, or register a manifest with `gpuaas app register FILE`.";

    fn cells(&self) -> Vec<String> {
        vec![
            self.app_version.clone(),
            self.status.name().into(),
            self.display_name.clone(),
            self.artifact_kind.clone(),
            dash(self.support_level.as_ref()),
            short(self.updated_at),
            self.manifest_digest.clone(),
        ]
    }
}

impl Facts for AppVersion {
    fn facts(&self) -> Vec<(&'static str, String)> {
        vec![
            ("app", self.slug.clone()),
            ("version", self.app_version.clone()),
            ("status", self.status.name().into()),
            ("name", self.display_name.clone()),
            ("artifact", format!("{} {}", self.artifact_kind, self.artifact_ref)),
            ("publisher", dash(self.publisher.as_ref())),
            ("support", dash(self.support_level.as_ref())),
            ("notes", dash(self.notes.as_ref())),
            ("manifest digest", self.manifest_digest.clone()),
            ("updated", short(self.updated_at)),
            ("id", self.id.to_string()),
        ]
    }
}

impl Row for LaunchableApp {
    const TITLES: &'static [&'static str] = &["SLUG", "NAME", "VERSIONS"];
    const EMPTY: &'static str = "This project may launch nothing yet. A tenant admin enables an app with `gpuaas entitlement enable APP`; `gpuaas app list` shows all apps.";

    fn cells(&self) -> Vec<String> {
        let versions: Vec<_> = self
            .versions
            .iter()
            .map(|version| format!("{} ({})", version.app_version, version.status.name()))
            .collect();
        vec![self.app.slug.clone(), self.app.display_name.clone(), versions.join(", ")]
    }
}

fn terms(terms: Option<&Terms>) -> String {
    let Some(terms) = terms else { return "-".to_owned() };
    if !terms.enabled {
        return "off".to_owned();
    }
    let channels = terms.channels.as_ref().map_or_else(
        || "active".to_owned(),
        |channels| channels.iter().map(|channel| channel.name()).collect::<Vec<_>>().join("+"),
    );
    match &terms.versions {
        None => format!("on: {channels}"),
        Some(versions) => {
            format!("on: {channels}, only {}", versions.iter().cloned().collect::<Vec<_>>().join(" "))
        }
    }
}

impl Row for Entitlement {
    const TITLES: &'static [&'static str] = &["APP", "ENABLED", "TENANT", "PROJECT", "NARROWED"];
    const EMPTY: &'static str = "Nothing is enabled here. `gpuaas app list` shows all apps; enable one with `gpuaas entitlement enable APP`.";

    fn cells(&self) -> Vec<String> {
        vec![
            self.app_slug.clone(),
            yes(self.enabled),
            terms(self.tenant.as_ref()),
            terms(self.allowed.as_ref()),
            terms(self.narrowed.as_ref()),
        ]
    }
}

impl Facts for Entitlement {
    fn facts(&self) -> Vec<(&'static str, String)> {
        vec![
            ("app", self.app_slug.clone()),
            ("enabled", yes(self.enabled)),
            ("said for the tenant", terms(self.tenant.as_ref())),
            ("said for the project", terms(self.allowed.as_ref())),
            ("narrowed by the project", terms(self.narrowed.as_ref())),
        ]
    }
}
