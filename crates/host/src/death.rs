//! How long the kernel takes to end a process.

use std::time::Duration;

/// How long a process may take to be gone after SIGKILL.
///
/// It takes milliseconds. But a process that ends gives back its memory, and waits for the locks of
/// the kernel on what it shares with others: the files that it has mapped, and the pages since a
/// fork. A task that looks for all users of a page holds such a lock, and may wait for a processor
/// meanwhile. On a host whose kernel watches the use of memory (DAMON, Linux 6.18) and whose
/// processors were busy, the last thread of a killed process waited for eleven seconds
/// (`unlink_file_vma_batch_process`, `unlink_anon_vmas`), and `kdamond` was runnable in
/// `rmap_walk_anon`.
pub const DEATH: Duration = Duration::from_secs(30);
