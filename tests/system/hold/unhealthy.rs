//! A leader that says that it is unhealthy hands over with no gap, and takes its role back when it
//! is well. Three measures: the facts that members report, the events of the library, which are
//! exact, and a referee that asks all members all the time.

use std::collections::BTreeMap;
use std::fs;
use std::num::NonZeroU32;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
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

const ROUNDS: usize = 2;
/// A session that no host ends that stops a process for two seconds; claims last three times as
/// long.
const SESSION: Duration = Duration::from_secs(10);
const LONG: &str = "session: 10s";
/// The same, where a command has longer to end than any test looks away.
const WAITS: &str = "session: 30s, heartbeat: 300ms";
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

/// Asks until it is stopped, and counts that.
fn watch(stop: &AtomicBool, count: &AtomicUsize, leads: impl Fn() -> bool) -> Vec<Look> {
    let mut looks = Vec::new();
    while !stop.load(Ordering::SeqCst) {
        let asked = Mono::now(); // clock: between two looks everything may be
        let leads = leads();
        looks.push(Look { asked, answered: Mono::now(), leads }); // clock: so long was the look
        count.fetch_add(1, Ordering::SeqCst);
        sleep(Duration::from_millis(1)); // clock: it looks closely
    }
    looks
}

/// How often each of both was asked.
pub(super) struct Looks([AtomicUsize; 2]);

impl Looks {
    /// Waits until each was asked and has answered since now, and again since then: what is so
    /// meanwhile, the referee sees.
    fn pass(&self) {
        for _ in 0..2 {
            let before = self.0.each_ref().map(|count| count.load(Ordering::SeqCst));
            eventually("a look at each", SOON, || {
                let now = self.0.each_ref().map(|count| count.load(Ordering::SeqCst));
                now.iter().zip(before).all(|(now, before)| *now >= before + 2).then_some(())
            });
        }
    }
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
    play: impl FnOnce(&Looks),
) -> IntervalSet {
    let stop = &AtomicBool::new(false);
    let looks = &Looks(Default::default());
    scope(|scope| {
        let stops = Stops(stop);
        let [one, two] = members;
        let watching = [(one, &looks.0[0]), (two, &looks.0[1])]
            .map(|(leads, count)| scope.spawn(move || watch(stop, count, leads)));
        play(looks);
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
    let stage = observed::Stage::patient();
    let observer = stage.observe();
    let (_first, one) = stage.serve("p1", "a");
    let (_second, two) = stage.serve("p1", "b");
    let _other = stage.hold("p2", "c");
    settles(&observer, 3);
    // Round robin gives the first partition to the first member, by name.
    led_by(|| leads(one), || leads(two));
    let began = Mono::now();
    let found = refereed([&|| leads(one), &|| leads(two)], |looks| {
        for _ in 0..ROUNDS {
            health(one, false);
            led_by(|| leads(two), || leads(one));
            looks.pass();
            health(one, true);
            led_by(|| leads(one), || leads(two));
            looks.pass();
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
    let stage = Stage::new(LONG);
    let (_hold, port) = stage.serve("b", &[]);
    led_by(|| leads(port), || false);
    let builder = Member::builder(&stage.broker.address, "held-p1").name("a").roles(["r", "s"]);
    let member = builder.session(SESSION).join().unwrap();
    let role = member.role("r").unwrap();
    led_by(|| member.leads(role), || leads(port));
    let own = || member.leads(role);
    let found = refereed([&own, &|| leads(port)], |looks| {
        for _ in 0..ROUNDS {
            member.health(false);
            led_by(|| leads(port), own);
            looks.pass();
            member.health(true);
            led_by(own, || leads(port));
            looks.pass();
        }
    });
    assert!(found.is_empty(), "neither led: {found:?}");
    // A referee finds the gap that there must be where both are unhealthy.
    let found = refereed([&own, &|| leads(port)], |looks| {
        member.health(false);
        led_by(|| leads(port), own);
        health(port, false);
        eventually("the end", SOON, || (!own() && !leads(port)).then_some(()));
        looks.pass();
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
    let stage = Stage::new(WAITS).with_grace("20s");
    // Asked to end, each of its commands waits for a word of the test.
    let script = |name: &str| {
        format!(
            "n=$(($(cat {name}.begun 2>/dev/null | wc -l) + 1)); \
             trap 'echo x >> {name}.asked; \
             while [ $(cat {name}.may 2>/dev/null | wc -l) -lt $n ]; do sleep 0.02; done; \
             echo x >> {name}.ended; exit' TERM; \
             echo x >> {name}.begun; while :; do sleep 0.02; done"
        )
    };
    let serve = |name| stage.serve_beside(name, &["--role", "r"], &["sh", "-c", &script(name)]);
    let count = |file: &str| stage.said(file).lines().count();
    let await_count = |file: &str, least: usize| {
        eventually(file, SOON, || (count(file) >= least).then_some(()));
    };
    // The role goes from one to the other, whose command is its `begun`-th: the `asked`-th of the
    // first is asked once that leads, and runs beside it until it has ended.
    let hands_over = |(from, asked): (&str, usize), (to, begun): (&str, usize), port: u16| {
        await_count(&format!("{from}.asked"), asked);
        assert!(leads(port), "{from} was asked before {to} leads");
        await_count(&format!("{to}.begun"), begun);
        assert_eq!(count(&format!("{from}.ended")), asked - 1, "it has ended too early");
        let may = stage.path(&format!("{from}.may"));
        fs::write(may, "x\n".repeat(asked)).unwrap();
        await_count(&format!("{from}.ended"), asked);
    };
    // The other one leads first, so that each of its commands is known.
    let (_second, two) = serve("b");
    led_by(|| leads(two), || false);
    await_count("b.begun", 1);
    let (mut first, one) = serve("a");
    hands_over(("b", 1), ("a", 1), one);
    led_by(|| leads(one), || leads(two));
    health(one, false);
    hands_over(("a", 1), ("b", 2), two);
    health(one, true);
    hands_over(("b", 2), ("a", 2), one);
    led_by(|| leads(one), || leads(two));
    first.signal(Signal::TERM);
    hands_over(("a", 2), ("b", 3), two);
    assert_eq!(first.ends().code(), Some(0), "{}", stage.said("a.err"));
}

#[test]
fn members_of_the_library_hand_over_to_the_nanosecond() {
    let stage = Stage::new(LONG);
    let join = |name| {
        let builder = Member::builder(&stage.broker.address, "library").name(name).roles(["r"]);
        let builder = builder.create_ledger(NonZeroU32::MIN).session(SESSION);
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
