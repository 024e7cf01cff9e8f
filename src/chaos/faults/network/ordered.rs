//! What cuts members off that others started.

pub(super) mod shell;
