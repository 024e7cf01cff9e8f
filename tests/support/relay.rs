//! A byte-level edge for tests: what a store's clients send and receive goes through it, and the
//! connections of one process can be cut off: nothing comes through, and none ends.

use std::fs;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::thread;
use std::time::Duration;

/// How often a connection that is cut off looks whether it still is.
const LOOK: Duration = Duration::from_millis(2);

/// A relay to one address. It ends with this value.
pub struct Relay {
    pub address: String,
    shared: Arc<Shared>,
}

struct Shared {
    /// The process that is cut off; 0 if none is.
    cut: AtomicU32,
    ended: AtomicBool,
}

impl Relay {
    /// One on loopback.
    pub fn to(target: &str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let shared = Arc::new(Shared { cut: AtomicU32::new(0), ended: AtomicBool::new(false) });
        let (target, of_thread) = (target.to_owned(), Arc::clone(&shared));
        thread::spawn(move || {
            for stream in listener.incoming() {
                if of_thread.ended.load(Ordering::Relaxed) {
                    return;
                }
                let (target, shared) = (target.clone(), Arc::clone(&of_thread));
                thread::spawn(move || relay(stream.ok()?, &target, &shared));
            }
        });
        Self { address, shared }
    }

    /// Cuts a process off.
    pub fn cut(&self, pid: u32) {
        self.shared.cut.store(pid, Ordering::SeqCst);
    }

    /// All is as before; what was held back arrives.
    pub fn heal(&self) {
        self.cut(0);
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        self.heal();
        self.shared.ended.store(true, Ordering::Relaxed);
        // Wakes the thread that accepts.
        TcpStream::connect(&self.address).ok();
    }
}

fn relay(client: TcpStream, target: &str, shared: &Arc<Shared>) -> Option<()> {
    // A connection of an unknown process could not be cut off: it is closed, and its client asks
    // for another.
    let owner = owner(client.peer_addr().ok()?, client.local_addr().ok()?)?;
    shared.wait(owner);
    let server = TcpStream::connect(target).ok()?;
    for stream in [&client, &server] {
        stream.set_nodelay(true).ok()?;
    }
    let back = (server.try_clone().ok()?, client.try_clone().ok()?);
    let of_thread = Arc::clone(shared);
    thread::spawn(move || copy(back, owner, &of_thread));
    copy((client, server), owner, shared)
}

fn copy((mut from, mut to): (TcpStream, TcpStream), owner: u32, shared: &Shared) -> Option<()> {
    let mut buffer = [0; 16_384];
    loop {
        let read = from.read(&mut buffer).unwrap_or(0);
        shared.wait(owner);
        if read == 0 || to.write_all(&buffer[..read]).is_err() {
            to.shutdown(std::net::Shutdown::Both).ok();
            return None;
        }
    }
}

impl Shared {
    /// Waits while this process is cut off.
    fn wait(&self, owner: u32) {
        while self.cut.load(Ordering::SeqCst) == owner {
            thread::sleep(LOOK);
        }
    }
}

/// The process at the other end of a connection on this machine. Another connection may have the
/// same port at its end, to another address: both ends tell which it is.
fn owner(peer: SocketAddr, here: SocketAddr) -> Option<u32> {
    let [peer, here] = [shown(peer)?, shown(here)?];
    let table = fs::read_to_string("/proc/net/tcp").ok()?;
    let of_peer = |line: &&str| {
        let mut ends = line.split_whitespace().skip(1);
        ends.next() == Some(&peer) && ends.next() == Some(&here)
    };
    let inode = table.lines().find(of_peer)?.split_whitespace().nth(9)?.to_owned();
    let socket = format!("socket:[{inode}]");
    let holds = |pid: &u32| {
        let open = fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().flatten();
        let mut links = open.filter_map(|entry| fs::read_link(entry.path()).ok());
        links.any(|link| link.to_str() == Some(&socket))
    };
    let all = fs::read_dir("/proc").ok()?.flatten();
    all.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).find(holds)
}

/// As the kernel's table has it: the address in the order of the machine's bytes.
fn shown(address: SocketAddr) -> Option<String> {
    let SocketAddr::V4(address) = address else { return None };
    let ip = u32::from_ne_bytes(address.ip().octets());
    Some(format!("{ip:08X}:{:04X}", address.port()))
}
