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
