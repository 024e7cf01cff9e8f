//! The log goes out on a thread of its own: where standard error is a file on a disk that blocks,
//! or a terminal that takes nothing, whoever says something does not wait for it.

use std::io::{self, Write};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::time::Duration;

/// How many lines may wait; later ones are lost, and counted.
const WAITING: usize = 4_096;
/// How long the last lines may take.
const FLUSH: Duration = Duration::from_secs(1);

static LINES: OnceLock<SyncSender<Said>> = OnceLock::new();
static LOST: AtomicU64 = AtomicU64::new(0);

enum Said {
    Line(Vec<u8>),
    /// Everything before this is written.
    Mark(SyncSender<()>),
}

/// Starts the thread; each line goes to what `out` opens then. Where the system refuses one, lines
/// are written at once.
pub(super) fn start(out: fn() -> Box<dyn Write>) {
    let (sender, lines) = sync_channel(WAITING);
    let thread = std::thread::Builder::new().name("log".to_owned());
    if thread.spawn(move || write_all(&lines, out)).is_ok() {
        LINES.set(sender).ok();
    }
}

/// What a line is written to.
pub(super) fn line() -> Box<dyn Write> {
    match LINES.get() {
        Some(_) => Box::new(Line),
        None => Box::new(super::console::err()),
    }
}

/// Says something in a line of its own, in order with the log.
pub(super) fn say(text: &str) {
    // Nobody reads it: no reason to stop.
    line().write_all(format!("{text}\n").as_bytes()).ok();
}

/// Waits until all lines so far are written, for a second at most.
pub(super) fn finish() {
    let Some(lines) = LINES.get() else { return };
    let (written, done) = sync_channel(1);
    // Where even this finds no room, nobody takes the lines.
    if lines.try_send(Said::Mark(written)).is_ok() {
        done.recv_timeout(FLUSH).ok();
    }
}

struct Line;

impl Write for Line {
    /// The formatter hands over whole lines.
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        let lines = LINES.get();
        if lines.is_none_or(|lines| lines.try_send(Said::Line(line.to_owned())).is_err()) {
            LOST.fetch_add(1, Ordering::Relaxed);
        }
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn write_all(lines: &Receiver<Said>, out: fn() -> Box<dyn Write>) {
    for said in lines {
        match said {
            Said::Line(line) => {
                let mut out = out();
                // Nobody reads it: nothing is to be done about that.
                out.write_all(&line).ok();
                let lost = LOST.swap(0, Ordering::Relaxed);
                if lost > 0 {
                    writeln!(out, "{lost} lines of the log were lost: it was written too slowly")
                        .ok();
                }
            }
            Said::Mark(written) => drop(written.try_send(())),
        }
    }
}
