//! The schedulers of `examples/scheduler.rs`, of which one leads after the other, and what is done
//! to the one that leads; what their store says of the jobs afterwards.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use rustix::process::Signal;
use tandem::edge::{Direction, Effect};
use tandem::time::{Mono, Wall};

use super::alone::Alone;
use super::edge::process::{Edges, rule};
use super::experiment::{eventually, signal_pid};
use super::feed::Blow;
use super::memory::{self, Folder};
use super::postgres::Postgres;

/// Nothing here takes longer, however loaded the machine.
const SOON: Duration = Duration::from_secs(60);
/// A job is due each 100 ms; the number follows from the wall clock.
const PERIOD_MS: i64 = 100;
/// A successor that has led for so long, and written nothing, waits for a lock.
const LOCKED: Duration = Duration::from_secs(2);
/// So much of what was said is shown where a test fails.
const SHOWN: usize = 200;

/// The work of one that finds a gate of its own: it waits there, in the middle of a job.
pub const GATED: &str =
    "while [ -e gate-$NAME ]; do echo $JOB > next; mv next at-$NAME; sleep 0.01; done";

/// Where the runs are written down.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kept {
    Postgres,
    Sqlite,
}

enum Store {
    Postgres(Postgres, Box<RefCell<postgres::Client>>),
    Sqlite(PathBuf),
}

/// A job that was written down.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Run {
    pub job: i64,
    pub fence: i64,
    pub name: String,
}

/// What a scheduler said, and when.
type Said = Arc<Mutex<Vec<(Mono, String, String)>>>;

/// All of them.
pub struct Schedulers {
    broker: Alone,
    edges: Edges,
    folder: Folder,
    store: Store,
    is_fenced: bool,
    work: String,
    all: BTreeMap<String, Child>,
    started: usize,
    said: Said,
    /// How often a successor waited for a lock that a stopped scheduler kept.
    pub locked: usize,
}

/// What the store says in the end.
#[derive(Debug, Clone, Default)]
pub struct Tally {
    pub runs: usize,
    /// Jobs that were written down more than once.
    pub twice: Vec<i64>,
    /// Jobs between the first and the last that were not.
    pub lost: Vec<i64>,
    /// Runs that were written down after one with a higher fence.
    pub late: Vec<Run>,
    pub leaders: usize,
}

impl Tally {
    /// Of runs in the order in which they were written down.
    pub fn of(runs: &[Run]) -> Self {
        let mut counts = BTreeMap::<i64, usize>::new();
        runs.iter().for_each(|run| *counts.entry(run.job).or_default() += 1);
        let ends = counts.keys().next().zip(counts.keys().last());
        let lost = ends.map(|(first, last)| (*first..=*last).collect::<Vec<_>>());
        let lost = lost.unwrap_or_default().into_iter().filter(|job| !counts.contains_key(job));
        let pairs = runs.windows(2).filter(|pair| pair[0].fence > pair[1].fence);
        Self {
            runs: runs.len(),
            twice: counts.iter().filter(|(_, count)| **count > 1).map(|(job, _)| *job).collect(),
            lost: lost.collect(),
            late: pairs.map(|pair| pair[1].clone()).collect(),
            leaders: runs.iter().map(|run| run.fence).collect::<BTreeSet<_>>().len(),
        }
    }

    /// The same of several stores.
    pub fn and(mut self, other: Self) -> Self {
        self.runs += other.runs;
        self.leaders += other.leaders;
        self.twice.extend(other.twice);
        self.lost.extend(other.lost);
        self.late.extend(other.late);
        self
    }

    /// No job twice, none lost.
    pub fn is_right(&self) -> bool {
        self.twice.is_empty() && self.lost.is_empty() && self.late.is_empty()
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { runs, twice, lost, late, leaders } = self;
        let (twice, lost, late) = (twice.len(), lost.len(), late.len());
        write!(
            f,
            "{runs} runs by {leaders} leaders, {twice} jobs twice, {lost} lost, {late} written \
             after a later leader's"
        )
    }
}

impl Schedulers {
    /// `count` of them, whose work is this command.
    pub fn start(kept: Kept, is_fenced: bool, work: &str, count: usize) -> Self {
        // SQLite waits for its disk, and a job is due each 100 ms.
        let (broker, folder) = (Alone::start(), memory::folder());
        let store = match kept {
            Kept::Postgres => {
                let server = Postgres::empty();
                let client = postgres::Client::connect(&server.connection(), postgres::NoTls);
                Store::Postgres(server, Box::new(RefCell::new(client.unwrap())))
            }
            Kept::Sqlite => Store::Sqlite(folder.path().join("jobs.db")),
        };
        let (edges, work) = (Edges::start(), work.to_owned());
        let (all, said) = (BTreeMap::new(), Said::default());
        let (started, locked) = (0, 0);
        let mut schedulers =
            Self { broker, edges, folder, store, is_fenced, work, all, started, said, locked };
        (0..count).for_each(|_| drop(schedulers.begin()));
        schedulers
    }

    /// A file in the folder in which they work.
    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Starts one more, under a name of its own.
    pub fn begin(&mut self) -> String {
        self.started += 1;
        // The group gives its only partition to the first name: to one that joins.
        let name = format!("s{}", 9_999 - self.started);
        let bootstrap = self.edges.open(&name, &self.broker.address);
        let place = match &self.store {
            Store::Postgres(server, _) => format!("postgres:{}", server.connection()),
            Store::Sqlite(file) => format!("sqlite:{}", file.display()),
        };
        let mut command = Command::new(crate::example("scheduler"));
        command.args([&bootstrap, &name, &place, &self.work]).current_dir(self.folder.path());
        command.env("SCHEDULER_FENCE", if self.is_fenced { "on" } else { "off" });
        let mut child = command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        self.hear(&name, child.stdout.take().unwrap());
        self.hear(&name, child.stderr.take().unwrap());
        self.all.insert(name.clone(), child);
        name
    }

    fn hear(&self, name: &str, from: impl Read + Send + 'static) {
        let (said, name) = (Arc::clone(&self.said), name.to_owned());
        std::thread::spawn(move || {
            for line in BufReader::new(from).lines().map_while(Result::ok) {
                said.lock().unwrap().push((Mono::now(), name.clone(), line));
            }
        });
    }

    fn ask(&self, more: &str) -> Option<Vec<Run>> {
        let ask = format!("SELECT job, fence, name FROM runs {more}");
        match &self.store {
            Store::Postgres(_, client) => {
                let rows = client.borrow_mut().query(&ask, &[]).ok()?;
                let run = |row: &postgres::Row| Run {
                    job: row.get(0),
                    fence: row.get(1),
                    name: row.get(2),
                };
                Some(rows.iter().map(run).collect())
            }
            Store::Sqlite(file) => {
                let store = rusqlite::Connection::open(file).ok()?;
                store.busy_timeout(Duration::from_secs(2)).ok()?;
                let mut ask = store.prepare(&ask).ok()?;
                let rows = ask.query_map([], |row| {
                    Ok(Run { job: row.get(0)?, fence: row.get(1)?, name: row.get(2)? })
                });
                rows.ok()?.collect::<Result<_, _>>().ok()
            }
        }
    }

    /// What was written down, in that order; waits for a store that another one has locked.
    pub fn runs(&self) -> Vec<Run> {
        eventually("the runs", SOON, || self.ask("ORDER BY place"))
    }

    fn last(&self) -> Option<Run> {
        self.ask("ORDER BY place DESC LIMIT 1")?.pop()
    }

    /// Waits for a run that fits.
    pub fn until_run(&self, what: &str, fits: impl Fn(&Run) -> bool) -> Run {
        eventually(what, SOON, || self.last().filter(&fits))
    }

    /// Waits for one more run.
    pub fn works(&self) -> Run {
        let before = eventually("a run", SOON, || self.last());
        self.until_run("one more run", |run| run.job > before.job)
    }

    /// Whether one has said such a thing.
    pub fn said(&self, fits: impl Fn(&str, &str) -> bool) -> Option<Mono> {
        let said = self.said.lock().unwrap();
        said.iter().rev().find(|(_, name, line)| fits(name, line)).map(|(at, ..)| *at)
    }

    pub fn signal(&self, name: &str, signal: Signal) {
        signal_pid(self.all[name].id(), signal);
    }

    /// Does this to the one that works until another one does, and undoes it. Returns whom it hit.
    pub fn hit(&mut self, blow: Blow) -> String {
        let Run { name, fence, .. } = self.works();
        match blow {
            Blow::Kill => self.signal(&name, Signal::KILL),
            Blow::Pause => self.signal(&name, Signal::STOP),
            Blow::Cut => {
                let all = rule(&name, Direction::Both, &[], Effect::Drop);
                self.edges.put(&name, all);
            }
        }
        let is_locked = eventually("the successor's work", SOON, || {
            if self.last().is_some_and(|run| run.fence > fence && run.name != name) {
                return Some(false);
            }
            // A stopped scheduler may keep SQLite's lock until it wakes.
            let leads = self.said(|by, line| by != name && leads_with(line) > Some(fence));
            let waits = leads.is_some_and(|at| Mono::now().since(at) > LOCKED);
            let may_lock = blow == Blow::Pause && matches!(self.store, Store::Sqlite(_));
            (waits && may_lock).then_some(true)
        });
        self.locked += usize::from(is_locked);
        match blow {
            Blow::Kill => {
                self.all.remove(&name).unwrap().wait().unwrap();
                self.begin();
            }
            // It wakes where it stood, perhaps in the middle of a job.
            Blow::Pause => self.signal(&name, Signal::CONT),
            Blow::Cut => drop(self.edges.heal(&name)),
        }
        name
    }

    /// One more joins, and the group works with it.
    pub fn join(&mut self) -> String {
        let before = self.works();
        let name = self.begin();
        self.until_run("work of the one that joins", |run| {
            run.fence > before.fence && run.name == name
        });
        name
    }

    /// One leaves, the one that works or another, and the rest works on.
    pub fn leave(&mut self, is_leader: bool) {
        let before = self.works();
        let fits = |name: &&String| (**name == before.name) == is_leader;
        let name = self.all.keys().find(fits).unwrap().clone();
        self.signal(&name, Signal::TERM);
        let mut child = self.all.remove(&name).unwrap();
        let ended = eventually("the end of one that leaves", SOON, || child.try_wait().unwrap());
        assert!(ended.success(), "{name}: {ended}");
        self.until_run("work after a leave", |run| run.fence > before.fence);
    }

    /// A fault, a join, and a leave.
    pub fn round(&mut self, number: usize) {
        let victim = self.hit(Blow::ALL[number % 3]);
        let joined = self.join();
        self.leave(number.is_multiple_of(2));
        eprintln!("round {number}: {:?} of {victim}, {joined} joined", Blow::ALL[number % 3]);
    }

    /// The leader is stopped between taking its job and writing it down, until another one has led
    /// and has run that job. How often it is in the store then. Their work is [`GATED`].
    pub fn stop_in_the_middle(&mut self) -> usize {
        let zombie = self.works().name;
        let gate = self.path(&format!("gate-{zombie}"));
        fs::write(&gate, "").unwrap();
        let at = self.path(&format!("at-{zombie}"));
        let job: i64 = eventually("a job at the gate", SOON, || {
            fs::read_to_string(&at).ok()?.trim().parse().ok()
        });
        self.signal(&zombie, Signal::STOP);
        let other = self.begin();
        self.until_run("that job, by another", |run| run.name == other && run.job >= job);
        fs::remove_file(gate).unwrap();
        self.signal(&zombie, Signal::CONT);
        let written = format!("job {job} ");
        eventually("what the zombie says of its job", SOON, || {
            self.said(|name, line| name == zombie && line.starts_with(&written))
        });
        self.runs().iter().filter(|run| run.job == job).count()
    }

    /// Waits until all that is due has run; then what the store says.
    pub fn tally(&self) -> Tally {
        let due = Wall::now().0 / PERIOD_MS;
        self.until_run("the jobs that are due", |run| run.job >= due);
        Tally::of(&self.runs())
    }
}

/// The fence of one that says that it leads.
fn leads_with(line: &str) -> Option<i64> {
    line.strip_prefix("leads with fence ")?.parse().ok()
}

impl Drop for Schedulers {
    fn drop(&mut self) {
        for child in self.all.values_mut() {
            child.kill().ok();
            child.wait().ok();
        }
        // A test that fails shows what was said and written.
        if std::thread::panicking() {
            let runs = self.ask("ORDER BY place").unwrap_or_default();
            let rows: Vec<_> = runs.iter().rev().take(SHOWN).rev().collect();
            println!("{}; the last runs: {rows:?}", Tally::of(&runs));
            let said = self.said.lock().unwrap();
            for (at, name, line) in said.iter().rev().take(SHOWN).rev() {
                println!("{} ms {name}: {line}", at.0 / 1_000_000);
            }
            for entry in fs::read_dir(self.folder.path()).into_iter().flatten().flatten() {
                println!("{}", entry.path().display());
            }
        }
    }
}
