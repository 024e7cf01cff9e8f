//! The full counts on fences and on static members: `tests/measure fences`, `zombies` and
//! `restarts`. Each writes a row into `chaos/RESULTS.md`.

use std::time::Duration;

use rustix::process::Signal;
use support::fences::{Blow, Forgetful};
use support::results::{Claims, Row, append, tried};
use support::schedulers::{GATED, Kept, Schedulers, Tally};
use support::series::{Span, await_turn, folder, shown};
use support::static_lives::restart;

/// The fences that members are given.
const FENCES: usize = 10_000;
/// On so many partitions at a time.
const PARTITIONS: usize = 16;
/// The leaders that are stopped in the middle of their work, in each store.
const ZOMBIES: usize = 25;
/// The same where the store asks for no fence.
const UNFENCED: usize = 5;
const RESTARTS: usize = 100;

fn wanted(full: usize) -> usize {
    tried().map_or(full, |count| usize::try_from(count).unwrap())
}

/// Leaders are killed and paused, the broker is killed, and all is taken down and up.
#[test]
#[ignore = "takes half an hour: tests/measure fences"]
fn fences() {
    let folder = folder("fences");
    let wanted = wanted(FENCES);
    await_turn();
    let mut all = Forgetful::start(PARTITIONS);
    let (mut rounds, storm) = (0, [Blow::Kill, Blow::Pause, Blow::Kill, Blow::Broker]);
    while all.acquired() < wanted {
        for blow in storm {
            all.strike(blow);
        }
        all.strike(Blow::DownAndUp);
        rounds += 1;
        eprintln!("round {rounds}: {} fences", all.acquired());
    }
    let risen = all.end();
    let count = all.acquired();
    let mut claims = Claims::default();
    let text = risen.as_ref().err().cloned().unwrap_or_else(|| format!("{count} of {count}"));
    claims.add("each fence above all before it on its partition", text, risen.is_ok());
    claims.add("so many fences", count, count >= wanted);
    let text = format!(
        "one exclusive group of three members on {PARTITIONS} partitions, {rounds} times: \
         two leaders killed, one paused, the embedded broker killed, and all taken down and up, as \
         if the clock had been an hour ahead before"
    );
    append("fences", &folder, &Row::without_trials(count, &text), &claims);
    claims.hold();
}

/// How often the job of each stopped leader is in the store, and what that says in the end.
fn stopped(kept: Kept, is_fenced: bool, count: usize) -> (Vec<usize>, Tally) {
    let mut all = Schedulers::start(kept, is_fenced, GATED, 1);
    let mut counts = Vec::new();
    for number in 0..count {
        let zombie = all.works().name;
        counts.push(all.stop_in_the_middle());
        eprintln!("{kept:?}, fence {is_fenced}: {} of {count}", number + 1);
        // It may be out of its group, so no other notices that it leaves.
        all.signal(&zombie, Signal::TERM);
    }
    (counts, all.tally())
}

#[test]
#[ignore = "takes minutes: tests/measure zombies"]
fn zombies() {
    let folder = folder("zombies");
    let (fenced, unfenced) = (wanted(ZOMBIES), wanted(UNFENCED));
    await_turn();
    let mut claims = Claims::default();
    for kept in [Kept::Postgres, Kept::Sqlite] {
        let (counts, tally) = stopped(kept, true, fenced);
        let refused = counts.iter().filter(|count| **count == 1).count();
        let text = format!("{refused} of {fenced}, {tally}");
        let name = format!("{kept:?} refuses each write of a zombie");
        claims.add(name, text, refused == fenced && tally.is_right());
        let (counts, tally) = stopped(kept, false, unfenced);
        let accepted = counts.iter().filter(|count| **count > 1).count();
        let text = format!("{accepted} of {unfenced}, {tally}");
        claims.add(format!("{kept:?} accepts some without the fence"), text, accepted > 0);
    }
    let text = "leaders stopped between taking a job and writing it down, until another has led \
                and has run that job";
    append("zombies", &folder, &Row::without_trials(2 * (fenced + unfenced), text), &claims);
    claims.hold();
}

#[test]
#[ignore = "takes minutes: tests/measure restarts"]
fn restarts() {
    let folder = folder("restarts");
    let wanted = wanted(RESTARTS);
    await_turn();
    let restarts = restart(wanted);
    let mut claims = Claims::default();
    let first = |all: &[String]| match all.first() {
        Some(first) => format!("{} times, the first {first}", all.len()),
        None => "never".to_owned(),
    };
    let (moved, taken) = (&restarts.moved, &restarts.taken);
    claims.add(
        "no life is given another place than the one before",
        first(moved),
        moved.is_empty(),
    );
    claims.add("no partition is taken from a member", first(taken), taken.is_empty());
    let spans: Vec<Span> = restarts
        .took
        .iter()
        .map(|length| Span { length: *length, stalled: Duration::ZERO })
        .collect();
    let longest = spans.last().map_or(Duration::MAX, |span| span.length);
    claims.add(
        "none waits for the session of 10 s",
        shown(&spans),
        spans.len() == wanted && longest < Duration::from_secs(9),
    );
    let text = format!(
        "one of three static members killed {} times, each time once it led again, and started at \
         most once a second; from the signal until it led {}",
        restarts.count,
        shown(&spans)
    );
    append("restarts", &folder, &Row::without_trials(wanted, &text), &claims);
    claims.hold();
}
