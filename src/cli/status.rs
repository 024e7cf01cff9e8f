//! `tandem status`: how a topology stands that is kept up.

use std::io::{self, Write};
use std::time::Duration;

use super::running::RunningArgs;
use super::topology_args::runtime;
use super::{Failure, Output};
use crate::live_view::{Level, Picture, summary};
use crate::time::{Mono, Span};
use crate::verdict::Exit;

/// How often it is asked whether it stands as it is waited for.
const AGAIN: Duration = Duration::from_millis(100);

/// How a topology stands that `tandem up` keeps up: who leads what, and what is left of the
/// objective.
///
/// Found without arguments where one runs. It is asked through a socket that only its owner may
/// open, in ~/.local/state/tandem/up ($XDG_STATE_HOME/tandem/up).
///
/// --wait waits until all of it stands so, or until the time of --within is over; then it prints
/// what it has seen last. It waits for a `tandem up` that is still to come as well.
#[derive(Debug, Clone, clap::Args)]
#[command(after_help = "\
Examples:
  tandem status
  tandem status -f topologies/trio.yaml -o json
  tandem status --wait led --within 30s

Exit codes: 0 every group leads every role and the objective is kept; 3 every group leads every
role and the objective was broken; 4 starting: a group has not led all of its roles yet; 7 degraded:
a group does not lead some role; 8 down: no group leads some role; 1 nobody could be asked; 2 usage
or invalid file. With --wait: 0 it stands so; else that of how it stands, 1 where that is 0.")]
pub(super) struct StatusArgs {
    #[command(flatten)]
    running: RunningArgs,
    /// How to print it.
    #[arg(short = 'o', long = "output", value_enum, default_value_t = Output::Text)]
    output: Output,
    /// Wait until it stands so.
    #[arg(long, value_enum, value_name = "HEALTH")]
    wait: Option<Wanted>,
    /// For how long to wait.
    #[arg(long, value_name = "DURATION", default_value = "30s", requires = "wait")]
    within: Span,
}

/// What can be waited for.
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
    fn is(self, level: Level) -> bool {
        match self {
            Self::Led => level == Level::Led,
            Self::Degraded => level == Level::Degraded,
            Self::Down => level == Level::Down,
        }
    }
}

/// Asks and prints; the exit code says how it stands.
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
        // Who stopped reading has seen enough.
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            return Err(Failure::new(Exit::Unable, &error));
        }
        Ok(()) | Err(_) => {}
    }
    Ok(args.exit(&picture))
}

impl StatusArgs {
    /// The first picture; with --wait the first that is waited for, or the last in time.
    async fn ask(&self) -> Result<Picture, Failure> {
        let began = Mono::now();
        loop {
            let found = self.running.find().await.map(|found| found.picture);
            let Some(wanted) = self.wait else { return found };
            let over = Mono::now().since(began) >= self.within.get();
            match &found {
                Ok(picture) if wanted.is(picture.health) => return found,
                Err(failure) if failure.exit == Exit::Invalid => return found,
                Ok(_) | Err(_) if over => return found,
                Ok(_) | Err(_) => tokio::time::sleep(AGAIN).await,
            }
        }
    }

    fn exit(&self, picture: &Picture) -> Exit {
        match (self.wait, picture.exit()) {
            (Some(wanted), _) if wanted.is(picture.health) => Exit::Pass,
            (Some(_), Exit::Pass) => Exit::Unable,
            (_, exit) => exit,
        }
    }
}
