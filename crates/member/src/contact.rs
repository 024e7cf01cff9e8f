//! Detects whether a member reaches its brokers, from the messages that it receives and delivers
//! and the errors that its clients report. Pure.

use std::time::Duration;

use tandem_facts::time::Mono;

use crate::Event;

/// Without traffic for this long, an error of a client means that the brokers are unreachable.
const SILENT: Duration = Duration::from_secs(1);
/// Without traffic for this long, the brokers are unreachable even without an error.
const MUTE: Duration = Duration::from_secs(10);
/// A member that was not polled for this long was stopped. Its wait for traffic starts again.
const AWAY: Duration = Duration::from_millis(500);

/// The counters of both clients.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Counters {
    /// The number of messages received and delivered so far.
    pub(super) passed: u64,
    /// The number of errors that the clients have reported so far.
    pub(super) errors: u64,
    /// The latest of these errors.
    pub(super) why: Option<String>,
}

/// Whether the member reaches its brokers, updated at each call of `look`.
#[derive(Debug)]
pub(super) struct Contact {
    counters: Counters,
    /// When the traffic counter last changed, or when the wait for a change started.
    since: Mono,
    looked: Mono,
    lost: bool,
}

impl Contact {
    pub(super) fn new(now: Mono) -> Self {
        Self { counters: Counters::default(), since: now, looked: now, lost: false }
    }

    /// Compares the counters with the previous ones; returns a change of contact.
    pub(super) fn look(&mut self, now: Mono, counters: Counters) -> Option<Event> {
        let away = now.since(self.looked) > AWAY;
        self.looked = now;
        if counters.passed != self.counters.passed {
            (self.counters, self.since) = (counters, now);
            return std::mem::take(&mut self.lost).then_some(Event::Connected);
        }
        if away {
            self.since = now;
        }
        let silent = now.since(self.since);
        let failing = counters.errors > self.counters.errors;
        if self.lost || silent < if failing { SILENT } else { MUTE } {
            return None;
        }
        self.lost = true;
        let why = counters.why.filter(|_| failing);
        Some(Event::Unconnected(why.unwrap_or_else(|| "no broker answers".to_owned())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Mono {
        Mono(ms * 1_000_000)
    }

    fn counters(passed: u64, errors: u64) -> Counters {
        Counters { passed, errors, why: (errors > 0).then(|| "refused".to_owned()) }
    }

    #[test]
    fn a_loss_is_reported_once_with_its_reason_and_so_is_its_end() {
        let mut contact = Contact::new(at(0));
        let mut reported = Vec::new();
        for ms in (0..20_000).step_by(50) {
            let counters = match ms {
                0..2_000 => counters(ms / 50, 0),
                2_000..8_000 => counters(39, 3),
                // Earlier errors do not count again.
                _ => counters(ms / 50, 3),
            };
            reported.extend(contact.look(at(ms), counters).map(|what| (ms, what)));
        }
        let why = "refused".to_owned();
        // The last message arrived in the interval before 1950 ms.
        assert_eq!(reported, [(2_950, Event::Unconnected(why)), (8_000, Event::Connected)]);
    }

    #[test]
    fn silence_alone_takes_longer_and_a_stop_is_none() {
        let mut contact = Contact::new(at(0));
        let quiet = |contact: &mut Contact, from: u64, until: u64| {
            let mut looks = (from..until).step_by(50);
            looks.find_map(|ms| contact.look(at(ms), counters(0, 0)))
        };
        assert_eq!(quiet(&mut contact, 0, 9_000), None);
        assert_eq!(quiet(&mut contact, 60_000, 69_000), None, "it was stopped for 51 s");
        let why = "no broker answers".to_owned();
        assert_eq!(quiet(&mut contact, 69_000, 71_000), Some(Event::Unconnected(why)));
    }
}
