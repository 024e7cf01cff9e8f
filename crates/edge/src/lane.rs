//! One way through a connection: what has arrived and may not, or cannot yet, go on. Pure: time,
//! chance and the rules are arguments.

use std::collections::VecDeque;

use bytes::{Bytes, BytesMut};

use super::error::Parting;
use super::head::Head;
use super::limits::{ANSWERED_MAX, HELD_MAX, QUEUED_MAX};
use super::pace::Pace;
use super::rules::{Active, Fate, Way, fate, is_slow, slowness};
use tandem_facts::time::Mono;

/// A part of a request or an answer.
#[derive(Debug)]
struct Piece {
    bytes: Bytes,
    /// Of whom it is the first part.
    head: Option<Head>,
    /// Whether nothing of it follows.
    last: bool,
    /// Not before this.
    due: Mono,
}

/// What is done with the request or answer whose parts come next.
#[derive(Debug)]
enum Doing {
    /// None has begun.
    Between,
    Passing(Head),
    Losing,
    Holding,
    Answering(Head, i16, BytesMut),
}

/// What comes next.
#[derive(Debug)]
pub(super) enum Step {
    /// Nothing, until something arrives, time passes or rules change.
    Wait,
    /// This request or answer begins to pass.
    Begin(Head),
    /// These bytes may be written.
    Write,
    /// This request, its length included, is to be answered here with this code.
    Answer(Head, i16, Bytes),
}

/// One way.
#[derive(Debug)]
pub(super) struct Lane {
    way: Way,
    queue: VecDeque<Piece>,
    queued: usize,
    held: VecDeque<(Head, BytesMut)>,
    held_bytes: usize,
    doing: Doing,
    pace: Pace,
}

impl Lane {
    pub(super) fn new(way: Way) -> Self {
        let (queue, held) = (VecDeque::new(), VecDeque::new());
        let (doing, pace) = (Doing::Between, Pace::default());
        Self { way, queue, queued: 0, held, held_bytes: 0, doing, pace }
    }

    /// Whether no more should be read for now.
    pub(super) const fn is_full(&self) -> bool {
        self.queued >= QUEUED_MAX
    }

    /// Whether everything has gone on.
    pub(super) fn is_empty(&self) -> bool {
        self.queue.is_empty() && self.held.is_empty()
    }

    /// The bytes that are here.
    pub(super) fn buffered(&self) -> usize {
        let answering = match &self.doing {
            Doing::Answering(_, _, bytes) => bytes.len(),
            Doing::Between | Doing::Passing(_) | Doing::Losing | Doing::Holding => 0,
        };
        self.queued + self.held_bytes + answering
    }

    /// The number of the request of which a part has passed and a part has not.
    pub(super) const fn passing(&self) -> Option<i16> {
        match &self.doing {
            Doing::Passing(head) => Some(head.api),
            Doing::Between | Doing::Losing | Doing::Holding | Doing::Answering(..) => None,
        }
    }

    /// Takes a part of a request or answer; `first` where it is the first one.
    pub(super) fn push(
        &mut self,
        (now, rules): (Mono, &[Active]),
        (api, first): (i16, Option<Head>),
        (mut bytes, last): (Bytes, bool),
        chance: &mut dyn FnMut(u64) -> u64,
    ) {
        self.queued += bytes.len();
        let slow = slowness(rules, self.way, api);
        let mut head = first;
        loop {
            let most = Pace::piece(slow).min(bytes.len());
            let part = bytes.split_to(most);
            let due = self.pace.due(now, part.len(), slow, chance);
            let last = last && bytes.is_empty();
            self.queue.push_back(Piece { bytes: part, head: head.take(), last, due });
            if bytes.is_empty() {
                return;
            }
        }
    }

    /// When something may go on that may not now.
    pub(super) fn poll_timeout(&self) -> Option<Mono> {
        self.queue.front().map(|piece| piece.due)
    }

    /// What may go on; `Write` until the front was taken with [`wrote`](Self::wrote).
    ///
    /// # Errors
    /// Where a rule resets the connection, or too much would be held.
    pub(super) fn step(&mut self, now: Mono, rules: &[Active]) -> Result<Step, Parting> {
        loop {
            if matches!(self.doing, Doing::Between) {
                self.release(now, rules);
            }
            // What was slowed by a rule that is gone is late for nothing.
            let due = |piece: &Piece| piece.due <= now || !is_slow(rules, self.way);
            let Some(piece) = self.queue.front().filter(|piece| due(piece)) else {
                return Ok(Step::Wait);
            };
            match (&mut self.doing, piece.head) {
                (Doing::Between, None) => return Err(Parting::Nonsense),
                (Doing::Between, Some(head)) => {
                    if let Some(begin) = self.begin(head, rules)? {
                        return Ok(begin);
                    }
                }
                (Doing::Passing(_), _) => return Ok(Step::Write),
                (Doing::Losing | Doing::Holding | Doing::Answering(..), _) => {
                    if let Some(answer) = self.take()? {
                        return Ok(answer);
                    }
                }
            }
        }
    }

    /// Decides what is done with the request or answer that comes next.
    fn begin(&mut self, head: Head, rules: &[Active]) -> Result<Option<Step>, Parting> {
        self.doing = match fate(rules, self.way, head.api) {
            Fate::Pass => {
                self.doing = Doing::Passing(head);
                return Ok(Some(Step::Begin(head)));
            }
            // A client that expects no answer must not get one.
            Fate::Answer(_) if head.silent => Doing::Losing,
            Fate::Answer(code) => Doing::Answering(head, code, BytesMut::new()),
            Fate::Lose => Doing::Losing,
            Fate::Hold => {
                self.held.push_back((head, BytesMut::new()));
                Doing::Holding
            }
            Fate::Reset => return Err(Parting::Reset),
        };
        Ok(None)
    }

    /// Takes the front away from what goes on.
    fn take(&mut self) -> Result<Option<Step>, Parting> {
        let Some(piece) = self.queue.pop_front() else { return Ok(None) };
        self.queued = self.queued.saturating_sub(piece.bytes.len());
        match &mut self.doing {
            Doing::Holding => {
                self.held_bytes += piece.bytes.len();
                if self.held_bytes > HELD_MAX {
                    return Err(Parting::Held);
                }
                if let Some((_, bytes)) = self.held.back_mut() {
                    bytes.extend(piece.bytes);
                }
            }
            Doing::Answering(_, _, bytes) if bytes.len() > ANSWERED_MAX => {
                return Err(Parting::Held);
            }
            Doing::Answering(_, _, bytes) => bytes.extend(piece.bytes),
            Doing::Between | Doing::Passing(_) | Doing::Losing => {}
        }
        if !piece.last {
            return Ok(None);
        }
        match std::mem::replace(&mut self.doing, Doing::Between) {
            Doing::Answering(head, code, bytes) => {
                Ok(Some(Step::Answer(head, code, bytes.freeze())))
            }
            Doing::Between | Doing::Passing(_) | Doing::Losing | Doing::Holding => Ok(None),
        }
    }

    /// Puts the first that is held and need not be any more before all others: it came earlier.
    fn release(&mut self, now: Mono, rules: &[Active]) {
        let free = |head: &Head| fate(rules, self.way, head.api) != Fate::Hold;
        let Some(at) = self.held.iter().position(|(head, _)| free(head)) else { return };
        let Some((head, bytes)) = self.held.remove(at) else { return };
        self.held_bytes = self.held_bytes.saturating_sub(bytes.len());
        self.queued += bytes.len();
        let bytes = bytes.freeze();
        self.queue.push_front(Piece { bytes, head: Some(head), last: true, due: now });
    }

    /// The bytes that may be written.
    pub(super) fn front(&self) -> &[u8] {
        self.queue.front().map_or(&[], |piece| &piece.bytes)
    }

    /// So many of them were; what is thereby complete.
    pub(super) fn wrote(&mut self, bytes: usize) -> Option<Head> {
        self.queued = self.queued.saturating_sub(bytes);
        let piece = self.queue.front_mut()?;
        drop(piece.bytes.split_to(bytes.min(piece.bytes.len())));
        // What is left of it does not begin anything.
        piece.head = None;
        if !piece.bytes.is_empty() {
            return None;
        }
        let last = piece.last;
        self.queue.pop_front();
        match &self.doing {
            Doing::Passing(head) if last => {
                let head = *head;
                self.doing = Doing::Between;
                Some(head)
            }
            Doing::Passing(_)
            | Doing::Between
            | Doing::Losing
            | Doing::Holding
            | Doing::Answering(..) => None,
        }
    }

    /// Loses everything; how much that was.
    pub(super) fn clear(&mut self) -> usize {
        let bytes = self.buffered();
        *self = Self::new(self.way);
        bytes
    }
}
