//! `roundrobin`: all partitions of all topics in a row, one to each member in turn; a member that
//! does not subscribe to a topic is passed over.

use std::collections::BTreeMap;

use super::{Candidate, Shares, give, nothing};
use tandem_facts::ids::PartitionId;

pub(super) fn assign(topics: &BTreeMap<String, u32>, members: &[&Candidate]) -> Shares {
    let mut shares = nothing(members);
    let mut turn = members.iter().cycle();
    for (topic, &width) in topics {
        if !members.iter().any(|member| member.topics.contains(topic)) {
            continue;
        }
        for k in (0..width).map(PartitionId) {
            if let Some(member) = turn.find(|member| member.topics.contains(topic)) {
                give(&mut shares, member, topic, k);
            }
        }
    }
    shares
}
