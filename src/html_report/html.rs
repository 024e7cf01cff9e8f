//! Escapes text for a page, and formats numbers for people.

use std::fmt::{self, Display, Write};
use std::time::Duration;

use crate::topology::UNLIMITED;
use crate::verdict::{ms, short};

/// Displays a value escaped for HTML, in text and in quoted attributes.
pub(super) struct Safe<T>(pub(super) T);

impl<T: Display> Display for Safe<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for c in self.0.to_string().chars() {
            match c {
                '&' => f.write_str("&amp;")?,
                '<' => f.write_str("&lt;")?,
                '>' => f.write_str("&gt;")?,
                '"' => f.write_str("&quot;")?,
                '\'' => f.write_str("&#39;")?,
                '\n' | '\t' => f.write_char(' ')?,
                c if c.is_control() || turns(c) => f.write_char('\u{fffd}')?,
                c => f.write_char(c)?,
            }
        }
        Ok(())
    }
}

/// Whether the character changes the direction of the surrounding text, which could make a page
/// misleading.
fn turns(c: char) -> bool {
    matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{200e}' | '\u{200f}')
}

/// JSON for a script element: escaped so that it cannot end the element or change text direction.
pub(super) fn embed(json: &str) -> String {
    let kept = json.replace(turns, "\u{fffd}").replace('<', "\\u003c");
    kept.replace('\u{2028}', "\\u2028").replace('\u{2029}', "\\u2029")
}

/// `1108 ms`, on one line.
pub(super) fn length(of: Duration) -> String {
    milliseconds(Some(ms(of)))
}

/// `1108 ms`, or a dash.
pub(super) fn milliseconds(of: Option<f64>) -> String {
    of.map_or_else(|| "–".to_owned(), |value| format!("{}\u{a0}ms", short(value)))
}

/// The same of a bound, which may be none but the length of the fault.
pub(super) fn limit(of: f64) -> String {
    if is_unlimited(of) { "unlimited".to_owned() } else { milliseconds(Some(of)) }
}

/// Whether a bound is as long as the fault lasts.
pub(super) fn is_unlimited(of: f64) -> bool {
    of >= ms(UNLIMITED)
}

/// `1 gap`, `2 gaps`.
pub(super) fn count(number: usize, noun: &str) -> String {
    format!("{number} {noun}{}", if number == 1 { "" } else { "s" })
}

/// A count as `f64`, for arithmetic with pixels.
pub(super) fn number(of: usize) -> f64 {
    u32::try_from(of).map_or(f64::from(u32::MAX), f64::from)
}

/// The most columns that fit on a phone.
const NARROW: usize = 3;

/// A table with a head; the first cell of each row is its header.
pub(super) fn table(
    caption: &str,
    head: &[&str],
    rows: impl Iterator<Item = Vec<String>>,
) -> String {
    let wide = if head.len() > NARROW { " wide" } else { "" };
    let mut html = format!(
        "<div class=\"scroll{wide}\" tabindex=\"0\" role=\"region\" aria-label=\"{0}\"><table>\
         <caption>{0}</caption><thead><tr>",
        Safe(caption)
    );
    for title in head {
        html.push_str(&format!("<th scope=\"col\">{}</th>", Safe(title)));
    }
    html.push_str("</tr></thead><tbody>");
    for row in rows {
        html.push_str("<tr>");
        for (place, cell) in row.iter().enumerate() {
            let cell = Safe(cell);
            match place {
                0 => html.push_str(&format!("<th scope=\"row\">{cell}</th>")),
                _ => html.push_str(&format!("<td>{cell}</td>")),
            }
        }
        html.push_str("</tr>");
    }
    html.push_str("</tbody></table></div>\n");
    html
}
