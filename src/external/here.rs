//! The clock domain of this process.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;

use crate::observation::ClockDomain;

/// The clock domain of this process.
///
/// # Errors
/// The kernel does not say which boot this is.
pub fn clock_domain() -> io::Result<ClockDomain> {
    let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id")?.trim().to_owned();
    // Before Linux 5.6 there are no time namespaces.
    let time_namespace = fs::metadata("/proc/self/ns/time").map_or(0, |file| file.ino());
    Ok(ClockDomain { boot, time_namespace })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processes_of_one_boot_have_one_clock() {
        let here = clock_domain().unwrap();
        assert_eq!(here.boot.len(), 36, "{here}");
        assert_eq!(here, clock_domain().unwrap());
    }
}
