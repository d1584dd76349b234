//! `gpuaas app diff`: what changes for people between two manifests.

use std::path::Path;

use clap::Args;
use gpuaas_api::Route;
use gpuaas_api::catalog::AppVersionDetail;
use gpuaas_domain::manifest::diff::{Area, Change, Kind, diff};
use gpuaas_domain::manifest::{Document, Manifest, Severity};
use serde_json::{Value, json};

use crate::app::App;
use crate::diagnostics::{Finding, Page, counted};
use crate::failure::{Exit, Failure, Result};
use crate::printer::{Style, escape, paint};
use crate::session::parse;
use crate::{resolve, source};

/// Show what changes for people between two manifests
///
/// Parameters, images, amounts (and with them the price), what the app may do, notes; spelling and order make no difference. Each
/// side is a file, a folder with app.yaml or app.json, or SLUG@VERSION of the platform.
#[derive(Args)]
#[command(
    after_help = "Examples:\n  gpuaas app diff old.yaml new.yaml\n  gpuaas app diff jupyter@1.0.0 ./jupyter\n  gpuaas app diff jupyter@1.0.0 jupyter@1.1.0 --exit-code"
)]
pub(crate) struct DiffArgs {
    /// Before
    #[arg(value_name = "A")]
    before: String,
    /// After
    #[arg(value_name = "B")]
    after: String,
    /// End with 1 if there are differences
    #[arg(long)]
    exit_code: bool,
}

pub(crate) async fn run(app: &App, args: &DiffArgs) -> Result<()> {
    let before = manifest(app, &args.before).await?;
    let after = manifest(app, &args.after).await?;
    let changes = diff(&before, &after);
    let printer = &app.printer;
    if printer.is_json() {
        let side = |name: &str, manifest: &Manifest| json!({"name": name, "slug": manifest.slug.as_str(), "app_version": manifest.version.as_str()});
        printer.value(&json!({"before": side(&args.before, &before), "after": side(&args.after, &after),
            "changes": changes}))?;
    } else if changes.is_empty() {
        printer.note("Nothing changes for people.");
    } else {
        printer.page(|colour| render(&changes, colour))?;
    }
    if args.exit_code && !changes.is_empty() {
        return Err(Failure::Said(Exit::No));
    }
    Ok(())
}

/// A file or folder if there is one of this name, otherwise a version of the platform.
async fn manifest(app: &App, named: &str) -> Result<Manifest> {
    if let Some((slug, version)) = named.split_once('@').filter(|_| !Path::new(named).exists()) {
        let (slug, version) = (resolve::slug("app", slug)?, resolve::version(version)?);
        let session = app.session()?;
        let raw = session.read(Route::CatalogVersionGet, &[&slug, &version.as_str()]).await?;
        let stored = Document::from_stored(parse::<AppVersionDetail>(&raw)?.manifest);
        return stored.map(|document| document.manifest).map_err(|_| {
            Failure::new(Exit::Trouble, "unexpected_answer", "the platform's manifest cannot be read here")
                .fix("use a newer gpuaas")
        });
    }
    let text = source::open(Path::new(named))?;
    let errors = match source::read(&text.bytes, text.format, &text.base) {
        Ok(source) => {
            let judged = source.judge();
            match judged.document {
                // What is against a rule can still be compared.
                Some(document) => return Ok(document.manifest),
                None => judged.errors,
            }
        }
        Err(errors) => errors,
    };
    let page = Page::new(&text);
    let findings: Vec<Finding> = errors.iter().map(|fault| Finding::new(Severity::Error, fault)).collect();
    if !app.printer.is_json() {
        app.printer.page_aside(|colour| page.render(&findings, colour));
    }
    let message = format!("{} in {}", counted(errors.len(), 0), text.name);
    Err(Failure::new(Exit::Invalid, "validation_failed", message))
}

fn render(changes: &[Change], colour: bool) -> String {
    let told = |area: Area| {
        let here: Vec<String> =
            changes.iter().filter(|change| change.area == area).map(|change| line(change, colour)).collect();
        let title = paint(area.title(), Style::Bold, colour);
        (!here.is_empty()).then(|| format!("{title}\n{}", here.concat()))
    };
    Area::ALL.into_iter().filter_map(told).collect::<Vec<_>>().join("\n")
}

fn line(change: &Change, colour: bool) -> String {
    let about = match &change.aspect {
        Some(aspect) => format!("{}: {aspect}", change.subject),
        None => change.subject.clone(),
    };
    let (mark, style) = match change.kind {
        Kind::Added => ("+", Style::Good),
        Kind::Removed => ("-", Style::Bad),
        Kind::Changed => ("~", Style::Careful),
    };
    let value = |value: Option<&Value>| value.map_or_else(|| "nothing".to_owned(), shown);
    let told = match change.kind {
        Kind::Added => value(change.after.as_ref()),
        Kind::Removed => value(change.before.as_ref()),
        Kind::Changed => {
            format!("{} → {}", value(change.before.as_ref()), value(change.after.as_ref()))
        }
    };
    format!("  {} {}  {}\n", paint(mark, style, colour), escape(&about), escape(&told))
}

/// A value as people read it: no quotes, no brackets where there is nothing to tell apart.
fn shown(value: &Value) -> String {
    match value {
        Value::String(text) if text.starts_with("image@sha256:") => "an image to be made".to_owned(),
        Value::String(text) if text.is_empty() || text.contains(", ") => format!("{text:?}"),
        Value::String(text) => text.clone(),
        Value::Array(items) if items.is_empty() => "none".to_owned(),
        Value::Array(items) => items.iter().map(shown).collect::<Vec<_>>().join(", "),
        Value::Object(members) => {
            let tell = |(name, value): (&String, &Value)| format!("{name} {}", shown(value));
            members.iter().map(tell).collect::<Vec<_>>().join("; ")
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => value.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use gpuaas_domain::manifest::{Format, parse};

    use super::*;

    const HELLO: &str = include_str!("../../../../apps/hello-web/app.yaml");

    fn manifest(change: impl Fn(String) -> String) -> Manifest {
        let image = format!("registry.example.org/apps/hello-web@sha256:{}", "0".repeat(64));
        let text = change(HELLO.replace("{build: ../../images/hello-web}", &image));
        parse(text.as_bytes(), Format::Yaml).unwrap().manifest
    }

    ///
    #[test]
    fn a_diff_is_told_by_what_it_means() {
        let before = manifest(|text| text);
        let after = manifest(|text| {
            let image = "1".repeat(64);
            text.replace("version: 1.0.0", "version: 1.1.0")
                .replace(&"0".repeat(64), &image)
                .replace("default: 64, max: 512", "default: 128, max: 512")
                .replace("egress: platform", "egress: internet")
                .replace("support_level: supported", "support_level: deprecated")
                .replace("  pids: 64\n", "  user: {as: root}\n")
                + "notes: |\n  Faster.\n  Safer.\nparameters:\n  greeting: {type: string, default: hello, enum: [hello, bye]}\n"
        });
        assert_eq!(
            render(&diff(&before, &after), false),
            format!(
                "\
Identity
  ~ support  supported → deprecated
  ~ version  1.0.0 → 1.1.0

Parameters
  + greeting  choices hello, bye; default hello; type string

Images
  ~ artifact  apps/hello-web@sha256:{zero} → apps/hello-web@sha256:{one}
  ~ main: image  apps/hello-web@sha256:{zero} → apps/hello-web@sha256:{one}

Resources
  ~ memory MiB: default  64 → 128

What the app may do
  ~ main: egress  platform → internet
  ~ main: user  as image → as root

Notes
  + notes  Faster.\\nSafer.\\n
",
                zero = "0".repeat(64),
                one = "1".repeat(64)
            )
        );
        assert_eq!(diff(&before, &before), []);
    }
}
