//! What a member publishes and reports whose election is not NELI: its claims, and the facts.

use std::collections::BTreeMap;
use std::io;
use std::num::NonZeroU32;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tandem_member::{Claims, Event};

use super::{Channel, duty, reported};
use crate::ids::{Life, PartitionId};
use crate::neli::{Assignment, Event as Change};
use crate::observation::Horizon;
use crate::time::{Mono, Skew, Wall, WallClock};

/// The interval at which a member reports all its claims while there are any.
pub(super) const RENEWAL: Duration = Duration::from_millis(100);

/// The claims and the channel of one member.
pub(super) struct Reporter {
    claims: Arc<Claims>,
    channel: Arc<Mutex<Channel>>,
    /// Claims depend on monotonic time alone; a shifted clock is reported.
    clock: WallClock,
    renewed: Mono,
    /// The partitions that it reported as its own; none before it has joined.
    assigned: Option<Vec<PartitionId>>,
}

/// The claims of a core, with the fence of each where its election has one.
pub(super) type Fenced = BTreeMap<PartitionId, (Horizon, Option<i64>)>;

/// Whether a member reaches what it elects over: reported when it has not for a while, and when it
/// does again.
pub(super) struct Contact {
    silence: Duration,
    reached: Mono,
    is_lost: bool,
}

impl Contact {
    /// Lost when nothing was reached for this `silence`.
    pub(super) const fn new(now: Mono, silence: Duration) -> Self {
        Self { silence, reached: now, is_lost: false }
    }

    /// What was seen now, with the reason if it does not `reach` it.
    pub(super) fn look(
        &mut self,
        now: Mono,
        reaches: bool,
        reporter: &Reporter,
        why: impl FnOnce() -> String,
    ) {
        if reaches {
            self.reached = now;
            if std::mem::take(&mut self.is_lost) {
                reporter.report(now, Event::Connected);
            }
        } else if now.since(self.reached) >= self.silence {
            self.lose(now, reporter, why);
        }
    }

    /// It is known to reach nothing, for this reason.
    pub(super) fn lose(&mut self, now: Mono, reporter: &Reporter, why: impl FnOnce() -> String) {
        if !std::mem::replace(&mut self.is_lost, true) {
            reporter.report(now, Event::Unconnected(why()));
        }
    }
}

impl Reporter {
    /// Opens the channel of this life on standard output, and starts its duty.
    ///
    /// # Errors
    /// The channel or the duty's thread cannot be set up.
    pub(super) fn begin(life: &Life, width: NonZeroU32) -> io::Result<Self> {
        let claims = Arc::new(Claims::new(width));
        let channel = Channel::new(io::stdout(), life.clone(), Arc::clone(&claims))?;
        let channel = Arc::new(Mutex::new(channel));
        duty::start(Arc::clone(&claims), Arc::clone(&channel), None)?;
        let clock = WallClock::TRUE;
        Ok(Self { claims, channel, clock, renewed: Mono::ZERO, assigned: None })
    }

    /// Publishes all claims, and reports what has changed.
    pub(super) fn publish(
        &mut self,
        now: Mono,
        claims: &Fenced,
        joined: bool,
        changes: impl Iterator<Item = Change>,
    ) {
        let fence = |(partition, (_, fence)): (&PartitionId, &(Horizon, Option<i64>))| {
            Some((*partition, (*fence)?))
        };
        let fences = claims.iter().filter_map(fence).collect();
        self.claims.publish(claims.values().map(|(claim, _)| *claim), &fences);
        self.report_assigned(now, joined.then(|| claims.keys().copied().collect()));
        for change in changes {
            let event = match change {
                Change::Acquired { claim, from, stands_in_for } => Event::Claimed {
                    partition: claim.partition,
                    term: claim.term,
                    from,
                    until: claim.until,
                    stands_in_for,
                    fence: fences.get(&claim.partition).copied(),
                },
                Change::Ended { claim, why } => Event::Lapsed {
                    partition: claim.partition,
                    term: claim.term,
                    at: claim.until,
                    why,
                },
            };
            self.report(now, event);
        }
    }

    /// Reports all claims once an interval, and a clock that is wrong.
    pub(super) fn renew(&mut self, now: Mono, claims: &Fenced) {
        if now.since(self.renewed) < RENEWAL {
            return;
        }
        self.renewed = now;
        if !claims.is_empty() {
            self.report(now, Event::Renewed(claims.values().map(|(claim, _)| *claim).collect()));
        }
        if !self.clock.is_true() {
            self.report_clock(now);
        }
    }

    /// The wall clock is wrong by this from now on.
    pub(super) fn shift_clock(&mut self, now: Mono, skew: Skew) {
        self.clock = WallClock::shifted(skew, now);
        self.report_clock(now);
    }

    /// Reports which partitions are its own, in the words of a group: assigned, and lost.
    fn report_assigned(&mut self, now: Mono, assigned: Option<Vec<PartitionId>>) {
        if assigned == self.assigned {
            return;
        }
        let before = std::mem::replace(&mut self.assigned, assigned.clone());
        match assigned {
            Some(partitions) => {
                let (generation, member_id) = (None, None);
                self.report(now, Event::Assigned(Assignment { generation, member_id, partitions }));
            }
            None => self.report(now, Event::Lost(before.unwrap_or_default())),
        }
    }

    fn report_clock(&self, now: Mono) {
        let truth = Wall::now();
        let at = Mono::now().max(now);
        self.report(at, Event::Clock(self.clock.read(at, truth)));
    }

    pub(super) fn report(&self, now: Mono, event: Event) {
        let mut channel = self.channel.lock().unwrap_or_else(PoisonError::into_inner);
        channel.send(now, reported(event));
    }
}
