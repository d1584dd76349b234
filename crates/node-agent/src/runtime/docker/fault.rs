//! What an engine's error means, in the closed list of reasons.

use bollard::errors::Error;
use gpuaas_agent_protocol::FailureReason;

use crate::seams::Failure;

/// The HTTP status the engine answered with, if it answered.
pub(super) fn status(error: &Error) -> Option<u16> {
    match error {
        Error::DockerResponseServerError { status_code, .. } => Some(*status_code),
        _ => None,
    }
}

/// The words of the engine.
pub(super) fn words(error: &Error) -> String {
    match error {
        Error::DockerResponseServerError { message, .. } => message.clone(),
        Error::DockerStreamError { error } => error.clone(),
        other => {
            let mut text = other.to_string();
            let mut source = std::error::Error::source(other);
            while let Some(inner) = source {
                text = format!("{text}: {inner}");
                source = inner.source();
            }
            text
        }
    }
}

/// A failure; `otherwise` where the words tell nothing more exact.
pub(super) fn failure(error: &Error, otherwise: FailureReason) -> Failure {
    let text = words(error);
    let reason = match error {
        Error::DockerResponseServerError { .. } | Error::DockerStreamError { .. } => reason(&text, otherwise),
        Error::IOError { .. }
        | Error::HyperResponseError { .. }
        | Error::HyperLegacyError { .. }
        | Error::RequestTimeoutError
        | Error::SocketNotFoundError(_) => FailureReason::EngineUnavailable,
        _ => otherwise,
    };
    Failure::new(reason, text)
}

/// By the engine's words; Docker has no finer codes.
fn reason(text: &str, otherwise: FailureReason) -> FailureReason {
    let text = text.to_ascii_lowercase();
    let has = |needles: &[&str]| needles.iter().any(|needle| text.contains(needle));
    if has(&["no space left on device", "disk quota exceeded"]) {
        FailureReason::DiskFull
    } else if has(&["could not select device driver", "nvidia-container", "cdi device", "unresolvable cdi"])
        || (has(&["error gathering device information"]) && has(&["/dev/"]))
    {
        FailureReason::GpuUnavailable
    } else if has(&["port is already allocated", "address already in use"]) {
        FailureReason::PortTaken
    } else if has(&["no such image", "manifest unknown", "manifest for ", "repository does not exist"]) {
        FailureReason::ImageNotFound
    } else if has(&["filesystem layer verification failed", "digest mismatch", "unexpected digest"]) {
        FailureReason::ImageDigestMismatch
    } else if has(&["no available ipv4 addresses", "non-overlapping", "no available addresses"]) {
        FailureReason::NetworkExhausted
    } else {
        otherwise
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_words_of_the_engine_get_the_right_name() {
        let said = |message: &str| {
            let error = Error::DockerResponseServerError { status_code: 500, message: message.to_owned() };
            failure(&error, FailureReason::ContainerCreateFailed).reason
        };
        for (message, reason) in [
            ("No such image: a@sha256:00", FailureReason::ImageNotFound),
            ("mkdir /var/lib/docker/x: no space left on device", FailureReason::DiskFull),
            (
                "could not select device driver \"nvidia\" with capabilities: [[gpu]]",
                FailureReason::GpuUnavailable,
            ),
            (
                "error gathering device information while adding custom device \"/dev/kfd\": no such file",
                FailureReason::GpuUnavailable,
            ),
            ("Bind for 127.0.0.1:80 failed: port is already allocated", FailureReason::PortTaken),
            ("manifest unknown: manifest unknown", FailureReason::ImageNotFound),
            ("filesystem layer verification failed for digest sha256:1", FailureReason::ImageDigestMismatch),
            ("something new", FailureReason::ContainerCreateFailed),
        ] {
            assert_eq!(said(message), reason, "{message}");
        }
        let gone = Error::SocketNotFoundError("/nowhere".to_owned());
        assert_eq!(failure(&gone, FailureReason::Internal).reason, FailureReason::EngineUnavailable);
    }
}
