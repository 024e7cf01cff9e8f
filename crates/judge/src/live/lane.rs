//! One partition with roles: its claims now, and since when it is not led.
//!
//! A partition is not led while no life claims it, and while it is certain that no life that claims
//! it serves: a member that hangs keeps its claims. Such a gap is certain some time after it began.
//! A life that claims the partition after that is assumed to serve until the contrary is certain.
//! All current state rests on this: the leaders, the health, and the gaps that go on.

use super::event::{Event, Place};
use super::passing::Passing;
use super::tally::Tally;
use super::unled::Unled;
use crate::timeline::Interval;
use tandem_facts::ids::{Life, Term};
use tandem_facts::time::Mono;

/// The end of an interval that goes on.
pub(super) const END: Mono = Mono(u64::MAX);

/// The state of one partition with roles.
#[derive(Debug, Clone)]
pub(super) struct Lane {
    pub(super) tally: Tally,
    pub(super) passing: Passing,
    /// The lives that claim it now, each with its claim.
    pub(super) leaders: Vec<(Life, Term)>,
    /// Since when they do; `None` if it was never claimed.
    pub(super) since: Option<Mono>,
    /// The start of the latest claim.
    joined: Mono,
    /// The latest interval in which it was not led.
    unled: Option<Interval>,
    /// The same, until it is final.
    pub(super) pending: Option<Unled>,
    /// Since when it is led without a gap.
    served_since: Mono,
    /// Whether it has ever been led.
    ever: bool,
    /// Whether members of which nothing is known may lead it.
    foreign: bool,
}

impl Lane {
    pub(super) fn new(tally: Tally, foreign: bool) -> Self {
        let (passing, leaders) = (Passing::default(), Vec::new());
        let (since, joined, unled, pending) = (None, Mono::ZERO, None, None);
        let (served_since, ever) = (Mono::ZERO, false);
        Self { tally, passing, leaders, since, joined, unled, pending, served_since, ever, foreign }
    }

    /// The same with other roles on its partition from `at` on.
    pub(super) fn of(mut self, place: Place, at: Mono, events: &mut Vec<Event>) -> Self {
        let before = self.tally.ended;
        self.tally = self.tally.of(place, at, events);
        if let Some(until) = self.tally.ended.filter(|_| self.tally.ended != before) {
            self.finish(until);
        }
        self
    }

    /// Sets the claims, which date from then.
    pub(super) fn claimed(&mut self, leaders: Vec<(Life, Term)>, since: Mono) {
        if leaders.iter().any(|one| !self.leaders.contains(one)) {
            self.joined = self.joined.max(since);
        }
        if !self.ever && !leaders.is_empty() {
            (self.ever, self.served_since) = (true, since);
        }
        (self.leaders, self.since) = (leaders, Some(since));
    }

    /// Since when it is not led, if it was led before.
    pub(super) fn unled_since(&self) -> Option<Mono> {
        self.unled.filter(|span| span.until == END).map(|span| span.from)
    }

    /// Whether it is led now.
    pub(super) fn is_led(&self) -> bool {
        !self.leaders.is_empty() && self.unled_since().is_none()
    }

    /// Whether it is unknown if it is led: no life leads it, and others may.
    pub(super) fn is_unknown(&self) -> bool {
        self.foreign && self.leaders.is_empty() && self.unled_since().is_none()
    }

    /// Since when it is led again, if it was not.
    pub(super) fn led_since(&self) -> Option<Mono> {
        self.unled.filter(|span| span.until != END).map(|span| span.until)
    }

    /// Until when a certain gap went on, although it is led again, as far as known.
    pub(super) fn led_again(&self) -> Option<Mono> {
        self.tally.gap().filter(|_| self.is_led()).map(|gap| gap.until.max(self.joined))
    }

    /// Updates whether it is led. Returns the latest interval without a leader, if that changed.
    pub(super) fn look(&mut self) -> Option<Interval> {
        let certain = self.tally.gap();
        let idle = certain.filter(|gap| self.joined < gap.until).map(|gap| gap.from);
        // The leader may have died before its claim was reported: then it was never seen to lead.
        let empty = self.leaders.is_empty() && !self.foreign;
        let now = self.since.filter(|_| empty).or(idle);
        let before = self.unled.map_or(Mono::ZERO, |span| span.until);
        let changed = match (self.unled_since(), now) {
            // One gap is over and final, and another one goes on.
            (Some(from), Some(again)) => {
                let ended = self.tally.ended.filter(|ended| *ended > from)?;
                Interval::new(again.max(ended), END)
            }
            (Some(from), None) => {
                // By a new claim, or by an old claim that is served again. A claim from before the
                // gap undoes it: the partition is led since then, not since the end of an older
                // gap.
                let served = self.tally.ended.filter(|ended| self.joined <= from && *ended > from);
                Interval::new(from, served.unwrap_or(self.joined))
            }
            (None, Some(from)) => Interval::new(from.max(before), END),
            // The gap was over before it was certain, or lasted longer than was known.
            (None, None) => {
                let gap = certain.filter(|_| self.joined > before)?;
                Interval::new(gap.from.max(before), self.joined)
            }
        };
        self.unled = Some(changed);
        self.pend(changed);
        Some(changed)
    }

    /// The latest interval without a leader, until it is final.
    fn pend(&mut self, span: Interval) {
        let open = self.pending.filter(|open| open.goes_on_since() == Some(span.from));
        let began = open.unwrap_or_else(|| Unled::began(span.from, self.pending));
        (self.ever, self.pending) = (true, began.ended(span.until));
        if span.until != END {
            self.served_since = self.served_since.max(span.until);
        }
    }

    /// A gap that ended at `until` is final, and replaces what the claims showed of it.
    fn finish(&mut self, until: Mono) {
        self.pending = self.pending.and_then(|pending| pending.unless_final(until));
        self.served_since = self.served_since.max(until);
    }

    /// Applies `count` to the counters; a gap that ends there is final.
    pub(super) fn count(&mut self, count: impl FnOnce(&mut Tally)) {
        let before = self.tally.ended;
        count(&mut self.tally);
        if let Some(until) = self.tally.ended.filter(|_| self.tally.ended != before) {
            self.finish(until);
        }
    }

    /// Since when it is led without a gap; zero if it was never led.
    pub(super) fn served_since(&self) -> Mono {
        self.served_since
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::timeline::Count;
    use tandem_facts::ids::RoleIndex;
    use tandem_facts::roles::RoleClass;

    fn lane() -> Lane {
        Lane::new(Tally::new(Place { group: None, roles: RoleClass::of(RoleIndex(0)) }), false)
    }

    fn of(name: &str) -> (Life, Term) {
        (Life::try_from(name.to_owned()).unwrap(), Term(1))
    }

    fn serve(lane: &mut Lane, [from, until]: [u64; 2], count: i64) {
        let count = Count { min: count, max: count };
        lane.tally.serve(Interval::new(Mono(from), Mono(until)), count, &mut Vec::new());
    }

    #[test]
    fn what_others_may_lead_is_unknown_and_not_lost() {
        let mut lane = Lane { foreign: true, ..lane() };
        assert!(lane.is_unknown(), "others may lead it from the beginning");
        lane.claimed(vec![of("a.1")], Mono(10));
        serve(&mut lane, [10, 50], 1);
        assert_eq!((lane.look(), lane.is_led(), lane.is_unknown()), (None, true, false));
        lane.claimed(Vec::new(), Mono(50));
        assert_eq!((lane.look(), lane.is_led(), lane.is_unknown()), (None, false, true));
        // A life that holds it does not serve it: that is certain.
        lane.claimed(vec![of("a.1")], Mono(60));
        serve(&mut lane, [50, 90], 0);
        assert_eq!(lane.look(), Some(Interval::new(Mono(50), END)));
        assert!(!lane.is_unknown() && !lane.is_led());
    }

    #[test]
    fn a_life_that_claims_and_does_not_serve_leads_nothing_once_that_is_certain() {
        let mut lane = lane();
        assert_eq!((lane.look(), lane.is_led()), (None, false));
        lane.claimed(vec![of("a.1")], Mono(10));
        serve(&mut lane, [10, 50], 1);
        assert_eq!((lane.look(), lane.is_led()), (None, true));
        serve(&mut lane, [50, 60], 0);
        assert_eq!(lane.look(), Some(Interval::new(Mono(50), END)));
        // Another life claims it, and is assumed to serve until the contrary is certain.
        lane.claimed(vec![of("a.1"), of("b.1")], Mono(80));
        assert_eq!((lane.look(), lane.is_led()), (Some(Interval::new(Mono(50), Mono(80))), true));
        serve(&mut lane, [60, 85], 0);
        assert_eq!(lane.look(), Some(Interval::new(Mono(80), END)));
        serve(&mut lane, [85, 90], 1);
        assert_eq!((lane.look(), lane.is_led()), (Some(Interval::new(Mono(80), Mono(85))), true));
    }

    #[test]
    fn a_claim_that_is_heard_late_leads_since_it_began() {
        let mut lane = lane();
        lane.claimed(vec![of("a.1")], Mono(10));
        serve(&mut lane, [10, 40], 1);
        serve(&mut lane, [40, 50], 0);
        assert_eq!(lane.look(), Some(Interval::new(Mono(40), END)));
        serve(&mut lane, [50, 60], 1);
        assert_eq!(lane.look(), Some(Interval::new(Mono(40), Mono(50))));
        lane.claimed(Vec::new(), Mono(100));
        assert_eq!(lane.look(), Some(Interval::new(Mono(100), END)));
        // Another gap is certain by then. The claim is after its start, and before the end of the
        // first.
        serve(&mut lane, [60, 70], 0);
        lane.claimed(vec![of("b.1")], Mono(80));
        assert!(lane.look().is_some_and(Interval::is_empty), "it was led at 100 all the same");
        assert_eq!((lane.is_led(), lane.led_since()), (true, Some(Mono(80))));
    }

    #[test]
    fn a_gap_that_was_over_before_it_was_certain_is_told_all_the_same() {
        let mut lane = lane();
        lane.claimed(vec![of("a.1")], Mono(10));
        serve(&mut lane, [10, 50], 1);
        lane.claimed(vec![of("a.1"), of("b.1")], Mono(70));
        serve(&mut lane, [50, 60], 0);
        assert_eq!((lane.look(), lane.is_led()), (Some(Interval::new(Mono(50), Mono(70))), true));
        assert_eq!((lane.look(), lane.led_again()), (None, Some(Mono(70))));
    }
}
