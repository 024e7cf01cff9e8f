//! `tandem hold`: a program of the user holds a role.

use std::ffi::OsString;
use std::io::Write;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

use super::Failure;
use super::console;
use super::topology_args::{TopologyArgs, runtime};
use crate::hold::{
    HoldError, Holder, NameLock, OnExit, Stopping, Wrapped, Wrapper, cluster_of, ensure_ledger,
};
use crate::ids::{GroupName, Life, MemberId, RoleIndex, RoleName};
use crate::member::config_of;
use crate::time::Span;
use crate::topology::{Plan, PlannedGroup};
use crate::verdict::Exit;
use crate::yaml::choices;
use tandem_member::{JoinError, Member};

/// The least time between SIGKILL and the end of a claim.
const MARGIN_LEAST: Duration = Duration::from_millis(50);
/// What a claim must have left beside the time to stop, so that it can be renewed.
const RENEWS: Duration = Duration::from_millis(40);
/// The longest default wait between SIGTERM and SIGKILL.
const GRACE_MOST: Duration = Duration::from_secs(5);

/// Run a command of yours while it leads a role.
///
/// Joins a group of the topology as one more member. While the member leads the role, the command
/// runs; before the claim ends, the command gets SIGTERM, and then, with all that it has started,
/// SIGKILL. A process beside the command (its keeper) sees to that, also if `tandem hold` hangs or
/// is killed. The command learns what it leads from TANDEM_ROLE, TANDEM_GROUP, TANDEM_TOPOLOGY,
/// TANDEM_NAME and TANDEM_INCARNATION. Its standard input is empty; its output is that of `tandem
/// hold`.
///
/// In exclusive mode the group must have a `hold`: for so long a promise to the command may last,
/// and no other member leads before the command is known to be gone.
///
/// The cluster of the group has a `bootstrap`, or is an embedded one that a `tandem up` of yours
/// keeps up. One process at a time may use a name; what an earlier one with this name has left
/// running is killed before the member joins. SIGTERM, SIGINT or SIGHUP stop the command and leave
/// the group.
#[derive(Debug, Clone, clap::Args)]
#[command(after_help = "\
Examples:
  tandem hold -f topologies/held.yaml --group p1 --name a --role nightly -- ./nightly.sh --all
  tandem hold -f mine.yaml --group p1 --name a --role eurusd --on-exit leave -- ./feed eurusd

Exit codes: 0 it was told to end, and the command is gone; 1 could not run, or the command does not
end; 2 usage or invalid file. With --on-exit leave: the exit code of the command, or 128 and the
number of the signal that killed it.")]
pub(super) struct HoldArgs {
    #[command(flatten)]
    topology: TopologyArgs,
    /// The group to join.
    #[arg(long)]
    group: GroupName,
    /// The name of this member, unique in the group.
    #[arg(long)]
    name: MemberId,
    /// The role for which the command runs.
    #[arg(long)]
    role: String,
    /// What happens when the command ends by itself: `restart` starts it again, after 100 ms, and
    /// after up to 10 s if it ends again and again; `leave` leaves the group, and ends with the
    /// exit code of the command.
    #[arg(long, value_enum, value_name = "WHAT", default_value_t = Restart::Restart)]
    on_exit: Restart,
    /// From SIGTERM to SIGKILL [default: half the hold in exclusive mode; else a quarter of the
    /// threshold, at most 5s].
    #[arg(long, value_name = "DURATION")]
    grace: Option<Span>,
    /// The command and its arguments.
    #[arg(last = true, required = true, value_name = "CMD")]
    command: Vec<OsString>,
}

/// What happens when the command ends by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Restart {
    /// Start it again.
    Restart,
    /// Leave the group.
    Leave,
}

impl From<Restart> for OnExit {
    fn from(what: Restart) -> Self {
        match what {
            Restart::Restart => Self::Restart,
            Restart::Leave => Self::Leave,
        }
    }
}

/// Runs it. The exit code may be that of the user's command.
pub(super) fn run(args: &HoldArgs) -> Result<u8, Failure> {
    let plan = args.topology.plan()?;
    let group = args.group_of(&plan)?;
    let role = args.role_of(&plan)?;
    let stopping = args.stopping(group)?;
    args.has_program()?;
    let failed = |error: HoldError| Failure::new(Exit::Unable, &error);
    let stop = stop_flag()?;
    let runtime = runtime()?;
    let cluster = runtime.block_on(cluster_of(&plan, group)).map_err(failed)?;
    runtime.block_on(ensure_ledger(&args.group, group, &cluster)).map_err(failed)?;
    let name = NameLock::take(&plan.topology, &args.group, &args.name);
    let name = name.map_err(HoldError::from).map_err(failed)?;
    let life = Life { member: args.name.clone(), incarnation: name.incarnation };
    let config = config_of(life.clone(), group, &cluster);
    let member = Member::join(&config, |at, event| tracing::debug!(?at, ?event, "Member."));
    let member = member.map_err(|error: JoinError| failed(error.into()))?;
    let topology = (plan.topology.clone(), args.group.clone(), life);
    let exclusive = group.pace.mode.is_exclusive();
    let holder = Holder::new(topology, (plan.roles.clone(), exclusive), member, true);
    let wrapper = Wrapper {
        role,
        command: args.command.clone(),
        stopping,
        on_exit: args.on_exit.into(),
        mark: name.mark.clone(),
    };
    let of = format!("{} in {} as {}", wrapper.role.1, holder.group, holder.life);
    say(&of, &"waits to lead");
    match wrapper.run(&holder, &stop, &mut |what| say(&of, &what)) {
        Ok(wrapped) => {
            holder.member.leave();
            Ok(match wrapped {
                Wrapped::Stopped => 0,
                Wrapped::Ended(end) => end.code(),
            })
        }
        Err(error) => {
            // The command may run: whoever leaves now gives its role to another.
            std::mem::forget(holder);
            Err(failed(error))
        }
    }
}

fn say(of: &str, what: &dyn std::fmt::Display) {
    // A closed standard error is not an error.
    writeln!(console::err(), "{of}: {what}").ok();
}

/// Set by the signals that end the command.
fn stop_flag() -> Result<Arc<AtomicBool>, Failure> {
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [SIGTERM, SIGINT, SIGHUP] {
        let set = signal_hook::flag::register(signal, Arc::clone(&stop));
        set.map_err(|error| Failure::new(Exit::Unable, &error))?;
    }
    Ok(stop)
}

fn invalid(what: impl Into<String>) -> Failure {
    Failure::text(Exit::Invalid, what)
}

impl HoldArgs {
    fn group_of<'a>(&self, plan: &'a Plan) -> Result<&'a PlannedGroup, Failure> {
        plan.groups.get(&self.group).ok_or_else(|| {
            let names = plan.groups.keys().map(GroupName::as_str);
            let hint = choices(self.group.as_str(), names);
            invalid(format!("--group: there is no group `{}`: {hint}", self.group))
        })
    }

    fn role_of(&self, plan: &Plan) -> Result<(RoleIndex, RoleName), Failure> {
        let name = self.role.parse::<RoleName>().ok();
        let found = name.and_then(|name| plan.roles.find(&name).map(|role| (role, name)));
        found.ok_or_else(|| {
            let what = format!("--role: {} has no role `{}`", plan.topology, self.role);
            invalid(match plan.roles.names().next() {
                Some(first) => format!("{what}; it has {}, as `{first}`", plan.roles),
                None => what,
            })
        })
    }

    /// How the command is stopped, if the claims of the group leave the time for it.
    fn stopping(&self, group: &PlannedGroup) -> Result<Stopping, Failure> {
        let exclusive = group.pace.mode.is_exclusive();
        let (word, lasts) = if exclusive {
            ("hold", group.pace.hold.get())
        } else {
            ("threshold", group.pace.threshold.get())
        };
        let usual = if exclusive { lasts / 2 } else { (lasts / 4).min(GRACE_MOST) };
        let grace = self.grace.map_or(usual, Span::get);
        let margin = if exclusive { MARGIN_LEAST.max(lasts / 5) } else { MARGIN_LEAST };
        if grace + margin + RENEWS <= lasts {
            return Ok(Stopping { grace, margin });
        }
        let name = &self.group;
        let (grace, margin) = (Span(grace), Span(margin));
        let has = format!("group {name} has a {word} of {}", Span(lasts));
        Err(invalid(format!(
            "{has}, too short to end a command before its claim ends (SIGKILL {grace} after \
             SIGTERM, and {margin} before the end): set a longer one, as in \
             --set groups.{name}.{word}=500ms, or a shorter --grace"
        )))
    }

    /// The program must be there: a member that leads and cannot do its work helps nobody.
    fn has_program(&self) -> Result<(), Failure> {
        let Some(program) = self.command.first() else { return Ok(()) };
        let path = Path::new(program);
        let found = if path.components().count() > 1 {
            path.is_file()
        } else {
            let folders = std::env::var_os("PATH").unwrap_or_default();
            std::env::split_paths(&folders).any(|folder| folder.join(path).is_file())
        };
        if found {
            return Ok(());
        }
        Err(invalid(format!("there is no command {}", path.display())))
    }
}
