//! Signing in and out. A password is used once, to get a personal token; only the token is kept.

use std::path::{Path, PathBuf};

use clap::Args;
use gpuaas_api::Route;
use gpuaas_api::auth::NewPersonalToken;
use gpuaas_domain::Secret;
use gpuaas_domain::text::DisplayName;
use serde::Deserialize;

use crate::app::App;
use crate::config::{Config, Context, same_platform};
use crate::failure::{Exit, Failure, Result};
use crate::{files, terminal, views};

/// Sign in to a platform and remember it as a context
///
/// Asks for what is not given; the password is never echoed and never stored. What is stored is a personal token,
/// in a file that only you can read.
#[derive(Args)]
#[command(
    after_help = "Examples:\n  gpuaas login --url https://gpu.example.org --email ada@example.org\n  gpuaas login --admin-file admin.json\n  gpuaas login --url https://gpu.example.org --email ci@example.org --password-stdin < password.txt"
)]
pub(crate) struct LoginArgs {
    /// Your e-mail address
    #[arg(long)]
    email: Option<String>,
    /// Read the password from the first line of stdin
    #[arg(long)]
    password_stdin: bool,
    /// A JSON file with url, email and password, as the platform's first start writes it
    #[arg(long, value_name = "FILE", conflicts_with_all = ["email", "password_stdin"])]
    admin_file: Option<PathBuf>,
    /// How long the token shall live: 30 days unless given, 90 at most
    #[arg(long, value_name = "DAYS", value_parser = clap::value_parser!(u32).range(1..=90))]
    expires_in_days: Option<u32>,
}

/// Sign out: revoke the context's token and forget it
#[derive(Args)]
#[command(
    after_help = "Examples:\n  gpuaas logout\n  gpuaas logout --context staging\n  gpuaas logout --local-only"
)]
pub(crate) struct LogoutArgs {
    /// Only forget the token here, for a platform that cannot be reached any more
    #[arg(long)]
    local_only: bool,
}

#[derive(Deserialize)]
struct AdminFile {
    url: String,
    email: String,
    password: Secret<String>,
}

/// Who signs in where.
struct Identity {
    url: String,
    email: String,
    password: Secret<String>,
}

pub(crate) async fn login(app: &App, args: LoginArgs) -> Result<()> {
    let (path, mut config) = app.load_config()?;
    let known = config.find(app.named_context()).ok().flatten();
    let known_url = known.as_ref().map(|(_, context)| context.url.clone());
    let expires_in_days = args.expires_in_days;
    let identity = identity(app, args, known_url)?;
    let name = context_name(app, &config, &identity.url);
    let previous =
        config.contexts.get(&name).filter(|context| same_platform(&context.url, &identity.url)).cloned();
    let ca_file = app.ca_file().or_else(|| previous.as_ref().and_then(|context| context.ca_file.clone()));
    // Kept as an absolute path: the next command may run elsewhere.
    let ca_file = ca_file.map(|file| std::path::absolute(&file).unwrap_or(file));
    if is_exposed_on_the_way(&identity.url) {
        app.printer.warn("the password travels unencrypted: this is http to another machine");
    }

    let client = app.client(&identity.url, None, ca_file.as_deref())?;
    let wanted = NewPersonalToken { name: token_name(), expires_in_days };
    let created = client.login(&identity.email, &identity.password, &wanted).await?;
    let token = created.secret.ok_or_else(|| {
        Failure::new(
            Exit::Trouble,
            "secret_redacted",
            "the platform made a token, but the answer that held it was lost",
        )
        .fix("sign in again")
    })?;

    let context = Context {
        url: identity.url.trim_end_matches('/').to_owned(),
        email: Some(identity.email.clone()),
        token: Some(token.clone()),
        token_id: Some(created.token.id),
        expires_at: Some(created.token.expires_at),
        ca_file: ca_file.clone(),
        tenant: previous.as_ref().and_then(|context| context.tenant.clone()),
        project: previous.as_ref().and_then(|context| context.project.clone()),
    };
    let replaced = config.contexts.insert(name.clone(), context);
    if let Some(other) = replaced.filter(|replaced| !same_platform(&replaced.url, &identity.url)) {
        app.printer.warn(&format!(
            "context {name} was for {} before; its token there is forgotten, not revoked",
            other.url
        ));
    }
    config.current = Some(name.clone());
    config.save(&path)?;

    if let Some(old) = previous.and_then(|context| context.token_id).filter(|old| *old != created.token.id) {
        // Nobody holds the old token any more. It may be gone already, and it ends by itself: not worth an error.
        let client = app.client(&identity.url, Some(Secret::new(token)), ca_file.as_deref())?;
        drop(client.call::<(), ()>(Route::TokenRevoke, &[&old], None, None).await);
    }
    let until = views::short(created.token.expires_at);
    app.printer.note(&format!(
        "Signed in to {} as {} until {until} (context {name}).",
        identity.url, identity.email
    ));
    Ok(())
}

fn identity(app: &App, args: LoginArgs, known_url: Option<String>) -> Result<Identity> {
    let given_url = app.globals.url.clone().or_else(|| app.env.url.clone());
    if let Some(path) = args.admin_file {
        let file = read_admin_file(&path)?;
        // A flag may say how to reach it from here; the environment may speak of another platform.
        let url = app.globals.url.clone().unwrap_or(file.url);
        return Ok(Identity { url, email: file.email, password: file.password });
    }
    let url = match given_url.or(known_url) {
        Some(url) => url,
        None => terminal::ask_for("Platform URL", "--url")?,
    };
    let email = match args.email {
        Some(email) => email,
        None => terminal::ask_for("E-mail", "--email")?,
    };
    let password = if args.password_stdin {
        terminal::secret_from_stdin()?
    } else {
        terminal::ask_password("Password")?
    };
    Ok(Identity { url, email, password })
}

fn read_admin_file(path: &Path) -> Result<AdminFile> {
    let text = Secret::new(files::read_text(path)?);
    serde_json::from_str(text.expose()).map_err(|source| {
        let message =
            format!("{} does not hold url, email and password: line {}", path.display(), source.line());
        Failure::usage(message)
    })
}

/// The name asked for; else the current context if it is this platform; else `default`, or the host when that is taken.
fn context_name(app: &App, config: &Config, url: &str) -> String {
    if let Some(name) = app.named_context() {
        return name.to_owned();
    }
    let same =
        |name: &String| config.contexts.get(name).is_some_and(|context| same_platform(&context.url, url));
    if let Some(current) = config.current.as_ref().filter(|name| same(name)) {
        return current.clone();
    }
    if let Some(name) = config.contexts.keys().find(|name| same(name)) {
        return name.clone();
    }
    if config.contexts.contains_key("default") { host(url).to_owned() } else { "default".to_owned() }
}

/// Host and port of a URL, for naming and judging only; the client does the real parsing.
fn host(url: &str) -> &str {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    rest.split('/').next().unwrap_or(rest)
}

/// Plain HTTP to anywhere but this machine.
pub(crate) fn is_exposed_on_the_way(url: &str) -> bool {
    let host = host(url);
    let name = host.rsplit_once(':').map_or(host, |(name, _)| name);
    let local =
        matches!(name, "localhost" | "[::1]" | "::1") || is_loopback(name) || name.ends_with(".localhost");
    url.to_ascii_lowercase().starts_with("http://") && !local
}

fn is_loopback(name: &str) -> bool {
    name.parse::<std::net::Ipv4Addr>().is_ok_and(|address| address.is_loopback())
}

/// Says in the token list which machine holds it.
fn token_name() -> String {
    let machine = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let name = format!("command line on {}", machine.trim());
    DisplayName::parse(&name).map_or_else(|_| "command line".to_owned(), String::from)
}

pub(crate) async fn logout(app: &App, args: &LogoutArgs) -> Result<()> {
    let (path, mut config) = app.load_config()?;
    let Some((name, context)) = config.find(app.named_context())? else {
        return Err(Failure::not_signed_in("there is no context to sign out of"));
    };
    let (name, context) = (name.to_owned(), context.clone());
    if let (Some(token), Some(id), false) = (context.token, context.token_id, args.local_only) {
        let ca_file = app.ca_file().or(context.ca_file);
        let client = app.client(&context.url, Some(Secret::new(token)), ca_file.as_deref())?;
        match client.call::<(), ()>(Route::TokenRevoke, &[&id], None, None).await.map_err(Failure::from) {
            // Refused or unknown: it has ended already, which is what we came for.
            Ok(()) | Err(Failure::Api { status: 401 | 404, .. }) => {}
            Err(failure) => {
                app.printer.note("The token is kept, because the platform could not be told. --local-only forgets it here.");
                return Err(failure);
            }
        }
    }
    let context = config.get_mut(&name)?;
    (context.token, context.token_id, context.expires_at) = (None, None, None);
    config.save(&path)?;
    app.printer.note(&format!("Signed out of context {name}."));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_plain_http_to_another_machine_is_worth_a_warning() {
        for fine in [
            "https://gpu.example.org",
            "http://localhost:8080",
            "http://127.0.0.1:1/",
            "http://[::1]:80",
            "http://a.localhost",
        ] {
            assert!(!is_exposed_on_the_way(fine), "{fine}");
        }
        for bad in [
            "http://gpu.example.org",
            "HTTP://10.0.0.1:8080",
            "http://127.example.org.evil",
            "http://localhost.evil",
        ] {
            assert!(is_exposed_on_the_way(bad), "{bad}");
        }
    }

    #[test]
    fn the_admin_file_is_read_and_a_broken_one_is_not_quoted() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("admin.json");
        std::fs::write(&path, r#"{"url":"http://localhost:1","email":"a@b","password":"p4ss"}"#).unwrap();
        let file = read_admin_file(&path).unwrap();
        assert_eq!((file.url.as_str(), file.password.expose().as_str()), ("http://localhost:1", "p4ss"));
        std::fs::write(&path, r#"{"password":"p4ss""#).unwrap();
        assert!(!format!("{:?}", read_admin_file(&path).err().unwrap()).contains("p4ss"));
    }
}
