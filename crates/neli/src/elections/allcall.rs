//! ALLCALL with a lease: each member calls all others, and of those that live the one with the
//! greatest rank leads, unless another one's lease runs. Ranks differ from partition to partition,
//! so that the roles are spread.
//!
//! - Each member pings all others each heartbeat. A ping of the leader is its claim, too, and its
//!   lease begins anew with it.
//! - A claim lasts for a *lease*. Others wait for the lease and the *skew* from its receipt before
//!   they claim, at any rank. Together these are the session, and the skew a hundredth of
//!   it ([`RATE`]): each counts by its own clock, and two clocks may differ in their rate.
//! - When no lease runs, the greatest in rank of which the others have heard for a session claims.
//! - A member that begins claims nothing for lease and skew, for it cannot know whose lease runs.
//!   It only calls.
//! - A leader that hears a greater one claim leads no more. So two that meet when the network
//!   heals lead for a heartbeat more.
//!
//! Corrected:
//!
//! - The text has a leader claim again when its lease is over: there is a hole in every term. Here
//!   it claims anew with each ping, long before.
//! - There the lesser of two leaders that meet leads on until its lease is over: for at most lease,
//!   skew and heartbeat. Here it ends its claim at once.
//! - A call of one that begins lets wait only those that begin as well. Else a member that starts
//!   again just before the leader dies would hold all others up, and cannot claim itself.
//! - The text assumes that members run. One that did not run for a while knows no more of the
//!   others than one that begins, and is as silent.
//!
//! It promises less than a vote. A leader renews its lease on its own word, so members that do not
//! reach each other have a leader on each side, until they do. Both would mint the same number, so
//! there is no fence.

use std::collections::BTreeMap;
use std::time::Duration;

use super::among::{self, Ballot, Elects, Generation, Means, Steps, claims, order, plain_words};
pub use super::among::{Config, Peer, RATE};
use tandem_facts::ids::{PartitionId, Term};
use tandem_facts::observation::{Ending, Horizon};
use tandem_facts::time::Mono;

/// A member that is so late for its own ping, in parts of a session, knows nothing of the others.
/// What it has missed is less than a session old, and a heartbeat is at most a third of one.
const AWAY: u32 = 4;

/// A member that elects so.
pub type Member = among::Member<Instance>;
/// A message about one partition.
pub type Message = among::Message<Kind>;
type Turn<'a> = among::Turn<'a, Kind>;

/// What a message says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// I begin, and claim nothing yet.
    Calls,
    /// I live.
    Lives,
    /// I live, and lead: my lease begins anew.
    Claims,
    /// I leave, and my lease ends.
    Leaves,
}
plain_words!(Kind: Calls, Lives, Claims, Leaves);

#[derive(Debug, Clone, Copy)]
enum State {
    /// It does not know whose lease runs, and claims nothing.
    Silent { until: Mono },
    /// It claims when none forbids it.
    Follows,
    /// Its lease runs until then.
    Leads { until: Mono },
}

/// The election of one partition.
#[derive(Debug, Clone)]
pub struct Instance {
    partition: PartitionId,
    state: State,
    /// When it pings.
    next: Mono,
    /// When another was last heard, and when its last claim was.
    heard: BTreeMap<Peer, Mono>,
    leases: BTreeMap<Peer, Mono>,
    session: Duration,
    /// The number of claims so far.
    claims: Term,
}

impl Elects for Instance {
    type Word = Kind;
    const VOTES: bool = false;
    const EXCLUSIVE: bool = false;
    const BY: &'static str = "ranks and a lease";
    const ENDS: &'static str = "after its member last pinged, or at the claim of a greater one";

    /// The greatest that lives claims a session after it heard the last claim. Others wait for
    /// those of which they have heard: if one greater died at the same time as the leader, its last
    /// ping may be a heartbeat younger. A word wakes a thread of the links, and the member's.
    fn steps(means: &Means) -> Steps {
        let died_together = means.members.saturating_sub(1) / 2 > 1;
        let waits = means.heartbeat + means.wake + means.rtt;
        Steps {
            stands: means.wake + means.rtt,
            elected: if died_together { waits } else { Duration::ZERO },
            leads: 2 * means.wake + means.rtt,
        }
    }

    fn threshold(session: Duration) -> Duration {
        among::lease(session)
    }

    fn begin(now: Mono, _: Mono, config: &Config, partition: PartitionId, _: Ballot) -> Self {
        let session = config.session;
        Self {
            partition,
            state: State::Silent { until: now + session },
            next: now,
            heard: BTreeMap::new(),
            leases: BTreeMap::new(),
            session,
            claims: Term(0),
        }
    }

    fn is_led(&self) -> bool {
        self.claim().is_some() || !self.leases.is_empty()
    }

    fn due(&self) -> Mono {
        let acts = match self.state {
            State::Silent { until } | State::Leads { until } => until,
            // It looks when the oldest word of another is out of date.
            State::Follows => {
                let oldest = self.heard.values().chain(self.leases.values()).min();
                oldest.map_or(Mono(u64::MAX), |oldest| *oldest + self.session)
            }
        };
        acts.min(self.next)
    }

    fn claim(&self) -> Option<Horizon> {
        let State::Leads { until } = self.state else { return None };
        Some(Horizon { partition: self.partition, term: self.claims, until })
    }

    fn expire(&mut self, turn: &mut Turn<'_>) {
        if claims::lapse(self, turn) {
            // It did not run meanwhile.
            self.state = State::Silent { until: turn.now + self.session };
        }
    }

    fn advance(&mut self, turn: &mut Turn<'_>) {
        let now = turn.now;
        let (session, away) = (self.session, self.next + self.session / AWAY < now);
        match self.state {
            State::Silent { until } if until <= now && !away => self.state = State::Follows,
            State::Silent { .. } | State::Follows if away => {
                self.state = State::Silent { until: now + session };
            }
            State::Silent { .. } | State::Follows | State::Leads { .. } => {}
        }
        self.heard.retain(|_, heard| now < *heard + session);
        self.leases.retain(|_, claimed| now < *claimed + session);
        match self.state {
            State::Follows if self.may_claim(turn) => self.lead(turn),
            State::Leads { .. } if self.next <= now => self.renew(turn),
            State::Silent { .. } | State::Follows if self.next <= now => {
                self.next = now + turn.config.heartbeat;
                let silent = matches!(self.state, State::Silent { .. });
                turn.broadcast(self.says(if silent { Kind::Calls } else { Kind::Lives }));
            }
            State::Silent { .. } | State::Follows | State::Leads { .. } => {}
        }
    }

    fn hear(&mut self, turn: &mut Turn<'_>, from: Peer, message: Message) {
        let greater = self.rank(turn, from) > self.rank(turn, turn.config.me);
        match message.kind {
            // It claims in a session at the latest, and that takes a moment until it is heard.
            Kind::Calls if matches!(self.state, State::Silent { .. }) => {
                self.heard.insert(from, turn.now + turn.config.heartbeat);
            }
            Kind::Calls => {}
            // A lease that was heard runs on: this may be an older word.
            Kind::Lives => drop(self.heard.insert(from, turn.now)),
            Kind::Claims => {
                self.heard.insert(from, turn.now);
                self.leases.insert(from, turn.now);
                if greater {
                    self.step_down(turn, Ending::Revoked);
                }
            }
            Kind::Leaves => {
                self.heard.remove(&from);
                self.leases.remove(&from);
            }
        }
    }

    fn resign(&mut self, turn: &mut Turn<'_>) {
        self.step_down(turn, Ending::Left);
        turn.broadcast(self.says(Kind::Leaves));
    }
}

impl Instance {
    fn rank(&self, turn: &Turn<'_>, peer: Peer) -> u32 {
        order::id(turn.config, self.partition, peer)
    }

    /// Whether no lease of another runs, and none of a greater rank lives.
    fn may_claim(&self, turn: &Turn<'_>) -> bool {
        let own = self.rank(turn, turn.config.me);
        let greater = |peer: &Peer| self.rank(turn, *peer) > own;
        self.leases.is_empty() && !self.heard.keys().any(greater)
    }

    fn lead(&mut self, turn: &mut Turn<'_>) {
        self.claims = self.claims.next();
        self.renew(turn);
        claims::begin(self, turn);
    }

    /// Its lease begins anew, before the ping that says so is sent.
    fn renew(&mut self, turn: &mut Turn<'_>) {
        self.next = turn.now + turn.config.heartbeat;
        self.state = State::Leads { until: turn.now + among::lease(self.session) };
        turn.broadcast(self.says(Kind::Claims));
    }

    /// Ends its claim.
    fn step_down(&mut self, turn: &mut Turn<'_>, why: Ending) {
        if claims::end(self, turn, turn.now, why) {
            self.state = State::Follows;
        }
    }

    fn says(&self, kind: Kind) -> Message {
        Message { partition: self.partition, generation: Generation::default(), kind }
    }
}

#[cfg(test)]
mod tests {
    use super::among::counts::World;
    use super::*;

    /// As the text has it: a leader pings, and claims again when its lease is over.
    #[derive(Debug)]
    struct AsWritten {
        corrected: Instance,
        until: Option<Mono>,
    }

    impl AsWritten {
        /// Takes back that a ping has renewed the lease; a new claim has one.
        fn renews_nothing(&mut self, before: Term) {
            if self.corrected.claims != before {
                self.until = self.corrected.claim().map(|claim| claim.until);
            }
            if let (State::Leads { until }, Some(first)) = (&mut self.corrected.state, self.until) {
                *until = first;
            }
        }
    }

    impl Elects for AsWritten {
        type Word = Kind;
        const VOTES: bool = false;
        const EXCLUSIVE: bool = false;
        const BY: &'static str = Instance::BY;
        const ENDS: &'static str = Instance::ENDS;

        fn steps(means: &Means) -> Steps {
            Instance::steps(means)
        }

        fn begin(
            now: Mono,
            silent: Mono,
            config: &Config,
            partition: PartitionId,
            ballot: Ballot,
        ) -> Self {
            let corrected = Instance::begin(now, silent, config, partition, ballot);
            Self { corrected, until: None }
        }

        fn is_led(&self) -> bool {
            self.corrected.is_led()
        }

        fn due(&self) -> Mono {
            self.corrected.due()
        }

        fn claim(&self) -> Option<Horizon> {
            self.corrected.claim()
        }

        /// It waits for the skew as all others do, and then claims again.
        fn expire(&mut self, turn: &mut Turn<'_>) {
            let over = self.claim().map(|claim| claim.until).filter(|until| *until <= turn.now);
            self.corrected.expire(turn);
            if let Some(over) = over {
                let skew = self.corrected.session / RATE;
                self.corrected.state = State::Silent { until: over + skew };
            }
        }

        fn advance(&mut self, turn: &mut Turn<'_>) {
            let before = self.corrected.claims;
            self.corrected.advance(turn);
            self.renews_nothing(before);
        }

        fn hear(&mut self, turn: &mut Turn<'_>, from: Peer, message: Message) {
            self.corrected.hear(turn, from, message);
        }

        fn resign(&mut self, turn: &mut Turn<'_>) {
            self.corrected.resign(turn);
        }
    }

    /// How often in ten seconds of calm none claims.
    fn holes<E: Elects>() -> usize {
        let mut world = World::<E>::new(3);
        while !world.is_claimed() {
            world.pass(Duration::from_millis(1));
        }
        let mut claimed = true;
        let mut begins = || {
            world.pass(Duration::from_millis(1));
            let before = std::mem::replace(&mut claimed, world.is_claimed());
            before && !claimed
        };
        (0..10_000).filter(|_| begins()).count()
    }

    #[test]
    fn a_lease_that_no_ping_renews_leaves_a_hole_in_every_term() {
        assert_eq!(holes::<Instance>(), 0);
        assert_eq!(holes::<AsWritten>(), 10);
    }
}
