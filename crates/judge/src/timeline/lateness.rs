//! How long the host kept a thread of ours from running, and how much of that others caused.
//!
//! A thread that wakes late has waited for a processor, or had its own taken away by the
//! hypervisor, or neither: it was stopped, or the clock jumped. Of the time that it waited, the
//! host imposed the share that processes outside the run had of the busy processors meanwhile.
//! What the run did to itself, as by a storm of its own or a loop that hangs, the host did not
//! impose.

use std::time::Duration;

use super::Interval;
use tandem_facts::ids::Life;
use tandem_facts::observation::{Fact, What};

/// The kernel books what the hypervisor took once the processor is back, at its next tick: a look
/// may hold what was taken before it began. Measured: of 155 ms that one of two processors was
/// away, two looks of 100 ms each held 30 and 10 ms, and the third, in which it came back, 160.
const BOOKED: Duration = Duration::from_millis(10);

/// A thread that ran late.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lateness {
    /// Whose; nothing for the controller's canary.
    pub whom: Option<Life>,
    /// From when it slept until it ran again.
    pub span: Interval,
    /// For how much of it the thread could run and waited for a processor; nothing where the kernel
    /// did not say.
    pub waited: Option<Duration>,
}

/// Who used the processors between two looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Processors {
    /// From one look to the next.
    pub span: Interval,
    /// For how long they were not idle, all of them together.
    pub busy: Duration,
    /// How much of that the processes of the run used.
    pub own: Duration,
    /// For how long the hypervisor took away the one that it took away longest.
    pub stolen: Duration,
}

impl Lateness {
    /// What a fact says of a thread that ran late, if it does.
    #[must_use]
    pub fn of(fact: &Fact) -> Option<Self> {
        let (What::Stall { from, until, waited_ns } | What::Late { from, until, waited_ns }) =
            &fact.what
        else {
            return None;
        };
        let span = Interval::new(*from, *until);
        let whom = fact.life.clone();
        Some(Self { whom, span, waited: waited_ns.map(Duration::from_nanos) })
    }

    /// For how much of it the host is to blame. `looks` are in order, and no two overlap; between
    /// them, processes outside the run used next to nothing.
    #[must_use]
    pub fn imposed(&self, looks: &[Processors]) -> Duration {
        let late = self.span.length();
        let waited = self.waited.unwrap_or_default().min(late);
        let first = looks.partition_point(|look| look.span.until <= self.span.from);
        let later = looks.get(first..).unwrap_or_default();
        let mut imposed = Duration::ZERO;
        for look in later.iter().take_while(|look| look.span.from < self.span.until) {
            let here = share(waited, look.span.intersect(self.span).length(), late);
            let outside = look.busy.saturating_sub(look.own);
            imposed = imposed.saturating_add(share(here, outside, look.busy));
        }
        // What was stolen while it waited stands in the wait already.
        imposed.saturating_add(self.stolen(later).min(late.saturating_sub(waited)))
    }

    /// What the hypervisor took of it: as much as it took of the longest beginning of which it took
    /// at least half. A processor that is taken away holds up the waking of a thread while that
    /// goes on, and not a thread that sleeps on because it was stopped. The thread wanted to wake
    /// in the first look, or at its end.
    fn stolen(&self, looks: &[Processors]) -> Duration {
        let near = looks.iter().take_while(|look| look.span.from < self.span.until + BOOKED);
        let (mut taken, mut counts) = (Duration::ZERO, None);
        for look in near {
            let reach = Interval::new(look.span.from - look.stolen, look.span.until);
            let met = reach.intersect(self.span).length();
            if met.is_zero() {
                continue;
            }
            taken = taken.saturating_add(look.stolen.min(met));
            let so_far = look.span.until.min(self.span.until).since(self.span.from);
            if counts.is_none() || taken.saturating_mul(2) >= so_far {
                counts = Some(taken);
            }
        }
        counts.unwrap_or_default()
    }

    /// The part of it within `window`.
    #[must_use]
    pub fn imposed_within(&self, window: Interval, looks: &[Processors]) -> Duration {
        let within = self.span.intersect(window).length();
        share(self.imposed(looks), within, self.span.length())
    }
}

impl Processors {
    /// What a fact says of the processors, if it does.
    #[must_use]
    pub fn of(fact: &Fact) -> Option<Self> {
        let What::Processors { from, until, busy_ns, own_ns, stolen_ns } = &fact.what else {
            return None;
        };
        Some(Self {
            span: Interval::new(*from, *until),
            busy: Duration::from_nanos(*busy_ns),
            own: Duration::from_nanos(*own_ns),
            stolen: Duration::from_nanos(*stolen_ns),
        })
    }
}

/// `of` times `part` over `whole`, in whole nanoseconds; nothing of nothing.
fn share(of: Duration, part: Duration, whole: Duration) -> Duration {
    let part = part.min(whole).as_nanos();
    let nanos = of.as_nanos().saturating_mul(part).checked_div(whole.as_nanos());
    Duration::from_nanos(nanos.and_then(|nanos| u64::try_from(nanos).ok()).unwrap_or_default())
}
