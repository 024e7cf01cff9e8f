//! What tests share: experiments as a user starts them, facts and plans, brokers and edges, twins
//! of what is judged. Compiled once, for all of them.

#![allow(
    missing_docs,
    clippy::must_use_candidate,
    clippy::new_without_default,
    clippy::as_conversions,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a test may fail loudly"
)]

pub mod alone;
pub mod apart;
pub mod applied;
pub mod beacons;
pub mod blocking_disk;
pub mod broker_process;
pub mod cases;
pub mod chance;
pub mod coordinator;
pub mod deployed;
pub mod described;
pub mod disk_blocks;
pub mod duty;
pub mod edge;
pub mod elections;
pub mod etcd;
pub mod exclusive;
pub mod experiment;
pub mod facts;
pub mod fast_group;
pub mod feed;
pub mod fences;
pub mod fences_apart;
pub mod foreign;
pub mod halted;
pub mod handovers;
pub mod held;
pub mod hosts;
pub mod hung;
pub mod in_ledger;
pub mod isolations;
pub mod kafka;
pub mod kazoo;
pub mod leftovers;
pub mod links;
pub mod measured;
pub mod memory;
pub mod mixed;
pub mod naive;
pub mod namespaces;
pub mod naming_answers;
pub mod nats;
pub mod observed;
pub mod orders;
pub mod outside;
pub mod pauses_apart;
pub mod postgres;
pub mod prices;
pub mod prometheus;
pub mod promises;
pub mod python;
pub mod quiet;
pub mod reader;
pub mod readme;
pub mod recorded;
pub mod referee;
pub mod relay;
pub mod results;
pub mod revived;
pub mod samples;
pub mod schedulers;
pub mod secured_stores;
pub mod series;
pub mod sound;
pub mod stalls;
pub mod stand_in;
pub mod static_lives;
pub mod stores;
pub mod supervised;
pub mod suspended;
pub mod three_stores;
pub mod transcript;
pub mod twin;
pub mod undone;
pub mod up;
pub mod usage;
pub mod waiting;
pub mod watched;
pub mod web;
pub mod windowed;
pub mod world;
pub mod wrapped;
pub mod zookeeper;

use std::path::{Path, PathBuf};
use std::sync::LazyLock;

/// The repository.
pub const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

/// The folder of this build's programs: tests are in `deps` below it.
static BUILT: LazyLock<PathBuf> = LazyLock::new(|| {
    let test = std::env::current_exe().unwrap();
    test.parent().and_then(Path::parent).unwrap().to_owned()
});
static PROGRAM: LazyLock<String> = LazyLock::new(|| {
    let built = || BUILT.join("tandem").into_os_string();
    std::env::var_os("TANDEM_TESTED").unwrap_or_else(built).into_string().unwrap()
});
static SCRATCH: LazyLock<PathBuf> = LazyLock::new(|| BUILT.with_file_name("tmp"));

/// `tandem`, as cargo has built it for these tests, or the one that `tests/all` names.
pub fn program() -> &'static str {
    &PROGRAM
}

/// A program of `examples/`. `cargo test` builds them beside the tests; with `--test`, `cargo build
/// --examples` has to come first.
pub fn example(name: &str) -> PathBuf {
    BUILT.join("examples").join(name)
}

/// Where tests keep what takes long to get; cargo's own place for that.
pub fn scratch() -> &'static Path {
    &SCRATCH
}

/// The name of these tests, without what cargo puts after it.
pub fn family() -> String {
    let test = std::env::current_exe().unwrap();
    let name = test.file_stem().unwrap().to_string_lossy().into_owned();
    name.rsplit_once('-').map_or(name.clone(), |(family, _)| family.to_owned())
}

/// Puts a copy of `tandem` there, by a process of its own: a file that this one had open for
/// writing could be busy in a child that another test forks at that moment.
pub fn install(to: &Path) {
    let done = std::process::Command::new("cp").arg(program()).arg(to).status().unwrap();
    assert!(done.success(), "cp to {}: {done}", to.display());
}
