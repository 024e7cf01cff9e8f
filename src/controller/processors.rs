//! Who uses the processors of this host: the processes of the run, others, or the hypervisor.
//!
//! All that was used is what the kernel says the processors were not idle (`/proc/stat`, in steps
//! of 10 ms). The run's own part is exact: the clock of each of its processes, and what those that
//! ended in between had used. To look costs about a microsecond a process, and no more than a
//! hundredth of one processor: with a thousand members it is done more rarely.

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
use crate::observation::What;
use crate::time::Mono;

/// How often it is looked, where that costs little.
const PERIOD: Duration = Duration::from_millis(100);
/// A look costs no more than one part of so many.
const COST: u32 = 100;
/// Less than this of one look to the next, by others, is not worth a line; nor is less than a
/// quarter of one processor.
const OUTSIDE_LEAST: Duration = Duration::from_millis(30);
const OUTSIDE_SHARE: u32 = 4;
/// How often it is looked which brokers of `deploy/kafka/up` run.
const BROKERS: Duration = Duration::from_millis(500);
/// A tick of `/proc/stat` (USER_HZ is 100).
const TICK: Duration = Duration::from_millis(10);
/// More than the text of `/proc/stat` up to its interrupts takes on a thousand processors.
const ROOM: usize = 128 * 1024;

/// Looks now and then.
pub(super) struct Processors {
    stat: Option<File>,
    text: Vec<u8>,
    children: Arc<Children>,
    /// Brokers of `deploy/kafka/up` belong to a run that is on one of their clusters.
    brokers: Option<(Mono, BTreeSet<u32>)>,
    last: Option<Look>,
    cost: Duration,
}

/// What was so at one instant, since the host booted or the process began.
struct Look {
    at: Mono,
    idle: Duration,
    /// One a processor.
    stolen: Vec<Duration>,
    itself: Duration,
    each: BTreeMap<u32, Duration>,
    /// Of children that have ended.
    ended: Duration,
}

impl Processors {
    /// Of a run with these processes; with the brokers that `deploy/kafka/up` started where it is
    /// on their clusters.
    pub(super) fn new(children: Arc<Children>, deployed: bool) -> Self {
        let stat = File::open("/proc/stat").ok();
        let brokers = deployed.then(|| (Mono::ZERO, BTreeSet::new()));
        let (text, last, cost) = (vec![0; ROOM], None, Duration::ZERO);
        Self { stat, text, children, brokers, last, cost }
    }

    /// Whether it is time for the next look.
    pub(super) fn is_due(&self, now: Mono) -> bool {
        let period = PERIOD.max(self.cost.saturating_mul(COST));
        self.last.as_ref().is_none_or(|last| now.since(last.at) >= period)
    }

    /// Looks; what is to be written down, which where a stall has ended is everything.
    pub(super) fn look(&mut self, stalled: bool) -> Option<What> {
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
        let told = stalled || outside >= least || !stolen.is_zero();
        told.then_some(What::Processors { from, until, busy_ns, own_ns, stolen_ns })
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
        // Those that end from here on are counted once too often rather than not at all.
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
    /// What the run has used since `last`.
    fn own_since(&self, last: &Self) -> Duration {
        let mut own = self.itself.saturating_sub(last.itself);
        for (pid, used) in &self.each {
            // What is new here has used all of it since, but for a broker, which may be old.
            let before = last.each.get(pid).copied().unwrap_or_default();
            own = own.saturating_add(used.saturating_sub(before));
        }
        let gone = last.each.iter().filter(|(pid, _)| !self.each.contains_key(pid));
        let known: Duration = gone.map(|(_, used)| *used).sum();
        own.saturating_add(self.ended.saturating_sub(last.ended).saturating_sub(known))
    }
}

/// For how long all processors were idle, and how much was stolen from each.
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

/// What a process has used, if it is there.
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
        let began = Mono::now();
        while Mono::now().since(began) < Duration::from_millis(200) {}
        let Some(What::Processors { busy_ns, own_ns, .. }) = looks.look(true) else {
            panic!("the kernel says who used the processors");
        };
        assert!(own_ns > 10_000_000 && own_ns <= busy_ns, "{own_ns} of {busy_ns}");
    }
}
