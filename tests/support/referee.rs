//! A referee outside Tandem: the commands of wrappers, and what these leave behind, report to it
//! each few milliseconds, and the kernel tells it when one of them is gone. It compares that with
//! the promises that wrappers gave, and with the first report of a successor.

use std::collections::BTreeMap;
use std::fmt;
use std::io::{BufRead, BufReader};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tandem::time::Mono;

/// Whose command a process belongs to: one life of it has one fence.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Work {
    pub group: String,
    /// The name of its member, in all groups.
    pub name: String,
    pub fence: i64,
}

/// A process that reports.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reporter {
    pub work: Work,
    pub kind: String,
    pub pid: u32,
    pub first: Mono,
    pub last: Mono,
    /// When the kernel had closed what it had open. It did nothing any more then.
    pub gone: Option<Mono>,
}

impl Reporter {
    /// Whether it may have worked at an instant of this time.
    fn works_within(&self, from: Mono, until: Mono) -> bool {
        self.first < until && self.gone.is_none_or(|gone| gone > from)
    }
}

impl fmt::Display for Reporter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { work, kind, pid, first, last, gone } = self;
        let us = |at: Mono| at.0 / 1_000;
        let (name, fence) = (&work.name, work.fence);
        write!(
            f,
            "{name} by fence {fence} ({kind}, {pid}) from {} to {} us",
            us(*first),
            us(*last)
        )?;
        match gone {
            Some(gone) => write!(f, ", gone at {}", us(*gone)),
            None => f.write_str(", which is not gone"),
        }
    }
}

type Book = Arc<Mutex<Vec<Reporter>>>;

/// What was reported.
pub struct Referee {
    place: PathBuf,
    book: Book,
}

fn hear(stream: UnixStream, book: &Book) {
    let mut lines = BufReader::new(stream).lines().map_while(Result::ok);
    let Some(words) = lines.next() else { return };
    let words: Vec<&str> = words.split(' ').collect();
    let &[name, fence, kind, pid] = &words[..] else { panic!("a command reports {words:?}") };
    let mut times = lines.filter_map(|line| line.parse().ok().map(Mono));
    // Killed before it reported a time, it did no work.
    let Some(first) = times.next() else { return };
    let group = name.split('-').next().unwrap().to_owned();
    let work = Work { group, name: name.to_owned(), fence: fence.parse().unwrap() };
    let (kind, pid) = (kind.to_owned(), pid.parse().unwrap());
    let at = {
        let mut book = book.lock().unwrap();
        book.push(Reporter { work, kind, pid, first, last: first, gone: None });
        book.len() - 1
    };
    times.for_each(|time| book.lock().unwrap()[at].last = time);
    book.lock().unwrap()[at].gone = Some(Mono::now());
}

impl Referee {
    /// Listens on a socket at this place.
    pub fn at(place: &Path) -> Self {
        let listener = UnixListener::bind(place).unwrap();
        let book = Book::default();
        let pages = Arc::clone(&book);
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let book = Arc::clone(&pages);
                std::thread::spawn(move || hear(stream, &book));
            }
        });
        Self { place: place.to_owned(), book }
    }

    /// The command of the member with this name, whose first part is its group.
    pub fn command(&self, name: &str, kind: &str) -> Vec<String> {
        let script = Path::new(crate::ROOT).join("tests/support/reporting.py");
        let words = [script.to_str().unwrap(), self.place.to_str().unwrap(), name, kind];
        ["python3"].iter().chain(&words).map(|word| (*word).to_owned()).collect()
    }

    /// All that was reported.
    pub fn book(&self) -> Vec<Reporter> {
        self.book.lock().unwrap().clone()
    }

    /// The processes of a command.
    pub fn of(&self, work: &Work) -> Vec<Reporter> {
        self.book().into_iter().filter(|one| one.work == *work).collect()
    }

    /// The command of a group that works now, with the latest fence.
    pub fn works(&self, group: &str) -> Option<Reporter> {
        let at_work = |one: &Reporter| {
            one.work.group == group && one.gone.is_none() && one.kind != "detached"
        };
        self.book().into_iter().filter(at_work).max_by_key(|one| one.work.fence)
    }
}

/// Two processes of different works of one group that may have worked at the same time.
pub fn overlaps(all: &[Reporter]) -> Vec<(Reporter, Reporter)> {
    let mut groups = BTreeMap::<&str, Vec<&Reporter>>::new();
    all.iter().for_each(|one| groups.entry(&one.work.group).or_default().push(one));
    let mut found = Vec::new();
    for of in groups.values_mut() {
        of.sort_by_key(|one| one.first);
        for (at, second) in of.iter().enumerate() {
            let until = second.first + Duration::from_nanos(1);
            let earlier = of[..at].iter().filter(|first| first.work != second.work);
            let both = earlier.filter(|first| first.works_within(second.first, until));
            found.extend(both.map(|first| ((*first).clone(), (*second).clone())));
        }
    }
    found
}

/// The promises in what a wrapper logged, the last of each fence: lines with
/// `until=Mono(…) fence=Some(…)`.
pub fn promises(said: &str) -> BTreeMap<i64, Mono> {
    let number = |line: &str, before: &str| {
        let rest = line.split_once(before)?.1;
        rest.split_once(')')?.0.parse::<i64>().ok()
    };
    let promised = said.lines().filter(|line| line.contains("Promised."));
    let promise = |line: &str| {
        let until = number(line, "until=Mono(")?;
        Some((number(line, "fence=Some(")?, Mono(u64::try_from(until).unwrap())))
    };
    let mut last = BTreeMap::new();
    for (fence, until) in promised.filter_map(promise) {
        let known = last.entry(fence).or_insert(until);
        *known = until.max(*known);
    }
    last
}
