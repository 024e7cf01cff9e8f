//! The ownership of a file.

use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;

/// Whether a file or folder belongs to the user who runs this process, and no other user may write
/// to it.
#[must_use]
pub fn is_ours_alone(found: &Metadata) -> bool {
    found.uid() == rustix::process::geteuid().as_raw() && found.mode() & 0o022 == 0
}
