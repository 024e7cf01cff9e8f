//! What tests draw: each property by a seed of its own, which stands in the source. No test reads
//! entropy, the order of a hash table, or a clock for a seed.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use crate::tidy::sources;

const FOLDERS: [&str; 5] = ["benches", "crates", "examples", "src", "tests"];

/// This file names what others must not.
const OWN: &str = "tests/files/tidy_chance.rs";

/// What draws from anything but a seed in the source. A hash table has an order by chance.
const DRAWN: &[&str] = &[
    "thread_rng",
    "rand::rng(",
    "rand::random",
    "from_os_rng",
    "SysRng",
    "OsRng",
    "RandomState",
    "HashMap",
    "HashSet",
    "ProptestConfig",
    "TestRunner::",
];

/// Where one of these stands all the same, and why no outcome of a test depends on it.
const EXCEPT: &[(&str, &str, &str)] = &[
    (
        "crates/broker/src/broker/settings.rs",
        "RandomState",
        "two brokers must not give the same ids, and no test says which they give",
    ),
    (
        "crates/member/src/driver.rs",
        "RandomState",
        "two processes of one life must differ, and no test says who stands in for which of them",
    ),
    (
        "crates/member/src/own_group/mod.rs",
        "RandomState",
        "two processes of one life must differ in the group; their ids begin with the life",
    ),
    (
        "tests/model/search/calm.rs",
        "HashMap",
        "states are looked up in it, and the largest of its values is taken",
    ),
];

/// What is no seed.
const CLOCKS: [&str; 3] = ["Mono::now", "Wall::now", "process::id"];

/// Series count what chance brings; each says its seed.
const SERIES: &str = "tests/series/";

/// How each property begins, after the name of the macro.
const CONFIGURED: &str = "#![proptest_config(cases(0x";

fn is_comment(line: &str) -> bool {
    line.trim_start().starts_with("//")
}

/// The files, by their paths from the repository. Comments are empty lines.
fn files() -> Vec<(String, String)> {
    let place = |path: &Path| {
        let below = path.strip_prefix(env!("CARGO_MANIFEST_DIR")).unwrap();
        below.to_string_lossy().into_owned()
    };
    let bare = |text: &str| {
        let lines = text.lines().map(|line| if is_comment(line) { "" } else { line });
        lines.collect::<Vec<_>>().join("\n")
    };
    let all = FOLDERS.map(sources).into_iter().flatten();
    let all = all.map(|(path, text)| (place(&path), bare(&text)));
    all.filter(|(place, _)| place != OWN).collect()
}

#[test]
fn tests_read_no_entropy() {
    let (mut wrong, mut used) = (Vec::new(), BTreeSet::new());
    for (place, text) in files() {
        let is_test = place.starts_with("tests/") && !place.starts_with(SERIES);
        for (at, line) in (1..).zip(text.lines()) {
            for word in DRAWN.iter().filter(|word| line.contains(**word)) {
                let is_it = |(file, it, _): &(&str, &str, &str)| *file == place && it == word;
                match EXCEPT.iter().position(is_it) {
                    Some(known) => drop(used.insert(known)),
                    None => wrong.push(format!("{place}:{at}: {word} draws what no source says")),
                }
            }
            if is_test && line.contains("seed") && CLOCKS.iter().any(|clock| line.contains(clock)) {
                wrong.push(format!("{place}:{at}: the seed is not in the source"));
            }
        }
    }
    let unused = EXCEPT.iter().enumerate().filter(|(at, _)| !used.contains(at));
    for (_, (place, word, why)) in unused {
        wrong.push(format!("{place} no longer names {word} ({why}): remove that exception"));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn each_property_draws_from_a_seed_of_its_own() {
    let (mut wrong, mut seeds) = (Vec::new(), BTreeMap::new());
    for (place, text) in files() {
        for block in text.split("proptest!").skip(1) {
            let inside = block.trim_start().strip_prefix('{').map(str::trim_start);
            let Some(seed) = inside.and_then(|inside| inside.strip_prefix(CONFIGURED)) else {
                wrong.push(format!("{place}: a property does not begin with {CONFIGURED}…, N))]"));
                continue;
            };
            let seed = seed.split(',').next().unwrap().to_owned();
            if let Some(other) = seeds.insert(seed.clone(), place.clone()) {
                wrong.push(format!("{place}: the seed 0x{seed} is one of {other}"));
            }
        }
    }
    assert!(seeds.len() > 20, "there are properties: {seeds:?}");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
