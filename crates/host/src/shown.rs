//! Escapes text for a terminal. Text from brokers, members and files may hold sequences that move
//! the cursor, retitle a window or hide a line; everything that is printed passes through this
//! module.

use std::io::{self, Write};

/// Writes text to a terminal or a file, with control characters escaped as in JSON (`\u001b`). Line
/// breaks and tabs pass; plain colours pass if `colour` is set.
#[derive(Debug)]
pub struct Shown<W: Write> {
    inner: W,
    colour: bool,
    /// The start of an escape sequence that may become a colour.
    open: String,
}

impl<W: Write> Shown<W> {
    /// Writes to `inner`.
    pub fn new(inner: W, colour: bool) -> Self {
        Self { inner, colour, open: String::new() }
    }

    /// The escaped form of `text`.
    fn pass(&mut self, text: &str) -> String {
        let mut out = String::with_capacity(text.len());
        for c in text.chars() {
            if !self.open.is_empty() {
                self.open.push(c);
                if is_colour(&self.open) {
                    out.push_str(&self.open);
                    self.open.clear();
                } else if !may_become_colour(&self.open) {
                    self.spell_open(&mut out);
                }
            } else if c == '\u{1b}' && self.colour {
                self.open.push(c);
            } else {
                spell(c, &mut out);
            }
        }
        out
    }

    fn spell_open(&mut self, out: &mut String) {
        std::mem::take(&mut self.open).chars().for_each(|c| spell(c, out));
    }
}

impl<W: Write> Write for Shown<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let text = self.pass(&String::from_utf8_lossy(bytes));
        self.inner.write_all(text.as_bytes())?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        let mut rest = String::new();
        self.spell_open(&mut rest);
        self.inner.write_all(rest.as_bytes())?;
        self.inner.flush()
    }
}

/// `text` as one line: line breaks and tabs are escaped, too.
#[must_use]
pub fn line(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            c => spell(c, &mut out),
        }
    }
    out
}

/// Writes one character, escaped if it is not visible.
fn spell(c: char, out: &mut String) {
    // Direction marks reorder the text around them.
    let turns = matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}');
    let turns = turns || matches!(c, '\u{2066}'..='\u{2069}' | '\u{2028}' | '\u{2029}');
    if turns || (c.is_control() && c != '\n' && c != '\t') {
        out.push_str(&format!("\\u{:04x}", u32::from(c)));
    } else {
        out.push(c);
    }
}

/// `ESC [ n m`, where n makes text bold, faint, italic, underlined, coloured, or plain again.
fn is_colour(sequence: &str) -> bool {
    let code = sequence.strip_prefix("\u{1b}[").and_then(|rest| rest.strip_suffix('m'));
    code.is_some_and(|code| {
        code.is_empty() || matches!(code.parse(), Ok(0..=4_u8 | 22..=24 | 31..=36 | 39))
    })
}

fn may_become_colour(sequence: &str) -> bool {
    let Some(rest) = sequence.strip_prefix('\u{1b}') else { return false };
    let Some(code) = rest.strip_prefix('[') else { return rest.is_empty() };
    code.len() <= 2 && code.chars().all(|c| c.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(pieces: &[&str], colour: bool) -> String {
        let mut out = Vec::new();
        let mut shown = Shown::new(&mut out, colour);
        for piece in pieces {
            shown.write_all(piece.as_bytes()).unwrap();
        }
        shown.flush().unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn what_steers_a_terminal_is_spelled_out() {
        for (raw, seen) in [
            ("plain, ümlaut\n\ttab\n", "plain, ümlaut\n\ttab\n"),
            ("\u{1b}]0;title\u{7}", "\\u001b]0;title\\u0007"),
            ("\u{1b}[2J\u{1b}[1;1Hgone", "\\u001b[2J\\u001b[1;1Hgone"),
            ("PASS\r", "PASS\\u000d"),
            ("\u{9b}2J\u{7f}\u{0}", "\\u009b2J\\u007f\\u0000"),
            ("a\u{202e}b\u{2066}c", "a\\u202eb\\u2066c"),
        ] {
            assert_eq!(shown(&[raw], true), seen);
            assert_eq!(shown(&[raw], false), seen);
        }
    }

    #[test]
    fn our_colours_pass_where_they_are_wanted_and_hidden_text_never() {
        assert_eq!(shown(&["\u{1b}[31mred\u{1b}[0m"], true), "\u{1b}[31mred\u{1b}[0m");
        assert_eq!(shown(&["\u{1b}[", "3", "1", "mred"], true), "\u{1b}[31mred");
        assert_eq!(shown(&["\u{1b}[31mred"], false), "\\u001b[31mred");
        assert_eq!(shown(&["\u{1b}[8mhidden\u{1b}[7m"], true), "\\u001b[8mhidden\\u001b[7m");
        assert_eq!(shown(&["cut \u{1b}[3"], true), "cut \\u001b[3");
    }

    #[test]
    fn json_stays_json() {
        let raw = serde_json::to_string("\u{9b}2J\u{1b}[31m\u{202e}").unwrap();
        let seen: String = serde_json::from_str(&shown(&[&raw], true)).unwrap();
        assert_eq!(seen, "\u{9b}2J\u{1b}[31m\u{202e}");
    }

    #[test]
    fn a_line_cannot_begin_another() {
        assert_eq!(line("refused\n  PASS\u{1b}[A"), "refused\\n  PASS\\u001b[A");
    }
}
