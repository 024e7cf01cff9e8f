//! The member's thread: it feeds the core, and carries out what the core says.

use std::collections::BTreeSet;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Duration;

use tandem_member::Event;

use super::votes::{VotesError, Writer};
use super::ways::Ways;
use super::{AmongConfig, Input};
use crate::member::reporter::{Contact, Fenced, RENEWAL, Reporter};
use crate::neli::elections::among::{Config, Core, Peer};
use crate::time::Mono;

/// How long a member must not be connected to enough others until it says so.
const SILENCE: Duration = Duration::from_millis(500);

/// One member, with its connections and its votes.
pub(super) struct Driver {
    core: Box<dyn Core>,
    ways: Ways,
    /// None where the election has no votes.
    writer: Option<Writer>,
    reporter: Reporter,
    members: u16,
    /// To how many others it must be connected.
    needed: usize,
    /// The others to which it is connected.
    linked: BTreeSet<Peer>,
    /// Whether it is connected to enough of them, and whether a fault keeps it from them.
    contact: Contact,
    is_cut: bool,
    /// Whether it has known who leads each partition: it takes part from then on.
    joined: bool,
}

impl Driver {
    pub(super) fn new(
        config: &AmongConfig,
        (me, members): (Peer, u16),
        ways: Ways,
        writer: Option<Writer>,
        reporter: Reporter,
    ) -> Self {
        let now = Mono::now();
        let AmongConfig { election, width, session, heartbeat, .. } = *config;
        // Members of one place start at different instants, in different processes.
        let seed = now.0 ^ u64::from(std::process::id()).rotate_left(32);
        let config = Config { me, members, width, session, heartbeat, seed };
        let remembered = writer.as_ref().and_then(|writer| writer.remembered.as_ref());
        Self {
            core: election.begin(now, config, remembered),
            ways,
            writer,
            reporter,
            members,
            needed: if election.votes() { usize::from(members / 2) } else { 1 },
            linked: BTreeSet::new(),
            contact: Contact::new(now, SILENCE),
            is_cut: false,
            joined: false,
        }
    }

    /// Runs until the member has left.
    ///
    /// # Errors
    /// Its votes cannot be kept.
    pub(super) fn live(mut self, inputs: &Receiver<Input>) -> Result<(), VotesError> {
        let lived = self.follow(inputs);
        self.ways.end();
        lived
    }

    fn follow(&mut self, inputs: &Receiver<Input>) -> Result<(), VotesError> {
        self.core.handle_timeout(Mono::now());
        self.drain();
        while !self.core.is_gone() {
            let now = Mono::now();
            let due = self.core.poll_timeout().map_or(RENEWAL, |due| due.since(now));
            let input = inputs.recv_timeout(due.min(RENEWAL));
            let now = Mono::now();
            match input {
                Ok(Input::Heard(..)) if self.is_cut => {}
                Ok(Input::Heard(from, frame)) => self.core.handle_frame(now, from, frame),
                Ok(Input::Saved(number)) => self.core.handle_saved(now, number),
                // What it has voted it would not know in its next life.
                Ok(Input::Unsaved(error)) => return Err(error),
                Ok(Input::Linked(peer, true)) => drop(self.linked.insert(peer)),
                Ok(Input::Linked(peer, false)) => drop(self.linked.remove(&peer)),
                Ok(Input::Clock(skew)) => self.reporter.shift_clock(now, skew),
                Ok(Input::Cut(off)) => self.cut(now, off),
                Ok(Input::Leave) => {
                    self.core.handle_leave(now);
                    self.publish(now);
                    self.reporter.report(now, Event::Left);
                }
                Err(RecvTimeoutError::Timeout) => self.core.handle_timeout(now),
                Err(RecvTimeoutError::Disconnected) => break,
            }
            self.look_at_contact(now);
            self.drain();
        }
        Ok(())
    }

    /// Cuts the member off from the others, and says so at once, or the reverse: no message passes,
    /// and no connection ends.
    fn cut(&mut self, now: Mono, off: bool) {
        self.is_cut = off;
        if off {
            self.contact.lose(now, &self.reporter, || "it is cut off from the others".to_owned());
        }
    }

    /// Carries out the outputs of the core. A claim that ended is published before the others learn
    /// of it.
    fn drain(&mut self) {
        let now = Mono::now();
        let claims = self.publish(now);
        while let Some((to, message)) = self.core.poll_frame() {
            if !self.is_cut {
                self.ways.send(to, message);
            }
        }
        while let Some((number, votes)) = self.core.poll_save() {
            if let Some(writer) = &self.writer {
                writer.save(number, votes);
            }
        }
        self.reporter.renew(now, &claims);
    }

    fn publish(&mut self, now: Mono) -> Fenced {
        let core = &mut self.core;
        self.joined |= core.has_joined();
        let fence = |generation: u64| i64::try_from(generation).unwrap_or(i64::MAX);
        let claims: Fenced = core
            .claims()
            .into_iter()
            .map(|(claim, number)| (claim.partition, (claim, number.map(|it| fence(it.0)))))
            .collect();
        self.reporter.publish(now, &claims, self.joined, std::iter::from_fn(|| core.poll_event()));
        claims
    }

    /// Reports when the member is not connected to enough others any more, and when it is again.
    fn look_at_contact(&mut self, now: Mono) {
        let (linked, needed) = (self.linked.len(), self.needed);
        let others = self.members.saturating_sub(1);
        let why = || format!("it reaches {linked} of {others} other members");
        self.contact.look(now, linked >= needed && !self.is_cut, &self.reporter, why);
    }
}
