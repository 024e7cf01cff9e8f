//! What a witness asks of the process of its member: to cut it off from its brokers, and to let the
//! traffic pass again. The answer says since when.
//!
//! The two hold the ends of a socket. The witness has its end as standard output. When it is gone,
//! the socket ends, and the member lets everything pass.

use std::io::{self, BufRead, BufReader, Write};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::time::Mono;

/// How long the member may take to answer. A request that is passing has a second to pass.
const ANSWERS: Duration = Duration::from_secs(3);

/// What the witness asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ask {
    /// Nothing passes any more.
    Cut,
    /// All passes again.
    Mend,
}

/// What the member answers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Said {
    /// It is so since then.
    Done {
        /// The instant.
        #[serde(rename = "t_ns")]
        t: Mono,
    },
    /// It is not.
    Failed {
        /// Why.
        why: String,
    },
}

/// The witness's end.
pub(super) struct Link {
    answers: BufReader<UnixStream>,
    asks: UnixStream,
}

impl Link {
    /// The socket that this process has as standard output.
    ///
    /// # Errors
    /// It is none.
    pub(super) fn own() -> io::Result<Self> {
        let socket = UnixStream::from(io::stdout().as_fd().try_clone_to_owned()?);
        socket.set_read_timeout(Some(ANSWERS))?;
        socket.set_write_timeout(Some(ANSWERS))?;
        Ok(Self { answers: BufReader::new(socket.try_clone()?), asks: socket })
    }

    /// Asks for something. Returns since when it is so.
    ///
    /// # Errors
    /// The member does not answer, or cannot do it.
    pub(super) fn ask(&mut self, ask: Ask) -> io::Result<Mono> {
        write_line(&mut self.asks, &ask)?;
        let mut line = String::new();
        self.answers.read_line(&mut line)?;
        match serde_json::from_str(&line)? {
            Said::Done { t } => Ok(t),
            Said::Failed { why } => Err(io::Error::other(why)),
        }
    }
}

/// Answers the witness at the other end of the socket, until it is gone.
///
/// # Errors
/// The socket breaks off.
pub fn answer_witness(
    socket: &UnixStream,
    mut answer: impl FnMut(Ask) -> Result<Mono, String>,
) -> io::Result<()> {
    for line in BufReader::new(socket).lines() {
        let said = match answer(serde_json::from_str(&line?)?) {
            Ok(t) => Said::Done { t },
            Err(why) => Said::Failed { why },
        };
        let mut socket = socket;
        write_line(&mut socket, &said)?;
    }
    Ok(())
}

fn write_line(to: &mut impl Write, value: &impl Serialize) -> io::Result<()> {
    let mut line = serde_json::to_vec(value)?;
    line.push(b'\n');
    to.write_all(&line)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_member_answers_until_its_witness_is_gone() {
        let (theirs, ours) = UnixStream::pair().unwrap();
        let member = std::thread::spawn(move || {
            let mut asked = Vec::new();
            let answered = answer_witness(&theirs, |ask| {
                asked.push(ask);
                if asked.len() < 3 { Ok(Mono(7)) } else { Err("no edge".to_owned()) }
            });
            (answered.is_ok(), asked)
        });
        let mut link = Link { answers: BufReader::new(ours.try_clone().unwrap()), asks: ours };
        assert_eq!(link.ask(Ask::Cut).unwrap(), Mono(7));
        assert_eq!(link.ask(Ask::Mend).unwrap(), Mono(7));
        assert_eq!(link.ask(Ask::Cut).unwrap_err().to_string(), "no edge");
        drop(link);
        assert_eq!(member.join().unwrap(), (true, vec![Ask::Cut, Ask::Mend, Ask::Cut]));
    }

    #[test]
    fn a_witness_does_not_wait_for_a_member_that_is_gone() {
        let (theirs, ours) = UnixStream::pair().unwrap();
        let mut link = Link { answers: BufReader::new(ours.try_clone().unwrap()), asks: ours };
        drop(theirs);
        assert!(link.ask(Ask::Cut).is_err());
    }
}
