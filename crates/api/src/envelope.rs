//! The error envelope and the list envelope: one shape each, for every endpoint.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What every error looks like.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct ErrorBody {
    pub error: ErrorDetail,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct ErrorDetail {
    /// Stable; never changes its meaning. Each has a page under `docs/errors/`.
    pub code: String,
    /// One sentence in English that says what to do.
    pub message: String,
    /// The values behind the message, for clients that translate it.
    #[serde(default)]
    pub params: BTreeMap<String, serde_json::Value>,
    /// Finds this request in logs, events and audit rows.
    pub correlation_id: String,
    /// The fields that are wrong, if it was about fields.
    #[serde(default)]
    pub fields: Vec<FieldDetail>,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct FieldDetail {
    /// JSON pointer into the request body, or `/name` of a query parameter.
    pub path: String,
    pub code: String,
    pub message: String,
}

/// A page of a list.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "ListOf{T}")]
pub struct List<T> {
    pub items: Vec<T>,
    /// Pass as `cursor` to read on; absent at the end.
    pub next_cursor: Option<String>,
}

/// The query of every plain list.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PageQuery {
    /// At most this many items.
    #[schemars(range(min = 1, max = 200))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
    /// `next_cursor` of the page before.
    #[schemars(length(max = 512))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
}

/// Members of an answer that are shown once. An answer that has any of them also has `secret_redacted`, and a
/// repeated request gets them as `null` with `secret_redacted` true.
pub const SHOWN_ONCE: &[&str] =
    &["secret", "token", "url", "initial_password", "private_key_pem", "wrapped_private_key", "wrap_token"];
