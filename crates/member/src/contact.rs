//! Detects whether a member reaches its brokers, from the messages that it receives and delivers
//! and the errors that its clients report. Pure.

use std::time::Duration;

use tandem_facts::time::Mono;

use crate::Event;

/// Without traffic for this long, an error of a client means that the brokers are unreachable. A
/// member that publishes less often than that waits for two of its beacons.
const SILENT: Duration = Duration::from_secs(1);
/// Without traffic for this long, the brokers are unreachable even without an error; likewise.
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
    /// In how much time there is traffic at the least, if the brokers are reached.
    traffic: Duration,
    counters: Counters,
    /// When the traffic counter last changed, or when the wait for a change started.
    since: Mono,
    looked: Mono,
    lost: bool,
}

impl Contact {
    /// The contact of a member that publishes each `beacon`.
    pub(super) fn new(now: Mono, beacon: Duration) -> Self {
        let traffic = beacon.saturating_mul(2);
        Self { traffic, counters: Counters::default(), since: now, looked: now, lost: false }
    }

    /// The member publishes each `beacon` from now on.
    pub(super) const fn expect(&mut self, beacon: Duration) {
        self.traffic = beacon.saturating_mul(2);
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
        let least = if failing { SILENT } else { MUTE };
        if self.lost || silent < least.max(self.traffic) {
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

    const BEACON: Duration = Duration::from_millis(100);

    fn at(ms: u64) -> Mono {
        Mono(ms * 1_000_000)
    }

    fn counters(passed: u64, errors: u64) -> Counters {
        Counters { passed, errors, why: (errors > 0).then(|| "refused".to_owned()) }
    }

    #[test]
    fn a_loss_is_reported_once_with_its_reason_and_so_is_its_end() {
        let mut contact = Contact::new(at(0), BEACON);
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
        let mut contact = Contact::new(at(0), BEACON);
        let quiet = |contact: &mut Contact, from: u64, until: u64| {
            let mut looks = (from..until).step_by(50);
            looks.find_map(|ms| contact.look(at(ms), counters(0, 0)))
        };
        assert_eq!(quiet(&mut contact, 0, 9_000), None);
        assert_eq!(quiet(&mut contact, 60_000, 69_000), None, "it was stopped for 51 s");
        let why = "no broker answers".to_owned();
        assert_eq!(quiet(&mut contact, 69_000, 71_000), Some(Event::Unconnected(why)));
    }

    #[test]
    fn a_member_with_rare_beacons_is_not_lost_between_two_of_them() {
        let mut contact = Contact::new(at(0), Duration::from_secs(30));
        let mut looks = (0..200_000).step_by(200).map(|ms| {
            // One error, a beacon each 30 s, and none after 90 s.
            let counters = counters(ms.min(90_000) / 30_000, u64::from(ms > 1_000));
            contact.look(at(ms), counters).map(|_| ms)
        });
        assert_eq!(looks.find_map(|ms| ms), Some(150_000), "two beacons after the last");
    }
}
