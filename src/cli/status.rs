//! `tandem status`: how a topology stands that is kept up.

use std::io::{self, Write};

use super::running::RunningArgs;
use super::which::runtime;
use super::{Failure, Output};
use crate::view::{Level, summary};

/// How a topology stands that `tandem up` keeps up: who leads what, and what is left of the
/// objective.
///
/// Found without arguments where one runs. It is asked through a socket that only its owner may
/// open, in ~/.local/state/tandem/up ($XDG_STATE_HOME/tandem/up).
#[derive(Debug, Clone, clap::Args)]
#[command(after_help = "\
Examples:
  tandem status
  tandem status -f topologies/trio.yaml -o json

Exit codes: 0 every group leads every role; 1 nobody could be asked; 2 usage or invalid file; 3
starting, degraded (a group does not lead some role) or down (no group leads some role).")]
pub(super) struct StatusArgs {
    #[command(flatten)]
    running: RunningArgs,
    /// How to print it.
    #[arg(short = 'o', long = "output", value_enum, default_value_t = Output::Text)]
    output: Output,
}

/// Asks and prints; the exit code says how it stands.
pub(super) fn run(args: &StatusArgs) -> Result<u8, Failure> {
    let picture = runtime()?.block_on(args.running.find())?.picture;
    let text = match args.output {
        Output::Text => summary(&picture),
        Output::Json => {
            let json = serde_json::to_string_pretty(&picture);
            json.map_err(|error| Failure::new(1, &error))? + "\n"
        }
    };
    let mut out = super::console::out();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        // Who stopped reading has seen enough.
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            return Err(Failure::new(1, &error));
        }
        Ok(()) | Err(_) => {}
    }
    Ok(match picture.health {
        Level::Led => 0,
        Level::Starting | Level::Degraded | Level::Down => 3,
    })
}
