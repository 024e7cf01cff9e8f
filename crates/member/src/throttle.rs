//! Lets one line of a kind pass from time to time, and counts the others.

use std::collections::BTreeMap;
use std::time::Duration;

use tandem_facts::time::Mono;

/// How long other lines of a kind are held back after one.
const QUIET: Duration = Duration::from_secs(5);
/// The most kinds that are remembered; the lines of others all pass.
const KINDS_MAX: usize = 64;

/// What passed last, by kind.
#[derive(Debug, Default)]
pub(crate) struct Throttle {
    kinds: BTreeMap<String, Passed>,
}

#[derive(Debug)]
struct Passed {
    at: Mono,
    held_back: u64,
}

impl Throttle {
    /// Whether a line of this kind passes now: then how many were held back since the last one.
    pub(crate) fn pass(&mut self, now: Mono, kind: &str) -> Option<u64> {
        if let Some(passed) = self.kinds.get_mut(kind) {
            if now.since(passed.at) < QUIET {
                passed.held_back = passed.held_back.saturating_add(1);
                return None;
            }
            passed.at = now;
            return Some(std::mem::take(&mut passed.held_back));
        }
        if self.kinds.len() < KINDS_MAX {
            self.kinds.insert(kind.to_owned(), Passed { at: now, held_back: 0 });
        }
        Some(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kind_passes_once_in_a_while_and_says_how_many_did_not() {
        let mut throttle = Throttle::default();
        let at = |ms: u64| Mono(ms * 1_000_000);
        assert_eq!(throttle.pass(at(0), "down"), Some(0));
        assert_eq!(throttle.pass(at(10), "down"), None);
        assert_eq!(throttle.pass(at(20), "refused"), Some(0), "another kind");
        assert_eq!(throttle.pass(at(4_999), "down"), None);
        assert_eq!(throttle.pass(at(5_000), "down"), Some(2));
        assert_eq!(throttle.pass(at(10_000), "down"), Some(0));
    }

    #[test]
    fn its_memory_is_bounded() {
        let mut throttle = Throttle::default();
        for kind in 0..1_000 {
            assert_eq!(throttle.pass(Mono::ZERO, &kind.to_string()), Some(0));
        }
        assert_eq!(throttle.kinds.len(), KINDS_MAX);
    }
}
