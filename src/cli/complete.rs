//! `tandem completions`: prints the completion script of a shell.

use clap_complete::Shell;

use super::{Failure, command};
use crate::verdict::Exit;

/// Print a script with which a shell completes commands and options.
#[derive(Debug, Clone, clap::Args)]
#[command(after_help = "\
Examples:
  tandem completions bash > ~/.local/share/bash-completion/completions/tandem
  tandem completions zsh > ~/.zfunc/_tandem      a folder of $fpath, before compinit
  tandem completions fish > ~/.config/fish/completions/tandem.fish")]
pub(super) struct CompletionsArgs {
    /// The shell.
    #[arg(value_enum)]
    shell: Shell,
}

/// The commands without the hidden ones, which shells would offer, too.
fn offered() -> clap::Command {
    let all = command();
    let shown = all.get_subcommands().filter(|one| !one.is_hide_set()).cloned();
    clap::Command::new("tandem")
        .version(env!("CARGO_PKG_VERSION"))
        .about(all.get_about().cloned().unwrap_or_default())
        .subcommands(shown)
}

/// Prints it.
pub(super) fn run(args: &CompletionsArgs) -> Result<Exit, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut offered(), "tandem", &mut script);
    super::print(&script)
}
