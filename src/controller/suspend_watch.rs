//! A thread that records each suspend of the host, because nothing is observed during a suspend.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{Builder, JoinHandle};
use std::time::Duration;

use super::Recorder;
use crate::observation::RunEvent;
use crate::time::Suspends;

/// The polling interval. Up to this much time before a suspend may be unknown as well.
const LOOK: Duration = Duration::from_millis(50);

/// A running watch. Dropping it ends the thread.
pub struct SuspendWatch {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl SuspendWatch {
    /// Starts it.
    ///
    /// # Errors
    /// The thread cannot be started.
    pub fn start(record: Arc<Recorder>) -> io::Result<Self> {
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        let mut suspends = Suspends::watch();
        let thread = Builder::new().name("suspends".to_owned()).spawn(move || {
            while !stopped.load(Ordering::Relaxed) {
                std::thread::sleep(LOOK);
                if let Some((from, until)) = suspends.look() {
                    record.note(None, RunEvent::Suspended { from, until });
                }
            }
        })?;
        Ok(Self { stop, thread: Some(thread) })
    }
}

impl Drop for SuspendWatch {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            thread.join().ok();
        }
    }
}
