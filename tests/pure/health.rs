//! How a topology that is kept up is said to stand, at every moment: header, roles, gaps that go
//! on, objective and exit code follow one rule, and never say better than the timeline knows.

#![allow(
    clippy::as_conversions,
    clippy::cast_possible_truncation,
    reason = "a test may fail loudly"
)]
#![allow(clippy::cast_sign_loss, clippy::cast_precision_loss, reason = "a test may fail loudly")]

use std::collections::BTreeMap;
use std::time::Duration;

use proptest::prelude::*;
use support::cases::cases;
use support::chance::{Draws, history};
use support::facts::{Story, at, plan};
use support::watched::{All, drive_seen, judged, picture, plausible};
use tandem::ids::{GroupName, Life, PartitionId};
use tandem::live::Live;
use tandem::live_view::{Level, Picture, Table, summary};
use tandem::observation::{Fact, MemberEvent};
use tandem::time::{Mono, Span};
use tandem::timeline::Interval;
use tandem::topology::Plan;
use tandem::verdict::Exit;

/// A table that follows a live, and what was seen of it.
struct Seen {
    table: Table,
    judged: Option<Mono>,
    looks: Vec<Look>,
}

/// One look at it.
struct Look {
    now: Mono,
    /// Up to when everything was final.
    settled: Mono,
    judged: Option<Mono>,
    picture: Picture,
}

impl Seen {
    fn of(plan: &Plan) -> Self {
        Self { table: Table::new(plan, Mono::ZERO), judged: None, looks: Vec::new() }
    }

    fn see(&mut self, now: Mono, live: &mut Live) {
        while let Some(event) = live.poll_event() {
            self.table.follow(live, &event);
            if self.judged.is_none() && Level::from(live.health().0) == Level::Led {
                self.judged = Some(now);
                self.table.judge_from(now);
            }
        }
        let (settled, judged) = (live.settled(), self.judged);
        self.looks.push(Look { now, settled, judged, picture: picture(&self.table, live, now) });
    }
}

fn badness(level: Level) -> u8 {
    match level {
        Level::Led => 0,
        Level::Degraded => 1,
        Level::Starting => 2,
        Level::Down => 3,
    }
}

/// What one look says agrees with itself.
fn agrees(look: &Look) -> Result<(), TestCaseError> {
    let Look { picture, .. } = look;
    let level = picture.health;
    let worst = picture.roles.iter().map(|role| role.health).max_by_key(|level| badness(*level));
    prop_assert_eq!(Some(level), worst, "the header is its worst role");
    if look.judged.is_some() {
        let open = picture.groups.values().any(|group| group.counts.open > 0);
        prop_assert_eq!(picture.joint.open > 0, level == Level::Down, "{:?}", picture.joint);
        prop_assert_eq!(open, level == Level::Down || level == Level::Degraded);
    }
    let kept = picture.objective.iter().all(|promise| promise.kept);
    let exit = match level {
        Level::Led if kept => Exit::Pass,
        Level::Led => Exit::Fail,
        Level::Starting => Exit::Unknown,
        Level::Degraded => Exit::Degraded,
        Level::Down => Exit::Down,
    };
    prop_assert_eq!(picture.exit(), exit);
    for promise in &picture.objective {
        prop_assert_eq!(promise.kept, promise.longest_ms <= promise.allowed_ms);
    }
    Ok(())
}

/// The gaps of a role that all of the facts show, of one group or of all, in `window`.
fn gaps<'a>(
    all: &'a All,
    role: u32,
    joint: bool,
    window: Interval,
) -> impl Iterator<Item = Interval> + 'a {
    let places = all.iter().filter(move |((group, of), _)| *of == role && group.is_none() == joint);
    let spans = places.flat_map(|(_, found)| &found.gaps);
    // What is shown counts in milliseconds, with fractions.
    spans
        .map(move |gap| gap.intersect(window))
        .filter(|gap| gap.length() > Duration::from_micros(2))
}

/// What one look says of the time that was final by then is no better than what was so.
fn is_true(look: &Look, all: &All) -> Result<(), TestCaseError> {
    let Look { now, settled, picture, .. } = look;
    let since = |ms: f64| Mono(now.0.saturating_sub((ms * 1e6) as u64));
    for (role, row) in (0..).zip(&picture.roles) {
        for (level, lasted) in
            [(picture.health, picture.health_for_ms), (row.health, row.health_for_ms)]
        {
            let window = Interval::new(since(lasted), *settled);
            let joint = gaps(all, role, true, window).next();
            prop_assert!(level == Level::Down || joint.is_none(), "{level:?} {window:?} {joint:?}");
            let group = gaps(all, role, false, window).next();
            prop_assert!(level != Level::Led || group.is_none(), "{window:?} {group:?}");
        }
        let Some(judged) = look.judged else { continue };
        for promise in &picture.objective {
            let joint = promise.what == "joint_gap";
            let longest = gaps(all, role, joint, Interval::new(judged, *settled));
            let longest = longest.map(|gap| gap.length().as_secs_f64() * 1e3).fold(0.0, f64::max);
            prop_assert!(promise.longest_ms >= longest - 0.01, "{promise:?}: {longest}");
        }
    }
    Ok(())
}

fn promised(mut plan: Plan) -> Plan {
    plan.objective.joint_gap = Some(Span::ms(0));
    plan.objective.group_gap = Some(Span::ms(400));
    plan
}

proptest! {
    #![proptest_config(cases(0x5EED_0010, 64))]

    #[test]
    fn what_is_said_at_any_moment_follows_one_rule(
        numbers in prop::collection::vec(0u32..1_000_000, 0..700),
        delays in prop::collection::vec(0u64..450, 1..200),
    ) {
        let plan = promised(plan(3, &[("p1", 2, 2), ("p2", 2, 2)]));
        let facts = plausible(history(&["p1", "p2"], &mut Draws::new(numbers)), 25_000);
        let mut delays = delays.into_iter().cycle().map(Duration::from_millis);
        let (end, mut seen) = (at(20_000), Seen::of(&plan));
        let delay = || delays.next().unwrap();
        drive_seen(&plan, &facts, end, delay, |now, _, live| seen.see(now, live));
        let all = judged(&plan, &facts, end);
        for look in seen.looks.iter().filter(|look| look.now < end) {
            agrees(look)?;
            is_true(look, &all)?;
        }
    }
}

/// A story on two groups of two, played up to an instant.
fn play(story: &Story, until: u64) -> (Picture, Seen) {
    let plan = promised(plan(2, &[("p1", 2, 2), ("p2", 2, 2)]));
    let mut facts: Vec<Fact> = story.facts.clone();
    facts.sort_by_key(|fact| fact.t);
    // Each author in the order of its stamps.
    let mut last: BTreeMap<Option<Life>, u64> = BTreeMap::new();
    for fact in &mut facts {
        let author = fact.life.clone().filter(|_| fact.what.is_by_member());
        let seq = last.entry(author).or_default();
        *seq += 1;
        fact.seq = *seq;
    }
    let (mut live, mut seen) = (Live::new(&plan), Seen::of(&plan));
    let mut facts = facts.iter().peekable();
    for now in (0..=until).step_by(10) {
        while let Some(fact) = facts.next_if(|fact| fact.t <= at(now)) {
            live.observe(fact);
            seen.see(at(now), &mut live);
        }
        live.handle_timeout(at(now));
        seen.see(at(now), &mut live);
    }
    (picture(&seen.table, &live, at(until)), seen)
}

/// The end of all stories.
const END: u64 = 12_000;

/// One claim of a member: its partition, when it is claimed, and when its duty ticks.
type Claim<'a> = (u32, [u64; 2], &'a [[u64; 2]]);

/// A member with several claims.
fn leads(story: &mut Story, who: &str, claims: &[Claim<'_>]) {
    story.started(who, 1);
    for ms in (0..END).step_by(50) {
        for (term, (partition, [from, until], ticks)) in (1..).zip(claims) {
            if ms == *from {
                story.claimed(who, *partition, term, [ms, ms + 2_000]);
            }
            if ms == *until {
                story.lapsed(who, ms, (*partition, term), ms);
            }
            for [first, _] in ticks.iter().filter(|[a, b]| (*a..=*b).contains(&ms)) {
                let (partitions, from, until) = (vec![PartitionId(*partition)], at(*first), at(ms));
                story.says(who, ms, MemberEvent::Ticks { partitions, from, until });
            }
        }
        if ms % 100 == 0 {
            let open =
                (1..).zip(claims).filter(|(_, (_, [from, until], _))| *from <= ms && ms < *until);
            let open: Vec<_> = open.map(|(term, claim)| (claim.0, term, ms + 2_000)).collect();
            story.renewed(who, ms, &open);
        }
    }
}

/// All but one partition of p1 are led all the time.
fn others(story: &mut Story) {
    for (who, partition) in [("p1-1.1", 0), ("p2-1.1", 0), ("p2-2.1", 1)] {
        always(story, who, partition);
    }
}

/// A member that leads one partition all the time.
fn always(story: &mut Story, who: &str, partition: u32) {
    leads(story, who, &[(partition, [100, END], &[[100, END]])]);
}

/// Since when a role stands as it does, in milliseconds.
fn since(picture: &Picture, role: usize, now: u64) -> u64 {
    now - picture.roles[role].health_for_ms.round() as u64
}

#[test]
fn a_hand_over_without_a_gap_begins_nothing_anew() {
    let mut story = Story::default();
    always(&mut story, "p2-1.1", 0);
    always(&mut story, "p2-2.1", 1);
    let (first, second) = (&[[100, END]][..], &[[3_000, END]][..]);
    leads(&mut story, "p1-1.1", &[(0, [100, END], first), (1, [3_000, END], second)]);
    leads(&mut story, "p1-2.1", &[(1, [200, 4_000], &[[200, 4_000]])]);
    let (picture, _) = play(&story, 6_000);
    assert_eq!(picture.roles[1].leaders[&"p1".parse::<GroupName>().unwrap()].len(), 1);
    assert_eq!((picture.roles[0].health, since(&picture, 0, 6_000)), (Level::Led, 100));
    assert_eq!((picture.roles[1].health, since(&picture, 1, 6_000)), (Level::Led, 200));
}

/// Its claims are renewed all the time, and its duty does not run; that it may have run after all
/// is waited for as long as the live has patience.
#[test]
fn a_member_that_hangs_leads_nothing_once_that_is_certain() {
    let mut story = Story::default();
    others(&mut story);
    leads(&mut story, "p1-2.1", &[(1, [200, END], &[[200, 3_000]])]);
    let group: GroupName = "p1".parse().unwrap();
    let (picture, _) = play(&story, 3_400);
    assert_eq!(picture.health, Level::Led, "it is not certain yet");
    let (picture, seen) = play(&story, 9_000);
    assert_eq!((picture.health, picture.roles[1].health), (Level::Degraded, Level::Degraded));
    assert_eq!(since(&picture, 1, 9_000), 3_000);
    assert!(picture.roles[1].idle.contains(&group) && !picture.groups[&group].led);
    assert_eq!((picture.groups[&group].counts.open, picture.exit()), (1, Exit::Degraded));
    assert!(!picture.is_kept(), "{:?}", picture.objective);
    let page = summary(&picture);
    assert!(page.contains("role role-1: degraded for 6.0 s, p1-2 hangs in p1\n"), "{page}");
    seen.looks.iter().for_each(|look| agrees(look).unwrap());
}

/// A gap that is over before it is certain: the header does not speak of the time before it.
#[test]
fn nothing_is_led_for_longer_than_since_the_last_gap() {
    let mut story = Story::default();
    others(&mut story);
    leads(&mut story, "p1-2.1", &[(1, [200, END], &[[200, 3_000], [3_300, END]])]);
    let (picture, seen) = play(&story, 6_000);
    assert_eq!((picture.health, since(&picture, 1, 6_000)), (Level::Led, 3_300));
    assert_eq!(picture.health_for_ms.round() as u64, 2_700);
    assert_eq!(picture.groups[&"p1".parse::<GroupName>().unwrap()].counts.gaps, 1);
    seen.looks.iter().for_each(|look| agrees(look).unwrap());
}

/// A claim that was never served is no end of a gap in all groups: the role is degraded no longer
/// than since the time up to which that gap is certain to go on.
#[test]
fn a_claim_that_was_never_served_ends_no_joint_gap() {
    let mut story = Story::default();
    always(&mut story, "p1-1.1", 0);
    always(&mut story, "p2-1.1", 0);
    leads(&mut story, "p1-2.1", &[(1, [200, END], &[])]);
    leads(&mut story, "p2-2.1", &[(1, [100, 4_000], &[[100, 4_000]])]);
    let (picture, seen) = play(&story, 11_000);
    let settled = seen.looks.last().unwrap().settled;
    assert!(settled > at(5_000), "{settled:?}");
    let role = (picture.roles[1].health, at(since(&picture, 1, 11_000)));
    assert_eq!(role, (Level::Degraded, settled));
    assert_eq!((picture.health, picture.health_for_ms), (role.0, picture.roles[1].health_for_ms));
}

/// A gap that is certain counts until it is final, though another one has followed.
#[test]
fn a_gap_hides_no_longer_one_before_it() {
    let mut story = Story::default();
    others(&mut story);
    let ticks = [[200, 3_000], [3_400, 3_450], [3_500, END]];
    let claims = [0, 1, 2].map(|at| (1, ticks[at], &ticks[at..=at]));
    leads(&mut story, "p1-2.1", &claims);
    let (_, seen) = play(&story, 6_000);
    let certain = seen.looks.iter().filter(|look| look.settled > at(3_000));
    let longest = certain.map(|look| (look.settled, look.picture.objective[1].longest_ms));
    let longest: Vec<_> = longest.collect();
    assert!(longest.iter().any(|(settled, _)| *settled < at(3_400)), "{longest:?}");
    assert!(longest.iter().all(|(_, ms)| (399.9..400.1).contains(ms)), "{longest:?}");
}

/// A role that no group leads is down, whether or not another group has ever led it.
#[test]
fn a_group_that_never_led_hides_nothing() {
    let mut story = Story::default();
    let ticks = &[[100, 3_000]][..];
    leads(&mut story, "p1-1.1", &[(0, [100, END], ticks), (1, [100, END], ticks)]);
    story.died("p1-1.1", 3_000);
    let (picture, seen) = play(&story, 2_000);
    assert_eq!((picture.health, picture.exit()), (Level::Starting, Exit::Unknown));
    seen.looks.iter().for_each(|look| agrees(look).unwrap());
    let (picture, seen) = play(&story, 4_000);
    assert_eq!((picture.health, picture.exit()), (Level::Down, Exit::Down));
    seen.looks.iter().for_each(|look| agrees(look).unwrap());
}

/// The table of the page and `tandem status` name each code, and no two mean the same.
#[test]
fn every_exit_code_is_explained() {
    let page = std::fs::read_to_string("chaos/README.md").unwrap();
    let codes: std::collections::BTreeSet<u8> = Exit::ALL.into_iter().map(Exit::code).collect();
    assert_eq!(codes.len(), Exit::ALL.len());
    for code in codes {
        let row = page.lines().any(|line| line.starts_with(&format!("| {code} |")));
        assert!(row, "chaos/README.md does not explain exit code {code}");
    }
}
