//! How long the host kept processes from running, for tests of programs that no experiment watches.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

use tandem::time::Mono;

/// Between two looks.
const LOOK: Duration = Duration::from_millis(20);
/// What is shorter is no stall.
const LEAST: Duration = Duration::from_millis(5);
/// No look takes longer, however loaded the machine.
const PATIENCE: Duration = Duration::from_secs(60);
/// The kernel counts stolen time in these.
const TICK: Duration = Duration::from_millis(10);

/// The host kept one of the processes, or the watch itself, from running for so long until then.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stall {
    pub until: Mono,
    pub length: Duration,
}

/// A thread that looks how long every thread of some processes has waited for a processor, how much
/// time the hypervisor took, and how late it wakes itself. It ends with this value.
pub struct Watch {
    pids: Arc<Mutex<BTreeSet<u32>>>,
    /// The processes whose children count as well, whenever they are started.
    parents: Arc<Mutex<BTreeSet<u32>>>,
    stalls: Arc<Mutex<Vec<Stall>>>,
    /// When it looked last: all stalls that ended before are known.
    looked: Arc<AtomicU64>,
    ended: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Watch {
    pub fn begin() -> Self {
        let (pids, parents, stalls, looked, ended) = Default::default();
        let mut watch = Self { pids, parents, stalls, looked, ended, thread: None };
        let (pids, stalls) = (Arc::clone(&watch.pids), Arc::clone(&watch.stalls));
        let parents = Arc::clone(&watch.parents);
        let (looked, ended) = (Arc::clone(&watch.looked), Arc::clone(&watch.ended));
        watch.thread = Some(std::thread::spawn(move || {
            let mut known = BTreeMap::<PathBuf, Duration>::new();
            let (mut stolen, mut last) = (steal(), Mono::now());
            while !ended.load(Ordering::SeqCst) {
                std::thread::sleep(LOOK);
                let woke = Mono::now();
                // Since the last look: the host may have held this thread up while it looked, too.
                let mut longest = woke.since(last).saturating_sub(LOOK);
                let mut all = pids.lock().unwrap().clone();
                all.extend(parents.lock().unwrap().iter().flat_map(|pid| children(*pid)));
                let now = waits(&all);
                for (thread, wait) in &now {
                    let before = known.get(thread).copied().unwrap_or(*wait);
                    longest = longest.max(wait.saturating_sub(before));
                }
                let taken = steal();
                longest = longest.max(taken.saturating_sub(stolen));
                (known, stolen, last) = (now, taken, woke);
                if longest >= LEAST {
                    stalls.lock().unwrap().push(Stall { until: woke, length: longest });
                }
                looked.store(woke.0, Ordering::SeqCst);
            }
        }));
        watch
    }

    /// From now on this process counts.
    pub fn add(&self, pid: u32) {
        self.pids.lock().unwrap().insert(pid);
    }

    /// From now on this process counts, and all those that it has started or will start.
    pub fn add_with_children(&self, pid: u32) {
        self.add(pid);
        self.parents.lock().unwrap().insert(pid);
    }

    /// What happens to this process from now on is a fault of the test.
    pub fn remove(&self, pid: u32) {
        self.pids.lock().unwrap().remove(&pid);
    }

    /// The longest stall that reaches into this time.
    pub fn longest(&self, from: Mono, until: Mono) -> Duration {
        self.lengths(from, until).into_iter().max().unwrap_or_default()
    }

    /// All stalls that reach into this time. What waits for many turns takes so much longer.
    pub fn total(&self, from: Mono, until: Mono) -> Duration {
        self.lengths(from, until).into_iter().sum()
    }

    /// A stall that has just ended is known once the watch has looked, and it may have held up the
    /// watch as well.
    fn lengths(&self, from: Mono, until: Mono) -> Vec<Duration> {
        let now = Mono::now();
        while self.looked.load(Ordering::SeqCst) < until.min(now).0 {
            assert!(Mono::now().since(now) < PATIENCE, "the watch for stalls does not look");
            std::thread::sleep(LOOK);
        }
        let stalls = self.stalls.lock().unwrap();
        let inside = stalls.iter().filter(|stall| {
            stall.until >= from && Mono(stall.until.0 - nanos(stall.length)) <= until
        });
        inside.map(|stall| stall.length).collect()
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.ended.store(true, Ordering::SeqCst);
        if let Some(thread) = self.thread.take() {
            thread.join().ok();
        }
    }
}

fn nanos(length: Duration) -> u64 {
    u64::try_from(length.as_nanos()).unwrap()
}

/// The children of all threads of a process.
fn children(pid: u32) -> Vec<u32> {
    let tasks = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    let lists = tasks.filter_map(|task| fs::read_to_string(task.path().join("children")).ok());
    lists
        .flat_map(|list| list.split_whitespace().flat_map(str::parse).collect::<Vec<_>>())
        .collect()
}

/// How long each thread of these processes has waited for a processor, of those that live.
fn waits(pids: &BTreeSet<u32>) -> BTreeMap<PathBuf, Duration> {
    let tasks = pids.iter().filter_map(|pid| fs::read_dir(format!("/proc/{pid}/task")).ok());
    let tasks = tasks.flatten().flatten().map(|task| task.path());
    let wait = |task: PathBuf| {
        let text = fs::read_to_string(task.join("schedstat")).ok()?;
        let waited = text.split(' ').nth(1)?.parse().ok()?;
        Some((task, Duration::from_nanos(waited)))
    };
    tasks.filter_map(wait).collect()
}

/// What the hypervisor has taken from the processors.
fn steal() -> Duration {
    let text = fs::read_to_string("/proc/stat").unwrap();
    let ticks = text.split_whitespace().nth(8).and_then(|ticks| ticks.parse().ok());
    TICK * ticks.unwrap_or(0)
}
