//! Processes that a test writes into the ledger of a run.

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use tandem::guard::Identity;

use super::experiment::eventually;
use super::undone::HEALED;

/// Processes in a ledger: one that the run held, and one that only has the number of such a one.
pub struct Planted {
    pub held: Child,
    pub stranger: Child,
}

impl Planted {
    /// In this ledger, as its guard would have written them.
    pub fn into(ledger: &Path) -> Self {
        let sleeper = || Command::new("sleep").arg("600").stdin(Stdio::null()).spawn().unwrap();
        let planted = Self { held: sleeper(), stranger: sleeper() };
        let held = Identity::of(planted.held.id()).unwrap();
        // Another process had its id before.
        let stranger = Identity::of(planted.stranger.id()).unwrap();
        let stranger = Identity { since: stranger.since - 1, ..stranger };
        let mut file = fs::File::options().append(true).open(ledger).unwrap();
        for process in [held, stranger] {
            writeln!(file, "{}", serde_json::json!({ "held": process })).unwrap();
        }
        planted
    }

    /// Only the one that the run held was ended.
    pub fn is_ended(&mut self) {
        let ended = eventually("its end", HEALED, || self.held.try_wait().unwrap());
        assert_eq!(ended.code(), None, "it was killed: {ended}");
        assert_eq!(self.stranger.try_wait().unwrap(), None, "a stranger was touched");
    }
}

impl Drop for Planted {
    fn drop(&mut self) {
        for child in [&mut self.held, &mut self.stranger] {
            child.kill().ok();
            child.wait().ok();
        }
    }
}
