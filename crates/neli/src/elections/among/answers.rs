//! What the others have answered: a leader counts from the newest instant that a majority has.

use std::collections::BTreeMap;

use super::{Config, Peer};
use tandem_facts::time::Mono;

/// Of each other the instant, by this member's clock, at which it sent the newest word that the
/// other has answered.
#[derive(Debug, Clone, Default)]
pub(in crate::elections) struct Answers(BTreeMap<Peer, Mono>);

impl Answers {
    /// Another one has answered what was sent at this instant. Answers may be out of order.
    pub(in crate::elections) fn note(&mut self, from: Peer, at: Mono) {
        let newest = self.0.entry(from).or_insert(at);
        *newest = (*newest).max(at);
    }

    /// How many others have answered.
    pub(in crate::elections) fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether no other has answered.
    pub(in crate::elections) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The newest instant that a majority has answered, the member itself included: it answers at
    /// once what it has `sent` last. None if no majority has answered anything.
    pub(in crate::elections) fn of_majority(&self, config: &Config, sent: Mono) -> Option<Mono> {
        let mut instants: Vec<Mono> = self.0.values().copied().chain([sent]).collect();
        instants.sort_unstable();
        instants.into_iter().rev().nth(config.majority() - 1)
    }
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroU32;
    use std::time::Duration;

    use super::*;

    #[test]
    fn it_counts_what_the_slowest_of_the_fastest_majority_has_answered() {
        let second = Duration::from_secs(1);
        let width = NonZeroU32::MIN;
        let (me, members, heartbeat) = (Peer(0), 5, second / 10);
        let config = Config { me, members, width, session: second, heartbeat, seed: 1 };
        let mut answers = Answers::default();
        let sent = Mono(100);
        answers.note(Peer(1), Mono(70));
        assert_eq!(answers.of_majority(&config, sent), None, "two of five");
        answers.note(Peer(2), Mono(40));
        assert_eq!(answers.of_majority(&config, sent), Some(Mono(40)));
        answers.note(Peer(3), Mono(60));
        assert_eq!(answers.of_majority(&config, sent), Some(Mono(60)));
        answers.note(Peer(1), Mono(50));
        assert_eq!(answers.of_majority(&config, sent), Some(Mono(60)), "an older answer");
        assert_eq!((answers.len(), answers.is_empty()), (3, false));
    }
}
