//! An exclusive group that is kept up while its leaders are killed and paused, and that forgets its
//! fences: its embedded broker is killed, or all of it is taken down and up again, on a host whose
//! clock was an hour ahead until then.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::time::Duration;

use rustix::process::Signal;
use tandem::ids::{GroupName, PartitionId};
use tandem::live_view::Level;
use tandem::neli::membership::COUNT_BITS;
use tandem::observation::{Fact, MemberEvent, What};
use tempfile::TempDir;

use super::exclusive::fences_rise;
use super::experiment::{eventually, signal_pid};
use super::outside::{kill_leader, lone_leader};
use super::up::{Follower, Up, nothing_is_left};

const SOON: Duration = Duration::from_secs(60);
/// Where the members of this group keep their highest fence, below the folder for state.
const KEPT: &str = "tandem/fences/exclusive-p1";
/// So much higher are fences on a clock that is an hour ahead.
const HOUR: i64 = 3_600 << COUNT_BITS;

/// What is done to the group.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Blow {
    /// The leader is killed, and started again.
    Kill,
    /// The leader is stopped until others lead.
    Pause,
    /// The broker is killed, and with it all that it knows of the group.
    Broker,
    /// The group is taken down, and up again.
    DownAndUp,
}

impl Blow {
    pub const ALL: [Self; 4] = [Self::Kill, Self::Pause, Self::Broker, Self::DownAndUp];
}

/// The group, and what its members have reported.
pub struct Forgetful {
    state: TempDir,
    partitions: usize,
    up: Option<(Up, Follower)>,
    /// The facts of each time that it was up, which is over.
    pub past: Vec<Vec<Fact>>,
}

/// The fences of a partition: the lowest and the highest.
type Ends = BTreeMap<PartitionId, (i64, i64)>;

fn group() -> GroupName {
    "p1".parse().unwrap()
}

pub(super) fn fences(facts: &[Fact]) -> impl Iterator<Item = (PartitionId, i64)> + '_ {
    facts.iter().filter_map(|fact| match fact.what {
        What::Member(MemberEvent::Claimed { partition, fence, .. }) => Some((partition, fence?)),
        _ => None,
    })
}

fn ends(facts: &[Fact]) -> Ends {
    let mut ends = Ends::new();
    for (partition, fence) in fences(facts) {
        let (least, most) = ends.entry(partition).or_insert((fence, fence));
        (*least, *most) = (fence.min(*least), fence.max(*most));
    }
    ends
}

impl Forgetful {
    /// Three members on so many partitions.
    pub fn start(partitions: usize) -> Self {
        let state = TempDir::new().unwrap();
        let mut all = Self { state, partitions, up: None, past: Vec::new() };
        all.begin();
        all
    }

    fn begin(&mut self) {
        let args = format!(
            "-f topologies/exclusive.yaml --set groups.p1.partitions={} --set \
             defaults.restart.after=1500ms",
            self.partitions
        );
        let up = Up::start_in(&args, self.state.path());
        up.await_health(Level::Led);
        let follower = up.follow();
        self.up = Some((up, follower));
    }

    fn up(&mut self) -> &mut (Up, Follower) {
        self.up.as_mut().unwrap()
    }

    /// Does this to it; all is led again afterwards.
    pub fn strike(&mut self, blow: Blow) {
        match blow {
            Blow::Kill => {
                let (up, follower) = self.up();
                drop(kill_leader(up, follower, &group()));
            }
            Blow::Pause => self.pause(),
            Blow::Broker => self.kill_broker(),
            Blow::DownAndUp => {
                self.down();
                self.begin();
            }
        }
        let (up, _) = self.up();
        drop(lone_leader(up, &group()));
    }

    fn pause(&mut self) {
        let (up, _) = self.up();
        let (life, pid) = lone_leader(up, &group());
        signal_pid(pid, Signal::STOP);
        eventually("others to lead", SOON, || {
            let now = up.status().1?;
            let leads = now.groups[&group()].members[&life.member].leads;
            (now.health == Level::Led && leads == 0).then_some(())
        });
        signal_pid(pid, Signal::CONT);
    }

    fn kill_broker(&mut self) {
        let partitions = self.partitions;
        let (up, _) = self.up();
        let broker = || up.status().1?.brokers.into_values().next()?.pid;
        let claims = || fences(&up.recording().facts).count();
        let (before, known) = (eventually("a broker", SOON, broker), claims());
        signal_pid(before, Signal::KILL);
        eventually("another broker", SOON, || broker().filter(|pid| *pid != before));
        // Members lead on until their promises end.
        eventually("claims on it", SOON, || (claims() >= known + partitions).then_some(()));
    }

    /// Takes it down. The clock was an hour ahead, and is set right.
    fn down(&mut self) {
        let (mut up, follower) = self.up.take().unwrap();
        drop(follower);
        up.signal(Signal::INT);
        assert_eq!(up.ends().code(), Some(0), "{}", up.said());
        self.past.push(up.recording().facts);
        nothing_is_left(self.state.path());
        fs::write(self.state.path().join(KEPT), format!("{}\n", self.kept() + HOUR)).unwrap();
    }

    /// The highest fence on the disk.
    fn kept(&self) -> i64 {
        fs::read_to_string(self.state.path().join(KEPT)).unwrap().trim().parse().unwrap()
    }

    /// How many fences members were given so far, while it was up before this time.
    pub fn acquired(&self) -> usize {
        let each = self.past.iter().map(|facts| fences(facts).collect::<BTreeSet<_>>().len());
        each.sum()
    }

    /// Ends it. Whether each fence was higher than all of others before it on its partition, also
    /// over the times when it was down: in each of these the number on the disk rose by an hour.
    ///
    /// # Errors
    /// The first one that was not.
    pub fn end(&mut self) -> Result<(), String> {
        self.down();
        let mut before = Ends::new();
        for (number, facts) in self.past.iter().enumerate() {
            fences_rise(facts).map_err(|what| format!("up for the {number}th time: {what}"))?;
            let now = ends(facts);
            if now.len() != self.partitions {
                return Err(format!("up for the {number}th time: fences of {}", now.len()));
            }
            for (partition, (least, _)) in &now {
                let highest = before.get(partition).map_or(0, |(_, most)| most + HOUR);
                if *least <= highest {
                    let what = format!("fence {least} of partition {partition} after {highest}");
                    return Err(format!("up for the {number}th time: {what}"));
                }
            }
            before = now;
        }
        Ok(())
    }
}

/// A test that fails shows what was said.
impl Drop for Forgetful {
    fn drop(&mut self) {
        if let (true, Some((up, _))) = (std::thread::panicking(), &self.up) {
            println!("{}", up.said());
        }
    }
}
