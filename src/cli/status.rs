//! `tandem status`: prints the state of a topology that is kept up.

use std::io::{self, Write};
use std::time::Duration;

use super::running::RunningArgs;
use super::topology_args::runtime;
use super::{Failure, Output};
use crate::live_view::{Level, Picture, summary};
use crate::time::{Mono, Span};
use crate::verdict::Exit;

/// How often `--wait` asks for the state.
const AGAIN: Duration = Duration::from_millis(100);

/// Print the state of a topology that `tandem up` keeps up: leaders, gaps, and the objective.
///
/// Needs no arguments if there is one run. The run is asked through a socket in
/// ~/.local/state/tandem/up ($XDG_STATE_HOME/tandem/up), which only its owner can open.
///
/// With --wait, the command waits until the topology has the given health, or until the time of
/// --within is over, and then prints the latest state. It also waits for a `tandem up` that is not
/// running yet.
#[derive(Debug, Clone, clap::Args)]
#[command(after_help = "\
Examples:
  tandem status
  tandem status -f topologies/trio.yaml -o json
  tandem status --wait led --within 30s

Exit codes: 0 every group leads every role and the objective is kept; 3 every group leads every
role and the objective was broken; 4 starting: a group has not led all of its roles yet, or the
supervisor is silent; 7 degraded: a group does not lead some role; 8 down: no group leads some role;
1 no `tandem up` could be asked; 2 usage or invalid file. With --wait: 0 if it has the health that
was waited for; else the code of its state, or 1 if that is 0.")]
pub(super) struct StatusArgs {
    #[command(flatten)]
    running: RunningArgs,
    /// How to print it.
    #[arg(short = 'o', long = "output", value_enum, default_value_t = Output::Text)]
    output: Output,
    /// Wait until the topology has this health.
    #[arg(long, value_enum, value_name = "HEALTH")]
    wait: Option<Wanted>,
    /// The longest wait.
    #[arg(long, value_name = "DURATION", default_value = "30s", requires = "wait")]
    within: Span,
}

/// The health to wait for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Wanted {
    /// Every group leads every role.
    Led,
    /// A group does not lead some role.
    Degraded,
    /// No group leads some role.
    Down,
}

impl Wanted {
    fn is(self, picture: &Picture) -> bool {
        let level = match self {
            Self::Led => Level::Led,
            Self::Degraded => Level::Degraded,
            Self::Down => Level::Down,
        };
        // What a silent supervisor said last may no longer be so.
        picture.health == level && picture.silent_ms.is_none()
    }
}

/// Asks for the state and prints it. The exit code depends on the state.
pub(super) fn run(args: &StatusArgs) -> Result<Exit, Failure> {
    let picture = runtime()?.block_on(args.ask())?;
    let text = match args.output {
        Output::Text => summary(&picture),
        Output::Json => {
            let json = serde_json::to_string_pretty(&picture);
            json.map_err(|error| Failure::new(Exit::Unable, &error))? + "\n"
        }
    };
    let mut out = super::console::out();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        // A closed pipe (`| head`) is not an error.
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            return Err(Failure::new(Exit::Unable, &error));
        }
        Ok(()) | Err(_) => {}
    }
    Ok(args.exit(&picture))
}

impl StatusArgs {
    /// The current state; with --wait, the first with the wanted health, or the last in time.
    async fn ask(&self) -> Result<Picture, Failure> {
        let began = Mono::now();
        loop {
            let found = self.running.find().await.map(|found| found.picture);
            let Some(wanted) = self.wait else { return found };
            let over = Mono::now().since(began) >= self.within.get();
            match &found {
                Ok(picture) if wanted.is(picture) => return found,
                Err(failure) if failure.exit == Exit::Invalid => return found,
                Ok(_) | Err(_) if over => return found,
                Ok(_) | Err(_) => tokio::time::sleep(AGAIN).await,
            }
        }
    }

    fn exit(&self, picture: &Picture) -> Exit {
        match (self.wait, picture.exit()) {
            (Some(wanted), _) if wanted.is(picture) => Exit::Pass,
            (Some(_), Exit::Pass) => Exit::Unable,
            (_, exit) => exit,
        }
    }
}
