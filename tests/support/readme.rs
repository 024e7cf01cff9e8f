//! The samples in README: what the program prints, and what of it is the same on any host.

use std::fs;
use std::path::Path;

/// The words before the output of the first command.
pub const FIRST: &str = "and ends after about a minute with\n\n```text\n";
/// The words before the table of the same kills with stand-ins.
pub const STAND_INS: &str = "--set defaults.on_death=stand-in`:\n\n```text\n";

fn read() -> String {
    fs::read_to_string(Path::new(crate::ROOT).join("README.md")).unwrap()
}

/// What stands before the sample behind these words, the sample, and what stands after it.
fn parts<'a>(page: &'a str, before: &str) -> (&'a str, &'a str, &'a str) {
    let (head, rest) = page.split_once(before).unwrap();
    let (sample, after) = rest.split_once("```").unwrap();
    (head, sample, after)
}

/// The sample behind these words.
pub fn sample(before: &str) -> String {
    parts(&read(), before).1.to_owned()
}

/// Puts another one there.
pub fn rewrite(before: &str, sample: &str) {
    let page = read();
    let (head, _, after) = parts(&page, before);
    let text = format!("{head}{before}{sample}```{after}");
    fs::write(Path::new(crate::ROOT).join("README.md"), text).unwrap();
}

/// What stays of each line where numbers, names and lengths may be others: a cell without a number
/// is one with it, and the names of roles are one.
pub fn shape(text: &str) -> Vec<String> {
    let word = |word: &str| {
        let number = word.starts_with(|first: char| first.is_ascii_digit()) || word == "-";
        match word {
            "eurusd" | "usdjpy" | "xauusd" | "brent" => "ROLE".to_owned(),
            _ if number => "#".to_owned(),
            _ => word.split(|it: char| it.is_ascii_digit()).collect::<Vec<_>>().join("#"),
        }
    };
    // Of a host that stalls there are more lines, and they are shown where they belong.
    let mut disturbed = false;
    let own = |line: &&str| {
        let goes_on = disturbed && line.starts_with("    ");
        disturbed = goes_on || line.starts_with("disturbed ");
        !disturbed && !line.contains("stalled")
    };
    // How many gaps there are is said only where some trial had more than one.
    let line = |line: &str| {
        let words = line.split_whitespace().map(word).collect::<Vec<_>>().join(" ");
        words.replace(" (# gaps)", "").replace(" (# gap)", "")
    };
    text.lines().filter(own).map(line).collect()
}

/// The table of a page.
pub fn table(page: &str) -> &str {
    let from = page.find("\nms  ").unwrap() + 1;
    page[from..].split_once("\n\n").unwrap().0
}
