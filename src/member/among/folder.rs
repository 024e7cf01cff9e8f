//! The folder that the members of a group have in common.

use std::fs::{DirBuilder, File, TryLockError};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use super::VotesError;
use crate::ids::MemberId;

/// How often a second process with the same name looks whether the first has ended.
const LOOK: Duration = Duration::from_millis(50);

/// The folder, held open, and whose it is here.
pub(super) struct Folder {
    path: PathBuf,
    open: File,
    member: MemberId,
}

impl Folder {
    /// Opens the folder, and creates it if it is missing.
    pub(super) fn make(path: &Path, member: &MemberId) -> Result<Self, VotesError> {
        let refused = |source| VotesError::Folder { path: path.to_owned(), source };
        DirBuilder::new().recursive(true).mode(0o700).create(path).map_err(refused)?;
        let open = File::open(path).map_err(refused)?;
        Ok(Self { path: path.to_owned(), open, member: member.clone() })
    }

    /// Waits until no other process has this member's name, and holds it until the file is closed;
    /// none if the member `leaves` before.
    pub(super) fn lock(&self, leaves: &AtomicBool) -> Result<Option<File>, VotesError> {
        let path = self.path.join(format!("{}.lock", self.member));
        let refused = |source| VotesError::Folder { path: path.clone(), source };
        let file = File::create(&path).map_err(refused)?;
        let mut waits = false;
        loop {
            match file.try_lock() {
                Ok(()) => return Ok(Some(file)),
                Err(TryLockError::WouldBlock) if leaves.load(Ordering::Relaxed) => return Ok(None),
                Err(TryLockError::WouldBlock) => {
                    if !std::mem::replace(&mut waits, true) {
                        let member = &self.member;
                        tracing::warn!(%member, "Another process has this name; this one waits.");
                    }
                    thread::sleep(LOOK);
                }
                Err(TryLockError::Error(source)) => return Err(refused(source)),
            }
        }
    }

    /// The file with the member's votes.
    pub(super) fn votes(&self) -> PathBuf {
        self.path.join(format!("{}.votes", self.member))
    }

    /// A path to the socket of a member through the folder's descriptor: the kernel takes 107 bytes
    /// for a socket's path, and that of a folder may be longer.
    pub(super) fn socket(&self, member: &MemberId) -> PathBuf {
        PathBuf::from(format!("/proc/self/fd/{}/{member}.sock", self.open.as_raw_fd()))
    }

    /// The member.
    pub(super) fn member(&self) -> &MemberId {
        &self.member
    }

    /// The same folder, held open once more.
    pub(super) fn again(&self) -> io::Result<Self> {
        let open = self.open.try_clone()?;
        Ok(Self { path: self.path.clone(), open, member: self.member.clone() })
    }

    /// Lets the folder's entries reach the disk.
    pub(super) fn sync(&self) -> io::Result<()> {
        self.open.sync_all()
    }
}
