//! Inquests: is the dead member dead? A link also ends where a network breaks between two that
//! live, and then the ledger knows better.
//!
//! A member that takes another for dead asks it so in its statements, with a number; one that reads
//! such a question answers it in its own. That answer was written after the question, so it
//! revives, where any other statement of the dead may just be late. A death that was refuted so, or
//! by a new link, is not believed again for [`AGAIN`] because others say so, and no member is
//! dialed anew before that: links that break again and again cost one stand-in a second.

use std::collections::BTreeMap;
use std::time::Duration;

use super::peer::State;
use super::{Mesh, Process};
use crate::Statement;
use crate::bytes::{Reader, Writer};
use tandem_facts::time::Mono;

/// How long a refuted death is not believed again, and the shortest time between two dials after
/// false deaths.
pub(super) const AGAIN: Duration = Duration::from_secs(1);
/// The most questions, and the most answers, of one statement.
const ENTRIES_MOST: usize = 64;

/// What a member asks those that it takes for dead, and answers those that take it for dead.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct Inquest {
    /// Whom it takes for dead, with the number of the question.
    pub asks: BTreeMap<Process, u32>,
    /// Who takes it for dead, with the number of the last question that it read.
    pub answers: BTreeMap<Process, u32>,
}

impl Inquest {
    /// Two lists (32-bit lengths) of a life, a process (64 bits) and a number (32 bits).
    pub(crate) fn encode(&self, to: &mut Writer) {
        for list in [&self.asks, &self.answers] {
            to.length(list.len().min(ENTRIES_MOST));
            for (process, number) in list.iter().take(ENTRIES_MOST) {
                to.string(&process.life.to_string());
                to.u64(process.number);
                to.i32(number.cast_signed());
            }
        }
    }

    /// Statements of earlier versions end before.
    pub(crate) fn decode(from: &mut Reader<'_>) -> Option<Self> {
        if from.0.is_empty() {
            return Some(Self::default());
        }
        let mut list = || {
            let length = from.length().filter(|length| *length <= ENTRIES_MOST)?;
            let entry = |_| {
                let life = from.string()?.try_into().ok()?;
                let process = Process { life, number: from.u64()? };
                Some((process, from.i32()?.cast_unsigned()))
            };
            (0..length).map(entry).collect::<Option<BTreeMap<_, _>>>()
        };
        Some(Self { asks: list()?, answers: list()? })
    }

    /// Whether it asks and answers nothing.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.asks.is_empty() && self.answers.is_empty()
    }
}

impl Mesh {
    /// Opens an inquest on a member that is taken for dead.
    pub(super) fn ask(&mut self, dead: &Process) {
        self.questions = self.questions.wrapping_add(1);
        self.inquest.answers.remove(dead);
        self.inquest.asks.insert(dead.clone(), self.questions);
    }

    /// What another member says on the ledger of inquests.
    pub(super) fn heed(&mut self, now: Mono, statement: &Statement) {
        let author = Process::of(statement);
        let Self { config, inquest, .. } = self;
        match statement.inquest.asks.get(&config.me) {
            Some(&question) if inquest.answers.len() < ENTRIES_MOST => {
                inquest.answers.insert(author.clone(), question);
            }
            Some(_) => {}
            None => drop(inquest.answers.remove(&author)),
        }
        let question = inquest.asks.get(&author);
        if question.is_some() && question == statement.inquest.answers.get(&config.me) {
            self.lives(now, &author);
            self.redial(now, &author);
        }
    }

    /// A member lives, whatever was thought of it: nothing that it owns is an orphan.
    pub(super) fn lives(&mut self, now: Mono, life: &Process) {
        self.inquest.asks.remove(life);
        if let Some(peer) = self.peers.get_mut(life) {
            if let State::Dead(_) = peer.state {
                peer.wronged = Some(now);
            }
            peer.known = now;
            peer.state = State::Here;
        }
        self.orders.extend(self.orphans.release(life, None));
    }

    /// Forgets inquests on the forgotten.
    pub(super) fn close_inquests(&mut self) {
        let Self { inquest, peers, .. } = self;
        let is_dead =
            |life: &Process| matches!(peers.get(life)?.state, State::Dead(_)).then_some(());
        inquest.asks.retain(|life, _| is_dead(life).is_some());
        inquest.answers.retain(|life, _| peers.contains_key(life));
    }

    /// The next change of what this member asks and answers on the ledger.
    #[must_use]
    pub fn poll_inquest(&mut self) -> Option<Inquest> {
        if self.inquest == self.stated {
            return None;
        }
        self.stated.clone_from(&self.inquest);
        Some(self.inquest.clone())
    }
}
