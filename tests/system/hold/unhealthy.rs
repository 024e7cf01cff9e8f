//! A leader that says that it is unhealthy hands over with no gap, and takes its role back when it
//! is well. Three measures: the facts that members report, the events of the library, which are
//! exact, and a referee that asks all members all the time.

use std::collections::BTreeMap;
use std::num::NonZeroU32;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::channel;
use std::thread::{ScopedJoinHandle, scope, sleep};
use std::time::Duration;

use rustix::process::Signal;
use serde_json::json;
use support::experiment::eventually;
use support::held::{SOON, Stage};
use support::observed::{self, settles};
use support::web::{ask, get};
use tandem::ids::{Incarnation, Life, PartitionId, RoleIndex};
use tandem::member::reported;
use tandem::observation::{Fact, MemberEvent, What};
use tandem::time::Mono;
use tandem::timeline::{Interval, IntervalSet, LifeLine};
use tandem_member::{Event, Member};

const ROUNDS: usize = 3;
/// That of role `r`.
const PARTITION: PartitionId = PartitionId(0);

pub(super) fn leads(port: u16) -> bool {
    get(port, "/v1/roles/r").is_ok_and(|(status, _)| status == 200)
}

fn health(port: u16, well: bool) {
    let body = json!({ "well": well }).to_string();
    assert_eq!(ask(port, "PUT /v1/health", "", &body).unwrap().0, 200);
}

/// Waits until the first leads and the second does not.
pub(super) fn led_by(first: impl Fn() -> bool, second: impl Fn() -> bool) {
    eventually("the leader", SOON, || (first() && !second()).then_some(()));
}

/// What a member answered to the question whether it leads, and when it was asked.
struct Look {
    asked: Mono,
    answered: Mono,
    leads: bool,
}

/// Asks until it is stopped.
fn watch(stop: &AtomicBool, leads: impl Fn() -> bool) -> Vec<Look> {
    let mut looks = Vec::new();
    while !stop.load(Ordering::SeqCst) {
        let asked = Mono::now();
        let leads = leads();
        looks.push(Look { asked, answered: Mono::now(), leads });
        sleep(Duration::from_millis(1));
    }
    looks
}

/// When a member surely did not lead: from one "no" to the last one before a "yes".
fn idle(looks: &[Look]) -> IntervalSet {
    let runs = looks.chunk_by(|one, next| one.leads == next.leads);
    let idle = runs.filter(|run| !run[0].leads);
    idle.map(|run| Interval::new(run[0].answered, run[run.len() - 1].asked)).collect()
}

/// When surely none of them led.
fn unled(all: [Vec<Look>; 2]) -> IntervalSet {
    for looks in &all {
        let rests = looks.windows(2).map(|two| two[1].answered.since(two[0].asked));
        println!("{} looks, at most {:?} apart", looks.len(), rests.max().unwrap_or_default());
    }
    let [one, two] = all.map(|looks| idle(&looks));
    one.intersect(&two)
}

/// Stops a thread, also when the test fails.
struct Stops<'a>(&'a AtomicBool);

impl Drop for Stops<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

/// What a referee of both finds while `play` goes on.
pub(super) fn refereed(
    members: [&(dyn Fn() -> bool + Sync); 2],
    play: impl FnOnce(),
) -> IntervalSet {
    let stop = &AtomicBool::new(false);
    scope(|scope| {
        let stops = Stops(stop);
        let watching = members.map(|leads| scope.spawn(move || watch(stop, leads)));
        play();
        drop(stops);
        unled(watching.map(|it: ScopedJoinHandle<'_, _>| it.join().unwrap()))
    })
}

/// When any of these lives claims, as far as is known.
fn claimed(facts: &[Fact], of: impl Fn(&Life) -> bool) -> IntervalSet {
    let mut lives: BTreeMap<&Life, LifeLine> = BTreeMap::new();
    for fact in facts {
        let Some(life) = fact.life.as_ref().filter(|life| of(life)) else { continue };
        let line = lives.entry(life).or_default();
        if fact.what.is_by_member() { line.hear(fact) } else { line.record(fact) }
    }
    let claims = lives.values().map(|line| line.claimed(PARTITION).possible.clone());
    claims.fold(IntervalSet::default(), |all, one| all.union(&one))
}

/// How many claims on the role began within this time.
fn begun(facts: &[Fact], window: Interval) -> usize {
    let begins = facts.iter().filter(|fact| {
        matches!(fact.what, What::Member(MemberEvent::Claimed { partition: PARTITION, from, .. })
            if window.contains(from))
    });
    begins.count()
}

#[test]
fn a_sidecar_that_is_unhealthy_hands_over_with_no_gap_and_takes_its_role_back() {
    let stage = observed::Stage::new();
    let observer = stage.observe();
    let (_first, one) = stage.serve("p1", "a");
    let (_second, two) = stage.serve("p1", "b");
    let _other = stage.hold("p2", "c");
    settles(&observer, 3);
    // Round robin gives the first partition to the first member, by name.
    led_by(|| leads(one), || leads(two));
    let began = Mono::now();
    let found = refereed([&|| leads(one), &|| leads(two)], || {
        for _ in 0..ROUNDS {
            health(one, false);
            led_by(|| leads(two), || leads(one));
            health(one, true);
            led_by(|| leads(one), || leads(two));
        }
    });
    let window = Interval::new(began, Mono::now());
    assert!(found.is_empty(), "neither led: {found:?}");
    let is_ours = |life: &Life| life.member.as_str().starts_with("p1-");
    let facts = eventually("the facts of all that", SOON, || {
        let facts = observer.recording().facts;
        let later = |name: &str| {
            facts.iter().any(|fact| {
                let of = fact.life.as_ref().is_some_and(|life| life.member.as_str() == name);
                of && fact.what.is_by_member() && fact.t > window.until
            })
        };
        (later("p1-a") && later("p1-b")).then_some(facts)
    });
    assert!(begun(&facts, window) >= 2 * ROUNDS, "each hand-over begins a claim");
    let gaps = IntervalSet::from(window).subtract(&claimed(&facts, is_ours));
    assert!(gaps.is_empty(), "none of both claimed the role: {gaps:?}");
}

#[test]
fn members_of_the_library_and_sidecars_take_each_others_place_with_no_gap() {
    let stage = Stage::new("session: 2s");
    let (_hold, port) = stage.serve("b", &[]);
    led_by(|| leads(port), || false);
    let builder = Member::builder(&stage.broker.address, "held-p1").name("a").roles(["r", "s"]);
    let member = builder.session(Duration::from_secs(2)).join().unwrap();
    let role = member.role("r").unwrap();
    led_by(|| member.leads(role), || leads(port));
    let own = || member.leads(role);
    let found = refereed([&own, &|| leads(port)], || {
        for _ in 0..ROUNDS {
            member.health(false);
            led_by(|| leads(port), own);
            member.health(true);
            led_by(own, || leads(port));
        }
    });
    assert!(found.is_empty(), "neither led: {found:?}");
    // A referee finds the gap that there must be where both are unhealthy.
    let found = refereed([&own, &|| leads(port)], || {
        member.health(false);
        led_by(|| leads(port), own);
        health(port, false);
        eventually("the end", SOON, || (!own() && !leads(port)).then_some(()));
        // So long that the referee sees it also where the host holds it up for a moment.
        sleep(Duration::from_secs(1));
        member.health(true);
        led_by(own, || leads(port));
    });
    assert!(!found.is_empty(), "a gap was not found");
    member.leave();
}

/// The commands of a wrapper take turns without a hole, though one of them is slow to end: it goes
/// on until the other one has begun.
#[test]
fn a_command_goes_on_until_its_successor_leads() {
    let stage = Stage::new("session: 4s");
    // In the middle of its grace, which is three seconds: so much later may its successor begin.
    let script = |name: &str| {
        format!(
            "trap 'sleep 1.5; date +%s%N >> {name}.ended; exit' TERM; \
             date +%s%N >> {name}.begun; while :; do sleep 0.02; done"
        )
    };
    let serve = |name| stage.serve_beside(name, &["--role", "r"], &["sh", "-c", &script(name)]);
    let times = |file: &str| -> Vec<u64> {
        stage.said(file).lines().map(|line| line.parse().unwrap()).collect()
    };
    let count = |file: &str, least: usize| {
        eventually(file, SOON, || (times(file).len() >= least).then_some(()));
    };
    // The other one leads first, so that each of its commands is known.
    let (_second, two) = serve("b");
    led_by(|| leads(two), || false);
    count("b.begun", 1);
    let (mut first, one) = serve("a");
    led_by(|| leads(one), || leads(two));
    count("a.begun", 1);
    count("b.ended", 1);
    assert!(times("a.begun")[0] < times("b.ended")[0], "it joined, and the other ended too early");
    health(one, false);
    count("a.ended", 1);
    count("b.begun", 2);
    assert!(times("b.begun")[1] < times("a.ended")[0], "unhealthy, it ended too early");
    health(one, true);
    count("b.ended", 2);
    count("a.begun", 2);
    assert!(times("a.begun")[1] < times("b.ended")[1], "the role came back");
    led_by(|| leads(one), || leads(two));
    first.signal(Signal::TERM);
    assert_eq!(first.ends().code(), Some(0), "{}", stage.said("a.err"));
    count("b.begun", 3);
    assert!(times("b.begun")[2] < times("a.ended")[1], "asked, it ended too early");
}

#[test]
fn members_of_the_library_hand_over_to_the_nanosecond() {
    let stage = Stage::new("session: 2s");
    let join = |name| {
        let builder = Member::builder(&stage.broker.address, "library").name(name).roles(["r"]);
        let builder = builder.create_ledger(NonZeroU32::MIN).session(Duration::from_secs(2));
        let (sender, events) = channel();
        let member = builder.join_with(move |at, event| sender.send((at, event)).unwrap_or(()));
        (member.unwrap(), name, events)
    };
    let role = RoleIndex(0);
    // One that is still about to join takes nothing over: the other one does not know of it.
    let two = join("b");
    led_by(|| two.0.leads(role), || false);
    let one = join("a");
    led_by(|| one.0.leads(role), || two.0.leads(role));
    let began = Mono::now();
    for _ in 0..ROUNDS {
        one.0.health(false);
        led_by(|| two.0.leads(role), || one.0.leads(role));
        one.0.health(true);
        led_by(|| one.0.leads(role), || two.0.leads(role));
    }
    let window = Interval::new(began, Mono::now());
    let mut facts = Vec::new();
    for (member, name, events) in [one, two] {
        // All events are there when it has left.
        member.leave();
        facts.extend(facts_of(name, events.try_iter()));
    }
    assert!(begun(&facts, window) >= 2 * ROUNDS, "each hand-over begins a claim");
    let gaps = IntervalSet::from(window).subtract(&claimed(&facts, |_| true));
    assert!(gaps.is_empty(), "none of both claimed the role: {gaps:?}");
}

/// The events of a member as facts of its lives.
fn facts_of(name: &str, events: impl Iterator<Item = (Mono, Event)>) -> Vec<Fact> {
    let mut life = Life { member: name.parse().unwrap(), incarnation: Incarnation(1) };
    let mut seq = 0;
    let mut facts = Vec::new();
    for (t, event) in events {
        let event = reported(event);
        seq += 1;
        let left = event == MemberEvent::Leaving;
        facts.push(Fact { t, seq, life: Some(life.clone()), what: What::Member(event) });
        if left {
            (life.incarnation, seq) = (Incarnation(life.incarnation.0 + 1), 0);
        }
    }
    facts
}
