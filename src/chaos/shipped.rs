//! The files that are compiled into the program, so that experiments, topologies and suites are
//! available wherever it runs.
//!
//! If a path does not exist on disk and is the name of a shipped file, it means the shipped one,
//! which messages then show as `shipped:/chaos/kill-leader.yaml`. That name always means the
//! shipped file. Files that a shipped file names are shipped, too.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::load::shown;
use crate::yaml::did_you_mean;

/// The prefix of a shipped file's path.
const INSIDE: &str = "shipped:";
/// The most files of a folder that are compared with a name that is missing there.
const SIBLINGS_MOST: usize = 1_000;

/// A shipped file: its path in the source tree, and its text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shipped {
    /// Its path, as in `chaos/kill-leader.yaml`.
    pub path: &'static str,
    /// Its text.
    pub text: &'static str,
}

macro_rules! shipped {
    ($($path:literal,)*) => {
        &[$(Shipped {
            path: $path,
            text: include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/", $path)),
        }),*]
    };
}

/// All shipped files: topologies, experiments, suites, and the schemas that their first lines name.
pub const SHIPPED: &[Shipped] = shipped![
    "topologies/duo.yaml",
    "topologies/duty.yaml",
    "topologies/elections-stores.yaml",
    "topologies/elections.yaml",
    "topologies/exclusive-paper.yaml",
    "topologies/exclusive.yaml",
    "topologies/fast.yaml",
    "topologies/held.yaml",
    "topologies/kafka-duo-three.yaml",
    "topologies/kafka-duo.yaml",
    "topologies/kafka-secure.yaml",
    "topologies/kafka-solo.yaml",
    "topologies/kafka-three.yaml",
    "topologies/machines.yaml",
    "topologies/mixed-etcd.yaml",
    "topologies/mixed-stores.yaml",
    "topologies/mixed-nats.yaml",
    "topologies/mixed-zookeeper.yaml",
    "topologies/mixed.yaml",
    "topologies/shared-topic.yaml",
    "topologies/solo.yaml",
    "topologies/stand-in.yaml",
    "topologies/thousand.yaml",
    "topologies/trio.yaml",
    "chaos/calm.yaml",
    "chaos/churn-group.yaml",
    "chaos/cut-heartbeats.yaml",
    "chaos/duplicate-leader.yaml",
    "chaos/heal-stalled.yaml",
    "chaos/host-down.yaml",
    "chaos/isolate-group.yaml",
    "chaos/isolate-half.yaml",
    "chaos/isolate-leader.yaml",
    "chaos/kill-coordinator.yaml",
    "chaos/kill-each.yaml",
    "chaos/kill-group.yaml",
    "chaos/kill-leader.yaml",
    "chaos/leave-each.yaml",
    "chaos/leave-leader.yaml",
    "chaos/lose-a-cluster.yaml",
    "chaos/own-command.yaml",
    "chaos/own-program.yaml",
    "chaos/pause-each.yaml",
    "chaos/pause-leader.yaml",
    "chaos/restart-too-soon.yaml",
    "chaos/rolling-restart.yaml",
    "chaos/shift-clock.yaml",
    "chaos/slow-network.yaml",
    "chaos/stop-leader.yaml",
    "chaos/storm.yaml",
    "chaos/twin-kill.yaml",
    "chaos/suites/elections.yaml",
    "chaos/suites/shipped.yaml",
    "deploy/schema/experiment.json",
    "deploy/schema/suite.json",
    "deploy/schema/topology.json",
];

/// The file that a path means: the one on disk if it exists, else the shipped file of that name.
#[must_use]
pub fn locate(path: &Path) -> Cow<'_, Path> {
    let inside =
        || Some(PathBuf::from(format!("{INSIDE}/{}", within(Path::new(&shown(path)))?.path)));
    if path.starts_with(INSIDE) || path.exists() {
        return Cow::Borrowed(path);
    }
    inside().map_or(Cow::Borrowed(path), Cow::Owned)
}

/// The file that another file names: relative to that file, else where the command line would find
/// it.
pub(super) fn named(by: &Path, file: &Path) -> PathBuf {
    let beside = by.parent().unwrap_or(Path::new("")).join(file);
    if is_file(&beside) {
        return beside;
    }
    let elsewhere = locate(file);
    if is_file(&elsewhere) { elsewhere.into_owned() } else { beside }
}

/// A hint for a file that does not exist: one of a similar name in its folder, else among the
/// shipped ones.
pub(super) fn alike(missing: &Path) -> Option<String> {
    let shipped = || SHIPPED.iter().map(|file| PathBuf::from(file.path)).collect();
    let near = nearest(missing, siblings(missing)).or_else(|| nearest(missing, shipped()))?;
    Some(format!("did you mean `{}`?", shown(&near)))
}

fn nearest(missing: &Path, files: Vec<PathBuf>) -> Option<PathBuf> {
    let stem = |path: &Path| Some(path.file_stem()?.to_string_lossy().into_owned());
    let stems: BTreeSet<String> = files.iter().filter_map(|path| stem(path)).collect();
    let near = did_you_mean(&stem(missing)?, stems.iter().map(String::as_str))?;
    // The very path is missing, so it is no suggestion.
    files.into_iter().find(|path| stem(path).as_deref() == Some(near) && path != missing)
}

/// The files of its folder that could be meant.
fn siblings(missing: &Path) -> Vec<PathBuf> {
    let folder = match missing.parent() {
        Some(parent) if parent != Path::new("") => parent,
        Some(_) | None => Path::new("."),
    };
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let paths = entries.map(|entry| entry.path());
    let files = paths.filter(|path| path.extension() == Some("yaml".as_ref()));
    files.take(SIBLINGS_MOST).collect()
}

/// Whether the path is that of a shipped file.
#[must_use]
pub fn is_inside(path: &Path) -> bool {
    path.starts_with(INSIDE)
}

/// The text of a shipped file, if the path names one.
pub(super) fn text(path: &Path) -> Option<&'static str> {
    let path = shown(path);
    within(Path::new(&path).strip_prefix(INSIDE).ok()?).map(|file| file.text)
}

/// Whether a file exists, on disk or shipped.
pub(super) fn is_file(path: &Path) -> bool {
    if is_inside(path) { text(path).is_some() } else { path.is_file() }
}

fn within(path: &Path) -> Option<&'static Shipped> {
    SHIPPED.iter().find(|file| Path::new(file.path) == path)
}
