//! Where a process keeps what outlives it.

use std::path::PathBuf;

/// The folder for state that outlives a process: `$XDG_STATE_HOME`, or `~/.local/state`. A relative
/// path in the variable is ignored, as the XDG Base Directory Specification has it.
#[must_use]
pub fn state_home() -> PathBuf {
    let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
    let home = || PathBuf::from(set("HOME").unwrap_or_else(|| "/".into())).join(".local/state");
    let state = set("XDG_STATE_HOME").map(PathBuf::from).filter(|path| path.is_absolute());
    state.unwrap_or_else(home)
}
