//! Whether a member reaches its brokers: what it hears, what it delivers, and what its clients
//! complain of meanwhile. Pure.

use std::time::Duration;

use tandem_facts::time::Mono;

use crate::Event;

/// For so long nothing may come or go before a complaint of a client is told.
const SILENT: Duration = Duration::from_secs(1);
/// For so long without any.
const MUTE: Duration = Duration::from_secs(10);
/// Who did not look for so long was stopped, and has to listen first.
const AWAY: Duration = Duration::from_millis(500);

/// What the clients say at one look.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Said {
    /// How many messages were heard and delivered so far.
    pub(super) passed: u64,
    /// How often the clients have complained so far.
    pub(super) complaints: u64,
    /// Of what last.
    pub(super) why: Option<String>,
}

/// Whether brokers are reached, look by look.
#[derive(Debug)]
pub(super) struct Contact {
    said: Said,
    /// When something came or went the last time, or waiting for it began.
    since: Mono,
    looked: Mono,
    lost: bool,
}

impl Contact {
    pub(super) fn new(now: Mono) -> Self {
        Self { said: Said::default(), since: now, looked: now, lost: false }
    }

    /// Looks again; what is to be told of it.
    pub(super) fn look(&mut self, now: Mono, said: Said) -> Option<Event> {
        let away = now.since(self.looked) > AWAY;
        self.looked = now;
        if said.passed != self.said.passed {
            (self.said, self.since) = (said, now);
            return std::mem::take(&mut self.lost).then_some(Event::Connected);
        }
        if away {
            self.since = now;
        }
        let silent = now.since(self.since);
        let complains = said.complaints > self.said.complaints;
        if self.lost || silent < if complains { SILENT } else { MUTE } {
            return None;
        }
        self.lost = true;
        let why = said.why.filter(|_| complains);
        Some(Event::Unconnected(why.unwrap_or_else(|| "no broker answers".to_owned())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Mono {
        Mono(ms * 1_000_000)
    }

    fn said(passed: u64, complaints: u64) -> Said {
        Said { passed, complaints, why: (complaints > 0).then(|| "refused".to_owned()) }
    }

    #[test]
    fn a_loss_is_reported_once_with_its_reason_and_so_is_its_end() {
        let mut contact = Contact::new(at(0));
        let mut reported = Vec::new();
        for ms in (0..20_000).step_by(50) {
            let said = match ms {
                0..2_000 => said(ms / 50, 0),
                2_000..8_000 => said(39, 3),
                // What was complained of before is no news.
                _ => said(ms / 50, 3),
            };
            reported.extend(contact.look(at(ms), said).map(|what| (ms, what)));
        }
        let why = "refused".to_owned();
        // The last message came with the look at 1950.
        assert_eq!(reported, [(2_950, Event::Unconnected(why)), (8_000, Event::Connected)]);
    }

    #[test]
    fn silence_alone_takes_longer_and_a_stop_is_none() {
        let mut contact = Contact::new(at(0));
        let quiet = |contact: &mut Contact, from: u64, until: u64| {
            let mut looks = (from..until).step_by(50);
            looks.find_map(|ms| contact.look(at(ms), said(0, 0)))
        };
        assert_eq!(quiet(&mut contact, 0, 9_000), None);
        assert_eq!(quiet(&mut contact, 60_000, 69_000), None, "it was stopped for 51 s");
        let why = "no broker answers".to_owned();
        assert_eq!(quiet(&mut contact, 69_000, 71_000), Some(Event::Unconnected(why)));
    }
}
