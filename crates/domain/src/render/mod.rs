//! From one [`RenderInput`] to what an engine is given. Rendering is serialising: values go into the typed fields of an
//! output model, and nothing that the model has no field for can be written.
//!
//! Each engine's reader reads some texts a second time (`$` in Compose, `$(X)` in Kubernetes), so each module has an *escape
//! law* in its header and a type or a test that holds it. What an engine cannot say is never dropped in silence: it is a
//! [`Gap`] with the pointer into the input, and a gap that would change what the user was promised is a refusal.
//!
//! Equal input gives equal bytes. The digest is over engine, renderer version and files; a renderer that would write other
//! bytes for an old input gets the next version first.

mod check;
pub mod compose;
pub mod container;
pub mod helm;
pub mod input;
pub mod kubernetes;
mod mask;
mod shared;
pub mod vllm_openai;
mod yaml;

use gpuaas_agent_protocol::Digest;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

pub use check::start_order;
pub use input::RenderInput;
pub use mask::masked;

use crate::event::canonical;
use crate::manifest::ExecutionEngine;
use crate::{Error, FieldError, Kind};

/// What an engine is given, and what it was not possible to tell it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Rendered {
    pub engine: ExecutionEngine,
    pub renderer_version: i64,
    pub files: Vec<RenderedFile>,
    pub digest: String,
    /// Notes only; a gap that refuses leaves nothing to show.
    pub gaps: Vec<Gap>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RenderedFile {
    pub name: String,
    pub media_type: String,
    pub bytes: String,
}

/// Something of the input that the engine takes otherwise than written, or not at all.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Gap {
    /// A JSON pointer into the input.
    pub path: String,
    pub code: &'static str,
    pub message: String,
    pub severity: Severity,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// Nothing is rendered.
    Refuse,
    /// It runs, and somebody else sees to this field, or it holds roughly.
    Note,
}

impl Gap {
    fn refuse(path: impl Into<String>, code: &'static str, message: impl Into<String>) -> Self {
        Self { path: path.into(), code, message: message.into(), severity: Severity::Refuse }
    }

    fn note(path: impl Into<String>, code: &'static str, message: impl Into<String>) -> Self {
        Self { path: path.into(), code, message: message.into(), severity: Severity::Note }
    }
}

/// Why nothing was rendered: every fault of the input, or every field that the engine cannot say.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Refusal {
    /// At least one refuses; notes are kept, so that a reader sees all at once.
    pub gaps: Vec<Gap>,
}

impl Refusal {
    /// The gaps as they are if none of them refuses.
    fn unless_clean(gaps: Vec<Gap>) -> Result<Vec<Gap>, Self> {
        if gaps.iter().any(|gap| gap.severity == Severity::Refuse) { Err(Self { gaps }) } else { Ok(gaps) }
    }

    pub fn refusing(&self) -> impl Iterator<Item = &Gap> {
        self.gaps.iter().filter(|gap| gap.severity == Severity::Refuse)
    }
}

impl From<Refusal> for Error {
    fn from(refusal: Refusal) -> Self {
        let fields: Vec<FieldError> =
            refusal.refusing().map(|gap| FieldError::new(&gap.path, gap.code, &gap.message)).collect();
        let path = fields.first().map_or("/", |field| field.path.as_str()).to_owned();
        Error::new(
            Kind::Unprocessable,
            "spec_refused",
            "The profile cannot be run: the engine's own rules refuse it.",
        )
        .with_param("path", path)
        .with_fields(fields)
    }
}

/// Renders for one engine.
pub fn render(engine: ExecutionEngine, input: &RenderInput) -> Result<Rendered, Refusal> {
    match engine {
        ExecutionEngine::NodeAgent => container::render(input),
        ExecutionEngine::DockerCompose => compose::render(input),
        ExecutionEngine::Kubernetes => kubernetes::render(input),
        ExecutionEngine::Helm => helm::render(input),
        ExecutionEngine::Dstack => Err(Refusal {
            gaps: vec![Gap::refuse("/", "no_renderer", "The platform does not render for this engine yet.")],
        }),
    }
}

impl Rendered {
    fn new(engine: ExecutionEngine, renderer_version: i64, files: Vec<RenderedFile>, gaps: Vec<Gap>) -> Self {
        let digest = digest(engine, renderer_version, &files);
        Self { engine, renderer_version, files, digest, gaps }
    }
}

/// Of what is given to the engine, so that stored bytes can be checked without rendering again.
pub fn digest(engine: ExecutionEngine, renderer_version: i64, files: &[RenderedFile]) -> String {
    let whole = json!({ "engine": engine, "files": files, "renderer_version": renderer_version });
    Digest::of(canonical(&whole).as_bytes()).to_string()
}

const YAML: &str = "application/yaml";
const JSON: &str = "application/json";

fn yaml_file(name: impl Into<String>, model: &impl Serialize) -> RenderedFile {
    RenderedFile { name: name.into(), media_type: YAML.to_owned(), bytes: yaml::document(&tree(model)) }
}

/// A model as a tree. Its keys are text and its numbers whole, so there is nothing that could fail.
fn tree(model: &impl Serialize) -> Value {
    serde_json::to_value(model).expect("an output model is plain data")
}
