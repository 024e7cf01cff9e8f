//! Pieces of text in as many lines as a terminal of that width takes: nothing is cut.

use ratatui::style::Style;
use ratatui::text::{Line, Span};

/// What a further line of the same begins with.
const INDENT: usize = 2;

/// The pieces in lines of at most `width`. A piece that does not fit what is left of a line begins
/// the next; one that fits no line is split at its spaces, and where it has none, anywhere.
pub(super) fn flow(
    pieces: impl IntoIterator<Item = (String, Style)>,
    width: usize,
) -> Vec<Line<'static>> {
    let (mut lines, mut line, mut used) = (Vec::new(), Vec::new(), 0);
    for (text, style) in pieces {
        let whole = text.trim_end().chars().count();
        if used > INDENT && used + whole > width && whole + INDENT <= width {
            // It fits a line of its own.
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

/// Words with the spaces before them, none longer than `most`.
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
    fn what_does_not_fit_goes_on_below() {
        assert_eq!(flowed(&["p1   ", "p1-1 2  ", "no gap"], 80), ["p1   p1-1 2  no gap"]);
        let pieces = ["p1   ", "p1-1 2  ", "no gap, 0 overlaps"];
        assert_eq!(flowed(&pieces, 80), ["p1   p1-1 2  no gap, 0 overlaps"]);
        assert_eq!(flowed(&pieces, 24), ["p1   p1-1 2  ", "  no gap, 0 overlaps"]);
        assert_eq!(flowed(&pieces, 12), ["p1   p1-1 2", "  no gap, 0", "  overlaps"]);
        assert_eq!(flowed(&["roles=a,b,c,d"], 8), ["roles=", "  a,b,c,", "  d"]);
    }
}
