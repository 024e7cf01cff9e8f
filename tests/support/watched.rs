//! Passes a journal fact by fact, with delays, through the live fold, and compares with the
//! timeline of the same facts.

use std::collections::BTreeMap;
use std::time::Duration;

use tandem::ids::{GroupName, Life, RoleIndex, TrialNumber};
use tandem::live::{Event, Live, Totals};
use tandem::live_view::{JournalPicture, Moment, Picture, Run, Table};
use tandem::observation::{Fact, MemberEvent, RunEvent, What};
use tandem::time::{Mono, Wall};
use tandem::timeline::{Coverage, Interval, Timeline};
use tandem::topology::Plan;

use super::facts::at;

/// What was found of one role in one group, or in all.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Found {
    pub unavailable: Duration,
    pub unknown: Duration,
    pub overlap: Duration,
    pub gaps: Vec<Interval>,
    pub overlaps: Vec<Interval>,
    pub takeovers: Vec<Interval>,
}

/// Of each role, in each group and (under no name) in all.
pub type All = BTreeMap<(Option<GroupName>, u32), Found>;

/// Drives the live fold through facts that each arrive so long after their stamp; authors keep
/// their order. Everything ends at `end`.
pub fn drive(
    plan: &Plan,
    facts: &[Fact],
    end: Mono,
    delay: impl FnMut() -> Duration,
) -> (Live, Vec<Event>) {
    let mut events = Vec::new();
    let live = drive_seen(plan, facts, end, delay, |_, _, live| {
        events.extend(std::iter::from_fn(|| live.poll_event()));
    });
    (live, events)
}

/// The same; after each step `seen` is shown when that was, the fact that came, if one did, and the
/// fold, whose events it takes.
pub fn drive_seen(
    plan: &Plan,
    facts: &[Fact],
    end: Mono,
    mut delay: impl FnMut() -> Duration,
    mut seen: impl FnMut(Mono, Option<&Fact>, &mut Live),
) -> Live {
    let mut arrivals: Vec<(Mono, &Fact)> = Vec::new();
    let mut latest: BTreeMap<Option<&Life>, Mono> = BTreeMap::new();
    for fact in facts {
        let author = if fact.what.is_by_member() { fact.life.as_ref() } else { None };
        let before = latest.get(&author).copied().unwrap_or(Mono::ZERO);
        let arrival = (fact.t + delay()).max(before);
        latest.insert(author, arrival);
        arrivals.push((arrival, fact));
    }
    arrivals.sort_by_key(|(arrival, _)| *arrival);
    let mut live = Live::new(plan);
    let mut now = arrivals.first().map_or(Mono::ZERO, |(arrival, _)| *arrival);
    live.end(end);
    for (arrival, fact) in arrivals {
        while let Some(next) = live.poll_timeout().filter(|next| *next <= arrival) {
            now = now.max(next);
            live.handle_timeout(now);
            seen(now, None, &mut live);
        }
        live.observe(fact);
        seen(now.max(arrival), Some(fact), &mut live);
    }
    for _ in 0..200 {
        now = now + Duration::from_millis(50);
        live.handle_timeout(now);
        seen(now, None, &mut live);
    }
    live.finish(now.max(end));
    seen(now.max(end), None, &mut live);
    live
}

/// What the live fold found.
pub fn found(plan: &Plan, live: &Live, events: &[Event]) -> All {
    let mut all = All::new();
    let groups = plan.groups.keys().cloned().map(Some).chain([None]);
    for group in groups {
        for role in 0..plan.roles.len() {
            let totals: Totals = live.totals(group.as_ref(), RoleIndex(role));
            let Totals { unavailable, unknown, overlap, .. } = totals;
            let found = Found { unavailable, unknown, overlap, ..Found::default() };
            all.insert((group.clone(), role), found);
        }
    }
    let mut add =
        |place: &tandem::live::Place, which: fn(&mut Found) -> &mut Vec<Interval>, one| {
            for role in place.roles.roles() {
                which(all.get_mut(&(place.group.clone(), role.0)).unwrap()).push(one);
            }
        };
    for event in events {
        match event {
            Event::Gap(place, span, _) => add(place, |found| &mut found.gaps, *span),
            Event::Overlap(place, span) => add(place, |found| &mut found.overlaps, *span),
            Event::Takeover(place, span) => add(place, |found| &mut found.takeovers, *span),
            Event::Leaders { .. }
            | Event::Unled { .. }
            | Event::Health { .. }
            | Event::FaultOver { .. }
            | Event::Settled(_)
            | Event::Changed(_)
            | Event::GapBegan(..)
            | Event::Late { .. } => {}
        }
    }
    all
}

/// What the timeline finds, counted from the instant in which each role was first surely led.
pub fn judged(plan: &Plan, facts: &[Fact], end: Mono) -> All {
    let timeline = Timeline::compute(plan, facts);
    let mut all = All::new();
    for role in 0..plan.roles.len() {
        let mut joint = Coverage::default();
        for (name, group) in &plan.groups {
            let lane = &timeline.groups[name].lanes[&group.partition(RoleIndex(role))];
            joint = joint.plus(&lane.services);
            let mut one = counted(&lane.services, &lane.claims, end);
            let trial = |found: &&tandem::timeline::Finding| {
                found.roles.contains(RoleIndex(role)) && found.trial == TrialNumber(1)
            };
            let takeovers = timeline.groups[name].findings.takeovers.iter().filter(trial);
            one.takeovers = takeovers.map(|found| found.span).collect();
            all.insert((Some(name.clone()), role), one);
        }
        all.insert((None, role), counted(&joint, &Coverage::default(), end));
    }
    all
}

fn counted(services: &Coverage, claims: &Coverage, end: Mono) -> Found {
    let all = Interval::new(Mono::ZERO, end);
    let first = services.steps(all).find(|(_, count)| count.min > 0);
    let Some((first, _)) = first else { return Found::default() };
    let window = Interval::new(first.from, end);
    let gaps = services.when(window, |count| count.max <= 0);
    let overlaps = claims.when(window, |count| count.min >= 2);
    Found {
        unavailable: gaps.total(),
        unknown: services.when(window, |count| count.min <= 0 && count.max > 0).total(),
        overlap: overlaps.total(),
        gaps: gaps.iter().collect(),
        overlaps: overlaps.iter().collect(),
        takeovers: Vec::new(),
    }
}

/// Turns a random history into one that members could have: facts are lost only if the members say
/// so; nothing that ended is reported again; a waking member sends a fact at once, and does not
/// continue claims that ran out while it slept. All of it is one trial that ends at `end`.
pub fn plausible(facts: Vec<Fact>, end: u64) -> Vec<Fact> {
    let trial = TrialNumber(1);
    let (members, mut own): (Vec<_>, Vec<_>) =
        facts.into_iter().partition(|fact| fact.what.is_by_member());
    own.sort_by_key(|fact| fact.seq);
    let failed = |fact: &Fact| matches!(fact.what, What::Run(RunEvent::FaultFailed { .. }));
    let kept = |fact: &Fact| fact.life.is_some() || failed(fact) || is_trouble(&fact.what);
    own.retain(kept);
    let run = |t, event| Fact { t, seq: 0, life: None, what: What::Run(event) };
    own.insert(0, run(at(0), RunEvent::TrialBegan { trial }));
    own.push(run(at(end), RunEvent::TrialEnded { trial, recovered: Some(true) }));
    let mut lives: BTreeMap<Life, Vec<Fact>> = BTreeMap::new();
    for fact in members {
        lives.entry(fact.life.clone().unwrap()).or_default().push(fact);
    }
    let mut all = own.clone();
    renumber(&mut all);
    for (life, mut facts) in lives {
        facts.sort_by_key(|fact| fact.seq);
        let woke = own.iter().filter(|fact| fact.life.as_ref() == Some(&life));
        for woke in woke.filter(|fact| fact.what == What::Run(RunEvent::Continued)) {
            let (from, until) = (woke.t, woke.t);
            let what = What::Member(MemberEvent::Ticks { partitions: Vec::new(), from, until });
            let place = facts.partition_point(|fact| fact.t < woke.t);
            facts.insert(place, Fact { t: woke.t, seq: 0, life: Some(life.clone()), what });
        }
        truthful(&mut facts, &own, &life);
        renumber(&mut facts);
        all.extend(facts);
    }
    all
}

/// Whether a fact without a life may explain a gap, and says nothing about the run itself.
fn is_trouble(what: &What) -> bool {
    matches!(
        what,
        What::Run(
            RunEvent::Settled { .. }
                | RunEvent::BrokerLost { .. }
                | RunEvent::BrokerBack { .. }
                | RunEvent::ClusterDied { .. }
                | RunEvent::Stall { .. }
        )
    )
}

fn truthful(facts: &mut [Fact], own: &[Fact], life: &Life) {
    let (mut open, mut ended, mut latest) = (BTreeMap::new(), BTreeMap::new(), Mono::ZERO);
    let stops = own.iter().filter(|fact| fact.life.as_ref() == Some(life));
    let stops: Vec<_> =
        stops.filter(|fact| fact.what == What::Run(RunEvent::Continued)).map(|f| f.t).collect();
    let slept = |until, now| stops.iter().any(|woke| until < *woke && *woke <= now);
    for fact in facts {
        let t = fact.t;
        match &mut fact.what {
            What::Member(MemberEvent::Claimed { partition, term, until, .. }) => {
                open.insert((*partition, *term), *until);
                latest = t;
            }
            What::Member(MemberEvent::Renewed { claims }) => {
                claims.retain(|claim| {
                    let key = (claim.partition, claim.term);
                    let slept = |until| slept(until, t);
                    open.get(&key).is_some_and(|until| !slept(*until))
                });
                let named =
                    claims.iter().map(|one| ((one.partition, one.term), one.until)).collect();
                let gone = std::mem::replace(&mut open, named).into_iter();
                ended.extend(gone.map(|(key, until)| (key, until.min(t))));
                ended.retain(|key, _| !open.contains_key(key));
                latest = t;
            }
            What::Member(MemberEvent::Lapsed { partition, term, at, .. }) => {
                let key = (*partition, *term);
                let slept = open.remove(&key).filter(|until| slept(*until, t));
                let over = ended.get(&key).copied();
                *at = slept.or(over).unwrap_or((*at).max(latest));
                ended.insert(key, *at);
            }
            _ => {}
        }
    }
}

fn renumber(facts: &mut [Fact]) {
    for (seq, fact) in (1..).zip(facts) {
        fact.seq = seq;
    }
}

/// What a table of a topology that is kept up shows at `now`.
pub fn picture(table: &Table, live: &Live, now: Mono) -> Picture {
    let run = Run {
        supervisor: None,
        name: "up".to_owned(),
        topology: "t".parse().unwrap(),
        pid: 1,
        folder: "/".into(),
        began: Wall(0),
    };
    let (wall, journal) = (Wall(0), JournalPicture::default());
    table.picture(live, &run, Moment { now, wall, silent: None, journal, ends: None, event: 0 })
}
