//! Kinds of text in a manifest: each is a `format` of the published schema and one check here.
//!
//! The walk over a document looks the check up by that name, so the schema and the refusals cannot drift apart. The
//! patterns are for other validators; ours are the functions.

use gpuaas_agent_protocol::image::{BadRef, ImageRef};
use gpuaas_agent_protocol::spec::{is_env_name, is_mount_path};
use schemars::{Schema, SchemaGenerator, json_schema};

use super::amount::Mib;
use super::version::{self, Version};
use super::version_range::{self, VersionRange};
use crate::render::helm;
use crate::text::{DisplayName, Refused, Slug, is_deceptive};

macro_rules! formats {
    ($($name:ident($check:path), $max:expr, $pattern:expr;)*) => {
        $(pub(super) fn $name(_: &mut SchemaGenerator) -> Schema {
            json_schema!({ "type": "string", "format": stringify!($name), "maxLength": $max, "pattern": $pattern })
        })*

        /// Why the text is not of this format; formats we do not own say nothing.
        pub(super) fn check(format: &str, text: &str) -> Result<(), Refused> {
            match format {
                $(stringify!($name) => $check(text),)*
                "mib" => Mib::parse(text).map(drop).ok_or_else(|| refused("out_of_range", "Use a number of mebibytes.")),
                _ => Ok(()),
            }
        }
    };
}

formats! {
    slug(check_slug), 40, "^[a-z0-9]+(-[a-z0-9]+)*$";
    display_name(check_display_name), 120, "^[^\\u0000-\\u001f\\u007f]+$";
    version(check_version), version::MAX, version::PATTERN;
    image_ref(check_image), 512, "^[a-z0-9.-]+(:[0-9]{1,5})?/[a-z0-9._/-]+(:[A-Za-z0-9_.-]+)?@sha256:[0-9a-f]{64}$";
    chart_name(check_chart_name), 53, "^[a-z][a-z0-9-]*$";
    json_pointer(check_json_pointer), 512, "^(/([^/~\\u0000-\\u001f\\u007f]|~[01])+){1,16}$";
    name(check_name), 40, "^[a-z0-9]([a-z0-9-]*[a-z0-9])?$";
    parameter_name(check_parameter_name), 40, "^[a-z][a-z0-9_]*$";
    env_name(check_env_name), 256, "^[A-Za-z_][A-Za-z0-9_]*$";
    prose(check_prose), MAX_PROSE, "^[^\\u0000]*$";
    argument(check_argument), MAX_ARGUMENT, "^[^\\u0000]*$";
    expression(check_expression), MAX_EXPRESSION, "^[^\\u0000]+$";
    mount_path(check_mount_path), 512, "^/[A-Za-z0-9._/-]*[A-Za-z0-9._-]$";
    url_path(check_url_path), 1024, "^/[!-~]*$";
    request_path(check_request_path), 1024, "^/[^\\u0000]*$";
    fragment(check_fragment), MAX_FRAGMENT, "^[^\\u0000]+$";
    metric_name(check_metric_name), 128, "^[a-zA-Z_:][a-zA-Z0-9_:]*$";
    version_range(check_version_range), version_range::MAX, version_range::PATTERN;
    content_policy(check_content_policy), 2048, "^[a-z-]+( [!-~]+)*(; [a-z-]+( [!-~]+)*)*$";
}

macro_rules! lists {
    ($($list:ident of $item:ident;)*) => {
        $(pub(super) fn $list(generator: &mut SchemaGenerator) -> Schema {
            json_schema!({ "type": "array", "items": $item(generator) })
        })*
    };
}

lists! {
    names of name;
    parameter_names of parameter_name;
    arguments of argument;
    metric_names of metric_name;
}

const MAX_PROSE: usize = 8 * 1024;
const MAX_ARGUMENT: usize = 32 * 1024;
const MAX_EXPRESSION: usize = 1024;
const MAX_FRAGMENT: usize = 4 * 1024;

fn refused(code: &'static str, message: impl Into<String>) -> Refused {
    Refused { code, message: message.into() }
}

fn check_slug(text: &str) -> Result<(), Refused> {
    Slug::parse(text).map(drop)
}

fn check_display_name(text: &str) -> Result<(), Refused> {
    DisplayName::parse(text).map(drop)
}

fn check_version(text: &str) -> Result<(), Refused> {
    Version::parse(text).map(drop)
}

fn check_image(text: &str) -> Result<(), Refused> {
    text.parse::<ImageRef>().map(drop).map_err(|bad| {
        let code = match bad {
            BadRef::DigestRequired => "digest_required",
            BadRef::MalformedDigest => "malformed_digest",
            BadRef::MalformedName => "malformed_image_name",
        };
        refused(code, bad.to_string())
    })
}

fn check_name(text: &str) -> Result<(), Refused> {
    let clean = (1..=40).contains(&text.len())
        && !text.starts_with('-')
        && !text.ends_with('-')
        && text.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-');
    if clean {
        Ok(())
    } else {
        Err(refused("invalid_value", "A name is 1 to 40 of a-z, 0-9 and inner hyphens."))
    }
}

fn check_chart_name(text: &str) -> Result<(), Refused> {
    if helm::is_chart_name(text) {
        return Ok(());
    }
    let sentence =
        "A chart is named by at most 53 of a-z, 0-9 and hyphens, the first a letter; no address stands here.";
    Err(refused("invalid_value", sentence))
}

fn check_json_pointer(text: &str) -> Result<(), Refused> {
    let is_step = |step: &str| {
        (1..=100).contains(&step.chars().count())
            && !step.contains(is_deceptive)
            && step.split('~').skip(1).all(|rest| rest.starts_with(['0', '1']))
    };
    let steps: Vec<&str> = text.split('/').skip(1).collect();
    let good = text.starts_with('/') && text.len() <= 512 && steps.len() <= 16;
    if good && steps.iter().all(|step| is_step(step)) {
        return Ok(());
    }
    Err(refused(
        "invalid_value",
        "A path is names with / before each, as in /service/port, at most 16 of them.",
    ))
}

pub(super) fn check_parameter_name(text: &str) -> Result<(), Refused> {
    let clean = (1..=40).contains(&text.len())
        && text.as_bytes()[0].is_ascii_lowercase()
        && text.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_');
    if clean {
        Ok(())
    } else {
        Err(refused("invalid_value", "A parameter is 1 to 40 of a-z, 0-9 and _, and starts with a letter."))
    }
}

fn check_env_name(text: &str) -> Result<(), Refused> {
    if is_env_name(text) {
        Ok(())
    } else {
        Err(refused(
            "invalid_value",
            "A variable is letters, digits and underscores, and starts with no digit.",
        ))
    }
}

fn check_prose(text: &str) -> Result<(), Refused> {
    if text.len() > MAX_PROSE || text.chars().any(|c| c != '\n' && c != '\t' && is_deceptive(c)) {
        return Err(refused("invalid_value", "Use at most 8 KiB of visible characters."));
    }
    Ok(())
}

fn check_argument(text: &str) -> Result<(), Refused> {
    if text.len() > MAX_ARGUMENT || text.contains('\0') {
        return Err(refused("invalid_value", "Use at most 32 KiB, without NUL."));
    }
    Ok(())
}

fn check_expression(text: &str) -> Result<(), Refused> {
    if text.trim().is_empty() || text.len() > MAX_EXPRESSION || text.contains('\0') {
        return Err(refused("invalid_value", "An expression has 1 to 1024 bytes, without NUL."));
    }
    Ok(())
}

fn check_version_range(text: &str) -> Result<(), Refused> {
    VersionRange::parse(text).map(drop)
}

/// A path that may hold expressions; what stands between them is looked at where expressions are.
fn check_request_path(text: &str) -> Result<(), Refused> {
    if text.starts_with('/') && text.len() <= 1024 && !text.contains('\0') {
        return Ok(());
    }
    Err(refused("invalid_value", "A path starts with / and has at most 1024 bytes."))
}

/// A text that is sent or looked for; to look for nothing would always find it.
fn check_fragment(text: &str) -> Result<(), Refused> {
    if text.is_empty() || text.len() > MAX_FRAGMENT || text.contains('\0') {
        return Err(refused("invalid_value", "Use 1 byte to 4 KiB, without NUL."));
    }
    Ok(())
}

fn check_metric_name(text: &str) -> Result<(), Refused> {
    let clean = (1..=128).contains(&text.len())
        && !text.as_bytes()[0].is_ascii_digit()
        && text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b':');
    if clean {
        Ok(())
    } else {
        Err(refused(
            "invalid_value",
            "A metric is 1 to 128 letters, digits, underscores and colons, and starts with no digit.",
        ))
    }
}

fn check_mount_path(text: &str) -> Result<(), Refused> {
    if is_mount_path(text) {
        return Ok(());
    }
    Err(refused(
        "workspace_path_not_allowed",
        "Name a fixed, absolute path in the container, such as /workspace; system folders and expressions are not taken.",
    ))
}

/// Directives as a browser reads them. Who may frame the page and where violations are reported is not the app's to say.
fn check_content_policy(text: &str) -> Result<(), Refused> {
    const NOT_HERE: [&str; 4] = ["frame-ancestors", "report-uri", "report-to", "sandbox"];
    let no = |why| Err(refused("invalid_policy", why));
    if text.len() > 2048 || !text.bytes().all(|b| b == b' ' || (b.is_ascii_graphic() && b != b',')) {
        return no("A policy is visible ASCII without commas, at most 2048 characters.");
    }
    for directive in text.split(';').map(str::trim) {
        let name = directive.split(' ').next().unwrap_or_default();
        if name.is_empty() || !name.bytes().all(|b| b.is_ascii_lowercase() || b == b'-') {
            return no(
                "A policy is directives with semicolons between, as in: img-src 'self'; font-src 'none'.",
            );
        }
        if NOT_HERE.contains(&name) {
            return no("frame-ancestors, sandbox and reports are the gateway's; use `frame` for frames.");
        }
    }
    Ok(())
}

fn check_url_path(text: &str) -> Result<(), Refused> {
    let clean = text.starts_with('/')
        && !text.starts_with("//")
        && text.len() <= 1024
        && !text.contains('\\')
        && text.split('/').all(|part| part != "..")
        && text.bytes().all(|b| b.is_ascii_graphic());
    if clean {
        Ok(())
    } else {
        Err(refused("invalid_value", "A path starts with one /, is visible ASCII and does not climb."))
    }
}
