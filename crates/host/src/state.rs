//! Where a process keeps what outlives it.

use std::path::PathBuf;

/// The folder for state that outlives a process: `$XDG_STATE_HOME`, or `~/.local/state`.
#[must_use]
pub fn state_home() -> PathBuf {
    let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
    let home = || PathBuf::from(set("HOME").unwrap_or_else(|| "/".into())).join(".local/state");
    set("XDG_STATE_HOME").map_or_else(home, PathBuf::from)
}
