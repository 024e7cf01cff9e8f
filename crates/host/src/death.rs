//! How long the kernel takes to end a process.

use std::time::Duration;

/// How long a process may take to be gone after SIGKILL, at most.
///
/// It takes milliseconds. But a process that ends gives back each file that it has mapped, its
/// program and its libraries among them, and waits for the kernel's lock on that file
/// (`unlink_file_vma_batch_process`) behind all others that have mapped it. Where many processes
/// start and end and the processors are busy, one was seen to wait for eleven seconds (Linux 6.18).
pub const DEATH: Duration = Duration::from_secs(30);
