//! What all elections among the members of a group alone have in common. One of them is an
//! [`Elects`], the election of one partition at one member; [`Member`] drives those of all
//! partitions, and [`Among`] lists them. [`Steps`] are what the bounds of a plan consist of.
//!
//! ```text
//!   members --- handle_message ------> +--------+ ---- poll_message ---> members
//!   disk ------ handle_saved --------> | Member | ---- poll_save ------> disk
//!   clock ----- handle_timeout ------> |        | ---- poll_event -----> member
//!   caller ---- handle_leave --------> +--------+ ---- poll_timeout ---> clock
//! ```
//!
//! Feed it what happened, then drain every `poll_*` until it returns `None`. Each `handle_*` first
//! advances the time, so that a late timer changes nothing.

mod answers;
pub(super) mod claims;
mod core;
#[cfg(test)]
pub(super) mod counts;
mod list;
mod member;
mod message;
pub(super) mod order;
mod steps;
mod votes;

use std::collections::VecDeque;
use std::fmt;
use std::num::NonZeroU32;
use std::time::Duration;

pub use self::core::Core;
pub(super) use answers::Answers;
pub use list::Among;
pub use member::Member;
pub(super) use message::plain_words;
pub use message::{Frame, Generation, Message, Peer, Word};
pub use steps::{Means, Steps};
pub use votes::{Ballot, Votes};

use crate::Event;
use tandem_facts::ids::PartitionId;
use tandem_facts::observation::{Ending, Horizon};
use tandem_facts::time::Mono;

/// The part of a session that a leader does not count, because two clocks may differ in their rate:
/// a hundredth. A clock that is slewed runs wrong by a two-thousandth.
pub const RATE: u32 = 100;

/// The configuration of a member; fixed for its life.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Config {
    /// Its place among the members.
    pub me: Peer,
    /// How many members there are: all vote.
    pub members: u16,
    /// The number of partitions, each with an election of its own.
    pub width: NonZeroU32,
    /// How long a member may be silent until others act; with a lease, its length.
    pub session: Duration,
    /// How often a leader, or a member that is watched, gives a sign of life.
    pub heartbeat: Duration,
    /// Draws the small differences between time-outs.
    pub seed: u64,
}

/// How much later than the one before it in order a member stands: with this heartbeat.
#[must_use]
pub fn step(heartbeat: Duration) -> Duration {
    heartbeat / 2
}

/// The time that a leader counts of a session, or of a lease.
pub(super) fn lease(session: Duration) -> Duration {
    session - session / RATE
}

impl Config {
    pub(super) fn step(&self) -> Duration {
        step(self.heartbeat)
    }

    /// How many members are a majority.
    pub(super) fn majority(&self) -> usize {
        usize::from(self.members / 2) + 1
    }

    /// All members but this one.
    pub(super) fn others(&self) -> impl Iterator<Item = Peer> + use<> {
        let me = self.me;
        (0..self.members).map(Peer).filter(move |peer| *peer != me)
    }
}

/// The election of one partition at one member.
pub trait Elects: fmt::Debug + Sized {
    /// What members say to each other.
    type Word: Word;

    /// Whether a majority must vote, and votes must be on the disk before they count.
    const VOTES: bool;

    /// Whether no two members ever lead a partition.
    const EXCLUSIVE: bool;

    /// Whether a member that comes back takes over from the leader, which leads on until it hears
    /// of that.
    const TAKES_OVER: bool = !Self::EXCLUSIVE;

    /// By what it elects, as in "by votes".
    const BY: &'static str;

    /// What ends a claim, after its time.
    const ENDS: &'static str;

    /// How long a claim outlives the last sign of life that counts.
    #[must_use]
    fn threshold(session: Duration) -> Duration {
        if Self::EXCLUSIVE { lease(session) } else { session }
    }

    /// How long its steps take at most.
    fn steps(means: &Means) -> Steps;

    /// One that begins at `now`; that of a later life must not vote before `silent`.
    fn begin(
        now: Mono,
        silent: Mono,
        config: &Config,
        partition: PartitionId,
        ballot: Ballot,
    ) -> Self;

    /// What it must remember over its lives.
    fn ballot(&self) -> Ballot {
        Ballot::default()
    }

    /// Whether it knows who leads.
    fn is_led(&self) -> bool;

    /// When it has something to do next.
    fn due(&self) -> Mono;

    /// Its claim.
    fn claim(&self) -> Option<Horizon>;

    /// A number that is greater than that of every earlier claim of any member. None where no
    /// majority must agree: both sides of a partition would take the same one.
    fn fence(&self) -> Option<Generation> {
        None
    }

    /// Ends the claim that is over.
    fn expire(&mut self, turn: &mut Turn<'_, Self::Word>);

    /// Does what is due.
    fn advance(&mut self, turn: &mut Turn<'_, Self::Word>);

    /// A message of another member.
    fn hear(&mut self, turn: &mut Turn<'_, Self::Word>, from: Peer, message: Message<Self::Word>);

    /// Its vote for another in this generation is on the disk.
    fn vote_is_saved(&mut self, generation: Generation) {
        let _ = generation;
    }

    /// Its vote for itself is on the disk.
    fn voted_for_itself(&mut self, turn: &mut Turn<'_, Self::Word>, generation: Generation) {
        let _ = (turn, generation);
    }

    /// The member leaves.
    fn resign(&mut self, turn: &mut Turn<'_, Self::Word>);
}

/// What waits until the votes are on the disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Held<W> {
    /// A vote for another.
    Vote(Peer, Message<W>),
    /// The member's vote for itself.
    Own(PartitionId, Generation),
}

/// What the elections want done.
#[derive(Debug, Clone)]
pub(super) struct Outbox<W> {
    messages: VecDeque<(Peer, Message<W>)>,
    events: VecDeque<Event>,
    /// Waits for the next save.
    pub(super) held: Vec<Held<W>>,
    /// Whether the votes differ from those that were saved last.
    pub(super) changed: bool,
}

/// What an election is handed.
#[derive(Debug)]
pub struct Turn<'a, W> {
    pub(super) now: Mono,
    pub(super) config: &'a Config,
    pub(super) out: &'a mut Outbox<W>,
}

impl<W> Outbox<W> {
    pub(super) fn send(&mut self, to: Peer, message: Message<W>) {
        self.messages.push_back((to, message));
    }

    pub(super) fn acquired(&mut self, claim: Horizon, from: Mono) {
        self.events.push_back(Event::Acquired { claim, from, stands_in_for: None });
    }

    pub(super) fn ended(&mut self, claim: Horizon, why: Ending) {
        self.events.push_back(Event::Ended { claim, why });
    }
}

impl<W: Word> Turn<'_, W> {
    /// Sends a message to all other members.
    pub(super) fn broadcast(&mut self, message: Message<W>) {
        for peer in self.config.others() {
            self.out.send(peer, message);
        }
    }
}
