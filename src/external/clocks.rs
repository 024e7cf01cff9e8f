//! Clocks of several hosts, compared by way of brokers. Pure.
//!
//! A host that publishes a record at `sent` and has its acknowledgement at `acked` knows that the
//! broker read its clock in between, and that the clock showed the record's append time, which is
//! whole milliseconds. So it knows what the broker's clock shows when its own shows an instant, to
//! within the round trip and a millisecond. Two hosts that know the same broker's clock know each
//! other's, to within both errors. Between two records clocks drift apart, so an error grows with
//! the time since the record.
//!
//! A broker's clock that is set anew contradicts what was known of it, and all that is known of it
//! is forgotten, of all hosts. It may have been set between the records of two hosts. So a broker
//! compares two only once each has had two later records that contradict nothing: one of these may
//! have been under way. Where two brokers contradict each other about two hosts, nothing is known.

use std::collections::BTreeMap;

use crate::time::{Mono, Wall};

/// Two clocks drift apart by at most this part of the time: quartz is better than 100 ppm, and
/// slewing adds up to 500 ppm (`adjtimex(2)`).
const DRIFT: (i128, i128) = (600, 1_000_000);
const MILLISECOND: i128 = 1_000_000;
/// The most pairs of a host and a broker; records of further ones compare nothing.
const PAIRS_MAX: usize = 4_096;

/// An interval on some clock or between two of them, in nanoseconds; both ends are within it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Bounds {
    low: i128,
    high: i128,
}

/// What a host knows of a broker's clock: the broker's time less its own, at an instant of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Known {
    ahead: Bounds,
    at: i128,
    heard: Heard,
}

/// Which of all records, in the order of arrival, have said this: the first, the last, and the one
/// before that.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Heard {
    first: u64,
    before: Option<u64>,
    last: u64,
}

/// All comparisons so far, of hosts named `H` and brokers named `B`.
#[derive(Debug, Clone)]
pub struct Clocks<H, B> {
    known: BTreeMap<(H, B), Known>,
    /// How many records there were.
    count: u64,
    contradictions: u64,
}

/// An instant of one host, on the clock of another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Elsewhere {
    /// It is not before this.
    pub earliest: Mono,
    /// It is not after this.
    pub latest: Mono,
}

impl Bounds {
    fn widened(self, by: i128) -> Self {
        Self { low: self.low - by, high: self.high + by }
    }

    fn and(self, other: Self) -> Option<Self> {
        let (low, high) = (self.low.max(other.low), self.high.min(other.high));
        (low <= high).then_some(Self { low, high })
    }
}

impl Heard {
    /// Whether each has said it twice since the other did first.
    fn beside(self, other: Self) -> bool {
        let since = |one: Self, other: Self| one.before.is_some_and(|before| before > other.first);
        since(self, other) && since(other, self)
    }
}

impl Known {
    /// The same at another instant of the host.
    fn at(self, at: i128) -> Bounds {
        let (parts, of) = DRIFT;
        let away = (at - self.at).abs();
        self.ahead.widened((away * parts + of - 1) / of)
    }
}

fn ns(at: Mono) -> i128 {
    i128::from(at.0)
}

fn mono(ns: i128) -> Mono {
    Mono(u64::try_from(ns.max(0)).unwrap_or(u64::MAX))
}

impl<H, B> Default for Clocks<H, B> {
    fn default() -> Self {
        Self { known: BTreeMap::new(), count: 0, contradictions: 0 }
    }
}

impl<H: Ord + Clone, B: Ord + Clone> Clocks<H, B> {
    /// A record that `host` sent and saw acknowledged at these instants of its clock was appended
    /// when the clock of `broker` showed `stamp`. Returns whether that contradicts what was known
    /// of the two. A record that is not later than the last one of the two says nothing new.
    pub fn appended(
        &mut self,
        (host, broker): (&H, &B),
        [sent, acked]: [Mono; 2],
        stamp: Wall,
    ) -> bool {
        let shown = i128::from(stamp.0) * MILLISECOND;
        let ahead = Bounds { low: shown - ns(acked), high: shown + MILLISECOND - ns(sent) };
        let at = ns(acked);
        let key = (host.clone(), broker.clone());
        let known = self.known.get(&key).copied();
        let full = known.is_none() && self.known.len() >= PAIRS_MAX;
        if full || known.is_some_and(|known| at <= known.at) {
            return false;
        }
        self.count += 1;
        let heard = Heard { first: self.count, before: None, last: self.count };
        // The broker read its clock at any instant between the two.
        let ahead = Known { ahead, at, heard }.at(ns(sent));
        let fresh = Known { ahead, at, heard };
        let agreed = known.map(|known| known.at(at).and(ahead));
        let next = match (known, agreed.flatten()) {
            (Some(known), Some(ahead)) => {
                let before = Some(known.heard.last);
                let heard = Heard { before, last: self.count, ..known.heard };
                Known { ahead, at, heard }
            }
            (Some(_), None) => {
                self.known.retain(|(_, one), _| one != broker);
                self.contradictions += 1;
                fresh
            }
            (None, _) => fresh,
        };
        self.known.insert(key, next);
        next == fresh && known.is_some()
    }

    /// An instant of `from`, on the clock of `to`; none if no broker knows both, or if two brokers
    /// contradict each other about them.
    #[must_use]
    pub fn translate(&self, from: &H, to: &H, at: Mono) -> Option<Elsewhere> {
        let at = ns(at);
        let of = |host: &H| {
            let all = self.known.iter().filter(|((one, _), _)| one == host);
            all.map(|((_, broker), known)| (broker.clone(), *known)).collect::<BTreeMap<_, _>>()
        };
        let (theirs, mut all) = (of(to), None::<Bounds>);
        for (broker, known) in of(from) {
            let other = theirs.get(&broker).filter(|other| known.heard.beside(other.heard));
            let Some(other) = other else { continue };
            let ahead = known.at(at);
            // What the broker's clock showed then; and when the other host's clock showed what it
            // takes for that. The farther of both ends decides how far it has drifted.
            let shown = Bounds { low: at + ahead.low, high: at + ahead.high };
            let near = |shown: i128, ahead: i128| shown - ahead;
            let ends = [near(shown.low, other.ahead.high), near(shown.high, other.ahead.low)];
            let widest = ends.map(|end| other.at(end));
            let low = widest.iter().map(|it| it.low).min()?;
            let high = widest.iter().map(|it| it.high).max()?;
            let one = Bounds { low: shown.low - high, high: shown.high - low };
            all = Some(match all {
                None => one,
                Some(all) => all.and(one)?,
            });
        }
        all.map(|all| Elsewhere { earliest: mono(all.low), latest: mono(all.high) })
    }

    /// How often a record contradicted what was known.
    #[must_use]
    pub fn contradictions(&self) -> u64 {
        self.contradictions
    }
}
