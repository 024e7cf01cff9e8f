//! Finds the runs of `tandem up` of this user that keep a topology up.

use std::fs;
use std::path::Path;
use std::time::Duration;

use super::{Identity, Run, remains};
use crate::ids::TopologyName;
use crate::time::Span;

/// The kernel's clock ticks per second (USER_HZ).
const TICKS: u64 = 100;

/// The runs whose ledgers are in `runs`, except this process.
#[must_use]
pub fn kept_up(runs: &Path, topology: &TopologyName) -> Vec<Run> {
    let ledgers = remains(runs).unwrap_or_default().into_iter();
    let found = ledgers.filter_map(|one| Some(one.page.ok()?.run));
    let own = std::process::id();
    let wanted =
        |run: &Run| run.topology == *topology && run.keeps_up() && run.controller.pid != own;
    found.filter(wanted).collect()
}

impl Run {
    /// A sentence with its process id, its age, and the commands that show it and end it.
    #[must_use]
    pub fn ways(&self) -> String {
        let pid = self.controller.pid;
        let age = self.controller.age().map_or_else(String::new, |age| format!(" for {age}"));
        format!(
            "its supervisor, process {pid}, has run{age}: `tandem status --pid {pid}` shows it, \
             `kill -INT {pid}` ends it"
        )
    }
}

impl Identity {
    /// How long it has run, in whole seconds.
    fn age(self) -> Option<Span> {
        let uptime = fs::read_to_string("/proc/uptime").ok()?;
        let uptime: u64 = uptime.split('.').next()?.parse().ok()?;
        let since = uptime.saturating_sub(self.since / TICKS);
        self.lives().then_some(Span(Duration::from_secs(since)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_is_described_by_its_process_and_its_age() {
        let folder = std::path::PathBuf::from("/nowhere");
        let run = Run::own("up-duo".to_owned(), "duo".parse().unwrap(), folder);
        let (pid, ways) = (std::process::id(), run.ways());
        assert!(
            ways.starts_with(&format!("its supervisor, process {pid}, has run for ")),
            "{ways}"
        );
        assert!(ways.ends_with(&format!("`kill -INT {pid}` ends it")), "{ways}");
        let gone = Run { controller: Identity { pid, since: 0 }, ..run };
        assert!(
            gone.ways().starts_with(&format!("its supervisor, process {pid}, has run: ")),
            "{}",
            gone.ways()
        );
    }
}
