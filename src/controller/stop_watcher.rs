//! Records each time a member's process stops or continues (SIGSTOP, SIGCONT), for any reason.
//!
//! The kernel reports to a parent that a child was stopped, but not when. So a thread polls: a
//! change happened between two looks, and the journal has both instants.

use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{Builder, JoinHandle};
use std::time::Duration;

use super::{Phase, Process, Recorder, Slot};
use crate::observation::RunEvent;
use crate::time::Mono;

/// The polling interval of an experiment. The two ends of a gap must be known within two
/// milliseconds together.
pub const LOOK_CLOSELY: Duration = Duration::from_micros(300);
/// The polling interval of `tandem up`, while no experiment stops a member. The closer interval
/// would take a thirtieth of a core, all the time.
pub const LOOK_NOW_AND_THEN: Duration = Duration::from_millis(5);

/// The slots in which stops are looked for.
pub(super) type Watched = Arc<Mutex<Vec<Arc<Slot>>>>;

/// A running watcher. Dropping it ends the thread.
pub(super) struct StopWatcher {
    stop: Arc<AtomicBool>,
    /// The polling interval, in nanoseconds.
    look: Arc<AtomicU64>,
    thread: Option<JoinHandle<()>>,
}

impl StopWatcher {
    /// Watches the processes in these slots, polling every `look`.
    ///
    /// # Errors
    /// The thread cannot be started.
    pub(super) fn watch(
        watched: Watched,
        record: Arc<Recorder>,
        look: Duration,
    ) -> io::Result<Self> {
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        let look = Arc::new(AtomicU64::new(nanos(look)));
        let pause = Arc::clone(&look);
        let thread = Builder::new().name("stop_watcher".to_owned()).spawn(move || {
            let mut before = Mono::now();
            while !stopped.load(Ordering::Relaxed) {
                let now = Mono::now();
                // One system call for all members, because this thread wakes often.
                if Process::any_halted() {
                    let slots = watched.lock().unwrap_or_else(PoisonError::into_inner).clone();
                    slots.iter().for_each(|slot| look_at(slot, before, &record));
                }
                before = now;
                std::thread::sleep(Duration::from_nanos(pause.load(Ordering::Relaxed)));
            }
        })?;
        Ok(Self { stop, look, thread: Some(thread) })
    }

    /// Polls every `look` from now on.
    pub(super) fn look_each(&self, look: Duration) {
        self.look.store(nanos(look), Ordering::Relaxed);
    }
}

fn nanos(look: Duration) -> u64 {
    u64::try_from(look.as_nanos()).unwrap_or(u64::MAX)
}

/// Records what has changed since the look that began at `before`, or since the last signal.
fn look_at(slot: &Slot, before: Mono, record: &Recorder) {
    let Some(process) = slot.process() else { return };
    while let Some(stopped) = process.halted() {
        let life = slot.life();
        let event = if stopped { RunEvent::Stopped } else { RunEvent::Continued };
        record.note_at(before.max(slot.signalled()), Some(&life), RunEvent::NotYet);
        let at = record.note(Some(&life), event);
        slot.turn(at, if stopped { Phase::Stopped } else { Phase::Running });
    }
}

impl Drop for StopWatcher {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            thread.join().ok();
        }
    }
}
