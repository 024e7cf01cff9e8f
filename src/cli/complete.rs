//! `tandem completions`: what a shell needs to complete commands and options.

use clap_complete::Shell;

use super::{Failure, command};

/// Print what a shell needs to complete commands and options.
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

/// Prints it.
pub(super) fn run(args: &CompletionsArgs) -> Result<u8, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut command(), "tandem", &mut script);
    super::print(&script)
}
