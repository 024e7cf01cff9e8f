//! What property tests draw: by a seed that stands in the source, so that the code alone decides.
//! `tests/explore` draws others.

use std::collections::BTreeMap;
use std::num::NonZeroU32;
use std::path::Path;
use std::str::FromStr;

use proptest::test_runner::{Config, FileFailurePersistence, RngAlgorithm, RngSeed};

/// Where cases stand that a property has once failed with, by the path of its source.
const FOUND: &str = "proptest-regressions";

/// How often a failed case is made smaller, at most.
const SHRUNK: u32 = 2_000;

/// How many draws may be refused, for each time that a property is played.
const REFUSED: [u32; 2] = [65_536, 1_024];

/// So many cases of a property with this seed, after those that it has once failed with.
///
/// With `TANDEM_EXPLORE`, a number, it draws others: `TANDEM_EXPLORE_TIMES` as many.
///
/// # Panics
/// A variable of proptest's own is set: `proptest!` heeds it more than the source.
pub fn cases(seed: u64, count: u32) -> Config {
    let names = std::env::vars_os().filter_map(|(name, _)| name.into_string().ok());
    let foreign: Vec<String> = names.filter(|name| name.starts_with("PROPTEST_")).collect();
    assert!(foreign.is_empty(), "unset {foreign:?}: tests/explore draws what the source does not");
    let times = base().and_then(|_| number("TANDEM_EXPLORE_TIMES")).map_or(1, NonZeroU32::get);
    let [local, global] = REFUSED.map(|most| most.saturating_mul(times));
    Config {
        cases: count.saturating_mul(times),
        max_local_rejects: local,
        max_global_rejects: global,
        failure_persistence: Some(Box::new(FileFailurePersistence::SourceParallel(FOUND))),
        max_shrink_iters: SHRUNK,
        rng_algorithm: RngAlgorithm::ChaCha,
        rng_seed: RngSeed::Fixed(drawn_from(seed)),
        ..Config::default()
    }
}

/// What is drawn from in place of this seed, if others are explored.
pub fn drawn_from(seed: u64) -> u64 {
    base().map_or(seed, |base| mixed(base, seed))
}

/// Whether cases are drawn that the source does not name.
pub fn explored() -> bool {
    base().is_some()
}

fn base() -> Option<u64> {
    number("TANDEM_EXPLORE")
}

/// A seed of its own for each property, and for each number that is explored from.
fn mixed(base: u64, seed: u64) -> u64 {
    // An odd number: no two bases have one product. The one added keeps 0 from drawing as usual.
    base.wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ seed
}

/// What an experiment is started with beside arguments that name no seed: it makes the same choices
/// each time. Families that measure draw theirs, so that many plays have many.
pub fn seed_beside(arguments: &[impl AsRef<str>]) -> &'static [&'static str] {
    let named = arguments.iter().any(|argument| argument.as_ref() == "--seed");
    if named || ["measured", "series"].contains(&crate::family().as_str()) {
        return &[];
    }
    &["--seed", "1"]
}

/// A variable of the environment that is a number.
fn number<N: FromStr>(name: &str) -> Option<N> {
    let text = std::env::var_os(name)?;
    let number = text.to_str().and_then(|text| text.parse().ok());
    Some(number.unwrap_or_else(|| panic!("{name} is a number, and not {text:?}")))
}

/// The inputs that a property of this file has failed with, by their names, as they were written
/// beside their seeds: what a seed draws may change with the generator, and these do not. A single
/// number is a list of one.
pub fn found(file: &str) -> Vec<BTreeMap<String, Vec<u64>>> {
    let path = Path::new(crate::ROOT).join("tests").join(FOUND).join(file);
    let text = std::fs::read_to_string(&path);
    let text = text.unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let written = text.lines().filter_map(|line| line.split_once(" # shrinks to "));
    written.map(|(_, text)| inputs(text)).collect()
}

/// `numbers = [1, 2], length = 3`.
fn inputs(text: &str) -> BTreeMap<String, Vec<u64>> {
    let (mut all, mut rest) = (BTreeMap::new(), text);
    while let Some((name, value)) = rest.split_once(" = ") {
        let (numbers, after) = match value.strip_prefix('[') {
            Some(list) => list.split_once(']').unwrap(),
            None => value.split_once(',').unwrap_or((value, "")),
        };
        let numbers = numbers.split(',').map(str::trim).filter(|number| !number.is_empty());
        let numbers: Vec<u64> = numbers.map(|number| number.parse().unwrap()).collect();
        all.insert(name.to_owned(), numbers);
        rest = after.trim_start_matches([',', ' ']);
    }
    all
}
