//! The requests of a connection that wait for their answers, in the order in which the broker was
//! asked: so it answers them.

use std::collections::VecDeque;

use bytes::Bytes;

use super::error::Parting;
use super::head::{Head, TOKEN};
use super::limits::OUTSTANDING_MAX;

/// They, and the answers that are made here and wait for their turn among them.
#[derive(Debug, Default)]
pub(super) struct Outstanding {
    waiting: VecDeque<Waiting>,
    bytes: usize,
}

#[derive(Debug)]
struct Waiting {
    head: Head,
    made: Option<Bytes>,
}

impl Outstanding {
    /// The broker is asked something.
    pub(super) fn asked(&mut self, head: Head) -> Result<(), Parting> {
        if head.silent { Ok(()) } else { self.push(Waiting { head, made: None }) }
    }

    /// The client is to be answered so, once it has what it asked for before.
    pub(super) fn made(&mut self, head: Head, answer: Bytes) -> Result<(), Parting> {
        self.bytes += answer.len();
        self.push(Waiting { head, made: Some(answer) })
    }

    fn push(&mut self, waiting: Waiting) -> Result<(), Parting> {
        if self.waiting.len() >= OUTSTANDING_MAX {
            return Err(Parting::Outstanding);
        }
        self.waiting.push_back(waiting);
        Ok(())
    }

    /// The answer that was made here and whose turn it is.
    pub(super) fn turn(&mut self) -> Option<(Head, Bytes)> {
        let made = self.waiting.front_mut()?.made.take()?;
        self.bytes = self.bytes.saturating_sub(made.len());
        let waiting = self.waiting.pop_front()?;
        Some((Head { made_here: true, ..waiting.head }, made))
    }

    /// Whether it is the turn of one.
    pub(super) fn has_turn(&self) -> bool {
        self.waiting.front().is_some_and(|waiting| waiting.made.is_some())
    }

    /// The token to which the broker's next answer belongs, whatever it says.
    pub(super) fn token(&mut self) -> Option<Head> {
        self.waiting.pop_front_if(|waiting| waiting.head.api == TOKEN).map(|waiting| waiting.head)
    }

    /// The request to which the broker's next answer belongs.
    ///
    /// # Errors
    /// Where nobody asked for it.
    pub(super) fn answered(&mut self, correlation: i32) -> Result<Head, Parting> {
        // A request before it that was not answered never will be.
        while let Some(waiting) = self.waiting.pop_front() {
            if waiting.head.correlation == correlation {
                return Ok(waiting.head);
            }
        }
        Err(Parting::Unasked(correlation))
    }

    /// The bytes of answers that wait.
    pub(super) const fn buffered(&self) -> usize {
        self.bytes
    }
}
