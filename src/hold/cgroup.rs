//! A cgroup of its own for a command. The kernel knows all processes in it, however far they have
//! detached themselves, and kills them at one blow. The next life of a `tandem hold` finds there
//! what an earlier one has left.
//!
//! ```text
//!  own cgroup: tandem hold, keeper
//!    +- tandem-hold-PID-SINCE: the command, and all that it starts
//! ```
//!
//! Only cgroup v2 can do this (`cgroup.kill` is as old as Linux 5.14), and only where this process
//! may make a cgroup below its own: root may, and a unit of systemd with `Delegate=`.

use std::ffi::OsStr;
use std::fmt;
use std::fs::{self, OpenOptions};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::io::Errno;

use crate::guard::Identity;

/// What the name of such a cgroup begins with.
const PREFIX: &str = "tandem-hold-";

/// The cgroup of a command; it may not exist.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cgroup(PathBuf);

/// Why a command has no cgroup of its own.
#[derive(Debug, thiserror::Error)]
pub enum NoCgroup {
    /// There is no cgroup v2 that this process can reach.
    #[error("no cgroup v2 is mounted where this process is")]
    Absent,
    /// The system refuses it.
    #[error("{path} cannot be used")]
    Refused {
        /// The file.
        path: PathBuf,
        /// The system's error.
        #[source]
        source: io::Error,
    },
}

impl NoCgroup {
    fn refused(path: &Path) -> impl FnOnce(io::Error) -> Self {
        |source| Self::Refused { path: path.to_owned(), source }
    }
}

impl Cgroup {
    /// One below that of this process, which does not exist yet, and is this life's alone until the
    /// next boot.
    ///
    /// # Errors
    /// No cgroup v2 is mounted here.
    pub(super) fn planned() -> Result<Self, NoCgroup> {
        let Identity { pid, since } = Identity::own();
        let own = own().ok_or(NoCgroup::Absent)?;
        Ok(Self(own.join(format!("{PREFIX}{pid}-{since}"))))
    }

    /// The one at this path, if that is the path of one.
    pub(super) fn at(path: &[u8]) -> Option<Self> {
        let path = Path::new(OsStr::from_bytes(path));
        let is_ours = path.file_name()?.as_bytes().starts_with(PREFIX.as_bytes());
        (is_ours && path.is_absolute()).then(|| Self(path.to_owned()))
    }

    /// Its folder.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// Makes it, unless it is there.
    ///
    /// # Errors
    /// The system refuses it, or a process cannot be moved there, or the kernel is too old to kill
    /// it.
    pub(super) fn make(&self) -> Result<(), NoCgroup> {
        match fs::create_dir(&self.0) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(NoCgroup::refused(&self.0)(error)),
        }
        let usable = self.usable();
        if usable.is_err() {
            self.remove();
        }
        usable
    }

    /// Who moves a process must be allowed to write to the parent's file as well: cgroups(7),
    /// "Delegation Containment".
    fn usable(&self) -> Result<(), NoCgroup> {
        let of_parent = self.0.parent().map(|parent| parent.join("cgroup.procs"));
        let files = [self.file("cgroup.procs"), self.file("cgroup.kill")];
        for file in files.into_iter().chain(of_parent) {
            let opened = OpenOptions::new().write(true).open(&file);
            opened.map_err(NoCgroup::refused(&file))?;
        }
        Ok(())
    }

    fn file(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    /// Moves this process there.
    ///
    /// # Errors
    /// The system refuses it.
    pub(super) fn enter(&self) -> io::Result<()> {
        fs::write(self.file("cgroup.procs"), "0")
    }

    /// Sends SIGKILL to all processes in it, also to those that are just being forked.
    ///
    /// # Errors
    /// The system refuses it.
    pub(super) fn kill(&self) -> io::Result<()> {
        match fs::write(self.file("cgroup.kill"), "1") {
            Err(error) if is_gone(&error) => Ok(()),
            done => done,
        }
    }

    /// Whether no process is in it, or below. What cannot be read is not known to be empty.
    pub(super) fn is_empty(&self) -> bool {
        match fs::read(self.file("cgroup.events")) {
            Ok(events) => lines(&events).any(|line| line == b"populated 0"),
            Err(error) => is_gone(&error),
        }
    }

    /// Whether this process is in it, or below.
    pub(super) fn has_this_process(&self) -> bool {
        own().is_some_and(|own| own.starts_with(&self.0))
    }

    /// The processes in it, without those below.
    pub(super) fn pids(&self) -> Vec<u32> {
        let listed = fs::read(self.file("cgroup.procs")).unwrap_or_default();
        let pid = |line: &[u8]| std::str::from_utf8(line).ok()?.parse().ok();
        lines(&listed).filter_map(pid).collect()
    }

    /// Removes it, and what its command has made below it, if all of them are empty.
    pub(super) fn remove(&self) {
        remove(&self.0);
    }
}

impl fmt::Display for Cgroup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.display().fmt(f)
    }
}

/// For the command line of a keeper, which passes on what it was given.
impl From<PathBuf> for Cgroup {
    fn from(path: PathBuf) -> Self {
        Self(path)
    }
}

/// A file of a cgroup that was removed while it was open reads as ENODEV.
fn is_gone(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::NotFound
        || error.raw_os_error() == Some(Errno::NODEV.raw_os_error())
}

fn remove(folder: &Path) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            remove(&entry.path());
        }
    }
    if let Err(error) = fs::remove_dir(folder)
        && !is_gone(&error)
    {
        tracing::debug!(%error, folder = %folder.display(), "A cgroup cannot be removed.");
    }
}

/// The folder of this process's own cgroup, where that is mounted and lists this process.
fn own() -> Option<PathBuf> {
    let cgroup = fs::read("/proc/self/cgroup").ok()?;
    let mounts = fs::read("/proc/self/mountinfo").ok()?;
    let me = std::process::id().to_string();
    let lists_me = |folder: &PathBuf| {
        let listed = fs::read(folder.join("cgroup.procs")).unwrap_or_default();
        lines(&listed).any(|line| line == me.as_bytes())
    };
    folders(&cgroup, &mounts).into_iter().find(lists_me)
}

/// Where the cgroup v2 of a process may be, by `/proc/PID/cgroup` and `/proc/PID/mountinfo`; see
/// cgroups(7) and proc_pid_mountinfo(5).
fn folders(cgroup: &[u8], mounts: &[u8]) -> Vec<PathBuf> {
    let Some(inside) = lines(cgroup).find_map(|line| line.strip_prefix(b"0::")) else {
        return Vec::new();
    };
    let folder = |line: &[u8]| {
        let ends = line.windows(SEPARATOR.len()).position(|part| part == SEPARATOR)?;
        let (fields, kind) = (line.get(..ends)?, line.get(ends + SEPARATOR.len()..)?);
        kind.starts_with(b"cgroup2 ").then_some(())?;
        let mut fields = fields.split(|byte| *byte == b' ').skip(3).map(path);
        let (root, point) = (fields.next()?, fields.next()?);
        let below = path(inside).strip_prefix(root).ok()?.to_owned();
        Some(point.join(below))
    };
    lines(mounts).filter_map(folder).collect()
}

/// Between the fields of a mount and its kind.
const SEPARATOR: &[u8] = b" - ";

fn lines(bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    bytes.split(|byte| *byte == b'\n').filter(|line| !line.is_empty())
}

fn path(bytes: &[u8]) -> &Path {
    Path::new(OsStr::from_bytes(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_folder_follows_from_the_mount_and_what_it_shows() {
        let all = |cgroup: &str, mount: &str| {
            let found = folders(cgroup.as_bytes(), mount.as_bytes());
            found.iter().map(|path| path.display().to_string()).collect::<Vec<_>>()
        };
        let unified = "25 30 0:22 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw";
        assert_eq!(all("0::/\n", unified), ["/sys/fs/cgroup/"]);
        let unit = "0::/system.slice/a.service\n";
        assert_eq!(all(unit, unified), ["/sys/fs/cgroup/system.slice/a.service"]);
        // Beside hierarchies of version 1.
        let hybrid = "32 31 0:29 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n\
                      41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw";
        assert_eq!(all("3:cpu:/x\n0::/y\n", hybrid), ["/sys/fs/cgroup/unified/y"]);
        assert_eq!(all("3:cpu:/x\n", hybrid), [""; 0]);
        // A mount that shows only a part, which has this process or not.
        let part = "41 31 0:38 /pods/7 /sys/fs/cgroup ro - cgroup2 cgroup ro";
        assert_eq!(all("0::/pods/7/c\n", part), ["/sys/fs/cgroup/c"]);
        assert_eq!(all("0::/pods/8\n", part), [""; 0]);
    }

    #[test]
    fn only_a_cgroup_of_a_command_is_read_from_a_file() {
        assert!(Cgroup::at(b"/sys/fs/cgroup/x/tandem-hold-7-1234").is_some());
        assert!(Cgroup::at(b"/sys/fs/cgroup/\xff/tandem-hold-7-1234").is_some());
        for other in ["", "/", "/sys/fs/cgroup/user.slice", "tandem-hold-7-1234"] {
            assert_eq!(Cgroup::at(other.as_bytes()), None, "{other}");
        }
    }
}
