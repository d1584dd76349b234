//! What can go wrong between a caller and the platform, sorted by who has to do something about it.

use std::fmt::Display;

use crate::envelope::ErrorDetail;

#[derive(Debug)]
pub enum ClientError {
    /// The platform answered, and the answer is no.
    Api { status: u16, detail: Box<ErrorDetail> },
    /// No answer.
    Transport { url: String, source: reqwest::Error },
    /// An answer that is not of this contract.
    Decode { url: String, correlation_id: String, source: serde_json::Error },
    /// The client cannot do this: a URL, a certificate or an answer it cannot work with.
    Unusable { what: String },
}

impl Display for ClientError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Api { status, detail } => write!(f, "{status} {}: {}", detail.code, detail.message),
            Self::Transport { url, .. } => write!(f, "no answer from {url}"),
            Self::Decode { url, .. } => write!(f, "the answer from {url} is not one of this API"),
            Self::Unusable { what } => f.write_str(what),
        }
    }
}

impl std::error::Error for ClientError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Transport { source, .. } => Some(source),
            Self::Decode { source, .. } => Some(source),
            Self::Api { .. } | Self::Unusable { .. } => None,
        }
    }
}
