//! How long a thread was runnable and waited for a processor, as the kernel counts.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::time::Duration;

/// A thread that wakes this much later than it asked to is late. Shorter delays are noise and are
/// not recorded.
pub const LATE_LEAST: Duration = Duration::from_millis(25);

/// The run delay of one thread: the time that it has waited for a processor since it started.
/// Reading it costs about a microsecond.
#[derive(Debug)]
pub struct RunDelay(Option<File>);

impl RunDelay {
    /// The run delay of the calling thread.
    #[must_use]
    pub fn of_this_thread() -> Self {
        // Kernels without schedstats do not have this file.
        Self(File::open("/proc/thread-self/schedstat").ok())
    }

    /// The total wait so far; none if the kernel does not report it.
    #[must_use]
    pub fn read(&self) -> Option<Duration> {
        let mut text = [0; 64];
        let length = self.0.as_ref()?.read_at(&mut text, 0).ok()?;
        let text = std::str::from_utf8(text.get(..length)?).ok()?;
        // Documentation/scheduler/sched-stats.rst: time on a processor, time spent waiting, slices.
        text.split_whitespace().nth(1)?.parse().ok().map(Duration::from_nanos)
    }

    /// The wait since `last`, in nanoseconds. Updates `last` to the total wait so far.
    pub fn since(&self, last: &mut Option<Duration>) -> Option<u64> {
        let now = self.read();
        let waited = now?.saturating_sub(std::mem::replace(last, now)?);
        u64::try_from(waited.as_nanos()).ok()
    }
}
