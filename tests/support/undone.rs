//! Runs whose controller, or whose guard, is stopped or killed: everything is undone.

use std::fs;
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Output;
use std::time::Duration;

use rand::RngExt;
use rand_chacha::ChaCha12Rng;
use rustix::process::Signal;
use tandem::guard::{Revival, started};
use tandem::observation::{Fact, RunEvent, What};
use tandem::time::Mono;
use tempfile::TempDir;

use super::alone::Alone;
use super::experiment::{Experiment, Finished, Running, eventually, output, signal_pid, tandem};
use super::leftovers::{Family, GONE, addresses};
use super::stalls::Watch;

/// What is not undone by then stays.
pub const HEALED: Duration = Duration::from_secs(120);
/// How many runs are begun for one whose faults are all in force.
const BEGINS: usize = 3;
/// A run without its guard ends no later than this after the signal: it asks its members to leave,
/// and its brokers to end, before it kills them.
const ENDED: Duration = Duration::from_secs(10);

/// What a run says whose guard has given it up.
pub const IDLES: &str = "the guard ended this run, because this process did not run for ";

/// What is in force while the run is struck, beside [`Embedded`]. A new fault gets a step here,
/// one that holds until it is healed, and a check in [`Stage::is_healed`]. What is cut is free
/// again once no process listens on the ports of the edges: [`Family`] knows them. The
/// undo of a command stands in the ledger until it was run.
const IN_FORCE: [&str; 6] = [
    "{id: p, at: 200ms, jitter: 300ms, fault: pause, for: 5m, target: {member: p1-1}}",
    "{id: t, at: 200ms, jitter: 300ms, fault: clock, for: 5m, ahead: 2s, target: {member: p1-2}}",
    "{id: c, at: 200ms, jitter: 300ms, fault: partition, for: 5m, target: {member: p2-1}}",
    "{id: d, at: 200ms, jitter: 300ms, fault: duplicate, for: 5m, target: {member: p1-3}}",
    "{id: b, at: 200ms, jitter: 300ms, fault: broker, target: {coordinator_of: p2}, \
     restart_after: 5m}",
    "{id: x, at: 200ms, jitter: 300ms, fault: exec, for: 5m, command: ['true'], undo: ['true']}",
];

/// What became of the embedded broker meanwhile; a run has one of `p1`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Embedded {
    Killed,
    Ended,
    Paused,
}

impl Embedded {
    /// In turn.
    pub const ALL: [Self; 3] = [Self::Killed, Self::Ended, Self::Paused];

    fn step(self) -> &'static str {
        match self {
            Self::Killed => {
                "{id: e, at: 600ms, fault: broker, target: {cluster: a}, restart_after: 5m}"
            }
            Self::Ended => {
                "{id: e, at: 600ms, fault: broker, how: stop, target: {cluster: a}, \
                 restart_after: 5m}"
            }
            Self::Paused => {
                "{id: e, at: 600ms, fault: broker, how: pause, target: {cluster: a}, for: 5m}"
            }
        }
    }
}

/// A state directory, and a broker as `deploy/kafka/up` would have started it: `p2` is on it.
pub struct Stage {
    pub state: TempDir,
    pub broker: Alone,
    pub revival: Revival,
    watch: Watch,
}

impl Stage {
    /// One whose broker can be started again.
    pub fn set() -> Self {
        Self::with(|address| {
            let program = crate::program();
            [program, "broker", "--listen", address].map(str::to_owned).to_vec()
        })
    }

    /// One whose broker is started again by this command.
    pub fn with(command: impl Fn(&str) -> Vec<String>) -> Self {
        let (state, broker) = (tempfile::tempdir().unwrap(), Alone::start());
        let kafka = state.path().join("tandem/kafka");
        let (command, folder) = (command(&broker.address), kafka.join("broker"));
        let revival = Revival { command, folder, ends_within: None };
        fs::create_dir_all(&revival.folder).unwrap();
        let since = started(broker.pid()).unwrap();
        fs::write(revival.folder.join("pid"), format!("{} {since}\n", broker.pid())).unwrap();
        let known = serde_json::json!({"clusters": [{"brokers": [{
            "address": broker.address, "command": revival.command, "folder": revival.folder
        }]}]});
        fs::write(kafka.join("clusters.json"), known.to_string()).unwrap();
        Self { state, broker, revival, watch: Watch::begin() }
    }

    /// Where runs keep what outlives them.
    pub fn state(&self) -> &Path {
        self.state.path()
    }

    /// An experiment with these steps. It claims nothing, so that a host that is too busy for its
    /// members breaks no claim.
    pub fn experiment(&self, steps: &[&str]) -> Experiment {
        let text = format!(
            "version: 1\nname: disturbed\nrecover: {{within: 2m}}\n\
             objective: {{leaders_per_group: 0}}\nmethod:\n  - {}\n",
            steps.join("\n  - ")
        );
        let order = Experiment::of("disturbed.yaml", &text).in_state(self.state());
        let duo = fs::read_to_string("topologies/duo.yaml").unwrap();
        assert!(duo.contains("b: embedded"), "{duo}");
        let there = format!("b: {{bootstrap: \"{}\"}}", self.broker.address);
        let topology = order.write("half.yaml", &duo.replace("b: embedded", &there));
        order.with(&format!("--allow-exec -f {}", topology.display()))
    }

    /// A run in which faults are in force from its first trial on.
    pub fn start(&self, embedded: Embedded) -> Running {
        let steps = [&IN_FORCE[..], &[embedded.step()]].concat();
        self.experiment(&steps).start()
    }

    /// A run whose faults are in force. A host that does not let its controller run for three
    /// seconds makes the guard end it, and then it never gets there: another one begins.
    fn begun(&self, embedded: Embedded) -> Running {
        for _ in 0..BEGINS {
            let run = self.start(embedded);
            let begins = run.await_facts("all faults", |facts| {
                let all = all_in_force(facts);
                (all || was_given_up(facts)).then_some(all)
            });
            if begins {
                return run;
            }
            println!("{}", run.finish());
            self.is_healed();
        }
        panic!("the host held up each of {BEGINS} runs until its guard ended it");
    }

    /// The same, when they are.
    pub fn under_way(&self) -> (Running, Family) {
        // The broker that is paused is the one that cannot even hear that its run is gone.
        self.under_way_with(Embedded::Paused)
    }

    /// The same, with this fault of the embedded broker.
    pub fn under_way_with(&self, embedded: Embedded) -> (Running, Family) {
        let run = self.begun(embedded);
        let family = Family::of(&run);
        assert!(family.ports.len() > 1 && family.doing("edge").len() == 1, "{:?}", family.seen);
        // They start brokers again.
        self.watch.add(run.pid());
        family.doing("guard").into_iter().for_each(|pid| self.watch.add(pid));
        (run, family)
    }

    /// Whether the broker serves.
    pub fn is_served(&self) -> bool {
        let address: SocketAddr = self.broker.address.parse().unwrap();
        TcpStream::connect_timeout(&address, Duration::from_secs(1)).is_ok()
    }

    /// Waits until every fault is undone that leaves no process behind, however long that takes:
    /// brokers that were killed run again.
    pub fn is_healed(&self) {
        self.healed_after(Mono::now());
    }

    /// The same, five seconds after a signal at the latest, or as much later as the host stalled;
    /// how long after it.
    pub fn is_healed_since(&self, signal: Mono) -> Duration {
        let took = self.healed_after(signal);
        let stalled = self.watch.total(signal, Mono::now());
        let shown = format!("all was undone {took:?} after the signal, stalled for {stalled:?}");
        assert!(took <= GONE + stalled, "late: {shown}");
        took
    }

    /// Waits for that; how long after the signal it was so, by the clock.
    pub fn healed_after(&self, signal: Mono) -> Duration {
        eventually("the broker", HEALED, || self.is_served().then_some(()));
        Mono::now().since(signal)
    }

    /// The ledgers that are there.
    pub fn ledgers(&self) -> Vec<PathBuf> {
        let entries = fs::read_dir(self.state().join("tandem/runs"));
        entries.map_or_else(|_| Vec::new(), |all| all.map(|one| one.unwrap().path()).collect())
    }

    /// `tandem halt`: its exit code, and what it said.
    pub fn halt(&self, args: &[&str]) -> (Option<i32>, String) {
        let Output { status, stdout, stderr } = output(tandem(self.state()).arg("halt").args(args));
        let said = [stdout, stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
        (status.code(), said.concat())
    }
}

/// How many faults are in force.
fn in_force(facts: &[Fact]) -> usize {
    let in_force = |fact: &&Fact| matches!(fact.what, What::Run(RunEvent::FaultInForce { .. }));
    facts.iter().filter(in_force).count()
}

/// Whether all of them are.
fn all_in_force(facts: &[Fact]) -> bool {
    in_force(facts) == IN_FORCE.len() + 1
}

/// Whether the guard has ended the run, and a fault could not be injected for that.
fn was_given_up(facts: &[Fact]) -> bool {
    facts.iter().any(|fact| {
        matches!(&fact.what, What::Run(RunEvent::FaultFailed { why, .. })
            if why.contains("the guard ended this run"))
    })
}

/// Waits until all of them are.
fn are_in_force(run: &Running) {
    run.await_facts("all faults", |facts| all_in_force(facts).then_some(()));
}

impl Drop for Stage {
    fn drop(&mut self) {
        // The restarted broker is not a child of any process here.
        if let Ok(broker) = self.revival.identity() {
            broker.signal(&[Signal::KILL]).ok();
        }
    }
}

/// Who is struck, and how.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Blow {
    /// SIGKILL to the controller: its guard heals.
    ControllerKilled,
    /// SIGSTOP to the controller: its guard heals, and it says so when it wakes.
    ControllerStopped,
    /// SIGKILL to the guard: the controller heals.
    GuardKilled,
}

/// From when on the instant of a blow is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Since {
    /// From the run's first broker on: what is struck may be being set up, or settling.
    FirstBroker,
    /// From when everything is paused, cut, stopped and wrong.
    AllFaults,
}

/// How long after a blow nothing is paused, cut, stopped or running any more; and the longest that
/// this may take.
#[derive(Debug, Clone, Copy)]
pub struct Undone {
    pub took: Duration,
    pub most: Duration,
    /// For how long in all the host stalled meanwhile.
    pub stalled: Duration,
}

impl Undone {
    /// It did not take too long.
    pub fn in_time(self) -> bool {
        self.took <= self.most
    }

    /// The same on a host that other tests keep busy.
    pub fn in_time_beside_others(self) -> bool {
        self.took <= self.most + self.stalled
    }
}

/// Strikes a run at a random instant, and waits until it is undone.
pub fn undone_after(
    blow: Blow,
    embedded: Embedded,
    since: Since,
    chance: &mut ChaCha12Rng,
) -> Undone {
    let stage = Stage::set();
    let run = stage.start(embedded);
    let most_ms = match since {
        Since::FirstBroker => {
            let known = || !addresses(&run.facts()).is_empty();
            eventually("a broker", Duration::from_secs(60), || known().then_some(()));
            8_000
        }
        Since::AllFaults => {
            are_in_force(&run);
            2_000
        }
    };
    let wait = Duration::from_millis(chance.random_range(0..most_ms));
    std::thread::sleep(wait);
    let family = Family::of(&run);
    let (count, ports) = (in_force(&run.facts()), family.ports.len());
    let most = if blow == Blow::GuardKilled { ENDED } else { GONE };
    let began = Mono::now();
    let took = struck(blow, run, &family, &stage);
    let stalled = family.stalled_since(began);
    eprintln!(
        "{blow:?} {wait:?} after {since:?}, {embedded:?}: {count} faults, {ports} ports; undone \
         {took:?} after the signal, stalled for {stalled:?}"
    );
    assert!(stage.is_served(), "it stays so");
    eventually("the end of the ledger", HEALED, || stage.ledgers().is_empty().then_some(()));
    Undone { took, most, stalled }
}

/// Strikes it now; how long after that nothing of it is left, and everything is undone.
fn struck(blow: Blow, run: Running, family: &Family, stage: &Stage) -> Duration {
    let struck = Mono::now();
    let undone = |spared: &[u32]| {
        let gone = family.gone_after(struck, spared);
        gone.max(stage.healed_after(struck))
    };
    match blow {
        Blow::ControllerKilled => {
            run.signal(Signal::KILL);
            let took = undone(&[]);
            let run = run.finish();
            assert_eq!(run.code(), None, "{run}");
            took
        }
        Blow::ControllerStopped => {
            run.signal(Signal::STOP);
            let took = undone(&[run.pid()]);
            run.signal(Signal::CONT);
            let run = run.finish();
            family.is_gone();
            says(&run, IDLES);
            if run.code() != Some(1) {
                let ended = struck + GONE + family.stalled_since(struck);
                no_member_started_after(&run.recording().facts, ended, &run);
            }
            took
        }
        Blow::GuardKilled => {
            signal_pid(family.doing("guard")[0], Signal::KILL);
            let run = run.finish();
            let took = undone(&[]);
            says(&run, "the guard died, and nothing may run without it");
            took
        }
    }
}

/// Why it ended, in its report or, where nothing was measured yet, on standard error; and that it
/// is never a pass.
pub fn says(run: &Finished, why: &str) {
    match run.code() {
        Some(1) => assert!(run.stderr.contains(why), "{run}"),
        Some(4) => assert!(run.report().reasons[0].contains(why), "{run}"),
        other => panic!("it ended with {other:?}\n{run}"),
    }
}

/// For how long a process that its guard had ended did not run, as it says.
pub fn idle(said: &str) -> Duration {
    let idle = said.split_once("this process did not run for ").map(|(_, rest)| rest);
    let seconds = idle.and_then(|rest| rest.split_once(" s")?.0.parse().ok());
    Duration::from_secs_f64(seconds.unwrap_or_else(|| panic!("{said}")))
}

/// No member was started any more.
pub fn no_member_started_after(facts: &[Fact], at: Mono, run: &Finished) {
    let born =
        |fact: &&Fact| fact.t > at && matches!(fact.what, What::Run(RunEvent::Started { .. }));
    let born: Vec<_> = facts.iter().filter(born).collect();
    assert!(born.is_empty(), "members were started without a guard: {born:?}\n{run}");
}
