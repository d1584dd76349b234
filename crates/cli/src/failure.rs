//! Every way a command can end other than well, with its exit code and what to do about it.

use std::error::Error as _;

use gpuaas_api::client::ClientError;
use gpuaas_api::envelope::{ErrorBody, ErrorDetail};

pub(crate) type Result<T, E = Failure> = std::result::Result<T, E>;

/// Exit codes are contract: scripts decide by them. `args::EXIT_CODES` documents them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    No = 1,
    Usage = 2,
    NotSignedIn = 3,
    Forbidden = 4,
    NotFound = 5,
    Conflict = 6,
    Trouble = 7,
    Invalid = 8,
    /// Neither yes nor no: it goes on without us.
    StillGoing = 9,
}

#[derive(Debug)]
pub(crate) enum Failure {
    /// The platform's own refusal.
    Api { status: u16, detail: Box<ErrorDetail> },
    /// Found out on this side.
    Local { exit: Exit, code: &'static str, message: String, fix: Option<String> },
    /// All has been said on stdout already; only the exit code is left.
    Said(Exit),
    /// Whoever read our output has gone, which is their right.
    PipeClosed,
}

impl Failure {
    pub(crate) fn new(exit: Exit, code: &'static str, message: impl Into<String>) -> Self {
        Self::Local { exit, code, message: message.into(), fix: None }
    }

    pub(crate) fn usage(message: impl Into<String>) -> Self {
        Self::new(Exit::Usage, "usage", message)
    }

    #[must_use]
    pub(crate) fn fix(mut self, text: impl Into<String>) -> Self {
        if let Self::Local { fix, .. } = &mut self {
            *fix = Some(text.into());
        }
        self
    }

    /// A file that cannot be used.
    pub(crate) fn file(what: &str, path: &std::path::Path, source: &std::io::Error) -> Self {
        Self::new(Exit::Usage, "file", format!("cannot {what} {}: {source}", path.display()))
    }

    pub(crate) fn not_signed_in(message: impl Into<String>) -> Self {
        Self::new(Exit::NotSignedIn, "not_signed_in", message).fix("run `gpuaas login --url URL`")
    }

    pub(crate) fn exit_code(&self) -> u8 {
        match self {
            Self::Api { status, .. } => by_status(*status) as u8,
            Self::Local { exit, .. } | Self::Said(exit) => *exit as u8,
            Self::PipeClosed => 0,
        }
    }

    /// Whether somebody else could: the caller lacks a right, or is a machine where a person is asked for.
    pub(crate) fn is_forbidden(&self) -> bool {
        matches!(self, Self::Api { status: 403, .. })
    }

    /// Whether the same question may get an answer a little later.
    pub(crate) fn is_passing(&self) -> bool {
        self.exit_code() == Exit::Trouble as u8
            && !matches!(self, Self::Local { code: "unexpected_answer" | "output", .. })
    }

    /// The failure in the shape of the API's own errors, whoever found it.
    pub(crate) fn body(&self) -> Option<ErrorBody> {
        let error = match self {
            Self::Api { detail, .. } => (**detail).clone(),
            Self::Local { code, message, .. } => ErrorDetail {
                code: (*code).to_owned(),
                message: message.clone(),
                params: std::collections::BTreeMap::default(),
                correlation_id: String::new(),
                fields: Vec::new(),
            },
            Self::Said(_) | Self::PipeClosed => return None,
        };
        Some(ErrorBody { error })
    }

    pub(crate) fn hint(&self) -> Option<String> {
        match self {
            Self::Api { status, detail } => hint(*status, &detail.code).map(str::to_owned),
            Self::Local { fix, .. } => fix.clone(),
            Self::Said(_) | Self::PipeClosed => None,
        }
    }
}

fn by_status(status: u16) -> Exit {
    match status {
        401 => Exit::NotSignedIn,
        403 => Exit::Forbidden,
        404 => Exit::NotFound,
        409 | 412 | 422 => Exit::Conflict,
        429 | 300..=399 | 500.. => Exit::Trouble,
        _ => Exit::Invalid,
    }
}

/// What to do next; the code is more exact than the status, so it is asked first.
fn hint(status: u16, code: &str) -> Option<&'static str> {
    let by_code = match code {
        "limit_reached" => {
            "see `gpuaas tenant limits` or `gpuaas project limits`; an operator can raise one with `set-limit`"
        }
        "illegal_state_move" => "look at the object's state with `get` first",
        "stale_version" => "somebody changed it meanwhile: run the command again",
        "illegal_instance_move" => "look at it with `gpuaas instance get` first",
        "instance_not_running" => "start it with `gpuaas instance start`",
        "plan_changed" => "make a new plan with `gpuaas instance plan`, look at it, and decide again",
        "not_entitled" => {
            "see `gpuaas app catalog`; an administrator enables an app with `gpuaas entitlement enable`"
        }
        "node_away" | "node_not_ready" => {
            "its node's agent is not connected or the node takes no work; an operator sees why with `gpuaas node get`"
        }
        "allocation_not_active" => {
            "see `gpuaas allocation list`; ask for another with `gpuaas allocation request`"
        }
        "artifact_not_verified" => {
            "sign it with a key of the project, then a person runs `gpuaas artifact verify`"
        }
        "artifact_not_promoted" | "promotion_out_of_order" => {
            "promote it channel by channel with `gpuaas artifact promote`; `gpuaas registry info` shows the order"
        }
        "image_source_not_allowed" => {
            "`gpuaas registry info` shows where images come from; `gpuaas app publish` pushes them there"
        }
        "artifact_not_registered" => {
            "`gpuaas artifact list --visible` shows what the project may have; for other tenants publish with --visibility platform, for other projects `gpuaas registry visibility APP tenant`"
        }
        "artifact_revoked" | "artifact_not_active" => {
            "launch another version with --version, or publish a new one; `gpuaas artifact get` shows why"
        }
        "version_not_launchable" => {
            "`gpuaas app versions` shows how far each version is; launch another with --version"
        }
        "has_live_objects" => "end what it names first",
        "volume_in_use" => {
            "stop what it names, or mount the volume read-only with PLACE=volume:NAME:ro; `gpuaas volume get` shows who holds it"
        }
        "volume_not_ready" => "`gpuaas volume list` shows how each volume is",
        "volume_on_other_node" => {
            "launch on an allocation of the volume's node; `gpuaas volume get` names it"
        }
        "allocation_full" => {
            "end an instance, ask for less with --cpu and --memory, or use another allocation"
        }
        "repository_taken" | "repository_fixed" => "`gpuaas registry info` shows the project's repositories",
        "artifact_exists" => "`gpuaas artifact list` shows it",
        "key_exists" => "`gpuaas key list` shows it",
        "illegal_artifact_move" => "`gpuaas artifact get` shows how far it is",
        "not_an_image" => "push a container image; other files cannot be launched",
        "version_exists" => "raise `version` in the manifest",
        "human_actor_required" => "a person has to do this; service accounts may not",
        "no_capacity" => "try a smaller SKU, or ask an operator for room",
        "name_taken" => "choose another name, or look at the one that has it with `list`",
        "port_not_declared" => "`gpuaas instance get` shows the ports that the app declares",
        "public_access_off" => {
            "the operator's setting gateway.public_access decides how open endpoints may be"
        }
        "idempotency_key_reused" => "run the command again; it makes a new key each time",
        _ => "",
    };
    if !by_code.is_empty() {
        return Some(by_code);
    }
    match status {
        300..=399 => Some(
            "use the final address as --url; redirects are not followed, because they could carry your token away",
        ),
        401 => Some("run `gpuaas login`"),
        403 => Some("ask an administrator for a role; `gpuaas whoami` shows the ones you hold"),
        404 => Some("check the name with `list`; what you may not see looks the same as what is not there"),
        400 | 413 | 415 => Some("correct the fields named above; `--help` shows examples"),
        429 => Some("wait a little and run the command again"),
        502..=504 => Some("the platform is starting or overloaded; `gpuaas doctor` tells more"),
        500.. => Some("give the correlation id to whoever runs the platform"),
        _ => None,
    }
}

impl From<ClientError> for Failure {
    fn from(error: ClientError) -> Self {
        match error {
            ClientError::Api { status, detail } => Self::Api { status, detail },
            ClientError::Transport { ref source, .. } => {
                let chain = chain(source);
                let fix = transport_fix(&chain);
                Self::new(Exit::Trouble, "transport", format!("{error}: {chain}")).fix(fix)
            }
            ClientError::Decode { ref source, ref correlation_id, .. } => Self::new(
                Exit::Trouble,
                "unexpected_answer",
                format!("{error}: {source} (correlation id {correlation_id})"),
            )
            .fix("check that the URL is the platform's and that this program is not older than the platform"),
            ClientError::Unusable { what } => Self::usage(what),
        }
    }
}

impl From<gpuaas_oci::ClientError> for Failure {
    fn from(error: gpuaas_oci::ClientError) -> Self {
        use gpuaas_oci::ClientError as E;
        let chain = chain(&error);
        let (exit, fix) = match &error {
            E::Unreachable { .. } => (Exit::Trouble, transport_fix(&chain)),
            E::TimedOut { .. } | E::BrokenOff { .. } => {
                (Exit::Trouble, "run the command again: what has come through is not sent again")
            }
            E::Unauthorized { .. } => {
                (Exit::NotSignedIn, "the credential has ended or was revoked; run the command again")
            }
            E::Refused { status, .. } => {
                (by_status(*status), "see `gpuaas registry info` for room and addresses")
            }
            E::NotFound { .. } => (Exit::NotFound, "check the name with `gpuaas artifact list`"),
            E::ForeignRealm { .. } | E::OtherHost { .. } | E::Downgrade { .. } => (
                Exit::Trouble,
                "the registry is set up otherwise than the platform says; tell whoever runs it",
            ),
            E::Unusable { .. }
            | E::TooManyRedirects { .. }
            | E::UnknownChallenge { .. }
            | E::NoToken { .. }
            | E::NotRenewed { .. }
            | E::Damaged { .. }
            | E::TooLarge { .. }
            | E::OtherDigest { .. }
            | E::OtherSize { .. }
            | E::Manifest { .. }
            | E::Layout { .. }
            | E::BadAnswer { .. }
            | E::Local { .. } => return Self::new(Exit::Trouble, "registry", chain),
        };
        Self::new(exit, "registry", chain).fix(fix)
    }
}

/// The causes of an error, outermost first, without repetitions.
pub(crate) fn chain(error: &dyn std::error::Error) -> String {
    let mut parts = vec![error.to_string()];
    let mut next = error.source();
    while let Some(cause) = next {
        let text = cause.to_string();
        if !parts.iter().any(|part| part.contains(&text)) {
            parts.push(text);
        }
        next = cause.source();
    }
    parts.join(": ")
}

/// What to do about a call without an answer, judged by the words of its causes: the TLS library has no codes.
pub(crate) fn transport_fix(chain: &str) -> &'static str {
    let chain = chain.to_lowercase();
    if chain.contains("notvalidforname") || chain.contains("not valid for name") {
        "use the name that stands in the certificate as --url"
    } else if chain.contains("certificate") {
        "the certificate is not trusted here: give the platform's CA with --ca-file"
    } else if chain.contains("invalidcontenttype") {
        "this port does not speak TLS: use http:// if it is on this machine"
    } else {
        "check the URL, that the platform runs, and the network; `gpuaas doctor` shows what works"
    }
}

impl From<std::io::Error> for Failure {
    fn from(error: std::io::Error) -> Self {
        if error.kind() == std::io::ErrorKind::BrokenPipe {
            return Self::PipeClosed;
        }
        Self::new(Exit::Trouble, "output", format!("cannot write the answer: {}", chain(&error)))
    }
}

/// For answers that carry what the types of this version do not know how to read.
pub(crate) fn unexpected(source: &serde_json::Error) -> Failure {
    let cause = source.source().map_or_else(String::new, |cause| format!(" ({cause})"));
    Failure::new(
        Exit::Trouble,
        "unexpected_answer",
        format!("the platform's answer has another shape: {source}{cause}"),
    )
}
