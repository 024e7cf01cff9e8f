//! The rules of the house, as tests: which room may use which, what pure rooms must not name, how
//! long files are, that each says what it is for, and what it takes to embed a crate.
//!
//! A crate under `crates/` that holds one room is that room; one that holds several (`facts`,
//! `broker`) has its modules as rooms.

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
    &["built", "facts", "ids", "judge", "slots", "statistics", "time"],
    &["error", "http", "secret", "shown"],
    &["host", "observation", "roles"],
    &["keys", "yaml", "neli", "groups", "wire"],
    &["broker", "throttle"],
    &["kafka"],
    &["edge", "tandem_member"],
    &["roster", "secured"],
    &["timeline"],
    &["verdict", "live"],
    &["topology"],
    &["html_report", "live_view"],
    &["fold", "journal", "guard"],
    &["telemetry"],
    &["status_socket", "member", "external"],
    &["supervision"],
    &["controller", "hold"],
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
    "roles.rs",
    "keys.rs",
    "roster/",
    "wire/",
    "timeline/",
    "verdict/",
    "external/clocks.rs",
    "external/collation.rs",
    "external/letter.rs",
    "external/obedience.rs",
    "external/order.rs",
    "external/placement.rs",
    "external/sight.rs",
    "external/spool.rs",
    "external/standing.rs",
    "hold/backoff.rs",
    "hold/course.rs",
    "hold/deadlines.rs",
    "hold/lateness.rs",
    "live_view/",
    "live/",
    "html_report/",
    "telemetry/borders.rs",
    "telemetry/window.rs",
    "chaos/brief.rs",
    "chaos/cost.rs",
    "chaos/experiment.rs",
    "chaos/faults/",
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
    "chaos/trials.rs",
    "chaos/words.rs",
    "edge/compose.rs",
    "edge/compose_topics.rs",
    "edge/frame.rs",
    "edge/head.rs",
    "edge/lane.rs",
    "edge/limits.rs",
    "edge/line.rs",
    "edge/command.rs",
    "edge/outstanding.rs",
    "edge/pace.rs",
    "edge/rewrite.rs",
    "edge/rules.rs",
];

/// How a fault is done stands beside what it is, and is not pure.
const SHELL: &str = "/shell.rs";

/// What a pure room must not name.
const IMPURE: &[&str] = &[
    "tokio",
    "rdkafka",
    "opentelemetry",
    "std::net",
    "std::fs",
    "std::process",
    "std::thread",
    "Mono::now", // clock: a name
    "Wall::now",
    "rand::rng",
];

/// The Rust files below a folder of the repository, with their texts.
pub(crate) fn sources(folder: &str) -> Vec<(PathBuf, String)> {
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

/// Crates whose modules are rooms.
const SEVERAL: [&str; 3] = ["facts", "broker", "judge"];
/// Rooms that are a crate each: inside one, `crate::` is the room itself.
const ALONE: [&str; 4] = ["edge", "host", "neli", "tandem_member"];
/// The crates, as code names them.
const CRATES: [&str; 7] = [
    "tandem_broker",
    "tandem_edge",
    "tandem_facts",
    "tandem_host",
    "tandem_judge",
    "tandem_member",
    "tandem_neli",
];

/// All that is shipped, by its place: the room, or the room and the path in it.
fn shipped() -> Vec<(String, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut all = Vec::new();
    for (path, text) in sources("src") {
        let below = path.strip_prefix(root.join("src")).unwrap();
        all.push((below.to_string_lossy().into_owned(), text));
    }
    for (path, text) in sources("crates") {
        let below = path.strip_prefix(root.join("crates")).unwrap().to_string_lossy().into_owned();
        let (name, inside) = below.split_once("/src/").unwrap();
        let of_kafka = name == "member" && inside.starts_with("kafka/");
        let of_host = name == "host" && ["error.rs", "secret.rs", "shown.rs"].contains(&inside);
        let place = if SEVERAL.contains(&name) || of_kafka || of_host {
            inside.to_owned()
        } else {
            let room = if name == "member" { "tandem_member" } else { name };
            format!("{room}/{inside}")
        };
        all.push((place, text));
    }
    all
}

fn room(place: &str) -> &str {
    place.split('/').next().unwrap().trim_end_matches(".rs")
}

/// The rooms that a line of code names: of its own crate, or of another.
fn used<'a>(line: &'a str, own: &'a str) -> Vec<&'a str> {
    let mut rooms = Vec::new();
    let first = |text: &'a str| text.split(|c: char| !c.is_alphanumeric() && c != '_').next();
    for crate_name in CRATES {
        for rest in line.split(&format!("{crate_name}::")).skip(1) {
            let named = first(rest).unwrap();
            let known = ROOMS.iter().any(|rooms| rooms.contains(&named));
            let whole = crate_name.strip_prefix("tandem_").unwrap();
            let whole = if whole == "member" { crate_name } else { whole };
            rooms.push(if known { named } else { whole });
        }
    }
    for rest in line.split("crate::").skip(1) {
        let named = first(rest).unwrap();
        // `crate::{…}` would hide what it names; the house style has one `use` a room.
        assert!(
            !named.is_empty() || ALONE.contains(&own),
            "`{own}`: name the room after `crate::`"
        );
        rooms.push(if named.is_empty() { own } else { named });
    }
    rooms
}

fn level(room: &str) -> usize {
    let level = ROOMS.iter().position(|rooms| rooms.contains(&room));
    level.unwrap_or_else(|| panic!("room {room} has no place in ROOMS: give it one"))
}

/// The code of a file: no comments, no tests at its end.
fn code(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let body = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or(text);
    let lines = body.lines().enumerate().map(|(at, line)| (at + 1, line.trim()));
    lines.filter(|(_, line)| !line.starts_with("//"))
}

#[test]
fn imports_point_downwards() {
    for (place, text) in shipped() {
        let own = room(&place);
        let alone = ALONE.contains(&own);
        for (at, line) in code(&text) {
            for used in used(line, own) {
                let known = ROOMS.iter().any(|rooms| rooms.contains(&used));
                let fine = (alone && !known) || used == own || level(used) < level(own);
                assert!(fine, "{place}:{at}: `{own}` uses `{used}`, which does not stand below it");
            }
        }
    }
}

#[test]
fn pure_rooms_do_nothing_but_think() {
    for (place, text) in shipped() {
        let shell = place.starts_with("chaos/faults/") && place.ends_with(SHELL);
        if shell || !PURE.iter().any(|pure| place.starts_with(pure)) {
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
    for (place, text) in shipped() {
        for (at, line) in code(&text) {
            let named = line.contains("rdkafka") && !place.starts_with("kafka/");
            assert!(!named, "{place}:{at}: rdkafka is named outside its room");
        }
    }
}

/// A process may have any bytes as its name, and a program may be replaced while it runs.
#[test]
fn what_the_kernel_says_of_processes_is_no_text_and_a_program_starts_itself_by_its_file() {
    let refused = |line: &str| {
        (line.contains("read_to_string") && line.contains("/proc/{"))
            .then_some("`/proc/PID` is read as text")
            .or(line.contains("current_exe").then_some("`own_program` is the file that runs"))
    };
    for (path, text) in ["src", "crates"].map(sources).into_iter().flatten() {
        for (at, line) in code(&text) {
            assert_eq!(refused(line), None, "{}:{at}", path.display());
        }
    }
}

#[test]
fn every_file_states_its_purpose_and_is_short() {
    let all = ["src", "crates", "tests", "examples", "benches"].map(sources);
    let mut wrong = Vec::new();
    for (path, text) in all.into_iter().flatten() {
        let shown = path.display();
        if !text.starts_with("//!") {
            wrong.push(format!("{shown} does not begin by saying what it is for"));
        }
        let lines = text.lines().count();
        if lines > 400 {
            wrong.push(format!("{shown} has {lines} lines, more than 400"));
        }
        for (at, line) in text.lines().enumerate() {
            let width = line.chars().count();
            if width > 100 {
                wrong.push(format!("{shown}:{} has {width} columns, more than 100", at + 1));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// How many packages from elsewhere a program takes on that embeds this crate.
fn packages(name: &str) -> usize {
    let done = std::process::Command::new(env!("CARGO"))
        .args(["tree", "--offline", "--prefix", "none", "--edges", "normal", "--package", name])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    let text = String::from_utf8(done.stdout).unwrap();
    let names = text.lines().filter_map(|line| line.split(' ').next());
    let others = names.filter(|it| !it.is_empty() && !it.starts_with("tandem-"));
    others.collect::<std::collections::BTreeSet<_>>().len()
}

#[test]
fn the_embedded_features_have_few_dependencies() {
    assert_eq!(packages("tandem-neli"), 0, "the protocol needs nothing from elsewhere");
    for (name, most) in [("tandem-member", 70), ("tandem-broker", 70), ("tandem-edge", 70)] {
        let count = packages(name);
        eprintln!("{name} takes {count} packages along");
        assert!((1..=most).contains(&count), "{name} takes {count} packages along");
    }
}
