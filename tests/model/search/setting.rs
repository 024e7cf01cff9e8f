//! What is searched: how many members, how they prove their membership, and what may befall them.

use std::num::NonZeroU32;
use std::time::Duration;

use model::{GROUP, TOPIC};
use tandem_broker::groups::CoordinatorSettings;
use tandem_facts::ids::{Life, PartitionId};
use tandem_facts::observation::Mode;
use tandem_facts::time::Mono;
use tandem_neli::membership::{Assignor, GroupConfig};
use tandem_neli::{Config, Identity, Neli, Pulse};

/// `S`.
pub(super) const SESSION: Duration = Duration::from_millis(1_000);
/// The step of the clock.
pub(super) const TICK: Duration = Duration::from_millis(125);
/// The number of partitions.
pub(super) const WIDTH: NonZeroU32 = NonZeroU32::new(2).unwrap();

/// A group, and what may befall it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Setting {
    /// The members that the group has at first.
    pub(super) members: usize,
    /// The members that may join later, each once.
    pub(super) later: usize,
    pub(super) mode: Mode,
    /// `T`.
    pub(super) threshold: Duration,
    pub(super) hold: Duration,
    pub(super) rule: Rule,
    /// In non-exclusive mode: whether members give up what they hear that others lead.
    pub(super) hands_over: bool,
    /// How many faults at most.
    pub(super) faults: u8,
    pub(super) kinds: &'static [Kind],
    /// How often the clock goes on, at most; none where the search ends with the states.
    pub(super) horizon: Option<u8>,
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
}

impl Kind {
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
            members: 2,
            later: 0,
            mode: Mode::Exclusive,
            threshold: SESSION,
            hold: Duration::ZERO,
            rule: Rule::Proved,
            hands_over: false,
            faults: 1,
            kinds: &Kind::ALL,
            horizon: None,
            settles: true,
        }
    }

    /// The same in non-exclusive mode.
    pub(super) const fn non_exclusive() -> Self {
        Self { mode: Mode::NonExclusive, threshold: TICK.saturating_mul(9), ..Self::exclusive() }
    }

    pub(super) fn group(&self) -> GroupConfig {
        let exclusive = self.mode.is_exclusive();
        let commits = match self.rule {
            Rule::HeartbeatsAlone => false,
            Rule::Proved
            | Rule::FromTheAnswer
            | Rule::CommitsAlone
            | Rule::OverARejoin
            | Rule::ProofBefore
            | Rule::AssignmentBefore => exclusive,
        };
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
            renews_id: exclusive,
            commit: commits.then_some(TICK * 2),
            wall_ms: 0,
            gives_way: None,
            hold: self.hold,
            // Over at the next tick, and too short to vary.
            backoff: Duration::from_nanos(1),
            backoff_max: Duration::from_nanos(1),
            seed: u64::MAX,
        }
    }

    /// The core of the member with this number.
    pub(super) fn neli(&self, now: Mono, number: u64) -> Neli {
        let core = Neli::new(now, self.config());
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
    CoordinatorSettings { new_member_join: SESSION * 2, ..CoordinatorSettings::default() }
}
