//! The state of one member, and of one life of it.

use crate::timeline::LifeLine;
use tandem_facts::ids::{Incarnation, Life};
use tandem_facts::observation::{Fact, MemberEvent, RefusedOrders, RunEvent, What};
use tandem_facts::time::{Mono, Wall};

/// A member in its latest life.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MemberState {
    /// The life.
    pub incarnation: Incarnation,
    /// Its process id, while it runs.
    pub pid: Option<u32>,
    /// Whether its process is stopped.
    pub stopped: bool,
    /// Whether it leaves, or has left and exited in order.
    pub left: bool,
    /// Since when it is in this state.
    pub since: Mono,
    /// The orders of experiments that its witness has refused.
    pub refused: RefusedOrders,
}

impl MemberState {
    /// A member that has not been started yet.
    pub(super) const ABSENT: Self = Self {
        incarnation: Incarnation(0),
        pid: None,
        stopped: false,
        left: false,
        since: Mono::ZERO,
        refused: RefusedOrders { forged: 0, replayed: 0, expired: 0, misdirected: 0, crowded: 0 },
    };

    /// Takes a fact about one of its lives.
    pub(super) fn observe(&mut self, life: &Life, fact: &Fact) {
        let (incarnation, since) = (life.incarnation, fact.t);
        if let What::Run(RunEvent::Started { pid, .. }) = fact.what {
            *self = Self { incarnation, pid: Some(pid), since, ..Self::ABSENT };
        }
        if self.incarnation != incarnation {
            return;
        }
        if let What::Member(MemberEvent::Leaving) = fact.what {
            self.left = true;
        } else if let What::Run(RunEvent::Died { status, signal }) = fact.what {
            // How a process ended that was not started here is not known.
            let left = self.left && signal.is_none() && status.is_none_or(|status| status == 0);
            *self = Self { pid: None, stopped: false, left, since, ..*self };
        } else if let What::Run(RunEvent::Stopped | RunEvent::Continued) = fact.what {
            (self.stopped, self.since) = (fact.what == What::Run(RunEvent::Stopped), since);
        } else if let What::Run(RunEvent::Orders { refused, .. }) = fact.what {
            self.refused = refused;
        }
    }
}

/// One life of a member. There are two at a time while a second process has its name.
#[derive(Debug, Clone, Default)]
pub(super) struct LifeState {
    pub(super) line: LifeLine,
    /// Whether its partitions were revoked and none assigned since: a rebalance is under way.
    pub(super) between: bool,
    /// Whether the group assigned partitions to this life, or the life claims some.
    pub(super) joined: bool,
    /// The last reading of its wall clock, and when.
    pub(super) clock: Option<(Mono, Wall)>,
    /// What was before this instant was counted when the life was not known.
    pub(super) known_from: Option<Mono>,
}

impl LifeState {
    /// A life of which nothing was known before.
    pub(super) fn known_from(known_from: Mono) -> Self {
        Self { known_from: Some(known_from), ..Self::default() }
    }

    /// Takes a fact. Returns whether it unsettles the group; late facts of a dead life do not.
    pub(super) fn observe(&mut self, fact: &Fact) -> bool {
        let lived = self.line.is_alive();
        // A new claim in a renewal began in a lost fact, and a missing one ended in a lost fact.
        let renewed = matches!(&fact.what, What::Member(MemberEvent::Renewed { claims })
            if !self.line.claims_only(claims));
        match &fact.what {
            What::Member(_) => self.line.hear(fact),
            What::Run(_) => self.line.record(fact),
        }
        if let What::Member(MemberEvent::Revoked { .. } | MemberEvent::Lost { .. }) = &fact.what {
            self.between = true;
        // The fact of its assignment may be lost.
        } else if let What::Member(
            MemberEvent::Claimed { .. } | MemberEvent::Assigned { .. } | MemberEvent::Hole { .. },
        ) = &fact.what
        {
            self.between = false;
        } else if let What::Member(MemberEvent::Clock { wall }) = &fact.what {
            self.clock = Some((fact.t, *wall));
        }
        // The fact of its assignment may be lost.
        self.joined |= matches!(fact.what, What::Member(MemberEvent::Assigned { .. }))
            || self.line.claims().next().is_some();
        let unsettles = match &fact.what {
            What::Run(event) => matches!(
                event,
                RunEvent::Started { .. }
                    | RunEvent::Died { .. }
                    | RunEvent::Stopped
                    | RunEvent::Continued
            ),
            What::Member(event) => matches!(
                event,
                MemberEvent::Claimed { .. }
                    | MemberEvent::Lapsed { .. }
                    | MemberEvent::Assigned { .. }
                    | MemberEvent::Revoked { .. }
                    | MemberEvent::Lost { .. }
                    | MemberEvent::Leaving
            ),
        };
        (unsettles || renewed) && (lived || self.line.is_alive())
    }
}
