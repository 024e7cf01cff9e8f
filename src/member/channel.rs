//! The pipe from a member to its controller: facts, one JSON object per line.
//!
//! Each fact goes to the kernel in the call that sends it, so that sent facts survive a SIGKILL.
//! The call never blocks: what the pipe does not accept waits in a buffer of [`ROOM`] bytes. When
//! that is full, facts are dropped, and a `hole` says from when until when, followed by the current
//! claims. The time of a hole is unknown, never a gap.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::time::Duration;

use rustix::fs::{FileType, OFlags, fcntl_getfl, fcntl_setfl, fstat};

use tandem_member::Claims;

use crate::ids::{Life, Term};
use crate::observation::{Fact, MemberEvent, What};
use crate::time::Mono;

/// The size of the buffer, in addition to the pipe's own.
const ROOM: usize = 64 * 1024;

/// The writing end of the pipe.
pub struct Channel {
    out: OwnedFd,
    waiting: Vec<u8>,
    life: Life,
    seq: u64,
    hole: Option<Mono>,
    claims: Arc<Claims>,
    terms: Terms,
    sent: Mono,
}

/// The terms of a member that leaves its group and joins it again: each time it counts them anew,
/// and the facts of one life must not say the same term twice.
#[derive(Debug, Default)]
struct Terms {
    before: u32,
    latest: u32,
}

impl Terms {
    fn shift(&mut self, term: &mut Term) {
        term.0 = term.0.saturating_add(self.before);
        self.latest = self.latest.max(term.0);
    }

    fn shift_all(&mut self, event: &mut MemberEvent) {
        if let MemberEvent::Claimed { term, .. } | MemberEvent::Lapsed { term, .. } = event {
            self.shift(term);
        } else if let MemberEvent::Renewed { claims } = event {
            claims.iter_mut().for_each(|claim| self.shift(&mut claim.term));
        }
    }
}

impl Channel {
    /// Takes over `out` for the facts of one life.
    ///
    /// # Errors
    /// The descriptor cannot be duplicated.
    pub fn new(out: impl AsFd, life: Life, claims: Arc<Claims>) -> io::Result<Self> {
        let out = out.as_fd().try_clone_to_owned()?;
        // Only a pipe becomes non-blocking: a terminal or a file is shared with processes that
        // expect it to block.
        let kind = FileType::from_raw_mode(fstat(&out)?.st_mode);
        if kind == FileType::Fifo || kind == FileType::Socket {
            fcntl_setfl(&out, fcntl_getfl(&out)? | OFlags::NONBLOCK)?;
        }
        Ok(Self {
            out,
            waiting: Vec::new(),
            life,
            seq: 0,
            hole: None,
            claims,
            terms: Terms::default(),
            sent: Mono::ZERO,
        })
    }

    /// The member joins again, and counts its terms anew.
    pub fn rejoins(&mut self) {
        self.terms.before = self.terms.latest;
    }

    /// Sends all claims, also where there are none, unless a fact was sent within `quiet`. So a
    /// reader knows that no fact is missing.
    pub fn restate(&mut self, now: Mono, quiet: Duration) {
        if now.since(self.sent) >= quiet {
            let claims = self.claims.at(now);
            self.send(now, MemberEvent::Renewed { claims });
        }
    }

    /// Sends one fact, stamped `now`.
    pub fn send(&mut self, now: Mono, event: MemberEvent) {
        self.flush();
        if let Some(from) = self.hole {
            if !self.waiting.is_empty() {
                return;
            }
            self.hole = None;
            self.write(now, MemberEvent::Hole { from, until: now });
            let claims = self.claims.at(now);
            self.write(now, MemberEvent::Renewed { claims });
        }
        self.write(now, event);
    }

    fn write(&mut self, now: Mono, mut event: MemberEvent) {
        self.sent = now;
        self.terms.shift_all(&mut event);
        let (life, what) = (Some(self.life.clone()), What::Member(event));
        let fact = Fact { t: now, seq: self.seq + 1, life, what };
        let Ok(mut line) = serde_json::to_vec(&fact) else { return };
        line.push(b'\n');
        if self.hole.is_some() || self.waiting.len() + line.len() > ROOM {
            self.hole.get_or_insert(now);
            return;
        }
        self.seq += 1;
        self.waiting.extend_from_slice(&line);
        self.flush();
    }

    /// Writes as much as the kernel accepts. If the reader is gone, nothing is ever accepted; the
    /// command to end arrives separately.
    fn flush(&mut self) {
        while !self.waiting.is_empty() {
            match rustix::io::write(&self.out, &self.waiting) {
                Ok(written) => drop(self.waiting.drain(..written)),
                Err(rustix::io::Errno::INTR) => {}
                Err(_) => return,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead, BufReader};
    use std::num::NonZeroU32;

    use super::*;

    fn channel() -> (Channel, BufReader<std::fs::File>) {
        let (reader, writer) = rustix::pipe::pipe().unwrap();
        let life =
            Life { member: "p1-1".parse().unwrap(), incarnation: crate::ids::Incarnation(1) };
        let claims = Arc::new(Claims::new(NonZeroU32::MIN));
        let channel = Channel::new(writer, life, claims).unwrap();
        (channel, BufReader::new(std::fs::File::from(reader)))
    }

    fn next(reader: &mut BufReader<std::fs::File>) -> Fact {
        let mut line = String::new();
        reader.read_line(&mut line).unwrap();
        serde_json::from_str(&line).unwrap()
    }

    #[test]
    fn a_full_channel_records_a_hole_and_all_claims_after_it() {
        let (mut channel, mut reader) = channel();
        let mut at = 0;
        while channel.hole.is_none() {
            at += 1;
            channel.send(Mono(at), MemberEvent::Leaving);
            assert!(at < 100_000, "the channel must be bounded");
        }
        channel.send(Mono(at + 1), MemberEvent::Leaving);
        for expected in 1..at {
            let fact = next(&mut reader);
            assert_eq!((fact.seq, fact.t), (expected, Mono(expected)), "what was written arrives");
            if channel.waiting.is_empty() {
                continue;
            }
            channel.flush();
        }
        channel.send(Mono(at + 7), MemberEvent::Leaving);
        let hole = next(&mut reader);
        assert_eq!(
            hole.what,
            What::Member(MemberEvent::Hole { from: Mono(at), until: Mono(at + 7) })
        );
        assert_eq!(hole.seq, at, "numbers go on: the hole says what is missing");
        assert_eq!(
            next(&mut reader).what,
            What::Member(MemberEvent::Renewed { claims: Vec::new() })
        );
        assert_eq!(next(&mut reader).what, What::Member(MemberEvent::Leaving));
    }
}
