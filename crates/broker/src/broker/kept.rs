//! The fences of groups, in a file that outlives the broker: the offsets that groups commit under
//! partitions of `__consumer_offsets`. Nothing else does.
//!
//! Each line has a partition, an offset and a group; of those of one partition and group the last
//! one counts.
//! A line is in the file, though not on the disk, before its commit is answered: it outlives the
//! process, not the machine. The broker writes the file anew when it starts.

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::path::Path;

use super::commits::OFFSETS;
use crate::groups::Position;

/// What counts: by group and partition.
pub(super) type Fences = BTreeMap<(String, i32), i64>;

/// The file, if there is one.
#[derive(Debug, Default)]
pub(super) struct Kept {
    file: Option<File>,
    fences: Fences,
}

impl Kept {
    /// Reads the file, which need not exist.
    pub(super) fn open(path: Option<&Path>) -> io::Result<Self> {
        let Some(path) = path else { return Ok(Self::default()) };
        let text = match fs::read_to_string(path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
            Err(error) => return Err(error),
        };
        let mut fences = Fences::new();
        // The last line may have been cut off.
        for line in text.split_inclusive('\n').filter(|line| line.ends_with('\n')) {
            let read = read(line).ok_or_else(|| {
                io::Error::other(format!("it holds the line {line:?}, which is no fence"))
            })?;
            fences.insert(read.0, read.1);
        }
        let mut new = String::new();
        for ((group, partition), offset) in &fences {
            new.push_str(&line(group, *partition, *offset));
        }
        let beside = path.with_added_extension("new");
        fs::write(&beside, new)?;
        fs::rename(&beside, path)?;
        let file = OpenOptions::new().append(true).open(path)?;
        Ok(Self { file: Some(file), fences })
    }

    pub(super) const fn fences(&self) -> &Fences {
        &self.fences
    }

    /// A group commits this. If it cannot be kept, the commit must not be answered.
    pub(super) fn keep(&mut self, group: &str, (at, offset): &Position) -> io::Result<()> {
        let Some(file) = self.file.as_mut().filter(|_| at.topic == OFFSETS.0) else {
            return Ok(());
        };
        let key = (group.to_owned(), at.partition);
        if group.contains('\n') || self.fences.get(&key) == Some(&offset.offset) {
            return Ok(());
        }
        file.write_all(line(group, at.partition, offset.offset).as_bytes())?;
        self.fences.insert(key, offset.offset);
        Ok(())
    }
}

fn line(group: &str, partition: i32, offset: i64) -> String {
    format!("{partition} {offset} {group}\n")
}

fn read(line: &str) -> Option<((String, i32), i64)> {
    let (partition, rest) = line.trim_end_matches('\n').split_once(' ')?;
    let (offset, group) = rest.split_once(' ')?;
    Some(((group.to_owned(), partition.parse().ok()?), offset.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::groups::{CommittedOffset, TopicPartition};
    use tempfile::TempDir;

    fn position(topic: &str, partition: i32, offset: i64) -> Position {
        let at = TopicPartition { topic: topic.to_owned(), partition };
        (at, CommittedOffset { offset, leader_epoch: -1, metadata: String::new() })
    }

    #[test]
    fn a_later_broker_knows_the_last_fence_of_each_group_and_partition() {
        let folder = TempDir::new().unwrap();
        let file = folder.path().join("fences");
        let mut first = Kept::open(Some(&file)).unwrap();
        for (group, position) in [
            ("a group", position(OFFSETS.0, 0, 7)),
            ("a group", position(OFFSETS.0, 3, 8)),
            ("b", position(OFFSETS.0, 0, 5)),
            ("a group", position(OFFSETS.0, 0, 9)),
            ("a group", position("ledger", 1, 9)),
        ] {
            first.keep(group, &position).unwrap();
        }
        // A broker dies in the middle of a line.
        fs::OpenOptions::new().append(true).open(&file).unwrap().write_all(b"0 1").unwrap();
        let of = |group: &str, partition| (group.to_owned(), partition);
        let all = Fences::from([(of("a group", 0), 9), (of("a group", 3), 8), (of("b", 0), 5)]);
        assert_eq!(Kept::open(Some(&file)).unwrap().fences, all);
        assert_eq!(fs::read_to_string(&file).unwrap(), "0 9 a group\n3 8 a group\n0 5 b\n");
        let mut nowhere = Kept::open(None).unwrap();
        nowhere.keep("b", &position(OFFSETS.0, 0, 1)).unwrap();
        assert!(nowhere.fences.is_empty());
    }

    #[test]
    fn a_file_of_something_else_is_refused_and_stays_as_it_is() {
        let folder = TempDir::new().unwrap();
        let file = folder.path().join("fences");
        fs::write(&file, "a diary\n").unwrap();
        let refused = Kept::open(Some(&file)).unwrap_err().to_string();
        assert!(refused.contains("a diary"), "{refused}");
        assert_eq!(fs::read_to_string(&file).unwrap(), "a diary\n");
    }
}
