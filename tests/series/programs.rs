//! The full counts on the programs of `examples/`: `tests/measure price-feed`, `schedulers` and
//! `promises`. Each writes a row into `chaos/RESULTS.md`.

use std::fmt::Display;
use std::time::Duration;

use support::feed::{Blow, Feed, HOLE_MAX, STALL, Trial};
use support::promises::Promises;
use support::results::{Claims, Row, append, tried};
use support::schedulers::{Kept, Schedulers, Tally};
use support::series::{Span, await_turn, folder, shown};
use tandem::built::Built;

/// Writes down what each trial showed, beside the row.
fn write(folder: &std::path::Path, lines: &[impl Display]) {
    let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
    std::fs::write(folder.join("trials"), text).unwrap();
}

/// The faults that count; as many more are played in place of disturbed ones, at most.
const FAULTS: usize = 100;

/// In each trial the leader of one of two groups is killed, paused or cut off.
#[test]
#[ignore = "takes minutes: tests/measure price-feed"]
fn price_feed() {
    let folder = folder("price-feed");
    let wanted = tried().map_or(FAULTS, |count| usize::try_from(count).unwrap());
    await_turn();
    let mut feed = Feed::start();
    let mut trials: Vec<Trial> = Vec::new();
    let counted = |trials: &[Trial]| trials.iter().filter(|it| !it.is_disturbed()).count();
    while counted(&trials) < wanted && trials.len() < 2 * wanted {
        let trial = feed.hit_one(trials.len());
        eprintln!("{}: {trial}", trials.len() + 1);
        trials.push(trial);
        write(&folder, &trials);
    }
    let (prices, duplicates, missed) = feed.counts();
    let both = feed.hit_both(Blow::Kill);
    let (disturbed, counting): (Vec<&Trial>, Vec<&Trial>) =
        trials.iter().partition(|trial| trial.is_disturbed());
    let mut holes: Vec<Span> =
        counting.iter().map(|trial| Span { length: trial.hole, stalled: trial.stalled }).collect();
    holes.sort_unstable();
    let mut claims = Claims::default();
    let longest = holes.last().map_or(Duration::MAX, |hole| hole.length);
    claims.add("no hole above 50 ms", shown(&holes), longest <= HOLE_MAX);
    claims.add("no price missed", missed, missed == 0);
    let text = format!("{} of {}", disturbed.len(), trials.len());
    claims.add("at most a third disturbed", text, 3 * disturbed.len() <= trials.len());
    let text = format!("{:.0} ms", both.hole.as_secs_f64() * 1e3);
    claims.add("both leaders killed at once: a hole is found", text, both.hole > HOLE_MAX);
    let each: Vec<String> = disturbed.iter().map(ToString::to_string).collect();
    let disturbed = match each.len() {
        0 => "none".to_owned(),
        some => format!("{some} of {}: {}", trials.len(), each.join("; ")),
    };
    let takeovers = counting.iter().map(|trial| trial.takeover);
    let mut takeovers: Vec<Span> =
        takeovers.map(|length| Span { length, stalled: Duration::ZERO }).collect();
    takeovers.sort_unstable();
    let text = format!(
        "leaders of one of two groups killed, paused and cut off in turn, session 1 s, a price \
         each 20 ms: {prices} prices, {duplicates} duplicates removed; another leader after {}; a \
         trial is disturbed by a stall of {} ms",
        shown(&takeovers),
        STALL.as_millis()
    );
    let trials = counting.len().to_string();
    let row = Row { built: vec![Built::this()], trials, disturbed, measured: text };
    append("price-feed", &folder, &row, &claims);
    claims.hold();
}

/// Groups of schedulers that are hit side by side, for each store: they claim no length.
const LANES: usize = 2;
/// Half of the time some job is at work.
const WORK: &str = "sleep 0.05";

/// What came of one group, and how often a stopped scheduler kept its store locked.
type Lane = std::thread::Result<(Tally, usize)>;

/// In each round a fault hits the scheduler that works, one more joins, and one leaves.
fn lane(kept: Kept, rounds: std::ops::Range<usize>) -> Lane {
    // It shows what it knows where it fails, and the other groups come to their end.
    std::panic::catch_unwind(|| {
        let mut all = Schedulers::start(kept, true, WORK, 3);
        rounds.for_each(|number| all.round(number));
        (all.tally(), all.locked)
    })
}

#[test]
#[ignore = "takes minutes: tests/measure schedulers"]
fn schedulers() {
    let folder = folder("schedulers");
    let wanted = tried().map_or(FAULTS, |count| usize::try_from(count).unwrap());
    let part = wanted.div_ceil(LANES);
    let parts = (0..LANES).map(|at| at * part..wanted.min((at + 1) * part));
    let lanes = [Kept::Postgres, Kept::Sqlite];
    let lanes = lanes.iter().flat_map(|kept| parts.clone().map(|rounds| (*kept, rounds)));
    let ended: Vec<(Kept, Lane)> = std::thread::scope(|scope| {
        let running: Vec<_> =
            lanes.map(|(kept, rounds)| (kept, scope.spawn(move || lane(kept, rounds)))).collect();
        running.into_iter().map(|(kept, lane)| (kept, lane.join().unwrap())).collect()
    });
    let mut claims = Claims::default();
    let failed = ended.iter().filter(|(_, lane)| lane.is_err()).count();
    let text = format!("{failed} of {} did not", ended.len());
    claims.add("each group of schedulers works on to its end", text, failed == 0);
    let mut shown = Vec::new();
    for kept in [Kept::Postgres, Kept::Sqlite] {
        let of = ended.iter().filter(|(of, _)| *of == kept);
        let of = of.filter_map(|(_, lane)| lane.as_ref().ok());
        let (tally, locked) = of.fold((Tally::default(), 0), |(tally, locked), (one, more)| {
            (tally.and(one.clone()), locked + more)
        });
        let text = format!("no job twice, none lost, in {kept:?}");
        claims.add(text, &tally, tally.is_right() && tally.runs > wanted);
        shown.push(format!("{locked} times with {kept:?}"));
    }
    let text = format!(
        "{wanted} kills, pauses and cuts of the scheduler that works, {wanted} joins and {wanted} \
         leaves for each store, {LANES} groups of three side by side; a successor waited for a \
         lock that a paused one kept: {}",
        shown.join(", ")
    );
    append("schedulers", &folder, &Row::without_trials(2 * wanted, &text), &claims);
    claims.hold();
}

/// In each round a sidecar joins and another one leaves, in every second that of the job at work.
#[test]
#[ignore = "takes minutes: tests/measure promises"]
fn promises() {
    let folder = folder("promises");
    let wanted = tried().map_or(FAULTS, |count| usize::try_from(count).unwrap());
    await_turn();
    let mut all = Promises::start(2);
    for number in 0..wanted {
        all.join();
        all.leave(number.is_multiple_of(2));
        eprintln!("round {number}: {} promises held", all.held().len());
    }
    write(&folder, &all.held());
    let overlaps = all.overlaps();
    overlaps.iter().for_each(|overlap| eprintln!("at the same time: {overlap}"));
    let (left, pauses) = (all.left_us(), all.pauses());
    let mut claims = Claims::default();
    let broken = overlaps.iter().filter(|overlap| overlap.breaks_promise()).count();
    claims.add("no job begins before the promise of another one ends", broken, broken == 0);
    let (host, found): (Vec<_>, Vec<_>) =
        overlaps.iter().partition(|overlap| overlap.is_of_the_host());
    let first = found.first().map_or(String::new(), |first| format!(", the first {first}"));
    let text = format!("{} times{first}", found.len());
    claims.add("no two jobs at work at the same time", text, found.is_empty());
    let early = left.iter().filter(|left| **left > 1_000).count();
    claims.add("each promise held to its last ms", format!("{early} not"), early == 0);
    claims.add("the role moves with each join", pauses.len(), pauses.len() >= wanted);
    let late = left.iter().filter(|left| **left < 0).count();
    let shortest = pauses.first().copied().unwrap_or_default().as_secs_f64() * 1e3;
    let text = format!(
        "{wanted} joins and {wanted} leaves, promises of at most 400 ms: {} held, {late} of them \
         for up to {} us too long, {} of these beside another job while the host kept a process \
         from running; another job began {shortest:.1} ms after the one before it at the least",
        left.len(),
        left.first().map_or(0, |left| (-left).max(0)),
        host.len(),
    );
    append("promises", &folder, &Row::without_trials(2 * wanted, &text), &claims);
    claims.hold();
}
