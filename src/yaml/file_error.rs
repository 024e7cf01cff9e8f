//! All problems of one file, rendered for a terminal.

use std::fmt;

use super::{Origin, Position, Problem};

/// All problems of one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileError {
    file: String,
    reports: Vec<(Problem, Option<String>)>,
}

/// A longer line is cut to the text around the position.
const LINE_MOST: usize = 100;

impl FileError {
    /// The problems of `file`, whose content is `text`.
    #[must_use]
    pub fn new(file: impl fmt::Display, text: &str, problems: Vec<Problem>) -> Self {
        let mut reports: Vec<(Problem, Option<String>)> = Vec::new();
        for problem in problems {
            // Two groups may have the same problem from the same defaults; report it once.
            if reports.iter().any(|(known, _)| *known == problem) {
                continue;
            }
            let line = match &problem.origin {
                Some(Origin::File(place)) if problem.shown => {
                    snippet(text, *place, problem.hint.as_deref())
                }
                Some(Origin::File(_) | Origin::Override(_)) | None => None,
            };
            reports.push((problem, line));
        }
        Self { file: file.to_string(), reports }
    }

    /// A file that could not be read.
    #[must_use]
    pub fn unreadable(file: impl fmt::Display, why: impl Into<String>) -> Self {
        let problem = Problem { origin: None, ..Problem::at(Origin::File(Position::START), why) };
        Self { file: file.to_string(), reports: vec![(problem, None)] }
    }

    /// The same, with a hint.
    #[must_use]
    pub fn hint(mut self, hint: &str) -> Self {
        for (problem, _) in &mut self.reports {
            problem.hint.get_or_insert_with(|| hint.to_owned());
        }
        self
    }

    /// The first problem, without its line and its hint.
    #[must_use]
    pub fn headline(&self) -> String {
        self.to_string().lines().next().unwrap_or_default().to_owned()
    }

    /// The problems.
    pub fn problems(&self) -> impl Iterator<Item = &Problem> {
        self.reports.iter().map(|(problem, _)| problem)
    }
}

impl std::error::Error for FileError {}

impl fmt::Display for FileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, (problem, line)) in self.reports.iter().enumerate() {
            if index > 0 {
                f.write_str("\n")?;
            }
            match &problem.origin {
                Some(Origin::File(place)) => {
                    write!(f, "{}:{}:{}: ", self.file, place.line, place.column)?;
                }
                Some(Origin::Override(text)) if problem.shown && !may_hold_secret(text) => {
                    write!(f, "--set {text}: ")?;
                }
                Some(Origin::Override(text)) => {
                    let key = text.split('=').next().unwrap_or_default();
                    write!(f, "--set {key}=…: ")?;
                }
                None => write!(f, "{}: ", self.file)?,
            }
            f.write_str(&problem.message)?;
            match (line, &problem.hint) {
                (Some(line), _) => write!(f, "\n{line}")?,
                (None, Some(hint)) => write!(f, "\n  {hint}")?,
                (None, None) => {}
            }
        }
        Ok(())
    }
}

/// Whether a value on a command line may be, or contain, a secret.
fn may_hold_secret(text: &str) -> bool {
    ["secret", "password"].iter().any(|word| text.contains(word))
}

/// The line with its number, and the position underlined; `None` if the file has no such line.
fn snippet(text: &str, place: Position, hint: Option<&str>) -> Option<String> {
    let line = text.lines().nth(place.line - 1).filter(|line| !line.trim().is_empty())?;
    let all: Vec<char> = line.trim_end().chars().map(shown).collect();
    let at = place.column - 1;
    let from = if all.len() > LINE_MOST { at.saturating_sub(LINE_MOST / 2) } else { 0 };
    let mut shown: String = all.iter().skip(from).take(LINE_MOST).collect();
    if all.len() > from + LINE_MOST {
        shown.push('…');
    }
    let room = shown.chars().count().saturating_sub(at - from).max(1);
    let number = place.line.to_string();
    let margin = " ".repeat(number.len());
    let indent = " ".repeat(at - from);
    let carets = "^".repeat(place.width.clamp(1, room));
    let hint = hint.map(|hint| format!(" {hint}")).unwrap_or_default();
    Some(format!(" {margin} |\n {number} | {shown}\n {margin} | {indent}{carets}{hint}"))
}

/// Replaces tabs by one column, and control characters, which could move the terminal's cursor.
fn shown(c: char) -> char {
    match c {
        '\t' => ' ',
        c if c.is_control() => '\u{fffd}',
        c => c,
    }
}
