//! Static members: one is killed again and again, and takes its own place each time.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use rustix::process::Signal;
use tandem::ids::{GroupName, Life, MemberId, PartitionId};
use tandem::live_view::Level;
use tandem::observation::{Fact, MemberEvent, What};
use tandem::time::Mono;

use super::experiment::{eventually, signal_pid};
use super::up::{Up, nothing_is_left};

const SOON: Duration = Duration::from_secs(60);
const ARGS: &str = "-f topologies/solo.yaml --set defaults.static_members=true --set \
     defaults.restart.after=50ms";

/// Those of `p1`.
const MEMBERS: usize = 3;

/// What a life of a member was assigned: its generation, and the partitions.
type Given = (Option<i32>, BTreeSet<PartitionId>);

/// What became of a group in which one member was started again.
pub struct Restarts {
    /// How many lives the victim had, after the first.
    pub count: usize,
    /// How long each of them took, from the signal until it led, by its own claim, the shortest
    /// first.
    pub took: Vec<Duration>,
    /// Lives that were given something else than the first of their member, and what.
    pub moved: Vec<String>,
    /// Partitions that were taken from a member, once the group had settled.
    pub taken: Vec<String>,
}

fn victim() -> MemberId {
    "p1-2".parse().unwrap()
}

/// Kills one of three static members so often, each time once its last life leads. The session is
/// long enough for a busy host: a restart is over within it.
pub fn restart(count: usize) -> Restarts {
    restart_with("--set defaults.session=10s", count)
}

/// The same, with these arguments.
pub fn restart_with(more: &str, count: usize) -> Restarts {
    let mut up = Up::start(&format!("{ARGS} {more}"));
    let group: GroupName = "p1".parse().unwrap();
    let settled = |more: &dyn Fn(u32) -> bool| {
        let picture = up.status().1?;
        let members = &picture.groups[&group].members;
        let all = members.values().all(|seat| seat.pid.is_some() && seat.leads > 0);
        let pid = members[&victim()].pid?;
        (picture.health == Level::Led && all && more(pid)).then_some(pid)
    };
    // One that is held up may still learn of the last assignment.
    let mut pid = eventually("each member to lead, in one generation", SOON, || {
        let pid = settled(&|_| true)?;
        let generations = latest(&up.recording().facts);
        let first = *generations.values().next()?;
        let same = generations.len() == MEMBERS && generations.values().all(|it| *it == first);
        same.then_some(pid)
    });
    let calm = Mono::now();
    let mut killed = Vec::new();
    for _ in 0..count {
        killed.push(Mono::now());
        signal_pid(pid, Signal::KILL);
        let before = pid;
        pid = eventually("its next life to lead", SOON, || settled(&|pid| pid != before));
    }
    let end = Mono::now();
    up.signal(Signal::INT);
    assert_eq!(up.ends().code(), Some(0), "{}", up.said());
    nothing_is_left(up.state());
    let facts = up.recording().facts;
    let mut took: Vec<Duration> = killed.iter().filter_map(|at| led_after(&facts, *at)).collect();
    took.sort_unstable();
    let (moved, taken) = moves(&facts, calm, end);
    Restarts { count, took, moved, taken }
}

/// How long after this signal the victim's next life began to lead. No member is started more than
/// once a second, so it also waits for the rest of that.
fn led_after(facts: &[Fact], killed: Mono) -> Option<Duration> {
    let began = |fact: &Fact| {
        let own = fact.life.as_ref().is_some_and(|life| life.member == victim());
        match fact.what {
            What::Member(MemberEvent::Claimed { from, .. }) if own && from > killed => Some(from),
            _ => None,
        }
    };
    facts.iter().filter_map(began).min().map(|from| from.since(killed))
}

/// The generation of the last assignment of each member.
fn latest(facts: &[Fact]) -> BTreeMap<MemberId, Option<i32>> {
    let assigned = facts.iter().filter_map(|fact| match (&fact.what, &fact.life) {
        (What::Member(MemberEvent::Assigned { generation, .. }), Some(life)) => {
            Some((life.member.clone(), *generation))
        }
        _ => None,
    });
    assigned.collect()
}

/// What moved between these instants, in words.
fn moves(facts: &[Fact], calm: Mono, end: Mono) -> (Vec<String>, Vec<String>) {
    let mut given = BTreeMap::<MemberId, Given>::new();
    let (mut moved, mut taken) = (Vec::new(), Vec::new());
    for fact in facts.iter().filter(|fact| fact.t < end) {
        let (What::Member(event), Some(life)) = (&fact.what, &fact.life) else { continue };
        let Life { member, .. } = life;
        match event {
            MemberEvent::Assigned { generation, partitions, .. } => {
                let now = (*generation, partitions.iter().copied().collect());
                let before = given.entry(member.clone()).or_insert_with(|| now.clone());
                if fact.t < calm {
                    *before = now;
                } else if *before != now {
                    moved.push(format!("{life}: {now:?} after {before:?}"));
                }
            }
            MemberEvent::Revoked { partitions } | MemberEvent::Lost { partitions }
                if fact.t > calm =>
            {
                taken.push(format!("{life}: {partitions:?}"));
            }
            _ => {}
        }
    }
    (moved, taken)
}
