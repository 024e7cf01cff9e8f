//! What a member is told to do: by its controller on standard input, by anybody with a signal.

use std::io::{self, BufRead};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use crate::time::Skew;

/// An order, one JSON value a line: `"leave"`, or `{"clock": {"ahead_ns": 2000000000}}`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum MemberCommand {
    /// Stop leading, leave the group, end.
    Leave,
    /// End without leaving.
    Exit,
    /// The wall clock is wrong by this from now on; right again where it is nothing.
    Clock(Skew),
}

impl MemberCommand {
    /// As the member reads it.
    #[must_use]
    pub fn line(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }
}

/// The most commands that may wait; whoever sends more waits.
const WAITING: usize = 16;

/// Listens until the process ends. The end of standard input is an order to exit: the controller is
/// gone.
pub(super) fn listen() -> io::Result<Receiver<MemberCommand>> {
    let (commands, received) = sync_channel(WAITING);
    let mut signals = Signals::new([SIGTERM, SIGINT, SIGHUP])?;
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
                    Ok(order) => send(&commands, order),
                    Err(error) => tracing::warn!(%error, line, "This is no order; it is ignored."),
                }
            }
            send(&commands, MemberCommand::Exit);
        })?;
    Ok(received)
}

fn send(commands: &SyncSender<MemberCommand>, order: MemberCommand) {
    // Nobody listens any more once an order to end was heard.
    commands.send(order).ok();
}
