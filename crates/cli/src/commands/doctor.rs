//! What is wrong with this machine, and how to mend it.
//!
//! Each check stands for itself and says what it saw; later checks are left out when an earlier one makes them
//! meaningless, so that one fault is reported once.

use std::path::Path;

use chrono::DateTime;
use clap::Args;
use gpuaas_api::Route;
use gpuaas_api::auth::Whoami;
use gpuaas_api::client::{Client, ClientError, Probe};
use gpuaas_api::observe::Health;
use gpuaas_domain::Timestamp;
use gpuaas_domain::machine_token::CLOCK_SKEW_SECONDS;
use serde::Serialize;

use super::login::is_exposed_on_the_way;
use crate::app::{App, Target};
use crate::config::Config;
use crate::failure::{Exit, Failure, Result, chain, transport_fix};
use crate::printer::Style;
use crate::{clock, files};

const DOCKER_SOCKET: &str = "/var/run/docker.sock";
const DAY_SECONDS: i64 = 86_400;

/// Find out what is wrong with this machine and how to mend it
///
/// Looks at the context file, the way to the platform, its certificate, the token, the clock and Docker. Exit code 1
/// if anything fails; warnings do not count.
#[derive(Args)]
#[command(after_help = "Examples:\n  gpuaas doctor\n  gpuaas doctor --url https://gpu.example.org -o json")]
pub(crate) struct DoctorArgs {}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum Status {
    Ok,
    Warn,
    Fail,
}

#[derive(Debug, Serialize)]
struct Check {
    name: &'static str,
    status: Status,
    detail: String,
    fix: Option<String>,
}

/// What `-o json` prints.
#[derive(Serialize)]
struct Findings<'c> {
    ok: bool,
    checks: &'c [Check],
}

impl Check {
    fn ok(name: &'static str, detail: impl Into<String>) -> Self {
        Self { name, status: Status::Ok, detail: detail.into(), fix: None }
    }

    fn warn(name: &'static str, detail: impl Into<String>, fix: impl Into<String>) -> Self {
        Self { name, status: Status::Warn, detail: detail.into(), fix: Some(fix.into()) }
    }

    fn fail(name: &'static str, detail: impl Into<String>, fix: impl Into<String>) -> Self {
        Self { name, status: Status::Fail, detail: detail.into(), fix: Some(fix.into()) }
    }
}

pub(crate) async fn run(app: &App, DoctorArgs {}: &DoctorArgs) -> Result<()> {
    let mut checks = vec![context_file(app)];
    match app.target() {
        Ok(target) => checks.extend(platform(app, target).await),
        Err(failure) => {
            let detail = failure.body().map_or_else(String::new, |body| body.error.message);
            let fix = failure.hint().unwrap_or_else(|| "mend the context file".to_owned());
            checks.push(Check::fail("platform", detail, fix));
        }
    }
    checks.push(docker(Path::new(DOCKER_SOCKET)));
    report(app, &checks)
}

fn report(app: &App, checks: &[Check]) -> Result<()> {
    let failed = checks.iter().filter(|check| check.status == Status::Fail).count();
    if app.printer.is_json() {
        app.printer.value(&Findings { ok: failed == 0, checks })?;
    } else {
        for check in checks {
            let (mark, style) = match check.status {
                Status::Ok => ("ok", Style::Good),
                Status::Warn => ("warn", Style::Careful),
                Status::Fail => ("fail", Style::Bad),
            };
            app.printer.marked(mark, style, &format!("{}: {}", check.name, check.detail))?;
            if let Some(fix) = &check.fix {
                app.printer.line(&format!("     fix: {fix}"))?;
            }
        }
    }
    if failed == 0 { Ok(()) } else { Err(Failure::Said(Exit::No)) }
}

fn context_file(app: &App) -> Check {
    const NAME: &str = "context file";
    let Ok(path) = app.env.config_path() else {
        return Check::fail(NAME, "there is no place for it", "set HOME or GPUAAS_CONFIG");
    };
    let shown = path.display();
    if !path.exists() {
        return Check::warn(NAME, format!("{shown} does not exist"), "sign in with `gpuaas login --url URL`");
    }
    if files::is_exposed(&path) {
        return Check::fail(NAME, format!("{shown} can be read by others"), format!("chmod 600 {shown}"));
    }
    match Config::load(&path) {
        Ok(config) => {
            Check::ok(NAME, format!("{shown}, readable by you only, contexts: {}", config.contexts.len()))
        }
        Err(failure) => {
            let detail = failure.body().map_or_else(String::new, |body| body.error.message);
            Check::fail(NAME, detail, "mend the line, or remove the file and sign in again")
        }
    }
}

/// Everything that takes a platform to find out.
async fn platform(app: &App, target: Target) -> Vec<Check> {
    let Target { url, token, ca_file, .. } = target;
    let signed_in = token.is_some();
    let client = match app.client(&url, token, ca_file.as_deref()) {
        Ok(client) => client,
        Err(failure) => {
            let detail = failure.body().map_or_else(String::new, |body| body.error.message);
            return vec![Check::fail("platform", detail, "correct --url or --ca-file")];
        }
    };
    let alive = match client.probe(Route::Healthz).await {
        Ok(probe) => probe,
        Err(error) => return vec![unreachable_check(&error)],
    };
    let mut checks = vec![health(&url, &alive), tls(&url)];
    if alive.status == 200 {
        checks.push(match client.probe(Route::Readyz).await {
            Ok(probe) => readiness(&probe),
            Err(error) => unreachable_check(&error),
        });
    }
    checks.push(clocks(alive.date.as_deref(), clock::now()));
    checks.push(if signed_in {
        credential(&client).await
    } else {
        Check::fail("token", format!("there is none for {url}"), format!("gpuaas login --url {url}"))
    });
    checks
}

fn unreachable_check(error: &ClientError) -> Check {
    let cause = chain(error);
    let name = if cause.to_lowercase().contains("certificate") { "tls" } else { "platform" };
    let fix = transport_fix(&cause);
    Check::fail(name, cause, fix)
}

fn health(url: &str, probe: &Probe) -> Check {
    if probe.status == 200 {
        return Check::ok("platform", format!("{url} answers"));
    }
    let detail = format!("{url} answers, but /healthz gives {}", probe.status);
    Check::fail("platform", detail, "check that the URL is the platform's and not a proxy's")
}

fn tls(url: &str) -> Check {
    if url.to_ascii_lowercase().starts_with("https:") {
        return Check::ok("tls", "the certificate is trusted");
    }
    if is_exposed_on_the_way(url) {
        return Check::warn(
            "tls",
            "http to another machine: tokens travel unencrypted",
            "use https, or a tunnel to this machine",
        );
    }
    Check::ok("tls", "http to this machine, no certificate needed")
}

fn readiness(probe: &Probe) -> Check {
    if probe.status == 200 {
        return Check::ok("readiness", "the platform can serve");
    }
    let parts: Vec<String> = serde_json::from_str::<Health>(&probe.body).map_or_else(
        |_| vec![format!("/readyz gives {}", probe.status)],
        |health| {
            let failed = health.checks.into_iter().filter(|check| !check.ok);
            failed.map(|check| format!("{}: {}", check.name, check.detail)).collect()
        },
    );
    Check::fail(
        "readiness",
        format!("the platform cannot serve: {}", parts.join("; ")),
        "wait for its start to end, or tell its operator",
    )
}

/// Signed assertions live for minutes, so a clock that is wrong by a minute locks service accounts out.
fn clocks(date: Option<&str>, now: Timestamp) -> Check {
    const NAME: &str = "clock";
    let server = date.and_then(|date| DateTime::parse_from_rfc2822(date).ok());
    let Some(server) = server.and_then(|at| Timestamp::from_unix_seconds(at.timestamp())) else {
        return Check::warn(
            NAME,
            "the platform's answer shows no date to compare with",
            "check this machine's clock by hand",
        );
    };
    let ahead = now.seconds_since(server);
    let words = format!("{} s {} the platform's", ahead.abs(), if ahead < 0 { "behind" } else { "ahead of" });
    let fix = "set the clock by network: timedatectl set-ntp true";
    match ahead.abs() {
        0..=5 => Check::ok(NAME, words),
        6..CLOCK_SKEW_SECONDS => Check::warn(NAME, words, fix),
        _ => Check::fail(NAME, words, fix),
    }
}

async fn credential(client: &Client) -> Check {
    match client.call::<(), Whoami>(Route::Whoami, &[], None, None).await {
        Ok(who) => token_life(&who, clock::now()),
        Err(ClientError::Api { status: 401, detail }) => {
            Check::fail("token", format!("refused: {}", detail.message), "gpuaas login")
        }
        Err(error) => Check::fail("token", chain(&error), "see the other findings, then run doctor again"),
    }
}

fn token_life(who: &Whoami, now: Timestamp) -> Check {
    let Some(end) = who.expires_at else { return Check::ok("token", format!("valid, for {}", who.name)) };
    let left = end.seconds_since(now);
    let words = if left < 2 * DAY_SECONDS {
        format!("{} h", left / 3600)
    } else {
        format!("{} days", left / DAY_SECONDS)
    };
    let detail = format!("valid, for {}, {words} left", who.name);
    if left < 3 * DAY_SECONDS && who.kind == gpuaas_api::auth::PrincipalKind::User {
        return Check::warn("token", detail, "gpuaas login, to get a new one");
    }
    Check::ok("token", detail)
}

/// Only a machine that runs apps needs Docker, so that nothing here is more than a warning.
fn docker(socket: &Path) -> Check {
    const NAME: &str = "docker";
    match std::os::unix::net::UnixStream::connect(socket) {
        Ok(_) => Check::ok(NAME, format!("{} answers", socket.display())),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Check::warn(
            NAME,
            format!("{} does not exist", socket.display()),
            "install Docker if apps shall run on this machine; the command line does not need it",
        ),
        Err(error) if error.kind() == std::io::ErrorKind::PermissionDenied => Check::warn(
            NAME,
            format!("{} is not yours to use", socket.display()),
            "add yourself to its group (usermod -aG docker USER) and sign in to the machine again",
        ),
        Err(error) => {
            Check::warn(NAME, format!("{}: {error}", socket.display()), "start it: systemctl start docker")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clocks_are_judged_by_what_assertions_can_bear() {
        let now = Timestamp::from_unix_seconds(784_887_151).unwrap();
        let status = |date| clocks(Some(date), now).status;
        assert_eq!(status("Tue, 15 Nov 1994 08:12:31 GMT"), Status::Ok);
        assert_eq!(status("Tue, 15 Nov 1994 08:12:01 GMT"), Status::Warn);
        assert_eq!(status("Tue, 15 Nov 1994 08:14:31 GMT"), Status::Fail);
        assert_eq!(clocks(None, now).status, Status::Warn);
        assert_eq!(status("yesterday"), Status::Warn);
    }

    #[test]
    fn a_platform_that_cannot_serve_says_why() {
        let body = r#"{"status":"unavailable","checks":[{"name":"database","ok":false,"detail":"no answer"},{"name":"x","ok":true,"detail":""}]}"#;
        let check = readiness(&Probe { status: 503, date: None, body: body.into() });
        assert_eq!(
            (check.status, check.detail.as_str()),
            (Status::Fail, "the platform cannot serve: database: no answer")
        );
        let other = readiness(&Probe { status: 502, date: None, body: "<html>".into() });
        assert_eq!(other.detail, "the platform cannot serve: /readyz gives 502");
    }

    #[test]
    fn a_missing_docker_is_only_a_warning() {
        let folder = tempfile::tempdir().unwrap();
        let socket = folder.path().join("docker.sock");
        assert_eq!(docker(&socket).status, Status::Warn);
        let _listener = std::os::unix::net::UnixListener::bind(&socket).unwrap();
        assert_eq!(docker(&socket).status, Status::Ok);
    }
}
