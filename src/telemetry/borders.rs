//! Where windows begin, and thus which window an instant is in.
//!
//! An instant at a border belongs to the window that begins there; the end of the last window
//! belongs to the last window. Future windows follow each other in full length. A window that ends
//! early ends after everything heard so far, so an earlier answer stays correct.

use std::collections::VecDeque;
use std::time::Duration;

use crate::ids::TrialNumber;
use crate::time::Mono;

/// How many windows are remembered, for late facts.
const KEPT_MAX: usize = 64;

/// Where windows begin.
#[derive(Debug, Clone)]
pub(super) struct Borders {
    length: Duration,
    /// When the latest windows began.
    begun: VecDeque<(Mono, TrialNumber)>,
    /// When the last window ends, once known.
    end: Option<(Mono, TrialNumber)>,
}

impl Borders {
    /// Borders of windows of this length, none of which has begun.
    pub(super) fn new(length: Duration) -> Self {
        Self { length, begun: VecDeque::new(), end: None }
    }

    /// The window with this number begins.
    pub(super) fn begin(&mut self, number: TrialNumber, from: Mono) {
        self.begun.push_back((from, number));
        if self.begun.len() > KEPT_MAX {
            self.begun.pop_front();
        }
    }

    /// The window with this number is the last, and ends at `at`. Windows that were begun after it
    /// are removed.
    pub(super) fn end(&mut self, number: TrialNumber, at: Mono) {
        self.end = Some((at, number));
    }

    /// The window that `at` is in; `None` before the first that is remembered, and after the last.
    pub(super) fn window(&self, at: Mono) -> Option<TrialNumber> {
        if let Some((end, last)) = self.end
            && at >= end
        {
            return (at == end).then_some(last);
        }
        let begun = self.begun.partition_point(|(from, _)| *from <= at);
        let (from, number) = self.begun.get(begun.checked_sub(1)?)?;
        // Windows that have not begun yet.
        let further = at.since(*from).as_nanos().checked_div(self.length.as_nanos())?;
        Some(TrialNumber(number.0.saturating_add(u32::try_from(further).ok()?)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_instant_at_a_border_is_in_the_window_that_begins_there() {
        let mut borders = Borders::new(Duration::from_nanos(10));
        let windows = |borders: &Borders, all: &[u64]| {
            let number = |at| borders.window(Mono(at)).map(|number| number.0);
            all.iter().map(|&at| number(at)).collect::<Vec<_>>()
        };
        assert_eq!(windows(&borders, &[0, 100]), [None; 2]);
        borders.begin(TrialNumber(1), Mono(100));
        let found = windows(&borders, &[99, 100, 109, 110, 129]);
        assert_eq!(found, [None, Some(1), Some(1), Some(2), Some(3)]);
        // The second ends before its time.
        borders.begin(TrialNumber(2), Mono(110));
        borders.begin(TrialNumber(3), Mono(114));
        let found = windows(&borders, &[109, 110, 113, 114, 123, 124]);
        assert_eq!(found, [Some(1), Some(2), Some(2), Some(3), Some(3), Some(4)]);
        borders.begin(TrialNumber(4), Mono(124));
        borders.end(TrialNumber(3), Mono(120));
        assert_eq!(windows(&borders, &[114, 119, 120, 121]), [Some(3), Some(3), Some(3), None]);
    }
}
