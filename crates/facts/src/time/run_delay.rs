//! For how long a thread could run and waited for a processor, as the kernel counts.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::time::Duration;

/// A thread that wakes so much later than it asked to ran late; less is noise, and is not noted.
pub const LATE_LEAST: Duration = Duration::from_millis(25);

/// The run delay of one thread: what it has waited for a processor since it began. To read it costs
/// about a microsecond.
#[derive(Debug)]
pub struct RunDelay(Option<File>);

impl RunDelay {
    /// Of the thread that calls this.
    #[must_use]
    pub fn of_this_thread() -> Self {
        // Some kernels do not count; the file is then missing.
        Self(File::open("/proc/thread-self/schedstat").ok())
    }

    /// All that it has waited so far; nothing where the kernel does not say.
    #[must_use]
    pub fn read(&self) -> Option<Duration> {
        let mut text = [0; 64];
        let length = self.0.as_ref()?.read_at(&mut text, 0).ok()?;
        let text = std::str::from_utf8(text.get(..length)?).ok()?;
        // Documentation/scheduler/sched-stats.rst: time on a processor, time spent waiting, slices.
        text.split_whitespace().nth(1)?.parse().ok().map(Duration::from_nanos)
    }

    /// What it has waited since `last`, in nanoseconds, which is then what it has waited so far.
    pub fn since(&self, last: &mut Option<Duration>) -> Option<u64> {
        let now = self.read();
        let waited = now?.saturating_sub(std::mem::replace(last, now)?);
        u64::try_from(waited.as_nanos()).ok()
    }
}
