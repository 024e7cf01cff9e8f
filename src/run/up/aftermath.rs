//! What is done when a supervisor has died: its guard ends what it had started, and this process
//! ends what the guard could not.

use super::Ended;
use crate::guard::{Identity, halt, remains, runs};
use crate::observation::Outcome;

/// Waits until the guard of a dead supervisor has ended brokers and members, and ends what is left.
/// Also returns a line for each step of this process.
pub(super) async fn clear(supervisor: Identity) -> (Ended, Vec<String>) {
    let cleared = tokio::task::spawn_blocking(move || {
        let mut done = Vec::new();
        let left = clear_now(supervisor, |line| done.push(line));
        (left, done)
    });
    let (left, done) = cleared.await.unwrap_or_else(|error| (vec![error.to_string()], Vec::new()));
    let pid = supervisor.pid;
    let gone = format!("its supervisor, process {pid}, is gone without a last word");
    let (how, why) = match left.is_empty() {
        true => (Outcome::Broken, format!("{gone}; brokers and members are ended")),
        false => (Outcome::Unhealed, format!("{gone}; left is: {}", left.join("; "))),
    };
    (Ended { how, why: Some(why) }, done)
}

fn clear_now(supervisor: Identity, mut done: impl FnMut(String)) -> Vec<String> {
    let ledgers = match remains(&runs()) {
        Ok(ledgers) => ledgers,
        Err(error) => return vec![format!("{}: {error}", runs().display())],
    };
    let mut left = Vec::new();
    for ledger in ledgers {
        let Ok(page) = ledger.page else { continue };
        if page.run.controller == supervisor
            && let Err(lines) = halt(&ledger.path, &page.run, &mut done)
        {
            left.extend(lines);
        }
    }
    left
}
