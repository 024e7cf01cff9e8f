//! A disk that blocks on demand: an ext4 of its own on a loop device, frozen like a snapshot of the
//! disk below would freeze it. A process that writes to it blocks, and cannot even be killed.

use std::path::{Path, PathBuf};
use std::process::Command;

use rustix::fs::{FallocateFlags, fallocate};
use tempfile::TempDir;

/// The disk. Dropped, it goes on, and is removed.
pub struct BlockingDisk {
    folder: TempDir,
    mount: PathBuf,
}

fn done(program: &str, args: &[&Path]) -> Result<(), String> {
    let output = Command::new(program).args(args).output();
    let output = output.map_err(|error| format!("{program}: {error}"))?;
    let why = String::from_utf8_lossy(&output.stderr).into_owned();
    if output.status.success() { Ok(()) } else { Err(format!("{program}: {}", why.trim())) }
}

impl BlockingDisk {
    /// One of 64 MiB.
    ///
    /// # Panics
    /// This machine does not have it: what is missing is named.
    pub fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let mount = folder.path().join("disk");
        std::fs::create_dir(&mount).unwrap();
        let image = folder.path().join("image");
        std::fs::File::create(&image).unwrap().set_len(64 << 20).unwrap();
        let (quiet, looped) = (Path::new("-q"), Path::new("-oloop"));
        let mounted = done("mkfs.ext4", &[quiet, &image])
            .and_then(|()| done("mount", &[looped, &image, &mount]));
        if let Err(lacks) = mounted {
            panic!("missing: root, mkfs.ext4 and loop mounts, for a disk that blocks: {lacks}");
        }
        Self { folder, mount }
    }

    /// A folder on it.
    pub fn folder(&self, name: &str) -> PathBuf {
        self.mount.join(name)
    }

    /// Leaves no room on it, until the file that takes it is removed.
    pub fn fill(&self) -> PathBuf {
        let path = self.mount.join("full");
        let (file, mut length) = (std::fs::File::create(&path).unwrap(), 0);
        // The last blocks go one by one.
        for size in [1 << 20, 4096] {
            while fallocate(&file, FallocateFlags::empty(), length, size).is_ok() {
                length += size;
            }
        }
        file.sync_all().unwrap();
        path
    }

    /// From now on it takes nothing.
    pub fn block(&self) {
        done("fsfreeze", &[Path::new("-f"), &self.mount]).unwrap();
    }

    /// It goes on.
    pub fn go_on(&self) {
        done("fsfreeze", &[Path::new("-u"), &self.mount]).unwrap();
    }
}

impl Drop for BlockingDisk {
    fn drop(&mut self) {
        // Where it is not frozen, there is nothing to thaw.
        done("fsfreeze", &[Path::new("-u"), &self.mount]).ok();
        // What is left of a failed run may still have a file open.
        if let Err(why) = done("umount", &[Path::new("-l"), &self.mount]) {
            eprintln!("{}: {why}", self.folder.path().display());
        }
    }
}
