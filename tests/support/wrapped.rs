//! Groups of two wrappers each, on one broker: what becomes of the command of the one that leads
//! when its member is cut off, or when it is killed, as a referee outside sees it.

use std::collections::BTreeMap;
use std::fmt;
use std::fs;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use rustix::process::Signal;
use tandem::edge::{Direction, Effect};
use tandem::guard::Identity;
use tandem::time::Mono;
use tempfile::TempDir;

use super::alone::Alone;
use super::edge::process::{Edges, rule};
use super::experiment::{eventually, signal_pid};
use super::held::SOON;
use super::leftovers::children_of;
use super::referee::{Referee, Reporter, Work, overlaps, promises};
use super::stalls::Watch;

/// The hold of each group. The keeper kills a fifth of it before the end of a promise.
const HOLD: Duration = Duration::from_secs(1);
const MARGIN: Duration = HOLD.checked_div(5).unwrap();
/// A trial is disturbed if the host kept the keeper, or the referee, from running for so long while
/// the command was to be killed.
pub const STALL: Duration = MARGIN.checked_div(2).unwrap();
/// The kinds of commands; see `reporting.py`.
pub const KINDS: [&str; 3] = ["obeys", "ignores", "detaches"];

/// What is done to the one that leads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Blow {
    /// Its member reaches no broker.
    Cut,
    /// `tandem hold` is killed; not its keeper.
    Kill,
}

/// What one trial showed.
#[derive(Debug, Clone)]
pub struct Trial {
    pub kind: &'static str,
    pub blow: Blow,
    /// When the blow was in force.
    pub at: Mono,
    /// The processes of the command that was at work.
    pub hit: Vec<Reporter>,
    /// The end of the last promise that its wrapper gave it.
    pub promised: Option<Mono>,
    pub successor: Reporter,
    /// The longest stall from the kill that was due until all was gone.
    pub stalled: Duration,
}

impl Trial {
    /// When the last process of the command was gone.
    pub fn gone(&self) -> Option<Mono> {
        let gone: Option<Vec<Mono>> = self.hit.iter().map(|one| one.gone).collect();
        gone?.into_iter().max()
    }

    /// Whether all was gone before the promise ended, after a cut, and before any successor.
    pub fn is_right(&self) -> bool {
        let Some(gone) = self.gone() else { return false };
        let before_promise = self.promised.is_some_and(|promised| gone <= promised);
        // A command that detaches has two processes, both of which have to be seen.
        let processes = if self.kind == "detaches" { 2 } else { 1 };
        self.hit.len() == processes
            && gone < self.successor.first
            && (before_promise || self.blow == Blow::Kill)
    }

    /// Whether the command worked when it was hit, and the host let the keeper and the referee run.
    /// A command whose group regroups at that moment ends for another reason.
    pub fn counts(&self) -> bool {
        let worked = self.hit.iter().all(|one| one.gone.is_none_or(|gone| gone > self.at));
        worked && self.stalled < STALL
    }
}

impl fmt::Display for Trial {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let after = |at: Option<Mono>| match at {
            Some(at) => format!("{:.1} ms", at.since(self.at).as_secs_f64() * 1e3),
            None => "never".to_owned(),
        };
        let Self { kind, blow, successor, stalled, .. } = self;
        let (gone, promised) = (after(self.gone()), after(self.promised));
        let first = after(Some(successor.first));
        write!(
            f,
            "{blow:?} of one that {kind}: gone after {gone}, promised to {promised}, a successor \
             after {first}; stalled {stalled:?}"
        )
    }
}

/// A broker, its edges, and all groups on it.
pub struct Stage {
    broker: Alone,
    edges: Mutex<Edges>,
    folder: TempDir,
    pub referee: Referee,
    pub watch: Watch,
}

/// Two wrappers of one group.
pub struct Pair<'a> {
    stage: &'a Stage,
    group: String,
    kind: &'static str,
    /// Where each member finds its broker.
    addresses: BTreeMap<String, String>,
    wrappers: BTreeMap<String, Wrapper>,
    lives: usize,
    /// What wrappers said that ended by themselves, since their command was late.
    pub late: Vec<String>,
}

/// A running `tandem hold`, and what it has said.
struct Wrapper {
    child: Child,
    said: PathBuf,
}

impl Drop for Wrapper {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

impl Wrapper {
    fn keeper(&self) -> u32 {
        eventually("the keeper", SOON, || children_of(self.child.id()).pop()).pid
    }
}

impl Stage {
    /// With so many groups.
    pub fn start(groups: usize) -> Self {
        let (broker, folder) = (Alone::start(), TempDir::new().unwrap());
        let group = |at: usize| format!("  g{at}: {{cluster: a, partitions: 1}}\n");
        let groups: String = (0..groups).map(group).collect();
        let text = format!(
            "version: 1\nname: wrapped\nroles: [r]\n\
             clusters: {{a: {{bootstrap: \"{}\"}}}}\n\
             defaults: {{mode: exclusive, session: 3s, hold: {}ms}}\ngroups:\n{groups}",
            broker.address,
            HOLD.as_millis()
        );
        fs::write(folder.path().join("t.yaml"), text).unwrap();
        let referee = Referee::at(&folder.path().join("referee"));
        Self { broker, edges: Mutex::new(Edges::start()), folder, referee, watch: Watch::begin() }
    }

    fn edges(&self) -> std::sync::MutexGuard<'_, Edges> {
        self.edges.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// All that wrappers of this member have promised, by fence.
    fn promises(&self, name: &str) -> BTreeMap<i64, Mono> {
        let files = fs::read_dir(self.folder.path()).unwrap().flatten();
        let begins = format!("{name}.");
        let ours = files.filter(|file| file.file_name().to_str().unwrap().starts_with(&begins));
        ours.flat_map(|file| promises(&fs::read_to_string(file.path()).unwrap())).collect()
    }

    /// Processes that worked at the same time as those of another command of their group.
    pub fn overlaps(&self) -> Vec<(Reporter, Reporter)> {
        overlaps(&self.referee.book())
    }
}

impl<'a> Pair<'a> {
    /// Starts two wrappers of a group, and waits until both have joined.
    pub fn start(stage: &'a Stage, at: usize, kind: &'static str) -> Self {
        let group = format!("g{at}");
        let names = ["a", "b"].map(|name| format!("{group}-{name}"));
        let edge = |name: &String| stage.edges().open(name, &stage.broker.address);
        let addresses = names.iter().map(|name| (name.clone(), edge(name))).collect();
        let mut pair = Self {
            stage,
            group,
            kind,
            addresses,
            wrappers: BTreeMap::new(),
            lives: 0,
            late: Vec::new(),
        };
        pair.hold(&names[0]);
        let first = pair.works_since(0);
        pair.hold(&names[1]);
        pair.works_since(first.work.fence);
        pair
    }

    /// Starts one life of a wrapper.
    pub fn hold(&mut self, name: &str) {
        self.lives += 1;
        let stage = self.stage;
        let said = stage.folder.path().join(format!("{name}.{}", self.lives));
        let mut hold = Command::new(crate::program());
        hold.args(["hold", "-f", "t.yaml", "--group", &self.group, "--name", name, "--role", "r"]);
        hold.args(["--set", &format!("clusters.a.bootstrap={}", self.addresses[name]), "--"]);
        hold.args(stage.referee.command(name, self.kind)).current_dir(stage.folder.path());
        hold.env("XDG_STATE_HOME", stage.folder.path().join("state"));
        hold.env("RUST_LOG", "warn,tandem::hold::work=trace,tandem::cli::hold=off");
        let log = fs::File::create(&said).unwrap();
        let child = hold.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log).spawn().unwrap();
        let wrapper = Wrapper { child, said };
        stage.watch.add(wrapper.keeper());
        self.wrappers.insert(name.to_owned(), wrapper);
    }

    /// Waits until a command of a later fence is at work.
    pub fn works_since(&self, fence: i64) -> Reporter {
        let works = || self.stage.referee.works(&self.group);
        let later = || works().filter(|one| one.work.fence > fence);
        eventually(&format!("a command of {} after {fence}", self.group), SOON, later)
    }

    /// Waits until all processes of a command report, and it has a promise.
    fn all_of(&self, work: &Work) -> Vec<Reporter> {
        let processes = if self.kind == "detaches" { 2 } else { 1 };
        eventually(&format!("all of {work:?}"), SOON, || {
            let all = self.stage.referee.of(work);
            // The group may have regrouped meanwhile.
            let over = self.stage.referee.works(&self.group);
            let is_over = over.is_some_and(|one| one.work.fence > work.fence);
            (all.len() == processes || is_over).then_some(all)
        })
    }

    /// The command at work, once all of its processes report.
    pub fn at_work(&self) -> Vec<Reporter> {
        loop {
            let all = self.all_of(&self.works_since(0).work);
            if !all.is_empty() && all.iter().all(|one| one.gone.is_none()) {
                return all;
            }
        }
    }

    /// The processes of the wrapper that leads, and of its keeper.
    pub fn processes(&self, name: &str) -> [u32; 2] {
        let wrapper = &self.wrappers[name];
        [wrapper.child.id(), wrapper.keeper()]
    }

    /// Starts wrappers again that have ended because their command was late, as a supervisor does.
    /// Whether there was one.
    fn revive(&mut self) -> bool {
        let has_ended = |one: &mut Wrapper| one.child.try_wait().unwrap().is_some();
        let ended =
            self.wrappers.iter_mut().filter_map(|(name, one)| has_ended(one).then_some(name));
        let ended: Vec<String> = ended.cloned().collect();
        for name in &ended {
            let said = self.said(name);
            let why = "the command ended late, ";
            let why = said.lines().find(|line| line.contains(why));
            let why = why.unwrap_or_else(|| panic!("{name} has ended: {said}"));
            eprintln!("{name} has ended: {why}");
            self.late.push(why.to_owned());
            self.bury(name);
            self.hold(name);
        }
        !ended.is_empty()
    }

    /// Waits for the end of a killed wrapper, and forgets it.
    pub fn bury(&mut self, name: &str) {
        let mut wrapper = self.wrappers.remove(name).unwrap();
        wrapper.child.wait().unwrap();
    }

    /// What the last life of a wrapper has said.
    pub fn said(&self, name: &str) -> String {
        fs::read_to_string(&self.wrappers[name].said).unwrap()
    }

    /// Plays trials until so many count, or as many more do not; shows each.
    pub fn trials(&mut self, blow: Blow, wanted: usize) -> Vec<Trial> {
        let mut trials: Vec<Trial> = Vec::new();
        let counted = |trials: &[Trial]| trials.iter().filter(|it| it.counts()).count();
        while counted(&trials) < wanted && trials.len() < 2 * wanted {
            let trial = self.trial(blow);
            eprintln!("{} {}: {trial}", self.group, trials.len() + 1);
            trials.push(trial);
        }
        trials
    }

    /// Does this to the one that leads until another one leads, and undoes it.
    fn trial(&mut self, blow: Blow) -> Trial {
        if self.revive() {
            let fence = self.stage.referee.works(&self.group).map_or(0, |one| one.work.fence);
            self.works_since(fence);
        }
        let work = self.at_work()[0].work.clone();
        let at = match blow {
            Blow::Cut => {
                let all = rule(&work.name, Direction::Both, &[], Effect::Drop);
                self.stage.edges().put(&work.name, all)
            }
            Blow::Kill => {
                let now = Mono::now();
                signal_pid(self.processes(&work.name)[0], Signal::KILL);
                now
            }
        };
        let successor = self.works_since(work.fence);
        match blow {
            Blow::Cut => {
                self.stage.edges().heal(&work.name);
            }
            Blow::Kill => {
                self.bury(&work.name);
                self.hold(&work.name);
            }
        }
        eventually("a command after both have joined", SOON, || {
            self.revive();
            let works = self.stage.referee.works(&self.group);
            works.filter(|one| one.work.fence > successor.work.fence)
        });
        let (hit, promised) = (self.stage.referee.of(&work), self.stage.promises(&work.name));
        let promised = promised.get(&work.fence).copied();
        // From the kill that was due until all was gone.
        let due = promised.filter(|_| blow == Blow::Cut).map_or(at, |until| until - MARGIN);
        let last = hit.iter().filter_map(|one| one.gone).max().unwrap_or_else(Mono::now);
        let stalled = self.stage.watch.longest(due - STALL, last.max(due));
        Trial { kind: self.kind, blow, at, hit, promised, successor, stalled }
    }
}

/// Kills what a failed trial may have left, by what was reported.
impl Drop for Stage {
    fn drop(&mut self) {
        let book = self.referee.book();
        if std::thread::panicking() {
            book.iter().for_each(|one| println!("{one}"));
            for file in fs::read_dir(self.folder.path()).unwrap().flatten() {
                let said = fs::read_to_string(file.path()).unwrap_or_default();
                let said = said.lines().filter(|line| !line.contains("Promised."));
                said.for_each(|line| println!("{}: {line}", file.path().display()));
            }
        }
        for one in book.iter().filter(|one| one.gone.is_none()) {
            if let Some(process) = Identity::of(one.pid) {
                process.signal(&[Signal::KILL]).ok();
            }
        }
    }
}
