//! Tests that people read and the machine rewrites: blocks of an input, `----`, and the output,
//! each followed by an empty line; `#` begins a comment.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use tandem::neli::membership::{COUNT_BITS, epoch};

/// One input line: `verb word … key=value …`.
#[derive(Debug, Clone)]
pub struct Command {
    /// The first word.
    pub verb: String,
    /// Words without a value.
    pub words: Vec<String>,
    /// The rest.
    pub values: BTreeMap<String, String>,
}

impl Command {
    /// Reads a line.
    pub fn parse(line: &str) -> Self {
        let mut words = line.split_whitespace();
        let verb = words.next().expect("an input has a verb").to_owned();
        let (mut plain, mut values) = (Vec::new(), BTreeMap::new());
        for word in words {
            match word.split_once('=') {
                Some((key, value)) => drop(values.insert(key.to_owned(), value.to_owned())),
                None => plain.push(word.to_owned()),
            }
        }
        Self { verb, words: plain, values }
    }

    /// Whether a word stands there.
    pub fn has(&self, word: &str) -> bool {
        self.words.iter().any(|it| it == word)
    }

    /// A number that may be there.
    pub fn optional(&self, key: &str) -> Option<u64> {
        self.values.contains_key(key).then(|| self.number(key))
    }

    /// A text that may be there.
    pub fn text(&self, key: &str) -> Option<&str> {
        self.values.get(key).map(String::as_str)
    }

    /// A number that must be there.
    pub fn number(&self, key: &str) -> u64 {
        let value = self.values.get(key).unwrap_or_else(|| panic!("{} needs {key}=", self.verb));
        value.parse().unwrap_or_else(|_| panic!("{key}={value} is no number"))
    }
}

/// A fence as `EPOCH/COUNT`.
pub fn fence_text(fence: i64) -> String {
    format!("{}/{}", epoch(fence), fence - (epoch(fence) << COUNT_BITS))
}

/// The fence of that text, if it is one.
pub fn fence_of(text: &str) -> Option<i64> {
    let (epoch, count) = text.split_once('/')?;
    Some((epoch.parse::<i64>().ok()? << COUNT_BITS) + count.parse::<i64>().ok()?)
}

/// Runs every `tests/<folder>/*.txt` against a fresh subject and compares; `UPDATE=1` rewrites.
pub fn check_folder<S: FnMut(&Command) -> String>(folder: &str, subject: impl Fn() -> S) {
    let folder = Path::new(crate::ROOT).join("tests/data").join(folder);
    let mut files: Vec<_> = fs::read_dir(&folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "txt"))
        .collect();
    files.sort();
    assert!(!files.is_empty(), "there are transcripts in {}", folder.display());
    for file in files {
        let written = fs::read_to_string(&file).unwrap();
        let played = play(&written, subject());
        if std::env::var_os("UPDATE").is_some() {
            fs::write(&file, played).unwrap();
        } else {
            let name = file.display();
            assert!(written == played, "{name} now reads (UPDATE=1 rewrites it):\n\n{played}");
        }
    }
}

/// The transcript as it comes out now: comments and inputs as written, outputs as they are.
fn play(written: &str, mut subject: impl FnMut(&Command) -> String) -> String {
    let mut played = String::new();
    let mut in_output = false;
    for line in written.lines() {
        if line.is_empty() {
            in_output = false;
            played.push('\n');
        } else if line == "----" {
            in_output = true;
        } else if line.starts_with('#') && !in_output {
            played.push_str(line);
            played.push('\n');
        } else if !in_output {
            let output = subject(&Command::parse(line));
            played.push_str(&format!("{line}\n----\n{output}"));
            in_output = true;
        }
    }
    played
}
