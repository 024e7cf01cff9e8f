//! Reads the header, then one fact at a time, so that a journal may be larger than memory.
//! Tolerates only a last line that was cut off.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;

use super::{Header, JournalError, VERSION};
use crate::observation::{Fact, RunEvent, What};

/// The longest line; a renewal of ten thousand claims takes a twentieth of it.
const LINE_MAX: u64 = 8 << 20;

/// An open journal: its header, and an iterator over its facts in order.
#[derive(Debug)]
pub struct Reading {
    /// The first line of the first file.
    pub header: Header,
    lines: Lines,
    /// The files that follow.
    later: VecDeque<PathBuf>,
    /// Whether the last line was cut off.
    torn: bool,
    /// Whether iteration has ended, also after an error.
    over: bool,
}

/// A journal, read into memory.
#[derive(Debug, Clone, PartialEq)]
pub struct Recording {
    /// The first line.
    pub header: Header,
    /// The facts, in order.
    pub facts: Vec<Fact>,
    /// Whether the last line was cut off: its writer was killed, or the disk was full.
    pub torn_tail: bool,
}

/// Only the version, because a later header may have any form.
#[derive(serde::Deserialize)]
struct Version {
    journal: u32,
}

/// Opens a journal of one file.
///
/// # Errors
/// The file cannot be read, or does not begin like a journal.
pub fn open(path: &Path) -> Result<Reading, JournalError> {
    open_with(path, VecDeque::new())
}

/// Reads a journal of one file into memory.
///
/// # Errors
/// The file cannot be read, or a line is not one of a journal.
pub fn read(path: &Path) -> Result<Recording, JournalError> {
    open(path)?.into_recording()
}

/// Opens a journal that continues in the files of `later`.
pub(super) fn open_with(path: &Path, later: VecDeque<PathBuf>) -> Result<Reading, JournalError> {
    let (header, lines) = Lines::open(path)?;
    Ok(Reading { header, lines, later, torn: false, over: false })
}

/// The header of a file.
pub(super) fn header(path: &Path) -> Result<Header, JournalError> {
    Lines::open(path).map(|(header, _)| header)
}

impl Reading {
    /// Whether the last line was cut off: its writer was killed, or the disk was full. Known at the
    /// end of the iteration.
    #[must_use]
    pub fn torn_tail(&self) -> bool {
        self.torn
    }

    /// Reads the rest into memory.
    ///
    /// # Errors
    /// A line is not one of a journal.
    pub fn into_recording(mut self) -> Result<Recording, JournalError> {
        let facts = self.by_ref().collect::<Result<_, _>>()?;
        Ok(Recording { header: self.header, facts, torn_tail: self.torn })
    }

    fn advance(&mut self) -> Result<Option<Fact>, JournalError> {
        loop {
            match self.lines.advance()? {
                Some(Line::Whole) => {
                    let fact: Fact = self.lines.parse()?;
                    let closes = matches!(
                        fact.what,
                        What::Run(RunEvent::TrialEnded { recovered: None, .. })
                    );
                    if self.later.is_empty() || !closes {
                        return Ok(Some(fact));
                    }
                    // The writer closed this file to begin the next: nothing ended there.
                }
                Some(Line::Torn) => self.torn = true,
                None => {
                    let Some(path) = self.later.pop_front() else { return Ok(None) };
                    self.go_on_with(&path)?;
                }
            }
        }
    }

    /// Opens the next file, and skips its repeated facts.
    fn go_on_with(&mut self, path: &Path) -> Result<(), JournalError> {
        let (header, mut lines) = Lines::open(path)?;
        for _ in 0..header.part.map_or(0, |part| part.carried) {
            lines.advance()?;
        }
        (self.lines, self.torn) = (lines, false);
        Ok(())
    }
}

impl Iterator for Reading {
    type Item = Result<Fact, JournalError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.over {
            return None;
        }
        let next = self.advance().transpose();
        self.over = !matches!(next, Some(Ok(_)));
        next
    }
}

fn failed(action: &'static str, path: &Path, source: std::io::Error) -> JournalError {
    JournalError::File { action, path: path.to_owned(), source }
}

#[derive(Debug)]
struct Lines {
    path: PathBuf,
    file: BufReader<File>,
    number: u64,
    line: Vec<u8>,
}

enum Line {
    Whole,
    Torn,
}

impl Lines {
    /// Opens a file, and reads its header.
    fn open(path: &Path) -> Result<(Header, Self), JournalError> {
        let file = File::open(path).map_err(|source| failed("open", path, source))?;
        let file = BufReader::with_capacity(1 << 16, file);
        let mut lines = Self { path: path.to_owned(), file, number: 0, line: Vec::new() };
        let Some(Line::Whole) = lines.advance()? else {
            return Err(JournalError::Empty { path: path.to_owned() });
        };
        let Version { journal: found } = lines.parse()?;
        if found > VERSION {
            return Err(JournalError::Newer { path: path.to_owned(), found, known: VERSION });
        }
        if found < VERSION {
            return Err(JournalError::Older { path: path.to_owned(), found, known: VERSION });
        }
        Ok((lines.parse()?, lines))
    }

    fn advance(&mut self) -> Result<Option<Line>, JournalError> {
        self.line.clear();
        self.number += 1;
        let read = (&mut self.file)
            .take(LINE_MAX)
            .read_until(b'\n', &mut self.line)
            .map_err(|source| failed("read", &self.path, source))?;
        if read == 0 {
            return Ok(None);
        }
        if self.line.ends_with(b"\n") {
            return Ok(Some(Line::Whole));
        }
        if u64::try_from(read).is_ok_and(|read| read < LINE_MAX) {
            return Ok(Some(Line::Torn));
        }
        let (path, line) = (self.path.clone(), self.number);
        Err(JournalError::Long { path, line, most: LINE_MAX })
    }

    fn parse<T: DeserializeOwned>(&self) -> Result<T, JournalError> {
        serde_json::from_slice(&self.line).map_err(|source| JournalError::Line {
            path: self.path.clone(),
            line: self.number,
            source,
        })
    }
}
