//! Steps that tell whether a launched instance works. Here they are declared; each is made so that it needs no program
//! beyond what it names.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::formats;

/// One step: ask a component something, and look at the answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SmokeTest {
    /// What the step is called in reports.
    #[schemars(schema_with = "formats::name")]
    pub name: String,
    /// The component that is asked. May be left out where there is only one.
    #[serde(default)]
    #[schemars(schema_with = "formats::name")]
    pub component: Option<String>,
    /// What is done, and what must come of it.
    pub check: SmokeCheck,
    /// The step is taken only where this holds, such as `addons.metrics` for a step of that add-on.
    #[serde(default)]
    #[schemars(schema_with = "formats::expression")]
    pub when: Option<String>,
    /// The step has failed if it has not passed by then.
    #[serde(default = "one_minute")]
    #[schemars(range(min = 1, max = 3600))]
    pub timeout_seconds: u32,
}

fn one_minute() -> u32 {
    60
}

/// What a step does. Texts may hold `${…}`, which see everything that a component's command sees, but no secret.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum SmokeCheck {
    /// Sends one request.
    Http {
        /// One of the component's ports.
        #[schemars(range(min = 1))]
        port: u16,
        /// Where on the port, with the query if there is one.
        #[schemars(schema_with = "formats::request_path")]
        path: String,
        /// How it is asked.
        #[serde(default, skip_serializing_if = "HttpMethod::is_get")]
        method: HttpMethod,
        /// The status is one of these; empty: 200 to 399.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        #[schemars(length(max = 16), inner(range(min = 100, max = 599)))]
        expect_status: Vec<u16>,
        /// Sent with `POST`: as JSON where it is JSON, otherwise as text.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[schemars(schema_with = "formats::argument")]
        body: Option<String>,
        /// Stands somewhere in the body of the answer.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[schemars(schema_with = "formats::fragment")]
        expect_body_contains: Option<String>,
    },
    /// Opens a connection; that it opens is enough.
    Tcp {
        /// One of the component's ports.
        #[schemars(range(min = 1))]
        port: u16,
    },
    /// Runs a command in the component; exit code 0 is good.
    Exec {
        /// The program and its arguments; no shell reads them.
        #[schemars(schema_with = "formats::arguments", length(min = 1, max = 256))]
        command: Vec<String>,
        /// Stands somewhere in what the command prints.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[schemars(schema_with = "formats::fragment")]
        expect_output_contains: Option<String>,
    },
    /// Opens a WebSocket; that the upgrade succeeds is enough unless something is expected.
    WebSocket {
        /// One of the component's ports.
        #[schemars(range(min = 1))]
        port: u16,
        /// Where on the port.
        #[schemars(schema_with = "formats::request_path")]
        path: String,
        /// One text message that is sent after the upgrade.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[schemars(schema_with = "formats::argument")]
        send: Option<String>,
        /// Stands somewhere in one of the messages that come.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[schemars(schema_with = "formats::fragment")]
        expect_contains: Option<String>,
    },
    /// Asks a model as OpenAI's chat API is asked; an answer that is not empty is good.
    OpenaiChat {
        /// One of the component's ports.
        #[schemars(range(min = 1))]
        port: u16,
        /// Where on the port the API answers.
        #[serde(default = "chat_path")]
        #[schemars(schema_with = "formats::request_path")]
        path: String,
        /// The model, as the server calls it.
        #[schemars(schema_with = "formats::fragment")]
        model: String,
        /// What the user says.
        #[schemars(schema_with = "formats::fragment")]
        prompt: String,
        /// Stands somewhere in the answer.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[schemars(schema_with = "formats::fragment")]
        expect_contains: Option<String>,
    },
    /// The app has called the instance API since it was started.
    Heartbeat,
}

fn chat_path() -> String {
    "/v1/chat/completions".to_owned()
}

/// How a request asks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "UPPERCASE")]
pub enum HttpMethod {
    /// For the answer.
    #[default]
    Get,
    /// With a body.
    Post,
    /// For the head of the answer only.
    Head,
}

impl HttpMethod {
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks so")]
    fn is_get(&self) -> bool {
        *self == Self::Get
    }
}

impl SmokeCheck {
    /// The port it asks.
    pub fn port(&self) -> Option<u16> {
        match self {
            Self::Http { port, .. }
            | Self::Tcp { port }
            | Self::WebSocket { port, .. }
            | Self::OpenaiChat { port, .. } => Some(*port),
            Self::Exec { .. } | Self::Heartbeat => None,
        }
    }

    /// The path it asks for.
    pub fn path(&self) -> Option<&str> {
        match self {
            Self::Http { path, .. } | Self::WebSocket { path, .. } | Self::OpenaiChat { path, .. } => {
                Some(path)
            }
            Self::Tcp { .. } | Self::Exec { .. } | Self::Heartbeat => None,
        }
    }

    /// The fields that are one text each and may hold expressions. A command is told apart: there a list is several arguments.
    pub fn texts(&self) -> Vec<(&'static str, &str)> {
        let all: Vec<(&'static str, Option<&String>)> = match self {
            Self::Http { path, body, expect_body_contains, .. } => vec![
                ("path", Some(path)),
                ("body", body.as_ref()),
                ("expect_body_contains", expect_body_contains.as_ref()),
            ],
            Self::Exec { expect_output_contains, .. } => {
                vec![("expect_output_contains", expect_output_contains.as_ref())]
            }
            Self::WebSocket { path, send, expect_contains, .. } => vec![
                ("path", Some(path)),
                ("send", send.as_ref()),
                ("expect_contains", expect_contains.as_ref()),
            ],
            Self::OpenaiChat { path, model, prompt, expect_contains, .. } => vec![
                ("path", Some(path)),
                ("model", Some(model)),
                ("prompt", Some(prompt)),
                ("expect_contains", expect_contains.as_ref()),
            ],
            Self::Tcp { .. } | Self::Heartbeat => Vec::new(),
        };
        all.into_iter().filter_map(|(field, text)| Some((field, text?.as_str()))).collect()
    }

    /// The command it runs; empty where it runs none.
    pub fn command(&self) -> &[String] {
        match self {
            Self::Exec { command, .. } => command,
            Self::Http { .. }
            | Self::Tcp { .. }
            | Self::WebSocket { .. }
            | Self::OpenaiChat { .. }
            | Self::Heartbeat => &[],
        }
    }
}
