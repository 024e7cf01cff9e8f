//! Lives of members on hosts whose clocks are hours apart, one after the other: what brokers and
//! hosts know of the fences of their group, and lose.

use std::num::NonZeroU32;
use std::time::Duration;

use tandem::ids::PartitionId;
use tandem::neli::membership::{
    Assignor, Beaten, Broker, ByPartition, COUNT_BITS, ConsumerConfig, ConsumerMember, GroupConfig,
    GroupEvent, GroupMember, Joined, JoinedMember, Partitions, Request, Response, TopicPartition,
    encode_assignment, fences_above,
};
use tandem::time::Mono;

pub(super) const K: PartitionId = PartitionId(0);
const S: Duration = Duration::from_secs(1);
pub(super) const HOUR_S: i64 = 3_600;
/// What clocks say that are right, in seconds.
pub(super) const NOON_S: i64 = 1_800_000_000;
/// The most questions and answers of one life.
pub(super) const ENOUGH: usize = 50;

pub(super) fn config(wall_s: i64, learns: bool) -> GroupConfig {
    GroupConfig {
        group: "g".parse().unwrap(),
        topic: "t".parse().unwrap(),
        width: NonZeroU32::MIN,
        instance: None,
        assignors: Assignor::Range.into(),
        session: S,
        heartbeat: S / 10,
        rebalance: 3 * S,
        renews_id: true,
        commit: Some(S / 5),
        learns: learns.then_some(S),
        wall_ms: wall_s * 1_000,
        gives_way: None,
        hold: Duration::ZERO,
        backoff: S / 50,
        backoff_max: S / 5,
        seed: 7,
    }
}

/// The first fence of an epoch.
pub(super) const fn first(epoch: i64) -> i64 {
    epoch << COUNT_BITS
}

/// A host with members of the group.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Host {
    /// How far its clock is ahead, in seconds.
    pub(super) ahead_s: i64,
    /// The highest fence on its disk.
    pub(super) kept: i64,
}

impl Host {
    pub(super) const fn ahead(hours: i64) -> Self {
        Self { ahead_s: hours * HOUR_S, kept: 0 }
    }
}

/// What brokers and hosts know, and the mistakes that are planted.
#[derive(Debug, Clone)]
pub(super) struct Known {
    /// Offsets that the group has committed under its topic.
    pub(super) of_topic: ByPartition,
    /// The same under the topic that no one deletes.
    pub(super) outliving: ByPartition,
    pub(super) hosts: Vec<Host>,
    /// Whether fences are committed there as well.
    pub(super) commits_twice: bool,
    /// Whether members read fences that they do not need.
    pub(super) learns: bool,
    /// Whether hosts have a disk.
    pub(super) keeps: bool,
}

impl Known {
    pub(super) fn new(hosts: impl IntoIterator<Item = Host>) -> Self {
        Self {
            of_topic: ByPartition::new(),
            outliving: ByPartition::new(),
            hosts: hosts.into_iter().collect(),
            commits_twice: true,
            learns: true,
            keeps: true,
        }
    }

    /// The topic is deleted, and another one is created.
    pub(super) fn delete_topic(&mut self) {
        self.of_topic.clear();
    }

    /// The brokers lose all their data.
    pub(super) fn lose_all(&mut self) {
        self.of_topic.clear();
        self.outliving.clear();
    }

    /// What a group answers that has this member alone, and gives it the partition or nothing.
    pub(super) fn answer(&mut self, request: &Request, given: bool) -> Response {
        let share = given.then(|| ("t".to_owned(), [K].into()));
        match request {
            Request::FindCoordinator => {
                Response::Coordinator(Broker { id: 1, host: "h".to_owned(), port: 9092 })
            }
            Request::Join(join) => Response::Joined(Joined {
                member_id: "m".to_owned(),
                generation: 1,
                protocol: "range".to_owned(),
                leader: "m".to_owned(),
                skip_assignment: false,
                members: vec![JoinedMember {
                    member_id: "m".to_owned(),
                    instance_id: None,
                    metadata: join.protocols[0].1.clone(),
                }],
            }),
            Request::Sync(_) => Response::Synced(encode_assignment(&Partitions::from_iter(share))),
            Request::Offsets { .. } => {
                let mut last = self.outliving.clone();
                for (partition, fence) in &self.of_topic {
                    let known = last.entry(*partition).or_default();
                    *known = (*fence).max(*known);
                }
                Response::Offsets(last)
            }
            Request::Commit { offsets, .. } => {
                self.of_topic.extend(offsets.iter().copied());
                if self.commits_twice {
                    self.outliving.extend(offsets.iter().copied());
                }
                Response::Done
            }
            Request::Beat(_) => Response::Beaten(Beaten {
                epoch: 1,
                interval: S / 10,
                assignment: Some(
                    given
                        .then_some(TopicPartition { topic: 7, partition: K })
                        .into_iter()
                        .collect(),
                ),
            }),
            Request::Session => Response::Session(S),
            Request::Members => Response::Members(1),
            Request::Heartbeat { .. } | Request::Leaders { .. } | Request::Leave { .. } => {
                Response::Done
            }
        }
    }
}

/// A life on a host, which is given the partition or nothing: the fence that it has in the end.
macro_rules! life {
    ($name:ident, $core:ty, $new:expr) => {
        fn $name(known: &mut Known, host: usize, given: bool) -> Option<i64> {
            let begin: fn(GroupConfig) -> $core = $new;
            let mut core = begin(config(NOON_S + known.hosts[host].ahead_s, known.learns));
            if known.keeps {
                core = core.keeping_fences();
            }
            for _ in 0..ENOUGH {
                while let Some(event) = core.poll_event() {
                    assert!(!matches!(event, GroupEvent::Failed(_)), "{event:?}");
                }
                if let Some(fence) = core.proof().and_then(|_| core.fence(K)) {
                    return Some(fence);
                }
                if let Some((id, fences)) = core.poll_fences() {
                    let kept = fences_above(known.hosts[host].kept, &fences);
                    known.hosts[host].kept = kept.values().copied().max().unwrap();
                    core.handle_fences(Mono::ZERO, id, &kept);
                }
                if let Some(fence) = core.poll_learned() {
                    known.hosts[host].kept = known.hosts[host].kept.max(fence);
                }
                if let Some(outgoing) = core.poll_request(Mono::ZERO) {
                    let answer = known.answer(&outgoing.request, given);
                    core.handle_response(Mono::ZERO, outgoing.id, answer);
                }
            }
            assert!(!given, "no proof and no fence");
            None
        }
    };
}

life!(classic, GroupMember, |config| GroupMember::new(Mono::ZERO, config));
life!(consumer, ConsumerMember, |group| {
    ConsumerMember::new(Mono::ZERO, ConsumerConfig { group, id: "m".to_owned() })
});

pub(super) type Live = fn(&mut Known, usize, bool) -> Option<i64>;
pub(super) const BOTH: [(&str, Live); 2] = [("classic", classic), ("consumer", consumer)];
