//! The program of this process, for further processes of it.

use std::ffi::OsStr;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::Command;

/// The file that this process runs: proc_pid_exe(5). It is that file also where an upgrade has put
/// another one in its place, or removed it.
const OWN: &str = "/proc/self/exe";
/// How the program is called. What is started as [`OWN`] would be called `exe`.
const NAME: &str = "tandem";

/// The program of this process, as it was started. Only this process and its children may use the
/// path: to others it is another file.
#[must_use]
pub fn own_program() -> PathBuf {
    PathBuf::from(OWN)
}

/// A command that starts `program`, the `tandem` binary, under its name.
pub fn tandem(program: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new(program);
    command.arg0(NAME);
    command
}

/// Gives this process the name by which `ps` and `pgrep` show it, also where it was started as
/// `/proc/self/exe`.
pub fn take_name() {
    // The name is for people only.
    rustix::thread::set_name(c"tandem").ok();
}
