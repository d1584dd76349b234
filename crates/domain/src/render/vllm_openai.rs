//! The platform's own renderer `vllm_openai`: launch values into the arguments of the component `vllm`.
//!
//! A manifest that names this renderer describes what may be chosen; the command is made here and nowhere else. Only the
//! parameters below are known, each becomes one argument `--name=value` that no shell reads, and the one positional
//! argument, the model, cannot begin with a hyphen.

use serde_json::{Map, Value};

use super::input::{ComponentInput, SecretInput};
use crate::FieldError;
use crate::manifest::{Expose, Injection};
use crate::text::{member_at, nearest};

/// As a manifest's `renderer` spells it.
pub const NAME: &str = "vllm_openai";
/// The component that it fills in.
pub const COMPONENT: &str = "vllm";

const KNOWN: &[&str] = &[
    "model",
    "tensor_parallel",
    "max_model_len",
    "dtype",
    "gpu_memory_utilization",
    "served_model_name",
    "hf_token",
];
const DTYPES: &[&str] = &["auto", "half", "float16", "bfloat16", "float", "float32"];
const LONGEST_CONTEXT: u64 = 16 * 1024 * 1024;
/// Read by the hub's client: the path of a file with the token.
const TOKEN_VARIABLE: &str = "HF_TOKEN_PATH";

/// What was chosen, checked.
#[derive(Clone, Debug, PartialEq)]
pub struct Parameters {
    pub model: String,
    pub tensor_parallel: u32,
    pub max_model_len: Option<u64>,
    pub dtype: Option<String>,
    pub gpu_memory_utilization: Option<f64>,
    pub served_model_name: Option<String>,
    /// The name of a secret, not its value.
    pub hf_token: Option<String>,
}

/// Reads the values of a launch, or says everything that is wrong with them.
pub fn read(values: &Map<String, Value>) -> Result<Parameters, Vec<FieldError>> {
    let mut reader = Reader { values, faults: Vec::new() };
    reader.unknown();
    let parameters = Parameters {
        model: reader.text("model", is_model).unwrap_or_default().to_owned(),
        tensor_parallel: reader.whole("tensor_parallel", 64).and_then(|n| u32::try_from(n).ok()).unwrap_or(1),
        max_model_len: reader.whole("max_model_len", LONGEST_CONTEXT),
        dtype: reader.text("dtype", |text| DTYPES.contains(&text)).map(str::to_owned),
        gpu_memory_utilization: reader.share("gpu_memory_utilization"),
        served_model_name: reader.text("served_model_name", is_model).map(str::to_owned),
        hf_token: reader.text("hf_token", is_secret_name).map(str::to_owned),
    };
    if parameters.model.is_empty() && !values.contains_key("model") {
        reader.fault("model", "missing_field", "Name the model that is to be served.");
    }
    if reader.faults.is_empty() { Ok(parameters) } else { Err(reader.faults) }
}

/// Fills the component in: its command, and the token as a file if there is one.
pub fn fill(component: &mut ComponentInput, parameters: &Parameters) -> Result<(), Vec<FieldError>> {
    let devices = component.gpus.len();
    // A part of a model on each device: one left over would idle, one missing would keep it from starting.
    if devices > 0 && devices != parameters.tensor_parallel as usize {
        return Err(vec![FieldError::new(
            "/values/tensor_parallel",
            "tensor_parallel_mismatch",
            format!("The component has {devices} devices; the degree must be the same."),
        )]);
    }
    let Some(port) = component.ports.iter().find(|port| port.expose != Expose::Private) else {
        let message = "The component `vllm` declares no port to serve on.";
        return Err(vec![FieldError::new("/renderer", "port_not_declared", message)]);
    };
    component.command = arguments(parameters, port.container);
    component.secrets.extend(parameters.hf_token.iter().map(|name| SecretInput {
        name: name.clone(),
        inject: Injection::File { env: TOKEN_VARIABLE.to_owned() },
    }));
    Ok(())
}

/// For an image without an entry point of its own, or with one that runs what it is given.
pub fn arguments(parameters: &Parameters, port: u16) -> Vec<String> {
    let mut arguments = vec!["vllm".to_owned(), "serve".to_owned(), parameters.model.clone()];
    let mut option = |name: &str, value: Option<String>| {
        arguments.extend(value.map(|value| format!("--{name}={value}")));
    };
    option("host", Some("0.0.0.0".to_owned()));
    option("port", Some(port.to_string()));
    option("tensor-parallel-size", Some(parameters.tensor_parallel.to_string()));
    option("max-model-len", parameters.max_model_len.map(|length| length.to_string()));
    option("dtype", parameters.dtype.clone());
    option("gpu-memory-utilization", parameters.gpu_memory_utilization.map(|share| share.to_string()));
    option("served-model-name", parameters.served_model_name.clone());
    arguments
}

struct Reader<'a> {
    values: &'a Map<String, Value>,
    faults: Vec<FieldError>,
}

impl<'a> Reader<'a> {
    fn fault(&mut self, name: &str, code: &'static str, message: impl Into<String>) {
        self.faults.push(FieldError::new(member_at("/values", name), code, message));
    }

    fn unknown(&mut self) {
        for name in self.values.keys().filter(|name| !KNOWN.contains(&name.as_str())) {
            let hint = nearest(name, KNOWN.iter().copied());
            let hint = hint.map_or(String::new(), |name| format!(" Did you mean {name}?"));
            let message = format!("The renderer takes no such option.{hint}");
            self.faults.push(FieldError::new(member_at("/values", name), "unknown_value", message));
        }
    }

    fn text(&mut self, name: &str, good: impl Fn(&str) -> bool) -> Option<&'a str> {
        match self.values.get(name)? {
            Value::String(text) if good(text) => return Some(text),
            Value::String(_) => self.fault(name, "invalid_value", "The renderer does not take this text."),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => {
                self.fault(name, "wrong_type", "This must be text.");
            }
        }
        None
    }

    fn whole(&mut self, name: &str, most: u64) -> Option<u64> {
        let number = self.values.get(name)?.as_u64().filter(|number| (1..=most).contains(number));
        if number.is_none() {
            self.fault(name, "out_of_range", format!("This must be a whole number from 1 to {most}."));
        }
        number
    }

    fn share(&mut self, name: &str) -> Option<f64> {
        let share = self.values.get(name)?.as_f64().filter(|share| (0.01..=1.0).contains(share));
        if share.is_none() {
            self.fault(name, "out_of_range", "This must be a number from 0.01 to 1.");
        }
        share
    }
}

/// `owner/name` of a hub, or a path in the container: words of letters, digits and `. _ -`, none of which climbs.
fn is_model(text: &str) -> bool {
    let word = |word: &str| {
        word.starts_with(|c: char| c.is_ascii_alphanumeric())
            && word.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_' | b'-'))
    };
    text.len() <= 256 && text.strip_prefix('/').unwrap_or(text).split('/').all(word)
}

fn is_secret_name(text: &str) -> bool {
    (1..=40).contains(&text.len())
        && !text.starts_with('-')
        && !text.ends_with('-')
        && text.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-')
}
