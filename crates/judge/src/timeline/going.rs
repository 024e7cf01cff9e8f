//! Which of a member's facts belong to a leave.

use std::collections::BTreeSet;

use tandem_facts::ids::PartitionId;
use tandem_facts::observation::{Ending, MemberEvent};
use tandem_facts::time::Mono;

/// What a life says of its way out of the group, as far as a leave goes.
#[derive(Debug, Clone, Default)]
pub struct Going {
    held: BTreeSet<PartitionId>,
    released: bool,
}

/// What a fact means for a leave.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GoingStep {
    /// Nothing.
    Other,
    /// The life is in its group, or claims.
    Stays,
    /// It does not hold some partitions any more.
    Loses,
    /// It has given back all that it held, as one that leaves does, or that takes part in a
    /// rebalance.
    Releases,
    /// A claim ended at this instant as those of a leave do.
    Ends(Mono),
    /// It has left.
    Left,
}

impl Going {
    /// Takes an event of the life, in the order of `seq`.
    pub fn observe(&mut self, event: &MemberEvent) -> GoingStep {
        let (step, released) = self.step(event);
        self.released = released;
        step
    }

    fn lose(&mut self, partitions: &[PartitionId]) {
        for partition in partitions {
            self.held.remove(partition);
        }
    }

    fn step(&mut self, event: &MemberEvent) -> (GoingStep, bool) {
        match event {
            MemberEvent::Assigned { partitions, .. } => {
                self.held = partitions.iter().copied().collect();
                (GoingStep::Stays, false)
            }
            MemberEvent::Claimed { .. } => (GoingStep::Stays, false),
            MemberEvent::Revoked { partitions } => {
                self.lose(partitions);
                let all = self.held.is_empty();
                (if all { GoingStep::Releases } else { GoingStep::Loses }, all)
            }
            MemberEvent::Lost { partitions } => {
                self.lose(partitions);
                (GoingStep::Loses, false)
            }
            MemberEvent::Lapsed { at, why: Ending::Left, .. } => {
                (GoingStep::Ends(*at), self.released)
            }
            // After a rebalance, another member leads what this one was not given again.
            MemberEvent::Lapsed { at, why: Ending::HandedOver, .. } if self.released => {
                (GoingStep::Ends(*at), true)
            }
            MemberEvent::Leaving => {
                self.held.clear();
                (GoingStep::Left, false)
            }
            MemberEvent::Lapsed { .. }
            | MemberEvent::Renewed { .. }
            | MemberEvent::Ticks { .. }
            | MemberEvent::Hole { .. }
            | MemberEvent::Clock { .. }
            | MemberEvent::Late { .. }
            | MemberEvent::Unconnected { .. }
            | MemberEvent::Connected
            | MemberEvent::Refused { .. } => (GoingStep::Other, self.released),
        }
    }
}
