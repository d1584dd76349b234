//! A source manifest: a manifest in which an image may still have to be made.
//!
//! Where an image is named it may say `{build: FOLDER}` or `{image: SOURCE}` instead. The same mapping twice is the same
//! image. Everything is checked before anything is built, with a digest made up for each mapping; locking puts the real
//! references in their places and leaves the rest of the text as its author wrote it.

use std::collections::BTreeMap;
use std::fmt;
use std::io::Read;
use std::ops::Range;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use gpuaas_domain::FieldError;
use gpuaas_domain::manifest::{self, Document, Format, Places};
use gpuaas_domain::text::{Slug, nearest};
use gpuaas_oci::{Digest, Tag};
use serde_json::{Map, Value};

use crate::failure::{Exit, Failure, Result};
use crate::yaml;

/// Names under which a folder holds its manifest.
const NAMES: &[&str] = &["app.yaml", "app.yml", "app.json"];
const MEMBERS: &[&str] = &["build", "image", "variant", "tag"];
/// No registry is called this, so nothing that was made up can be mistaken for an image.
const MADE_UP: &str = "source.invalid/image";

/// Where an image comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum From {
    /// A folder with a program `build` or a `Dockerfile`.
    Build(PathBuf),
    /// An image of the local engine.
    Docker(String),
    Layout(PathBuf),
    Archive(PathBuf),
}

impl fmt::Display for From {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Build(folder) => write!(f, "build {}", folder.display()),
            Self::Docker(name) => write!(f, "docker:{name}"),
            Self::Layout(folder) => write!(f, "layout:{}", folder.display()),
            Self::Archive(file) => write!(f, "archive:{}", file.display()),
        }
    }
}

/// One image that the manifest wants made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Origin {
    pub(crate) from: From,
    pub(crate) variant: Option<String>,
    pub(crate) tag: Option<String>,
}

/// A manifest's text and where it came from.
#[derive(Debug)]
pub(crate) struct Text {
    pub(crate) bytes: Vec<u8>,
    pub(crate) format: Format,
    /// What relative paths start from.
    pub(crate) base: PathBuf,
    /// What to call it.
    pub(crate) name: String,
}

#[derive(Debug)]
pub(crate) struct Source {
    /// What relative paths start from.
    pub(crate) base: PathBuf,
    text: String,
    format: Format,
    tree: Value,
    positions: Places,
    /// The images, each once, in the order of their first place.
    pub(crate) images: Vec<Origin>,
    /// JSON pointer and number of the image that belongs there.
    places: Vec<(String, usize)>,
    faults: Vec<FieldError>,
}

/// The manifest that a path means: the file, the one in a folder, or stdin for `-`.
pub(crate) fn open(path: &Path) -> Result<Text> {
    if path == Path::new("-") {
        let bytes = up_to(manifest::MAX_BYTES, std::io::stdin().lock())
            .map_err(|source| Failure::usage(format!("stdin could not be read: {source}")))?;
        let json = bytes.trim_ascii_start().starts_with(b"{");
        let format = if json { Format::Json } else { Format::Yaml };
        return Ok(Text { bytes, format, base: PathBuf::new(), name: "<stdin>".to_owned() });
    }
    if std::fs::metadata(path).is_err_and(|why| why.kind() == std::io::ErrorKind::NotFound) {
        return Err(Failure::usage(format!("there is no folder or file {}", path.display()))
            .fix("name the folder that holds app.yaml or app.json, or the manifest itself"));
    }
    let path = if path.is_dir() { &in_folder(path)? } else { path };
    let format = match path.extension().and_then(|end| end.to_str()) {
        Some("json") => Format::Json,
        Some("yaml" | "yml") => Format::Yaml,
        _ => {
            return Err(Failure::usage(format!("{} does not say what it is written in", path.display()))
                .fix("name it .json, .yaml or .yml, or pass it on stdin as `-`"));
        }
    };
    let bytes = read_file(path, manifest::MAX_BYTES)?;
    let base = path.parent().unwrap_or(Path::new("")).to_path_buf();
    Ok(Text { bytes, format, base, name: path.display().to_string() })
}

/// A file, of one that is too long no more than is needed to see that it is.
pub(crate) fn read_file(path: &Path, most: usize) -> Result<Vec<u8>> {
    let read = std::fs::File::open(path).and_then(|file| up_to(most, file));
    read.map_err(|source| Failure::file("read", path, &source))
}

fn up_to(most: usize, from: impl Read) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    from.take(most as u64 + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn in_folder(folder: &Path) -> Result<PathBuf> {
    let mut found = NAMES.iter().map(|name| folder.join(name)).filter(|path| path.is_file());
    match (found.next(), found.next()) {
        (Some(only), None) => Ok(only),
        (None, _) => Err(Failure::usage(format!("{} holds no app.yaml or app.json", folder.display()))
            .fix("name the manifest's file instead of its folder")),
        (Some(one), Some(other)) => {
            Err(Failure::usage(format!("{} and {} are both there", one.display(), other.display()))
                .fix("keep one, or name the file"))
        }
    }
}

/// Reads a document that may name images to be made. Faults of a mapping are kept for [`Source::check`], so that all
/// are told at once.
pub(crate) fn read(bytes: &[u8], format: Format, base: &Path) -> Result<Source, Vec<FieldError>> {
    let (tree, positions) = manifest::tree_and_places(bytes, format);
    let tree = tree?;
    let text = written(bytes);
    let (images, places, faults) = (Vec::new(), Vec::new(), Vec::new());
    let mut source =
        Source { base: base.to_path_buf(), text, format, tree, positions, images, places, faults };
    for pointer in pointers(&source.tree) {
        let Some(Value::Object(members)) = source.tree.pointer(&pointer) else { continue };
        match origin(&pointer, members) {
            Ok(origin) => {
                let known = source.images.iter().position(|image| *image == origin);
                let number = known.unwrap_or_else(|| {
                    source.images.push(origin);
                    source.images.len() - 1
                });
                source.places.push((pointer, number));
            }
            Err(faults) => {
                source.faults.extend(faults);
                source.places.push((pointer, usize::MAX));
            }
        }
    }
    Ok(source)
}

/// The text that places count in: without its byte order mark.
pub(crate) fn written(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    text.strip_prefix('\u{feff}').unwrap_or(&text).to_owned()
}

/// Every place of a manifest that names an image.
fn pointers(tree: &Value) -> Vec<String> {
    let count = |value: &Value| value.as_array().map_or(0, Vec::len);
    let mut found = vec!["/artifact_ref".to_owned(), "/runtime_profile/image_ref".to_owned()];
    found.extend((0..count(&tree["components"])).map(|at| format!("/components/{at}/image_ref")));
    for at in 0..count(&tree["artifacts"]) {
        let variants = count(&tree["artifacts"][at]["variants"]);
        found.extend((0..variants).map(|number| format!("/artifacts/{at}/variants/{number}/image_ref")));
    }
    found
}

fn origin(pointer: &str, members: &Map<String, Value>) -> Result<Origin, Vec<FieldError>> {
    let mut faults = Vec::new();
    let mut texts: BTreeMap<&str, &str> = BTreeMap::new();
    for (name, value) in members {
        let at = format!("{pointer}/{}", name.replace('~', "~0").replace('/', "~1"));
        match (MEMBERS.contains(&name.as_str()), value.as_str()) {
            (false, _) => {
                let meant = nearest(name, MEMBERS.iter().copied())
                    .map_or_else(String::new, |meant| format!(" Did you mean {meant}?"));
                let message = format!("An image to be made has no such field.{meant}");
                faults.push(FieldError::new(at, "unknown_field", message));
            }
            (true, None) => faults.push(FieldError::new(at, "wrong_type", "This is a text.")),
            (true, Some("")) => {
                faults.push(FieldError::new(at, "invalid_value", "This is empty."));
            }
            (true, Some(text)) => {
                texts.insert(name, text);
            }
        }
    }
    let mut refuse = |member: &str, code, message: &str| {
        faults.push(FieldError::new(format!("{pointer}{member}"), code, message));
    };
    let variant = texts.get("variant").map(|variant| (*variant).to_owned());
    if variant.as_deref().is_some_and(|variant| Slug::parse(variant).is_err()) {
        refuse("/variant", "invalid_value", "A variant is called like cpu, nvidia-h200 or amd-rocm.");
    }
    let tag = texts.get("tag").map(|tag| (*tag).to_owned());
    if tag.as_deref().is_some_and(|tag| tag.parse::<Tag>().is_err()) {
        refuse("/tag", "invalid_value", "A tag is 1 to 128 letters, digits, dots, hyphens or underscores.");
    }
    let from = match (members.contains_key("build"), members.contains_key("image")) {
        (true, false) => texts.get("build").map(|folder| From::Build(PathBuf::from(folder))),
        (false, true) => match texts.get("image").map(|text| image(text)) {
            Some(None) => {
                refuse("/image", "invalid_value", "Write docker:NAME, layout:FOLDER or archive:FILE.");
                None
            }
            found => found.flatten(),
        },
        (true, true) => {
            refuse("", "invalid_value", "Write build or image, not both.");
            None
        }
        (false, false) => {
            refuse("", "required", "Write {build: FOLDER}, {image: SOURCE}, or a reference with its digest.");
            None
        }
    };
    match from {
        Some(from) if faults.is_empty() => Ok(Origin { from, variant, tag }),
        _ => Err(faults),
    }
}

fn image(text: &str) -> Option<From> {
    let (kind, rest) = text.split_once(':')?;
    match kind {
        _ if rest.is_empty() => None,
        // A name that starts with a hyphen would be an option of the engine's client.
        "docker" if !rest.starts_with('-') => Some(From::Docker(rest.to_owned())),
        "layout" => Some(From::Layout(PathBuf::from(rest))),
        "archive" => Some(From::Archive(PathBuf::from(rest))),
        _ => None,
    }
}

/// All that can be said about a manifest without a platform.
pub(crate) struct Judged {
    /// Where the shape is good.
    pub(crate) document: Option<Document>,
    pub(crate) errors: Vec<FieldError>,
    pub(crate) warnings: Vec<FieldError>,
}

impl Source {
    /// The manifest with made-up digests, or every fault: of the mappings, of what they name, of all the rest.
    pub(crate) fn check(&self) -> Result<Document, Vec<FieldError>> {
        let Judged { document, errors, .. } = self.judge();
        document.filter(|_| errors.is_empty()).ok_or(errors)
    }

    pub(crate) fn judge(&self) -> Judged {
        let made_up = |number: usize| {
            let text = self.images.get(number).map_or_else(String::new, |image| format!("{image:?}"));
            format!("{MADE_UP}@{}", Digest::of(text.as_bytes()))
        };
        let parsed = if self.places.is_empty() {
            manifest::parse(self.text.as_bytes(), self.format)
        } else {
            manifest::parse(self.with(made_up).to_string().as_bytes(), Format::Json)
        };
        let (document, mut errors) = match parsed {
            Ok(document) => {
                let errors = manifest::lint(&document.manifest, None);
                (Some(document), errors)
            }
            Err(errors) => (None, errors),
        };
        errors.extend(self.faults.iter().cloned().chain(self.missing()));
        errors.sort_by(|one, other| one.path.cmp(&other.path).then(one.code.cmp(other.code)));
        let warnings = document.iter().flat_map(|document| manifest::advise(&document.manifest)).collect();
        Judged { document, errors, warnings }
    }

    /// Folders and files that are not there, or are not what they should be.
    fn missing(&self) -> Vec<FieldError> {
        let fault = |number: usize, member: &str, message: String| {
            let (pointer, _) = self.places.iter().find(|(_, image)| *image == number)?;
            Some(FieldError::new(format!("{pointer}/{member}"), "not_found", message))
        };
        let look = |(number, image): (usize, &Origin)| match &image.from {
            From::Build(folder) if !self.base.join(folder).is_dir() => {
                fault(number, "build", format!("There is no folder {}.", folder.display()))
            }
            From::Build(folder) if recipe(&self.base.join(folder)).is_none() => {
                let shown = folder.display();
                let message = if self.base.join(folder).join("build").is_file() {
                    format!("The program `build` in {shown} may not be run; use chmod +x {shown}/build.")
                } else {
                    format!("{shown} holds neither a program `build` nor a Dockerfile.")
                };
                fault(number, "build", message)
            }
            From::Layout(folder) if !self.base.join(folder).join("oci-layout").is_file() => {
                fault(number, "image", format!("{} is no folder with an OCI layout.", folder.display()))
            }
            From::Archive(file) if !self.base.join(file).is_file() => {
                fault(number, "image", format!("There is no file {}.", file.display()))
            }
            From::Build(_) | From::Docker(_) | From::Layout(_) | From::Archive(_) => None,
        };
        self.images.iter().enumerate().filter_map(look).collect()
    }

    fn with(&self, reference: impl Fn(usize) -> String) -> Value {
        let mut tree = self.tree.clone();
        for (pointer, number) in &self.places {
            if let Some(place) = tree.pointer_mut(pointer) {
                *place = Value::String(reference(*number));
            }
        }
        tree
    }

    /// The manifest with these references in the places of its images, and its text.
    pub(crate) fn lock(&self, references: &[String]) -> Result<Locked> {
        let broken = || Failure::new(Exit::Trouble, "lock", "the references cannot be put into the manifest");
        if references.len() != self.images.len() {
            return Err(broken());
        }
        let tree = self.with(|number| references.get(number).cloned().unwrap_or_default());
        let document = manifest::parse(tree.to_string().as_bytes(), Format::Json).map_err(|_| broken())?;
        let text = self
            .rewritten(references)
            .filter(|text| manifest::tree(text.as_bytes(), self.format).is_ok_and(|found| found == tree));
        let text = text.unwrap_or_else(|| match self.format {
            Format::Json => format!("{tree:#}\n"),
            Format::Yaml | Format::Guess => yaml::render(&tree),
        });
        Ok(Locked { text, json: self.format == Format::Json, document })
    }

    /// The text with nothing changed but the mappings. None where their places cannot be told.
    fn rewritten(&self, references: &[String]) -> Option<String> {
        let mut changes: Vec<(Range<usize>, &String)> = Vec::new();
        for (pointer, number) in &self.places {
            changes.push((self.positions.find(pointer)?.value.clone(), references.get(*number)?));
        }
        changes.sort_by_key(|(span, _)| span.start);
        let (mut out, mut at) = (String::new(), 0);
        for (span, reference) in changes {
            out.push_str(self.text.get(at..span.start)?);
            at = span.end;
            match self.format {
                Format::Json => out.push_str(&Value::String(reference.clone()).to_string()),
                Format::Yaml | Format::Guess => out.push_str(reference),
            }
        }
        out.push_str(self.text.get(at..)?);
        Some(out)
    }
}

/// A manifest that names every image by its digest.
pub(crate) struct Locked {
    pub(crate) text: String,
    pub(crate) json: bool,
    pub(crate) document: Document,
}

/// How a folder makes its image.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Recipe {
    Program(PathBuf),
    Dockerfile,
}

pub(crate) fn recipe(folder: &Path) -> Option<Recipe> {
    let program = folder.join("build");
    let runs = |path: &Path| {
        std::fs::metadata(path).is_ok_and(|about| about.is_file() && about.permissions().mode() & 0o111 != 0)
    };
    if runs(&program) {
        return Some(Recipe::Program(program));
    }
    folder.join("Dockerfile").is_file().then_some(Recipe::Dockerfile)
}

#[cfg(test)]
#[path = "source_tests.rs"]
mod tests;
