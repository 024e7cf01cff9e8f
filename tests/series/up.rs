//! The full counts behind what is claimed of `tandem up`: `tests/measure up`, `up-killed` and
//! `up-fifty`. Each writes a row into `chaos/RESULTS.md`.

use std::collections::BTreeSet;
use std::time::Duration;

use rustix::process::Signal;
use support::experiment::{eventually, signal_pid};
use support::outside::{Death, TOLERANCE, events_match_the_journal, kill_leader};
use support::quiet::await_quiet;
use support::results::{Claims, Row, append, tried};
use support::series::{await_turn, folder};
use support::supervised::{Ordeal, Survived};
use support::up::Up;
use tandem::ids::{GroupName, Life};
use tandem::live_view::{Event, Happening, Level};
use tandem::observation::{RunEvent, What};
use tandem::time::Mono;

const SOON: Duration = Duration::from_secs(120);
/// The longest time from a death until it is reported.
const REPORTED_WITHIN: Duration = Duration::from_millis(100);

fn group(name: &str) -> GroupName {
    name.parse().unwrap()
}

/// Ten minutes, in which a leader is killed from outside as soon as everything is led again.
#[test]
#[ignore = "takes ten minutes: tests/measure up"]
fn up() {
    let folder = folder("up");
    await_quiet(Duration::from_secs(120));
    let mut up = Up::start("-f topologies/duo.yaml");
    up.await_health(Level::Led);
    let mut follower = up.follow();
    let (began, mut deaths) = (Mono::now(), Vec::<Death>::new());
    let names = ["p1", "p2"].map(group);
    for name in names.iter().cycle() {
        if Mono::now().since(began) > Duration::from_secs(600) {
            break;
        }
        deaths.push(kill_leader(&up, &mut follower, name));
    }
    up.await_health(Level::Led);
    up.signal(Signal::INT);
    assert_eq!(up.ends().code(), Some(0), "{}", up.said());
    let events: Vec<Event> = follower.finish().1.into_iter().map(|(_, event)| event).collect();
    let (gaps, worst) = events_match_the_journal(&up, &events, &deaths);
    let slowest = deaths.iter().map(|death| death.reported_after).max().unwrap();
    let mut claims = Claims::default();
    let ms = |length: Duration| format!("{:.3} ms", length.as_secs_f64() * 1_000.0);
    let count = deaths.len();
    claims.add(
        "each death reported within 100 ms",
        format!("{} at most", ms(slowest)),
        slowest <= REPORTED_WITHIN,
    );
    let text = format!("{} off at most", ms(worst));
    claims.add("reported gaps match the journal's, to a millisecond", text, worst <= TOLERANCE);
    claims.add("a gap for each death", format!("{gaps} for {count}"), gaps >= count);
    let text = "leaders killed from outside, each as soon as everything was led again";
    let built = up.recording().header.built;
    let row = Row { built: vec![built], ..Row::without_trials(count, text) };
    append("up", &folder, &row, &claims);
    claims.hold();
}

/// Ten minutes, in which `tandem up`, its guard, and both together are killed, one of these each 20
/// s, and leaders all the time; in the middle another program takes the place of `tandem up`.
#[test]
#[ignore = "takes ten minutes: tests/measure up-killed"]
fn up_killed() {
    let folder = folder("up-killed");
    await_turn();
    let rounds = tried().map_or(30, |rounds| usize::try_from(rounds).unwrap());
    let mut ordeal = Ordeal::begin("-f topologies/duo.yaml", &["p1", "p2"]);
    for round in 0..rounds {
        if round == rounds / 2 {
            ordeal.upgrade();
        }
        ordeal.play_round(round, Duration::from_secs(20));
    }
    let Survived { recording, kills, mut right_after, gaps } = ordeal.end();
    right_after.sort();
    let slowest = right_after.last().copied().unwrap_or_default();
    let over: Vec<_> = gaps.iter().filter(|(length, most)| length > most).collect();
    let mut claims = Claims::default();
    let text = format!("{} ms at most, in {} starts", slowest.as_millis(), right_after.len());
    let limit = Duration::from_secs(2);
    claims.add("the state is right within 2 s of each start", text, slowest <= limit);
    let text = format!("{} above it: {over:?}", over.len());
    claims.add("group gaps within the bound of a kill", text, over.is_empty());
    // The ordeal asserts these.
    claims.add("no member started twice", "each death has one restart", true);
    claims.add("no fact is missing", "none", true);
    let mut lengths: Vec<_> = gaps.iter().map(|(length, _)| length.as_millis()).collect();
    lengths.sort_unstable();
    let at = |percent: usize| lengths[(lengths.len() * percent).div_ceil(100).max(1) - 1];
    let text = format!(
        "{rounds} rounds, {kills} leaders killed: group gaps {} of p50 {}, p95 {}, max {} ms",
        lengths.len(),
        at(50),
        at(95),
        at(100)
    );
    let row = Row { built: vec![recording.header.built], ..Row::without_trials(rounds, &text) };
    append("up-killed", &folder, &row, &claims);
    claims.hold();
}

/// Fifty members of two groups die at once.
#[test]
#[ignore = "takes two minutes: tests/measure up-fifty"]
fn up_fifty() {
    let folder = folder("up-fifty");
    await_quiet(Duration::from_secs(120));
    let args = "-f topologies/duo.yaml --set groups.p1.members=25 --set groups.p2.members=25 \
                --set groups.p1.partitions=25 --set groups.p2.partitions=25";
    let mut up = Up::start(args);
    up.await_health(Level::Led);
    let alive = || {
        let picture = up.status().1?;
        let seats: Vec<_> = picture.groups.values().flat_map(|of| of.members.clone()).collect();
        let life = |(member, seat): &(tandem::ids::MemberId, tandem::live_view::MemberPicture)| {
            Some((Life { member: member.clone(), incarnation: seat.incarnation }, seat.pid?))
        };
        let lives: Vec<_> = seats.iter().filter_map(life).collect();
        (lives.len() == 50).then_some(lives)
    };
    let lives = eventually("fifty lives", SOON, alive);
    let mut follower = up.follow();
    follower.await_event("anything", |_| Some(()));
    for (_, pid) in &lives {
        signal_pid(*pid, Signal::KILL);
    }
    let killed = Mono::now();
    let mut missing: BTreeSet<Life> = lives.into_iter().map(|(life, _)| life).collect();
    let mut last = killed;
    while !missing.is_empty() {
        let (heard, life) = follower.await_event("a death", |event| match &event.what {
            Happening::Died { life, .. } => Some(life.clone()),
            _ => None,
        });
        missing.remove(&life);
        last = heard;
    }
    up.await_health(Level::Led);
    up.signal(Signal::INT);
    assert_eq!(up.ends().code(), Some(0), "{}", up.said());
    let events: Vec<Event> = follower.finish().1.into_iter().map(|(_, event)| event).collect();
    let by_kill = |event: &&Event| matches!(event.what, Happening::Died { signal: Some(9), .. });
    let reported = events.iter().filter(by_kill);
    let seqs = events.iter().zip(1..).all(|(event, seq)| event.seq == seq);
    let recording = up.recording();
    let died = recording
        .facts
        .iter()
        .filter(|fact| matches!(fact.what, What::Run(RunEvent::Died { signal: Some(9), .. })));
    let (reported, died) = (reported.count(), died.count());
    let mut claims = Claims::default();
    claims.add("each death reported once", format!("{reported} of 50"), reported == 50);
    claims.add("each death written once", format!("{died} of 50"), died == 50);
    let whole = if seqs { "none" } else { "some" };
    claims.add("no event missing", whole, seqs);
    let text = format!(
        "50 members killed at once: the last reported {:.0} ms after the last signal",
        last.since(killed).as_secs_f64() * 1_000.0
    );
    let row = Row { built: vec![recording.header.built], ..Row::without_trials(50, &text) };
    append("up-fifty", &folder, &row, &claims);
    claims.hold();
}
