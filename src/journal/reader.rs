//! The reader: tolerates a last line that was torn off, and nothing else.

use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;

use serde::de::DeserializeOwned;

use super::{Header, JournalError, VERSION};
use crate::observation::Fact;

/// The longest line; a renewal of ten thousand claims has a twentieth of it.
const LINE_MAX: u64 = 8 << 20;

/// A journal, read.
#[derive(Debug, Clone, PartialEq)]
pub struct Recording {
    /// The first line.
    pub header: Header,
    /// All others, in their order.
    pub facts: Vec<Fact>,
    /// The last line broke off: its writer was killed, or the disk was full.
    pub torn_tail: bool,
}

/// The version alone: a later header may have any form.
#[derive(serde::Deserialize)]
struct Version {
    journal: u32,
}

/// Reads a journal.
pub fn read(path: &Path) -> Result<Recording, JournalError> {
    let file = File::open(path).map_err(|source| failed("open", path, source))?;
    let mut lines = Lines { path, file: BufReader::new(file), number: 0, line: Vec::new() };
    let Some(Line::Whole) = lines.advance()? else {
        return Err(JournalError::Empty { path: path.to_owned() });
    };
    let Version { journal: found } = lines.parse()?;
    if found > VERSION {
        return Err(JournalError::Newer { path: path.to_owned(), found, known: VERSION });
    }
    let header = lines.parse()?;
    let (mut facts, mut torn_tail) = (Vec::new(), false);
    while let Some(line) = lines.advance()? {
        match line {
            Line::Whole => facts.push(lines.parse()?),
            Line::Torn => torn_tail = true,
        }
    }
    Ok(Recording { header, facts, torn_tail })
}

fn failed(action: &'static str, path: &Path, source: std::io::Error) -> JournalError {
    JournalError::File { action, path: path.to_owned(), source }
}

struct Lines<'a> {
    path: &'a Path,
    file: BufReader<File>,
    number: u64,
    line: Vec<u8>,
}

enum Line {
    Whole,
    Torn,
}

impl Lines<'_> {
    fn advance(&mut self) -> Result<Option<Line>, JournalError> {
        self.line.clear();
        self.number += 1;
        let read = (&mut self.file)
            .take(LINE_MAX)
            .read_until(b'\n', &mut self.line)
            .map_err(|source| failed("read", self.path, source))?;
        if read == 0 {
            return Ok(None);
        }
        if self.line.ends_with(b"\n") {
            return Ok(Some(Line::Whole));
        }
        if u64::try_from(read).is_ok_and(|read| read < LINE_MAX) {
            return Ok(Some(Line::Torn));
        }
        let (path, line) = (self.path.to_owned(), self.number);
        Err(JournalError::Long { path, line, most: LINE_MAX })
    }

    fn parse<T: DeserializeOwned>(&self) -> Result<T, JournalError> {
        serde_json::from_slice(&self.line).map_err(|source| JournalError::Line {
            path: self.path.to_owned(),
            line: self.number,
            source,
        })
    }
}
