//! All transcripts against one broker, at the same time: most of a play is waiting.

use std::path::{Path, PathBuf};
use std::time::Duration;

use tandem::groups::CoordinatorSettings;
use tandem::time::Mono;

use super::core::LATE_MS_MAX;
use super::remote::Remote;
use super::{Subject, transcript};
use crate::quiet::undisturbed;
use crate::stalls::Watch;

/// The transcripts of the classic protocol: `coordinator`, or of the newer one: `consumer`.
pub fn transcripts(folder: &str) -> Vec<PathBuf> {
    let folder = Path::new(crate::ROOT).join("tests/data").join(folder);
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<_> = entries.filter(|path| path.extension().is_some()).collect();
    files.sort();
    files
}

/// What came of all transcripts, and how long the host kept a thread from running meanwhile.
struct Played {
    wrong: Vec<String>,
    stalled: Duration,
}

/// Every transcript is answered by the broker that `make` knows as it is written. Each is played
/// once. It is unknown if the host kept a thread from running for half of the time that the
/// transcripts leave a late client: then a request or its answer may have been later than that.
pub fn assert_parity(paths: &[PathBuf], make: impl Fn(&str, CoordinatorSettings) -> Remote + Sync) {
    let disturbed = |played: &Played| played.stalled >= Duration::from_millis(LATE_MS_MAX / 2);
    let shown = |played: &Played| format!("stalled for {:?}, {:#?}", played.stalled, played.wrong);
    let played = undisturbed(|| play(paths, &make), disturbed, shown);
    let wrong = played.map_or_else(Vec::new, |played| played.wrong);
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Plays them, and asks for nothing: the first answers of a broker may be late, for its code is
/// loaded as it is first used.
pub fn rehearse(paths: &[PathBuf], make: impl Fn(&str, CoordinatorSettings) -> Remote + Sync) {
    drop(play(paths, &make));
}

fn play(paths: &[PathBuf], make: &(impl Fn(&str, CoordinatorSettings) -> Remote + Sync)) -> Played {
    let play = |path: &PathBuf| {
        let written = std::fs::read_to_string(path).unwrap();
        let name = path.file_stem().unwrap().to_str().unwrap();
        let subject = |settings| -> Box<dyn Subject> { Box::new(make(name, settings)) };
        let played = transcript::play(&written, subject);
        let difference = transcript::first_difference(&written, &played)?;
        Some(format!("{}\n{difference}", path.display()))
    };
    let (watch, began) = (Watch::begin(), Mono::now());
    let wrong = std::thread::scope(|scope| {
        let plays: Vec<_> = paths.iter().map(|path| scope.spawn(|| play(path))).collect();
        plays.into_iter().filter_map(|play| play.join().unwrap()).collect()
    });
    Played { wrong, stalled: watch.longest(began, Mono::now()) }
}
