//! What `tandem up` shows: the terminal's page and the lines, for a story that is played fact by
//! fact.

#![allow(clippy::float_cmp, reason = "a test may fail loudly")]

use ratatui::Terminal;
use ratatui::backend::TestBackend;
use support::facts::{Story, at, plan};
use tandem::ids::ClusterName;
use tandem::live::Live;
use tandem::live_view::{
    Event, Happening, JournalPicture, KeyAction, Level, Moment, Picture, Run, Screen, Table, line,
    summary,
};
use tandem::observation::RunEvent;
use tandem::time::{Mono, Span, Wall};
use tandem::topology::Plan;

/// A story, as far as it was played.
struct Playback {
    plan: Plan,
    live: Live,
    table: Table,
    events: Vec<Event>,
    /// Up to when it was played.
    until: Mono,
}

impl Playback {
    fn new(mut plan: Plan) -> Self {
        plan.objective.joint_gap = Some(Span::ms(0));
        plan.objective.group_gap = Some(Span::ms(1_500));
        let (live, mut table) = (Live::new(&plan), Table::new(&plan, Mono::ZERO));
        table.judge_from(at(500));
        Self { plan, live, table, events: Vec::new(), until: Mono::ZERO }
    }

    fn put(&mut self, t: Mono, published: Mono, what: Happening) {
        let seq = u64::try_from(self.events.len()).unwrap() + 1;
        let wall = Wall(1_700_000_000_000 + i64::try_from(t.0 / 1_000_000).unwrap());
        self.events.push(Event { seq, t, wall, published, what });
    }

    /// Plays a story up to an instant, from where it was played before.
    fn play(&mut self, story: &Story, until: u64) {
        let mut facts = story.facts.clone();
        facts.sort_by_key(|fact| fact.t);
        let from = self.until;
        for fact in facts.iter().filter(|fact| fact.t > from && fact.t <= at(until)) {
            self.live.handle_timeout(fact.t);
            self.live.observe(fact);
            if let Some(what) = Happening::of(&self.live, fact) {
                self.put(fact.t, fact.t, what);
            }
            self.follow(fact.t);
        }
        self.until = at(until);
        self.live.handle_timeout(self.until);
        self.follow(self.until);
    }

    fn follow(&mut self, now: Mono) {
        while let Some(event) = self.live.poll_event() {
            if let Some((t, what)) = self.table.follow(&self.live, &event) {
                self.put(t, now, what);
            }
        }
    }

    fn picture(&self, now: u64) -> Picture {
        let run = Run {
            supervisor: None,
            name: "up-pricing-1".to_owned(),
            topology: self.plan.topology.clone(),
            pid: 4711,
            folder: "/var/lib/pricing".into(),
            began: Wall(1_700_000_000_000),
        };
        let file = "/var/lib/pricing/journal-000001.jsonl".into();
        let journal = JournalPicture { file, written: true, why: None, lost: 0 };
        let event = self.events.last().map_or(0, |event| event.seq);
        let wall = Wall(1_700_000_000_000 + i64::try_from(now).unwrap());
        self.table.picture(
            &self.live,
            &run,
            Moment { now: at(now), wall, silent: None, journal, ends: None, event },
        )
    }

    fn lines(&self) -> String {
        self.events.iter().map(|event| line(event) + "\n").collect()
    }
}

fn page(playback: &Playback, screen: &mut Screen, now: u64, size: (u16, u16)) -> String {
    let mut terminal = Terminal::new(TestBackend::new(size.0, size.1)).unwrap();
    let picture = playback.picture(now);
    terminal.draw(|frame| screen.draw(frame, &picture)).unwrap();
    terminal.backend().to_string()
}

/// Two groups of two; everything is led from 100 ms on.
fn led(story: &mut Story, until: u64) {
    for who in ["p1-1.1", "p1-2.1", "p2-1.1", "p2-2.1"] {
        story.started(who, 1);
    }
    story.assigned("p2-1.1", 2, &[0]).serves("p2-1.1", 0, 1, [100, until]);
    story.assigned("p2-2.1", 2, &[1]).serves("p2-2.1", 1, 1, [100, until]);
    story.assigned("p1-2.1", 2, &[1]).serves("p1-2.1", 1, 1, [100, until]);
}

#[test]
fn a_death_and_its_effects_are_shown_at_once_and_then_counted() {
    let mut playback = Playback::new(plan(3, &[("p1", 2, 3), ("p2", 2, 2)]));
    let mut story = Story::default();
    led(&mut story, 12_000);
    story.started("p1-3.1", 1);
    story.assigned("p1-1.1", 2, &[0]).serves("p1-1.1", 0, 1, [100, 5_000]);
    story.died("p1-1.1", 5_000);
    story.assigned("p1-3.1", 5_900, &[0]).serves("p1-3.1", 0, 1, [6_000, 12_000]);

    playback.play(&story, 4_900);
    assert_eq!(playback.picture(4_900).health, Level::Led, "{}", playback.lines());
    playback.play(&story, 5_100);
    let picture = playback.picture(5_100);
    assert_eq!(picture.health, Level::Degraded, "{}", playback.lines());
    assert_eq!(picture.roles[0].health, Level::Degraded);
    assert!((picture.roles[0].health_for_ms - 100.0).abs() < 1e-6, "{:?}", picture.roles[0]);
    assert_eq!(picture.roles[1].health, Level::Led);
    let counts = picture.groups["p1"].counts;
    assert_eq!(counts.gaps, 0, "it is not over");
    assert_eq!((counts.open, counts.open_ms_max.round()), (2, 100.0), "and counts: {counts:?}");
    assert_eq!((picture.joint.open, picture.joint.open_ms_max), (0, 0.0), "the others lead on");
    assert_eq!(picture.objective[1].longest_ms.round(), 100.0);
    assert!(
        summary(&picture).contains("group p1 on a: 2 gaps go on, the longest for 100 ms, 0 ov")
    );
    let mut screen = Screen::new(false, false);
    playback.events.iter().for_each(|event| screen.push_event(event));
    insta::assert_snapshot!("degraded", page(&playback, &mut screen, 5_100, (100, 24)));

    // It is over, and not final yet: nothing of it is forgotten, and it lasts no longer.
    playback.play(&story, 6_300);
    let picture = playback.picture(6_300);
    let counts = picture.groups["p1"].counts;
    assert_eq!((counts.gaps, counts.open), (0, 0), "{counts:?}\n{}", playback.lines());
    assert_eq!(picture.objective[1].longest_ms.round(), 1_000.0);

    playback.play(&story, 12_000);
    let picture = playback.picture(12_000);
    assert_eq!(picture.health, Level::Led);
    let counts = picture.groups["p1"].counts;
    // Two roles are on the partition that had no leader for a second.
    assert_eq!((counts.gaps, counts.gap_ms_max.round()), (2, 1_000.0), "{counts:?}");
    assert_eq!(picture.joint.gaps, 0);
    assert!(picture.objective.iter().all(|promise| promise.kept), "{:?}", picture.objective);
    insta::assert_snapshot!("lines", playback.lines());
    insta::assert_snapshot!("summary", summary(&picture));
}

#[test]
fn a_role_that_no_group_leads_is_down_and_breaks_the_objective() {
    let mut playback = Playback::new(plan(3, &[("p1", 2, 2), ("p2", 2, 2)]));
    let mut story = Story::default();
    for who in ["p1-1.1", "p1-2.1", "p2-1.1", "p2-2.1"] {
        story.started(who, 1);
    }
    for (who, partition) in [("p1-1.1", 0), ("p1-2.1", 1), ("p2-1.1", 0), ("p2-2.1", 1)] {
        let until = if partition == 0 { 5_000 } else { 9_000 };
        story.assigned(who, 2, &[partition]).serves(who, partition, 1, [100, until]);
    }
    story.died("p1-1.1", 5_000).died("p2-1.1", 5_050);
    playback.play(&story, 5_070);
    let picture = playback.picture(5_070);
    let joint = &picture.objective[0];
    assert!(!joint.kept && joint.longest_ms.round() == 20.0, "broken at once: {joint:?}");
    assert_eq!((picture.joint.gaps, picture.joint.open), (0, 2), "{:?}", picture.joint);
    let text = summary(&picture);
    assert!(text.contains("all groups at once: 2 gaps go on, the longest for 20 ms"), "{text}");
    playback.play(&story, 9_000);
    let picture = playback.picture(9_000);
    assert_eq!(picture.health, Level::Down, "{}", playback.lines());
    let joint = &picture.objective[0];
    assert!(!joint.kept && joint.longest_ms > 3_000.0, "it goes on, and counts: {joint:?}");
    let mut screen = Screen::new(false, false);
    playback.events.iter().for_each(|event| screen.push_event(event));
    insta::assert_snapshot!("down", page(&playback, &mut screen, 9_000, (100, 24)));
    // A terminal that is far too small shows what it can, and breaks nothing.
    for size in [(1, 1), (20, 4), (40, 10)] {
        page(&playback, &mut screen, 9_000, size);
    }
}

/// Of a gap it is certain that it began, and not yet that it ended, when the next one begins.
#[test]
fn a_gap_that_follows_another_is_not_the_other_one() {
    let mut playback = Playback::new(plan(3, &[("p1", 2, 3), ("p2", 2, 2)]));
    let mut story = Story::default();
    led(&mut story, 12_000);
    story.started("p1-3.1", 1);
    story.assigned("p1-1.1", 2, &[0]).serves("p1-1.1", 0, 1, [100, 5_000]).died("p1-1.1", 5_000);
    story.assigned("p1-3.1", 5_190, &[0]).serves("p1-3.1", 0, 1, [5_200, 5_300]);
    story.died("p1-3.1", 5_300);
    // However far what is final has come.
    for now in (5_310..6_500).step_by(10) {
        playback.play(&story, now);
        let counts = playback.picture(now).groups["p1"].counts;
        let lasted = f64::from(u32::try_from(now).unwrap() - 5_300);
        assert_eq!((counts.open, counts.open_ms_max.round()), (2, lasted), "{}", playback.lines());
    }
    let lines = playback.lines();
    assert!(lines.contains("gap_began group=p1") && lines.contains("gap group=p1"), "{lines}");
    playback.play(&story, 9_000);
    let counts = playback.picture(9_000).groups["p1"].counts;
    assert_eq!((counts.gaps, counts.gap_ms_max.round(), counts.open), (2, 200.0, 2), "{counts:?}");
    let text = summary(&playback.picture(9_000));
    assert!(text.contains("2 gaps, the longest 200 ms, 2 more go on, the longest for 3700 ms"));
}

#[test]
fn a_thousand_roles_are_folded_by_their_leaders_or_scrolled() {
    let mut playback = Playback::new(plan(1_000, &[("p1", 2, 2), ("p2", 2, 2)]));
    let mut story = Story::default();
    led(&mut story, 2_000);
    story.assigned("p1-1.1", 2, &[0]).serves("p1-1.1", 0, 1, [100, 2_000]);
    playback.play(&story, 2_000);
    let mut screen = Screen::new(false, true);
    let folded = page(&playback, &mut screen, 2_000, (100, 20));
    assert!(folded.contains("role-0 and 499 more"), "{folded}");
    insta::assert_snapshot!("folded", folded);
    screen.apply(KeyAction::Fold);
    let first = page(&playback, &mut screen, 2_000, (100, 20));
    assert!(first.contains("role-0 ") && first.contains("of 1000)"), "{first}");
    screen.apply(KeyAction::End);
    let last = page(&playback, &mut screen, 2_000, (100, 20));
    assert!(last.contains("role-999"), "{last}");
    screen.apply(KeyAction::PageUp);
    screen.apply(KeyAction::Up);
    let middle = page(&playback, &mut screen, 2_000, (100, 20));
    assert!(!middle.contains("role-999") && !middle.contains("role-0 "), "{middle}");
    screen.apply(KeyAction::Home);
    assert_eq!(page(&playback, &mut screen, 2_000, (100, 20)), first);
}

#[test]
fn a_broker_that_is_dead_is_shown_until_it_is_back() {
    let mut playback = Playback::new(plan(1, &[("p1", 1, 1)]));
    let cluster: ClusterName = "a".parse().unwrap();
    let started = |pid| {
        let (cluster, address) = (cluster.clone(), "127.0.0.1:4000".to_owned());
        RunEvent::ClusterStarted { cluster, address, pid }
    };
    let mut story = Story::default();
    story.run(10, started(7));
    story.run(2_000, RunEvent::ClusterDied { cluster: cluster.clone() }).run(2_500, started(8));
    let mut screen = Screen::new(false, false);
    playback.play(&story, 1_010);
    let alive = "broker of a at 127.0.0.1:4000: alive for 1.0 s, process 7\n";
    assert!(
        summary(&playback.picture(1_010)).contains(alive),
        "{}",
        summary(&playback.picture(1_010))
    );
    assert!(!page(&playback, &mut screen, 1_010, (100, 20)).contains("broker of"));
    playback.play(&story, 2_300);
    let dead = "broker of a at 127.0.0.1:4000: dead for 0.3 s, died once";
    assert!(
        summary(&playback.picture(2_300)).contains(dead),
        "{}",
        summary(&playback.picture(2_300))
    );
    assert!(page(&playback, &mut screen, 2_300, (100, 20)).contains(dead));
    playback.play(&story, 4_500);
    let back = "broker of a at 127.0.0.1:4000: alive for 2.0 s, process 8, died once\n";
    assert!(
        summary(&playback.picture(4_500)).contains(back),
        "{}",
        summary(&playback.picture(4_500))
    );
    assert!(!page(&playback, &mut screen, 4_500, (100, 20)).contains("broker of"));
    let lines = playback.lines();
    let words: Vec<_> = lines.lines().filter_map(|line| Some(line.split_once(' ')?.1)).collect();
    let [first, second] =
        [7, 8].map(|pid| format!("cluster_started cluster=a address=127.0.0.1:4000 pid={pid}"));
    assert_eq!(words, [first.as_str(), "cluster_died cluster=a", second.as_str()]);
}

#[test]
fn colours_are_there_unless_they_are_refused() {
    let playback = Playback::new(plan(3, &[("p1", 2, 2), ("p2", 2, 2)]));
    let coloured = |colour| {
        let mut terminal = Terminal::new(TestBackend::new(80, 20)).unwrap();
        let picture = playback.picture(100);
        let mut screen = Screen::new(colour, false);
        terminal.draw(|frame| screen.draw(frame, &picture)).unwrap();
        let cells = terminal.backend().buffer().content();
        cells.iter().any(|cell| cell.fg != ratatui::style::Color::Reset)
    };
    assert!(coloured(true));
    assert!(!coloured(false));
}

/// A terminal of any size shows every count and every name in full.
#[test]
fn nothing_is_cut_on_a_small_terminal_and_a_large_one_is_used() {
    let groups = [("p1", 4, 5), ("p2", 4, 5), ("p3", 4, 5)];
    let mut playback = Playback::new(plan(6, &groups));
    let mut story = Story::default();
    for group in ["p1", "p2", "p3"] {
        for member in 1..=5 {
            story.started(&format!("{group}-{member}.1"), 1);
        }
        for (member, partition) in (1..=4).zip(0..) {
            let who = format!("{group}-{member}.1");
            story.assigned(&who, 2, &[partition]).serves(&who, partition, 1, [100, 5_000]);
        }
    }
    story.died("p1-1.1", 5_000);
    playback.play(&story, 5_200);
    let mut screen = Screen::new(false, false);
    for event in &playback.events {
        screen.push_event(event);
    }
    let small = page(&playback, &mut screen, 5_200, (80, 24));
    insta::assert_snapshot!("small", small);
    let joined: Vec<_> = small.lines().map(|line| line.trim_matches('"').trim()).collect();
    let joined = joined.join(" ");
    assert!(joined.contains("2 gaps go on, the longest for"), "{small}");
    assert!(small.contains("degraded for 0.2 s"), "{small}");
    let large = page(&playback, &mut screen, 5_200, (200, 50));
    insta::assert_snapshot!("large", large);
    for member in ["p1-1.1  dead for", "p3-5.1  alive for"] {
        assert!(large.contains(member), "{large}");
    }
    let empty = large.lines().filter(|line| line.trim_matches('"').trim().is_empty()).count();
    assert!(empty < 15, "{empty} of 50 lines are empty:\n{large}");
}

/// Names that are too long for their columns lose their middles, and nothing behind them is lost.
#[test]
fn long_names_are_told_apart_on_a_small_terminal() {
    let names = ["payments-europe-west", "payments-europe-east", "payments-europe-north"];
    let groups = names.map(|name| (name, 2, 2));
    let mut playback = Playback::new(plan(2, &groups));
    let mut story = Story::default();
    for name in names {
        for (member, partition) in (1..=2).zip(0..) {
            let who = format!("{name}-{member}.1");
            story.started(&who, 1).assigned(&who, 2, &[partition]);
            story.serves(&who, partition, 1, [100, 5_000]);
        }
    }
    playback.play(&story, 4_900);
    let mut screen = Screen::new(false, false);
    let small = page(&playback, &mut screen, 4_900, (80, 24));
    insta::assert_snapshot!("long_names", small);
    let roles = small.lines().filter(|line| line.contains(" for ") && line.contains('…'));
    let roles: Vec<_> = roles.collect();
    assert_eq!(roles.len(), 2, "{small}");
    for (role, end) in roles.iter().zip(["-1 ", "-2 "]) {
        assert_eq!(
            role.matches(end).count(),
            3,
            "each group's leader is known by its end: {small}"
        );
    }
    for name in names {
        assert!(small.contains(&format!("{name}  ")), "{name} stands apart: {small}");
    }
}
