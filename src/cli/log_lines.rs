//! Writes the log on a thread of its own, so that logging never blocks, even if standard error is a
//! file on a blocked disk or a stopped terminal.

use std::io::{self, Write};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::time::Duration;

/// How many lines may wait; further lines are lost, and counted.
const WAITING: usize = 4_096;
/// How long the last lines may take.
const FLUSH: Duration = Duration::from_secs(1);

/// Warnings and errors.
pub(super) const ALL: &str = "warn";
/// The same, without those of the Kafka client: a command says what they mean in its own words.
pub(super) const OWN: &str = "warn,tandem_member::kafka::log=off";

static LINES: OnceLock<SyncSender<Message>> = OnceLock::new();
static LOST: AtomicU64 = AtomicU64::new(0);

enum Message {
    Line(Vec<u8>),
    /// Answered when everything before it is written.
    Mark(SyncSender<()>),
}

/// Starts the thread. It writes each line to what `out` returns at that time. If no thread can be
/// started, lines are written directly.
pub(super) fn start(out: fn() -> Box<dyn Write>) {
    let (sender, lines) = sync_channel(WAITING);
    let thread = std::thread::Builder::new().name("log".to_owned());
    if thread.spawn(move || write_all(&lines, out)).is_ok() {
        LINES.set(sender).ok();
    }
}

/// The writer for one line.
pub(super) fn line() -> Box<dyn Write> {
    match LINES.get() {
        Some(_) => Box::new(Line),
        None => Box::new(super::console::err()),
    }
}

/// Prints a line, in order with the log.
pub(super) fn say(text: &str) {
    // A closed standard error is not an error.
    line().write_all(format!("{text}\n").as_bytes()).ok();
}

/// Waits until all lines so far are written, for at most a second.
pub(super) fn finish() {
    let Some(lines) = LINES.get() else { return };
    let (written, done) = sync_channel(1);
    // If the queue is full, nothing is being written.
    if lines.try_send(Message::Mark(written)).is_ok() {
        done.recv_timeout(FLUSH).ok();
    }
}

struct Line;

impl Write for Line {
    /// The formatter passes whole lines.
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        let lines = LINES.get();
        if lines.is_none_or(|lines| lines.try_send(Message::Line(line.to_owned())).is_err()) {
            LOST.fetch_add(1, Ordering::Relaxed);
        }
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn write_all(lines: &Receiver<Message>, out: fn() -> Box<dyn Write>) {
    for message in lines {
        match message {
            Message::Line(line) => {
                let mut out = out();
                // A closed standard error is not an error.
                out.write_all(&line).ok();
                let lost = LOST.swap(0, Ordering::Relaxed);
                if lost > 0 {
                    writeln!(out, "{lost} lines of the log were lost: it was written too slowly")
                        .ok();
                }
            }
            Message::Mark(written) => drop(written.try_send(())),
        }
    }
}
