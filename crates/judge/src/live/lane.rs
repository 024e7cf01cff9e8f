//! One partition that bears roles: who claims it now, and since when it is not led.
//!
//! A partition is not led while no life claims it, and while it is certain that none of those that
//! claim it serves: a member that hangs claims on. Such a gap is certain some time after it began;
//! a life that claims the partition after that is taken to serve it until the contrary is certain.
//! Everything that is said of this moment rests on this: who leads, how the whole stands, and which
//! gaps go on.

use super::passing::Passing;
use super::tally::Tally;
use super::unled::Unled;
use crate::timeline::Interval;
use tandem_facts::ids::{Life, Term};
use tandem_facts::time::Mono;

/// The end of what goes on.
pub(super) const END: Mono = Mono(u64::MAX);

/// One partition that bears roles.
#[derive(Debug, Clone)]
pub(super) struct Lane {
    pub(super) tally: Tally,
    pub(super) passing: Passing,
    /// Who claims it now, and by which claim.
    pub(super) leaders: Vec<(Life, Term)>,
    /// Since when; never, where it has never been claimed.
    pub(super) since: Option<Mono>,
    /// When the latest of all claims began.
    joined: Mono,
    /// When it was not led the last time.
    unled: Option<Interval>,
    /// The same, until that is final.
    pub(super) pending: Option<Unled>,
    /// Since when it is led without a gap.
    served_since: Mono,
    /// It has been led before.
    ever: bool,
}

impl Lane {
    pub(super) fn new(tally: Tally) -> Self {
        let (passing, leaders) = (Passing::default(), Vec::new());
        let (since, joined, unled, pending) = (None, Mono::ZERO, None, None);
        let (served_since, ever) = (Mono::ZERO, false);
        Self { tally, passing, leaders, since, joined, unled, pending, served_since, ever }
    }

    /// They claim it since then.
    pub(super) fn claimed(&mut self, leaders: Vec<(Life, Term)>, since: Mono) {
        if leaders.iter().any(|one| !self.leaders.contains(one)) {
            self.joined = self.joined.max(since);
        }
        if !self.ever && !leaders.is_empty() {
            (self.ever, self.served_since) = (true, since);
        }
        (self.leaders, self.since) = (leaders, Some(since));
    }

    /// Since when it is not led, where it once was.
    pub(super) fn unled_since(&self) -> Option<Mono> {
        self.unled.filter(|span| span.until == END).map(|span| span.from)
    }

    /// Whether it is led now.
    pub(super) fn is_led(&self) -> bool {
        !self.leaders.is_empty() && self.unled_since().is_none()
    }

    /// Since when it is led again, where it once was not.
    pub(super) fn led_since(&self) -> Option<Mono> {
        self.unled.filter(|span| span.until != END).map(|span| span.until)
    }

    /// Until when a gap that is certain went on, though it is led again, as far as has been heard.
    pub(super) fn led_again(&self) -> Option<Mono> {
        self.tally.gap().filter(|_| self.is_led()).map(|gap| gap.until.max(self.joined))
    }

    /// Looks whether it is led; when it was not the last time, where that has changed.
    pub(super) fn look(&mut self) -> Option<Interval> {
        let certain = self.tally.gap();
        let idle = certain.filter(|gap| self.joined < gap.until).map(|gap| gap.from);
        // Who led it may have been dead by the time that was heard: then it was never seen to.
        let now = self.since.filter(|_| self.leaders.is_empty()).or(idle);
        let before = self.unled.map_or(Mono::ZERO, |span| span.until);
        let changed = match (self.unled_since(), now) {
            // One gap is over and final, and another one is on.
            (Some(from), Some(again)) => {
                let ended = self.tally.ended.filter(|ended| *ended > from)?;
                Interval::new(again.max(ended), END)
            }
            (Some(from), None) => {
                // By a new claim, or by one of the old ones that is served again.
                // A claim from before that undoes it: it is led since then, not since an older gap.
                let served = self.tally.ended.filter(|ended| self.joined <= from && *ended > from);
                Interval::new(from, served.unwrap_or(self.joined))
            }
            (None, Some(from)) => Interval::new(from.max(before), END),
            // It was over before it was certain, or lasted longer than was known.
            (None, None) => {
                let gap = certain.filter(|_| self.joined > before)?;
                Interval::new(gap.from.max(before), self.joined)
            }
        };
        self.unled = Some(changed);
        self.pend(changed);
        Some(changed)
    }

    /// It is not led, or was not; until that is final.
    fn pend(&mut self, span: Interval) {
        let open = self.pending.filter(|open| open.goes_on_since() == Some(span.from));
        let began = open.unwrap_or_else(|| Unled::began(span.from, self.pending));
        (self.ever, self.pending) = (true, began.ended(span.until));
        if span.until != END {
            self.served_since = self.served_since.max(span.until);
        }
    }

    /// A gap that ended then is final: what was heard of it counts no more.
    fn finish(&mut self, until: Mono) {
        self.pending = self.pending.and_then(|pending| pending.unless_final(until));
        self.served_since = self.served_since.max(until);
    }

    /// Counts what lets gaps end.
    pub(super) fn count(&mut self, count: impl FnOnce(&mut Tally)) {
        let before = self.tally.ended;
        count(&mut self.tally);
        if let Some(until) = self.tally.ended.filter(|_| self.tally.ended != before) {
            self.finish(until);
        }
    }

    /// Since when it is led without a gap; zero, where it has never been led.
    pub(super) fn served_since(&self) -> Mono {
        self.served_since
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::live::Place;
    use crate::timeline::Count;
    use tandem_facts::ids::RoleIndex;
    use tandem_facts::roles::RoleClass;

    fn lane() -> Lane {
        Lane::new(Tally::new(Place { group: None, roles: RoleClass::of(RoleIndex(0)) }))
    }

    fn of(name: &str) -> (Life, Term) {
        (Life::try_from(name.to_owned()).unwrap(), Term(1))
    }

    fn serve(lane: &mut Lane, [from, until]: [u64; 2], count: i64) {
        let count = Count { min: count, max: count };
        lane.tally.serve(Interval::new(Mono(from), Mono(until)), count, &mut Vec::new());
    }

    #[test]
    fn whoever_claims_and_does_not_serve_leads_nothing_once_that_is_certain() {
        let mut lane = lane();
        assert_eq!((lane.look(), lane.is_led()), (None, false));
        lane.claimed(vec![of("a.1")], Mono(10));
        serve(&mut lane, [10, 50], 1);
        assert_eq!((lane.look(), lane.is_led()), (None, true));
        serve(&mut lane, [50, 60], 0);
        assert_eq!(lane.look(), Some(Interval::new(Mono(50), END)));
        // Another claims it, and is believed until it is certain that it does not serve either.
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
        // Another gap is certain by then; the claim comes after it, the end of the first before it.
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
