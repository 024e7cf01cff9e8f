//! The canary: a thread that only sleeps and wakes. When it wakes late, the host did not schedule
//! it, and the delay is recorded as a stall beside all measurements of that time.
//!
//! It also samples who uses the processors, to distinguish stalls that the run itself causes from
//! those caused by other load.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{Builder, JoinHandle};
use std::time::Duration;

use super::Recorder;
use super::processors::Processors;
use crate::guard::Children;
use crate::observation::RunEvent;
use crate::time::{LATE_LEAST, Mono, RunDelay, late_since};

const SLEEP: Duration = Duration::from_millis(5);

/// A running canary. Dropping it ends the thread.
pub struct Canary {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Canary {
    /// Starts it for a run with the processes `children`. With `deployed`, the CPU time of the
    /// brokers that `deploy/kafka/up` started counts as the run's own.
    ///
    /// # Errors
    /// The thread cannot be started.
    pub fn start(
        record: Arc<Recorder>,
        children: Arc<Children>,
        deployed: bool,
    ) -> io::Result<Self> {
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        let thread = Builder::new().name("canary".to_owned()).spawn(move || {
            let mut processors = Processors::new(children, deployed);
            let delay = RunDelay::of_this_thread();
            let mut waited = delay.read();
            while !stopped.load(Ordering::Relaxed) {
                let asleep = Mono::now();
                std::thread::sleep(SLEEP);
                let until = Mono::now();
                let waited_ns = delay.since(&mut waited);
                let from = late_since(asleep, until, waited_ns);
                let late = until.since(from) > LATE_LEAST;
                if late {
                    record.note(None, RunEvent::Stall { from, until, waited_ns });
                }
                if (late || processors.is_due(until))
                    && let Some(used) = processors.look(late)
                {
                    record.note(None, used);
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
