//! All that a process has started, however far it has detached itself.
//!
//! A subreaper (`prctl(2)`, `PR_SET_CHILD_SUBREAPER`) becomes the parent of every descendant whose
//! own parent has ended. So its descendants are found by their parents alone, and there are none
//! once it has no child.

use std::collections::BTreeMap;
use std::fs;

use rustix::io::Errno;
use rustix::process::{WaitOptions, WaitStatus, wait};

use crate::guard::{Identity, parent};

/// The living descendants of `root`, in no order that matters.
pub(super) fn family(root: u32) -> Vec<Identity> {
    let Ok(all) = fs::read_dir("/proc") else { return Vec::new() };
    let numbers = all.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let mut children: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
    for pid in numbers {
        if let Some(parent) = parent(pid) {
            children.entry(parent).or_default().push(pid);
        }
    }
    let mut found = Vec::new();
    let mut open = vec![root];
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

/// Collects children that have ended: their pids, and how they ended. Second, whether there is no
/// child left.
pub(super) fn reap() -> (Vec<(u32, WaitStatus)>, bool) {
    let mut ended = Vec::new();
    loop {
        match wait(WaitOptions::NOHANG) {
            Ok(Some((pid, status))) => {
                ended.push((u32::try_from(pid.as_raw_nonzero().get()).unwrap_or(0), status));
            }
            Ok(None) => return (ended, false),
            Err(Errno::INTR) => {}
            // ECHILD: there is no child. Nothing else can go wrong.
            Err(_) => return (ended, true),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::{Command, Stdio};

    #[test]
    fn a_grandchild_is_of_the_family_and_a_stranger_is_not() {
        let mut child = Command::new("sh")
            .args(["-c", "sleep 60 & echo $!; wait"])
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
                one.signal(&[rustix::process::Signal::KILL]).unwrap();
            }
        }
        child.wait().unwrap();
    }
}
