//! How the leader of a group shares out the partitions: Kafka's own assignors, by their own names,
//! so that a group may mix this member with others.

mod evasion;
mod range;
mod roundrobin;
mod sticky;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use super::{Partitions, StickyData, Subscription};
use tandem_facts::ids::PartitionId;

/// A way to share out partitions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Assignor {
    /// Of each topic, a run of neighbours to each member.
    Range,
    /// All partitions in a row, one to each member in turn.
    RoundRobin,
    /// Even shares, with as few partitions moved as that takes.
    Sticky,
    /// The same in two generations: in the first a partition that moves is given up, in the second
    /// its new owner gets it. All other partitions stay (KIP-429).
    CooperativeSticky,
}

/// A member as an assignor sees it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Candidate {
    /// Its id.
    pub member_id: String,
    /// Its instance id, if it is static.
    pub instance_id: Option<String>,
    /// The topics that it subscribes to.
    pub topics: BTreeSet<String>,
    /// What it holds, or held last.
    pub owned: Partitions,
    /// The generation that gave it that.
    pub generation: Option<i32>,
    /// What it does not reach.
    pub unreachable: Partitions,
}

/// The share of each member, by its id.
pub type Shares = BTreeMap<String, Partitions>;

impl Assignor {
    const ALL: [Self; 4] = [Self::Range, Self::RoundRobin, Self::Sticky, Self::CooperativeSticky];

    /// Its name in the protocol.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Range => "range",
            Self::RoundRobin => "roundrobin",
            Self::Sticky => "sticky",
            Self::CooperativeSticky => "cooperative-sticky",
        }
    }

    /// The assignor of this name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|assignor| assignor.name() == name)
    }

    /// Whether members keep their partitions while they join again.
    #[must_use]
    pub const fn is_cooperative(self) -> bool {
        matches!(self, Self::CooperativeSticky)
    }

    /// The candidate that a subscription describes under this assignor.
    #[must_use]
    pub fn candidate(
        self,
        member_id: String,
        instance_id: Option<String>,
        subscription: Subscription,
    ) -> Candidate {
        let Subscription { topics, user_data, owned, generation } = subscription;
        let mut sticky = StickyData::decode(&user_data);
        let unreachable =
            sticky.as_mut().map_or_else(Partitions::new, |it| std::mem::take(&mut it.unreachable));
        let (owned, generation) = match self {
            // These assignors do not use it.
            Self::Range | Self::RoundRobin => (Partitions::new(), None),
            // Eager members hold nothing as they join: the user data says what they held.
            Self::Sticky => sticky.map_or_else(
                || (Partitions::new(), None),
                |sticky| (sticky.previous, sticky.generation),
            ),
            Self::CooperativeSticky => {
                let in_user_data =
                    || sticky.and_then(|it| it.generation).or_else(|| lone(&user_data));
                (owned, generation.or_else(in_user_data))
            }
        };
        Candidate { member_id, instance_id, topics, owned, generation, unreachable }
    }

    /// Shares out all partitions of `topics`, which says how many each has. A partition that would
    /// go to a member which does not reach it goes to one that does, if there is one.
    #[must_use]
    pub fn assign(self, topics: &BTreeMap<String, u32>, members: &[Candidate]) -> Shares {
        // As Kafka does: static members first, so that a restart does not change the order.
        let mut members: Vec<&Candidate> = members.iter().collect();
        members.sort_by_key(|it| (it.instance_id.is_none(), &it.instance_id, &it.member_id));
        let shares = match self {
            Self::Range => range::assign(topics, &members),
            Self::RoundRobin => roundrobin::assign(topics, &members),
            Self::Sticky | Self::CooperativeSticky => sticky::assign(topics, &members),
        };
        let shares = evasion::evade(shares, &members);
        if self.is_cooperative() { sticky::held_back(shares, &members) } else { shares }
    }
}

/// The user data of Java's `cooperative-sticky` before KIP-792: a generation alone.
fn lone(user_data: &[u8]) -> Option<i32> {
    let generation = user_data.try_into().ok().map(i32::from_be_bytes);
    generation.filter(|generation| *generation >= 0)
}

/// No partition to anyone.
fn nothing(members: &[&Candidate]) -> Shares {
    members.iter().map(|member| (member.member_id.clone(), Partitions::new())).collect()
}

fn give(shares: &mut Shares, member: &Candidate, topic: &str, partition: PartitionId) {
    let share = shares.entry(member.member_id.clone()).or_default();
    share.entry(topic.to_owned()).or_default().insert(partition);
}

impl fmt::Display for Assignor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}
