//! One connection between a client and a broker, pure: bytes in, bytes out, and the rules in
//! between. Feed it received bytes, then drain it.
//!
//!   client -- feed --> [ cutter -> lane ] -- drain --> broker      requests
//!   client <- drain -- [ lane <- cutter ] <-- feed --- broker      answers, rewritten
//!                             outstanding

use std::collections::BTreeSet;
use std::io;

use super::compose::compose;
use super::error::CloseReason;
use super::frame::Cutter;
use super::head::{self, Head, Reading, TOKEN};
use super::lane::{Lane, Step};
use super::limits::{ANSWER_MAX, REQUEST_MAX};
use super::outstanding::Outstanding;
use super::rewrite::{Addresses, Rewriting, rewrite, rewriting};
use super::rules::{Active, Gate, Way, gate};
use tandem_facts::ids::FaultId;
use tandem_facts::time::Mono;

/// One direction, from splitting to writing.
#[derive(Debug)]
struct Side {
    cutter: Cutter,
    lane: Lane,
    /// The frame that is being split, and how to rewrite it when it is complete.
    cutting: Option<(Head, Rewriting)>,
    /// Whether bytes were lost; then nothing passes any more.
    lost: bool,
}

/// A connection.
#[derive(Debug)]
pub(super) struct Line {
    requests: Side,
    answers: Side,
    outstanding: Outstanding,
    /// Whether messages without a header may pass, after a SaslHandshake v0.
    tokens: bool,
    /// The faults whose rules lost bytes of this connection.
    pub lost_by: BTreeSet<FaultId>,
}

/// The result of draining one direction.
#[derive(Debug, Default)]
pub(super) struct Drained {
    /// Whether the last write was not complete.
    pub blocked: bool,
    /// The API keys of requests whose answers from the broker have passed completely.
    pub complete: Vec<i16>,
}

/// The context of feeding bytes.
pub(super) struct Around<'a> {
    pub now: Mono,
    pub rules: &'a [Active],
    pub chance: &'a mut dyn FnMut(u64) -> u64,
}

impl Side {
    fn new(way: Way) -> Self {
        Self { cutter: Cutter::default(), lane: Lane::new(way), cutting: None, lost: false }
    }
}

impl Line {
    pub(super) fn new() -> Self {
        Self {
            requests: Side::new(Way::ToBroker),
            answers: Side::new(Way::ToClient),
            outstanding: Outstanding::default(),
            tokens: false,
            lost_by: BTreeSet::new(),
        }
    }

    const fn side(&self, way: Way) -> &Side {
        match way {
            Way::ToBroker => &self.requests,
            Way::ToClient => &self.answers,
        }
    }

    const fn side_mut(&mut self, way: Way) -> &mut Side {
        match way {
            Way::ToBroker => &mut self.requests,
            Way::ToClient => &mut self.answers,
        }
    }

    /// Whether to read more.
    pub(super) fn wants(&self, way: Way, rules: &[Active]) -> bool {
        match gate(rules, way) {
            Gate::Open => !self.side(way).lane.is_full(),
            Gate::Lossy(_) => true,
            Gate::Shut | Gate::Reset => false,
        }
    }

    /// Whether all bytes that were read have been written, except for an incomplete frame at the
    /// end.
    pub(super) fn is_drained(&self, way: Way) -> bool {
        self.side(way).lane.is_empty()
    }

    /// The number of buffered bytes.
    pub(super) fn buffered(&self) -> usize {
        let side = |side: &Side| side.cutter.buffered() + side.lane.buffered();
        side(&self.requests) + side(&self.answers) + self.outstanding.buffered()
    }

    /// The API key of the request that has passed in part.
    pub(super) const fn passing(&self, way: Way) -> Option<i16> {
        self.side(way).lane.passing()
    }

    /// The latest instant at which to drain again.
    pub(super) fn poll_timeout(&self, now: Mono) -> Option<Mono> {
        let sides = [&self.requests, &self.answers];
        let due = sides.into_iter().filter_map(|side| side.lane.poll_timeout());
        // Bytes that are due wait for something other than time.
        due.filter(|due| *due > now).min()
    }

    /// Whether an answer composed here can be sent now.
    pub(super) fn has_turn(&self) -> bool {
        self.answers.cutter.between() && !self.answers.lost && self.outstanding.has_turn()
    }

    /// Feeds bytes from the client.
    ///
    /// # Errors
    /// The bytes are not a request.
    pub(super) fn feed_requests(
        &mut self,
        bytes: &[u8],
        around: Around<'_>,
    ) -> Result<(), CloseReason> {
        let Around { now, rules, chance } = around;
        let side = &mut self.requests;
        if side.lost {
            return Ok(());
        }
        side.cutter.feed(bytes);
        loop {
            if let Some(opening) = side.cutter.opening(1, REQUEST_MAX)? {
                let length = opening.length;
                let head = match head::read(length, opening.here) {
                    Reading::Head(head) if !self.tokens || head::resembles(&head) => head,
                    Reading::More => return Ok(()),
                    Reading::Head(_) | Reading::Nonsense if self.tokens => head::token(),
                    Reading::Head(_) | Reading::Nonsense => return Err(CloseReason::Nonsense),
                };
                self.tokens = head.api == TOKEN || head::begins_tokens(&head);
                side.cutter.begin(length, false);
                side.cutting = Some((head, Rewriting::None));
                let Some(piece) = side.cutter.piece() else { return Ok(()) };
                side.lane.push((now, rules), (head.api, Some(head)), piece, chance);
            } else {
                let Some((head, _)) = side.cutting.filter(|_| !side.cutter.between()) else {
                    return Ok(());
                };
                let Some(piece) = side.cutter.piece() else { return Ok(()) };
                side.lane.push((now, rules), (head.api, None), piece, chance);
            }
        }
    }

    /// Feeds bytes from the broker, and queues answers composed here when it is their turn.
    ///
    /// # Errors
    /// The bytes are not an answer to a waiting request, or contain a broker's address without an
    /// edge.
    pub(super) fn feed_answers(
        &mut self,
        bytes: &[u8],
        around: Around<'_>,
        addresses: &mut dyn Addresses,
    ) -> Result<(), CloseReason> {
        let Around { now, rules, chance } = around;
        let side = &mut self.answers;
        if side.lost {
            return Ok(());
        }
        side.cutter.feed(bytes);
        loop {
            if side.cutter.between() {
                while let Some((head, answer)) = self.outstanding.turn() {
                    let whole = (answer, true);
                    side.lane.push((now, rules), (head.api, Some(head)), whole, chance);
                }
                side.cutting = None;
            }
            let mut first = None;
            if let Some(opening) = side.cutter.opening(1, usize::MAX)? {
                let length = opening.length;
                let Some(head) = answered(&mut self.outstanding, length, opening.here)? else {
                    return Ok(());
                };
                let what = rewriting(&head)?;
                if what != Rewriting::None && length > ANSWER_MAX {
                    return Err(CloseReason::Held);
                }
                side.cutter.begin(length, what != Rewriting::None);
                side.cutting = Some((head, what));
                first = Some(head);
            }
            let Some((head, what)) = side.cutting else { return Ok(()) };
            let Some((bytes, last)) = side.cutter.piece() else { return Ok(()) };
            let (first, bytes) = match what {
                Rewriting::None => (first, bytes),
                Rewriting::Versions | Rewriting::Addresses => {
                    (Some(head), rewrite(&head, what, bytes, addresses)?)
                }
            };
            side.lane.push((now, rules), (head.api, first), (bytes, last), chance);
        }
    }

    /// Writes what may pass now under these rules. All writes happen before it returns.
    ///
    /// # Errors
    /// A rule resets the connection, or a write fails.
    pub(super) fn drain(
        &mut self,
        way: Way,
        now: Mono,
        rules: &[Active],
        write: &mut dyn FnMut(&[u8]) -> io::Result<usize>,
    ) -> Result<Drained, CloseReason> {
        let mut drained = Drained::default();
        match gate(rules, way) {
            Gate::Open => {}
            Gate::Shut => return Ok(drained),
            Gate::Lossy(faults) => {
                self.lose(way, faults);
                return Ok(drained);
            }
            Gate::Reset => return Err(CloseReason::Reset),
        }
        if self.side(way).lost {
            return Ok(drained);
        }
        loop {
            match self.side_mut(way).lane.step(now, rules)? {
                Step::Wait => return Ok(drained),
                Step::Begin(head) if way == Way::ToBroker => self.outstanding.sent(head)?,
                Step::Begin(_) => {}
                Step::Answer(head, code, request) => {
                    let answer = compose(&head, request, code)?;
                    self.outstanding.made(head, answer)?;
                }
                Step::Write => match write(self.side(way).lane.front()) {
                    Ok(bytes) => {
                        let complete = self.side_mut(way).lane.wrote(bytes);
                        let theirs = complete.filter(|head| !head.made_here);
                        drained.complete.extend(theirs.map(|head| head.api));
                    }
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                        drained.blocked = true;
                        return Ok(drained);
                    }
                    Err(error) => return Err(CloseReason::Io(error)),
                },
            }
        }
    }

    /// Drops all bytes in a direction, and records the faults that lost them.
    fn lose(&mut self, way: Way, faults: BTreeSet<FaultId>) {
        let side = self.side_mut(way);
        let bytes = side.cutter.clear() + side.lane.clear();
        side.lost |= bytes > 0;
        if side.lost {
            self.lost_by.extend(faults);
        }
    }

    /// Drops bytes that were read while a rule loses them.
    pub(super) fn discard(&mut self, way: Way, faults: BTreeSet<FaultId>) {
        self.side_mut(way).lost = true;
        self.lost_by.extend(faults);
    }
}

/// The request to which an answer of this length belongs; none if its correlation id has not
/// arrived.
fn answered(
    outstanding: &mut Outstanding,
    length: usize,
    here: &[u8],
) -> Result<Option<Head>, CloseReason> {
    if let Some(token) = outstanding.token() {
        return Ok(Some(token));
    }
    match here.first_chunk() {
        Some(number) => outstanding.answered(i32::from_be_bytes(*number)).map(Some),
        None if length < 4 => Err(CloseReason::Nonsense),
        None => Ok(None),
    }
}
