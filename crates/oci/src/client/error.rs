//! What can go wrong between us and a registry, in words a person can act on.

use std::error::Error as StdError;
use std::fmt;

use crate::manifest::BadManifest;
use crate::{BadLayout, Digest};

#[derive(Debug)]
pub enum ClientError {
    /// The address, repository, tag or setting cannot be used.
    Unusable {
        what: String,
    },
    /// No answer, although asked several times.
    Unreachable {
        url: String,
        source: reqwest::Error,
    },
    /// The registry fell silent.
    TimedOut {
        url: String,
        seconds: u64,
    },
    /// The connection broke in the middle of an answer and could not be taken up again.
    BrokenOff {
        url: String,
        source: Option<reqwest::Error>,
    },
    /// The registry wants to know who asks: there are no credentials, or they are not good enough.
    Unauthorized {
        url: String,
        had_credentials: bool,
    },
    NotFound {
        url: String,
    },
    /// An answer that is not the one the protocol promises.
    Refused {
        url: String,
        status: u16,
        body: String,
    },
    /// The registry sends us to another host.
    OtherHost {
        url: String,
    },
    /// The registry sends us from an encrypted connection to a plain one.
    Downgrade {
        url: String,
    },
    TooManyRedirects {
        url: String,
    },
    /// The registry wants our credentials taken to a token server that nobody allowed.
    ForeignRealm {
        realm: String,
    },
    /// The registry asks for a proof in a way we do not know.
    UnknownChallenge {
        url: String,
    },
    /// The registry refused the token, and whoever issues them gives no other.
    NotRenewed {
        why: String,
    },
    /// The token server answered, but with no token.
    NoToken {
        realm: String,
        why: String,
    },
    TooLarge {
        url: String,
        most: u64,
    },
    /// The bytes, or the registry's name for them, are not what was asked for.
    OtherDigest {
        ours: Digest,
        theirs: String,
    },
    /// The registry itself says that what it holds there is not what its name promises.
    Damaged {
        url: String,
    },
    OtherSize {
        promised: u64,
        found: u64,
    },
    Manifest {
        url: String,
        why: BadManifest,
    },
    /// The layout that was to be sent is not what it says.
    Layout {
        why: BadLayout,
    },
    /// An answer without what it must have.
    BadAnswer {
        url: String,
        why: &'static str,
    },
    /// What was to be sent could not be read, or what came could not be written.
    Local {
        what: String,
        source: std::io::Error,
    },
}

impl fmt::Display for ClientError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unusable { what } | Self::Local { what, .. } => f.write_str(what),
            Self::Unreachable { url, .. } => write!(f, "{url} cannot be reached"),
            Self::TimedOut { url, seconds } => write!(f, "{url} said nothing for {seconds} s"),
            Self::BrokenOff { url, .. } => write!(f, "{url} broke off and could not go on"),
            Self::Unauthorized { url, had_credentials: true } => {
                write!(f, "{url} does not accept the credentials")
            }
            Self::Unauthorized { url, had_credentials: false } => write!(f, "{url} wants credentials"),
            Self::NotFound { url } => write!(f, "{url} is not there"),
            Self::Refused { url, status, body } if body.is_empty() => write!(f, "{url} answered {status}"),
            Self::Refused { url, status, body } => write!(f, "{url} answered {status}: {body}"),
            Self::OtherHost { url } => write!(f, "the registry points to another host: {url}"),
            Self::Downgrade { url } => write!(f, "the registry points to an unencrypted address: {url}"),
            Self::TooManyRedirects { url } => write!(f, "{url} redirects without end"),
            Self::ForeignRealm { realm } => {
                write!(f, "the registry wants the credentials sent to {realm}, which is not allowed")
            }
            Self::UnknownChallenge { url } => {
                write!(f, "{url} wants a proof that is neither Basic nor Bearer")
            }
            Self::NotRenewed { why } => write!(f, "there is no token for the registry any more: {why}"),
            Self::NoToken { realm, why } => write!(f, "{realm} gave no token: {why}"),
            Self::TooLarge { url, most } => write!(f, "{url} sends more than {most} bytes"),
            Self::OtherDigest { ours, theirs } => write!(f, "the registry has {theirs}, but it is {ours}"),
            Self::Damaged { url } => write!(f, "the registry says that {url} is damaged"),
            Self::OtherSize { promised, found } => write!(f, "{promised} bytes are promised, {found} came"),
            Self::Manifest { url, why } => write!(f, "{url}: {why}"),
            Self::Layout { why } => write!(f, "the layout cannot be pushed: {why}"),
            Self::BadAnswer { url, why } => write!(f, "{url} answered without what it must: {why}"),
        }
    }
}

impl StdError for ClientError {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        match self {
            Self::Unreachable { source, .. } => Some(source),
            Self::BrokenOff { source, .. } => source.as_ref().map(|source| source as _),
            Self::Local { source, .. } => Some(source),
            Self::Unusable { .. }
            | Self::TimedOut { .. }
            | Self::Unauthorized { .. }
            | Self::NotFound { .. }
            | Self::Refused { .. }
            | Self::OtherHost { .. }
            | Self::Downgrade { .. }
            | Self::TooManyRedirects { .. }
            | Self::ForeignRealm { .. }
            | Self::UnknownChallenge { .. }
            | Self::NotRenewed { .. }
            | Self::NoToken { .. }
            | Self::TooLarge { .. }
            | Self::OtherDigest { .. }
            | Self::Damaged { .. }
            | Self::OtherSize { .. }
            | Self::Manifest { .. }
            | Self::Layout { .. }
            | Self::BadAnswer { .. } => None,
        }
    }
}

impl ClientError {
    /// Whether asking again may help.
    pub fn may_pass(&self) -> bool {
        match self {
            Self::Unreachable { .. } | Self::TimedOut { .. } | Self::BrokenOff { .. } => true,
            Self::Refused { status, .. } => matches!(status, 408 | 429 | 500 | 502 | 503 | 504),
            Self::Unusable { .. }
            | Self::Unauthorized { .. }
            | Self::NotFound { .. }
            | Self::OtherHost { .. }
            | Self::Downgrade { .. }
            | Self::TooManyRedirects { .. }
            | Self::ForeignRealm { .. }
            | Self::UnknownChallenge { .. }
            | Self::NotRenewed { .. }
            | Self::NoToken { .. }
            | Self::TooLarge { .. }
            | Self::OtherDigest { .. }
            | Self::Damaged { .. }
            | Self::OtherSize { .. }
            | Self::Manifest { .. }
            | Self::Layout { .. }
            | Self::BadAnswer { .. }
            | Self::Local { .. } => false,
        }
    }
}
