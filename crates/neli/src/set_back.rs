//! A ledger that was set back: its topic was deleted and created again, or a broker lost messages.
//!
//! Offsets of a partition only rise. Where one is below another that was there before, the ledger
//! is not the one of which the member made its claims, and what it has heard there says nothing
//! about members that began on the new one. So all its claims end.

use std::collections::BTreeMap;

use super::Neli;
use tandem_facts::ids::PartitionId;
use tandem_facts::observation::Mode;
use tandem_facts::time::Mono;

/// The highest offset of each partition.
pub(super) type Offsets = BTreeMap<PartitionId, i64>;

impl Neli {
    /// A message of `partition` has this offset. Returns whether the ledger was set back: then all
    /// claims have ended, in the exclusive mode after `hold`, and in that mode the member claims
    /// nothing until its group assigns partitions anew, with new fences. The caller has it join
    /// again ([`GroupMember::handle_set_back`]), and does not hand this message over.
    ///
    /// [`GroupMember::handle_set_back`]: crate::membership::GroupMember::handle_set_back
    pub fn handle_offset(&mut self, now: Mono, partition: PartitionId, offset: i64) -> bool {
        self.handle_timeout(now);
        let seen = self.offsets.insert(partition, offset);
        if seen.is_none_or(|seen| seen <= offset) {
            return false;
        }
        // The other partitions may be new as well: that is no news then.
        self.offsets.retain(|other, _| *other == partition);
        self.proof = None;
        for holding in self.held.values_mut() {
            (holding.heard, holding.stamped) = (None, None);
        }
        if self.mode == Mode::Exclusive {
            self.held.clear();
        }
        self.vector.curtail(now + self.hold, |_| true);
        self.stand_ins.clear();
        self.expire(now);
        true
    }
}
