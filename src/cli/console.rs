//! Standard output and standard error. Control characters in text from brokers, members and files
//! are filtered (see `shown`).

use std::io::{IsTerminal, Stderr, Stdout, stderr, stdout};

use crate::shown::Shown;

/// The maximum width of a report.
const WIDE: u16 = 100;
/// The minimum width of a report.
const NARROW: u16 = 80;

/// Standard output.
pub(super) fn out() -> Shown<Stdout> {
    Shown::new(stdout(), stdout().is_terminal())
}

/// Standard error.
pub(super) fn err() -> Shown<Stderr> {
    Shown::new(stderr(), stderr().is_terminal())
}

/// The width of a report: that of the terminal, if there is one.
pub(super) fn columns() -> usize {
    let terminal = stdout().is_terminal().then(ratatui::crossterm::terminal::size);
    let columns = terminal.and_then(Result::ok).map_or(WIDE, |(columns, _)| columns);
    usize::from(columns.clamp(NARROW, WIDE))
}
