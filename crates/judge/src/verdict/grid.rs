//! The table of a report: a row of counts and durations in milliseconds for each name.

use super::lines::{COLUMNS, Page, Piece, plain};
use super::text::short;

/// The widths of the parts of a row.
#[derive(Debug, Clone, Copy)]
pub(super) struct Grid {
    name: usize,
    count: usize,
    number: usize,
}

/// One cell of a row.
pub(super) enum Cell {
    /// A count.
    Count(u64),
    /// A duration and its colour.
    Ms(Option<f64>, Option<&'static str>),
}

impl Grid {
    /// The grid for a screen of `columns` columns and names of these lengths. A name that is too
    /// long for its column gets a line of its own.
    pub(super) fn of(columns: usize, names: impl Iterator<Item = usize>) -> Self {
        let longest = names.max().unwrap_or(0);
        if columns >= COLUMNS {
            Self { name: longest.clamp(9, 16) + 1, count: 6, number: 7 }
        } else {
            Self { name: longest.clamp(9, 10) + 1, count: 5, number: 6 }
        }
    }

    /// The two header lines; each block starts with a count.
    pub(super) fn heads(self, page: &mut Page, blocks: &[(&str, &[&str])]) {
        let Self { name, count, number } = self;
        let mut lines = [format!("{:name$}", "ms"), format!("{:name$}", "")];
        let [titles, columns] = &mut lines;
        for (title, numbers) in blocks {
            let width = count + number * numbers.len();
            titles.push_str(&format!("{:width$}", format!("  {title}")));
            let many = if count > "count".len() { "count" } else { "n" };
            columns.push_str(&format!("{many:>count$}"));
            numbers.iter().for_each(|it| columns.push_str(&format!("{it:>number$}")));
        }
        lines.into_iter().for_each(|line| page.line(&[plain(line)]));
    }

    /// One row.
    pub(super) fn row(self, page: &mut Page, name: &str, cells: &[Cell]) {
        let width = self.name;
        let fits = name.chars().count() < width;
        if !fits {
            page.line(&[plain(name.to_owned())]);
        }
        let first = plain(format!("{:width$}", if fits { name } else { "" }));
        let cells = cells.iter().map(|cell| self.cell(cell));
        page.line(&[first].into_iter().chain(cells).collect::<Vec<_>>());
    }

    fn cell(self, cell: &Cell) -> Piece {
        let Self { count, number, .. } = self;
        match *cell {
            Cell::Count(many) if many < 10_000 => plain(format!("{many:>count$}")),
            Cell::Count(many) => plain(format!("{:>count$}", format!("{}k", many / 1_000))),
            Cell::Ms(value, colour) => {
                let text = value.map_or("-".to_owned(), |value| length(value, number));
                Piece { text: format!("{text:>number$}"), colour }
            }
        }
    }
}

/// Milliseconds, or seconds if those would fill the whole width.
fn length(value: f64, width: usize) -> String {
    let text = short(value);
    if text.chars().count() < width { text } else { format!("{:.0}s", value / 1_000.0) }
}

#[cfg(test)]
mod tests {
    use super::{Cell, Grid};
    use crate::verdict::lines::Page;

    #[test]
    fn numbers_never_touch_and_a_long_name_has_its_own_line() {
        let mut page = Page::new(false, 80);
        let names = ["p1", "orders-in-europe"];
        let grid = Grid::of(80, names.iter().map(|name| name.len()));
        grid.heads(&mut page, &[("gaps", &["p50", "max"]), ("overlaps", &["max"])]);
        for name in names {
            let ms = |value| Cell::Ms(Some(value), None);
            let gaps = [Cell::Count(12_345), ms(99_999.0), ms(123_456.0)];
            let overlaps = [Cell::Count(0), Cell::Ms(None, None)];
            grid.row(&mut page, name, &gaps.into_iter().chain(overlaps).collect::<Vec<_>>());
        }
        let blank = " ".repeat(11);
        let numbers = "  12k 99999  123s    0     -";
        let wanted = format!(
            "ms{}  gaps{}  overlaps\n{blank}    n   p50   max    n   max\n\
             p1{}{numbers}\norders-in-europe\n{blank}{numbers}\n",
            " ".repeat(9),
            " ".repeat(11),
            " ".repeat(9),
        );
        assert_eq!(page.text, wanted);
    }
}
