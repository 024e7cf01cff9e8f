//! Reads an endless journal while another process writes it: all that is there, and then what is
//! added.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use super::parts::{list, path};
use super::{Header, JournalError, Part};
use crate::observation::{Fact, Outcome, RunEvent, What};

/// The longest line, as for any reader.
const LINE_MAX: u64 = 8 << 20;
/// Where a run's last fact is looked for, in bytes from the end.
const LAST_WORDS: u64 = 64 << 10;

/// An endless journal, read from its oldest file.
#[derive(Debug)]
pub struct Tail {
    folder: PathBuf,
    number: u32,
    file: BufReader<File>,
    /// The line so far; its end may not be written yet.
    line: Vec<u8>,
    /// How many facts of this file stand in an earlier one.
    repeated: u64,
}

impl Tail {
    /// Opens the oldest file in `folder`, or the first after facts were lost or the
    /// topology was changed.
    ///
    /// # Errors
    /// There is no file, or it does not begin like a journal.
    pub fn open(folder: &Path) -> Result<Self, JournalError> {
        let mut opened: Option<Self> = None;
        for (number, _) in files(folder)?.into_iter().rev() {
            match Self::begin_at(folder, number) {
                Ok(Some((tail, header))) => {
                    opened = Some(tail);
                    if header.part.is_some_and(|part| part.stands_alone()) {
                        break;
                    }
                }
                // The writer is just beginning this file, or has removed it meanwhile.
                Ok(None) => {}
                Err(error) if is_removed(&error) => {}
                Err(error) => return Err(error),
            }
        }
        opened.ok_or_else(|| JournalError::Empty { path: folder.to_owned() })
    }

    /// Opens this file; `None` if its header is not written yet.
    fn begin_at(folder: &Path, number: u32) -> Result<Option<(Self, Header)>, JournalError> {
        let (file, line, repeated) = (begin(folder, number)?, Vec::new(), 0);
        let mut tail = Self { folder: folder.to_owned(), number, file, line, repeated };
        Ok(tail.header()?.map(|header| (tail, header)))
    }

    /// The next fact; `None` if no more is written yet. Leaves out what the writer adds where one
    /// file ends and the next begins, unless facts are missing between the two.
    ///
    /// # Errors
    /// A line cannot be read, or is not one of a journal.
    pub fn read(&mut self) -> Result<Option<Fact>, JournalError> {
        loop {
            if !self.whole_line()? {
                if !self.go_on()? {
                    return Ok(None);
                }
                continue;
            }
            if self.repeated > 0 {
                self.repeated -= 1;
                self.line.clear();
                continue;
            }
            let fact: Fact = self.parse()?;
            if !matches!(fact.what, What::Run(RunEvent::TrialEnded { recovered: None, .. })) {
                return Ok(Some(fact));
            }
        }
    }

    /// Opens the next file, if there is one.
    fn go_on(&mut self) -> Result<bool, JournalError> {
        let mut numbers = files(&self.folder)?.into_iter().map(|(number, _)| number);
        let Some(next) = numbers.find(|number| *number > self.number) else { return Ok(false) };
        // Between the two looks the writer may have written the last line of this file.
        if self.whole_line()? {
            return Ok(true);
        }
        let (tail, header) = match Self::begin_at(&self.folder, next) {
            Ok(Some(begun)) => begun,
            // The writer is just beginning it.
            Ok(None) => return Ok(false),
            // It was removed meanwhile, as the oldest: those after it are there.
            Err(error) if is_removed(&error) && self.folder.is_dir() => return Ok(true),
            Err(error) => return Err(error),
        };
        // Where files between the two were removed, or facts were lost, what is carried is not
        // known yet.
        let follows = |part: &Part| next == self.number + 1 && !part.after_loss;
        let repeated = header.part.filter(follows).map_or(0, |part| part.carried);
        *self = Self { repeated, ..tail };
        Ok(true)
    }

    fn header(&mut self) -> Result<Option<Header>, JournalError> {
        if self.whole_line()? { self.parse().map(Some) } else { Ok(None) }
    }

    /// Whether a whole line stands in `line`.
    fn whole_line(&mut self) -> Result<bool, JournalError> {
        if self.line.ends_with(b"\n") {
            return Ok(true);
        }
        let left = LINE_MAX.saturating_sub(u64::try_from(self.line.len()).unwrap_or(LINE_MAX));
        let read = (&mut self.file).take(left).read_until(b'\n', &mut self.line);
        read.map_err(|source| failed(&self.folder, source))?;
        if left == 0 {
            let path = path(&self.folder, self.number);
            return Err(JournalError::Long { path, line: 0, most: LINE_MAX });
        }
        Ok(self.line.ends_with(b"\n"))
    }

    fn parse<T: serde::de::DeserializeOwned>(&mut self) -> Result<T, JournalError> {
        let parsed = serde_json::from_slice(&self.line);
        self.line.clear();
        parsed.map_err(|source| JournalError::Line {
            path: path(&self.folder, self.number),
            line: 0,
            source,
        })
    }
}

/// How the run in `folder` has ended, as the last lines of its latest file say; `None` if they do
/// not.
#[must_use]
pub fn last_word(folder: &Path) -> Option<(Outcome, Option<String>)> {
    let (number, _) = files(folder).ok()?.pop()?;
    let mut file = File::open(path(folder, number)).ok()?;
    let from = file.metadata().ok()?.len().saturating_sub(LAST_WORDS);
    file.seek(SeekFrom::Start(from)).ok()?;
    let mut text = Vec::new();
    file.take(2 * LAST_WORDS).read_to_end(&mut text).ok()?;
    text.split(|byte| *byte == b'\n').rev().find_map(|line| {
        let fact: Fact = serde_json::from_slice(line).ok()?;
        if let What::Run(RunEvent::Ended { how, why }) = fact.what {
            Some((how, why))
        } else {
            None
        }
    })
}

fn files(folder: &Path) -> Result<Vec<(u32, PathBuf)>, JournalError> {
    list(folder).map_err(|source| failed(folder, source))
}

fn is_removed(error: &JournalError) -> bool {
    matches!(error, JournalError::File { source, .. } if source.kind() == io::ErrorKind::NotFound)
}

fn begin(folder: &Path, number: u32) -> Result<BufReader<File>, JournalError> {
    let path = path(folder, number);
    let file = File::open(&path).map_err(|source| failed(&path, source))?;
    Ok(BufReader::with_capacity(1 << 16, file))
}

fn failed(path: &Path, source: io::Error) -> JournalError {
    JournalError::File { action: "read", path: path.to_owned(), source }
}
