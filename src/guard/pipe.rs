//! Waiting for files, and reading lines without waiting.

use std::io::{self, Read};
use std::os::fd::AsFd;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::time::Timespec;

use crate::time::Mono;

/// A promise with all of Java's jars has some ten thousand bytes.
const LINE_MAX: usize = 1 << 20;

/// Whether there is something to read within the time, if only the end. It is looked for at least
/// once, however late this process gets its turn.
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
            // A signal came, which somebody else is there for.
            Err(Errno::INTR) => {}
            Ok(ready) => return ready > 0,
            Err(_) => return false,
        }
    }
}

/// What comes out of a pipe, line by line.
pub(super) struct Lines<P> {
    pipe: P,
    rest: Vec<u8>,
}

/// What waited in a pipe.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Waiting {
    /// The whole lines.
    pub lines: Vec<String>,
    /// Nothing will come any more.
    pub ended: bool,
}

impl<P: Read + AsFd> Lines<P> {
    /// Of this pipe, from here on.
    pub(super) fn of(pipe: P) -> Self {
        Self { pipe, rest: Vec::new() }
    }

    /// All that has come by then, waiting for `within` where there is nothing.
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
        // A line without end is nobody whom we know.
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
    fn lines_are_whole_and_the_end_is_told() {
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
        // What another test starts has the other end, too, until it is another program.
        assert!(last.ended || lines.wait(Duration::from_secs(5)) == waiting(&[], true));
    }
}
