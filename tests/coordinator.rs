//! Transcripts of the coordinator: `tests/coordinator/*.txt`, which people read and
//! `UPDATE=1 cargo test --test coordinator` rewrites.
//!
//! A block is a request, a line of dashes, and what is answered by the end of it, to whomever.
//! Clients are called by one letter; a client goes on with the member id and the generation that it
//! was given last, unless the request says otherwise. Times are milliseconds. What cannot be seen
//! over a socket is not in a transcript, so that another subject can be asked the same.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on must fail")]

mod coordinator_support;

use std::path::{Path, PathBuf};

use coordinator_support::core::Core;
use coordinator_support::transcript;

fn transcripts() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/coordinator");
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<_> = entries.filter(|path| path.extension().is_some()).collect();
    files.sort();
    files
}

#[test]
fn the_core_answers_as_it_is_written() {
    let update = std::env::var("UPDATE").is_ok();
    let mut wrong = Vec::new();
    for path in transcripts() {
        let written = std::fs::read_to_string(&path).unwrap();
        let played = transcript::play(&written, |settings| Box::new(Core::new(settings)));
        if update {
            std::fs::write(&path, &played).unwrap();
        } else if let Some(difference) = transcript::first_difference(&written, &played) {
            wrong.push(format!("{}\n{difference}", path.display()));
        }
    }
    assert!(wrong.is_empty(), "{}\nUPDATE=1 rewrites them", wrong.join("\n"));
}
