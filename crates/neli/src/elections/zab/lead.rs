//! A leader, and how long it claims.

use crate::elections::among::{Answers, Config, Generation, Peer};
use tandem_facts::time::Mono;

/// What a leader has.
#[derive(Debug, Clone)]
pub(super) struct Lead {
    pub(super) epoch: Generation,
    pub(super) next: Mono,
    pub(super) sent: Mono,
    /// When it sent the newest `COMMIT` that each other has answered.
    pub(super) heard: Answers,
    pub(super) until: Mono,
    /// When it asks for a newer epoch, for others are in one of which it knows no leader.
    pub(super) asks: Option<Mono>,
}

impl Lead {
    /// Its claim counts from the newest `COMMIT` that a majority has answered.
    pub(super) fn answered(&mut self, config: &Config, from: Peer, at: Mono) {
        if at > self.sent {
            return;
        }
        self.heard.note(from, at);
        if let Some(at) = self.heard.of_majority(config, self.sent) {
            self.until = self.until.max(at + config.session);
        }
    }
}
