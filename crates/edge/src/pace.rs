//! When a piece may go on where a way is slow, pure.

use std::time::Duration;

use super::rules::Slowness;
use tandem_facts::time::Mono;

/// A rate is cut into so many pieces a second, so that bytes trickle and do not gush.
const PIECES_PER_SECOND: u64 = 50;
/// No piece is cut finer, however low the rate.
const PIECE_MIN: u64 = 16;

/// The pace of one way.
#[derive(Debug)]
pub(super) struct Pace {
    /// When the last piece is through.
    free: Mono,
    /// When the last piece was due: none overtakes it.
    last: Mono,
}

impl Default for Pace {
    fn default() -> Self {
        Self { free: Mono::ZERO, last: Mono::ZERO }
    }
}

impl Pace {
    /// The most bytes that may go on at once.
    pub(super) fn piece(slow: Option<Slowness>) -> usize {
        let rate = slow.and_then(|slow| slow.bytes_per_second);
        let most = rate.map(|rate| (rate / PIECES_PER_SECOND).max(PIECE_MIN));
        most.and_then(|most| usize::try_from(most).ok()).unwrap_or(usize::MAX)
    }

    /// When a piece of so many bytes that arrives now may go on; `chance` draws from nothing to its
    /// argument.
    pub(super) fn due(
        &mut self,
        now: Mono,
        bytes: usize,
        slow: Option<Slowness>,
        chance: &mut dyn FnMut(u64) -> u64,
    ) -> Mono {
        let Some(slow) = slow else {
            // Whatever is slow before it keeps its place in the queue, and so does this.
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

/// How long so many bytes take at a rate.
fn taking(bytes: usize, rate: u64) -> Duration {
    let bytes = u64::try_from(bytes).unwrap_or(u64::MAX);
    let nanos = u128::from(bytes) * 1_000_000_000 / u128::from(rate.max(1));
    Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
}
