//! The one error that crosses layers, sorted by what the caller can do about it.
//!
//! Public words (`code`, `message`, `params`, `fields`) are written for the person who called; `internal` is
//! written for the operator, goes to the log once, and is never sent.

use std::collections::BTreeMap;

use serde_json::Value;

pub type Result<T, E = Error> = std::result::Result<T, E>;

/// What the caller can do about it. HTTP status codes are chosen from this in one place, in `server`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The request is wrong as written: mend it.
    Invalid,
    /// The request is well-formed but breaks a rule of the platform: change it.
    Unprocessable,
    /// Sign in (again).
    Unauthenticated,
    /// Ask somebody for the permission.
    Forbidden,
    /// It is not there, or not yours, which is the same to you.
    NotFound,
    /// The world is not in the state this needs: look, then try again.
    Conflict,
    /// Somebody changed it since you read it: read again.
    Stale,
    /// Slow down.
    TooMany,
    /// The body is larger than this route takes.
    TooLarge,
    /// Not our kind of body.
    UnsupportedMedia,
    /// The path is there, the method is not.
    NoSuchMethod,
    /// A part we need is away for the moment: try again.
    Unavailable,
    /// Our fault.
    Internal,
}

/// One field of the request that is wrong: a JSON pointer, a stable code, a sentence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FieldError {
    pub path: String,
    pub code: &'static str,
    pub message: String,
}

impl FieldError {
    pub fn new(path: impl Into<String>, code: &'static str, message: impl Into<String>) -> Self {
        Self { path: path.into(), code, message: message.into() }
    }
}

/// Boxed inside, so that a `Result` stays small on the way up.
#[derive(Debug)]
pub struct Error(Box<Inner>);

#[derive(Debug)]
struct Inner {
    kind: Kind,
    code: &'static str,
    message: String,
    params: BTreeMap<&'static str, Value>,
    fields: Vec<FieldError>,
    internal: Option<String>,
    source: Option<Box<dyn std::error::Error + Send + Sync>>,
}

impl Error {
    pub fn new(kind: Kind, code: &'static str, message: impl Into<String>) -> Self {
        Self(Box::new(Inner {
            kind,
            code,
            message: message.into(),
            params: BTreeMap::new(),
            fields: Vec::new(),
            internal: None,
            source: None,
        }))
    }

    pub fn invalid(code: &'static str, message: impl Into<String>) -> Self {
        Self::new(Kind::Invalid, code, message)
    }

    /// Field errors gathered under the common code `validation_failed`.
    pub fn fields(fields: Vec<FieldError>) -> Self {
        let mut error = Self::invalid("validation_failed", "The request has fields that cannot be accepted.");
        error.0.fields = fields;
        error
    }

    pub fn field(path: impl Into<String>, code: &'static str, message: impl Into<String>) -> Self {
        Self::fields(vec![FieldError::new(path, code, message)])
    }

    pub fn unauthenticated(code: &'static str, message: impl Into<String>) -> Self {
        Self::new(Kind::Unauthenticated, code, message)
    }

    pub fn forbidden(code: &'static str, message: impl Into<String>) -> Self {
        Self::new(Kind::Forbidden, code, message)
    }

    /// Missing and foreign objects give exactly this, so that neither can be told from the other.
    pub fn not_found() -> Self {
        Self::new(Kind::NotFound, "not_found", "There is no such object, or you may not see it.")
    }

    pub fn conflict(code: &'static str, message: impl Into<String>) -> Self {
        Self::new(Kind::Conflict, code, message)
    }

    pub fn stale() -> Self {
        Self::new(Kind::Stale, "stale_version", "The object has changed since you read it; read it again.")
    }

    pub fn internal(what: impl Into<String>) -> Self {
        Self::new(
            Kind::Internal,
            "internal_error",
            "Something went wrong on our side; the log has the details.",
        )
        .with_internal(what)
    }

    /// The same faults in other words, where they are not about a request.
    #[must_use]
    pub fn reworded(mut self, code: &'static str, message: impl Into<String>) -> Self {
        self.0.code = code;
        self.0.message = message.into();
        self
    }

    /// With everything that is wrong, where the first fault has named the refusal.
    #[must_use]
    pub fn with_fields(mut self, fields: Vec<FieldError>) -> Self {
        self.0.fields = fields;
        self
    }

    #[must_use]
    pub fn with_internal(mut self, what: impl Into<String>) -> Self {
        self.0.internal = Some(what.into());
        self
    }

    #[must_use]
    pub fn with_source(mut self, source: impl std::error::Error + Send + Sync + 'static) -> Self {
        self.0.source = Some(Box::new(source));
        self
    }

    #[must_use]
    pub fn with_param(mut self, name: &'static str, value: impl Into<Value>) -> Self {
        self.0.params.insert(name, value.into());
        self
    }

    pub fn kind(&self) -> Kind {
        self.0.kind
    }

    pub fn code(&self) -> &'static str {
        self.0.code
    }

    pub fn message(&self) -> &str {
        &self.0.message
    }

    pub fn params(&self) -> &BTreeMap<&'static str, Value> {
        &self.0.params
    }

    pub fn field_errors(&self) -> &[FieldError] {
        &self.0.fields
    }

    pub fn internal_text(&self) -> Option<&str> {
        self.0.internal.as_deref()
    }
}

impl std::fmt::Display for Error {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}", self.0.code, self.0.message)?;
        for field in &self.0.fields {
            write!(f, " [{} {}: {}]", field.path, field.code, field.message)?;
        }
        if let Some(internal) = &self.0.internal {
            write!(f, " ({internal})")?;
        }
        Ok(())
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.0.source.as_deref().map(|source| source as &(dyn std::error::Error + 'static))
    }
}
