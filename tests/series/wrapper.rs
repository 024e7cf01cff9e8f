//! The full counts on `tandem hold … -- CMD`: `tests/measure wrapper`. It writes a row into
//! `chaos/RESULTS.md`.

use std::thread::scope;
use std::time::Duration;

use support::results::{Claims, Row, append, tried};
use support::series::{Span, await_turn, folder, shown};
use support::wrapped::{Blow, KINDS, Pair, STALL, Stage, Trial};
use tandem::built::Built;

/// The trials of each kind of command that count, cut off and killed.
const TRIALS: usize = 50;
/// Groups with commands of one kind, side by side.
const LANES: usize = 3;

/// The trials of all groups, one blow after the other; nothing of a group that did not come to its
/// end.
fn played(stage: &Stage, wanted: usize) -> Vec<Option<Vec<Trial>>> {
    let lane = |at: usize| {
        let part = wanted * (at / KINDS.len() + 1) / LANES - wanted * (at / KINDS.len()) / LANES;
        let mut pair = Pair::start(stage, at, KINDS[at % KINDS.len()]);
        [Blow::Cut, Blow::Kill].map(|blow| pair.trials(blow, part)).concat()
    };
    scope(|scope| {
        let lanes = (0..LANES * KINDS.len()).map(|at| scope.spawn(move || lane(at)));
        lanes.collect::<Vec<_>>().into_iter().map(|lane| lane.join().ok()).collect()
    })
}

/// How long something took in each of these trials, the shortest first.
fn lengths(trials: &[&Trial], length: impl Fn(&Trial) -> Option<Duration>) -> Vec<Span> {
    let span = |trial: &&Trial| Some(Span { length: length(trial)?, stalled: Duration::ZERO });
    let mut spans: Vec<Span> = trials.iter().filter_map(span).collect();
    spans.sort_unstable();
    spans
}

#[test]
#[ignore = "takes minutes: tests/measure wrapper"]
fn wrapper() {
    let folder = folder("wrapper");
    let wanted = tried().map_or(TRIALS, |count| usize::try_from(count).unwrap());
    await_turn();
    let stage = Stage::start(LANES * KINDS.len());
    let lanes = played(&stage, wanted);
    let failed = lanes.iter().filter(|lane| lane.is_none()).count();
    let all: Vec<Trial> = lanes.into_iter().flatten().flatten().collect();
    let text: String = all.iter().map(|trial| format!("{trial}\n")).collect();
    std::fs::write(folder.join("trials"), text).unwrap();
    let (counting, disturbed): (Vec<&Trial>, Vec<&Trial>) =
        all.iter().partition(|trial| trial.counts());
    let mut claims = Claims::default();
    let text = format!("{failed} of {} did not", LANES * KINDS.len());
    claims.add("each group comes to its end", text, failed == 0);
    for blow in [Blow::Cut, Blow::Kill] {
        for kind in KINDS {
            let of = counting.iter().filter(|it| it.blow == blow && it.kind == kind);
            let (right, count) = (of.clone().filter(|it| it.is_right()).count(), of.count());
            let what = match blow {
                Blow::Cut => "cut off, all is gone before the promise ends and any successor",
                Blow::Kill => "wrapper killed, all is gone before any successor",
            };
            let text = format!("{right} of {count}");
            claims.add(format!("{kind}: {what}"), text, right == count && count >= wanted);
        }
    }
    let (count, overlaps) = (stage.referee.book().len(), stage.overlaps().len());
    let text = format!("{overlaps} times among {count} processes");
    claims.add("no two commands of a group at the same time", text, overlaps == 0);
    let of = |blow| counting.iter().filter(move |it| it.blow == blow).copied().collect::<Vec<_>>();
    let (cut, killed) = (of(Blow::Cut), of(Blow::Kill));
    let left = lengths(&cut, |it| Some(it.promised?.since(it.gone()?)));
    let gone = lengths(&killed, |it| Some(it.gone()?.since(it.at)));
    let later = lengths(&counting, |it| Some(it.successor.first.since(it.gone()?)));
    let text = format!(
        "{LANES} groups of two wrappers for each kind of command, side by side, on one broker, \
         session 3 s, hold 1 s: {} cuts, of the promise left {}; {} wrappers killed, all gone \
         after {}; a successor later by {}; a trial is disturbed by a stall of {} ms",
        cut.len(),
        shown(&left),
        killed.len(),
        shown(&gone),
        shown(&later),
        STALL.as_millis()
    );
    let each: Vec<String> = disturbed.iter().map(ToString::to_string).collect();
    let disturbed = match each.len() {
        0 => "none".to_owned(),
        some => format!("{some} of {}: {}", all.len(), each.join("; ")),
    };
    let trials = counting.len().to_string();
    let row = Row { built: vec![Built::this()], trials, disturbed, measured: text };
    append("wrapper", &folder, &row, &claims);
    claims.hold();
}
