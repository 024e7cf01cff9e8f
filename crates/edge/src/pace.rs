//! Computes when the pieces of a slowed direction may pass. Pure.

use std::time::Duration;

use super::rules::Slowness;
use tandem_facts::time::Mono;

/// The number of pieces per second into which a rate is divided, so that bytes flow evenly.
const PIECES_PER_SECOND: u64 = 50;
/// The least size of a piece, for low rates.
const PIECE_MIN: u64 = 16;

/// The pace of one direction.
#[derive(Debug)]
pub(super) struct Pace {
    /// When the last piece has passed at the limited rate.
    free: Mono,
    /// When the last piece was due; no piece overtakes it.
    last: Mono,
}

impl Default for Pace {
    fn default() -> Self {
        Self { free: Mono::ZERO, last: Mono::ZERO }
    }
}

impl Pace {
    /// The most bytes that may pass at once.
    pub(super) fn piece(slow: Option<Slowness>) -> usize {
        let rate = slow.and_then(|slow| slow.bytes_per_second);
        let most = rate.map(|rate| (rate / PIECES_PER_SECOND).max(PIECE_MIN));
        most.and_then(|most| usize::try_from(most).ok()).unwrap_or(usize::MAX)
    }

    /// When a piece of `bytes` bytes that arrives now may pass. `chance` draws a number from 0 to
    /// its argument.
    pub(super) fn due(
        &mut self,
        now: Mono,
        bytes: usize,
        slow: Option<Slowness>,
        chance: &mut dyn FnMut(u64) -> u64,
    ) -> Mono {
        let Some(slow) = slow else {
            // A piece that is not slowed still stays behind slow pieces before it.
            *self = Self { last: self.last.max(now), ..Self::default() };
            return self.last;
        };
        let jitter = if slow.jitter_ns == 0 { 0 } else { chance(slow.jitter_ns) };
        let arrives = now + Duration::from_nanos(slow.delay_ns.saturating_add(jitter));
        let arrives = arrives.max(self.last);
        self.last = match slow.bytes_per_second {
            None => arrives,
            Some(rate) => {
                let begins = arrives.max(self.free);
                self.free = begins + taking(bytes, rate);
                self.free
            }
        };
        self.last
    }
}

/// How long `bytes` bytes take at a rate.
fn taking(bytes: usize, rate: u64) -> Duration {
    let bytes = u64::try_from(bytes).unwrap_or(u64::MAX);
    let nanos = u128::from(bytes) * 1_000_000_000 / u128::from(rate.max(1));
    Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Mono {
        Mono(ms * 1_000_000)
    }

    fn slow(delay_ms: u64, jitter_ms: u64, bytes_per_second: Option<u64>) -> Option<Slowness> {
        let [delay_ns, jitter_ns] = [delay_ms, jitter_ms].map(|ms| ms * 1_000_000);
        Some(Slowness { delay_ns, jitter_ns, bytes_per_second })
    }

    fn none(_most: u64) -> u64 {
        0
    }

    #[test]
    fn a_piece_is_late_by_its_delay_and_overtakes_none() {
        let mut pace = Pace::default();
        let slowed = slow(60, 0, None);
        assert_eq!(pace.due(at(100), 9_000, slowed, &mut none), at(160));
        assert_eq!(pace.due(at(101), 1, slowed, &mut none), at(161));
        // What is not slowed waits for what is.
        assert_eq!(pace.due(at(102), 1, None, &mut none), at(161));
        assert_eq!(pace.due(at(200), 1, None, &mut none), at(200));
    }

    #[test]
    fn jitter_is_drawn_for_each_piece_and_keeps_the_order() {
        let mut pace = Pace::default();
        let jittery = slow(5, 40, None);
        let mut all = [40_u64, 0, 40, 30].into_iter();
        let mut draw = |most: u64| {
            assert_eq!(most, 40_000_000);
            all.next().unwrap_or_default() * 1_000_000
        };
        assert_eq!(pace.due(at(100), 1, jittery, &mut draw), at(145));
        assert_eq!(pace.due(at(110), 1, jittery, &mut draw), at(145), "not before the one before");
        assert_eq!(pace.due(at(120), 1, jittery, &mut draw), at(165));
        assert_eq!(pace.due(at(200), 1, jittery, &mut draw), at(235));
    }

    #[test]
    fn a_rate_is_never_exceeded_and_begins_anew_after_a_pause() {
        let mut pace = Pace::default();
        let rate = slow(0, 0, Some(100_000));
        assert_eq!(Pace::piece(rate), 2_000, "fifty pieces a second");
        assert_eq!(Pace::piece(slow(0, 0, Some(100))), 16, "or none that is too small");
        assert_eq!(Pace::piece(slow(60, 0, None)), usize::MAX);
        for number in 1..=50 {
            assert_eq!(pace.due(at(100), 2_000, rate, &mut none), at(100 + 20 * number));
        }
        assert_eq!(pace.due(at(5_000), 2_000, rate, &mut none), at(5_020));
    }
}
