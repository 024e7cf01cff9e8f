//! One life while it goes on: what it leads now, what is undecided, and which facts can be dropped.
//!
//! The definitions are those of the other files here, which see a life when all its facts have
//! arrived. Some of them depend on later facts: whether a process died after it was asked to,
//! whether a silent member reports again, whether a time without ticks ends in an unknown time.
//! While such a question is open, the time from its start on is *undecided*.

use std::time::Duration;

use super::life::{END, LifeLine, Reports, SILENCE_MAX, Stop, TICKLESS_NS_MAX};
use super::{Interval, IntervalSet};
use tandem_facts::ids::{PartitionId, Term};
use tandem_facts::observation::Horizon;
use tandem_facts::time::Mono;

/// How long before the decided time unknown times are kept, since a hole in the ticks may reach
/// back to one.
const UNKNOWN_KEPT: Duration = Duration::from_secs(10);

impl LifeLine {
    /// Whether the process is alive and not stopped, as far as known.
    #[must_use]
    pub fn runs(&self) -> bool {
        self.death.is_none() && self.stops.last().is_none_or(|stop| stop.until.is_some())
    }

    /// The process was started and is not known to be dead.
    #[must_use]
    pub fn is_alive(&self) -> bool {
        self.started.is_some() && self.death.is_none()
    }

    /// The process is stopped, as far as is known.
    #[must_use]
    pub fn is_stopped(&self) -> bool {
        self.stops.last().is_some_and(|stop| stop.until.is_none())
    }

    /// When the process was confirmed dead.
    #[must_use]
    pub fn died(&self) -> Option<Mono> {
        self.death.map(|death| death.confirmed)
    }

    /// The time of the life's last fact. One that always reports has said with its start that it
    /// claims nothing yet.
    #[must_use]
    pub fn spoke(&self) -> Option<Mono> {
        let began = self.started.filter(|_| self.reports == Reports::Always);
        self.last.map(|(_, t)| t).or(began)
    }

    /// The claims that are not known to be over, with their ends as far as reported. They may have
    /// expired.
    pub fn claims(&self) -> impl Iterator<Item = (PartitionId, Term, Mono)> + '_ {
        let claims = self.open.iter().filter_map(|key| Some((key, self.claims.get(key)?)));
        claims.map(|((partition, term), claim)| (*partition, *term, claim.until))
    }

    /// Whether a claim on `partition` lasts beyond `now`.
    pub(crate) fn claims_on_at(&self, partition: PartitionId, now: Mono) -> bool {
        let open = self.open.range((partition, Term(0))..).take_while(|(on, _)| *on == partition);
        open.filter_map(|key| self.claims.get(key)).any(|claim| now < claim.until)
    }

    /// Whether `claims` are exactly the claims that are not known to be over.
    pub(crate) fn claims_only(&self, claims: &[Horizon]) -> bool {
        let known = |one: &Horizon| self.open.contains(&(one.partition, one.term));
        claims.len() == self.open.len() && claims.iter().all(known)
    }

    /// The claims that the life leads with at `now`, with their ends as far as reported.
    pub fn leads(&self, now: Mono) -> impl Iterator<Item = (PartitionId, Term, Mono)> + '_ {
        let claims = self.claims().filter(|_| self.runs());
        claims.filter(move |(_, _, until)| now < *until)
    }

    /// When the life stopped leading with this claim, if that is known at `now`.
    #[must_use]
    pub fn led_until(&self, of: (PartitionId, Term), now: Mono) -> Option<Mono> {
        let claim = self.claims.get(&of).map(|claim| claim.until).filter(|until| *until <= now);
        let death = self.death.map(|death| death.asked);
        let stop = self.stops.last().filter(|stop| stop.until.is_none());
        let stop = stop.map(|stop| stop.began.asked);
        [claim, death, stop].into_iter().flatten().min()
    }

    /// Since when the life has been able to report, as far as the controller knew before `known`:
    /// since it last continued after a stop, or always; never while it is stopped. Later facts are
    /// left out, since earlier facts of the member may still be on their way.
    fn awake_since(&self, known: Mono) -> Option<Mono> {
        let stop = self.stops.iter().rev().find(|stop| stop.began.confirmed < known);
        let Some(stop) = stop else { return Some(Mono::ZERO) };
        stop.until.map(|until| until.confirmed).filter(|woke| *woke < known)
    }

    /// Whether the life is over, so that nothing of it concerns the time from `before` on.
    #[must_use]
    pub fn is_past(&self, before: Mono) -> bool {
        self.died().is_some_and(|died| died + self.error < before)
    }

    /// Whether the life may affect `partition`: it claims it, or its state is unknown.
    #[must_use]
    pub fn concerns(&self, partition: PartitionId) -> bool {
        let first = self.claims.range((partition, Term(0))..).next();
        !self.unknown.is_empty() || first.is_some_and(|((on, _), _)| *on == partition)
    }

    /// Since when the life's state is undecided, if all facts stamped before `known` have arrived.
    #[must_use]
    pub fn undecided_since(&self, known: Mono) -> Option<Mono> {
        let decided = self.death.is_some_and(|death| death.confirmed < known);
        if decided {
            return None;
        }
        let asked = [self.asked.kill.first(), self.asked.pause.first(), self.not_yet];
        let speech = self.awake_since(known).and_then(|woke| self.open_since(woke));
        let first = asked.into_iter().flatten().chain(speech).filter(|at| *at < known).min();
        first.map(|at| at - self.error)
    }

    /// Since when the state of its claims is undecided, if it has been able to report since `woke`.
    fn open_since(&self, woke: Mono) -> Option<Mono> {
        let spoke = self.spoke().filter(|_| self.is_due()).map(|t| t.max(woke));
        let claims = self.claims.iter().filter(|(key, claim)| {
            // A claim that ended with the last fact may be followed by an unknown time.
            self.open.contains(key) || spoke.is_some_and(|spoke| claim.until >= spoke)
        });
        let open = claims.map(|(key, claim)| {
            // The claim may be renewed, or end; or it goes on, and its ticks are still to come.
            let began = self.piece_of(key.0, *claim).from.max(woke);
            let runs = self.ticks.get(&key.0).map_or(&[][..], Vec::as_slice);
            let ticked = runs.iter().rev().find(|run| run.from < claim.until);
            claim.until.min(ticked.map_or(began, |run| run.until.max(began)))
        });
        spoke.into_iter().chain(open).min()
    }

    /// The union of the claims on `partition` that touch each other, around `claim`.
    fn piece_of(&self, partition: PartitionId, claim: Interval) -> Interval {
        let mut piece = claim;
        loop {
            let met = self.claims_on(partition).filter(|one| one.touches(piece));
            let joined = met.fold(piece, Interval::join);
            if joined == piece {
                return piece;
            }
            piece = joined;
        }
    }

    /// Decides everything up to `until`, if all facts stamped before `known` have arrived. A life
    /// that fell silent before then, although it should have reported, is not waited for any
    /// longer: its state is unknown until it reports.
    pub fn decide(&mut self, until: Mono, known: Mono, stalls: &IntervalSet) {
        if self.death.is_some_and(|death| death.confirmed < known) {
            self.close(stalls);
        } else if let (Some(spoke), Some(woke)) = (self.spoke(), self.awake_since(known))
            && self.death.is_none()
            && self.is_due()
            && known.since(spoke.max(woke)) > SILENCE_MAX
            && self.undecided_since(known).is_some_and(|at| at < until)
        {
            self.forget(Interval::new(spoke, known));
        }
        if let Some(from) = self.strange {
            self.forget(Interval::new(from, known));
        }
        if self.unknown.is_empty() {
            return;
        }
        let end = self.death.map_or(END, |death| death.confirmed);
        let lived = Interval::new(self.started.unwrap_or(Mono::ZERO), end);
        self.unknown = self.unknown.within(lived);
    }

    /// Drops facts that only matter for the time before `before`.
    pub fn drop_before(&mut self, before: Mono) {
        let recent = Mono(before.0.saturating_sub(TICKLESS_NS_MAX));
        // Claims that touch are one piece of service, which may consist of one hole.
        let kept = before - UNKNOWN_KEPT;
        let past = self.claims.iter().filter(|(key, claim)| {
            let ended = claim.until <= recent && !self.open.contains(*key);
            ended && (claim.until <= kept || self.piece_of(key.0, **claim).until <= recent)
        });
        for key in past.map(|(key, _)| *key).collect::<Vec<_>>() {
            self.claims.remove(&key);
        }
        for runs in self.ticks.values_mut() {
            // The last run before it shows where a time without ticks starts.
            let later = runs.partition_point(|run| run.from <= before);
            runs.drain(..later.saturating_sub(1));
        }
        self.ticks.retain(|on, runs| {
            let claimed = self.claims.keys().any(|(claimed, _)| claimed == on);
            claimed || runs.last().is_some_and(|run| run.until > recent)
        });
        self.held.retain(|_, holdings| {
            // The error of a clock may reach back to one that is over.
            holdings.retain(|one| one.until > recent);
            !holdings.is_empty()
        });
        // The last stop shows where service starts again.
        let over = |stop: &Stop| stop.until.is_some_and(|end| end.confirmed <= before);
        let past = self.stops.iter().take_while(|stop| over(stop)).count();
        self.stops.drain(..past.saturating_sub(1));
        if self.unknown.iter().next().is_some_and(|first| first.from < kept) {
            self.unknown = self.unknown.within(Interval::new(kept, END));
        }
    }
}
