//! Keeps the highest fence of a group on this host's disk, for all members of the group here: no
//! later fence of theirs is below it, even if the brokers lose what the group committed and the
//! clock is set.
//!
//! Each group has a file that holds one number. A member locks it, raises its fences above that
//! number, writes the highest one down and syncs it, before it commits them. That happens on a
//! thread of its own, and the member waits for it no longer than [`WITHIN`]: then, and where the
//! file cannot be written, it goes on with what the group and the clock say, and warns. It also
//! writes down what it reads of the fences of members on other hosts, and waits for nothing then.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _, Seek as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, TryRecvError, channel};
use std::thread;
use std::time::Duration;

use tandem_facts::ids::ConsumerGroup;
use tandem_facts::time::Mono;
use tandem_neli::membership::{ByPartition, RequestId, fences_above};

/// How long a member waits for the disk. A role has no leader meanwhile.
const WITHIN: Duration = Duration::from_secs(2);
/// A number has 19 digits.
const LENGTH_MOST: u64 = 64;

/// What the thread answers.
type Kept = io::Result<ByPartition>;

/// Fences that are to be kept.
struct Asked {
    id: RequestId,
    fences: ByPartition,
    until: Mono,
}

/// A thread that keeps fences.
struct Work {
    id: RequestId,
    kept: Receiver<Kept>,
}

/// The file of one group.
pub(super) struct Keeper {
    file: Option<PathBuf>,
    /// What the member waits for.
    asked: Option<Asked>,
    /// The thread that is under way; there is one at a time.
    work: Option<Work>,
    /// Whether the last fences were not kept.
    failed: bool,
}

impl Keeper {
    /// The file in `folder`; nothing is kept without one.
    pub(super) fn new(folder: Option<&Path>, group: &ConsumerGroup) -> Self {
        let file = folder.map(|folder| folder.join(group.as_str()));
        Self { file, asked: None, work: None, failed: false }
    }

    /// Begins to keep these fences; [`poll`](Self::poll) has the answer.
    pub(super) fn keep(&mut self, now: Mono, id: RequestId, fences: ByPartition) {
        let asked = Asked { id, fences, until: now + WITHIN };
        if let Some(file) = self.file.clone() {
            // Where that fails, `poll` tries again, and says why.
            self.begin(&file, &asked).ok();
        }
        self.asked = Some(asked);
    }

    /// Keeps a fence of a member elsewhere.
    pub(super) fn learn(&self, fence: i64) {
        let Some(file) = self.file.clone() else { return };
        let learn = move || {
            if let Err(error) = raise(&file, &ByPartition::new(), fence) {
                let file = file.display();
                tracing::warn!(%file, %error, "The fences of other hosts are not kept here.");
            }
        };
        // It may end after the member. The next epoch is another try.
        thread::Builder::new().name("fences".to_owned()).spawn(learn).ok();
    }

    /// The answer to the last question, once there is one.
    pub(super) fn poll(&mut self, now: Mono) -> Option<(RequestId, ByPartition)> {
        let done = self.work.as_ref().and_then(|work| match work.kept.try_recv() {
            Ok(kept) => Some((work.id, kept)),
            Err(TryRecvError::Empty) => None,
            Err(TryRecvError::Disconnected) => {
                Some((work.id, Err(io::Error::other("the thread that writes has died"))))
            }
        });
        if done.is_some() {
            self.work = None;
        }
        let asked = self.asked.take()?;
        let Some(file) = self.file.clone() else { return Some((asked.id, asked.fences)) };
        // The answer to a question of the past counts no more: others may have higher fences since.
        let done = done.filter(|(id, _)| *id == asked.id).map(|(_, kept)| kept);
        let begun = if done.is_none() { self.begin(&file, &asked) } else { Ok(()) };
        let why = match (done, begun) {
            (Some(Ok(kept)), _) => {
                self.failed = false;
                return Some((asked.id, kept));
            }
            (Some(Err(error)), _) | (None, Err(error)) => error.to_string(),
            (None, Ok(())) if now < asked.until => {
                self.asked = Some(asked);
                return None;
            }
            (None, Ok(())) => format!("no answer within {WITHIN:?}"),
        };
        if !std::mem::replace(&mut self.failed, true) {
            let file = file.display();
            tracing::warn!(
                %file,
                why,
                "The highest fence is not kept: if the group forgets it, and the clock is set \
                 back, a later one may be lower."
            );
        }
        Some((asked.id, asked.fences))
    }

    /// Starts a thread, unless one is under way.
    fn begin(&mut self, file: &Path, asked: &Asked) -> io::Result<()> {
        if self.work.is_some() {
            return Ok(());
        }
        let (to, kept) = channel();
        let (file, wanted) = (file.to_owned(), asked.fences.clone());
        // It may end after the member.
        let keep = move || drop(to.send(raise(&file, &wanted, 0)));
        thread::Builder::new().name("fences".to_owned()).spawn(keep)?;
        self.work = Some(Work { id: asked.id, kept });
        Ok(())
    }
}

/// Raises these fences above the highest one in the file, which then holds the highest of them, and
/// no less than `heard`.
fn raise(path: &Path, fences: &ByPartition, heard: i64) -> Kept {
    let folder = path.parent().unwrap_or(Path::new("/"));
    fs::create_dir_all(folder)?;
    let mut file =
        OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path)?;
    // Until the file is closed.
    file.lock()?;
    let mut text = String::new();
    (&mut file).take(LENGTH_MOST).read_to_string(&mut text)?;
    let is_new = text.is_empty();
    let highest = if is_new { Ok(0) } else { text.trim().parse() };
    let highest = highest.map_err(|_| io::Error::other("it holds no number: remove it"))?;
    let kept = fences_above(highest, fences);
    let most = kept.values().copied().fold(heard, i64::max);
    if most <= highest && kept.is_empty() {
        return Ok(kept);
    }
    if most == i64::MAX {
        return Err(io::Error::other("it holds the highest number that there is: remove it"));
    }
    file.rewind()?;
    // As long as the one before: a file that is cut off holds no lower number.
    file.write_all(format!("{most:020}\n").as_bytes())?;
    file.sync_data()?;
    if is_new {
        File::open(folder)?.sync_all()?;
    }
    Ok(kept)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;
    use tandem_facts::ids::PartitionId;
    use tandem_neli::membership::COUNT_BITS;
    use tempfile::TempDir;

    fn fences<const N: usize>(of: [i64; N]) -> ByPartition {
        (0..).map(PartitionId).zip(of).collect()
    }

    fn keeper(folder: &Path) -> Keeper {
        Keeper::new(Some(folder), &"g".parse().unwrap())
    }

    /// A disk that others use as well may take longer than a member waits.
    const PATIENCE: Duration = Duration::from_secs(60);

    fn kept(keeper: &mut Keeper, wanted: &ByPartition) -> ByPartition {
        kept_from(Mono::now() + PATIENCE, keeper, wanted)
    }

    fn kept_from(now: Mono, keeper: &mut Keeper, wanted: &ByPartition) -> ByPartition {
        let id = RequestId(7);
        keeper.keep(now, id, wanted.clone());
        loop {
            if let Some((of, kept)) = keeper.poll(Mono::now()) {
                assert_eq!(of, id);
                assert!(keeper.poll(Mono::now()).is_none(), "one answer");
                return kept;
            }
            thread::sleep(Duration::from_millis(1));
        }
    }

    #[test]
    fn a_later_life_is_given_no_lower_fence() {
        let folder = TempDir::new().unwrap();
        let below = folder.path().join("not/yet");
        assert_eq!(kept(&mut keeper(&below), &fences([900, 40])), fences([900, 40]));
        assert_eq!(kept(&mut keeper(&below), &fences([5, 41])), fences([901, 901]));
        assert_eq!(kept(&mut keeper(&below), &fences([1_000])), fences([1_000]));
        assert_eq!(fs::read_to_string(below.join("g")).unwrap(), format!("{:020}\n", 1_000));
        // Another group has another file.
        let mut other = Keeper::new(Some(&below), &"h".parse().unwrap());
        assert_eq!(kept(&mut other, &fences([1])), fences([1]));
    }

    /// The first fence of an epoch.
    const fn begin(epoch: i64) -> i64 {
        epoch << COUNT_BITS
    }

    #[test]
    fn what_other_hosts_were_given_counts_as_well() {
        let folder = TempDir::new().unwrap();
        let mut keeper = keeper(folder.path());
        let file = folder.path().join("g");
        keeper.learn(begin(7) + 3);
        let text = format!("{:020}\n", begin(7) + 3);
        let began = Mono::now();
        while !fs::read_to_string(&file).is_ok_and(|it| it == text) {
            assert!(Mono::now().since(began) < PATIENCE, "the other host's fence is not kept");
            thread::sleep(Duration::from_millis(1));
        }
        // One that begins an epoch begins a later one; one that goes on counts on.
        let wanted = fences([begin(2), begin(2) + 5, begin(9)]);
        let above = fences([begin(8), begin(7) + 4, begin(9)]);
        assert_eq!(kept(&mut keeper, &wanted), above);
        raise(&file, &ByPartition::new(), begin(3)).unwrap();
        assert_eq!(fs::read_to_string(&file).unwrap(), format!("{:020}\n", begin(9)));
    }

    #[test]
    fn what_cannot_be_kept_is_as_it_was() {
        let folder = TempDir::new().unwrap();
        let wanted = fences([5, 6]);
        assert_eq!(kept(&mut Keeper::new(None, &"g".parse().unwrap()), &wanted), wanted);
        fs::write(folder.path().join("g"), "nonsense").unwrap();
        let mut keeper = keeper(folder.path());
        assert_eq!(kept(&mut keeper, &wanted), wanted);
        assert!(keeper.failed);
        assert_eq!(fs::read_to_string(folder.path().join("g")).unwrap(), "nonsense");
        fs::write(folder.path().join("g"), "8").unwrap();
        assert_eq!(kept(&mut keeper, &wanted), fences([9, 9]));
        assert!(!keeper.failed);
    }

    #[test]
    fn a_disk_that_does_not_answer_is_waited_for_no_longer() {
        let folder = TempDir::new().unwrap();
        let mut keeper = keeper(folder.path());
        let file = File::create(folder.path().join("g")).unwrap();
        file.lock().unwrap();
        let (begin, wanted) = (Mono::now(), fences([5]));
        assert_eq!(kept_from(begin, &mut keeper, &wanted), wanted);
        assert!(Mono::now().since(begin) >= WITHIN);
        // The next ones wait for that thread, and are kept then.
        let next = RequestId(8);
        keeper.keep(Mono::now() + PATIENCE, next, wanted.clone());
        assert!(keeper.poll(Mono::now()).is_none());
        file.unlock().unwrap();
        loop {
            if let Some((id, kept)) = keeper.poll(Mono::now()) {
                // The first thread had kept 5.
                assert_eq!((id, kept, keeper.failed), (next, fences([6]), false));
                return;
            }
            thread::sleep(Duration::from_millis(1));
        }
    }

    #[test]
    fn no_two_members_of_a_host_are_given_one_fence() {
        // In memory, where there is some: a busy disk takes minutes for so many syncs.
        let folder = TempDir::new_in("/dev/shm").or_else(|_| TempDir::new()).unwrap();
        let file = folder.path().join("g");
        let one = || raise(&file, &fences([3]), 0).unwrap()[&PartitionId(0)];
        let many = || (0..50).map(|_| one()).collect::<Vec<i64>>();
        let all: Vec<i64> = thread::scope(|scope| {
            let threads: Vec<_> = (0..4).map(|_| scope.spawn(many)).collect();
            threads.into_iter().flat_map(|it| it.join().unwrap()).collect()
        });
        assert!(all.chunks(50).all(<[i64]>::is_sorted));
        assert_eq!(all.iter().collect::<BTreeSet<_>>().len(), 200);
    }
}
