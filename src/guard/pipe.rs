//! Waits for file descriptors, and reads lines without blocking.

use std::io::{self, Read};
use std::os::fd::AsFd;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::time::Timespec;

use crate::time::Mono;

/// The longest line. A promise with the class path of a broker has some ten thousand bytes.
const LINE_MAX: usize = 1 << 20;

/// Waits `within` the time until there is something to read, or the end of the file. Polls at least
/// once, even if the time is over.
pub(super) fn readable(file: impl AsFd, within: Duration) -> bool {
    let began = Mono::now();
    loop {
        let left = within.saturating_sub(Mono::now().since(began));
        let timeout = Timespec {
            tv_sec: i64::try_from(left.as_secs()).unwrap_or(i64::MAX),
            tv_nsec: i64::from(left.subsec_nanos()),
        };
        let mut fds = [PollFd::from_borrowed_fd(file.as_fd(), PollFlags::IN)];
        match poll(&mut fds, Some(&timeout)) {
            // A signal handler ran; keep waiting.
            Err(Errno::INTR) => {}
            Ok(ready) => return ready > 0,
            Err(_) => return false,
        }
    }
}

/// Reads a pipe line by line.
pub(super) struct Lines<P> {
    pipe: P,
    rest: Vec<u8>,
}

/// What was read from a pipe.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Waiting {
    /// The whole lines.
    pub lines: Vec<String>,
    /// The pipe has ended.
    pub ended: bool,
}

impl<P: Read + AsFd> Lines<P> {
    /// Reads `pipe` from here on.
    pub(super) fn of(pipe: P) -> Self {
        Self { pipe, rest: Vec::new() }
    }

    /// Returns all whole lines that are there, and waits up to `within` if there is nothing.
    pub(super) fn wait(&mut self, within: Duration) -> Waiting {
        let mut ended = false;
        let mut wait = within;
        while !ended && self.rest.len() <= LINE_MAX && readable(&self.pipe, wait) {
            wait = Duration::ZERO;
            let mut piece = [0; 65_536];
            match self.pipe.read(&mut piece) {
                Ok(0) => ended = true,
                Ok(count) => self.rest.extend_from_slice(piece.get(..count).unwrap_or_default()),
                Err(error) => ended = error.kind() != io::ErrorKind::Interrupted,
            }
        }
        // A line that is too long is a protocol error.
        ended |= self.rest.len() > LINE_MAX && !self.rest.contains(&b'\n');
        Waiting { lines: self.whole(), ended }
    }

    fn whole(&mut self) -> Vec<String> {
        let end = self.rest.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        let whole: Vec<u8> = self.rest.drain(..end).collect();
        String::from_utf8_lossy(&whole).lines().map(str::to_owned).collect()
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    #[test]
    fn lines_are_whole_and_the_end_is_reported() {
        let (reader, mut writer) = io::pipe().unwrap();
        let mut lines = Lines::of(reader);
        let waiting = |lines: &[&str], ended| Waiting {
            lines: lines.iter().map(|line| (*line).to_owned()).collect(),
            ended,
        };
        assert_eq!(lines.wait(Duration::ZERO), waiting(&[], false));
        write!(writer, "one\ntwo\nth").unwrap();
        assert_eq!(lines.wait(Duration::ZERO), waiting(&["one", "two"], false));
        writeln!(writer, "ree").unwrap();
        drop(writer);
        let last = lines.wait(Duration::from_secs(5));
        assert_eq!(last.lines, ["three"]);
        // A process that another test forks has the other end, too, until it calls exec.
        assert!(last.ended || lines.wait(Duration::from_secs(5)) == waiting(&[], true));
    }
}
