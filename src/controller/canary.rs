//! A thread that does nothing but wake: when it wakes late, the host did not let anybody run, and
//! whatever was measured then is shown with that stall beside it.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{Builder, JoinHandle};
use std::time::Duration;

use super::Record;
use crate::observation::What;
use crate::time::Mono;

const SLEEP: Duration = Duration::from_millis(5);
/// Waking later than this after falling asleep is a stall.
const STALL: Duration = Duration::from_millis(25);

/// A running canary; it ends when dropped.
pub struct Canary {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Canary {
    /// Starts it.
    ///
    /// # Errors
    /// The system refuses a thread.
    pub fn start(record: Arc<Record>) -> io::Result<Self> {
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        let thread = Builder::new().name("canary".to_owned()).spawn(move || {
            while !stopped.load(Ordering::Relaxed) {
                let from = Mono::now();
                std::thread::sleep(SLEEP);
                let until = Mono::now();
                if until.since(from) > STALL {
                    record.note(None, What::Stall { from, until });
                }
            }
        })?;
        Ok(Self { stop, thread: Some(thread) })
    }
}

impl Drop for Canary {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            thread.join().ok();
        }
    }
}
