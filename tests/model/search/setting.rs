//! What is searched: how many members, how they prove their membership, and what may befall them.

use std::num::NonZeroU32;
use std::time::Duration;

use model::{GROUP, TOPIC};
use tandem_broker::groups::CoordinatorSettings;
use tandem_broker::groups::consumer::ConsumerSettings;
use tandem_facts::ids::{Life, PartitionId};
use tandem_facts::observation::Mode;
use tandem_facts::time::Mono;
use tandem_neli::membership::{Assignor, GroupConfig};
use tandem_neli::{Config, Identity, Neli, Publishers, Pulse};

/// `S`.
pub(super) const SESSION: Duration = Duration::from_millis(1_000);
/// The step of the clock.
pub(super) const TICK: Duration = Duration::from_millis(125);
/// The number of partitions.
pub(super) const WIDTH: NonZeroU32 = NonZeroU32::new(2).unwrap();

/// The session of a group that is lowered: still longer than a heartbeat.
pub(super) const LOWERED: Duration = TICK.saturating_mul(3);
/// How many ticks after that nothing else befalls the group: a heartbeat, then the question for the
/// session.
pub(super) const LULL: u8 = 4;

/// How members and coordinator speak.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Protocol {
    Classic,
    /// KIP-848.
    Consumer,
}

/// A group, and what may befall it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Setting {
    pub(super) protocol: Protocol,
    /// The members that the group has at first.
    pub(super) members: usize,
    /// The members that may join later, each once.
    pub(super) later: usize,
    pub(super) mode: Mode,
    /// `T`.
    pub(super) threshold: Duration,
    pub(super) hold: Duration,
    /// How often members commit, in the exclusive mode.
    pub(super) commit: Duration,
    /// In the paper's mode: how long a new owner waits.
    pub(super) grace: Duration,
    /// How far the wall clock of the first member is behind.
    pub(super) behind: Duration,
    pub(super) rule: Rule,
    /// In non-exclusive mode: whether members give up what they hear that others lead.
    pub(super) hands_over: bool,
    /// With `Owners` a member hears on its ledger only what it has published itself.
    pub(super) publishers: Publishers,
    /// How many faults at most.
    pub(super) faults: u8,
    pub(super) kinds: &'static [Kind],
    /// How often the clock goes on, at most; none where the search ends with the states.
    pub(super) horizon: Option<u8>,
    /// How many ticks after a lowered session nothing else befalls the group.
    pub(super) lull: u8,
    /// Whether to look what becomes of each state once the faults cease.
    pub(super) settles: bool,
}

/// What a member counts as a proof of its membership. All but the first are mistakes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Rule {
    /// What the core says: the earlier of `H` and `A`, in this generation.
    Proved,
    /// `H` alone.
    HeartbeatsAlone,
    /// `A` alone: it looks at no answer to a heartbeat.
    CommitsAlone,
    /// Each request counts from its answer.
    FromTheAnswer,
    /// A revocation ends no claim.
    OverARejoin,
    /// Until there is a proof of this generation, that of the generation before will do.
    ProofBefore,
    /// A proof of this generation will do for what the generation before assigned.
    AssignmentBefore,
    /// Of the newer protocol: a heartbeat counts although a revocation is not confirmed yet.
    WhileRevoking,
    /// A revocation is confirmed at once, although claims outlive it by the hold.
    WithinTheHold,
    /// Heartbeats name what has not been sent before, and each answer counts: after a lost one as
    /// well.
    AfterALostAnswer,
    /// A heartbeat counts for a session that it was never asked for.
    AnySession,
    /// A member that does not know what became of a request goes on under its id.
    UnderOneId,
    /// A heartbeat counts that one coordinator answered, with a commit that another one did.
    OfTwoCoordinators,
}

impl Rule {
    /// Whether a member by this rule counts its requests itself.
    pub(super) const fn counts(self, protocol: Protocol) -> bool {
        match self {
            Self::FromTheAnswer
            | Self::CommitsAlone
            | Self::WhileRevoking
            | Self::AfterALostAnswer
            | Self::AnySession
            | Self::OfTwoCoordinators => true,
            Self::HeartbeatsAlone => matches!(protocol, Protocol::Consumer),
            Self::Proved
            | Self::OverARejoin
            | Self::ProofBefore
            | Self::AssignmentBefore
            | Self::WithinTheHold
            | Self::UnderOneId => false,
        }
    }
}

/// A fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Kind {
    /// A member dies.
    Kill,
    /// A member leaves.
    Leave,
    /// A member is stopped, and continues.
    Pause,
    /// Nothing passes between a member and the brokers.
    Cut,
    /// The heartbeats of a member get lost; all else passes.
    NoHeartbeats,
    /// A member reaches only a coordinator that was deposed and does not know it.
    Deposed,
    /// Another broker becomes coordinator, and has to load the group first.
    Moved,
    /// A message is held, and delivered later or never.
    Held,
    /// A connection breaks, before a request has arrived or after.
    Broken,
    /// The session of the group is lowered, of the newer protocol alone.
    Lowered,
}

impl Kind {
    /// All but the last, which only some searches have.
    pub(super) const ALL: [Self; 9] = [
        Self::Kill,
        Self::Leave,
        Self::Pause,
        Self::Cut,
        Self::NoHeartbeats,
        Self::Deposed,
        Self::Moved,
        Self::Held,
        Self::Broken,
    ];
}

impl Setting {
    /// Two members in exclusive mode, by both proofs, and one fault at most. `T` is the whole
    /// session: the clocks of this model all go at one rate.
    pub(super) const fn exclusive() -> Self {
        Self {
            protocol: Protocol::Classic,
            members: 2,
            later: 0,
            mode: Mode::Exclusive,
            threshold: SESSION,
            hold: Duration::ZERO,
            commit: TICK.saturating_mul(2),
            grace: Duration::ZERO,
            behind: Duration::ZERO,
            rule: Rule::Proved,
            hands_over: false,
            publishers: Publishers::All,
            faults: 1,
            kinds: &Kind::ALL,
            horizon: None,
            lull: LULL,
            settles: true,
        }
    }

    /// The same under the newer protocol.
    pub(super) const fn newer() -> Self {
        Self { protocol: Protocol::Consumer, ..Self::exclusive() }
    }

    /// The same in non-exclusive mode.
    pub(super) const fn non_exclusive() -> Self {
        Self { mode: Mode::NonExclusive, threshold: TICK.saturating_mul(9), ..Self::exclusive() }
    }

    /// Two members by the paper's rule, which meets its conditions: `T` and a heartbeat are less
    /// than a session, and a new owner waits for longer than `T`.
    pub(super) const fn by_paper() -> Self {
        let (threshold, grace) = (TICK.saturating_mul(5), TICK.saturating_mul(6));
        Self { mode: Mode::ExclusivePaper, threshold, grace, ..Self::exclusive() }
    }

    pub(super) fn group(&self) -> GroupConfig {
        let exclusive = self.mode.is_exclusive();
        let newer = self.protocol == Protocol::Consumer;
        let commits = exclusive && (newer || self.rule != Rule::HeartbeatsAlone);
        let hold = if self.rule == Rule::WithinTheHold { Duration::ZERO } else { self.hold };
        GroupConfig {
            group: GROUP.parse().unwrap(),
            topic: TOPIC.parse().unwrap(),
            width: WIDTH,
            instance: None,
            assignors: Assignor::RoundRobin.into(),
            session: SESSION,
            heartbeat: TICK * 2,
            // The shortest that there can be.
            rebalance: SESSION,
            renews_id: exclusive && self.rule != Rule::UnderOneId,
            commit: commits.then_some(self.commit),
            learns: None,
            wall_ms: 0,
            gives_way: None,
            hold,
            // Over at the next tick, and too short to vary.
            backoff: Duration::from_nanos(1),
            backoff_max: Duration::from_nanos(1),
            seed: u64::MAX,
        }
    }

    /// The core of the member with this number.
    pub(super) fn neli(&self, now: Mono, number: u64) -> Neli {
        let core = Neli::new(now, self.config()).with_grace(self.grace).publishing(self.publishers);
        let newer = self.protocol == Protocol::Consumer;
        let core = if newer { core.taking_one_by_one() } else { core };
        let life = Life::try_from(format!("g-{number}.1")).unwrap();
        let me = Identity { group: GROUP.parse().unwrap(), life, process: number, address: None };
        if self.hands_over { core.handing_over(me, PartitionId(0)) } else { core }
    }

    const fn config(&self) -> Config {
        Config {
            width: WIDTH,
            threshold: self.threshold,
            hold: self.hold,
            beacon: TICK,
            mode: self.mode,
            pulse: Pulse::Clock,
        }
    }
}

pub(super) fn coordinator() -> CoordinatorSettings {
    let consumer =
        ConsumerSettings { session: SESSION, heartbeat: TICK * 2, ..ConsumerSettings::default() };
    CoordinatorSettings { new_member_join: SESSION * 2, consumer, ..CoordinatorSettings::default() }
}
