//! Measures who uses the processors of this host: the run, other processes, or the hypervisor.
//!
//! The total is the time in which the processors were not idle (`/proc/stat`, in steps of 10 ms).
//! The run's part is exact: the CPU clock of each of its processes, plus the time of those that
//! ended in between. A sample costs about a microsecond per process. Sampling takes at most a
//! hundredth of one processor, so with a thousand members it is less frequent.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::sync::Arc;
use std::time::Duration;

use nix::sys::resource::{UsageWho, getrusage};
use nix::time::clock_getcpuclockid;
use nix::unistd::Pid;
use rustix::time::{ClockId, clock_gettime};

use super::deployed::Deployed;
use crate::guard::Children;
use crate::observation::RunEvent;
use crate::time::Mono;

/// The shortest time between two samples.
const PERIOD: Duration = Duration::from_millis(100);
/// The time between two samples is at least this many times the cost of a sample.
const COST: u32 = 100;
/// Other load is recorded if it used at least this much time between two samples, and at least a
/// quarter of one processor.
const OUTSIDE_LEAST: Duration = Duration::from_millis(30);
const OUTSIDE_SHARE: u32 = 4;
/// How often to look up which brokers of `deploy/kafka/up` run.
const BROKERS: Duration = Duration::from_millis(500);
/// A tick of `/proc/stat` (USER_HZ is 100).
const TICK: Duration = Duration::from_millis(10);
/// Enough for the lines of a thousand processors in `/proc/stat`.
const ROOM: usize = 128 * 1024;

/// Samples the use of the processors.
pub(super) struct Processors {
    stat: Option<File>,
    text: Vec<u8>,
    children: Arc<Children>,
    /// The brokers of `deploy/kafka/up`, which count as the run's own if the run uses their
    /// clusters.
    brokers: Option<(Mono, BTreeSet<u32>)>,
    last: Option<Look>,
    cost: Duration,
}

/// One sample: totals since the host booted, or since a process started.
struct Look {
    at: Mono,
    idle: Duration,
    /// The time stolen by the hypervisor, for each processor.
    stolen: Vec<Duration>,
    itself: Duration,
    each: BTreeMap<u32, Duration>,
    /// The time of children that have ended.
    ended: Duration,
}

impl Processors {
    /// For a run with the processes `children`. With `deployed`, the brokers of `deploy/kafka/up`
    /// count as the run's own.
    pub(super) fn new(children: Arc<Children>, deployed: bool) -> Self {
        let stat = File::open("/proc/stat").ok();
        let brokers = deployed.then(|| (Mono::ZERO, BTreeSet::new()));
        let (text, last, cost) = (vec![0; ROOM], None, Duration::ZERO);
        Self { stat, text, children, brokers, last, cost }
    }

    /// Whether the next sample is due.
    pub(super) fn is_due(&self, now: Mono) -> bool {
        let period = PERIOD.max(self.cost.saturating_mul(COST));
        self.last.as_ref().is_none_or(|last| now.since(last.at) >= period)
    }

    /// Takes a sample. Returns what to record, if it is worth recording; after a stall it always
    /// is.
    pub(super) fn look(&mut self, stalled: bool) -> Option<RunEvent> {
        let began = Mono::now();
        let next = self.take()?;
        self.cost = Mono::now().since(began);
        let last = self.last.replace(next)?;
        let next = self.last.as_ref()?;
        let (from, until) = (last.at, next.at);
        let processors = u32::try_from(next.stolen.len()).unwrap_or(u32::MAX);
        let whole = until.since(from).saturating_mul(processors);
        let busy = whole.saturating_sub(next.idle.saturating_sub(last.idle));
        let own = next.own_since(&last).min(busy);
        let stolen = next.stolen.iter().zip(&last.stolen);
        let stolen = stolen.map(|(next, last)| next.saturating_sub(*last)).max()?;
        let outside = busy.saturating_sub(own);
        let least = OUTSIDE_LEAST.max(until.since(from) / OUTSIDE_SHARE);
        let (busy_ns, own_ns, stolen_ns) = (nanos(busy), nanos(own), nanos(stolen));
        let recorded = stalled || outside >= least || !stolen.is_zero();
        recorded.then_some(RunEvent::Processors { from, until, busy_ns, own_ns, stolen_ns })
    }

    fn take(&mut self) -> Option<Look> {
        let length = self.stat.as_ref()?.read_at(&mut self.text, 0).ok()?;
        let (at, itself) = (Mono::now(), used(clock_gettime(ClockId::ProcessCPUTime)));
        let (idle, stolen) = processors(std::str::from_utf8(self.text.get(..length)?).ok()?)?;
        self.find_brokers(at);
        let mut each = BTreeMap::new();
        for pid in self.children.all() {
            match used_by(pid) {
                Some(used) => drop(each.insert(pid, used)),
                None => self.children.remove(pid),
            }
        }
        let brokers = self.brokers.iter().flat_map(|(_, pids)| pids);
        each.extend(brokers.filter_map(|pid| Some((*pid, used_by(*pid)?))));
        // A child that ends from here on is counted twice, rather than not at all.
        let ended = getrusage(UsageWho::RUSAGE_CHILDREN).ok()?;
        let ended = [ended.user_time(), ended.system_time()].map(|time| {
            let micros = time.tv_sec().saturating_mul(1_000_000).saturating_add(time.tv_usec());
            Duration::from_micros(u64::try_from(micros).unwrap_or(0))
        });
        let ended = ended.iter().sum();
        Some(Look { at, idle, stolen, itself, each, ended })
    }

    fn find_brokers(&mut self, now: Mono) {
        if let Some((looked, pids)) = &mut self.brokers
            && now.since(*looked) >= BROKERS
        {
            (*looked, *pids) = (now, Deployed::pids());
        }
    }
}

impl Look {
    /// The time that the run has used since `last`.
    fn own_since(&self, last: &Self) -> Duration {
        let mut own = self.itself.saturating_sub(last.itself);
        for (pid, used) in &self.each {
            // A new process has used all of its time since then; only a broker may be older.
            let before = last.each.get(pid).copied().unwrap_or_default();
            own = own.saturating_add(used.saturating_sub(before));
        }
        let gone = last.each.iter().filter(|(pid, _)| !self.each.contains_key(pid));
        let known: Duration = gone.map(|(_, used)| *used).sum();
        own.saturating_add(self.ended.saturating_sub(last.ended).saturating_sub(known))
    }
}

/// The idle time of all processors together, and the stolen time of each.
fn processors(stat: &str) -> Option<(Duration, Vec<Duration>)> {
    let (mut idle, mut stolen) = (None, Vec::new());
    for line in stat.lines().take_while(|line| line.starts_with("cpu")) {
        let mut words = line.split_whitespace();
        let name = words.next()?;
        // user nice system idle iowait irq softirq steal
        let ticks: Vec<u32> = words.map(|word| word.parse().unwrap_or(u32::MAX)).collect();
        let of = |place: usize| ticks.get(place).map(|ticks| TICK.saturating_mul(*ticks));
        if name == "cpu" {
            idle = Some(of(3)?.saturating_add(of(4)?));
        } else {
            stolen.push(of(7)?);
        }
    }
    idle.map(|idle| (idle, stolen))
}

/// The CPU time of a process, if it runs.
fn used_by(pid: u32) -> Option<Duration> {
    let clock = clock_getcpuclockid(Pid::from_raw(i32::try_from(pid).ok()?)).ok()?;
    clock.now().ok().map(Duration::from)
}

fn used(time: rustix::time::Timespec) -> Duration {
    let seconds = u64::try_from(time.tv_sec).unwrap_or(0);
    Duration::new(seconds, u32::try_from(time.tv_nsec).unwrap_or(0))
}

fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn idle_time_is_that_of_all_processors_and_what_is_stolen_that_of_each() {
        let text = "cpu  9 0 5 100 20 0 0 7 0 0\ncpu0 5 0 2 60 10 0 0 3 0 0\n\
                    cpu1 4 0 3 40 10 0 0 4 0 0\nintr 1 2 3\ncpu2 9 9 9 9 9 9 9 9\n";
        let ms = Duration::from_millis;
        assert_eq!(processors(text), Some((ms(1_200), vec![ms(30), ms(40)])));
        assert_eq!(processors("intr 1 2\n"), None);
    }

    #[test]
    fn what_this_process_uses_is_its_own() {
        let mut looks = Processors::new(Arc::new(Children::default()), false);
        assert!(looks.look(true).is_none(), "the first look begins");
        // Until it has used as much, however long others keep it from that.
        let own = || used(clock_gettime(ClockId::ProcessCPUTime));
        let began = own();
        while own().saturating_sub(began) < Duration::from_millis(200) {}
        let Some(RunEvent::Processors { busy_ns, own_ns, .. }) = looks.look(true) else {
            panic!("the kernel says who used the processors");
        };
        assert!(own_ns > 10_000_000 && own_ns <= busy_ns, "{own_ns} of {busy_ns}");
    }
}
