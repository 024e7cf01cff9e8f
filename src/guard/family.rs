//! The descendants of a process, and what bears the mark of one that is gone.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::time::Duration;

use rustix::process::Signal;

use super::identity::{Identity, Stat, has_mark, pids, visible};
use crate::host::DEATH;
use crate::time::Mono;

/// The environment variable that marks the processes of a program of the user.
pub const WORK_MARK: &str = "TANDEM_HOLD";
/// How long a keeper has to end what it keeps, and itself. If it is killed sooner, what its program
/// has detached, with an environment of its own, is found by nothing.
const BY_THEMSELVES: Duration = Duration::from_secs(5);
/// How often they are looked at.
const LOOK: Duration = Duration::from_millis(5);
/// How often a family is looked at again for what it has started meanwhile.
const ROUNDS: usize = 5;

/// What marks the processes of the programs that a member of a run has started: the run, and the
/// member's process.
#[must_use]
pub fn work_mark(run: &str, member: u32) -> String {
    format!("{run}/{member}")
}

/// The living descendants of a process, in no order that matters.
#[derive(Debug)]
pub struct Family {
    /// Those that were found.
    pub members: Vec<Identity>,
    /// Why there may be more: something of the kernel could not be read.
    pub unread: Option<io::Error>,
}

/// The living descendants of `root`, as far as they are found until `by`.
#[must_use]
pub fn family_by(root: u32, by: Option<Mono>) -> Family {
    families(&[root], by)
}

/// The children of a process of one thread, also those that have ended and were not waited for.
///
/// # Errors
/// They cannot be read; a kernel may lack this list, and `/proc` may be that of other processes.
pub fn children_of(pid: u32) -> io::Result<Vec<u32>> {
    // Of another PID namespace, where this number is another process.
    if fs::read_link("/proc/self")?.as_os_str() != std::process::id().to_string().as_str() {
        return Err(io::ErrorKind::Unsupported.into());
    }
    // Where the list is empty, that is exact; else a child that ends meanwhile may hide another one
    // (proc_tid_children(5)).
    let pids = fs::read(format!("/proc/{pid}/task/{pid}/children"))?;
    let number = |word: &[u8]| std::str::from_utf8(word).ok()?.parse().ok();
    Ok(pids.split(u8::is_ascii_whitespace).filter_map(number).collect())
}

/// Whether a process of one thread surely has no child. What cannot be read is no proof. A
/// subreaper without a child has no descendant.
#[must_use]
pub fn is_childless(pid: u32) -> bool {
    children_of(pid).is_ok_and(|pids| pids.is_empty())
}

/// The living descendants of all of these.
fn families(roots: &[u32], by: Option<Mono>) -> Family {
    let mut unread = None;
    let mut children: BTreeMap<u32, Vec<(u32, Stat)>> = BTreeMap::new();
    let pids = pids().unwrap_or_else(|error| {
        unread = Some(error);
        Vec::new()
    });
    for pid in pids {
        if by.is_some_and(|by| Mono::now() >= by) {
            unread = Some(io::ErrorKind::TimedOut.into());
            break;
        }
        match visible(pid) {
            Ok(Some(stat)) => children.entry(stat.parent).or_default().push((pid, stat)),
            Ok(None) => {}
            Err(error) => unread = Some(error),
        }
    }
    let mut members = Vec::new();
    let mut open = roots.to_vec();
    while let Some(one) = open.pop() {
        for (pid, stat) in children.remove(&one).unwrap_or_default() {
            // A zombie has no children, and has ended.
            members.extend(stat.started().map(|since| Identity { pid, since }));
            open.push(pid);
        }
    }
    Family { members, unread }
}

/// Stops or continues every descendant of `roots`, also what they start meanwhile.
///
/// # Errors
/// Not all of them could be found. Those that were are signalled.
pub fn signal_families(roots: &[u32], signal: Signal) -> io::Result<()> {
    let mut known = Vec::new();
    let mut left = None;
    for _ in 0..ROUNDS {
        let Family { members: mut new, unread } = families(roots, None);
        left = unread;
        new.retain(|one| !known.contains(one));
        if new.is_empty() {
            break;
        }
        for one in &new {
            if let Err(error) = one.signal(&[signal]) {
                tracing::warn!(%error, pid = one.pid, "A program cannot be signalled.");
            }
        }
        known.extend(new);
    }
    left.map_or(Ok(()), Err)
}

/// Processes were to end, and have not, as far as is known.
#[derive(Debug, thiserror::Error)]
pub enum Unended {
    /// These do not end.
    #[error("processes that do not end: {0:?}")]
    Left(Vec<u32>),
    /// Not all processes can be read.
    #[error("which processes run cannot be read")]
    Unread(#[source] io::Error),
}

/// Ends all processes whose work mark is `mark`, except this one, and waits until they are gone. A
/// keeper is continued, in case it is stopped, so that it ends what it keeps; it is killed only if
/// that does not help.
///
/// # Errors
/// Some do not end, or it cannot be known whether they have.
pub fn end_marked(mark: &str) -> Result<(), Unended> {
    let began = Mono::now();
    loop {
        let found = marked(mark);
        let waited = Mono::now().since(began);
        let left = match found {
            Ok(left) if left.is_empty() => return Ok(()),
            Ok(left) if waited >= BY_THEMSELVES + DEATH => {
                return Err(Unended::Left(left.iter().map(|one| one.pid).collect()));
            }
            Ok(left) => left,
            Err(error) if waited >= BY_THEMSELVES + DEATH => return Err(Unended::Unread(error)),
            Err(_) => Vec::new(),
        };
        for one in left {
            let spared = waited < BY_THEMSELVES && is_keeper(one.pid);
            let signal = if spared { Signal::CONT } else { Signal::KILL };
            if let Err(error) = one.signal(&[signal]) {
                tracing::warn!(%error, pid = one.pid, "A process that is left cannot be ended.");
            }
        }
        std::thread::sleep(LOOK);
    }
}

/// Whether this process is `tandem keeper`, as far as it can be read: a keeper is not killed.
fn is_keeper(pid: u32) -> bool {
    let Ok(words) = fs::read(format!("/proc/{pid}/cmdline")) else { return true };
    words.split(|byte| *byte == 0).nth(1) == Some(b"keeper")
}

/// This process, if it has the mark.
fn bearer(pid: u32, mark: &str) -> io::Result<Option<Identity>> {
    // The identity comes first: a pid that is reused afterwards is another process, and is not hit.
    let since = visible(pid)?.and_then(|stat| stat.started());
    let Some(since) = since else { return Ok(None) };
    Ok(has_mark(pid, WORK_MARK, mark)?.then_some(Identity { pid, since }))
}

/// The processes with this mark, except this one.
fn marked(mark: &str) -> io::Result<Vec<Identity>> {
    let mut found = Vec::new();
    let mut unread = None;
    for pid in pids()?.into_iter().filter(|pid| *pid != std::process::id()) {
        match bearer(pid, mark) {
            Ok(one) => found.extend(one),
            Err(error) => unread = Some(error),
        }
    }
    match unread {
        // Those that were found are to end first.
        Some(error) if found.is_empty() => Err(error),
        _ => Ok(found),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::{Command, Stdio};

    fn family(root: u32) -> Family {
        family_by(root, None)
    }

    /// Waits until it is so.
    fn eventually(what: &str, so: impl Fn() -> bool) {
        let (began, most) = (Mono::now(), Duration::from_secs(60));
        while !so() {
            assert!(Mono::now().since(began) < most, "{what}: not within {most:?}");
            std::thread::sleep(LOOK);
        }
    }

    #[test]
    fn a_grandchild_is_of_the_family_and_a_stranger_is_not() {
        let mut child = Command::new("sh")
            .args(["-c", "sleep 600 & echo $!; wait"])
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut text = String::new();
        let mut output = std::io::BufReader::new(child.stdout.take().unwrap());
        std::io::BufRead::read_line(&mut output, &mut text).unwrap();
        let grandchild: u32 = text.trim().parse().unwrap();
        let pids: Vec<u32> = family(std::process::id()).members.iter().map(|one| one.pid).collect();
        assert!(pids.contains(&child.id()) && pids.contains(&grandchild), "{pids:?}");
        let of_child: Vec<u32> = family(child.id()).members.iter().map(|one| one.pid).collect();
        assert_eq!(of_child, [grandchild]);
        for one in family(std::process::id()).members {
            if [child.id(), grandchild].contains(&one.pid) {
                one.signal(&[Signal::KILL]).unwrap();
            }
        }
        child.wait().unwrap();
    }

    /// The kernel cuts this name after 15 bytes, within a letter.
    #[test]
    fn a_process_with_any_bytes_in_its_name_is_of_its_family() {
        let folder = tempfile::tempdir().unwrap();
        let shell = folder.path().join("nächtliche-prüfung");
        std::os::unix::fs::symlink("/bin/sh", &shell).unwrap();
        let mut child = Command::new(&shell).args(["-c", "sleep 600 & wait"]).spawn().unwrap();
        eventually("a grandchild", || family(child.id()).members.len() == 1);
        let all = family(std::process::id()).members;
        let own = all.iter().find(|one| one.pid == child.id()).copied().unwrap();
        assert!(own.lives() && own.runs());
        for one in family(child.id()).members.into_iter().chain([own]) {
            one.signal(&[Signal::KILL]).unwrap();
        }
        child.wait().unwrap();
    }

    #[test]
    fn a_process_without_a_child_is_known_to_have_none() {
        let mut shell = Command::new("sh");
        shell.args(["-c", "read -r _; sleep 600 & wait"]).stdin(Stdio::piped());
        let mut child = shell.spawn().unwrap();
        eventually("it has none", || is_childless(child.id()));
        drop(child.stdin.take());
        eventually("it has one", || !is_childless(child.id()));
        let [grandchild] = children_of(child.id()).unwrap().try_into().unwrap();
        Identity::of(grandchild).unwrap().signal(&[Signal::KILL]).unwrap();
        child.wait().unwrap();
        assert!(!is_childless(child.id()), "what is gone is no proof");
    }

    #[test]
    fn a_family_is_stopped_and_runs_again() {
        let mut child = Command::new("sh").args(["-c", "sleep 600 & wait"]).spawn().unwrap();
        let root = std::process::id();
        let ours = |child: u32| {
            let all = family(root).members.into_iter().filter(|one| one.pid == child);
            all.chain(family(child).members).collect::<Vec<_>>()
        };
        eventually("a grandchild", || ours(child.id()).len() == 2);
        let all = ours(child.id());
        signal_families(&[child.id()], Signal::STOP).unwrap();
        let sleeper = *all.last().unwrap();
        eventually("the sleeper is stopped", || !sleeper.runs());
        assert!(all[0].runs(), "the root itself is not of its family");
        signal_families(&[child.id()], Signal::CONT).unwrap();
        eventually("the sleeper runs", || sleeper.runs());
        for one in all {
            one.signal(&[Signal::KILL]).unwrap();
        }
        child.wait().unwrap();
    }

    #[test]
    fn what_bears_the_mark_is_ended_and_nothing_else() {
        let mark = format!("test/p1/{}", std::process::id());
        let sleep =
            |mark: &str| Command::new("sleep").arg("600").env(WORK_MARK, mark).spawn().unwrap();
        let (mut ours, mut other) = (sleep(&mark), sleep(&format!("{mark}0")));
        // The child still has this process's environment until it has become `sleep`.
        eventually("its mark", || has_mark(ours.id(), WORK_MARK, &mark).unwrap());
        end_marked(&mark).unwrap();
        assert!(!ours.wait().unwrap().success());
        assert!(other.try_wait().unwrap().is_none(), "a process of another mark was ended");
        other.kill().unwrap();
        other.wait().unwrap();
    }
}
