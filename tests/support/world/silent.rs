//! Members that hear nothing on a partition, and give way.

#![allow(clippy::as_conversions, reason = "a test may fail loudly")]

use bytes::Bytes;
use tandem::ids::PartitionId;
use tandem::time::Mono;

use super::{Due, World};

impl World {
    /// Which of these members gets a partition: in turn, but none that does not hear it.
    pub(super) fn place_of(&self, partition: u32, ids: &[&String]) -> usize {
        let place = partition as usize % ids.len();
        let is_deaf = self.clients.iter().any(|client| {
            client.member_id == *ids[place] && client.deaf == Some(PartitionId(partition))
        });
        if is_deaf { (place + 1) % ids.len() } else { place }
    }

    /// What a member says as it joins. Without a change no rebalance begins.
    pub(super) fn says(&self, client: usize) -> Bytes {
        self.clients[client].deaf.map_or_else(Bytes::new, |_| Bytes::from_static(b"unreachable"))
    }

    /// `client` hears nothing on `partition` from now on; its last message there was at `last`, and
    /// it gives way `T` after that.
    pub fn deafen(&mut self, client: usize, partition: PartitionId, last: Mono) {
        self.clients[client].deaf = Some(partition);
        self.at(last + self.terms.threshold, Due::Join(client));
    }
}
