//! Wraps pieces of text into lines of a terminal's width, without cutting anything off.

use ratatui::style::Style;
use ratatui::text::{Line, Span};

/// The indentation of continuation lines.
const INDENT: usize = 2;

/// Wraps the pieces into lines of at most `width`. A piece that does not fit the rest of a line
/// starts the next. A piece that fits no line is split at spaces, or anywhere if it has none.
pub(super) fn flow(
    pieces: impl IntoIterator<Item = (String, Style)>,
    width: usize,
) -> Vec<Line<'static>> {
    let (mut lines, mut line, mut used) = (Vec::new(), Vec::new(), 0);
    for (text, style) in pieces {
        let whole = text.trim_end().chars().count();
        if used > INDENT && used + whole > width && whole + INDENT <= width {
            // It fits on a line of its own.
            lines.push(Line::from(std::mem::take(&mut line)));
            line.push(Span::raw(" ".repeat(INDENT)));
            used = INDENT;
        }
        for word in words(&text, width.saturating_sub(INDENT).max(1)) {
            let long = word.chars().count();
            if used + long > width && used > INDENT {
                lines.push(Line::from(std::mem::take(&mut line)));
                line.push(Span::raw(" ".repeat(INDENT)));
                used = INDENT;
            }
            let word = if used <= INDENT && !lines.is_empty() { word.trim_start() } else { &word };
            used += word.chars().count();
            line.push(Span::styled(word.to_owned(), style));
        }
    }
    if !line.is_empty() {
        lines.push(Line::from(line));
    }
    lines
}

/// A text of exactly `width`: filled with spaces, or without its middle, so that names that begin
/// alike differ by their ends.
pub(super) fn fitted(text: &str, width: usize) -> String {
    let long = text.chars().count();
    if long <= width {
        return format!("{text:<width$}");
    }
    let kept = width.saturating_sub(1);
    let (head, tail) = (kept / 2, kept - kept / 2);
    let head = text.chars().take(head);
    let tail = text.chars().skip(long - tail);
    let dots = (width > 0).then_some('…');
    head.chain(dots).chain(tail).collect()
}

/// The words of a text with the spaces before them, each at most `most` long.
fn words(text: &str, most: usize) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut space = true;
    for c in text.chars() {
        let starts = c == ' ' && !space;
        let full = words.last().is_some_and(|word| word.chars().count() >= most);
        if starts || full {
            words.push(String::new());
        }
        space = c == ' ';
        if let Some(word) = words.last_mut() {
            word.push(c);
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flowed(pieces: &[&str], width: usize) -> Vec<String> {
        let pieces = pieces.iter().map(|piece| ((*piece).to_owned(), Style::new()));
        flow(pieces, width).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_name_that_is_too_long_keeps_its_end() {
        assert_eq!(fitted("p1", 6), "p1    ");
        assert_eq!(fitted("p1-123", 6), "p1-123");
        assert_eq!(fitted("payments-1", 6), "pa…s-1");
        assert_eq!([fitted("payments", 1), fitted("payments", 0)], ["…", ""]);
    }

    #[test]
    fn text_that_does_not_fit_continues_on_the_next_line() {
        assert_eq!(flowed(&["p1   ", "p1-1 2  ", "no gap"], 80), ["p1   p1-1 2  no gap"]);
        let pieces = ["p1   ", "p1-1 2  ", "no gap, 0 overlaps"];
        assert_eq!(flowed(&pieces, 80), ["p1   p1-1 2  no gap, 0 overlaps"]);
        assert_eq!(flowed(&pieces, 24), ["p1   p1-1 2  ", "  no gap, 0 overlaps"]);
        assert_eq!(flowed(&pieces, 12), ["p1   p1-1 2", "  no gap, 0", "  overlaps"]);
        assert_eq!(flowed(&["roles=a,b,c,d"], 8), ["roles=", "  a,b,c,", "  d"]);
    }
}
