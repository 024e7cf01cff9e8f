//! How often tests look at a clock, or wait for one: in each file as often as is recorded, never
//! more often. What the gate says must not depend on time, so the record only becomes shorter.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use crate::tidy::sources;

/// What looks at a clock, or waits for one.
const WORDS: [&str; 4] = ["sleep(", ".elapsed(", "Instant::now", "Mono::now"]; // clock: names

/// After this stands why a line may, and then it does not count.
const REASON: &str = "// clock:";

/// Families that are no part of the gate.
const FREE: [&str; 2] = ["tests/measured/", "tests/series/"];

/// A line for each file that has any: how many, and where.
const RECORD: &str = "tests/data/ratchet.txt";

/// What writes the record down anew.
const AGAIN: &str = "UPDATE=1 cargo test --test files ratchet";

/// How often each of the words stands in a file.
type Counts = [usize; WORDS.len()];

fn is_counted(line: &str) -> bool {
    let is_explained = line.split_once(REASON).is_some_and(|(_, why)| !why.trim().is_empty());
    !is_explained && !line.trim_start().starts_with("//")
}

fn counts(text: &str) -> Counts {
    let lines: Vec<&str> = text.lines().filter(|line| is_counted(line)).collect();
    WORDS.map(|word| lines.iter().map(|line| line.matches(word).count()).sum())
}

/// The files with any, by their paths from the repository.
fn found() -> BTreeMap<String, Counts> {
    let place = |path: &Path| {
        let below = path.strip_prefix(env!("CARGO_MANIFEST_DIR")).unwrap();
        below.to_string_lossy().into_owned()
    };
    let all = sources("tests").into_iter().map(|(path, text)| (place(&path), counts(&text)));
    let free = |place: &str| FREE.iter().any(|free| place.starts_with(free));
    all.filter(|(place, counts)| !free(place) && total(counts) > 0).collect()
}

fn total(counts: &Counts) -> usize {
    counts.iter().sum()
}

/// `3 sleep(, 1 Mono::now`.
fn shown(counts: &Counts) -> String {
    let some = counts.iter().zip(WORDS).filter(|(count, _)| **count > 0);
    some.map(|(count, word)| format!("{count} {word}")).collect::<Vec<_>>().join(", ")
}

fn read(record: &str) -> BTreeMap<String, usize> {
    let pair = |line: &str| {
        let (count, place) = line.split_once(' ')?;
        Some((place.to_owned(), count.parse::<usize>().ok()?))
    };
    let read = |line: &str| pair(line).unwrap_or_else(|| panic!("{RECORD} holds {line:?}"));
    record.lines().map(read).collect()
}

#[test]
fn tests_look_at_clocks_less_and_less() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(RECORD);
    let (found, record) = (found(), fs::read_to_string(&path).ok());
    let recorded = record.as_deref().map(read);
    let mut risen = Vec::new();
    for (place, counts) in &found {
        let Some(recorded) = &recorded else { break };
        let (now, before) = (total(counts), recorded.get(place).copied().unwrap_or(0));
        if now > before {
            risen.push(format!("{place}: {now} and not {before} as recorded ({})", shown(counts)));
        }
    }
    // `UPDATE` is no way around it. The line of a file that was moved is moved by hand.
    let cure = format!("wait for a condition; or say why it is right, in its line: `{REASON} …`");
    assert!(risen.is_empty(), "{RECORD} allows less; {cure}\n{}", risen.join("\n"));
    let wanted: String =
        found.iter().map(|(place, counts)| format!("{} {place}\n", total(counts))).collect();
    if std::env::var_os("UPDATE").is_some() {
        fs::write(&path, &wanted).unwrap();
        return;
    }
    let mut fallen = Vec::new();
    for (place, before) in recorded.into_iter().flatten() {
        let now = found.get(&place).map_or(0, total);
        if now < before {
            fallen.push(format!("{place}: {now} and not {before} as recorded"));
        }
    }
    let said = format!("{RECORD} is to be written anew: {AGAIN}\n{}", fallen.join("\n"));
    assert!(record.is_some_and(|record| record == wanted), "{said}");
}
