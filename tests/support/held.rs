//! `tandem hold` as a process, on a broker that stands alone, and commands that notice it when two
//! of them run at a time.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;

use rustix::process::Signal;
use tandem::guard::Identity;
use tandem::ids::PartitionId;
use tandem::time::Mono;

use super::alone::Alone;
use super::described::stable;
use super::experiment::{eventually, signal_pid};
use super::memory::{self, Folder};
use super::waiting::eventually_ok;

/// Nothing here takes longer, however loaded the machine.
pub const SOON: Duration = Duration::from_secs(60);
/// An exclusive group that a host cannot disturb by stopping any process for two seconds: claims
/// outlast that, and so do promises; two such stops of a keeper within ten seconds make it decline
/// the third start. A member that gives a role back waits for the hold.
pub const PATIENT: &str = "mode: exclusive, session: 30s, heartbeat: 300ms, hold: 3s";

/// A broker, a topology of one group on it, and a folder for what the commands write.
pub struct Stage {
    pub broker: Alone,
    folder: Folder,
    /// Whether `tandem hold` may make cgroups.
    has_cgroups: bool,
    /// From SIGTERM to SIGKILL, if not as usual.
    grace: Option<&'static str>,
    /// If it is not the one that is tested.
    program: Option<PathBuf>,
    /// A signal that is ignored where it is started.
    ignored: Option<&'static str>,
}

/// Becomes a program that finds all cgroups read-only. The process stays the same.
const WITHOUT_CGROUPS: &str = "for at in $(awk '$3 == \"cgroup2\" {print $2}' /proc/mounts); do \
     mount -o remount,bind,ro \"$at\"; done; exec \"$@\"";

/// `tandem hold`; killed with this value, and its keeper then ends what it kept.
pub struct Hold {
    child: Child,
}

impl Stage {
    /// One exclusive group `p1` with the roles `r` and `s`, on one partition. The session is long
    /// enough for a busy host.
    pub fn exclusive() -> Self {
        Self::new("mode: exclusive, session: 3s, hold: 1500ms")
    }

    /// The same with other settings of the group. What it writes is in memory: a disk may take
    /// seconds.
    pub fn new(settings: &str) -> Self {
        let (broker, folder) = (Alone::start(), memory::folder());
        let text = format!(
            "version: 1\nname: held\nroles: [r, s]\nclusters: {{a: {{bootstrap: \"{}\"}}}}\n\
             groups: {{p1: {{cluster: a, partitions: 1, {settings}}}}}\n",
            broker.address
        );
        fs::write(folder.path().join("t.yaml"), text).unwrap();
        Self { broker, folder, has_cgroups: true, grace: None, program: None, ignored: None }
    }

    /// The same, with so long from SIGTERM to SIGKILL.
    pub fn with_grace(mut self, grace: &'static str) -> Self {
        self.grace = Some(grace);
        self
    }

    /// The same, where `tandem hold` may make no cgroup.
    pub fn without_cgroups(mut self) -> Self {
        self.has_cgroups = false;
        self
    }

    /// The same, started by a process that ignores this signal, as nohup(1) ignores `HUP`.
    pub fn ignoring(mut self, signal: &'static str) -> Self {
        self.ignored = Some(signal);
        self
    }

    fn program(&self) -> Command {
        let program = self.program.as_deref().unwrap_or(Path::new(crate::program()));
        if let Some(signal) = self.ignored {
            assert!(self.has_cgroups, "not both");
            let mut shell = Command::new("sh");
            shell.arg("-c").arg(format!("trap '' {signal}; exec \"$@\"")).arg("sh").arg(program);
            return shell;
        }
        if self.has_cgroups {
            return Command::new(program);
        }
        let mut unshare = Command::new("unshare");
        unshare.args(["--mount", "sh", "-ec", WITHOUT_CGROUPS, "sh"]).arg(program);
        unshare
    }

    /// The cgroup of the command of `name`, as `tandem hold` says at its start.
    pub fn cgroup(&self, name: &str) -> PathBuf {
        eventually("the cgroup", SOON, || {
            let said = self.said(&format!("{name}.err"));
            let path = said.split("its command runs in the cgroup ").nth(1)?;
            Some(PathBuf::from(path.split_once('\n')?.0))
        })
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// `tandem hold` of this name, not started yet; `more` comes before the command.
    pub fn command(&self, name: &str, more: &[&str], command: &[&str]) -> Command {
        self.command_as(name, name, more, command)
    }

    /// The same, with other names for the files that it writes to.
    pub fn command_as(&self, file: &str, name: &str, more: &[&str], command: &[&str]) -> Command {
        let mut hold = self.program();
        hold.args(["hold", "-f", "t.yaml", "--group", "p1", "--name", name]);
        hold.args(more);
        if !command.is_empty() {
            hold.args(self.grace.map(|grace| ["--grace", grace]).into_iter().flatten());
            hold.arg("--").args(command);
        }
        hold.current_dir(self.folder.path()).env("XDG_STATE_HOME", self.path("state"));
        hold.env(
            "RUST_LOG",
            "warn,tandem::hold=debug,tandem::hold::work=trace,tandem::cli::hold=off",
        );
        hold.stdin(Stdio::null());
        let file = |kind: &str| fs::File::create(self.path(&format!("{file}.{kind}"))).unwrap();
        hold.stdout(file("out")).stderr(file("err"));
        hold
    }

    /// Serves programs, without a command; also the port.
    pub fn serve(&self, name: &str, more: &[&str]) -> (Hold, u16) {
        self.serve_beside(name, more, &[])
    }

    /// The same, beside a command.
    pub fn serve_beside(&self, name: &str, more: &[&str], command: &[&str]) -> (Hold, u16) {
        let more = [&["--serve", "127.0.0.1:0"], more].concat();
        let mut command = self.command(name, &more, command);
        let hold = Hold { child: command.spawn().unwrap() };
        let file = format!("{name}.err");
        let port = eventually("the address", SOON, || {
            let said = self.said(&file);
            let address = said.split("answers on http://127.0.0.1:").nth(1)?;
            address.split_once('\n')?.0.parse().ok()
        });
        (hold, port)
    }

    /// Without a command, with these arguments.
    pub fn hold_at(&self, name: &str, more: &[&str]) -> Hold {
        self.hold_with(name, more, &[])
    }

    /// Holds role `r` with this command.
    pub fn hold(&self, name: &str, command: &[&str]) -> Hold {
        self.hold_with(name, &["--role", "r"], command)
    }

    /// With these arguments, and this command.
    pub fn hold_with(&self, name: &str, more: &[&str], command: &[&str]) -> Hold {
        Hold::start(self.command(name, more, command))
    }

    /// Holds role `r` with `body`, a script that runs once at a time. All that it starts
    /// counts, too: the kernel keeps the lock until the last of them has ended. Who finds it taken
    /// writes that to `two`.
    pub fn hold_alone(&self, name: &str, body: &str) -> Hold {
        self.hold_alone_by("sh", name, body)
    }

    /// The same, with another name for the shell that runs it.
    pub fn hold_alone_by(&self, shell: &str, name: &str, body: &str) -> Hold {
        let script = format!(
            "exec 9>lock; flock -n 9 || {{ echo {name} >> two; exit 9; }}; \
             echo $$ > {name}.pid; {body}"
        );
        self.hold(name, &[shell, "-c", &script])
    }

    /// A shell whose name the kernel cuts within a letter, after 15 bytes of it.
    pub fn oddly_named_shell(&self) -> String {
        let shell = self.path("nächtliche-prüfung");
        symlink("/bin/sh", &shell).unwrap();
        shell.display().to_string()
    }

    /// `tandem hold` from now on runs this file.
    pub fn with_program(mut self, program: &Path) -> Self {
        self.program = Some(program.to_owned());
        self
    }

    /// What a file says by now.
    pub fn said(&self, file: &str) -> String {
        fs::read_to_string(self.path(file)).unwrap_or_default()
    }

    /// Waits for the command of `name` to run; the process, which is another one than `before`.
    pub fn runs(&self, name: &str, before: Option<Identity>) -> Identity {
        let path = self.path(&format!("{name}.pid"));
        let found = || read(&path).filter(|one| Some(*one) != before);
        let late = || self.said(&format!("{name}.err")).contains("is not started: this host acts");
        eventually_ok(&format!("the command of {name}"), SOON, || {
            found().ok_or_else(|| format!("whether its keeper declined: {}", late()))
        })
    }

    /// Waits until the group is stable with so many members. The name of the one that has the
    /// partition.
    pub fn settled(&self, members: usize) -> String {
        eventually("a stable group", SOON, || {
            let of = ("held-p1", "held-p1");
            let shares = stable(&self.broker.address, of, members)?;
            let life = shares.get(&PartitionId(0))?;
            Some(life.rsplit_once('.')?.0.to_owned())
        })
    }

    /// No command found another at its side.
    pub fn was_alone(&self) {
        assert_eq!(self.said("two"), "", "two commands ran at the same time");
    }
}

/// Removes the cgroups of wrappers that ended before their commands, and so could not: what they
/// said names them. Only empty ones can be removed.
pub fn remove_cgroups(said: &str) {
    for path in said.split("its command runs in the cgroup ").skip(1) {
        let path = path.lines().next().unwrap();
        eventually(&format!("the end of all in {path}"), SOON, || match fs::remove_dir(path) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => None,
            Ok(()) | Err(_) => Some(()),
        });
    }
}

/// A test that fails shows what was said.
impl Drop for Stage {
    fn drop(&mut self) {
        if std::thread::panicking() {
            for entry in fs::read_dir(self.folder.path()).into_iter().flatten().flatten() {
                let text = fs::read_to_string(entry.path()).unwrap_or_default();
                println!("== {}\n{text}", entry.path().display());
            }
        }
    }
}

impl Hold {
    /// Starts what [`command`](Stage::command) has prepared.
    pub fn start(mut command: Command) -> Self {
        Self { child: command.spawn().unwrap() }
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    pub fn signal(&self, signal: Signal) {
        signal_pid(self.pid(), signal);
    }

    /// Its only child.
    pub fn keeper(&self) -> Identity {
        eventually("the keeper", SOON, || {
            let path = format!("/proc/{0}/task/{0}/children", self.pid());
            let text = fs::read_to_string(path).unwrap();
            Identity::of(text.split_whitespace().next()?.parse().ok()?)
        })
    }

    /// Waits until it has ended.
    pub fn ends(&mut self) -> ExitStatus {
        eventually("the end of tandem hold", SOON, || self.child.try_wait().unwrap())
    }
}

impl Drop for Hold {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

/// Whether a process ignores a signal, as the kernel tells.
pub fn ignores(pid: u32, signal: Signal) -> bool {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let set = status.lines().find_map(|line| line.strip_prefix("SigIgn:")).unwrap();
    u64::from_str_radix(set.trim(), 16).unwrap() >> (signal.as_raw() - 1) & 1 == 1
}

/// Waits until a process has ended; returns the last instant at which it was seen alive. A busy
/// host sees its end late, and never sees it alive afterwards.
pub fn gone(one: Identity) -> Mono {
    let mut alive = Mono::ZERO;
    eventually("the end of a process", SOON, || {
        let now = Mono::now();
        if one.lives() {
            alive = now;
            return None;
        }
        Some(())
    });
    alive
}

/// The process whose id a command has written to this file.
pub fn written(path: &Path) -> Identity {
    eventually("a process id", SOON, || read(path))
}

/// The same, of another process than `before`.
pub fn again(path: &Path, before: Identity) -> Identity {
    let other = || read(path).filter(|one| *one != before);
    eventually("another process id", SOON, other)
}

fn read(path: &Path) -> Option<Identity> {
    Identity::of(fs::read_to_string(path).ok()?.trim().parse().ok()?)
}
