//! What a run may leave behind: processes, stopped ones among them, and ports.

use std::collections::BTreeSet;
use std::fs;
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use tandem::observation::{Fact, RunEvent, What};
use tandem::time::Mono;

use rustix::process::Signal;
use tandem::verdict::Verdict;

use super::experiment::{Experiment, Finished, Running, eventually};
use super::stalls::Watch;

/// No longer than this after the signal that ended its controller, all of a run is gone.
pub const GONE: Duration = Duration::from_secs(5);
/// What is still there after this long stays.
const LEFT: Duration = Duration::from_secs(120);

/// A process as the kernel shows it. Its number alone may be used again.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Seen {
    pub pid: u32,
    began: u64,
    parent: u32,
    state: char,
    pub arguments: Vec<String>,
}

impl Seen {
    /// Whether no signal reaches it, not even SIGKILL, until a disk has answered.
    pub fn waits_for_a_disk(&self) -> bool {
        self.state == 'D'
    }

    /// Whether it is dead, and its parent has not waited for it.
    pub fn has_ended(&self) -> bool {
        "ZX".contains(self.state)
    }

    /// Whether the kernel has stopped it.
    pub fn is_stopped(&self) -> bool {
        self.state == 'T'
    }
}

/// Whether the process runs, and is stopped.
pub fn is_stopped(pid: u32) -> bool {
    see(pid).is_some_and(|it| it.is_stopped())
}

/// Whether a program stands still: it is stopped, or waits in vfork(2) for a child that is stopped
/// before it has become another program. A shell does that at each command.
pub fn stands_still(pid: u32) -> bool {
    let waits = see(pid).is_some_and(|it| it.waits_for_a_disk());
    let stopped_child = || all_processes().iter().any(|it| it.parent == pid && it.is_stopped());
    is_stopped(pid) || (waits && stopped_child())
}

/// All processes of this machine.
fn all_processes() -> Vec<Seen> {
    let numbers = fs::read_dir("/proc").unwrap().filter_map(|entry| {
        let name = entry.unwrap().file_name();
        name.to_str()?.parse().ok()
    });
    numbers.filter_map(see).collect()
}

/// Those that `parent` has started and that run.
pub fn children_of(parent: u32) -> Vec<Seen> {
    let all = all_processes().into_iter();
    all.filter(|one| one.parent == parent && !one.has_ended()).collect()
}

/// One of them, unless it is gone.
pub fn see(pid: u32) -> Option<Seen> {
    let stat = fs::read(format!("/proc/{pid}/stat")).ok()?;
    let stat = String::from_utf8_lossy(&stat);
    // The name stands in brackets and may hold anything, brackets too.
    let (_, rest) = stat.rsplit_once(") ")?;
    let fields: Vec<_> = rest.split(' ').collect();
    let command = fs::read(format!("/proc/{pid}/cmdline")).ok()?;
    let arguments = command.split(|byte| *byte == 0).filter(|part| !part.is_empty());
    Some(Seen {
        pid,
        began: fields[19].parse().ok()?,
        parent: fields[1].parse().ok()?,
        state: fields[0].chars().next()?,
        arguments: arguments.map(|part| String::from_utf8_lossy(part).into_owned()).collect(),
    })
}

/// All that belongs to one run.
pub struct Family {
    members: BTreeSet<(u32, u64)>,
    pub seen: Vec<Seen>,
    pub addresses: Vec<String>,
    /// The ports on which they listen, including those of edges; not those of later processes with
    /// the same ids.
    pub ports: BTreeSet<Port>,
    /// Where the run keeps its state: no other test does.
    state: Option<Vec<u8>>,
    /// How late the host lets this process run meanwhile, the controller, and the guard: they end
    /// the others.
    watch: Watch,
}

/// A socket that listens, and the port on which it does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Port {
    socket: u64,
    number: u16,
}

/// All listening ports of this machine.
fn listening() -> BTreeSet<Port> {
    let lists = ["tcp", "tcp6"].map(|name| fs::read_to_string(format!("/proc/net/{name}")));
    let lists = lists.map(Result::unwrap_or_default).concat();
    let listens = lists.lines().filter_map(|line| {
        let fields: Vec<_> = line.split_whitespace().collect();
        // The state 0A is "listen".
        fields.get(3).filter(|state| **state == "0A")?;
        let (_, port) = fields[1].rsplit_once(':')?;
        let number = u16::from_str_radix(port, 16).ok()?;
        Some(Port { socket: fields[9].parse().ok()?, number })
    });
    listens.collect()
}

/// The numbers of the sockets that a process has open.
fn sockets(pid: u32) -> BTreeSet<u64> {
    let Ok(open) = fs::read_dir(format!("/proc/{pid}/fd")) else { return BTreeSet::new() };
    let links = open.filter_map(|entry| fs::read_link(entry.ok()?.path()).ok());
    let socket = |link: std::path::PathBuf| {
        let name = link.to_str()?.strip_prefix("socket:[")?.strip_suffix(']')?;
        name.parse().ok()
    };
    links.filter_map(socket).collect()
}

/// Where a process keeps its state, by its environment.
fn state_of(pid: u32) -> Option<Vec<u8>> {
    let all = fs::read(format!("/proc/{pid}/environ")).ok()?;
    let mut all = all.split(|byte| *byte == 0);
    all.find(|one| one.starts_with(b"XDG_STATE_HOME=")).map(<[u8]>::to_vec)
}

/// Whether one of these processes listens on this port.
fn has_taken(processes: &[Seen], port: u16) -> bool {
    let all = listening().into_iter().filter(|one| one.number == port);
    let open: BTreeSet<u64> = all.map(|one| one.socket).collect();
    processes.iter().any(|one| !sockets(one.pid).is_disjoint(&open))
}

impl Family {
    /// The controller, the processes that it has started so far, and the brokers' addresses.
    pub fn of(run: &Running) -> Self {
        let all = all_processes();
        let mut pids = BTreeSet::from([run.pid()]);
        loop {
            let children = all.iter().filter(|one| pids.contains(&one.parent));
            let more: BTreeSet<_> = children.map(|child| child.pid).collect();
            if more.is_subset(&pids) {
                break;
            }
            pids.extend(more);
        }
        let seen: Vec<_> = all.into_iter().filter(|one| pids.contains(&one.pid)).collect();
        let members = seen.iter().map(|one| (one.pid, one.began)).collect();
        let open: BTreeSet<_> = pids.iter().flat_map(|pid| sockets(*pid)).collect();
        let ports = listening().into_iter().filter(|port| open.contains(&port.socket)).collect();
        let (addresses, watch) = (addresses(&run.facts()), Watch::begin());
        let state = state_of(run.pid());
        let family = Self { members, seen, addresses, ports, state, watch };
        family.watch.add(run.pid());
        family.doing("guard").into_iter().for_each(|pid| family.watch.add(pid));
        family
    }

    /// The processes that do this.
    pub fn doing(&self, what: &str) -> Vec<u32> {
        let does = |one: &&Seen| one.arguments.get(1).is_some_and(|argument| argument == what);
        self.seen.iter().filter(does).map(|one| one.pid).collect()
    }

    /// What is still there. One that is dead and was not waited for is gone: its new parent is
    /// slow.
    pub fn left(&self) -> Vec<String> {
        // A member that was started later names the run's broker, and has its state. The port alone
        // may be that of another test by now: the kernel gives it away once it is free.
        let named = |one: &Seen| {
            let names = |argument: &String| self.addresses.contains(argument);
            one.arguments.iter().any(names) && state_of(one.pid) == self.state
        };
        let ours = |one: &Seen| self.members.contains(&(one.pid, one.began)) || named(one);
        let all = all_processes().into_iter().filter(|one| one.state != 'Z');
        let (ours, others): (Vec<Seen>, Vec<Seen>) = all.partition(ours);
        let answers = |address: &&String| {
            let address: SocketAddr = address.parse().unwrap();
            TcpStream::connect_timeout(&address, Duration::from_secs(1)).is_ok()
                && !has_taken(&others, address.port())
        };
        let brokers = self.addresses.iter().filter(answers).map(|port| format!("port {port}"));
        let ports = listening().into_iter().filter(|port| self.ports.contains(port));
        let ports = brokers.chain(ports.map(|port| format!("{port:?}")));
        ours.iter().map(|one| format!("{one:?}")).chain(ports).collect()
    }

    /// Waits until nothing is left, however long that takes.
    pub fn is_gone(&self) {
        self.is_gone_but(&[]);
    }

    /// The same, but for these processes.
    pub fn is_gone_but(&self, spared: &[u32]) {
        self.gone_after(Mono::now(), spared);
    }

    /// Nothing is left but these processes, five seconds after the signal at the latest, or as much
    /// later as the host stalled; how long after it.
    pub fn is_gone_since(&self, signal: Mono, spared: &[u32]) -> Duration {
        let took = self.gone_after(signal, spared);
        let stalled = self.stalled_since(signal);
        let shown = format!("nothing was left {took:?} after the signal, stalled for {stalled:?}");
        eprintln!("{shown}");
        assert!(took <= GONE + stalled, "late: {shown}");
        took
    }

    /// For how long in all the host has kept a thread of ours from running since then.
    pub fn stalled_since(&self, signal: Mono) -> Duration {
        self.watch.total(signal, Mono::now())
    }

    /// Waits until nothing is left but these processes; how long after the signal that was, by the
    /// clock. Fails where something stays.
    pub fn gone_after(&self, signal: Mono, spared: &[u32]) -> Duration {
        assert!(self.members.len() > 1, "the run had processes: {:?}", self.seen);
        assert!(!self.addresses.is_empty(), "the run had brokers");
        let spared: Vec<_> = spared.iter().map(|pid| format!("Seen {{ pid: {pid},")).collect();
        loop {
            let mut left = self.left();
            left.retain(|one| !spared.iter().any(|spared| one.starts_with(spared)));
            let took = Mono::now().since(signal);
            if left.is_empty() {
                return took;
            }
            assert!(took < LEFT, "{took:?} after the signal the run has left behind: {left:#?}");
            std::thread::sleep(Duration::from_millis(50));
        }
    }
}

/// An experiment of one step. It claims nothing, so that a host that is too busy for its members
/// breaks no claim.
pub fn claimless(step: &str) -> Experiment {
    let text = format!(
        "version: 1\nname: claimless\ntrials: 4\nrecover: {{within: 2m}}\n\
         objective: {{leaders_per_group: 0}}\n\
         method:\n  - {{id: only, {step}}}\n"
    );
    Experiment::of("claimless.yaml", &text)
}

/// One that pauses a leader, again and again.
pub fn pausing() -> Running {
    let target = "{leader_of: any, group: any}";
    claimless(&format!("at: 500ms, fault: pause, for: 3s, target: {target}")).start()
}

/// Kills the controller of a pausing experiment so long after its first broker answered, and judges
/// what is left of its journal; how long after the signal nothing was left of the run, and for how
/// long in all the host stalled meanwhile.
pub fn gone_after_a_kill(wait: Duration) -> (Duration, Duration) {
    let run = pausing();
    let known = || !addresses(&run.facts()).is_empty();
    eventually("a broker", Duration::from_secs(60), || known().then_some(()));
    std::thread::sleep(wait);
    let family = Family::of(&run);
    let killed = Mono::now();
    run.signal(Signal::KILL);
    let took = family.gone_after(killed, &[]);
    let stalled = family.stalled_since(killed);
    let run = run.finish();
    assert_eq!(run.code(), None, "{run}");
    // A trial may have ended before, and not have recovered.
    is_readable(&run, &[3, 4]);
    (took, stalled)
}

/// The journal can be read and judged: a run without an observed end is never a pass.
pub fn is_readable(run: &Finished, codes: &[i32]) {
    let recording = run.recording();
    assert!(!recording.facts.is_empty(), "{run}");
    let again = run.judged_again();
    let said = String::from_utf8_lossy(&again.stderr);
    let code = again.status.code().unwrap();
    assert!(codes.contains(&code), "{code}: {said}\n{run}");
    assert!(run.report().verdict != Verdict::Pass, "{run}");
}

/// Where the run's brokers listen.
pub fn addresses(facts: &[Fact]) -> Vec<String> {
    let address = |fact: &Fact| match &fact.what {
        What::Run(RunEvent::ClusterStarted { address, .. }) => Some(address.clone()),
        _ => None,
    };
    facts.iter().filter_map(address).collect()
}

/// Waits until so many processes of the run lead or follow, and knows them all.
pub fn family_in_trial(run: &Running) -> Family {
    let began = |fact: &Fact| matches!(fact.what, What::Run(RunEvent::TrialBegan { .. }));
    run.await_facts("a trial", |facts| facts.iter().any(began).then_some(()));
    eventually("the family", Duration::from_secs(5), || Some(Family::of(run)))
}
