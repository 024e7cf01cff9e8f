//! Standard output and standard error, as people read them: what brokers, members and files say
//! passes the filter of `shown`.

use std::io::{IsTerminal, Stderr, Stdout, stderr, stdout};

use crate::shown::Shown;

/// Standard output.
pub(super) fn out() -> Shown<Stdout> {
    Shown::new(stdout(), stdout().is_terminal())
}

/// Standard error.
pub(super) fn err() -> Shown<Stderr> {
    Shown::new(stderr(), stderr().is_terminal())
}
