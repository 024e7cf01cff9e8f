//! `tandem hold`: a program of the user holds a role.

mod links;

use std::ffi::OsString;
use std::io::Write;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::task::JoinSet;
use tokio::time::timeout;

use super::Failure;
use super::topology_args::{TopologyArgs, runtime};
use super::{console, notify, programs};
use crate::hold::serve::{Access, ServeAt, Sidecar};
use crate::hold::{
    Cgroup, Departs, Facts, HoldError, Holder, NameLock, OnExit, OwnEdge, Stopping, Wrapped,
    Wrapper, cluster_of, ensure_ledger, is_embedded, no_longer_up,
};
use crate::host::ending_signals;
use crate::ids::{GroupName, Life, MemberId, RoleIndex, RoleName};
use crate::member::config_of;
use crate::time::Span;
use crate::topology::{Plan, PlannedGroup, time_to_kill, usual_grace};
use crate::verdict::Exit;
use crate::yaml::choices;
use tandem_member::{Claims, Config, Member};

/// The longest default wait between SIGTERM and SIGKILL; in exclusive mode a hold is shorter.
const GRACE_MOST: Duration = Duration::from_secs(5);
/// How long a process whose command was late waits to learn that its brokers are gone.
const WHY: Duration = Duration::from_secs(3);
/// How often a sidecar alone looks whether it is to end.
const LOOK: Duration = Duration::from_millis(50);

/// The role of a command, and how the command is stopped.
type Work = ((RoleIndex, RoleName), Stopping);

/// Hold a role with a program of yours: run a command while it leads, or answer a program that
/// asks.
///
/// Joins a group of the topology as one more member. With a command (after --): while the member
/// leads the role, the command runs; before the claim ends, the command gets SIGTERM, and then,
/// with all that it has started, SIGKILL. A process beside the command (its keeper) sees to that,
/// also if `tandem hold` hangs or is killed. The command learns what it leads from TANDEM_ROLE,
/// TANDEM_GROUP, TANDEM_TOPOLOGY, TANDEM_NAME, TANDEM_INCARNATION and, in exclusive mode,
/// TANDEM_FENCE. Its standard input is empty; its output is that of `tandem hold`.
///
/// With --serve: answers over HTTP. `GET /v1/roles/ROLE` is 200 while the member leads the role,
/// with `remaining_ms`, counted from before the request was sent, and else 409; `GET /v1/keys/KEY`
/// is the same for the role of a key, with `slots` in the topology. `GET /v1/events` is a stream of
/// changes. `PUT /v1/health` with {"well": false} hands the roles over, and with
/// true takes part again. Also /livez, /readyz, /metrics and /openapi.json.
///
/// In exclusive mode the group must have a `hold`: for so long a promise to a program may last, and
/// no other member leads before the command is known to be gone.
///
/// In a group with `launch: external` the member reports what it leads, as the facts of
/// deploy/schema/README.md, on the topic TOPOLOGY-facts of each cluster of the topology, which it
/// creates where it is missing. A process beside it (its witness) delivers them by way of a bounded
/// spool below $XDG_STATE_HOME/tandem/facts, and reports its death. The member is named
/// GROUP-NAME there. With `chaos: allowed` the witness takes the orders of experiments, and the
/// member connects to its brokers by an edge in this process, so that an order can cut it off.
///
/// The cluster of the group has a `bootstrap`, or is an embedded one that a `tandem up` of yours
/// keeps up: if that ends, `tandem hold` ends as well. One process at a time may use a name; what
/// an earlier one with this name has left running is killed before the member joins; in a cgroup
/// (v2) of its own, which the command has where this process may make one, all of it is found.
/// SIGTERM, SIGINT or SIGHUP (unless nohup had it ignored) stop the command and leave the group; in
/// non-exclusive mode the command runs on until another member leads.
#[derive(Debug, Clone, clap::Args)]
#[command(after_help = "\
Examples:
  tandem hold -f topologies/held.yaml --group p1 --name a --role nightly -- ./nightly.sh --all
  tandem hold -f mine.yaml --group p1 --name a --role eurusd --on-exit leave -- ./feed eurusd
  tandem hold -f mine.yaml --group p1 --name a --serve 127.0.0.1:7070
  curl -X PUT -d '{\"well\":false}' http://127.0.0.1:7070/v1/health

Exit codes: 0 it was asked to end, alone or together with the command, which is gone; 1 could not
run, or the command does not end; 2 usage or invalid file. With --on-exit leave: the exit code of
the command, or 128 and the number of the signal that killed it.")]
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
    #[arg(long, requires = "command")]
    role: Option<String>,
    /// What happens when the command ends by itself: `restart` starts it again, after 100 ms, and
    /// after up to 10 s if it ends again and again; `leave` leaves the group, and ends with the
    /// exit code of the command.
    #[arg(long, value_enum, value_name = "WHAT", default_value_t = Restart::Restart)]
    on_exit: Restart,
    /// From SIGTERM to SIGKILL [default: half the hold in exclusive mode; else a quarter of the
    /// threshold, at most 5s].
    #[arg(long, value_name = "DURATION", requires = "command")]
    grace: Option<Span>,
    /// Answer programs on this address, or on a Unix socket, as in unix:/run/tandem/a.sock; port 0
    /// means any free port. The address is printed.
    #[arg(long, value_name = "ADDRESS", required_unless_present = "command")]
    serve: Option<ServeAt>,
    /// Where the program offers its service, as `host:port`: the members that do not lead learn it,
    /// and their sidecars answer it with 409. In non-exclusive mode only.
    #[arg(long, value_name = "ADDRESS", value_parser = advertised)]
    advertise: Option<String>,
    /// In a group with `on_death: stand-in`: be linked to its other members, and stand in for the
    /// dead among them. On this address, with or without a port; beyond the loopback with the
    /// certificates of the group's `mesh`.
    #[arg(long, value_name = "IP[:PORT]")]
    mesh: Option<String>,
    /// With --mesh: where the others connect to, if not there.
    #[arg(long, value_name = "IP:PORT", requires = "mesh")]
    mesh_advertise: Option<SocketAddr>,
    /// A file with the token that requests must bear to change anything. Without one, only this
    /// user and root may, and only on the loopback.
    #[arg(long, value_name = "FILE", requires = "serve")]
    token_file: Option<PathBuf>,
    /// The command and its arguments.
    #[arg(last = true, requires = "role", value_name = "CMD")]
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
    args.has_a_name_of_its_own(&plan)?;
    let work = args.work(&plan, group)?;
    args.promises(group)?;
    let sidecar = args.sidecar()?;
    let stop = stop_flag()?;
    let runtime = runtime()?;
    let cluster = runtime.block_on(cluster_of(&plan, group)).map_err(failed)?;
    runtime.block_on(ensure_ledger(&args.group, group, &cluster)).map_err(failed)?;
    let name = NameLock::take(&plan.topology, &args.group, &args.name);
    let name = name.map_err(|error| failed(error.into()))?;
    let life = Life { member: args.name.clone(), incarnation: name.incarnation };
    let edge = OwnEdge::of((&plan, group), &args.name, &cluster);
    let reached = edge.as_ref().map_or(&cluster, OwnEdge::cluster);
    let config = args.linked(group, config_of(life, &plan, (&args.group, group), reached))?;
    Member::fits(&config).map_err(|error| failed(error.into()))?;
    let of = (plan.topology.clone(), args.group.clone());
    let claims = Arc::new(Claims::new(config.width));
    let facts = if group.is_started() {
        None
    } else {
        let of = (&plan, &args.group);
        let facts = runtime.block_on(Facts::begin(of, &config.life, &claims, edge));
        Some(facts.map_err(failed)?)
    };
    let holder = Holder::join(of, &plan, &config, work.is_some(), (claims, facts));
    let holder = Arc::new(holder.map_err(|error| failed(error.into()))?);
    let mut serving = JoinSet::new();
    let at = sidecar.as_ref().map(|sidecar| sidecar.at.clone());
    if let Some(sidecar) = sidecar {
        say(&holder, &format_args!("answers on {}", sidecar.at));
        serving.spawn_on(sidecar.serve(Arc::clone(&holder)), runtime.handle());
    }
    notify::ready();
    let over = over(&holder, &stop, (&plan, group), cluster.bootstrap.clone());
    let over = runtime.spawn(over);
    let done = match work {
        Some((role, stopping)) => {
            let wrapper = Wrapper {
                role,
                command: args.command.clone(),
                stopping,
                on_exit: args.on_exit.into(),
                mark: name.mark.clone(),
                cgroup: cgroup_of(&name, &holder),
                sidecar: at,
                // The keeper may outlive this process, and its edge.
                departs: Departs::of(group, &Config { cluster, ..config }, args.serve.is_some()),
            };
            say(&holder, &format_args!("waits to lead {}", wrapper.role.1));
            wrapper.run(&holder, &stop, &mut |what| say(&holder, &what))
        }
        None => {
            while !stop.load(Ordering::SeqCst) {
                std::thread::sleep(LOOK);
            }
            Ok(Wrapped::Stopped)
        }
    };
    let ended = ended(done, &holder);
    // Brokers that are gone are the cause, and a command that was late is not.
    let wait = if ended.is_err() && is_embedded(&plan, group) { WHY } else { Duration::ZERO };
    match runtime.block_on(async { timeout(wait, over).await }) {
        Ok(Ok(why)) => {
            if let Err(late) = ended {
                say(&holder, &late);
            }
            Err(failed(why))
        }
        Ok(Err(_)) | Err(_) => ended,
    }
}

/// Waits for what ends a member that was not asked to end, and has the command stopped; why.
fn over(
    holder: &Arc<Holder>,
    stop: &Arc<AtomicBool>,
    (plan, group): (&Plan, &PlannedGroup),
    bootstrap: String,
) -> impl Future<Output = HoldError> + use<> {
    let (plan, group) = (plan.clone(), group.clone());
    let (holder, stop) = (Arc::clone(holder), Arc::clone(stop));
    async move {
        let why = tokio::select! {
            why = no_longer_up(&plan, &group, &bootstrap) => why,
            why = holder.refused() => why,
        };
        stop.store(true, Ordering::SeqCst);
        why
    }
}

/// The cgroup of the command, where this process may make one; says which.
fn cgroup_of(name: &NameLock, holder: &Holder) -> Option<Cgroup> {
    match name.cgroup() {
        Ok(cgroup) => {
            say(holder, &format_args!("its command runs in the cgroup {cgroup}"));
            Some(cgroup)
        }
        Err(error) => {
            let why = crate::error::chain(&error);
            let what = "its command has no cgroup of its own, and is found by its parents and its";
            say(holder, &format_args!("{what} environment: {why}"));
            None
        }
    }
}

/// Leaves the group, unless the command may still run.
fn ended(done: Result<Wrapped, HoldError>, holder: &Arc<Holder>) -> Result<u8, Failure> {
    match done {
        Ok(wrapped) => {
            // The sidecar goes on answering meanwhile.
            holder.member.depart();
            Ok(match wrapped {
                Wrapped::Stopped => 0,
                Wrapped::Ended(end) => end.code(),
            })
        }
        Err(error) => {
            // Leaving now would give the role to another. The process ends without leaving.
            std::mem::forget(Arc::clone(holder));
            Err(failed(error))
        }
    }
}

#[expect(clippy::needless_pass_by_value, reason = "it ends here")]
fn failed(error: HoldError) -> Failure {
    Failure::new(Exit::Unable, &error)
}

fn say(holder: &Holder, what: &dyn std::fmt::Display) {
    let (member, group) = (&holder.life.member, &holder.group);
    // A closed standard error is not an error.
    writeln!(console::err(), "{member} in {group}: {what}").ok();
}

/// Set by the signals that end the command.
fn stop_flag() -> Result<Arc<AtomicBool>, Failure> {
    let stop = Arc::new(AtomicBool::new(false));
    for signal in ending_signals() {
        let set = signal_hook::flag::register(signal, Arc::clone(&stop));
        set.map_err(|error| Failure::new(Exit::Unable, &error))?;
    }
    Ok(stop)
}

/// An address has at most 255 bytes, all of them printable.
fn advertised(text: &str) -> Result<String, &'static str> {
    let fits = (1..=255).contains(&text.len()) && text.chars().all(|c| c.is_ascii_graphic());
    if fits { Ok(text.to_owned()) } else { Err("an address has 1 to 255 characters, no spaces") }
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

    /// A client id joins group and name: refuses a name by which it is also that of another group.
    fn has_a_name_of_its_own(&self, plan: &Plan) -> Result<(), Failure> {
        let (group, name) = (&self.group, &self.name);
        plan.read_as(group, name).map_or(Ok(()), |(other, rest)| {
            Err(invalid(format!(
                "--name: member `{name}` of group `{group}` is read as member `{rest}` of \
                 group `{other}`: choose another name"
            )))
        })
    }

    /// The role of the command, and how the command is stopped; none without a command.
    fn work(&self, plan: &Plan, group: &PlannedGroup) -> Result<Option<Work>, Failure> {
        let Some(name) = &self.role else { return Ok(None) };
        let role = name.parse::<RoleName>().ok();
        let role = role.and_then(|name| plan.roles.find(&name).map(|role| (role, name)));
        let Some(role) = role else {
            let what = format!("--role: {} has no role `{name}`", plan.topology);
            return Err(invalid(match plan.roles.names().next() {
                Some(first) => format!("{what}; it has {}, as `{first}`", plan.roles),
                None => what,
            }));
        };
        let stopping = self.stopping(group)?;
        self.command.first().map_or(Ok(()), |program| programs::is_there(program))?;
        Ok(Some((role, stopping)))
    }

    /// Without a hold, an exclusive group promises nothing, and every answer would be no.
    fn promises(&self, group: &PlannedGroup) -> Result<(), Failure> {
        if group.pace.mode.is_exclusive() && group.pace.hold.get().is_zero() {
            let name = &self.group;
            return Err(invalid(format!(
                "group {name} is exclusive and has no hold, so it promises nothing to a program: \
                 set one, as in --set groups.{name}.hold=500ms"
            )));
        }
        Ok(())
    }

    fn sidecar(&self) -> Result<Option<Sidecar>, Failure> {
        let Some(at) = &self.serve else { return Ok(None) };
        let access = Access::of(at, self.token_file.as_deref());
        let access = access.map_err(|error| Failure::new(Exit::Invalid, &error))?;
        let bound = Sidecar::bind(at, access);
        let what = "the address of --serve cannot be used";
        bound.map(Some).map_err(|source| failed(HoldError::System { what, source }))
    }

    /// How the command is stopped, if the claims of the group leave the time for it.
    fn stopping(&self, group: &PlannedGroup) -> Result<Stopping, Failure> {
        let usual = || usual_grace(&group.pace).min(GRACE_MOST);
        let grace = self.grace.map_or_else(usual, Span::get);
        match time_to_kill(&group.pace, grace) {
            Ok(margin) => Ok(Stopping { grace, margin }),
            Err(short) => {
                let (name, word) = (&self.group, short.word);
                Err(invalid(format!(
                    "group {name} has {short}: set a longer one, as in --set \
                     groups.{name}.{word}=500ms, or a shorter --grace"
                )))
            }
        }
    }
}
