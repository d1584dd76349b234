//! Completion scripts for shells.

use clap::{Args, ValueEnum};
use clap_complete::Shell;

use crate::app::App;
use crate::failure::{Exit, Failure, Result};

/// Print a completion script for a shell
#[derive(Args)]
#[command(
    after_help = "Examples:\n  gpuaas completion bash > ~/.local/share/bash-completion/completions/gpuaas\n  source <(gpuaas completion zsh)\n  gpuaas completion fish > ~/.config/fish/completions/gpuaas.fish"
)]
pub(crate) struct CompletionArgs {
    /// The shell to complete in
    shell: ShellName,
}

#[derive(Clone, Copy, ValueEnum)]
enum ShellName {
    Bash,
    Zsh,
    Fish,
}

pub(crate) fn run(app: &App, args: &CompletionArgs) -> Result<()> {
    let shell = match args.shell {
        ShellName::Bash => Shell::Bash,
        ShellName::Zsh => Shell::Zsh,
        ShellName::Fish => Shell::Fish,
    };
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut crate::command(), "gpuaas", &mut script);
    let script = String::from_utf8(script)
        .map_err(|_| Failure::new(Exit::Trouble, "completion", "the completion script is not text"))?;
    app.printer.script(&script)
}
