//! What a topology that is kept up must have, however often `tandem up` was killed.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::Duration;

use rustix::process::Signal;
use tandem::guard::page;
use tandem::ids::{GroupName, Life, MemberId};
use tandem::journal::Recording;
use tandem::live_view::{Event, Happening, Level, MemberPicture, Picture};
use tandem::observation::{Fact, MemberEvent, RunEvent, What};
use tandem::time::Mono;
use tandem::timeline::{Interval, Timeline};

use super::experiment::{eventually, signal_pid, tandem_at};
use super::leftovers::children_of;
use super::outside::lone_leader;
use super::stalls::Watch;
use super::up::{Follower, Up, nothing_is_left};

const SOON: Duration = Duration::from_secs(60);
/// How long the state of members on their way may take.
const ON_ITS_WAY: Duration = Duration::from_millis(100);

/// The process of each member.
pub fn pids(picture: &Picture) -> BTreeMap<MemberId, u32> {
    let members = picture.groups.values().flat_map(|group| &group.members);
    members.filter_map(|(name, state)| Some((name.clone(), state.pid?))).collect()
}

/// The process of the guard of `up`, as its ledger says.
pub fn guard(up: &Up) -> u32 {
    eventually("a guard", SOON, || {
        let runs = std::fs::read_dir(up.state().join("tandem/runs")).unwrap();
        let mut pages = runs.filter_map(|entry| page(&entry.ok()?.path()).ok());
        pages.find_map(|page| page.run.guard.map(|guard| guard.pid))
    })
}

/// Starts, with the facts' times, of each life.
pub fn starts(recording: &Recording) -> Vec<&Fact> {
    let starts = |fact: &&Fact| matches!(fact.what, What::Run(RunEvent::Started { .. }));
    recording.facts.iter().filter(starts).collect()
}

/// No fact of the supervisor or of a member is missing, and no life was started twice.
pub fn is_whole(recording: &Recording) {
    let mut next: BTreeMap<_, u64> = BTreeMap::new();
    for fact in &recording.facts {
        let writer = fact.life.clone().filter(|_| fact.what.is_by_member());
        let expected = next.entry(writer).or_insert(1);
        assert_eq!(fact.seq, *expected, "{fact:?}");
        *expected += 1;
    }
    let lives: Vec<_> = starts(recording).iter().map(|fact| fact.life.clone()).collect();
    let once: BTreeSet<_> = lives.iter().collect();
    assert_eq!(lives.len(), once.len(), "{lives:?}");
}

/// `tandem up` and its guard, which are killed in turn and together, while leaders are killed.
pub struct Ordeal {
    topology: String,
    groups: Vec<GroupName>,
    /// Dropped, it kills the supervisor.
    first: Up,
    later: Option<Up>,
    killed: Vec<Life>,
    /// From the start of each `tandem up` until `tandem status` shows what is.
    right_after: Vec<Duration>,
    /// How late the host lets the brokers run, which say nothing of it themselves.
    watch: Watch,
}

/// What an ordeal has shown.
pub struct Survived {
    pub recording: Recording,
    pub kills: usize,
    pub right_after: Vec<Duration>,
    /// The gaps of groups that deaths caused, each with what it may be.
    pub gaps: Vec<(Duration, Duration)>,
}

impl Ordeal {
    pub fn begin(topology: &str, groups: &[&str]) -> Self {
        let groups: Vec<GroupName> = groups.iter().map(|name| name.parse().unwrap()).collect();
        let (first, topology) = (Up::start(topology), topology.to_owned());
        let (later, killed, right_after) = (None, Vec::new(), Vec::new());
        let watch = Watch::begin();
        let brokers = first.await_health(Level::Led).brokers.into_values();
        brokers.filter_map(|broker| broker.pid).for_each(|pid| watch.add(pid));
        Self { topology, groups, first, later, killed, right_after, watch }
    }

    fn up(&self) -> &Up {
        self.later.as_ref().unwrap_or(&self.first)
    }

    /// Kills `tandem up`, or its guard, or both, and a leader at once; and then a leader each time
    /// that everything is led, for the rest of the time that the round `lasts`.
    pub fn play_round(&mut self, number: usize, lasts: Duration) {
        let began = Mono::now();
        let (_, pid) = self.next_victim();
        if !number.is_multiple_of(3) {
            signal_pid(guard(&self.first), Signal::KILL);
        }
        let dies = number % 3 != 1;
        if dies {
            self.up().signal(Signal::KILL);
        }
        signal_pid(pid, Signal::KILL);
        if dies {
            self.start(Up::start_in);
        }
        while Mono::now().since(began) < lasts {
            let (_, pid) = self.next_victim();
            signal_pid(pid, Signal::KILL);
        }
    }

    /// Another program, a copy, takes the place of the `tandem up` that runs.
    pub fn upgrade(&mut self) {
        let copy = self.first.folder().join("upgraded");
        super::install(&copy);
        let mut before = self.later.take();
        self.start(|topology, state| {
            Up::start_from(tandem_at(&copy, state), &format!("{topology} --replace"), state)
        });
        let before = before.as_mut().unwrap_or(&mut self.first);
        assert_eq!(before.ends().code(), Some(0), "{}", before.said());
    }

    fn start(&mut self, start: impl FnOnce(&str, &std::path::Path) -> Up) {
        let (began, supervisor) = (Mono::now(), self.first.supervisor());
        let up = start(&self.topology, self.first.state());
        eventually("the state as it is", SOON, || {
            let picture = up.status().1?;
            let shown: BTreeSet<u32> = pids(&picture).into_values().collect();
            let is_member =
                |arguments: &[String]| arguments.get(1).is_some_and(|it| it == "member");
            let there = children_of(supervisor).into_iter();
            let there = there.filter(|one| is_member(&one.arguments)).map(|one| one.pid);
            let right = picture.run.supervisor == Some(supervisor) && picture.silent_ms.is_none();
            (right && shown == there.collect()).then_some(())
        });
        self.right_after.push(Mono::now().since(began));
        self.later = Some(up);
    }

    fn next_victim(&mut self) -> (Life, u32) {
        let group = self.groups[self.killed.len() % self.groups.len()].clone();
        // On a busy host a status may be older than the last kill.
        let victim = eventually("another victim", SOON, || {
            let victim = lone_leader(self.up(), &group);
            (!self.killed.contains(&victim.0)).then_some(victim)
        });
        self.killed.push(victim.0.clone());
        victim
    }

    /// Ends it, and asserts what must hold after every kill: no fact is missing, each death has one
    /// restart, and nothing is left.
    pub fn end(self) -> Survived {
        let Self { first, later, killed, right_after, groups, watch, .. } = self;
        let mut last = later.unwrap();
        for group in &groups {
            // On a busy host a status may be older than the last kill.
            eventually("each victim's next life", SOON, || {
                lone_leader(&last, group);
                let picture = last.status().1?;
                let lives = |(member, seat): (&MemberId, &MemberPicture)| {
                    let life = Life { member: member.clone(), incarnation: seat.incarnation };
                    seat.pid.is_some() && !killed.contains(&life)
                };
                picture.groups[group].members.iter().all(lives).then_some(())
            });
        }
        last.signal(Signal::INT);
        assert_eq!(last.ends().code(), Some(0), "{}", last.said());
        nothing_is_left(first.state());
        let recording = first.recording();
        is_whole(&recording);
        let plan = &recording.header.plan;
        let members: usize = plan.groups.values().map(|group| group.members.len()).sum();
        let by_kill =
            |fact: &&Fact| matches!(fact.what, What::Run(RunEvent::Died { signal: Some(9), .. }));
        let ended = |fact: &&Fact| matches!(fact.what, What::Run(RunEvent::TrialEnded { .. }));
        // One that does not leave in time is killed, too.
        let until = recording.facts.iter().find(ended).unwrap().t;
        let died = recording.facts.iter().filter(by_kill).filter(|fact| fact.t < until);
        let died = died.filter_map(|fact| fact.life.clone());
        let died: Vec<Life> = died.collect();
        let written: BTreeSet<_> = died.iter().collect();
        assert_eq!(written, killed.iter().collect(), "the deaths of those that were killed");
        assert_eq!(died.len(), killed.len(), "each death is written once");
        assert_eq!(starts(&recording).len(), members + killed.len(), "one restart for each death");
        let gaps = gaps(&recording, &watch);
        Survived { recording, kills: killed.len(), right_after, gaps }
    }
}

/// The gaps of groups, each with the most that it may be: the bound of a kill, and for how long the
/// host kept the supervisor or a member waiting meanwhile, by their own word, or a broker.
fn gaps(recording: &Recording, watch: &Watch) -> Vec<(Duration, Duration)> {
    let plan = &recording.header.plan;
    let timeline = Timeline::compute(plan, &recording.facts);
    let late = recording.facts.iter().filter_map(|fact| match &fact.what {
        What::Member(MemberEvent::Late { from, until, .. }) => Some(Interval::new(*from, *until)),
        _ => None,
    });
    let late: Vec<Interval> = late.chain(timeline.record.stalls.iter().copied()).collect();
    let mut gaps = Vec::new();
    for (name, group) in &timeline.groups {
        let bound = plan.groups[name].bounds.kill.gap.high.get();
        for gap in &group.findings.gaps {
            let waits = late.iter().map(|late| late.intersect(gap.span).length());
            // A takeover waits for its broker more than once, and for members in between.
            let brokers = watch.total(gap.span.from, gap.span.until);
            let most = bound + ON_ITS_WAY + brokers + waits.max().unwrap_or_default();
            gaps.push((gap.span.length(), most));
        }
    }
    gaps
}

/// Kills the process of a member while nothing is written, for the folder is away. When that is
/// back, the journal goes on, and ends well.
pub fn loses_a_death(up: &mut Up, follower: &mut Follower, member: u32, away: &Path) {
    signal_pid(member, Signal::KILL);
    let died = |event: &Event| matches!(event.what, Happening::Died { .. }).then_some(());
    follower.await_event("a death that is not written", died);
    std::fs::rename(away, &up.out).unwrap();
    follower.await_event("that it is written again", |event| match event.what {
        Happening::Written { lost } if lost > 0 => Some(()),
        _ => None,
    });
    up.await_health(Level::Led);
    up.signal(Signal::INT);
    assert_eq!(up.ends().code(), Some(0), "{}", up.said());
    let recording = up.recording();
    assert!(recording.header.part.unwrap().after_loss, "it is read from where it is whole");
}
