//! How findings look in the text they are about.

use std::path::Path;

use gpuaas_api::{ErrorDetail, FieldDetail};
use gpuaas_domain::FieldError;
use gpuaas_domain::manifest::{CODES, Format, Severity};

use crate::diagnostics::{Finding, Page, counted, shown_in};
use crate::failure::Failure;
use crate::printer::{Output, Printer};
use crate::source::{self, Text};

fn text(written: &str, format: Format) -> Text {
    Text { bytes: written.into(), format, base: "".into(), name: "app.yaml".to_owned() }
}

/// The findings of a manifest as `app validate` shows them.
fn shown(written: &str, format: Format) -> String {
    let text = text(written, format);
    let (errors, warnings) = match source::read(&text.bytes, format, Path::new("")) {
        Ok(source) => {
            let judged = source.judge();
            (judged.errors, judged.warnings)
        }
        Err(errors) => (errors, Vec::new()),
    };
    let errors = errors.iter().map(|fault| Finding::new(Severity::Error, fault));
    let warnings = warnings.iter().map(|fault| Finding::new(Severity::Warning, fault));
    Page::new(&text).render(&errors.chain(warnings).collect::<Vec<_>>(), false)
}

/// One finding at a pointer of a text.
fn at(written: &str, path: &str, code: &'static str) -> String {
    let finding = Finding::new(Severity::Error, &FieldError::new(path, code, "No."));
    Page::new(&text(written, Format::Yaml)).render(&[finding], false)
}

/// A-11: what, where, the line, the mark, what to do.
#[test]
fn findings_are_shown_in_the_text() {
    let image = format!("registry.example.org/apps/x@sha256:{}", "0".repeat(64));
    let written = format!(
        "slug: Hello\n\
         display_name: Hello\n\
         version: 1.0\n\
         artifact_kind: oci\n\
         artifact_ref: {image}\n\
         compatibility:\n\
         \x20 requires_capacity_shape: [gpu_slce]\n\
         runtime_profile:\n\
         \x20 kind: launchable_oci\n\
         \x20 privileged: true\n\
         \x20 ports:\n\
         \x20   - {{container: 8080}}\n"
    );
    assert_eq!(
        shown(&written, Format::Yaml),
        "\
error[invalid_slug]: Use 2 to 40 lower-case letters and digits, with single hyphens between them.
  --> app.yaml:1:7
   |
 1 | slug: Hello
   |       ^^^^^
   = at: /slug
   = help: use 2 to 40 of a-z, 0-9 and single hyphens

error[wrong_type]: This must be text. Put it in quotes.
  --> app.yaml:3:10
   |
 3 | version: 1.0
   |          ^^^
   = at: /version
   = help: write what the sentence asks for; a number that means text stands in quotes

error[invalid_value]: One of baremetal, gpu_slice. Did you mean gpu_slice?
  --> app.yaml:7:29
   |
 7 |   requires_capacity_shape: [gpu_slce]
   |                             ^^^^^^^^
   = at: /compatibility/requires_capacity_shape/0
   = help: use one of the values in the sentence; docs/reference/manifest.md has them all

error[missing_field]: This is needed.
  --> app.yaml:8:1
   |
 8 | runtime_profile:
   | ^^^^^^^^^^^^^^^
   = at: /runtime_profile/image_ref
   = help: add it here

error[privileged_not_allowed]: Privileges, capabilities, host namespaces and devices are not given to apps.
  --> app.yaml:10:3
   |
10 |   privileged: true
   |   ^^^^^^^^^^
   = at: /runtime_profile/privileged
   = help: take it out; GPUs come from the allocation, storage from `resources.mounts`, ports from `ports`

error[missing_field]: This is needed.
  --> app.yaml:12:8
   |
12 |     - {container: 8080}
   |        ^^^^^^^^^
   = at: /runtime_profile/ports/0/expose
   = help: add it here

"
    );
}

/// Errors and warnings of one place stand together, each with its help.
#[test]
fn several_findings_of_one_place_are_told_together() {
    let image = format!("registry.example.org/apps/x@sha256:{}", "0".repeat(64));
    let written = format!(
        "slug: hello\ndisplay_name: Hello\nversion: 1.0.0\nartifact_kind: oci\nartifact_ref: {image}\n\
         compatibility: {{requires_capacity_shape: [gpu_slice]}}\n\
         runtime_profile: {{kind: launchable_oci, image_ref: {image}}}\nui: {{extension_kind: embedded}}\n"
    );
    let shown = shown(&written, Format::Yaml);
    assert!(
        shown.starts_with(
            "\
warning[smoke_missing]: Nothing tells whether a launched instance works: no smoke test is declared.
  --> app.yaml:1:1
   |
 1 | slug: hello
   | ^^^^
   = at: /validation/smoke
   = help: add one to `validation.smoke`, such as `{name: page, check: {kind: http, port: 8080, path: /}}`

warning[readiness_missing]:"
        ),
        "{shown}"
    );
    assert!(shown.contains("\nerror[ui_port_missing]: "), "{shown}");
    let two = |paths: [&str; 2]| {
        let findings = paths.map(|path| {
            Finding::new(Severity::Error, &FieldError::new(path, "missing_field", "This is needed."))
        });
        Page::new(&text("slug: x\n", Format::Yaml)).render(&findings, false)
    };
    assert_eq!(
        two(["/version", "/display_name"]),
        "\
error[missing_field]: This is needed.
error[missing_field]: This is needed.
  --> app.yaml:1:1
   |
 1 | slug: x
   | ^^^^
   = at: /display_name
   = help: add it here
   = at: /version

"
    );
}

#[test]
fn a_text_that_cannot_be_read_is_shown_where_reading_ended() {
    assert_eq!(
        shown("{\n  \"slug\": \"x\"\n  \"version\": 1\n}", Format::Json),
        "\
error[malformed_document]: The text is not JSON at line 3, column 3.
  --> app.yaml:3:3
   |
 3 |   \"version\": 1
   |   ^
   = help: look at this place: a bracket, quote, colon or indentation is wrong here or just before

"
    );
    assert_eq!(
        shown("", Format::Yaml),
        "\
error[malformed_document]: The text holds no document.
  --> app.yaml
   = help: look at this place: a bracket, quote, colon or indentation is wrong here or just before

"
    );
}

/// Whatever an editor or somebody else put there: columns line up, and nothing drives the terminal.
#[test]
fn marks_line_up_under_tabs_wide_and_hidden_characters() {
    let shown = at("{\"你好é\u{301}\":\t\"x\u{1b}[31m\u{202e}\", \"b\": 1}", "/b", "wrong_type");
    let lines: Vec<&str> = shown.lines().collect();
    assert_eq!(lines[3], " 1 | {\"你好é\u{301}\":   \"x\\u{1b}[31m\\u{202e}\", \"b\": 1}");
    // The wide characters take two columns each, the mark on the e none, the tab goes to the next fourth.
    let before = "{\"....é\":   \"x\\u{1b}[31m\\u{202e}\", \"b\": ".chars().count();
    assert_eq!(lines[4], format!("   | {}^", " ".repeat(before)));
    assert!(!shown.contains('\u{1b}') && !shown.contains('\u{202e}') && !shown.contains('\t'));
    let crlf = at("slug: x\r\nb: 1\r\n", "/b", "wrong_type");
    assert!(crlf.contains("\n 2 | b: 1\n   |    ^\n"), "{crlf}");
    let name = Text { name: "a\u{1b}b".to_owned(), ..text("b: 1", Format::Yaml) };
    let finding = Finding::new(Severity::Error, &FieldError::new("/b\u{7}", "x\u{7}", "y\u{7}"));
    let shown = Page::new(&name).render(&[finding], false);
    assert!(!shown.chars().any(|c| c != '\n' && c.is_control()), "{shown:?}");
}

/// T-10: what is told about a secret does not hold it, and neither does what is told about its neighbours.
#[test]
fn a_secret_is_marked_and_not_shown() {
    let digits = "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8";
    let one_line = "runtime_profile: {env: [{name: HF_TOKEN, value: letmein-42}], kindd: x}\n";
    let told = shown(one_line, Format::Yaml);
    assert!(told.contains("value: **********}], kindd: x}\n") && !told.contains("letmein"), "{told}");
    assert!(
        told.contains("error[raw_secret_not_allowed]") && told.contains("error[unknown_field]"),
        "{told}"
    );
    let broken = format!("env: [{{name: X, value: ghp_{digits}\n");
    let told = shown(&broken, Format::Yaml);
    assert!(told.starts_with("error[malformed_document]") && !told.contains(digits), "{told}");
}

#[test]
fn a_long_line_is_cut_around_the_mark() {
    let long = format!("a: {{x: \"{}\", bad: 7, y: \"{}\"}}", "l".repeat(300), "r".repeat(300));
    let shown = at(&long, "/a/bad", "unknown_field");
    let lines: Vec<&str> = shown.lines().collect();
    assert!(lines[1].ends_with(":1:312"), "{}", lines[1]);
    assert_eq!(lines[3], format!(" 1 | …{}\", bad: 7, y: \"{}…", "l".repeat(37), "r".repeat(48)));
    assert_eq!(lines[4], format!("   | {}^^^", " ".repeat(41)));
    let whole = at(&format!("a: {}", "v".repeat(500)), "/a", "out_of_range");
    let lines: Vec<&str> = whole.lines().collect();
    assert_eq!(lines[4], format!("   |    {}", "^".repeat(97)), "the mark ends with what is shown");
}

/// The platform's refusal of a local text is shown in it, and said once.
#[test]
fn a_refusal_of_the_platform_is_shown_in_the_authors_text() {
    let refused = || {
        let field =
            FieldDetail { path: "/slug".into(), code: "from_the_future".into(), message: "No.".into() };
        let detail = ErrorDetail {
            code: "validation_failed".into(),
            message: "No.".into(),
            params: std::collections::BTreeMap::default(),
            correlation_id: "c-1".into(),
            fields: vec![field],
        };
        Failure::Api { status: 400, detail: Box::new(detail) }
    };
    let text = text("slug: x\n", Format::Yaml);
    let left = shown_in(&text, &Printer::new(Output::Table, true), refused()).body().unwrap().error;
    assert_eq!((left.fields.len(), left.correlation_id.as_str()), (0, "c-1"));
    let programs = shown_in(&text, &Printer::new(Output::Json, true), refused());
    assert_eq!(programs.body().unwrap().error.fields.len(), 1, "programs get it as it came");
}

#[test]
fn colours_are_for_terminals() {
    let finding = |severity, code| Finding::new(severity, &FieldError::new("/slug", code, "No."));
    let page = Page::new(&text("slug: x\n", Format::Yaml));
    let coloured = page.render(&[finding(Severity::Error, "invalid_slug")], true);
    assert!(coloured.starts_with("\u{1b}[31merror[invalid_slug]\u{1b}[0m: No.\n"), "{coloured:?}");
    let careful = page.render(&[finding(Severity::Warning, "smoke_missing")], true);
    assert!(careful.starts_with("\u{1b}[33mwarning[smoke_missing]\u{1b}[0m"), "{careful:?}");
    assert!(!page.render(&[finding(Severity::Error, "invalid_slug")], false).contains('\u{1b}'));
}

#[test]
fn findings_are_counted_in_words() {
    assert_eq!(counted(1, 0), "1 error");
    assert_eq!(counted(0, 2), "2 warnings");
    assert_eq!(counted(2, 1), "2 errors and 1 warning");
}

/// What only the command line can say about a source manifest has its entry too.
#[test]
fn codes_of_source_manifests_stand_in_the_table() {
    let source = include_str!("../source.rs");
    for line in source.lines().filter(|line| line.contains("refuse(\"") || line.contains("FieldError::new("))
    {
        let literals = line.split('"').skip(1).step_by(2);
        for code in literals.filter(|text| text.bytes().all(|b| b.is_ascii_lowercase() || b == b'_')) {
            let known = CODES.iter().any(|entry| entry.code == code);
            assert!(known || code.is_empty(), "{code} in {line}");
        }
    }
}

/// A-16: the mark of an expression is under the word that is wrong in it, wherever the text is written as it is read.
#[test]
fn an_expression_is_marked_where_it_is_wrong() {
    let marked = |written: &str, character: usize| {
        let message = format!("At character {character}: No.");
        let finding = Finding::new(Severity::Error, &FieldError::new("/when", "expression_type", message));
        let shown = Page::new(&text(written, Format::Yaml)).render(&[finding], false);
        let line = |number: usize| shown.lines().nth(number).unwrap().get(5..).unwrap_or_default().to_owned();
        line(4).find('^').map(|at| line(3)[at..line(4).len()].to_owned()).unwrap_or_default()
    };
    assert_eq!(marked("when: params.sise > 3\n", 8), "sise");
    assert_eq!(marked("when: \"params.sise > 3\"\n", 8), "sise");
    assert_eq!(marked("when: 'params.sise > 3'\n", 13), ">");
    assert_eq!(marked("when: {a: 'x'}\n", 99), "{a: 'x'}", "what cannot be found is marked as a whole");
    assert_eq!(
        marked("when: 'it''s wrong'\n", 6),
        "'it''s wrong'",
        "what is read otherwise than written too"
    );
    assert_eq!(marked("when: \"a\\tb c\"\n", 5), "\"a\\tb c\"");
}
