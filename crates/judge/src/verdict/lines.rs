//! Wraps lines of text to the columns of a screen.

/// The default width of a report.
pub(super) const COLUMNS: usize = 100;
/// The width of a label and its separator.
const LABEL: usize = 11;
/// The separator between pieces of a line.
const BETWEEN: &str = "   ";

/// A text and its colour.
pub(super) struct Piece {
    pub(super) text: String,
    pub(super) colour: Option<&'static str>,
}

/// Lines, with or without colours.
pub(super) struct Page {
    pub(super) text: String,
    pub(super) columns: usize,
    colour: bool,
}

pub(super) fn plain(text: String) -> Piece {
    Piece { text, colour: None }
}

impl Page {
    pub(super) fn new(colour: bool, columns: usize) -> Self {
        Self { text: String::new(), columns, colour }
    }

    pub(super) fn line(&mut self, pieces: &[Piece]) {
        pieces.iter().for_each(|piece| self.put(piece));
        let end = self.text.trim_end_matches(' ').len();
        self.text.truncate(end);
        self.text.push('\n');
    }

    /// A sentence in as many lines as it needs, each after `indent`.
    pub(super) fn paragraph(&mut self, indent: &str, text: &str) {
        for part in wrap(text, self.columns.saturating_sub(indent.len())) {
            self.line(&[plain(format!("{indent}{part}"))]);
        }
    }

    /// A label and its pieces, in as many lines as they need.
    pub(super) fn items(&mut self, label: &str, pieces: impl Iterator<Item = Piece>) {
        self.text.push_str(&format!("{label:LABEL$}"));
        let mut used = LABEL;
        for Piece { text, colour } in pieces {
            let length = text.chars().count();
            if used > LABEL && used + BETWEEN.len() + length <= self.columns {
                self.text.push_str(BETWEEN);
                used += BETWEEN.len();
            } else if used > LABEL {
                used = self.next();
            }
            for (number, part) in wrap(&text, self.columns - LABEL).into_iter().enumerate() {
                if number > 0 {
                    used = self.next();
                }
                used += part.chars().count();
                self.put(&Piece { text: part, colour });
            }
        }
        self.text.push('\n');
    }

    /// Starts a line below a label.
    fn next(&mut self) -> usize {
        self.text.push_str(&format!("\n{:LABEL$}", ""));
        LABEL
    }

    fn put(&mut self, piece: &Piece) {
        match piece.colour.filter(|_| self.colour) {
            Some(code) => self.text.push_str(&format!("\x1b[{code}m{}\x1b[0m", piece.text)),
            None => self.text.push_str(&piece.text),
        }
    }
}

/// Lines of up to `most` characters, broken between words. A longer word, such as a path, gets a
/// line of its own and stays whole, so that it can be copied.
fn wrap(text: &str, most: usize) -> Vec<String> {
    if text.chars().count() <= most {
        return vec![text.to_owned()];
    }
    let mut lines = vec![String::new()];
    for word in text.split(' ') {
        let Some(line) = lines.last_mut() else { break };
        if line.is_empty() {
            line.push_str(word);
        } else if line.chars().count() + 1 + word.chars().count() <= most {
            line.push(' ');
            line.push_str(word);
        } else {
            lines.push(word.to_owned());
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::{Page, plain, wrap};

    #[test]
    fn a_text_is_broken_between_words_and_a_long_word_is_left_whole() {
        assert_eq!(wrap("to be or not", 12), ["to be or not"]);
        assert_eq!(wrap("to be or not", 8), ["to be or", "not"]);
        assert_eq!(wrap("in a/very/long/path it is", 8), ["in", "a/very/long/path", "it is"]);
    }

    #[test]
    fn pieces_share_a_line_as_far_as_there_is_room() {
        let mut page = Page::new(false, 30);
        let pieces = ["one two", "three", "four five six seven eight nine"];
        page.items("label", pieces.into_iter().map(|text| plain(text.to_owned())));
        let wanted = [
            "label      one two   three",
            "           four five six seven",
            "           eight nine",
        ];
        assert_eq!(page.text.lines().collect::<Vec<_>>(), wanted);
    }
}
