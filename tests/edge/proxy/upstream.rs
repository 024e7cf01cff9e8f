//! A broker that repeats what it hears: every request is answered by its own bytes. It counts them.

use std::collections::VecDeque;
use std::io::{Read, Write};
use std::net::TcpListener;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use support::edge::process::PATIENCE;
use tandem::time::Mono;

/// What it has seen.
#[derive(Default)]
pub(crate) struct Seen {
    pub(crate) bytes: AtomicUsize,
    pub(crate) connections: AtomicUsize,
    /// The numbers of the requests, in the order in which they came.
    pub(crate) apis: Mutex<VecDeque<i16>>,
    /// How connections ended.
    pub(crate) ends: Mutex<Vec<&'static str>>,
}

pub(crate) struct Echo {
    pub(crate) address: String,
    pub(crate) seen: Arc<Seen>,
}

impl Echo {
    /// Its threads end with the test's process.
    pub(crate) fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let seen = Arc::new(Seen::default());
        let shared = Arc::clone(&seen);
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let seen = Arc::clone(&shared);
                stream.set_nodelay(true).unwrap();
                seen.connections.fetch_add(1, Ordering::SeqCst);
                std::thread::spawn(move || {
                    let end = repeat(stream, &seen);
                    seen.ends.lock().unwrap().push(end);
                });
            }
        });
        Self { address, seen }
    }

    pub(crate) fn bytes(&self) -> usize {
        self.seen.bytes.load(Ordering::SeqCst)
    }

    pub(crate) fn apis(&self) -> Vec<i16> {
        self.seen.apis.lock().unwrap().iter().copied().collect()
    }

    pub(crate) fn connections(&self) -> usize {
        self.seen.connections.load(Ordering::SeqCst)
    }
}

pub(crate) fn repeat(mut stream: impl Read + Write, seen: &Seen) -> &'static str {
    loop {
        let mut length = [0; 4];
        if let Err(error) = stream.read_exact(&mut length) {
            let reset = error.kind() == std::io::ErrorKind::ConnectionReset;
            return if reset { "reset" } else { "closed" };
        }
        seen.bytes.fetch_add(4, Ordering::SeqCst);
        let mut frame = vec![0; u32::from_be_bytes(length) as usize];
        // Counted as they come: a test waits for a part of a frame.
        let mut filled = 0;
        while filled < frame.len() {
            match stream.read(&mut frame[filled..]) {
                Ok(0) | Err(_) => return "cut",
                Ok(count) => {
                    filled += count;
                    seen.bytes.fetch_add(count, Ordering::SeqCst);
                }
            }
        }
        if frame.len() < 8 {
            return "nonsense";
        }
        let api = i16::from_be_bytes([frame[0], frame[1]]);
        seen.apis.lock().unwrap().push_back(api);
        // The answer: the correlation id, then all that the request said.
        let answer = [&frame[4..8], &frame[8..]].concat();
        let framed = [&(answer.len() as u32).to_be_bytes()[..], &answer].concat();
        if stream.write_all(&framed).is_err() {
            return "cut";
        }
    }
}

/// Waits until it is so.
pub(crate) fn eventually(what: &str, mut so: impl FnMut() -> bool) {
    let began = Mono::now(); // clock: the bound of a wait
    while !so() {
        let waited = Mono::now().since(began); // clock: as above
        assert!(waited < PATIENCE, "{what} did not happen within {PATIENCE:?}");
        std::thread::sleep(std::time::Duration::from_millis(2)); // clock: between two looks
    }
}
