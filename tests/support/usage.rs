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

/// Watches processes for so long.
pub fn watch(pids: &[u32], lasts: Duration) -> Vec<Usage> {
    let began = Mono::now();
    let before: Vec<_> = pids.iter().map(|pid| cpu(*pid)).collect();
    std::thread::sleep(lasts);
    let seconds = Mono::now().since(began).as_secs_f64();
    let usage = |(pid, before): (&u32, Duration)| Usage {
        core_percent: (cpu(*pid).saturating_sub(before)).as_secs_f64() / seconds * 100.0,
        resident_mib: resident(*pid),
    };
    pids.iter().zip(before).map(usage).collect()
}

/// The time that all threads of a process have run.
fn cpu(pid: u32) -> Duration {
    let threads = fs::read_dir(format!("/proc/{pid}/task")).unwrap();
    let ran = threads.map(|thread| {
        let stat = fs::read_to_string(thread.unwrap().path().join("schedstat"));
        let stat = stat.unwrap_or_default();
        stat.split(' ').next().and_then(|ns| ns.parse().ok()).map_or(Duration::ZERO, ns)
    });
    ran.sum()
}

fn ns(number: u64) -> Duration {
    Duration::from_nanos(number)
}

fn resident(pid: u32) -> f64 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap();
    let kib: u32 = line.split_whitespace().nth(1).unwrap().parse().unwrap();
    f64::from(kib) / 1024.0
}
