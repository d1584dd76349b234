//! `gpuaas render`: what an engine is given, without a platform or of an instance, and whether stored bytes are right.

use std::io::IsTerminal as _;
use std::path::{Component, Path, PathBuf};

use clap::Args;
use gpuaas_api::Route;
use gpuaas_api::instances::{RenderedQuery, RenderedView};
use gpuaas_domain::launch::PlannedGap;
use gpuaas_domain::launch::offline::{Devices, Offline};
use gpuaas_domain::manifest::{ExecutionEngine, Manifest};
use gpuaas_domain::render::{self, RenderInput, RenderedFile, Severity};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::instance::launch::ChoiceArgs;
use crate::app::App;
use crate::args::ProjectArg;
use crate::diagnostics::{Finding, Page};
use crate::failure::{Exit, Failure, Result};
use crate::printer::{Printer, Style};
use crate::session::parse;
use crate::source;

/// Show what an engine is given
///
/// Of a manifest: plans it on a made-up allocation that has room for it, needs no platform and changes nothing. Of an
/// instance: what it runs from, or what another engine would be given, with secrets masked. `--verify` renders a record that
/// `-o json` wrote once more and says whether the bytes are the same.
#[derive(Args)]
#[command(
    after_help = "Examples:\n  gpuaas render apps/jupyterlab --engine docker_compose\n  gpuaas render . --engine kubernetes --addon metrics --values values/default.yaml --into rendered\n  gpuaas render . --engine helm -o json > record.json && gpuaas render --verify record.json\n  gpuaas render --instance notebook --project lab --engine kubernetes"
)]
pub(crate) struct RenderArgs {
    /// The manifest: .json, .yaml, .yml, or a folder with app.yaml or app.json
    #[arg(value_name = "FILE", required_unless_present_any = ["verify", "instance"], conflicts_with_all = ["verify", "instance"])]
    file: Option<PathBuf>,
    /// The engine; the profile's first unless given
    #[arg(long, value_parser = ExecutionEngine::ALL.map(ExecutionEngine::name))]
    engine: Option<String>,
    /// Write the files into this folder instead of showing them
    #[arg(long, value_name = "FOLDER")]
    into: Option<PathBuf>,
    /// Render this record again and compare
    #[arg(long, value_name = "RECORD", conflicts_with = "instance")]
    verify: Option<PathBuf>,
    /// An instance (id or name) of a platform
    #[arg(long, value_name = "INSTANCE")]
    instance: Option<String>,
    #[command(flatten)]
    project: ProjectArg,
    #[command(flatten)]
    choices: ChoiceArgs,
}

/// Far more than an input and its files ever come to.
const MAX_RECORD: usize = 16 * 1024 * 1024;

/// What can be rendered again.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Record {
    engine: ExecutionEngine,
    renderer_version: i64,
    digest: String,
    input: RenderInput,
    files: Vec<RenderedFile>,
    #[serde(default)]
    gaps: Vec<PlannedGap>,
}

pub(crate) async fn run(app: &App, args: RenderArgs) -> Result<()> {
    if let Some(record) = &args.verify {
        if args.choices.chooses() {
            return Err(Failure::usage("a record has its choices in it").fix("leave them out"));
        }
        return verify(app, record);
    }
    if let Some(instance) = &args.instance {
        return of_instance(app, &args, instance).await;
    }
    let file = args.file.as_deref().unwrap_or(Path::new("."));
    let manifest = manifest(app, file)?;
    let engine = match args.engine.as_deref().and_then(ExecutionEngine::parse) {
        Some(engine) => engine,
        None => first_engine(&manifest)?,
    };
    let offline = Offline::new(&manifest, &Devices::of(&manifest));
    let wish = args.choices.offline(&manifest)?;
    let planned = offline.plan(&wish).map_err(|error| refused(&error))?;
    note_dropped(&app.printer, &wish.values, &planned.plan.values);
    let input = RenderInput { identity: planned.input.identity.clone().as_preview(), ..planned.input };
    let rendered = render::render(engine, &input).map_err(|refusal| cannot_say(engine, &refusal))?;
    let record = Record {
        engine,
        renderer_version: rendered.renderer_version,
        digest: rendered.digest,
        input,
        files: rendered.files,
        gaps: rendered.gaps.into_iter().map(PlannedGap::from).collect(),
    };
    if app.printer.is_json() {
        if let Some(folder) = &args.into {
            write(folder, &record.files)?;
        }
        return app.printer.value(&record);
    }
    show(app, &record.files, args.into.as_deref())?;
    for gap in &record.gaps {
        app.printer.note(&format!("{}: {}", gap.path, gap.message));
    }
    app.printer.note(&format!("{} for {}, on made-up devices.", record.digest, engine.name()));
    Ok(())
}

fn first_engine(manifest: &Manifest) -> Result<ExecutionEngine> {
    manifest.expand().engines.first().copied().ok_or_else(|| {
        Failure::usage("the profile lists no engine that is rendered for").fix("say which with --engine")
    })
}

/// The manifest, or every finding shown as `app validate` does.
pub(crate) fn manifest(app: &App, file: &Path) -> Result<Manifest> {
    let text = source::open(file)?;
    let errors = match source::read(&text.bytes, text.format, &text.base) {
        Err(errors) => errors,
        Ok(source) => match source.check() {
            Ok(document) => return Ok(document.manifest),
            Err(errors) => errors,
        },
    };
    let findings: Vec<Finding> =
        errors.iter().map(|fault| Finding::new(gpuaas_domain::manifest::Severity::Error, fault)).collect();
    let page = Page::new(&text);
    app.printer.page_aside(|colour| page.render(&findings, colour));
    Err(Failure::new(Exit::No, "manifest_refused", format!("{} has faults", text.name))
        .fix("mend what is shown above; `gpuaas app validate` says more"))
}

pub(crate) fn refused(error: &gpuaas_domain::Error) -> Failure {
    let faults: Vec<String> =
        error.field_errors().iter().map(|field| format!("{}: {}", field.path, field.message)).collect();
    let message = if faults.is_empty() { error.message().to_owned() } else { faults.join(" ") };
    Failure::new(Exit::No, error.code(), message)
}

fn cannot_say(engine: ExecutionEngine, refusal: &render::Refusal) -> Failure {
    let told: Vec<String> = refusal
        .gaps
        .iter()
        .filter(|gap| gap.severity == Severity::Refuse)
        .map(|gap| format!("{}: {}", gap.path, gap.message))
        .collect();
    Failure::new(
        Exit::No,
        "cannot_be_rendered",
        format!("{} cannot say this. {}", engine.name(), told.join(" ")),
    )
}

/// One file as it is, several under their names, or all into a folder.
fn show(app: &App, files: &[RenderedFile], into: Option<&Path>) -> Result<()> {
    if let Some(folder) = into {
        return write(folder, files)?
            .iter()
            .try_for_each(|path| app.printer.line(&path.display().to_string()));
    }
    for file in files {
        if files.len() > 1 {
            // One stream of documents, as `kubectl apply -f -` reads it.
            app.printer.line("---")?;
            app.printer.line(&format!("# {}", file.name))?;
        }
        let text = file.bytes.trim_end_matches('\n');
        // Somebody's values are in it: a program gets the exact bytes, a terminal nothing that could drive it.
        if std::io::stdout().is_terminal() {
            app.printer.text(text)?;
        } else {
            app.printer.script(&format!("{text}\n"))?;
        }
    }
    Ok(())
}

/// Values that were given for parameters which these choices do not ask for (B-01).
pub(crate) fn note_dropped(printer: &Printer, given: &Map<String, Value>, kept: &Map<String, Value>) {
    for name in given.keys().filter(|name| !kept.contains_key(*name)) {
        printer.note(&format!("{name} is not asked for with these choices; its value was dropped."));
    }
}

/// The paths of what was written. Names are our own: a folder deep at most, never upwards. Nothing else may lie there: who
/// hands a folder to an engine hands over all of it. A link is not followed: it leads out of the folder.
fn write(folder: &Path, files: &[RenderedFile]) -> Result<Vec<PathBuf>> {
    let others = others_in(folder, Path::new(""), files)?;
    if !others.is_empty() {
        return Err(Failure::new(
            Exit::Usage,
            "folder_in_use",
            format!("{} also holds {}", folder.display(), others.join(", ")),
        )
        .fix("name an empty folder, or remove what an earlier rendering left there"));
    }
    let mut written = Vec::new();
    for file in files {
        let name = Path::new(&file.name);
        if file.name.is_empty()
            || !name.components().all(|part| matches!(part, Component::Normal(_)))
            // What begins with a dot belongs to other programs, and is not looked at for links.
            || name.components().any(|part| part.as_os_str().as_encoded_bytes().starts_with(b"."))
        {
            return Err(Failure::new(
                Exit::No,
                "invalid_name",
                format!("{:?} is no name of a file", file.name),
            ));
        }
        let path = folder.join(name);
        let parent = path.parent().unwrap_or(folder);
        std::fs::create_dir_all(parent).map_err(|source| Failure::file("make", parent, &source))?;
        std::fs::write(&path, &file.bytes).map_err(|source| Failure::file("write", &path, &source))?;
        written.push(path);
    }
    Ok(written)
}

/// The first few things in a folder that are not about to be written again; what begins with a dot is somebody's own.
fn others_in(folder: &Path, below: &Path, files: &[RenderedFile]) -> Result<Vec<String>> {
    let at = folder.join(below);
    let entries = match std::fs::read_dir(&at) {
        Ok(entries) => entries,
        Err(source) if source.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(source) => return Err(Failure::file("look into", &at, &source)),
    };
    let mut others = Vec::new();
    for entry in entries {
        let entry = entry.map_err(|source| Failure::file("look into", &at, &source))?;
        let name = below.join(entry.file_name());
        let kind = entry.file_type().map_err(|source| Failure::file("look at", &entry.path(), &source))?;
        let is_ours = |is_same: fn(&Path, &Path) -> bool| {
            files.iter().any(|file| is_same(Path::new(&file.name), &name))
        };
        if kind.is_dir() && is_ours(|file, folder| file.starts_with(folder)) {
            others.extend(others_in(folder, &name, files)?);
        } else if !(kind.is_file() && is_ours(|file, name| file == name)) {
            others.push(name.display().to_string());
        }
    }
    others.retain(|name| !name.starts_with('.'));
    others.sort();
    others.truncate(3);
    Ok(others)
}

fn verify(app: &App, path: &Path) -> Result<()> {
    let bytes = source::read_file(path, MAX_RECORD)?;
    if bytes.len() > MAX_RECORD {
        return Err(Failure::usage(format!("{} is longer than any record", path.display())));
    }
    let record: Record = serde_json::from_slice(&bytes).map_err(|error| {
        Failure::usage(format!("{} is no record: {error}", path.display()))
            .fix("make one with `gpuaas render FILE --engine ENGINE -o json`; what runs is verified by `--instance` itself")
    })?;
    let stored = render::digest(record.engine, record.renderer_version, &record.files);
    let mismatch = |what: &str| Err(Failure::new(Exit::No, "mismatch", what.to_owned()));
    if stored != record.digest {
        return mismatch("the files are not what the digest says");
    }
    let again = render::render(record.engine, &record.input);
    let (verdict, text) = match &again {
        Ok(again) if again.renderer_version == record.renderer_version => {
            if again.digest != record.digest {
                return mismatch("rendering the input again gives other bytes");
            }
            ("rederived", "rendering the input again gives the same bytes")
        }
        Err(_) => return mismatch("the input cannot be rendered"),
        // Nothing of ours was ever rendered by a version that is yet to come.
        Ok(again) if !(1..again.renderer_version).contains(&record.renderer_version) => {
            return mismatch("there is no such version of the renderer");
        }
        Ok(_) => (
            "stored_bytes",
            "the renderer has another version by now; only the stored bytes were held against their digest",
        ),
    };
    if app.printer.is_json() {
        let answer = serde_json::json!({"ok": true, "verification": verdict, "digest": record.digest});
        return app.printer.value(&answer);
    }
    app.printer.marked("ok", Style::Good, &format!("{}: {text}", record.digest))
}

async fn of_instance(app: &App, args: &RenderArgs, instance: &str) -> Result<()> {
    if args.choices.chooses() {
        return Err(Failure::usage("an instance runs what was chosen when it was launched")
            .fix("leave the choices out, or render a manifest with them"));
    }
    let session = app.session()?;
    let project = session.project_or_default(args.project.project.as_deref()).await?;
    let id = session.instance(project, instance).await?;
    let engine = args.engine.as_deref().and_then(ExecutionEngine::parse);
    let raw =
        session.read_where(Route::InstanceRendered, &[&project, &id], &RenderedQuery { engine }).await?;
    let view: RenderedView = parse(&raw)?;
    if app.printer.is_json() {
        if let Some(folder) = &args.into {
            write(folder, &view.files)?;
        }
        app.printer.json(raw.get())?;
    } else {
        show(app, &view.files, args.into.as_deref())?;
        for gap in &view.gaps {
            app.printer.note(&format!("{}: {}", gap.path, gap.message));
        }
        if !view.masked.is_empty() {
            app.printer.note(&format!("Masked: {}", view.masked.join(", ")));
        }
        app.printer.note(&format!("{} of revision {}. {}", view.digest, view.revision, view.verification));
    }
    if view.verified { Ok(()) } else { Err(Failure::new(Exit::No, "mismatch", view.verification)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// B-13: a platform that was taken over names files of its own; none of them leaves the folder or lands in what is hidden.
    #[test]
    fn names_from_elsewhere_stay_in_the_folder() {
        let folder = tempfile::tempdir().unwrap();
        let file = |name: &str| RenderedFile {
            name: name.to_owned(),
            media_type: "application/yaml".to_owned(),
            bytes: "x".to_owned(),
        };
        for name in ["", "../evil", "/etc/evil", "a/../../evil", ".git/config", "a/.hidden", ".x"] {
            assert!(write(folder.path(), &[file(name)]).is_err(), "{name:?}");
        }
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
        assert_eq!(write(folder.path(), &[file("a/b.yaml")]).unwrap(), [folder.path().join("a/b.yaml")]);
    }
}
