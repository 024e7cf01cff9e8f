//! A member: the elections of all its partitions, and what they have in common.

use std::collections::{BTreeMap, VecDeque};

use super::{Ballot, Config, Elects, Generation, Held, Message, Outbox, Peer, Turn, Votes};
use crate::Event;
use tandem_facts::ids::PartitionId;
use tandem_facts::observation::Horizon;
use tandem_facts::time::Mono;

/// One member of a group that elects by `E`.
#[derive(Debug, Clone)]
pub struct Member<E: Elects> {
    config: Config,
    instances: BTreeMap<PartitionId, E>,
    /// Whether its file is there. Before, it says nothing: its next life would not know of it.
    begun: bool,
    out: Outbox<E::Word>,
    /// The number of the last save, and what waits for it.
    last: u64,
    saving: Option<(u64, Vec<Held<E::Word>>)>,
    gone: bool,
}

impl<E: Elects> Member<E> {
    /// A member that begins at `now`, with the votes of its earlier lives; none in its first.
    #[must_use]
    pub fn new(now: Mono, config: Config, remembered: Option<&Votes>) -> Self {
        let ballots = remembered.map(|votes| votes.0.as_slice()).unwrap_or_default();
        let mut ballots = ballots.iter().copied();
        let silent = remembered.map_or(now, |_| now + config.session);
        let instances = (0..config.width.get()).map(PartitionId).map(|partition| {
            let ballot = ballots.next().unwrap_or_default();
            (partition, E::begin(now, silent, &config, partition, ballot))
        });
        let begun = !E::VOTES || remembered.is_some();
        Self {
            instances: instances.collect(),
            begun,
            out: Outbox {
                messages: VecDeque::new(),
                events: VecDeque::new(),
                held: Vec::new(),
                changed: !begun,
            },
            last: 0,
            saving: None,
            gone: false,
            config,
        }
    }

    /// Advances the time.
    pub fn handle_timeout(&mut self, now: Mono) {
        let turn = &mut Turn { now, config: &self.config, out: &mut self.out };
        for instance in self.instances.values_mut() {
            instance.expire(turn);
        }
        if self.gone || !self.begun {
            return;
        }
        for instance in self.instances.values_mut() {
            instance.advance(turn);
        }
    }

    /// A message of another member.
    pub fn handle_message(&mut self, now: Mono, from: Peer, message: Message<E::Word>) {
        self.handle_timeout(now);
        let known = from.0 < self.config.members && from != self.config.me;
        if self.gone || !self.begun || !known {
            return;
        }
        let Some(instance) = self.instances.get_mut(&message.partition) else { return };
        let turn = &mut Turn { now, config: &self.config, out: &mut self.out };
        instance.hear(turn, from, message);
        self.handle_timeout(now);
    }

    /// The votes of the save with this number are on the disk.
    pub fn handle_saved(&mut self, now: Mono, number: u64) {
        self.handle_timeout(now);
        let Some((_, held)) = self.saving.take_if(|(saving, _)| *saving == number) else { return };
        self.begun = true;
        if self.gone {
            return;
        }
        for held in held {
            match held {
                Held::Vote(to, vote) => {
                    if let Some(instance) = self.instances.get_mut(&vote.partition) {
                        instance.vote_is_saved(vote.generation);
                    }
                    self.out.send(to, vote);
                }
                Held::Own(partition, generation) => {
                    if let Some(instance) = self.instances.get_mut(&partition) {
                        let turn = &mut Turn { now, config: &self.config, out: &mut self.out };
                        instance.voted_for_itself(turn, generation);
                    }
                }
            }
        }
    }

    /// The member leaves: it ends its claims, and tells the others that they need not wait.
    pub fn handle_leave(&mut self, now: Mono) {
        self.handle_timeout(now);
        let turn = &mut Turn { now, config: &self.config, out: &mut self.out };
        for instance in self.instances.values_mut() {
            instance.resign(turn);
        }
        self.gone = true;
    }

    /// Whether the member has left.
    #[must_use]
    pub const fn is_gone(&self) -> bool {
        self.gone
    }

    /// Whether the member knows who leads each partition.
    #[must_use]
    pub fn has_joined(&self) -> bool {
        self.instances.values().all(E::is_led)
    }

    /// When to call [`handle_timeout`](Self::handle_timeout) next, if ever.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<Mono> {
        let due = self.instances.values().map(E::due).min();
        due.filter(|_| !self.gone && self.begun)
    }

    /// The next message, and to whom it goes.
    pub fn poll_message(&mut self) -> Option<(Peer, Message<E::Word>)> {
        self.out.messages.pop_front()
    }

    /// The votes to put on the disk, and the number of this save. There is no further one before it
    /// is reported as saved.
    pub fn poll_save(&mut self) -> Option<(u64, Votes)> {
        if self.saving.is_some() || !std::mem::take(&mut self.out.changed) {
            return None;
        }
        self.last = self.last.saturating_add(1);
        self.saving = Some((self.last, std::mem::take(&mut self.out.held)));
        let ballots: Vec<Ballot> = self.instances.values().map(E::ballot).collect();
        Some((self.last, Votes(ballots)))
    }

    /// The next change of leadership.
    pub fn poll_event(&mut self) -> Option<Event> {
        self.out.events.pop_front()
    }

    /// The claims with their ends, by partition.
    pub fn claims(&self) -> impl Iterator<Item = Horizon> {
        self.instances.values().filter_map(E::claim)
    }

    /// The fence of the claim on a partition: greater than that of every earlier claim of any other
    /// member. None where members have nothing on which to found one.
    #[must_use]
    pub fn fence(&self, partition: PartitionId) -> Option<Generation> {
        let instance = self.instances.get(&partition)?;
        instance.claim().and_then(|_| instance.fence())
    }
}
