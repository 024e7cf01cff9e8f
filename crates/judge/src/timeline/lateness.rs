//! How long the host kept a thread from running, and which part of that other processes caused.
//!
//! A thread that wakes late has waited for a processor, or the hypervisor had taken its processor
//! away, or neither: it was stopped, or the clock jumped. The host is responsible for a share of
//! the wait: that of processes outside the run in the use of the processors meanwhile. It is not
//! responsible for delays that the run causes itself, such as a storm of its own or a busy loop.

use std::time::Duration;

use super::Interval;
use tandem_facts::ids::Life;
use tandem_facts::observation::{Fact, MemberEvent, RunEvent, What};

/// The kernel accounts for stolen time at the processor's next tick after its return, so a sample
/// may contain time stolen before it began. Measured with 155 ms stolen from one of two processors:
/// two samples of 100 ms showed 30 and 10 ms, and the third, in which the processor returned, 160
/// ms.
const BOOKED: Duration = Duration::from_millis(10);

/// A thread that ran late.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lateness {
    /// The life of the thread; none for the controller's canary.
    pub life: Option<Life>,
    /// From when the thread went to sleep, or had to wait for a processor, until it ran again.
    pub span: Interval,
    /// For how much of it the thread was runnable and waited for a processor; none if the kernel
    /// does not report it.
    pub waited: Option<Duration>,
}

/// The use of the processors between two samples.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Processors {
    /// From one sample to the next.
    pub span: Interval,
    /// For how long the processors were busy, summed over all of them.
    pub busy: Duration,
    /// How much of that the run's own processes used.
    pub own: Duration,
    /// The time that the hypervisor stole from the processor that lost most.
    pub stolen: Duration,
}

impl Lateness {
    /// The lateness in a fact, if it has one.
    #[must_use]
    pub fn of(fact: &Fact) -> Option<Self> {
        let (What::Run(RunEvent::Stall { from, until, waited_ns })
        | What::Member(MemberEvent::Late { from, until, waited_ns })) = &fact.what
        else {
            return None;
        };
        let span = Interval::new(*from, *until);
        let life = fact.life.clone();
        Some(Self { life, span, waited: waited_ns.map(Duration::from_nanos) })
    }

    /// The part of the delay for which the host is responsible. `looks` are in order and do not
    /// overlap; between them, processes outside the run used almost nothing.
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
        // Time stolen during the wait is part of the wait already.
        imposed.saturating_add(self.stolen(later).min(late.saturating_sub(waited)))
    }

    /// The time that the hypervisor stole from the delay: that of the longest start of the delay of
    /// which it stole at least half. A stolen processor delays a wake-up while it is gone, but does
    /// not explain why a stopped thread sleeps on. The thread wanted to wake in the first sample,
    /// or at its end.
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

    /// The part of [`imposed`](Self::imposed) within `window`.
    #[must_use]
    pub fn imposed_within(&self, window: Interval, looks: &[Processors]) -> Duration {
        let within = self.span.intersect(window).length();
        share(self.imposed(looks), within, self.span.length())
    }
}

impl Processors {
    /// The processor use in a fact, if it has one.
    #[must_use]
    pub fn of(fact: &Fact) -> Option<Self> {
        let What::Run(RunEvent::Processors { from, until, busy_ns, own_ns, stolen_ns }) =
            &fact.what
        else {
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

/// `of` times `part` over `whole`, in whole nanoseconds; zero if `whole` is zero.
fn share(of: Duration, part: Duration, whole: Duration) -> Duration {
    let part = part.min(whole).as_nanos();
    let nanos = of.as_nanos().saturating_mul(part).checked_div(whole.as_nanos());
    Duration::from_nanos(nanos.and_then(|nanos| u64::try_from(nanos).ok()).unwrap_or_default())
}
