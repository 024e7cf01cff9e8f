//! Whose a connection is, as the kernel knows it.

use std::fmt;
use std::fs;
use std::path::Path;

/// A process.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Owner {
    pub pid: u32,
    pub command: String,
}

impl fmt::Display for Owner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let command: String = self.command.chars().take(200).collect();
        write!(f, "process {}: {command}", self.pid)
    }
}

/// The owner of the socket that is connected from this port to that one; `None` if it is gone.
pub fn owner(from: u16, to: u16) -> Option<Owner> {
    // Java uses IPv6 sockets even for IPv4.
    let inode = ["/proc/net/tcp", "/proc/net/tcp6"].into_iter().find_map(|list| {
        let list = fs::read_to_string(list).unwrap();
        list.lines().find_map(|line| {
            let fields: Vec<_> = line.split_whitespace().collect();
            let ends = |at: usize, port: u16| fields[at].ends_with(&format!(":{port:04X}"));
            (ends(1, from) && ends(2, to)).then(|| fields[9].to_owned())
        })
    });
    let socket = format!("socket:[{}]", inode?);
    let processes = fs::read_dir("/proc").unwrap().filter_map(Result::ok);
    let folders =
        processes.filter(|entry| entry.file_name().to_string_lossy().parse::<u32>().is_ok());
    let path = folders.map(|entry| entry.path()).find(|path| holds(path, &socket))?;
    let command = fs::read(path.join("cmdline")).ok()?;
    let command = String::from_utf8_lossy(&command).replace('\0', " ");
    let pid = path.file_name()?.to_str()?.parse().ok()?;
    Some(Owner { pid, command })
}

/// Whether a process has this open; it may end meanwhile, or belong to another user.
fn holds(process: &Path, socket: &str) -> bool {
    let Ok(open) = fs::read_dir(process.join("fd")) else { return false };
    let links = open.filter_map(Result::ok).filter_map(|entry| fs::read_link(entry.path()).ok());
    links.into_iter().any(|link| link.as_os_str() == socket)
}
