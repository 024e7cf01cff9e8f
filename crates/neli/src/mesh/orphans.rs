//! The partitions whose owner is dead or suspected, and who stands in for it.

use std::collections::{BTreeMap, BTreeSet};

use tandem_facts::ids::PartitionId;
use tandem_facts::time::Mono;

use super::{Cause, Notice, Order, Process, Share, StandIn};

/// A partition that lost its owner.
#[derive(Debug)]
struct Orphan {
    owner: Process,
    /// The generation in which the owner was given it. It stays, however often a stand-in dies.
    generation: i32,
    cause: Cause,
    /// Until when it is worth a stand-in: the group has a new owner by then.
    until: Mono,
    /// Until when this member stands in, if it does.
    granted: Option<Mono>,
}

/// At most one entry a partition.
#[derive(Debug, Default)]
pub(super) struct Orphans(BTreeMap<PartitionId, Orphan>);

impl Orphans {
    /// The share of `owner` loses it. What was given to somebody in a later generation stays.
    pub(super) fn add(&mut self, owner: &Process, share: &Share, cause: Cause, until: Mono) {
        for &partition in &share.partitions {
            let known = self.0.get_mut(&partition);
            match known {
                Some(known) if known.generation > share.generation => {}
                Some(known) if known.owner == *owner => {
                    known.generation = share.generation;
                    known.cause = cause;
                    known.until = known.until.max(until);
                }
                Some(_) | None => {
                    let (owner, generation) = (owner.clone(), share.generation);
                    let orphan = Orphan { owner, generation, cause, until, granted: None };
                    self.0.insert(partition, orphan);
                }
            }
        }
    }

    /// What the dead owned, for a member that may not know of it.
    pub(super) fn notices(&self) -> Vec<Notice> {
        let mut owned: BTreeMap<(&Process, i32), BTreeSet<PartitionId>> = BTreeMap::new();
        for (&partition, orphan) in self.0.iter().filter(|(_, it)| it.cause == Cause::Death) {
            owned.entry((&orphan.owner, orphan.generation)).or_default().insert(partition);
        }
        let notice = |((dead, generation), partitions): ((&Process, i32), _)| Notice {
            dead: dead.clone(),
            share: Some(Share { generation, partitions }),
        };
        owned.into_iter().map(notice).collect()
    }

    /// Another death: the group now waits for that session, too.
    pub(super) fn prolong(&mut self, until: Mono) {
        for orphan in self.0.values_mut() {
            orphan.until = orphan.until.max(until);
        }
    }

    /// Newer owners need no stand-in; `is_led` says whether one leads a partition since a
    /// generation. The claim of a stand-in ends with the same statement, in
    /// [`Neli`](crate::Neli).
    pub(super) fn settle(&mut self, is_led: impl Fn(i32, PartitionId) -> bool) {
        self.0.retain(|&partition, orphan| !is_led(orphan.generation, partition));
    }

    /// `owner` lives: it needs no stand-in, at most for another cause than `cause`.
    pub(super) fn release(&mut self, owner: &Process, cause: Option<Cause>) -> Vec<Order> {
        let mut ended = Vec::new();
        self.0.retain(|&partition, orphan| {
            let stays = orphan.owner != *owner || cause.is_some_and(|it| it != orphan.cause);
            if !stays && orphan.granted.is_some() {
                ended.push(Order::End { partition });
            }
            stays
        });
        ended
    }

    pub(super) fn expire(&mut self, now: Mono) {
        self.0.retain(|_, orphan| orphan.until > now);
    }

    pub(super) fn next(&self) -> Option<Mono> {
        self.0.values().map(|orphan| orphan.until).min()
    }

    pub(super) fn clear(&mut self) {
        self.0.clear();
    }

    /// The orphans for which this member is to stand in, or for longer; `is_mine` says whether it
    /// is the one for a partition of a generation.
    pub(super) fn grant(&mut self, is_mine: impl Fn(PartitionId, i32) -> bool) -> Vec<Order> {
        let mut orders = Vec::new();
        for (&partition, orphan) in &mut self.0 {
            let until = orphan.until;
            if orphan.granted.is_none_or(|granted| granted < until)
                && is_mine(partition, orphan.generation)
            {
                orphan.granted = Some(until);
                let (of, generation, cause) =
                    (orphan.owner.life.clone(), orphan.generation, orphan.cause);
                orders.push(Order::Stand(StandIn { partition, generation, until, of, cause }));
            }
        }
        orders
    }
}
