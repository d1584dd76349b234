//! The command line of the platform: `gpuaas <noun> <verb>`.
//!
//! It knows only the public contract. Data goes to stdout and words go to stderr, so that every command can stand
//! in a script; what the server sent is escaped before a terminal sees it; exit codes say what kind of "no" it was.

use std::ffi::OsString;
use std::process::ExitCode;

use clap::{CommandFactory as _, FromArgMatches as _};

mod app;
mod args;
mod clock;
mod commands;
mod config;
mod diagnostics;
mod failure;
mod files;
mod json;
mod keys;
mod printer;
mod progress;
mod resolve;
mod session;
mod signing;
mod source;
mod terminal;
mod units;
mod views;
mod yaml;

use app::App;

/// The whole tree of commands, for the parser, the shell completions and the documentation.
pub fn command() -> clap::Command {
    args::Cli::command()
}

/// Runs one command line, the program's name first.
pub async fn run(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    let matches = command().try_get_matches_from(arguments);
    let cli = match matches.and_then(|matches| args::Cli::from_arg_matches(&matches)) {
        Ok(cli) => cli,
        Err(error) => {
            // Help and version are answers (0), everything else is a usage error (2). A closed pipe is no news.
            drop(error.print());
            return ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(2));
        }
    };
    let app = App::new(cli.globals, config::Environment::read());
    match commands::run(&app, cli.command).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            app.printer.failure(&failure);
            ExitCode::from(failure.exit_code())
        }
    }
}

#[cfg(test)]
mod tests;
