//! `tandem apply`: changes a topology that is up.

use std::io::Write;
use std::path::PathBuf;

use super::topology_args::runtime;
use super::{Failure, chaos_on, programs};
use crate::chaos::{load_topology, shown};
use crate::supervision::{ChangeOrder, Found, Message, Watching};
use crate::topology::{InPlace, in_place};
use crate::verdict::Exit;
use crate::yaml::{FileError, Override};

/// Change a topology that `tandem up` keeps up on this machine, without a gap: compare its file
/// with what runs, and do what differs.
///
/// Roles come and go at once, from 3 to 300 and back. Members that are added join, and those that
/// are removed leave, the last first; each hands over what it leads. If thresholds or other
/// settings change, the members of the group start again one by one. Each step waits until the
/// group is settled. Members that stay as they are go on.
///
/// What cannot be changed in place is refused before anything changes, with its place in the file:
/// the name, the clusters, the groups, the mode, the election, and the number of partitions, which
/// never changes while a group is up.
///
/// The supervisor carries the change out, also if `apply` ends before it is done. If a step fails,
/// the same `apply` goes on with it. The journal begins another file, with the new plan: `tandem
/// report` judges what is up since then, and each earlier file by itself.
#[derive(Debug, Clone, clap::Args)]
#[command(after_help = "\
Examples:
  tandem apply -f mine.yaml --dry-run    what would be changed
  tandem apply -f mine.yaml
  tandem apply -f mine.yaml --set roles.count=300

Exit codes: 0 done, or nothing differs; 1 could not run; 2 usage or invalid file, or the change is
refused; 4 a step failed: the same command goes on.")]
pub(super) struct ApplyArgs {
    /// The topology, as it is to be.
    #[arg(short = 'f', long = "file", value_name = "TOPOLOGY")]
    file: PathBuf,
    /// Replace one value of the topology, as in defaults.session=300ms; can be repeated.
    #[arg(long = "set", value_name = "KEY=VALUE")]
    overrides: Vec<Override>,
    /// Only print what would be changed.
    #[arg(long)]
    dry_run: bool,
}

/// Changes it, and prints each step.
pub(super) fn run(args: &ApplyArgs) -> Result<Exit, Failure> {
    let invalid = |error: FileError| Failure::text(Exit::Invalid, error.to_string());
    let (plan, text) = load_topology(&args.file, &args.overrides).map_err(invalid)?;
    programs::duties_are_there(&plan)?;
    let found = chaos_on::find_or_only(&plan.topology)?;
    let running = &found.about.header;
    let InPlace { changes, .. } = in_place(&running.plan, &text, &args.overrides)
        .map_err(|problems| invalid(FileError::new(shown(&args.file), &text, problems)))?;
    let name = &running.plan.topology;
    // A closed standard output is not an error.
    let say = |line: String| drop(writeln!(super::console::out(), "{line}"));
    let done = if args.dry_run { "would change" } else { "changes" };
    if changes.is_empty() {
        say(format!("{name} is up as the file says"));
    } else {
        say(format!("{name} {done}:"));
        changes.iter().for_each(|change| say(format!("  {change}")));
    }
    if args.dry_run {
        return Ok(Exit::Pass);
    }
    let order = ChangeOrder {
        pid: std::process::id(),
        topology: text,
        overrides: args.overrides.iter().map(ToString::to_string).collect(),
    };
    // Also if nothing differs: a step of an earlier change may have failed.
    runtime()?.block_on(carry_out(&found, order, say))
}

async fn carry_out(
    found: &Found,
    order: ChangeOrder,
    say: impl Fn(String),
) -> Result<Exit, Failure> {
    let refused = |error| Failure::new(Exit::Unable, &error);
    let mut steps: Watching = found.change(order).await.map_err(refused)?;
    loop {
        match steps.next().await.map_err(refused)? {
            Some(Message::Step(step)) => say(step),
            Some(Message::Applied { failed: None }) => {
                say("done".to_owned());
                return Ok(Exit::Pass);
            }
            Some(Message::Applied { failed: Some(why) }) => {
                let why = format!("{why}\nwhat is up goes on; the same `tandem apply` goes on");
                return Err(Failure::text(Exit::Unknown, why));
            }
            Some(_) => {}
            None => {
                let why = "the supervisor ended before the change was done";
                return Err(Failure::text(Exit::Unknown, why.to_owned()));
            }
        }
    }
}
