//! The rules of the house, as tests: which room may use which, what pure rooms must not name, how
//! long files are, and that each says what it is for.

#![allow(
    clippy::as_conversions,
    clippy::cast_possible_truncation,
    reason = "a test may fail loudly"
)]

use std::fs;
use std::path::{Path, PathBuf};

/// The rooms from the ground up. A room may use only what stands in a line above its own; the rooms
/// of one line do not use each other.
const ROOMS: &[&[&str]] = &[
    &["built", "error", "ids", "shown", "statistics", "time"],
    &["host"],
    &["observation"],
    &["yaml", "neli", "groups", "wire"],
    &["topology"],
    &["secret", "timeline"],
    &["verdict", "watch"],
    &["page", "view"],
    &["journal", "kafka", "broker", "edge", "guard"],
    &["telemetry"],
    &["inquiry", "member"],
    &["controller"],
    &["chaos"],
    &["run"],
    &["cli"],
    &["main", "lib"],
];

/// Rooms and files without input, output, clock or chance.
const PURE: &[&str] = &[
    "ids.rs",
    "shown.rs",
    "statistics/",
    "topology/",
    "yaml/",
    "neli/",
    "groups/",
    "observation/",
    "wire/",
    "timeline/",
    "verdict/",
    "view/",
    "watch/",
    "page/",
    "telemetry/borders.rs",
    "telemetry/window.rs",
    "chaos/brief.rs",
    "chaos/cost.rs",
    "chaos/experiment.rs",
    "chaos/fault.rs",
    "chaos/fits.rs",
    "chaos/fits/",
    "chaos/foresee.rs",
    "chaos/kind.rs",
    "chaos/lookout.rs",
    "chaos/network_words.rs",
    "chaos/preview.rs",
    "chaos/reading.rs",
    "chaos/reading/",
    "chaos/resolve.rs",
    "chaos/schedule.rs",
    "chaos/series.rs",
    "chaos/spec.rs",
    "chaos/target.rs",
    "chaos/told.rs",
    "chaos/trials.rs",
    "chaos/words.rs",
    "edge/compose.rs",
    "edge/compose_topics.rs",
    "edge/frame.rs",
    "edge/head.rs",
    "edge/lane.rs",
    "edge/limits.rs",
    "edge/line.rs",
    "edge/order.rs",
    "edge/outstanding.rs",
    "edge/pace.rs",
    "edge/rewrite.rs",
    "edge/rules.rs",
];

/// What a pure room must not name.
const IMPURE: &[&str] = &[
    "tokio",
    "rdkafka",
    "opentelemetry",
    "std::net",
    "std::fs",
    "std::process",
    "std::thread",
    "Mono::now",
    "Wall::now",
    "rand::rng",
];

fn sources(folder: &str) -> Vec<(PathBuf, String)> {
    let mut found = Vec::new();
    let mut folders = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join(folder)];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() && !path.ends_with("target") {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let text = fs::read_to_string(&path).unwrap();
                found.push((path, text));
            }
        }
    }
    assert!(!found.is_empty(), "there are sources under {folder}");
    found.sort();
    found
}

/// The path below `src`, with slashes.
fn place(path: &Path) -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    path.strip_prefix(root).unwrap().to_string_lossy().into_owned()
}

fn room(place: &str) -> &str {
    place.split('/').next().unwrap().trim_end_matches(".rs")
}

fn level(room: &str) -> usize {
    let level = ROOMS.iter().position(|rooms| rooms.contains(&room));
    level.unwrap_or_else(|| panic!("room {room} has no place in ROOMS: give it one"))
}

/// The code of a file: no comments, no tests at its end.
fn code(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let body = text.split("#[cfg(test)]").next().unwrap_or(text);
    let lines = body.lines().enumerate().map(|(at, line)| (at + 1, line.trim()));
    lines.filter(|(_, line)| !line.starts_with("//"))
}

#[test]
fn imports_point_downwards() {
    for (path, text) in sources("src") {
        let place = place(&path);
        let own = room(&place);
        for (at, line) in code(&text) {
            for used in line.split("crate::").skip(1) {
                let used = used.split(|c: char| !c.is_alphanumeric() && c != '_').next().unwrap();
                // `crate::{…}` would hide what it names; the house style has one `use` a room.
                assert!(!used.is_empty(), "{place}:{at}: name the room right after `crate::`");
                let fine = used == own || level(used) < level(own);
                assert!(fine, "{place}:{at}: `{own}` uses `{used}`, which does not stand below it");
            }
        }
    }
}

#[test]
fn pure_rooms_do_nothing_but_think() {
    for (path, text) in sources("src") {
        let place = place(&path);
        if !PURE.iter().any(|pure| place.starts_with(pure)) {
            continue;
        }
        for (at, line) in code(&text) {
            let found = IMPURE.iter().find(|word| line.contains(*word));
            assert!(found.is_none(), "{place}:{at}: a pure room names {}", found.unwrap());
        }
    }
}

#[test]
fn only_the_kafka_room_names_rdkafka() {
    for (path, text) in sources("src") {
        let place = place(&path);
        for (at, line) in code(&text) {
            let named = line.contains("rdkafka") && !place.starts_with("kafka/");
            assert!(!named, "{place}:{at}: rdkafka is named outside its room");
        }
    }
}

#[test]
fn every_file_says_what_it_is_for_and_is_short() {
    for (path, text) in sources("src").into_iter().chain(sources("tests")) {
        let shown = path.display();
        assert!(text.starts_with("//!"), "{shown} does not begin by saying what it is for");
        let lines = text.lines().count();
        assert!(lines <= 400, "{shown} has {lines} lines, more than 400");
        for (at, line) in text.lines().enumerate() {
            let width = line.chars().count();
            assert!(width <= 100, "{shown}:{} has {width} columns, more than 100", at + 1);
        }
    }
}
