//! Members that are killed from outside, and the reports of it: prompt and complete.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use rustix::process::Signal;
use tandem::ids::{GroupName, Life, RoleName};
use tandem::live_view::{Event, Happening, Level};
use tandem::observation::{RunEvent, What};
use tandem::time::Mono;
use tandem::timeline::{Finding, Timeline};

use super::experiment::{eventually, signal_pid};
use super::up::{Follower, Up};

/// How far a reported gap may be from the journal's, at either end.
pub const TOLERANCE: Duration = Duration::from_millis(1);

/// How long the leaders of a group must stay before one is killed. While members that have just
/// started still join, others take over what the victim leads, and its death leaves no gap.
const STAYS: Duration = Duration::from_secs(1);

/// A death by `kill -9`, and the time until it was reported.
pub struct Death {
    pub life: Life,
    /// From right before the signal until `tandem events` had printed it.
    pub reported_after: Duration,
    /// When it had.
    pub heard: Mono,
}

/// Waits until everything is led, and each role of `group` by one member alone that stays. Returns
/// the life that leads most, and its process.
pub fn lone_leader(up: &Up, group: &GroupName) -> (Life, u32) {
    let (mut before, mut since) = ((Vec::new(), Vec::new()), Mono::now());
    eventually("a leader that stays", Duration::from_secs(60), || {
        let picture = up.status().1?;
        let members = &picture.groups[group].members;
        let alive = members.values().all(|seat| seat.pid.is_some());
        // Where two claim a role, the death of one leaves no gap.
        let complete = alive && picture.roles.iter().all(|role| role.leaders[group].len() == 1);
        let leaders: Vec<_> =
            picture.roles.iter().map(|role| role.leaders[group].clone()).collect();
        let lives: Vec<_> = members.values().map(|seat| seat.incarnation).collect();
        let now = (leaders, lives);
        if before != now {
            (before, since) = (now, Mono::now());
        }
        let (member, seat) = members.iter().max_by_key(|(_, seat)| seat.leads)?;
        let life = Life { member: member.clone(), incarnation: seat.incarnation };
        let found = (life, seat.pid?);
        let stays = Mono::now().since(since) >= STAYS;
        (picture.health == Level::Led && complete && stays).then_some(found)
    })
}

/// Kills the member that leads most in `group`, waits until that is reported, and until everything
/// is led again by as many members as before.
pub fn kill_leader(up: &Up, follower: &mut Follower, group: &GroupName) -> Death {
    let (life, pid) = lone_leader(up, group);
    let asked = Mono::now();
    signal_pid(pid, Signal::KILL);
    let wanted = life.clone();
    let (heard, ()) = follower.await_event("the death", move |event| match &event.what {
        Happening::Died { life, signal: Some(9), .. } if *life == wanted => Some(()),
        _ => None,
    });
    Death { life, reported_after: heard.since(asked), heard }
}

/// One gap of one role: when it began, and how long it was.
type Gap = (Mono, Duration);
/// By group, or of all together, and by role.
type Gaps = BTreeMap<(Option<GroupName>, RoleName), Vec<Gap>>;

/// All gaps that were reported as final.
fn reported(events: &[Event]) -> Gaps {
    let mut gaps = Gaps::new();
    for event in events {
        let Happening::Gap(span) = &event.what else { continue };
        assert_eq!(span.roles.len(), span.role_count, "all roles are named: {event:?}");
        let gap = (span.from, span.until.unwrap().since(span.from));
        for role in &span.roles {
            gaps.entry((span.group.clone(), role.clone())).or_default().push(gap);
        }
    }
    gaps
}

/// All gaps that the journal holds.
fn written(up: &Up) -> (Gaps, Vec<Life>) {
    let recording = up.recording();
    let plan = &recording.header.plan;
    let timeline = Timeline::compute(plan, &recording.facts);
    let mut gaps = Gaps::new();
    let mut add = |group: Option<&GroupName>, found: &[Finding]| {
        for gap in found {
            for role in gap.roles.roles() {
                let role = plan.roles.name(role).unwrap();
                let one = (gap.span.from, gap.span.length());
                gaps.entry((group.cloned(), role)).or_default().push(one);
            }
        }
    };
    for (name, group) in &timeline.groups {
        add(Some(name), &group.findings.gaps);
    }
    add(None, &timeline.joint.gaps);
    gaps.values_mut().for_each(|gaps| gaps.sort());
    let died = recording
        .facts
        .iter()
        .filter(|fact| matches!(fact.what, What::Run(RunEvent::Died { signal: Some(9), .. })));
    (gaps, died.filter_map(|fact| fact.life.clone()).collect())
}

/// Asserts that the events report exactly the content of the journal: deaths, and gaps to the
/// millisecond. Returns the number of gaps, and the largest difference.
pub fn events_match_the_journal(up: &Up, events: &[Event], deaths: &[Death]) -> (usize, Duration) {
    for (event, seq) in events.iter().zip(1..) {
        assert_eq!(event.seq, seq, "no event is missing");
    }
    let missed = events.iter().find(|event| matches!(event.what, Happening::Missed { .. }));
    assert!(missed.is_none(), "{missed:?}");
    let (written, died) = written(up);
    let killed: Vec<_> = deaths.iter().map(|death| death.life.clone()).collect();
    assert_eq!(died, killed, "each death is written once, in order");
    let mut reported = reported(events);
    reported.values_mut().for_each(|gaps| gaps.sort());
    let (mut count, mut worst) = (0, Duration::ZERO);
    let keys: BTreeSet<_> = reported.keys().chain(written.keys()).cloned().collect();
    for key in keys {
        let none = Vec::new();
        let (reported, written) =
            (reported.get(&key).unwrap_or(&none), written.get(&key).unwrap_or(&none));
        let differ = || format!("{key:?}: reported {reported:?}, written {written:?}");
        assert_eq!(reported.len(), written.len(), "{}", differ());
        for (one, other) in reported.iter().zip(written) {
            let off = one.0.since(other.0).max(other.0.since(one.0)).max(one.1.abs_diff(other.1));
            assert!(off <= TOLERANCE, "{}", differ());
            worst = worst.max(off);
        }
        count += reported.len();
    }
    (count, worst)
}
