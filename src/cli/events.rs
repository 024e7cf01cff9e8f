//! `tandem events`: what happened to a topology that is kept up, and what happens.

use std::io::{self, Write};

use super::running::{Found, RunningArgs, status};
use super::which::runtime;
use super::{Failure, Output};
use crate::inquiry::{Ask, Request, Said, VERSION};
use crate::view::{Event, line};

/// What happened to a topology that `tandem up` keeps up: deaths, leaders, gaps.
///
/// The latest thousand events, one a line; with --follow those to come as well, until it ends. A
/// line is `TIME WORD KEY=VALUE ...`; words and keys stand in topologies/README.md.
#[derive(Debug, Clone, clap::Args)]
#[command(after_help = "\
Examples:
  tandem events
  tandem events --follow -o json

Exit codes: 0 all was told; 1 nobody could be asked, or it broke off, or too little was read for too
long; 2 usage or invalid file.")]
pub(super) struct EventsArgs {
    #[command(flatten)]
    running: RunningArgs,
    /// Go on with those to come.
    #[arg(long)]
    follow: bool,
    /// How to print them; as JSON, an object a line.
    #[arg(short = 'o', long = "output", value_enum, default_value_t = Output::Text)]
    output: Output,
}

/// Asks, and prints events as they come.
pub(super) fn run(args: &EventsArgs) -> Result<u8, Failure> {
    runtime()?.block_on(tell(args))
}

async fn tell(args: &EventsArgs) -> Result<u8, Failure> {
    let failed = |error: crate::inquiry::InquiryError| Failure::new(1, &error);
    let Found { door, .. } = args.running.find().await?;
    let request = Request { tandem: VERSION, ask: Ask::Events, follow: args.follow };
    let mut answers = door.ask(request).await.map_err(failed)?;
    status(&door, &mut answers).await.map_err(failed)?;
    loop {
        match answers.next().await.map_err(failed)? {
            Said::Event(event) => {
                let printed = print(args.output, &event);
                match printed {
                    // Who stopped reading has seen enough.
                    Err(error) if error.kind() == io::ErrorKind::BrokenPipe => return Ok(0),
                    printed => printed.map_err(|error| Failure::new(1, &error))?,
                }
            }
            Said::End { .. } => return Ok(0),
            Said::Dropped { missed } => {
                let why = format!("{missed} events came faster than they were read; ask again");
                return Err(Failure::text(1, why));
            }
            Said::Status(_) | Said::Refused { .. } => {}
        }
    }
}

/// Prints one event; whoever reads has it when this returns.
pub(super) fn print(output: Output, event: &Event) -> io::Result<()> {
    let mut text = match output {
        Output::Text => line(event),
        Output::Json => serde_json::to_string(event)?,
    };
    text.push('\n');
    let mut out = super::console::out();
    out.write_all(text.as_bytes())?;
    out.flush()
}
