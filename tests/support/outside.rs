//! Members that die by a hand from outside, and what is told of it: at once, and all of it.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use rustix::process::Signal;
use tandem::ids::{GroupName, Life, RoleName};
use tandem::live_view::{Event, Happening, Level};
use tandem::observation::What;
use tandem::time::Mono;
use tandem::timeline::{Finding, Timeline};

use super::experiment::{eventually, signal_pid};
use super::up::{Follower, Up};

/// How far a gap that was told may be from the journal's, at either end.
pub const TOLERANCE: Duration = Duration::from_millis(1);

/// A death by `kill -9`, and how long it took to be told.
pub struct Death {
    pub life: Life,
    /// From right before the signal until `tandem events` had printed it.
    pub told_after: Duration,
}

/// Kills the member that leads most in `group`, waits until that is told, and until everything is
/// led again by as many members as before.
pub fn kill_leader(up: &Up, follower: &mut Follower, group: &GroupName) -> Death {
    let (member, pid, incarnation) = eventually("a leader", Duration::from_secs(60), || {
        let picture = up.status().1?;
        let members = &picture.groups[group].members;
        let alive = members.values().all(|seat| seat.pid.is_some());
        // Where two claim a role, the death of one leaves no gap.
        let complete = alive && picture.roles.iter().all(|role| role.leaders[group].len() == 1);
        let (member, seat) = members.iter().max_by_key(|(_, seat)| seat.leads)?;
        let found = (member.clone(), seat.pid?, seat.incarnation);
        (picture.health == Level::Led && complete).then_some(found)
    });
    let life = Life { member, incarnation };
    let asked = Mono::now();
    signal_pid(pid, Signal::KILL);
    let wanted = life.clone();
    let (heard, ()) = follower.await_event("the death", move |event| match &event.what {
        Happening::Died { life, signal: Some(9), .. } if *life == wanted => Some(()),
        _ => None,
    });
    Death { life, told_after: heard.since(asked) }
}

/// One gap of one role: when it began, and how long it was.
type Gap = (Mono, Duration);
/// By group, or of all together, and by role.
type Gaps = BTreeMap<(Option<GroupName>, RoleName), Vec<Gap>>;

/// All gaps that were told as final.
fn told(events: &[Event]) -> Gaps {
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
        .filter(|fact| matches!(fact.what, What::Died { signal: Some(9), .. }));
    (gaps, died.filter_map(|fact| fact.life.clone()).collect())
}

/// Whatever the journal holds was told, and nothing else: deaths, and gaps to the millisecond. How
/// many gaps there were, and how far the worst was off.
pub fn is_told_as_it_is_written(up: &Up, events: &[Event], deaths: &[Death]) -> (usize, Duration) {
    for (event, seq) in events.iter().zip(1..) {
        assert_eq!(event.seq, seq, "no event is missing");
    }
    let missed = events.iter().find(|event| matches!(event.what, Happening::Missed { .. }));
    assert!(missed.is_none(), "{missed:?}");
    let (written, died) = written(up);
    let killed: Vec<_> = deaths.iter().map(|death| death.life.clone()).collect();
    assert_eq!(died, killed, "each death is written once, in order");
    let mut told = told(events);
    told.values_mut().for_each(|gaps| gaps.sort());
    let (mut count, mut worst) = (0, Duration::ZERO);
    let keys: BTreeSet<_> = told.keys().chain(written.keys()).cloned().collect();
    for key in keys {
        let none = Vec::new();
        let (told, written) = (told.get(&key).unwrap_or(&none), written.get(&key).unwrap_or(&none));
        let differ = || format!("{key:?}: told {told:?}, written {written:?}");
        assert_eq!(told.len(), written.len(), "{}", differ());
        for (one, other) in told.iter().zip(written) {
            let off = one.0.since(other.0).max(other.0.since(one.0)).max(one.1.abs_diff(other.1));
            assert!(off <= TOLERANCE, "{}", differ());
            worst = worst.max(off);
        }
        count += told.len();
    }
    (count, worst)
}
