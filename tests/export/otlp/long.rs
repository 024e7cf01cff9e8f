//! What telemetry costs, measured with full counts: `tests/measure overhead`, `up-at-rest` and
//! `takeovers-beside-failing-collectors`. Each writes a row into `chaos/RESULTS.md`.

use std::time::Duration;

use rustix::process::Signal;
use tandem::live_view::Level;
use tandem::statistics::two_samples::compare;

use crate::otlp::beside::{One, Way, rounds};
use crate::otlp::receiver::{Kept, Receiver};
use support::quiet::await_quiet;
use support::results::{Claims, Row, append, tried};
use support::series::{disturbances, folder, played, verdicts};
use support::up::Up;
use support::usage::{Usage, watch};
use support::windowed::windows;

/// Medians of takeovers that are no further apart are alike.
const ALIKE_MS: f64 = 25.0;
/// The longest wait for a collector is two seconds; the rest is time for files.
pub(crate) const LATE_MS: f64 = 2_000.0;

/// The quantile of values, by the nearest rank.
fn quantile(values: &[f64], percent: usize) -> f64 {
    let mut all = values.to_vec();
    all.sort_by(f64::total_cmp);
    all[(all.len() * percent).div_ceil(100).max(1) - 1]
}

fn median(values: &[f64]) -> f64 {
    quantile(values, 50)
}

/// `p50 1.2 (0.9 to 1.4)`: the median, the least and the greatest.
fn ranged(values: &[f64], decimals: usize) -> String {
    let [p50, min, max] = [50, 0, 100].map(|percent| quantile(values, percent));
    format!("p50 {p50:.decimals$} ({min:.decimals$} to {max:.decimals$})")
}

/// What is measured of all runs of one way, run after run.
fn of(runs: &[One], what: impl Fn(&One) -> Vec<f64>) -> Vec<f64> {
    runs.iter().flat_map(what).collect()
}

fn late(one: &One) -> Vec<f64> {
    vec![one.seen.late_ms]
}

fn controller(one: &One) -> Vec<f64> {
    vec![one.seen.controller]
}

/// The mean of all members that lived throughout.
fn members(one: &One) -> Vec<f64> {
    let members = &one.seen.members;
    vec![members.iter().sum::<f64>() / f64::from(u32::try_from(members.len()).unwrap())]
}

/// What the death cost: the longest gap of a run.
fn longest(one: &One) -> Vec<f64> {
    one.gaps().into_iter().reduce(f64::max).into_iter().collect()
}

/// By how much the second values are above the first, and between which limits that lies.
fn shift(off: &[f64], on: &[f64], decimals: usize) -> String {
    let compared = compare(off, on, 0.95, 1).unwrap();
    let within = compared.interval.map_or_else(
        || "too few for an interval".to_owned(),
        |ends| format!("95 % from {:+.decimals$} to {:+.decimals$}", ends.low, ends.high),
    );
    format!("{:+.decimals$} ({within})", compared.shift)
}

/// The row of these runs.
fn row<'a>(runs: impl Iterator<Item = &'a One> + Clone, measured: String) -> Row {
    let parts = runs.map(|one| &one.part);
    Row {
        built: parts.clone().map(|part| part.built.clone()).collect(),
        trials: played(parts.clone()),
        disturbed: disturbances(parts),
        measured,
    }
}

/// In how many runs of all something is so.
fn so(runs: &[&One], is: impl Fn(&One) -> bool) -> (String, bool) {
    let count = runs.iter().filter(|one| is(one)).count();
    (format!("in {count} of {} runs", runs.len()), count == runs.len())
}

/// Telemetry on against off, in pairs.
#[test]
#[ignore = "takes a quarter of an hour: tests/measure overhead"]
fn overhead() {
    let folder = folder("overhead");
    let pairs = tried().unwrap_or(30);
    let [off, on] = rounds(&folder, [Way::Off, Way::On], pairs);
    let both = [&off, &on];
    let gaps = both.map(|runs| of(runs, One::gaps));
    let cpu = both.map(|runs| of(runs, members));
    let own = both.map(|runs| of(runs, controller));
    let took = both.map(|runs| of(runs, longest));
    let apart = |two: &[Vec<f64>; 2]| (median(&two[1]) - median(&two[0])).abs();
    let mut claims = Claims::default();
    let text = format!("medians of the takeover at most {ALIKE_MS} ms apart");
    claims.add(text, format!("{:.1} ms", apart(&gaps)), apart(&gaps) <= ALIKE_MS);
    let text = format!("{:.2} %", apart(&cpu));
    claims.add("medians of the members' CPU at most 1 % of a core apart", text, apart(&cpu) <= 1.0);
    let scraped = |one: &One| one.seen.got.scrapes >= 3;
    let with: Vec<_> = on.iter().collect();
    let (text, whole) = so(&with, |one| one.arrived() && one.seen.is_reported && scraped(one));
    claims.add("all signals arrived", text, whole);
    let (text, passed) = verdicts(both.into_iter().flatten().map(|one| &one.part));
    claims.add("verdict pass", text, passed);
    let [without, with] = &gaps;
    let text = format!(
        "{pairs} pairs of a trial with a session of 300 ms, without telemetry and with (traces, \
        logs, metrics each second, a scrape each second): group gaps {} of {} and {} of {} ms, the \
        longest of a trial later by {} ms; a member {} and {} % of a core, more by {}; the \
        controller {} and {} %, more by {}; gone {} and {} ms after the verdict (seeds 1 to \
        {pairs})",
        without.len(),
        ranged(without, 0),
        with.len(),
        ranged(with, 0),
        shift(&took[0], &took[1], 1),
        ranged(&cpu[0], 2),
        ranged(&cpu[1], 2),
        shift(&cpu[0], &cpu[1], 2),
        ranged(&own[0], 1),
        ranged(&own[1], 1),
        shift(&own[0], &own[1], 2),
        ranged(&of(&off, late), 0),
        ranged(&of(&on, late), 0)
    );
    append("overhead", &folder, &row(both.into_iter().flatten(), text), &claims);
    claims.hold();
}

/// No takeover waits for a collector, however it fails, and no exit for long.
#[test]
#[ignore = "takes ten minutes: tests/measure takeovers-beside-failing-collectors"]
fn takeovers_beside_failing_collectors() {
    let name = "takeovers-beside-failing-collectors";
    let (folder, trials) = (folder(name), tried().unwrap_or(10));
    let ways = [Way::Off, Way::Killed, Way::Busy, Way::Mute];
    let runs = rounds(&folder, ways, trials);
    let gaps = runs.each_ref().map(|runs| of(runs, One::gaps));
    // If takeovers themselves are further apart than that, no finer statement is possible.
    let without = &gaps[0];
    let spread = quantile(without, 75) - quantile(without, 25);
    let alike = ALIKE_MS.max(spread);
    let apart = |gaps: &Vec<f64>| (median(gaps) - median(without)).abs();
    let worst = runs.iter().flatten().map(|one| one.seen.late_ms).fold(0.0, f64::max);
    let mut claims = Claims::default();
    let far = gaps.iter().map(apart).fold(0.0, f64::max);
    let text = format!("medians at most {alike:.0} ms from that without a collector");
    claims.add(text, format!("{far:.1} ms"), far <= alike);
    let text = format!("gone at most {LATE_MS} ms after the verdict");
    claims.add(text, format!("{worst:.0} ms"), worst <= LATE_MS);
    let all: Vec<_> = runs.iter().flatten().collect();
    let (text, reported) = so(&all, |one| one.seen.is_reported);
    claims.add("what was lost is reported", text, reported);
    let (text, none) = so(&runs[2].iter().collect::<Vec<_>>(), One::arrived);
    claims.add("nothing was lost where it recovered", text, none);
    let (text, passed) = verdicts(all.iter().map(|one| &one.part));
    claims.add("verdict pass", text, passed);
    let names = ["no collector", "one killed", "one that recovers from 503", "one that is mute"];
    let rows = names.iter().zip(&runs).zip(&gaps).map(|((name, runs), gaps)| {
        let late = ranged(&of(runs, late), 0);
        format!("{name}: {} gaps of {} ms, gone after {late} ms", gaps.len(), ranged(gaps, 0))
    });
    let rows = rows.collect::<Vec<_>>().join("; ");
    let text = format!(
        "{trials} trials each, in turn, with a session of 300 ms: {rows}; half of the gaps without \
        a collector are within {spread:.0} ms (seeds 1 to {trials})"
    );
    append(name, &folder, &row(all.iter().copied(), text), &claims);
    claims.hold();
}

/// What the controller takes of a thousand roles on 64 partitions in three groups of five, at rest,
/// in a minute.
fn at_rest(args: &str) -> Usage {
    await_quiet(Duration::from_secs(120));
    let mut up = Up::start(&format!("-f topologies/thousand.yaml {args}"));
    up.await_health(Level::Led);
    // The first claims overlap for a threshold.
    std::thread::sleep(Duration::from_secs(20)); // clock: a series, which measures
    let used = watch(&[up.pid()], Duration::from_secs(60))[0];
    assert_eq!(up.status().0, Some(0));
    up.signal(Signal::INT);
    assert_eq!(up.ends().code(), Some(0), "{}", up.said());
    used
}

/// A topology that is kept up, without and with a collector: in the minute that is watched, one
/// window ends.
#[test]
#[ignore = "takes four minutes: tests/measure up-at-rest"]
fn up_at_rest() {
    let folder = folder("up-at-rest");
    let receiver = Receiver::http(Kept::default(), None);
    let export = format!("--otlp {}", receiver.url("http"));
    let [off, on] = ["", &export].map(at_rest);
    let spans = receiver.spans();
    let ended = windows(&spans).len();
    let mut claims = Claims::default();
    let percent = |share: f64| format!("{share:.1} %");
    let share = off.core_percent;
    claims.add("controller below 5 % of a core", percent(share), share < 5.0);
    let more = on.core_percent - off.core_percent;
    claims.add("at most 2.5 % more with a collector", percent(more), more <= 2.5);
    let text = format!("{} spans of {ended} windows", spans.len());
    claims.add("its windows arrived", text, ended >= 2 && spans.len() > 3_000);
    let text = format!(
        "1,000 roles, 64 partitions, 3 groups of 5: the controller {:.1} MiB; exported to a \
         collector {:.1} %, {:.1} MiB",
        off.resident_mib, on.core_percent, on.resident_mib
    );
    append("up-at-rest", &folder, &Row::without_trials(1, &text), &claims);
    claims.hold();
}
