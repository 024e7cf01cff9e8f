//! Jobs that hold their promises to the last millisecond, each beside a sidecar, and the referee to
//! whom they report: one process, with one clock.

use std::collections::BTreeMap;
use std::fmt;
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use rustix::process::Signal;
use tandem::time::Mono;

use super::experiment::eventually;
use super::held::{Hold, SOON, Stage};
use super::stalls::Watch;

/// So much of a stall may pass between two looks.
const UNSEEN: Duration = Duration::from_millis(2);

/// One promise that a job held: from before its work to after it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Held {
    pub name: String,
    pub fence: i64,
    pub from: Mono,
    /// The end of the promise, as the job knows it.
    pub promised: Mono,
    /// None while the job is at work.
    pub until: Option<Mono>,
    /// How much of its promise was left when it ended, in microseconds; less than none is too late.
    pub left_us: i64,
}

impl fmt::Display for Held {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let us = |at: Mono| at.0 / 1_000;
        let Self { name, fence, from, promised, until, left_us } = self;
        write!(
            f,
            "{name} by fence {fence}, promised to {} us, from {} us ",
            us(*promised),
            us(*from)
        )?;
        match until {
            Some(until) => write!(f, "to {} us, {left_us} us before its promise ended", us(*until)),
            None => write!(f, "on"),
        }
    }
}

/// Two jobs that were at work at the same time.
#[derive(Debug, Clone)]
pub struct Overlap {
    first: Held,
    second: Held,
    length: Duration,
    /// The longest stall from the end of the promise to the end of the work, where it was watched.
    stalled: Duration,
}

impl Overlap {
    /// Whether the second job began before the promise of the first one had ended.
    pub fn breaks_promise(&self) -> bool {
        self.second.from < self.first.promised
    }

    /// Whether no promise was broken, and the first job ended late because the host kept a process
    /// from running for so long after its promise. One that still works has no such excuse.
    pub fn is_of_the_host(&self) -> bool {
        let late = self.first.until.map(|until| until.since(self.first.promised));
        !self.breaks_promise() && late.is_some_and(|late| late <= self.stalled + UNSEEN)
    }
}

impl fmt::Display for Overlap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { first, second, length, stalled } = self;
        let how = if self.breaks_promise() { "within the promise" } else { "after the promise" };
        write!(f, "{first}, and {second}: {length:?} {how}; the longest stall {stalled:?}")
    }
}

type Book = Arc<Mutex<Vec<Held>>>;

/// Writes down what one job reports, in the order in which it does.
fn hear(stream: TcpStream, book: &Book) {
    stream.set_nodelay(true).unwrap();
    let mut answers = stream.try_clone().unwrap();
    let mut open = None;
    for line in BufReader::new(stream).lines().map_while(Result::ok) {
        let now = Mono::now();
        match line.split(' ').collect::<Vec<_>>()[..] {
            ["begin", name, fence, promised] => {
                let (name, fence) = (name.to_owned(), fence.parse().unwrap());
                let promised = Mono(promised.parse().unwrap());
                let mut book = book.lock().unwrap();
                open = Some(book.len());
                book.push(Held { name, fence, from: now, promised, until: None, left_us: 0 });
                drop(book);
                // A job that is gone by now needs no answer.
                answers.write_all(b"go\n").ok();
            }
            ["end", left] => {
                let held = &mut book.lock().unwrap()[open.take().unwrap()];
                (held.until, held.left_us) = (Some(now), left.parse().unwrap());
            }
            // It did no work: as if it had ended when it began.
            ["none"] => {
                let held = &mut book.lock().unwrap()[open.take().unwrap()];
                held.until = Some(held.from);
            }
            _ => panic!("a job reports {line:?}"),
        }
    }
    if let Some(open) = open {
        book.lock().unwrap()[open].until = Some(Mono::now());
    }
}

/// Jobs with their sidecars, and their referee.
pub struct Promises {
    stage: Stage,
    port: u16,
    book: Book,
    machines: BTreeMap<String, (Hold, Job)>,
    started: usize,
    /// What the host keeps from running, where that is asked.
    watch: Option<Watch>,
}

/// The process of a job; killed with this value.
struct Job(Child);

impl Drop for Job {
    fn drop(&mut self) {
        self.0.kill().ok();
        self.0.wait().ok();
    }
}

impl Promises {
    /// So many jobs, on a host whose stalls are watched.
    pub fn start(count: usize) -> Self {
        let watch = Watch::begin();
        watch.add(std::process::id());
        Self::begin_with(count, Stage::new("mode: exclusive, hold: 400ms"), Some(watch))
    }

    /// So many jobs, in a group whose sessions last while a host stops any process for two
    /// seconds. Its stalls are not watched: nothing says whose fault a late job is.
    pub fn unwatched(count: usize) -> Self {
        let group = "mode: exclusive, session: 10s, heartbeat: 100ms, hold: 400ms";
        Self::begin_with(count, Stage::new(group), None)
    }

    fn begin_with(count: usize, stage: Stage, watch: Option<Watch>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let book = Book::default();
        let pages = Arc::clone(&book);
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let book = Arc::clone(&pages);
                std::thread::spawn(move || hear(stream, &book));
            }
        });
        let mut promises = Self { stage, port, book, machines: BTreeMap::new(), started: 0, watch };
        (0..count).for_each(|_| drop(promises.begin("0")));
        promises
    }

    /// Starts one more, whose job works on for so many seconds after its promise.
    pub fn begin(&mut self, overstay: &str) -> String {
        self.started += 1;
        // The group gives its only partition to the first name: to one that joins.
        let name = format!("m{}", 9_999 - self.started);
        let (hold, port) = self.stage.serve(&name, &[]);
        let mut job = Command::new("python3");
        job.arg(Path::new(crate::ROOT).join("tests/support/promised.py"));
        job.args([&port.to_string(), "r", &self.port.to_string(), &name, overstay]);
        let job = job.stdin(Stdio::null()).spawn().unwrap();
        if let Some(watch) = &self.watch {
            watch.add(job.id());
            watch.add(hold.pid());
        }
        self.machines.insert(name.clone(), (hold, Job(job)));
        name
    }

    /// What was written down, in the order of the beginnings.
    pub fn held(&self) -> Vec<Held> {
        let mut held = self.book.lock().unwrap().clone();
        held.sort_by_key(|held| held.from);
        held
    }

    fn last(&self) -> Option<Held> {
        self.held().pop()
    }

    /// Waits for a promise that fits.
    pub fn until_held(&self, what: &str, fits: impl Fn(&Held) -> bool) -> Held {
        eventually(what, SOON, || self.last().filter(&fits))
    }

    /// One more joins, and the group works with it.
    pub fn join(&mut self) {
        let before = self.until_held("work before a join", |_| true);
        self.begin("0");
        self.until_held("work after a join", |held| held.fence > before.fence);
    }

    /// The sidecar of a job leaves, that of the leader or another; others work on.
    pub fn leave(&mut self, is_leader: bool) {
        let before = self.until_held("work before a leave", |_| true);
        let fits = |name: &&String| (**name == before.name) == is_leader;
        let name = self.machines.keys().find(fits).unwrap().clone();
        self.take_leave(&name);
        self.until_held("work after a leave", |held| held.fence > before.fence);
        drop(self.machines.remove(&name));
    }

    /// The sidecar of this job leaves, and its job goes on.
    pub fn take_leave(&mut self, name: &str) {
        let (hold, job) = self.machines.get_mut(name).unwrap();
        hold.signal(Signal::TERM);
        assert_eq!(hold.ends().code(), Some(0), "{name}");
        if let Some(watch) = &self.watch {
            watch.remove(job.0.id());
        }
    }

    /// Jobs of two of which one began before the work or the promise of the other had ended.
    pub fn overlaps(&self) -> Vec<Overlap> {
        let (all, now) = (self.held(), Mono::now());
        let until = |held: &Held| held.until.unwrap_or(now).max(held.promised);
        let mut found = Vec::new();
        for (at, second) in all.iter().enumerate() {
            let earlier = all[..at].iter().filter(|first| first.name != second.name);
            for first in earlier.filter(|first| until(first) > second.from) {
                let longest = |watch: &Watch| watch.longest(first.promised, until(first));
                let stalled = self.watch.as_ref().map_or(Duration::ZERO, longest);
                let length = until(first).min(until(second)).since(second.from);
                let (first, second) = (first.clone(), second.clone());
                found.push(Overlap { first, second, length, stalled });
            }
        }
        found
    }

    /// How long after the end of one job the job of another began, the shortest first.
    pub fn pauses(&self) -> Vec<Duration> {
        let all = self.held();
        let pairs = all.windows(2).filter(|pair| pair[0].name != pair[1].name);
        let mut pauses: Vec<_> =
            pairs.filter_map(|pair| Some(pair[1].from.since(pair[0].until?))).collect();
        pauses.sort_unstable();
        pauses
    }

    /// What was left of each promise when its job ended, the least first.
    pub fn left_us(&self) -> Vec<i64> {
        let all = self.held();
        let worked = all.iter().filter(|held| held.until.is_some_and(|until| until > held.from));
        let mut left: Vec<_> = worked.map(|held| held.left_us).collect();
        left.sort_unstable();
        left
    }
}

impl Drop for Promises {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let held = self.held();
            for held in held.iter().rev().take(100).rev() {
                println!("{held}");
            }
            for overlap in self.overlaps() {
                println!("at the same time: {overlap}");
            }
        }
    }
}
