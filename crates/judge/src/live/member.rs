//! The state of one member, and of one life of it.

use crate::timeline::LifeLine;
use tandem_facts::ids::{Incarnation, Life};
use tandem_facts::observation::{Fact, What};
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
}

impl MemberState {
    /// A member that has not been started yet.
    pub(super) const ABSENT: Self = Self {
        incarnation: Incarnation(0),
        pid: None,
        stopped: false,
        left: false,
        since: Mono::ZERO,
    };

    /// Takes a fact about one of its lives.
    pub(super) fn observe(&mut self, life: &Life, fact: &Fact) {
        let (incarnation, since) = (life.incarnation, fact.t);
        if let What::Started { pid, .. } = fact.what {
            *self = Self { incarnation, pid: Some(pid), stopped: false, left: false, since };
        }
        if self.incarnation != incarnation {
            return;
        }
        if let What::Leaving = fact.what {
            self.left = true;
        } else if let What::Died { status, signal } = fact.what {
            // How a process ended that was not started here is not known.
            let left = self.left && signal.is_none() && status.is_none_or(|status| status == 0);
            *self = Self { incarnation, pid: None, stopped: false, left, since };
        } else if let What::Stopped | What::Continued = fact.what {
            (self.stopped, self.since) = (fact.what == What::Stopped, since);
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
}

impl LifeState {
    /// Takes a fact. Returns whether it unsettles the group; late facts of a dead life do not.
    pub(super) fn observe(&mut self, fact: &Fact) -> bool {
        let lived = self.line.is_alive();
        // A new claim in a renewal began in a lost fact, and a missing one ended in a lost fact.
        let renewed =
            matches!(&fact.what, What::Renewed { claims } if !self.line.claims_only(claims));
        if fact.what.is_by_member() {
            self.line.hear(fact);
        } else {
            self.line.record(fact);
        }
        if let What::Revoked { .. } | What::Lost { .. } = &fact.what {
            self.between = true;
        // The fact of its assignment may be lost.
        } else if let What::Claimed { .. } | What::Assigned { .. } | What::Hole { .. } = &fact.what
        {
            self.between = false;
        } else if let What::Clock { wall } = &fact.what {
            self.clock = Some((fact.t, *wall));
        }
        // The fact of its assignment may be lost.
        self.joined |=
            matches!(fact.what, What::Assigned { .. }) || self.line.claims().next().is_some();
        let unsettles = matches!(
            fact.what,
            What::Started { .. }
                | What::Died { .. }
                | What::Stopped
                | What::Continued
                | What::Claimed { .. }
                | What::Lapsed { .. }
                | What::Assigned { .. }
                | What::Revoked { .. }
                | What::Lost { .. }
                | What::Leaving
        );
        (unsettles || renewed) && (lived || self.line.is_alive())
    }
}
