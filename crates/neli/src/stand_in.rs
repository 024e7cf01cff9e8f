//! Claims of a stand-in: for a partition whose owner is dead or suspected, as the
//! [`mesh`](crate::mesh) orders.
//!
//! Such a claim needs no message of its partition. It ends when a newer owner states that it leads,
//! like any claim on what the member does not hold ([`Ending::HandedOver`]); when the mesh finds
//! that the owner lives; or with its term. With the next assignment it is a claim like any other.
//!
//! [`Ending::HandedOver`]: tandem_facts::observation::Ending::HandedOver

use tandem_facts::ids::PartitionId;
use tandem_facts::time::Mono;

use crate::mesh::{Order, StandIn};
use crate::{Event, Neli};

impl Neli {
    /// The mesh orders a stand-in, or the end of one. Only a member that hands over obeys.
    pub fn handle_order(&mut self, now: Mono, order: &Order) {
        self.handle_timeout(now);
        match order {
            Order::Stand(stand_in) => self.stand_in(now, stand_in),
            Order::End { partition } => self.owner_lives(now, *partition),
        }
    }

    fn stand_in(&mut self, now: Mono, order: &StandIn) {
        let StandIn { partition, generation, until, ref of, .. } = *order;
        let obeys = self.handover.as_mut().is_some_and(|it| it.stands_in(partition, generation));
        if !obeys || self.gone {
            return;
        }
        if !self.held.contains_key(&partition) {
            self.stand_ins.insert(partition);
        }
        if let Some(claim) = self.vector.extend(now, partition, until) {
            let stands_in_for = Some(of.clone());
            self.events.push_back(Event::Acquired { claim, from: now, stands_in_for });
        }
    }

    fn owner_lives(&mut self, now: Mono, partition: PartitionId) {
        if self.stand_ins.remove(&partition) {
            self.hand_over(now, partition);
        }
    }
}
