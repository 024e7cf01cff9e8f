//! The live fold: transcripts that people read under `tests/data/live/`, and the timeline as its
//! oracle, on histories that chance makes up and that come late. `UPDATE=1 cargo test --test pure`
//! rewrites the transcripts.
//!
//! Inputs: `plan ROLES GROUP:PARTITIONS:MEMBERS …` begins. Then what happens follows, in
//! milliseconds: `serves WHO PARTITION TERM FROM UNTIL`, `claims` likewise, `started`, `died`,
//! `stopped`, `continued WHO AT`, `asked WHO KIND AT`, `lapsed WHO PARTITION TERM AT`,
//! `lost WHO FROM UNTIL` (its channel was full). `run UNTIL` plays it, each fact at its stamp;
//! `totals`, `end AT` and `finish AT` are what the fold offers.

#![allow(clippy::as_conversions, clippy::cast_precision_loss, reason = "a test may fail loudly")]

use std::fmt::Write;
use std::time::Duration;

use proptest::prelude::*;
use rustix::time::{ClockId, clock_gettime};
use support::cases::cases;
use support::chance::{Draws, history};
use support::facts::{Story, at, plan};
use support::transcript::{Command, check_folder};
use support::watched::{drive, found, judged, plausible};
use tandem::ids::{GroupName, PartitionId, RoleIndex};
use tandem::live::{Event, Live, Place, Reason};
use tandem::observation::{Fact, MemberEvent, RunEvent};
use tandem::time::Mono;
use tandem::topology::Plan;

proptest! {
    #![proptest_config(cases(0x5EED_0011, 256))]

    #[test]
    fn late_facts_are_counted_as_the_timeline_judges_them(
        numbers in prop::collection::vec(0u32..1_000_000, 0..700),
        delays in prop::collection::vec(0u64..450, 1..200),
    ) {
        let plan = plan(3, &[("p1", 2, 2), ("p2", 2, 2)]);
        let facts = plausible(history(&["p1", "p2"], &mut Draws::new(numbers)), 25_000);
        let mut delays = delays.into_iter().cycle().map(Duration::from_millis);
        let end = at(20_000);
        let (live, events) = drive(&plan, &facts, end, || delays.next().unwrap());
        let (found, judged) = (found(&plan, &live, &events), judged(&plan, &facts, end));
        for (place, judged) in judged {
            prop_assert_eq!(&found[&place], &judged, "{:?}\n{}", place,
                describe(&plan, &facts, &place));
        }
        let late = events.iter().any(|event| matches!(event, Event::Late { .. }));
        prop_assert!(!late);
    }
}

/// The controller tells at once that a member was stopped and went on; what the member said before
/// that comes later, and is waited for.
#[test]
fn what_was_said_before_a_stop_may_come_after_it() {
    let plan = plan(1, &[("p1", 1, 1)]);
    let mut story = Story::default();
    let who = "p1-1.1";
    story.started(who, 1).claimed(who, 0, 1, [10, 3_000]);
    let ticks = |story: &mut Story, ms| {
        let (from, until) = (at(ms), at(ms + 50));
        story.says(
            who,
            ms + 50,
            MemberEvent::Ticks { partitions: vec![PartitionId(0)], from, until },
        );
    };
    (10..860).step_by(50).for_each(|ms| ticks(&mut story, ms));
    let (from, until) = (at(1_354), at(1_400));
    story.says(who, 1_504, MemberEvent::Hole { from, until });
    story.of(who, 1_582, RunEvent::Stopped).of(who, 1_585, RunEvent::Continued);
    (1_585..5_000).step_by(50).for_each(|ms| ticks(&mut story, ms));
    let own = |fact: &Fact| !fact.what.is_by_member();
    let mut delays = story.facts.iter().map(|fact| if own(fact) { 0 } else { 450 });
    let delay = || Duration::from_millis(delays.next().unwrap());
    let (live, events) = drive(&plan, &story.facts, at(4_000), delay);
    let found = found(&plan, &live, &events);
    assert_eq!(found, judged(&plan, &story.facts, at(4_000)));
    assert!(found.values().all(|one| one.unknown < Duration::from_secs(1)), "{found:?}");
}

/// What a failure shows: the facts that concern one group.
fn describe(plan: &Plan, facts: &[Fact], place: &(Option<GroupName>, u32)) -> String {
    let members = |fact: &&Fact| {
        let home = fact.life.as_ref().and_then(|life| plan.group_of(&life.member));
        place.0.is_none() || home == place.0.as_ref()
    };
    let mut facts: Vec<_> = facts.iter().filter(members).collect();
    facts.sort_by_key(|fact| fact.t);
    let line = |fact: &&Fact| format!("{}\n", serde_json::to_string(fact).unwrap());
    facts.iter().map(line).collect()
}

/// 64 partitions in three groups of five, all led, for a minute.
fn all_led() -> Story {
    let mut story = Story::default();
    for ms in (0..20_000).step_by(50) {
        for (group, member) in (1..=3).flat_map(|group| (1..=5).map(move |member| (group, member)))
        {
            let who = format!("p{group}-{member}.1");
            let led: Vec<u32> = (0..64).filter(|on| on % 5 == member - 1).collect();
            if ms == 0 {
                for on in &led {
                    story.claimed(&who, *on, 1, [0, 9_000]);
                }
            }
            let partitions = led.iter().copied().map(PartitionId).collect();
            let (from, until) = (at(0), at(ms));
            story.says(&who, ms, MemberEvent::Ticks { partitions, from, until });
            if ms % 100 == 0 {
                let claims: Vec<_> = led.iter().map(|on| (*on, 1, ms + 9_000)).collect();
                story.renewed(&who, ms, &claims);
            }
        }
    }
    story
}

/// What a fold over so many roles takes of a processor, in seconds, and how much it keeps after
/// ten seconds and at the end.
fn cost(roles: u32, story: &Story) -> (f64, [usize; 2]) {
    let plan = plan(roles, &[("p1", 64, 5), ("p2", 64, 5), ("p3", 64, 5)]);
    let mut live = Live::new(&plan);
    let (before, mut kept) = (clock_gettime(ClockId::ThreadCPUTime), None);
    for fact in &story.facts {
        while let Some(next) = live.poll_timeout().filter(|next| *next <= fact.t) {
            live.handle_timeout(next);
            while live.poll_event().is_some() {}
        }
        live.observe(fact);
        if fact.t == at(10_000) {
            kept.get_or_insert_with(|| format!("{live:?}").len()); // costs some milliseconds, once
        }
    }
    let after = clock_gettime(ClockId::ThreadCPUTime);
    let cpu = (after.tv_sec - before.tv_sec) as f64 + (after.tv_nsec - before.tv_nsec) as f64 / 1e9;
    for role in [0, 63, roles - 1].map(RoleIndex) {
        let totals = live.totals(None, role);
        assert_eq!((totals.unavailable, totals.unknown), (Duration::ZERO, Duration::ZERO));
        assert_eq!(live.led(role), 3);
    }
    (cpu, [kept.unwrap(), format!("{live:?}").len()])
}

/// A million roles on 64 partitions cost what 64 do, next to each other in one run. And what is
/// kept does not grow.
#[test]
fn a_million_roles_cost_what_their_partitions_do() {
    let story = all_led();
    // Other programs on the processor only add to a time, so the least of five is closest to the
    // cost. A loop over the roles would cost thousands of times as much.
    let mut least = [f64::INFINITY; 2];
    for _ in 0..5 {
        let (few, _) = cost(64, &story);
        let (many, [first, last]) = cost(1_000_000, &story);
        assert!(last < first + first / 10, "what is kept grows: from {first} to {last}");
        least = [least[0].min(few), least[1].min(many)];
    }
    let [few, many] = least;
    eprintln!("64 roles cost {few:.3} s, a million {many:.3} s");
    assert!(many < 2.0 * few, "{many} s of {few} s");
}

/// The owner of a live fold stands still from 2500 to 8000; at 5500 a guard ends the only member.
#[test]
fn what_its_owner_was_not_there_to_see_is_not_counted() {
    let gaps = |noted: bool| {
        let plan = plan(1, &[("p1", 1, 1)]);
        let mut story = Story::default();
        story.started("p1-1.1", 10).serves("p1-1.1", 0, 1, [100, 5_500]).died("p1-1.1", 8_001);
        if noted {
            story.run(8_400, RunEvent::Unattended { from: at(2_400) });
        }
        let mut live = Live::new(&plan);
        let mut facts = story.facts.iter().peekable();
        let mut found = Vec::new();
        for now in (0..2_500).chain(8_000..9_500).step_by(50) {
            while let Some(fact) = facts.next_if(|fact| fact.t <= at(now)) {
                live.observe(fact);
            }
            live.handle_timeout(at(now));
            found.extend(std::iter::from_fn(|| live.poll_event()));
        }
        live.finish(at(9_500));
        found.extend(std::iter::from_fn(|| live.poll_event()));
        found.retain(|event| matches!(event, Event::GapBegan(..) | Event::Gap(..)));
        (found.len(), live.totals(None, RoleIndex(0)).unavailable)
    };
    assert_eq!(gaps(true), (0, Duration::ZERO));
    assert!(gaps(false).0 > 0, "a stall of the host alone excuses nothing");
}

struct Play {
    plan: Plan,
    live: Live,
    story: Story,
    played: usize,
    now: Mono,
}

impl Play {
    fn begin(words: &[String]) -> Self {
        let groups: Vec<(&str, u32, u32)> = words[1..]
            .iter()
            .map(|word| {
                let parts: Vec<_> = word.split(':').collect();
                (parts[0], parts[1].parse().unwrap(), parts[2].parse().unwrap())
            })
            .collect();
        let plan = plan(words[0].parse().unwrap(), &groups);
        let live = Live::new(&plan);
        Self { plan, live, story: Story::default(), played: 0, now: Mono::ZERO }
    }

    fn apply(&mut self, command: &Command) -> String {
        let words: Vec<&str> = command.words.iter().map(String::as_str).collect();
        let number = |place: usize| words[place].parse::<u64>().unwrap();
        let small = |place: usize| words[place].parse::<u32>().unwrap();
        let story = &mut self.story;
        match command.verb.as_str() {
            "serves" => {
                story.serves(words[0], small(1), small(2), [number(3), number(4)]);
            }
            "claims" => {
                story.claimed(words[0], small(1), small(2), [number(3), number(4)]);
            }
            "started" => {
                story.started(words[0], number(1));
            }
            "died" => {
                story.died(words[0], number(1));
            }
            "stopped" => {
                story.of(words[0], number(1), RunEvent::Stopped);
            }
            "continued" => {
                story.of(words[0], number(1), RunEvent::Continued);
            }
            "asked" => {
                story.asked(words[0], number(2), "1.k", words[1]);
            }
            "lapsed" => {
                story.lapsed(words[0], number(3), (small(1), small(2)), number(3));
            }
            "lost" => {
                let (from, until) = (at(number(1)), at(number(2)));
                story.says(words[0], number(2), MemberEvent::Hole { from, until });
            }
            "run" => return self.run(at(number(0))),
            "end" => self.live.end(at(number(0))),
            "finish" => {
                self.live.finish(at(number(0)));
                return self.drain(None);
            }
            "totals" => return self.totals(),
            other => panic!("no such input: {other}"),
        }
        String::new()
    }

    fn run(&mut self, until: Mono) -> String {
        let mut facts: Vec<Fact> = self.story.facts[self.played..].to_vec();
        self.played = self.story.facts.len();
        facts.sort_by_key(|fact| fact.t);
        let mut out = String::new();
        for fact in facts {
            assert!(fact.t <= until, "run further: {fact:?}");
            out += &self.pass(fact.t);
            self.live.observe(&fact);
            self.now = self.now.max(fact.t);
            out += &self.drain(Some(self.now));
        }
        out + &self.pass(until)
    }

    fn pass(&mut self, until: Mono) -> String {
        let mut out = String::new();
        while let Some(next) = self.live.poll_timeout().filter(|next| *next <= until) {
            self.now = self.now.max(next);
            self.live.handle_timeout(self.now);
            out += &self.drain(Some(self.now));
        }
        out
    }

    fn drain(&mut self, now: Option<Mono>) -> String {
        let mut out = String::new();
        while let Some(event) = self.live.poll_event() {
            if matches!(event, Event::Settled(_)) {
                continue; // comes all the time
            }
            let at = now.map_or_else(|| "finish".to_owned(), |now| ms(now).to_string());
            writeln!(out, "{at:>6}  {}", show(&event)).unwrap();
        }
        out
    }

    fn totals(&self) -> String {
        let mut out = String::new();
        for group in self.plan.groups.keys().map(Some).chain([None]) {
            for (role, name) in self.plan.roles.indices().zip(self.plan.roles.names()) {
                let totals = self.live.totals(group, role);
                let group = group.map_or("joint", |group| group.as_str());
                let since =
                    totals.since.map_or_else(|| "never".to_owned(), |at| ms(at).to_string());
                let [gap, unknown, overlap] =
                    [totals.unavailable, totals.unknown, totals.overlap].map(|d| d.as_millis());
                let passed = totals.takeovers;
                writeln!(
                    out,
                    "{group} {name} since {since}: gap {gap}, unknown {unknown}, \
                     overlap {overlap}, passed {passed}"
                )
                .unwrap();
            }
        }
        out
    }
}

fn ms(at: Mono) -> u64 {
    at.0 / 1_000_000
}

fn place(place: &Place) -> String {
    let group = place.group.as_ref().map_or("joint", |group| group.as_str());
    let roles: Vec<_> = place.roles.roles().map(|role| format!("role-{}", role.0)).collect();
    format!("{group} {}", roles.join(","))
}

/// `, after the death of p1-1.1, in a stall of 120 ms`.
fn after(reason: &Reason) -> String {
    let cause = reason.cause.describe().map(|cause| format!(", after {cause}"));
    let stall = reason.stall.map(|one| format!(", in a stall of {} ms", one.length().as_millis()));
    cause.unwrap_or_default() + &stall.unwrap_or_default()
}

fn show(event: &Event) -> String {
    let span = |at: &Place, what: &str, span: &tandem::timeline::Interval| {
        format!("{} {what} {}-{}", place(at), ms(span.from), ms(span.until))
    };
    match event {
        Event::Leaders { group, partition, leaders, since } => {
            let leaders: Vec<_> = leaders.iter().map(ToString::to_string).collect();
            let leaders =
                if leaders.is_empty() { "no leader".into() } else { leaders.join(" and ") };
            format!("{group} {partition}: {leaders} since {}", ms(*since))
        }
        Event::Unled { group, partition, span } if span.until == Mono(u64::MAX) => {
            format!("{group} {partition}: not led since {}", ms(span.from))
        }
        Event::Unled { group, partition, span } => {
            format!("{group} {partition}: not led {}-{}", ms(span.from), ms(span.until))
        }
        Event::Health { now, since } => format!("health: {now:?} since {}", ms(*since)),
        Event::GapBegan(at, since, reason) => {
            format!("{} gap {}-{}", place(at), ms(*since), after(reason))
        }
        Event::Gap(at, one, reason) => span(at, "gap", one) + &after(reason),
        Event::Overlap(at, one) => span(at, "overlap", one),
        Event::FaultOver { fault, .. } => format!("fault {fault} is over"),
        Event::Takeover(at, one) => span(at, "passed", one),
        Event::Settled(at) => format!("settled {}", ms(*at)),
        Event::Changed(at) => format!("another roster since {}", ms(*at)),
        Event::Late { facts, by } => format!("late: {facts} by up to {} ms", by.as_millis()),
    }
}

#[test]
fn transcripts() {
    check_folder("live", || {
        let mut play = None;
        move |command: &Command| {
            if command.verb == "plan" {
                play = Some(Play::begin(&command.words));
                return String::new();
            }
            play.as_mut().expect("a transcript begins with a plan").apply(command)
        }
    });
}
