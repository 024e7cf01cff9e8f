//! How long a thread was runnable and waited for a processor, as the kernel counts.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::time::Duration;

use super::Mono;

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

/// From when on a thread ran late that went to sleep at `asleep` and ran again at `until`. Of what
/// it has waited for a processor since the last look, a part may lie before its sleep: a thread
/// that is preempted while it works is as late as one that wakes late.
#[must_use]
pub fn late_since(asleep: Mono, until: Mono, waited_ns: Option<u64>) -> Mono {
    asleep.min(until - Duration::from_nanos(waited_ns.unwrap_or_default()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_that_was_preempted_before_its_sleep_is_late_since_then() {
        let ms = |ms: u64| Mono(ms * 1_000_000);
        // As measured: 137 ms without a processor, of which 27 ms were in the sleep.
        assert_eq!(late_since(ms(867), ms(894), Some(137_000_000)), ms(757));
        assert_eq!(late_since(ms(867), ms(894), Some(15_000_000)), ms(867), "within its sleep");
        assert_eq!(late_since(ms(867), ms(894), None), ms(867));
    }
}
