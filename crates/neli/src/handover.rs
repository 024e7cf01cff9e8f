//! Hand-over in the non-exclusive mode: a member that does not hold a partition any more ends its
//! claim as soon as another one states that it leads it, instead of `T` after the last message.
//!
//! All members read one known partition of the ledger, which the group need not assign to them.
//! They state there what they hold and lead: with each beacon, and at once when a new owner has
//! heard its first message. A member gives up `k` if it does not hold `k`, and another life of its
//! group leads `k` in a generation later than that in which the member itself was last given `k`.
//! To know that the member is not the assignee is not enough: the statement may be late, from a
//! former owner. Each surrender goes to a later generation, so no two members surrender to each
//! other.
//!
//! A coordinator that lost its groups begins again at generation 1. A member that sees its own
//! generation go backwards believes no statement for `T`; a statement of an earlier generation than
//! its own ends no claim anyway. Claims then end at `T`, as they do without statements.

use std::collections::BTreeMap;
use std::time::Duration;

use tandem_facts::ids::{ConsumerGroup, Incarnation, Life, MemberId, PartitionId};
use tandem_facts::observation::{Ending, Mode};
use tandem_facts::time::Mono;

use crate::mesh::Inquest;
use crate::{Assignment, Event, Neli, Statement, UNASSIGNED};

/// How many beacon intervals after its first assignment a member knows the others: those that hear
/// of a newcomer state themselves with their next round.
const ACQUAINTED: u32 = 3;

/// Who a member is to the others of its group.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Identity {
    /// Its group.
    pub group: ConsumerGroup,
    /// Its name and incarnation.
    pub life: Life,
    /// Tells two processes that bear one name apart: a number drawn at random.
    pub process: u64,
    /// Where it accepts connections of the others, as `host:port`.
    pub address: Option<String>,
}

/// Another member of the group, as it stated itself last.
#[derive(Debug, Clone, Copy, Hash)]
struct Other {
    incarnation: Incarnation,
    stated: Mono,
    going: bool,
}

#[derive(Debug, Clone, Hash)]
pub(super) struct Handover {
    me: Identity,
    /// The partition that all members read.
    pub(super) direct: PartitionId,
    threshold: Duration,
    /// How long after its first assignment it knows the others.
    acquainted: Duration,
    /// When it was first assigned anything: it reads the statements of others since then.
    reads: Option<Mono>,
    /// That of the last assignment.
    generation: Option<i32>,
    /// The generation in which this member was last given a partition.
    given: BTreeMap<PartitionId, i32>,
    /// Until when it believes no statement.
    disbelieves: Mono,
    others: BTreeMap<MemberId, Other>,
    going: bool,
    inquest: Inquest,
    /// Whether the member states itself with each round in any case.
    always: bool,
    /// Otherwise until when it does, for something has changed.
    states: Mono,
}

impl Handover {
    /// Something has changed that others may have to know.
    pub(super) fn changed(&mut self, now: Mono) {
        if !self.always {
            self.states = now + self.threshold;
        }
    }

    /// Whether the member states itself with each round in any case.
    pub(super) const fn states_always(&mut self, always: bool) {
        self.always = always;
    }

    /// Whether the member states itself with a round at `now`, and on this partition.
    pub(super) fn states(&self, now: Mono, partition: PartitionId) -> bool {
        partition == self.direct && (self.always || now < self.states)
    }

    pub(super) fn assigned(&mut self, now: Mono, assignment: &Assignment) {
        let Some(generation) = assignment.generation else { return };
        if self.generation.is_some_and(|before| generation < before) {
            self.disbelieves = now + self.threshold;
            self.given.clear();
        }
        self.generation = Some(generation);
        self.reads.get_or_insert(now);
        self.given.extend(assignment.partitions.iter().map(|&partition| (partition, generation)));
    }

    /// Takes a statement into account; false where it concerns this member in nothing.
    fn heard(&mut self, now: Mono, statement: &Statement) -> bool {
        let Identity { group, life: me, process, .. } = &self.me;
        if statement.group != *group || statement.process == *process {
            return false;
        }
        self.others.retain(|_, other| now.since(other.stated) < self.threshold);
        let Life { member, incarnation } = &statement.life;
        // The last statements of a former life may be late.
        let mine = (*member == me.member).then_some(me.incarnation);
        let known = self.others.get(member).map(|known| known.incarnation).or(mine);
        let own = self.generation.unwrap_or(UNASSIGNED);
        let met = self.others.get(member).is_some_and(|it| it.incarnation == *incarnation);
        let changed = !met || statement.going || statement.generation != own;
        if known.is_none_or(|known| known <= *incarnation) {
            let other = Other { incarnation: *incarnation, stated: now, going: statement.going };
            self.others.insert(member.clone(), other);
        }
        if changed {
            self.changed(now);
        }
        true
    }

    /// Whether a statement of generation `later` ends a claim on `partition`.
    fn yields(&self, now: Mono, partition: PartitionId, later: i32) -> bool {
        let given = self.given.get(&partition);
        self.disbelieves <= now && given.is_none_or(|given| *given < later)
    }

    /// The member stands in for an owner that was given `partition` in `generation`: the claim ends
    /// for an owner of a later one. False for a member that leaves.
    pub(super) fn stands_in(&mut self, partition: PartitionId, generation: i32) -> bool {
        let given = self.given.entry(partition).or_insert(generation);
        *given = generation.max(*given);
        !self.going
    }

    /// Whether no other member is there that could take over. A member that has just begun cannot
    /// know: it has not heard of the others yet.
    fn is_alone(&self, now: Mono) -> bool {
        if self.reads.is_none_or(|since| now.since(since) < self.acquainted) {
            return false;
        }
        let stays = |other: &Other| !other.going && now.since(other.stated) < self.threshold;
        !self.others.values().any(stays)
    }
}

impl Neli {
    /// The same member, which states on partition `direct` what it holds and leads, and heeds what
    /// others state there. It reads that partition under every assignment. Only in the
    /// non-exclusive mode, and only with a group membership that knows its generation.
    #[must_use]
    pub fn handing_over(mut self, me: Identity, direct: PartitionId) -> Self {
        self.handover = (self.mode == Mode::NonExclusive).then(|| Handover {
            me,
            direct,
            threshold: self.vector.threshold(),
            acquainted: self.beacons.interval() * ACQUAINTED,
            reads: None,
            generation: None,
            given: BTreeMap::new(),
            disbelieves: Mono::ZERO,
            others: BTreeMap::new(),
            going: false,
            inquest: Inquest::default(),
            always: self.beacons.rounds_of_all() == 1,
            states: Mono::ZERO,
        });
        self
    }

    /// Whether it states what it leads and heeds what others state.
    #[must_use]
    pub const fn hands_over(&self) -> bool {
        self.handover.is_some()
    }

    /// What the member states with a beacon on `partition`; nothing on other partitions than the
    /// one that all read. Before its first assignment it states that it is there: if all the others
    /// die before the group has assigned it anything, it stands in for them.
    #[must_use]
    pub fn statement(&self, partition: PartitionId) -> Option<Statement> {
        let Handover { me, generation, going, inquest, .. } =
            self.handover.as_ref().filter(|it| it.direct == partition)?;
        let leads = |(k, it): (&PartitionId, &crate::Holding)| {
            (it.heard.is_some() && self.vector.claim(*k).is_some()).then_some(*k)
        };
        Some(Statement {
            group: me.group.clone(),
            life: me.life.clone(),
            process: me.process,
            generation: generation.unwrap_or(UNASSIGNED),
            holds: self.held.keys().copied().collect(),
            leads: self.held.iter().filter_map(leads).collect(),
            going: *going,
            address: me.address.clone(),
            inquest: inquest.clone(),
        })
    }

    /// The mesh asks on the ledger whether members are dead, or answers such questions.
    pub fn handle_inquest(&mut self, now: Mono, inquest: Inquest) {
        self.handle_timeout(now);
        if let Some(handover) = &mut self.handover {
            handover.inquest = inquest;
        }
        self.announce(now);
    }

    /// Another member, or this one, stated this.
    pub fn handle_statement(&mut self, now: Mono, statement: &Statement) {
        self.handle_timeout(now);
        let Some(handover) = &mut self.handover else { return };
        if !handover.heard(now, statement) {
            return;
        }
        let yields = |partition: &PartitionId| {
            handover.yields(now, *partition, statement.generation)
                && !self.held.contains_key(partition)
        };
        let yielded: Vec<_> = statement.leads.iter().copied().filter(yields).collect();
        for partition in yielded {
            self.hand_over(now, partition);
        }
    }

    /// Ends the claim, if there is one: another member leads the partition.
    pub(crate) fn hand_over(&mut self, now: Mono, partition: PartitionId) {
        if let Some(claim) = self.vector.end(now, partition) {
            self.events.push_back(Event::Ended { claim, why: Ending::HandedOver });
        }
    }

    /// The member is about to leave: it says so, and leads on until others lead what it led
    /// ([`is_relieved`](Self::is_relieved)), or until [`handle_leave`](Self::handle_leave).
    pub fn handle_going(&mut self, now: Mono) {
        self.handle_timeout(now);
        if let Some(handover) = &mut self.handover {
            handover.going = true;
        }
        self.announce(now);
    }

    /// Whether a member that leaves has no reason to lead on: others lead all that it led, or all
    /// others are gone or about to leave as well.
    #[must_use]
    pub fn is_relieved(&self, now: Mono) -> bool {
        let alone = self.handover.as_ref().is_none_or(|handover| handover.is_alone(now));
        alone || !self.claims().any(|claim| now < claim.until)
    }

    /// States at once what has changed, even where a beacon has just left.
    pub(super) fn announce(&mut self, now: Mono) {
        if let Some(handover) = &mut self.handover {
            handover.changed(now);
            self.beacons.announce(handover.direct);
        }
    }
}
