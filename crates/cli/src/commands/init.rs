//! `gpuaas app init`: a folder to start from.
//!
//! Each template is a source manifest without findings, what its images are made of, values for a trial launch, and a schema
//! for editors. The schema is written beside the manifest: it then works without a network, is that of this program, and knows
//! the mappings of source manifests, which the published one refuses.

use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use clap::Args;
use gpuaas_domain::manifest::json_schema;
use gpuaas_domain::text::Slug;
use serde_json::{Value, json};

use crate::app::App;
use crate::failure::{Exit, Failure, Result};

const SCHEMA: &str = "app.schema.json";
/// What the templates are called before they have a folder.
const SLUG: &str = "my-app";
const NAME: &str = "My app";

struct Template {
    name: &'static str,
    about: &'static str,
    files: &'static [(&'static str, &'static str)],
}

macro_rules! template {
    ($name:literal, $about:literal, [$($file:literal),* $(,)?]) => {
        Template {
            name: $name,
            about: $about,
            files: &[$(($file, include_str!(concat!("../../templates/", $name, "/", $file)))),*],
        }
    };
}

const TEMPLATES: &[Template] = &[
    template!(
        "single",
        "one container with a page",
        ["app.yaml", "README.md", "values.test.yaml", "image/Dockerfile", "image/index.html"]
    ),
    template!(
        "notebook",
        "notebooks in the browser, with a workspace",
        ["app.yaml", "README.md", "values.test.yaml", "image/Dockerfile"]
    ),
    template!(
        "model-server",
        "a language model on a GPU, with parameters and a secret",
        ["app.yaml", "README.md", "values.test.yaml", "image/Dockerfile", "image/serve"]
    ),
    template!(
        "proxied",
        "a gateway that people reach and a worker behind it (published today, launched once compositions run)",
        [
            "app.yaml",
            "README.md",
            "values.test.yaml",
            "gateway/Dockerfile",
            "gateway/Caddyfile",
            "worker/Dockerfile",
            "worker/worker.py",
        ]
    ),
    template!(
        "job",
        "work without a page",
        ["app.yaml", "README.md", "values.test.yaml", "image/Dockerfile", "image/job.py"]
    ),
];

const NAMES: [&str; 5] = ["single", "notebook", "model-server", "proxied", "job"];

/// Write a folder to start an app from
///
/// A source manifest with comments, what its image is made of, values for a trial launch and a schema for editors. Nothing is
/// overwritten. The app is called like the folder if that can be a slug.
#[derive(Args)]
#[command(
    after_help = "Examples:\n  gpuaas app init\n  gpuaas app init model-server ./llama\n  gpuaas app init --list"
)]
pub(crate) struct InitArgs {
    /// What to start from
    #[arg(default_value = "single", value_parser = NAMES)]
    template: String,
    /// The folder to write
    #[arg(value_name = "DIR", default_value = SLUG)]
    folder: PathBuf,
    /// Show the templates and write nothing
    #[arg(long)]
    list: bool,
}

pub(crate) fn run(app: &App, args: &InitArgs) -> Result<()> {
    let printer = &app.printer;
    if args.list {
        if printer.is_json() {
            let listed = TEMPLATES.iter().map(|one| json!({"name": one.name, "about": one.about}));
            return printer.value(&listed.collect::<Vec<_>>());
        }
        let rows: Vec<_> =
            TEMPLATES.iter().map(|one| vec![one.name.to_owned(), one.about.to_owned()]).collect();
        return printer.table(&["TEMPLATE", "ABOUT"], &rows);
    }
    let template = TEMPLATES.iter().find(|one| one.name == args.template);
    let template = template.ok_or_else(|| Failure::usage("there is no such template"))?;
    let slug = slug_of(&args.folder);
    let written = write(template, &args.folder, &slug)?;
    let folder = args.folder.display();
    if printer.is_json() {
        return printer.value(
            &json!({"template": template.name, "slug": slug, "folder": args.folder, "files": written}),
        );
    }
    for file in &written {
        printer.line(&args.folder.join(file).display().to_string())?;
    }
    printer.note(&format!("Next: gpuaas app validate {folder}"));
    printer.note(&format!("Then: gpuaas app publish {folder} --release --entitle"));
    printer.note(&format!("{folder}/README.md says what each file is."));
    Ok(())
}

/// The folder's own name, if an app can be called so.
fn slug_of(folder: &Path) -> String {
    let resolved = std::path::absolute(folder).ok();
    let name = resolved.as_deref().and_then(Path::file_name).and_then(|name| name.to_str()).unwrap_or(SLUG);
    Slug::parse(name).map_or_else(|_| SLUG.to_owned(), |slug| slug.as_str().to_owned())
}

/// `my-llama` as people say it.
fn said(slug: &str) -> String {
    let words = slug.replace('-', " ");
    let mut letters = words.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

/// Writes all files or none: what is there already is found before anything is written.
fn write(template: &Template, folder: &Path, slug: &str) -> Result<Vec<String>> {
    let mut files: Vec<(&str, String)> = template
        .files
        .iter()
        .map(|(name, text)| (*name, text.replace(SLUG, slug).replace(NAME, &said(slug))))
        .collect();
    files.push((SCHEMA, format!("{:#}\n", source_schema())));
    let names: Vec<String> = files.iter().map(|(name, _)| (*name).to_owned()).collect();
    let manifests = ["app.yml", "app.json"];
    let taken = names.iter().map(String::as_str).chain(manifests).find(|name| folder.join(name).exists());
    if let Some(taken) = taken {
        let message = format!("{} exists and is not overwritten", folder.join(taken).display());
        return Err(Failure::new(Exit::Usage, "file_exists", message)
            .fix("name another folder: gpuaas app init TEMPLATE DIR"));
    }
    for (name, text) in files {
        let path = folder.join(name);
        if let Some(parent) = path.parent() {
            std::fs::create_dir_all(parent)
                .map_err(|source| Failure::file("create the folder", parent, &source))?;
        }
        let made = OpenOptions::new().write(true).create_new(true).open(&path);
        made.and_then(|mut file| file.write_all(text.as_bytes()))
            .map_err(|source| Failure::file("write", &path, &source))?;
    }
    Ok(names)
}

/// The schema of a manifest in which an image may still have to be made.
fn source_schema() -> Value {
    let mut schema = json_schema();
    let mapping = json!({
        "type": "object",
        "description": "An image that publishing makes.",
        "additionalProperties": false,
        "properties": {
            "build": {"type": "string", "description": "A folder with a program `build` or a Dockerfile."},
            "image": {"type": "string", "pattern": "^(docker|layout|archive):.+$"},
            "variant": {"type": "string"},
            "tag": {"type": "string"},
        },
        "oneOf": [{"required": ["build"]}, {"required": ["image"]}],
    });
    relax(&mut schema, &mapping);
    schema["$id"] = json!(SCHEMA);
    schema
}

fn relax(schema: &mut Value, mapping: &Value) {
    match schema {
        Value::Object(map) if map.get("format") == Some(&json!("image_ref")) => {
            let description = map.remove("description");
            let reference = Value::Object(std::mem::take(map));
            *schema = json!({"anyOf": [reference, mapping]});
            if let Some(description) = description {
                schema["description"] = description;
            }
        }
        Value::Object(map) => map.values_mut().for_each(|value| relax(value, mapping)),
        Value::Array(items) => items.iter_mut().for_each(|value| relax(value, mapping)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use gpuaas_domain::launch_form::resolution::{Around, resolve};
    use gpuaas_domain::manifest::{Format, tree};

    use super::*;
    use crate::source;

    /// B-01: what is written is without findings, and its values are ones that it takes.
    #[test]
    fn every_template_is_a_good_start() {
        assert_eq!(TEMPLATES.iter().map(|one| one.name).collect::<Vec<_>>(), NAMES);
        for template in TEMPLATES {
            let room = tempfile::tempdir().unwrap();
            let folder = room.path().join("my-llama");
            let files = write(template, &folder, &slug_of(&folder)).unwrap();
            assert!(files.iter().all(|file| folder.join(file).is_file()), "{}", template.name);
            let text = source::open(&folder).unwrap();
            let read = source::read(&text.bytes, text.format, &text.base).unwrap();
            let judged = read.judge();
            assert_eq!((judged.errors, judged.warnings), (vec![], vec![]), "{}", template.name);
            let manifest = judged.document.unwrap().manifest;
            assert_eq!((manifest.slug.as_str(), manifest.display_name.as_str()), ("my-llama", "My llama"));
            let written = String::from_utf8(text.bytes).unwrap();
            assert!(written.starts_with("# yaml-language-server: $schema=app.schema.json\n"));
            let schema: Value = serde_json::from_slice(&std::fs::read(folder.join(SCHEMA)).unwrap()).unwrap();
            assert_eq!(schema["properties"]["artifact_ref"]["anyOf"][1]["type"], "object");

            let values = std::fs::read(folder.join("values.test.yaml")).unwrap();
            let values = tree(&values, Format::Yaml).unwrap();
            let resolved = resolve(&manifest, values["values"].as_object().unwrap(), Around::default());
            assert_eq!(resolved.faults, [], "{}", template.name);
        }
    }

    #[test]
    fn what_is_there_is_not_overwritten() {
        let room = tempfile::tempdir().unwrap();
        let folder = room.path().join("app");
        write(&TEMPLATES[0], &folder, "x-y").unwrap();
        std::fs::remove_file(folder.join("README.md")).unwrap();
        let failure = write(&TEMPLATES[4], &folder, "x-y").unwrap_err();
        assert_eq!(failure.exit_code(), 2);
        assert!(failure.body().unwrap().error.message.ends_with("app.yaml exists and is not overwritten"));
        assert!(
            !folder.join("image/job.py").exists() && !folder.join("README.md").exists(),
            "all or nothing"
        );
        let folder = room.path().join("other");
        std::fs::create_dir(&folder).unwrap();
        std::fs::write(folder.join("app.json"), "{}").unwrap();
        assert_eq!(
            write(&TEMPLATES[0], &folder, "x-y").unwrap_err().exit_code(),
            2,
            "two manifests could differ"
        );
    }

    #[test]
    fn an_app_is_called_like_its_folder_if_it_can_be() {
        assert_eq!(slug_of(Path::new("/tmp/llama-3")), "llama-3");
        assert_eq!(slug_of(Path::new("/tmp/My Llama")), "my-app");
        assert_eq!(said("llama-3-chat"), "Llama 3 chat");
    }
}
