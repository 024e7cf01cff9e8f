//! The descendants of a process, and what bears the mark of one that is gone.

use std::collections::BTreeMap;
use std::fs;
use std::time::Duration;

use rustix::process::Signal;

use super::identity::{Identity, has_mark, parent, pids};
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

/// The living descendants of `root`, in no order that matters.
#[must_use]
pub fn family(root: u32) -> Vec<Identity> {
    families(&[root])
}

/// The living descendants of all of these.
fn families(roots: &[u32]) -> Vec<Identity> {
    let mut children: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
    for pid in pids() {
        if let Some(parent) = parent(pid) {
            children.entry(parent).or_default().push(pid);
        }
    }
    let mut found = Vec::new();
    let mut open = roots.to_vec();
    while let Some(one) = open.pop() {
        let born = children.remove(&one).unwrap_or_default();
        // A zombie has no children, and has ended.
        found.extend(born.iter().filter_map(|pid| Identity::of(*pid)));
        open.extend(born);
    }
    // The pid may have been reused since: only what is still a descendant counts.
    found.retain(|one| parent(one.pid).is_some());
    found
}

/// Stops or continues every descendant of `roots`, also what they start meanwhile.
pub fn signal_families(roots: &[u32], signal: Signal) {
    let mut known = Vec::new();
    for _ in 0..ROUNDS {
        let mut new = families(roots);
        new.retain(|one| !known.contains(one));
        if new.is_empty() {
            return;
        }
        for one in &new {
            if let Err(error) = one.signal(&[signal]) {
                tracing::warn!(%error, pid = one.pid, "A program cannot be signalled.");
            }
        }
        known.extend(new);
    }
}

/// Ends all processes whose work mark is `mark`, except this one, and waits until they are gone. A
/// keeper is continued, in case it is stopped, so that it ends what it keeps; it is killed only if
/// that does not help.
///
/// # Errors
/// The pids of those that do not end.
pub fn end_marked(mark: &str) -> Result<(), Vec<u32>> {
    let began = Mono::now();
    loop {
        let left = marked(mark);
        if left.is_empty() {
            return Ok(());
        }
        let waited = Mono::now().since(began);
        if waited >= BY_THEMSELVES + DEATH {
            return Err(left.iter().map(|one| one.pid).collect());
        }
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

/// Whether this process is `tandem keeper`.
fn is_keeper(pid: u32) -> bool {
    let words = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    words.split(|byte| *byte == 0).nth(1) == Some(b"keeper")
}

/// The processes with this mark, except this one.
fn marked(mark: &str) -> Vec<Identity> {
    let others = pids().filter(|pid| *pid != std::process::id());
    // The identity comes first: a pid that is reused afterwards is another process, and is not hit.
    let found = others.filter_map(Identity::of);
    found.filter(|one| has_mark(one.pid, WORK_MARK, mark)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::{Command, Stdio};

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
        let pids: Vec<u32> = family(std::process::id()).iter().map(|one| one.pid).collect();
        assert!(pids.contains(&child.id()) && pids.contains(&grandchild), "{pids:?}");
        let of_child: Vec<u32> = family(child.id()).iter().map(|one| one.pid).collect();
        assert_eq!(of_child, [grandchild]);
        for one in family(std::process::id()) {
            if [child.id(), grandchild].contains(&one.pid) {
                one.signal(&[Signal::KILL]).unwrap();
            }
        }
        child.wait().unwrap();
    }

    #[test]
    fn a_family_is_stopped_and_runs_again() {
        let mut child = Command::new("sh").args(["-c", "sleep 600 & wait"]).spawn().unwrap();
        let root = std::process::id();
        let ours = |child: u32| {
            let all = family(root).into_iter().filter(|one| one.pid == child);
            all.chain(family(child)).collect::<Vec<_>>()
        };
        eventually("a grandchild", || ours(child.id()).len() == 2);
        let all = ours(child.id());
        signal_families(&[child.id()], Signal::STOP);
        let sleeper = *all.last().unwrap();
        eventually("the sleeper is stopped", || !sleeper.runs());
        assert!(all[0].runs(), "the root itself is not of its family");
        signal_families(&[child.id()], Signal::CONT);
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
        eventually("its mark", || has_mark(ours.id(), WORK_MARK, &mark));
        end_marked(&mark).unwrap();
        assert!(!ours.wait().unwrap().success());
        assert!(other.try_wait().unwrap().is_none(), "a process of another mark was ended");
        other.kill().unwrap();
        other.wait().unwrap();
    }
}
