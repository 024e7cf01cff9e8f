//! The requests of a connection that wait for their answers, in the order in which they were sent.
//! The broker answers in that order.

use std::collections::VecDeque;

use bytes::Bytes;

use super::error::CloseReason;
use super::head::{Head, TOKEN};
use super::limits::OUTSTANDING_MAX;

/// The waiting requests, and the answers composed here that wait for their turn among them.
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
    /// The broker receives a request.
    pub(super) fn sent(&mut self, head: Head) -> Result<(), CloseReason> {
        if head.silent { Ok(()) } else { self.push(Waiting { head, made: None }) }
    }

    /// Queues an answer composed here. The client receives it after the answers to its earlier
    /// requests.
    pub(super) fn made(&mut self, head: Head, answer: Bytes) -> Result<(), CloseReason> {
        self.bytes += answer.len();
        self.push(Waiting { head, made: Some(answer) })
    }

    fn push(&mut self, waiting: Waiting) -> Result<(), CloseReason> {
        if self.waiting.len() >= OUTSTANDING_MAX {
            return Err(CloseReason::Outstanding);
        }
        self.waiting.push_back(waiting);
        Ok(())
    }

    /// The next answer, if it was composed here and its turn has come.
    pub(super) fn turn(&mut self) -> Option<(Head, Bytes)> {
        let made = self.waiting.front_mut()?.made.take()?;
        self.bytes = self.bytes.saturating_sub(made.len());
        let waiting = self.waiting.pop_front()?;
        Some((Head { made_here: true, ..waiting.head }, made))
    }

    /// Whether an answer composed here is next.
    pub(super) fn has_turn(&self) -> bool {
        self.waiting.front().is_some_and(|waiting| waiting.made.is_some())
    }

    /// The token to which the broker's next answer belongs. Tokens are matched by order alone.
    pub(super) fn token(&mut self) -> Option<Head> {
        self.waiting.pop_front_if(|waiting| waiting.head.api == TOKEN).map(|waiting| waiting.head)
    }

    /// The request to which the broker's next answer belongs.
    ///
    /// # Errors
    /// No request waits for this answer.
    pub(super) fn answered(&mut self, correlation: i32) -> Result<Head, CloseReason> {
        // Earlier requests without an answer will never be answered.
        while let Some(waiting) = self.waiting.pop_front() {
            if waiting.head.correlation == correlation {
                return Ok(waiting.head);
            }
        }
        Err(CloseReason::Unasked(correlation))
    }

    /// The bytes of waiting answers.
    pub(super) const fn buffered(&self) -> usize {
        self.bytes
    }
}
