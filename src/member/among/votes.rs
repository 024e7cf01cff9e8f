//! The file with a member's votes: each save replaces it, and has reached the disk when it is
//! reported.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::Builder;

use super::Input;
use super::folder::Folder;
use crate::ids::MemberId;
use crate::neli::elections::among::Votes;
use crate::telemetry::TrustError;

/// Why a member cannot vote.
#[derive(Debug, thiserror::Error)]
pub enum VotesError {
    /// It is none of the members.
    #[error("{0} is not one of the members of its group")]
    Stranger(MemberId),
    /// A file or a socket of the group cannot be used.
    #[error("{} cannot be used", path.display())]
    Folder {
        /// Which.
        path: PathBuf,
        /// What the system says.
        #[source]
        source: io::Error,
    },
    /// The votes of an earlier life are not legible: it may have promised anything.
    #[error("{} does not hold the votes of this member", .0.display())]
    Illegible(PathBuf),
    /// A certificate or a key for TLS cannot be used.
    #[error("TLS to NATS cannot be set up")]
    Trust(#[source] TrustError),
    /// The system refuses a thread.
    #[error("the member cannot start its thread")]
    Thread(#[source] io::Error),
}

/// A thread that writes votes, so that heartbeats need not wait for the disk.
pub(super) struct Writer {
    saves: SyncSender<(u64, Votes)>,
    /// What the earlier lives of the member voted; none in its first life.
    pub(super) remembered: Option<Votes>,
}

impl Writer {
    /// Reads the file, and starts the thread.
    pub(super) fn start(folder: &Folder, inputs: SyncSender<Input>) -> Result<Self, VotesError> {
        let path = folder.votes();
        let refused = |source| VotesError::Folder { path: path.clone(), source };
        let remembered = match fs::read_to_string(&path) {
            Ok(text) => {
                let votes = Votes::decode(&text);
                Some(votes.ok_or_else(|| VotesError::Illegible(path.clone()))?)
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(refused(error)),
        };
        let folder = folder.again().map_err(refused)?;
        // The core asks for one save at a time.
        let (saves, received) = sync_channel(1);
        let thread = Builder::new().name("votes".to_owned());
        let _ends_with_its_sender = thread
            .spawn(move || write_all(&folder, &received, &inputs))
            .map_err(VotesError::Thread)?;
        Ok(Self { saves, remembered })
    }

    /// Writes the votes, and reports the number when they are on the disk.
    pub(super) fn save(&self, number: u64, votes: Votes) {
        // It never waits: the one before has been reported.
        self.saves.send((number, votes)).ok();
    }
}

fn write_all(folder: &Folder, saves: &Receiver<(u64, Votes)>, inputs: &SyncSender<Input>) {
    let path = folder.votes();
    for (number, votes) in saves {
        let saved = replace(&path, votes.encode().as_bytes()).and_then(|()| folder.sync());
        let input = match saved {
            Ok(()) => Input::Saved(number),
            Err(source) => Input::Unsaved(VotesError::Folder { path: path.clone(), source }),
        };
        if inputs.send(input).is_err() {
            return;
        }
    }
}

/// Writes a new file, and puts it in the place of the old one once it is on the disk.
fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let new = path.with_extension("votes.new");
    let mut file = File::create(&new)?;
    file.write_all(bytes)?;
    file.sync_all()?;
    fs::rename(&new, path)
}
