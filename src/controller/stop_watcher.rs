//! Notices every stop and every waking of a member, whoever caused it.
//!
//! The kernel tells a parent that a child was stopped, and not when. So it is asked again and
//! again: what one look finds and the look before did not find happened between the two, and the
//! journal has both instants.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{Builder, JoinHandle};
use std::time::Duration;

use super::{Phase, Process, Recorder, Slot};
use crate::observation::What;
use crate::time::Mono;

/// How often the kernel is asked where it is measured what a fault costs: a gap has two ends, and
/// is to be known within two milliseconds.
pub const LOOK_CLOSELY: Duration = Duration::from_micros(300);
/// How often where nobody is stopped on purpose, and all the time: to look closely takes a
/// thirtieth of a core.
pub const LOOK_NOW_AND_THEN: Duration = Duration::from_millis(5);

/// A running watch; it ends when dropped.
pub(super) struct StopWatcher {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl StopWatcher {
    /// Watches whoever lives in these slots, asking this often.
    ///
    /// # Errors
    /// The system refuses a thread.
    pub(super) fn watch(
        slots: Vec<Arc<Slot>>,
        record: Arc<Recorder>,
        look: Duration,
    ) -> io::Result<Self> {
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        let thread = Builder::new().name("stop_watcher".to_owned()).spawn(move || {
            let mut before = Mono::now();
            while !stopped.load(Ordering::Relaxed) {
                let now = Mono::now();
                // One call for all of them: this thread wakes often.
                if Process::any_halted() {
                    slots.iter().for_each(|slot| look_at(slot, before, &record));
                }
                before = now;
                std::thread::sleep(look);
            }
        })?;
        Ok(Self { stop, thread: Some(thread) })
    }
}

/// Notes what has changed since the look that began at `before`, or since a signal was sent.
fn look_at(slot: &Slot, before: Mono, record: &Recorder) {
    let Some(process) = slot.process() else { return };
    while let Some(stopped) = process.halted() {
        let life = slot.life();
        let what = if stopped { What::Stopped } else { What::Continued };
        record.note_at(before.max(slot.signalled()), Some(&life), What::NotYet);
        let at = record.note(Some(&life), what);
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
