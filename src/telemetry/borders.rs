//! Where windows begin, and so which of them an instant is in.
//!
//! An instant at a border is in the window that begins there; the end of the last window is still
//! in it. Windows that are to come follow each other in full length: one that ends before its time
//! ends after everything that was heard until then. So an answer, once given, stays right.

use std::collections::VecDeque;
use std::time::Duration;

use crate::ids::TrialNumber;
use crate::time::Mono;

/// So many windows are remembered, for facts that come late.
const KEPT_MAX: usize = 64;

/// Where windows begin.
#[derive(Debug, Clone)]
pub(super) struct Borders {
    length: Duration,
    /// When the latest began.
    begun: VecDeque<(Mono, TrialNumber)>,
    /// When the last ends, where that is known.
    end: Option<(Mono, TrialNumber)>,
}

impl Borders {
    /// Of windows of this length, none of which has begun.
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

    /// That with this number is the last. Those that have begun since are none.
    pub(super) fn end(&mut self, number: TrialNumber, at: Mono) {
        self.end = Some((at, number));
    }

    /// The window that `at` is in; none before the first that is remembered, and after the last.
    pub(super) fn window(&self, at: Mono) -> Option<TrialNumber> {
        if let Some((end, last)) = self.end
            && at >= end
        {
            return (at == end).then_some(last);
        }
        let begun = self.begun.partition_point(|(from, _)| *from <= at);
        let (from, number) = self.begun.get(begun.checked_sub(1)?)?;
        // More than one length after the latest: whose time will come.
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
        let told = windows(&borders, &[99, 100, 109, 110, 129]);
        assert_eq!(told, [None, Some(1), Some(1), Some(2), Some(3)]);
        // The second ends before its time.
        borders.begin(TrialNumber(2), Mono(110));
        borders.begin(TrialNumber(3), Mono(114));
        let told = windows(&borders, &[109, 110, 113, 114, 123, 124]);
        assert_eq!(told, [Some(1), Some(2), Some(2), Some(3), Some(3), Some(4)]);
        borders.begin(TrialNumber(4), Mono(124));
        borders.end(TrialNumber(3), Mono(120));
        assert_eq!(windows(&borders, &[114, 119, 120, 121]), [Some(3), Some(3), Some(3), None]);
    }
}
