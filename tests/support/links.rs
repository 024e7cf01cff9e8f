//! A byte-level relay between members that are linked: each states an address of the relay as its
//! own. The links to some or all of them can be ended, held or delayed.

use std::fs;
use std::io::{Read, Write};
use std::net::{IpAddr, Ipv4Addr, Shutdown, SocketAddr, SocketAddrV4, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use tandem::time::Mono;

use super::experiment::eventually;

/// How often a link that is held looks whether it still is.
const LOOK: Duration = Duration::from_millis(2);
const SOON: Duration = Duration::from_secs(60);
/// The first port at which members listen, and that of the relay.
const PORTS: [u16; 2] = [7_400, 7_500];

/// A member hangs up within a second on one that does not say who it is.
const ACCEPTED: Duration = Duration::from_millis(1_200);

/// The connections that the kernel has to one of these places, by both of their ends.
fn connections(to: &[SocketAddrV4]) -> Vec<String> {
    let end = |at: &SocketAddrV4| {
        format!("{:08X}:{:04X}", u32::from_ne_bytes(at.ip().octets()), at.port())
    };
    let ends: Vec<_> = to.iter().map(end).collect();
    let table = fs::read_to_string("/proc/net/tcp").unwrap();
    let found = table.lines().filter_map(|line| {
        let fields: Vec<_> = line.split_whitespace().collect();
        let (near, far, state) = (*fields.get(1)?, fields.get(2)?, *fields.get(3)?);
        (state == "01" && ends.iter().any(|end| end == near)).then(|| format!("{near} {far}"))
    });
    found.collect()
}

/// Waits until members that listen at these places are linked: a connection lasts.
pub fn await_link(to: &[SocketAddrV4]) {
    let mut since = None;
    eventually("a link", SOON, || {
        let now = connections(to);
        let lasts = since.as_ref().is_some_and(|(_, before)| *before == now);
        if !lasts {
            since = Some((Mono::now(), now));
            return None;
        }
        let (began, links) = since.as_ref()?;
        (!links.is_empty() && Mono::now().since(*began) > ACCEPTED).then_some(())
    });
}

/// What is done to the links to a member.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cut {
    None,
    /// Nothing comes through, and no connection ends.
    Held,
    /// All connections end, and new ones end at once.
    Ended,
}

/// The relay to the members of a group, who dial each other through it.
pub struct LinksRelay {
    ip: Ipv4Addr,
    doors: Vec<Arc<Door>>,
}

/// The way to one member.
struct Door {
    cut: Mutex<Cut>,
    delay: Duration,
    links: Mutex<Vec<[TcpStream; 2]>>,
    standing: AtomicU32,
    over: AtomicBool,
}

impl LinksRelay {
    /// Between so many members of one group, on an address of the loopback of its own.
    pub fn new(members: u16, delay: Duration) -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(1);
        let pid = std::process::id();
        let [.., third, fourth] = pid.to_be_bytes();
        let number = u8::try_from(NEXT.fetch_add(1, Ordering::Relaxed)).unwrap();
        let ip = Ipv4Addr::new(127, 100 + number, third, fourth.max(1));
        let doors = (0..members).map(|number| Door::open(ip, number, delay)).collect();
        Self { ip, doors }
    }

    /// What sets the topology's group so that its members use the relay.
    pub fn settings(&self, group: &str) -> String {
        let [listen, advertise] = PORTS.map(|port| format!("{}:{port}", self.ip));
        format!(
            "--set groups.{group}.mesh.listen={listen} \
             --set groups.{group}.mesh.advertise={advertise}"
        )
    }

    /// What is done from now on to the links that lead to these members, from 0.
    pub fn cut(&self, to: &[usize], how: Cut) {
        for door in to.iter().map(|&at| &self.doors[at]) {
            *door.cut.lock().unwrap() = how;
            if how == Cut::Ended {
                for stream in door.links.lock().unwrap().drain(..).flatten() {
                    stream.shutdown(Shutdown::Both).ok();
                }
            }
        }
    }

    /// Waits until so many links stand.
    pub fn await_links(&self, count: u32) {
        eventually(&format!("{count} links"), SOON, || {
            let standing = self.doors.iter().map(|it| it.standing.load(Ordering::SeqCst));
            (standing.sum::<u32>() == count).then_some(())
        });
    }
}

impl Drop for LinksRelay {
    fn drop(&mut self) {
        for (number, door) in (0_u16..).zip(&self.doors) {
            door.over.store(true, Ordering::SeqCst);
            // Wakes the thread that accepts.
            TcpStream::connect((self.ip, PORTS[1] + number)).ok();
        }
    }
}

impl Door {
    fn open(ip: Ipv4Addr, number: u16, delay: Duration) -> Arc<Self> {
        let [to, at] = PORTS.map(|port| SocketAddr::new(IpAddr::V4(ip), port + number));
        let listener = TcpListener::bind(at).unwrap();
        let door = Arc::new(Self {
            cut: Mutex::new(Cut::None),
            delay,
            links: Mutex::default(),
            standing: AtomicU32::new(0),
            over: AtomicBool::new(false),
        });
        let of_thread = Arc::clone(&door);
        thread::spawn(move || {
            for client in listener.incoming().flatten() {
                if of_thread.over.load(Ordering::SeqCst) {
                    return;
                }
                of_thread.join(client, to);
            }
        });
        door
    }

    /// Joins a connection with one to the member.
    fn join(self: &Arc<Self>, client: TcpStream, to: SocketAddr) -> Option<()> {
        if *self.cut.lock().unwrap() == Cut::Ended {
            return None;
        }
        let server = TcpStream::connect(to).ok()?;
        for stream in [&client, &server] {
            stream.set_nodelay(true).ok()?;
        }
        self.standing.fetch_add(1, Ordering::SeqCst);
        let both = [client.try_clone().ok()?, server.try_clone().ok()?];
        self.links.lock().unwrap().push(both);
        let (there, back) =
            ((client.try_clone().ok()?, server.try_clone().ok()?), (server, client));
        let copies = [there, back].map(|(from, to)| self.copy(from, to));
        let door = Arc::clone(self);
        thread::spawn(move || {
            copies.into_iter().for_each(|copy| drop(copy.join()));
            door.standing.fetch_sub(1, Ordering::SeqCst);
        });
        Some(())
    }

    /// Copies what comes, each part so much later.
    fn copy(self: &Arc<Self>, mut from: TcpStream, to: TcpStream) -> thread::JoinHandle<()> {
        let (sends, parts): (Sender<(Mono, Vec<u8>)>, _) = channel();
        let (door, delay) = (Arc::clone(self), self.delay);
        thread::spawn(move || door.deliver(&parts, to));
        thread::spawn(move || {
            let mut room = [0; 16_384];
            loop {
                let count = from.read(&mut room).unwrap_or(0);
                let due = Mono::now() + delay;
                if sends.send((due, room[..count].to_vec())).is_err() || count == 0 {
                    return;
                }
            }
        })
    }

    fn deliver(&self, parts: &Receiver<(Mono, Vec<u8>)>, mut to: TcpStream) {
        for (due, bytes) in parts {
            thread::sleep(due.since(Mono::now()));
            while *self.cut.lock().unwrap() == Cut::Held {
                thread::sleep(LOOK);
            }
            // Nothing is the end.
            if bytes.is_empty() || to.write_all(&bytes).is_err() {
                break;
            }
        }
        to.shutdown(Shutdown::Both).ok();
    }
}
