//! Questions to the person at the terminal.

use std::io::{BufRead as _, IsTerminal as _, Write as _};

use gpuaas_domain::Secret;

use crate::app::App;
use crate::failure::{Exit, Failure, Result};
use crate::printer::escape;

/// Asks before something that hurts. A script has decided already, so only a terminal is asked.
pub(crate) fn confirm(app: &App, what: &str) -> Result<()> {
    if app.globals.yes || !std::io::stdin().is_terminal() {
        return Ok(());
    }
    let answer = ask(&format!("{what} Type yes to go on: "))?;
    if matches!(answer.trim().to_lowercase().as_str(), "y" | "yes") {
        return Ok(());
    }
    Err(Failure::new(Exit::No, "declined", "nothing was changed").fix("answer yes, or pass --yes"))
}

pub(crate) fn ask_for(what: &str, flag: &str) -> Result<String> {
    if !std::io::stdin().is_terminal() {
        return Err(Failure::usage(format!("{what} is missing and there is no terminal to ask at"))
            .fix(format!("pass {flag}")));
    }
    Ok(ask(&format!("{what}: "))?.trim().to_owned())
}

pub(crate) fn ask_password(what: &str) -> Result<Secret<String>> {
    if !std::io::stdin().is_terminal() {
        return Err(Failure::usage("there is no terminal to ask for the password at")
            .fix("pass --password-stdin and write the password to stdin"));
    }
    let typed = rpassword::prompt_password(format!("{what}: "));
    typed
        .map(Secret::new)
        .map_err(|source| Failure::usage(format!("the password could not be read: {source}")))
}

/// The first line of stdin, for `--…-stdin` flags.
pub(crate) fn secret_from_stdin() -> Result<Secret<String>> {
    let mut line = String::new();
    let read = std::io::stdin().lock().read_line(&mut line);
    read.map_err(|source| Failure::usage(format!("stdin could not be read: {source}")))?;
    let end = line.trim_end_matches(['\r', '\n']).len();
    line.truncate(end);
    if line.is_empty() {
        return Err(Failure::usage("stdin is empty"));
    }
    Ok(Secret::new(line))
}

fn ask(question: &str) -> Result<String> {
    let mut line = String::new();
    let asked =
        write!(std::io::stderr().lock(), "{}", escape(question)).and_then(|()| std::io::stderr().flush());
    asked
        .and_then(|()| std::io::stdin().lock().read_line(&mut line))
        .map_err(|source| Failure::usage(format!("the terminal could not be read: {source}")))?;
    Ok(line)
}
