//! One member, and one life of it.

use crate::timeline::LifeLine;
use tandem_facts::ids::{Incarnation, Life};
use tandem_facts::observation::{Fact, What};
use tandem_facts::time::{Mono, Wall};

/// One member, in the life that was started last.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MemberState {
    /// Which life.
    pub incarnation: Incarnation,
    /// Its process, while it runs.
    pub pid: Option<u32>,
    /// The kernel has stopped it.
    pub stopped: bool,
    /// It leaves, or has left and ended in order.
    pub left: bool,
    /// Since when it has been so.
    pub since: Mono,
}

impl MemberState {
    /// It has not been started yet.
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
        if let What::Started { pid } = fact.what {
            *self = Self { incarnation, pid: Some(pid), stopped: false, left: false, since };
        }
        if self.incarnation != incarnation {
            return;
        }
        if let What::Leaving = fact.what {
            self.left = true;
        } else if let What::Died { status, .. } = fact.what {
            let left = self.left && status == Some(0);
            *self = Self { incarnation, pid: None, stopped: false, left, since };
        } else if let What::Stopped | What::Continued = fact.what {
            (self.stopped, self.since) = (fact.what == What::Stopped, since);
        }
    }
}

/// One life of a member: there are two at a time where a second process bears its name.
#[derive(Debug, Clone, Default)]
pub(super) struct LifeState {
    pub(super) line: LifeLine,
    /// Its partitions were taken back, and it was given none since: a rebalance is under way.
    pub(super) between: bool,
    /// The group gave this life partitions, or it claims some.
    pub(super) joined: bool,
    /// What its wall clock said last, and when.
    pub(super) clock: Option<(Mono, Wall)>,
}

impl LifeState {
    /// Takes a fact; whether it unsettles the group. What a dead life says late does not.
    pub(super) fn observe(&mut self, fact: &Fact) -> bool {
        let lived = self.line.is_alive();
        // A claim that is new in a renewal began in a fact that was lost, and one that is missing
        // has ended in such a fact.
        let renewed =
            matches!(&fact.what, What::Renewed { claims } if !self.line.claims_only(claims));
        if fact.what.is_by_member() {
            self.line.hear(fact);
        } else {
            self.line.record(fact);
        }
        if let What::Revoked { .. } | What::Lost { .. } = &fact.what {
            self.between = true;
        // An assignment may be lost in a hole.
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
