//! `range`: of each topic, a run of neighbours to each member; the first ones get one more.

use std::collections::BTreeMap;

use super::{Candidate, Shares, give, nothing};
use tandem_facts::ids::PartitionId;

pub(super) fn assign(topics: &BTreeMap<String, u32>, members: &[&Candidate]) -> Shares {
    let mut shares = nothing(members);
    for (topic, &width) in topics {
        let takers: Vec<&Candidate> =
            members.iter().copied().filter(|member| member.topics.contains(topic)).collect();
        let Some(count) = u32::try_from(takers.len()).ok().filter(|count| *count > 0) else {
            continue;
        };
        let (each, more) = (width / count, width % count);
        let mut next = 0;
        for (at, member) in (0..count).zip(takers) {
            let end = next + each + u32::from(at < more);
            (next..end).for_each(|k| give(&mut shares, member, topic, PartitionId(k)));
            next = end;
        }
    }
    shares
}
