//! All transcripts against one broker, at the same time: most of a play is waiting.

use std::path::{Path, PathBuf};

use tandem::groups::CoordinatorSettings;

use super::remote::Remote;
use super::{Subject, transcript};

/// Where the transcripts are.
pub fn transcripts() -> Vec<PathBuf> {
    let folder = Path::new(crate::ROOT).join("tests/data/coordinator");
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<_> = entries.filter(|path| path.extension().is_some()).collect();
    files.sort();
    files
}

/// Every transcript is answered by the broker that `make` knows as it is written: each is played
/// once.
pub fn assert_parity(paths: &[PathBuf], make: impl Fn(&str, CoordinatorSettings) -> Remote + Sync) {
    let play = |path: &PathBuf| {
        let written = std::fs::read_to_string(path).unwrap();
        let name = path.file_stem().unwrap().to_str().unwrap();
        let subject = |settings| -> Box<dyn Subject> { Box::new(make(name, settings)) };
        let played = transcript::play(&written, subject);
        let difference = transcript::first_difference(&written, &played)?;
        Some(format!("{}\n{difference}", path.display()))
    };
    let wrong: Vec<String> = std::thread::scope(|scope| {
        let plays: Vec<_> = paths.iter().map(|path| scope.spawn(|| play(path))).collect();
        plays.into_iter().filter_map(|play| play.join().unwrap()).collect()
    });
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
