//! One direction of a connection: a queue of bytes that have arrived and may not, or cannot yet, be
//! written. Pure: time, chance and the rules are arguments.

use std::collections::VecDeque;

use bytes::{Bytes, BytesMut};

use super::error::CloseReason;
use super::head::Head;
use super::limits::{ANSWERED_MAX, HELD_MAX, QUEUED_MAX};
use super::pace::Pace;
use super::rules::{Active, Fate, Way, fate, is_slow, slowness};
use tandem_facts::time::Mono;

/// A part of a request or an answer.
#[derive(Debug)]
struct Piece {
    bytes: Bytes,
    /// The head of the request or answer, if this is its first part.
    head: Option<Head>,
    /// Whether this is the last part.
    last: bool,
    /// The earliest instant at which the part may be written.
    due: Mono,
}

/// What happens to the request or answer whose parts come next.
#[derive(Debug)]
enum Doing {
    /// No request or answer has begun.
    Between,
    Passing(Head),
    Losing,
    Holding,
    Answering(Head, i16, BytesMut),
}

/// The next step of a lane.
#[derive(Debug)]
pub(super) enum Step {
    /// Wait until bytes arrive, time passes or rules change.
    Wait,
    /// This request or answer begins to pass.
    Begin(Head),
    /// The front of the lane may be written.
    Write,
    /// Answer this request, length prefix included, with this error code in the broker's place.
    Answer(Head, i16, Bytes),
}

/// One direction of a connection.
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

    /// Whether to stop reading for now.
    pub(super) const fn is_full(&self) -> bool {
        self.queued >= QUEUED_MAX
    }

    /// Whether all bytes have been written.
    pub(super) fn is_empty(&self) -> bool {
        self.queue.is_empty() && self.held.is_empty()
    }

    /// The number of bytes in the lane.
    pub(super) fn buffered(&self) -> usize {
        let answering = match &self.doing {
            Doing::Answering(_, _, bytes) => bytes.len(),
            Doing::Between | Doing::Passing(_) | Doing::Losing | Doing::Holding => 0,
        };
        self.queued + self.held_bytes + answering
    }

    /// The API key of the request of which a part has passed and a part has not.
    pub(super) const fn passing(&self) -> Option<i16> {
        match &self.doing {
            Doing::Passing(head) => Some(head.api),
            Doing::Between | Doing::Losing | Doing::Holding | Doing::Answering(..) => None,
        }
    }

    /// Appends a part of a request or answer; `first` holds the head of the first part.
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

    /// The next instant at which more may be written.
    pub(super) fn poll_timeout(&self) -> Option<Mono> {
        self.queue.front().map(|piece| piece.due)
    }

    /// The next step; `Write` until [`wrote`](Self::wrote) has removed the front.
    ///
    /// # Errors
    /// A rule resets the connection, or the lane would hold too much.
    pub(super) fn step(&mut self, now: Mono, rules: &[Active]) -> Result<Step, CloseReason> {
        loop {
            if matches!(self.doing, Doing::Between) {
                self.release(now, rules);
            }
            // When a slowing rule is lifted, its delays end at once.
            let due = |piece: &Piece| piece.due <= now || !is_slow(rules, self.way);
            let Some(piece) = self.queue.front().filter(|piece| due(piece)) else {
                return Ok(Step::Wait);
            };
            match (&mut self.doing, piece.head) {
                (Doing::Between, None) => return Err(CloseReason::Nonsense),
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

    /// Decides what happens to the next request or answer.
    fn begin(&mut self, head: Head, rules: &[Active]) -> Result<Option<Step>, CloseReason> {
        self.doing = match fate(rules, self.way, head.api) {
            Fate::Pass => {
                self.doing = Doing::Passing(head);
                return Ok(Some(Step::Begin(head)));
            }
            // A client that expects no answer must not receive one.
            Fate::Answer(_) if head.silent => Doing::Losing,
            Fate::Answer(code) => Doing::Answering(head, code, BytesMut::new()),
            Fate::Lose => Doing::Losing,
            Fate::Hold => {
                self.held.push_back((head, BytesMut::new()));
                Doing::Holding
            }
            Fate::Reset => return Err(CloseReason::Reset),
        };
        Ok(None)
    }

    /// Removes the front part and disposes of it.
    fn take(&mut self) -> Result<Option<Step>, CloseReason> {
        let Some(piece) = self.queue.pop_front() else { return Ok(None) };
        self.queued = self.queued.saturating_sub(piece.bytes.len());
        match &mut self.doing {
            Doing::Holding => {
                self.held_bytes += piece.bytes.len();
                if self.held_bytes > HELD_MAX {
                    return Err(CloseReason::Held);
                }
                if let Some((_, bytes)) = self.held.back_mut() {
                    bytes.extend(piece.bytes);
                }
            }
            Doing::Answering(_, _, bytes) if bytes.len() > ANSWERED_MAX => {
                return Err(CloseReason::Held);
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

    /// Moves the first held request or answer that no rule holds any more to the front, since it
    /// arrived earlier.
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

    /// Removes `bytes` written bytes. Returns the request or answer that they complete.
    pub(super) fn wrote(&mut self, bytes: usize) -> Option<Head> {
        self.queued = self.queued.saturating_sub(bytes);
        let piece = self.queue.front_mut()?;
        drop(piece.bytes.split_to(bytes.min(piece.bytes.len())));
        // The rest of a part is not a first part.
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

    /// Drops all bytes; returns how many there were.
    pub(super) fn clear(&mut self) -> usize {
        let bytes = self.buffered();
        *self = Self::new(self.way);
        bytes
    }
}
