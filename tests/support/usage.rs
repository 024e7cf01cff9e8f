//! What processes take of the machine, as the kernel counts it.

use std::fs;
use std::time::Duration;

use tandem::time::Mono;

/// What one process took while it was watched.
#[derive(Debug, Clone, Copy)]
pub struct Usage {
    /// Of one core, in percent.
    pub core_percent: f64,
    /// Resident memory, in MiB.
    pub resident_mib: f64,
}

/// Watches processes, all of which live on, for so long.
pub fn watch(pids: &[u32], lasts: Duration) -> Vec<Usage> {
    let used = watch_survivors(pids, lasts);
    assert_eq!(used.len(), pids.len(), "all of {pids:?} still run");
    used
}

/// Watches processes for so long; what those took that are still there.
pub fn watch_survivors(pids: &[u32], lasts: Duration) -> Vec<Usage> {
    let began = Mono::now();
    let before: Vec<_> = pids.iter().filter_map(|pid| Some((*pid, cpu(*pid)?))).collect();
    std::thread::sleep(lasts);
    let seconds = Mono::now().since(began).as_secs_f64();
    let usage = |(pid, before): (u32, Duration)| {
        let ran = cpu(pid)?.saturating_sub(before).as_secs_f64();
        Some(Usage { core_percent: ran / seconds * 100.0, resident_mib: resident(pid)? })
    };
    before.into_iter().filter_map(usage).collect()
}

/// The time that all threads of a process have run; nothing where it is gone.
fn cpu(pid: u32) -> Option<Duration> {
    let threads = fs::read_dir(format!("/proc/{pid}/task")).ok()?;
    let ran = threads.map(|thread| {
        let stat = thread.and_then(|thread| fs::read_to_string(thread.path().join("schedstat")));
        let stat = stat.unwrap_or_default();
        stat.split(' ').next().and_then(|ns| ns.parse().ok()).map_or(Duration::ZERO, ns)
    });
    Some(ran.sum())
}

fn ns(number: u64) -> Duration {
    Duration::from_nanos(number)
}

fn resident(pid: u32) -> Option<f64> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    // A process that has died and was not waited for has none.
    let line = status.lines().find(|line| line.starts_with("VmRSS:"))?;
    let kib: u32 = line.split_whitespace().nth(1)?.parse().ok()?;
    Some(f64::from(kib) / 1024.0)
}
