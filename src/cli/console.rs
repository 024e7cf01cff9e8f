//! Standard output and standard error, as people read them: what brokers, members and files say
//! passes the filter of `shown`.

use std::io::{IsTerminal, Stderr, Stdout, stderr, stdout};

use crate::shown::Shown;

/// A report takes no more columns than this.
const WIDE: u16 = 100;
/// It cannot do with less.
const NARROW: u16 = 80;

/// Standard output.
pub(super) fn out() -> Shown<Stdout> {
    Shown::new(stdout(), stdout().is_terminal())
}

/// Standard error.
pub(super) fn err() -> Shown<Stderr> {
    Shown::new(stderr(), stderr().is_terminal())
}

/// How many columns a report may take: those of the terminal, where there is one.
pub(super) fn columns() -> usize {
    let terminal = stdout().is_terminal().then(ratatui::crossterm::terminal::size);
    let columns = terminal.and_then(Result::ok).map_or(WIDE, |(columns, _)| columns);
    usize::from(columns.clamp(NARROW, WIDE))
}
