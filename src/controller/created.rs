//! Records the topics that runs create on clusters that outlive them, so that they can be removed
//! again: one small file per topic, written before the topic is created and removed after it is
//! deleted. A run that is killed in between leaves the file, and `tandem down` finds it.
//!
//! The files are `$XDG_STATE_HOME/tandem/created/<topology>/<cluster>/<topic>`, where
//! `$XDG_STATE_HOME` defaults to `~/.local/state`.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::guard::state_home;
use crate::ids::{TopicName, TopologyName};

/// The records of one topology.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Created {
    folder: PathBuf,
}

/// One topic that was created.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Entry {
    /// The bootstrap addresses of its cluster: `host:port`, separated by commas.
    pub bootstrap: String,
    /// Its name.
    pub topic: TopicName,
}

impl Created {
    /// The records of `topology` in the user's state directory.
    #[must_use]
    pub fn of(topology: &TopologyName) -> Self {
        Self::within(&state_home(), topology)
    }

    /// The records of `topology` in this state directory.
    #[must_use]
    pub fn within(state: &Path, topology: &TopologyName) -> Self {
        Self { folder: state.join("tandem/created").join(topology.as_str()) }
    }

    /// The folder of the records.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    fn file(&self, entry: &Entry) -> PathBuf {
        let legal = |c: char| if c.is_ascii_alphanumeric() || "-.".contains(c) { c } else { '_' };
        let cluster: String = entry.bootstrap.chars().map(legal).take(200).collect();
        self.folder.join(cluster).join(entry.topic.as_str())
    }

    /// Records a topic that is about to be created.
    ///
    /// # Errors
    /// The file cannot be written. The topic must then not be created.
    pub fn record(&self, entry: &Entry) -> io::Result<()> {
        let file = self.file(entry);
        if let Some(folder) = file.parent() {
            fs::create_dir_all(folder)?;
        }
        fs::write(file, serde_json::to_vec(entry)?)
    }

    /// Removes the record of a topic that is gone, and the folders that are empty then.
    ///
    /// # Errors
    /// The file cannot be removed.
    pub fn forget(&self, entry: &Entry) -> io::Result<()> {
        let file = self.file(entry);
        match fs::remove_file(&file) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            Ok(()) | Err(_) => {}
        }
        // `remove_dir` fails on a folder that is not empty, as it should.
        for folder in file.ancestors().skip(1).take(2) {
            fs::remove_dir(folder).ok();
        }
        Ok(())
    }

    /// All recorded topics, in order. Files that are not records are ignored.
    ///
    /// # Errors
    /// The folder cannot be read.
    pub fn entries(&self) -> io::Result<Vec<Entry>> {
        let mut entries = Vec::new();
        for cluster in list(&self.folder)? {
            for file in list(&cluster)? {
                entries.extend(serde_json::from_slice::<Entry>(&fs::read(file)?));
            }
        }
        entries.sort();
        Ok(entries)
    }
}

fn list(folder: &Path) -> io::Result<Vec<PathBuf>> {
    match fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) => Err(error),
        Ok(entries) => entries.map(|entry| entry.map(|entry| entry.path())).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_recorded_is_found_until_it_is_forgotten() {
        let state = tempfile::tempdir().unwrap();
        let created = Created::within(state.path(), &"pricing".parse().unwrap());
        assert_eq!(created.entries().unwrap(), []);
        let entry = |topic: &str| Entry {
            bootstrap: "127.0.0.1:9092,[::1]:9092".to_owned(),
            topic: topic.parse().unwrap(),
        };
        created.record(&entry("b")).unwrap();
        created.record(&entry("a")).unwrap();
        created.record(&entry("a")).unwrap();
        assert_eq!(created.entries().unwrap(), [entry("a"), entry("b")]);
        created.forget(&entry("a")).unwrap();
        assert_eq!(created.entries().unwrap(), [entry("b")]);
        created.forget(&entry("b")).unwrap();
        created.forget(&entry("b")).unwrap();
        assert!(!created.folder().exists(), "nothing half-done stays behind");
    }
}
