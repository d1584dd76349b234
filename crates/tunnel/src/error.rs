//! What can go wrong, sorted by what the caller can do about it.

use std::fmt;

#[derive(Debug)]
pub enum Error {
    /// The address is not one to dial.
    Address(String),
    /// Nobody there, or the connection broke while it was made.
    Unreachable(std::io::Error),
    /// The other end is not who it should be; nothing was sent to it.
    Untrusted(rustls::Error),
    /// The other end answered, and it was no.
    Answered {
        status: u16,
        message: String,
    },
    TimedOut,
    /// The link is closed.
    Closed,
    /// The link broke under a call; whether the other end heard is unknown.
    Broken(String),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Address(what) => write!(f, "not an address to dial: {what}"),
            Self::Unreachable(_) => f.write_str("the other end cannot be reached"),
            Self::Untrusted(_) => f.write_str("the other end is not who it should be"),
            Self::Answered { status, message } => write!(f, "the other end answered {status}: {message}"),
            Self::TimedOut => f.write_str("no answer in time"),
            Self::Closed => f.write_str("the link is closed"),
            Self::Broken(what) => write!(f, "the link broke: {what}"),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Unreachable(error) => Some(error),
            Self::Untrusted(error) => Some(error),
            Self::Address(_) | Self::Answered { .. } | Self::TimedOut | Self::Closed | Self::Broken(_) => {
                None
            }
        }
    }
}

/// The whole chain in one line: hyper's own text says only "connection error".
pub(crate) fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        text.push_str(": ");
        text.push_str(&cause.to_string());
        source = cause.source();
    }
    text
}
