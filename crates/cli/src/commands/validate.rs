//! `gpuaas app validate`: every finding about a manifest, without a platform.

use std::path::PathBuf;

use clap::Args;
use gpuaas_domain::manifest::Severity;
use serde_json::{Value, json};

use crate::app::App;
use crate::diagnostics::{Finding, Page, counted};
use crate::failure::{Exit, Failure, Result};
use crate::printer::Style;
use crate::source::{self, Judged, Text};

const CHECKED_THERE: &str =
    "Which registries images may come from is checked by the platform when the manifest is registered.";

/// Check a manifest on this machine, without a platform
///
/// Shows each finding in the text, with its code and what to do; docs/reference/lint.md has a section for each code. Takes a
/// source manifest too, in which images are still to be built. Which registries images may come from is known to the
/// platform alone, so that is checked when it is registered.
#[derive(Args)]
#[command(
    after_help = "Examples:\n  gpuaas app validate manifest.yaml\n  gpuaas app validate ./jupyter --deny-warnings\n  gpuaas app validate - -o json < m.json"
)]
pub(crate) struct ValidateArgs {
    /// The manifest: .json, .yaml, .yml, a folder with app.yaml or app.json, or `-` for stdin
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Take warnings for errors
    #[arg(long)]
    deny_warnings: bool,
}

/// All there is to say about a text.
struct Checked {
    judged: Judged,
    /// Images that are still to be made.
    images: usize,
}

fn check(text: &Text) -> Checked {
    match source::read(&text.bytes, text.format, &text.base) {
        Ok(source) => Checked { judged: source.judge(), images: source.images.len() },
        Err(errors) => Checked { judged: Judged { document: None, errors, warnings: Vec::new() }, images: 0 },
    }
}

impl Checked {
    fn findings(&self) -> Vec<Finding> {
        let errors = self.judged.errors.iter().map(|fault| Finding::new(Severity::Error, fault));
        let warnings = self.judged.warnings.iter().map(|fault| Finding::new(Severity::Warning, fault));
        errors.chain(warnings).collect()
    }

    fn is_good(&self, deny_warnings: bool) -> bool {
        self.judged.errors.is_empty() && (!deny_warnings || self.judged.warnings.is_empty())
    }

    /// The verdict for programs.
    fn verdict(&self, page: &Page, deny_warnings: bool) -> Value {
        let of = |severity: Severity| -> Vec<Value> {
            let findings = self.findings().into_iter().filter(|finding| finding.severity == severity);
            findings
                .map(|finding| {
                    let place = page.position(&finding);
                    json!({"path": finding.path, "code": finding.code, "message": finding.message,
                        "line": place.map(|place| place.line), "column": place.map(|place| place.column),
                        "help": finding.help()})
                })
                .collect()
        };
        let (fields, warnings) = (of(Severity::Error), of(Severity::Warning));
        let good = self.is_good(deny_warnings);
        match &self.judged.document {
            Some(document) if fields.is_empty() => {
                // What is still to be made has no digest yet, so neither has the whole.
                let digest = (self.images == 0).then(|| document.digest().to_string());
                json!({"ok": good, "slug": document.manifest.slug.as_str(),
                    "app_version": document.manifest.version.as_str(), "manifest_digest": digest,
                    "images_to_make": self.images, "fields": [], "warnings": warnings})
            }
            Some(_) | None => json!({"ok": false, "fields": fields, "warnings": warnings}),
        }
    }
}

pub(crate) fn run(app: &App, args: &ValidateArgs) -> Result<()> {
    let text = source::open(&args.file)?;
    let printer = &app.printer;
    let checked = check(&text);
    let page = Page::new(&text);
    let good = checked.is_good(args.deny_warnings);
    let ended = || if good { Ok(()) } else { Err(Failure::Said(Exit::No)) };
    if printer.is_json() {
        printer.value(&checked.verdict(&page, args.deny_warnings))?;
        return ended();
    }
    let findings = checked.findings();
    if !findings.is_empty() {
        printer.page(|colour| page.render(&findings, colour))?;
    }
    let Judged { document, errors, warnings } = &checked.judged;
    if let Some(document) = document.as_ref().filter(|_| good) {
        let (slug, version) = (document.manifest.slug.as_str(), document.manifest.version.as_str());
        let about = match checked.images {
            0 => document.digest().to_string(),
            1 => "1 image to make".to_owned(),
            more => format!("{more} images to make"),
        };
        printer.marked("ok", Style::Good, &format!("{slug} {version} ({about})"))?;
    }
    if good {
        printer.note(CHECKED_THERE);
    }
    if !findings.is_empty() {
        printer.note(&format!("{} in {}", counted(errors.len(), warnings.len()), text.name));
    }
    ended()
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use gpuaas_domain::manifest::Format;

    use super::*;

    const HELLO: &str = include_str!("../../../../apps/hello-web/app.yaml");
    const BUILT: &str = "{build: ../../images/hello-web}";

    fn text(written: &str) -> Text {
        let base = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../apps/hello-web");
        Text { bytes: written.into(), format: Format::Yaml, base, name: "app.yaml".to_owned() }
    }

    fn verdict(written: &str) -> Value {
        let text = text(written);
        check(&text).verdict(&Page::new(&text), false)
    }

    #[test]
    fn a_manifest_is_checked_without_knowing_registries() {
        let good =
            HELLO.replace(BUILT, &format!("registry.example.org/apps/hello-web@sha256:{}", "0".repeat(64)));
        assert_eq!(check(&text(HELLO)).images, 1, "a source manifest is good too");
        let told = verdict(&HELLO.replace(BUILT, "registry.example.org/apps/hello-web:1"));
        assert_eq!(told["fields"][0]["path"], "/artifact_ref", "{told}");
        let told = verdict(&good);
        assert_eq!(
            (&told["ok"], &told["slug"], &told["app_version"], &told["images_to_make"], &told["warnings"]),
            (&json!(true), &json!("hello-web"), &json!("1.0.0"), &json!(0), &json!([]))
        );
        assert!(told["manifest_digest"].as_str().unwrap().starts_with("sha256:"));
        let misspelt = good.replace("publisher:", "publishr:");
        assert_eq!(
            verdict(&misspelt),
            json!({"ok": false, "warnings": [], "fields": [{"path": "/publishr", "code": "unknown_field",
                "message": "There is no such field. Did you mean publisher?", "line": 7, "column": 1,
                "help": "correct the name or take it out; docs/reference/manifest.md has every field"}]})
        );
    }

    #[test]
    fn a_source_manifest_is_checked_with_made_up_digests() {
        let to_make = HELLO.replace(BUILT, "{image: docker:hello}");
        let told = verdict(&to_make);
        assert_eq!((&told["ok"], &told["images_to_make"]), (&json!(true), &json!(1)), "{told}");
        assert_eq!(told["manifest_digest"], json!(null));
        let misspelt = to_make.replacen("{image:", "{imag:", 1);
        let told = verdict(&misspelt);
        assert_eq!(told["fields"][0]["path"], json!("/artifact_ref"), "{told}");
        assert_eq!((&told["fields"][0]["line"], &told["fields"][0]["column"]), (&json!(6), &json!(15)));
    }

    /// What is only advised passes, unless it was told not to.
    #[test]
    fn warnings_pass_unless_they_are_denied() {
        let warned = text(&HELLO[..HELLO.find("validation:").unwrap()]);
        let checked = check(&warned);
        assert_eq!(checked.judged.warnings[0].code, "smoke_missing");
        assert!(checked.is_good(false) && !checked.is_good(true));
        let page = Page::new(&warned);
        let (told, denied) = (checked.verdict(&page, false), checked.verdict(&page, true));
        assert_eq!((&told["ok"], &denied["ok"]), (&json!(true), &json!(false)));
        assert_eq!(
            told["warnings"][0]["line"],
            json!(2),
            "what is missing is shown where the document begins"
        );
        assert!(check(&text(HELLO)).is_good(true), "the apps of this repository are without findings");
    }
}
