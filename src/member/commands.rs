//! Commands to a member: from its controller on standard input, or as a signal from any process.

use std::io::{self, BufRead};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use signal_hook::iterator::Signals;

use crate::host::ending_signals;
use crate::time::Skew;

/// A command, one JSON value per line: `"leave"`, or `{"clock": {"ahead_ns": 2000000000}}`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum MemberCommand {
    /// Stop leading, leave the group, and end.
    Leave,
    /// End without leaving.
    Exit,
    /// Set the wall clock wrong by this from now on; a zero skew sets it right.
    Clock(Skew),
    /// Reach no other member from now on, or all again: of a member that elects among members.
    Cut(bool),
}

impl MemberCommand {
    /// The line that the member reads.
    #[must_use]
    pub fn line(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }
}

/// The most commands that may wait; the next sender blocks.
const WAITING: usize = 16;

/// Listens until the process ends. The end of standard input acts as [`MemberCommand::Exit`],
/// because the controller is gone.
///
/// Also returns the end to which the process itself sends commands.
pub(super) fn listen() -> io::Result<(SyncSender<MemberCommand>, Receiver<MemberCommand>)> {
    let (commands, received) = sync_channel(WAITING);
    let own = commands.clone();
    let mut signals = Signals::new(ending_signals())?;
    let from_signals = commands.clone();
    let _ends_with_the_process =
        thread::Builder::new().name("signals".to_owned()).spawn(move || {
            for _signal in signals.forever() {
                send(&from_signals, MemberCommand::Leave);
            }
        })?;
    let _ends_with_the_process =
        thread::Builder::new().name("commands".to_owned()).spawn(move || {
            for line in io::stdin().lock().lines() {
                let Ok(line) = line else { break };
                match serde_json::from_str(&line) {
                    Ok(command) => send(&commands, command),
                    Err(error) => {
                        tracing::warn!(%error, line, "This line is not a command; it is ignored.");
                    }
                }
            }
            send(&commands, MemberCommand::Exit);
        })?;
    Ok((own, received))
}

pub(super) fn send(commands: &SyncSender<MemberCommand>, command: MemberCommand) {
    // The receiver is gone once a command to end was received.
    commands.send(command).ok();
}
