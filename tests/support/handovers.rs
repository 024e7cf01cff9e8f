//! What is claimed of roles that move between living members, and of both clients of a group.

use std::time::Duration;

use super::experiment::Experiment;
use super::results::tried;
use super::series::{Part, Series, group_gaps, shown};

/// The experiments in which roles move, and how many trials of each.
const MOVES: [(&str, u32); 4] =
    [("leave-leader", 40), ("rolling-restart", 12), ("churn-group", 6), ("kill-leader", 20)];

fn part(file: &str, trials: u32) -> Experiment {
    let trials = tried().unwrap_or(trials);
    Experiment::new(&format!("chaos/{file}.yaml")).with(&format!("--trials {trials}"))
}

/// Roles that move cost no gap, unless their leader died, and overlap for at most `most` in 95 of
/// 100 hand-overs.
pub fn short_overlaps(
    name: &'static str,
    most: Duration,
    place: impl Fn(Experiment) -> Experiment,
) {
    let parts = MOVES.map(|(file, trials)| (file, place(part(file, trials))));
    let mut series = Series::of_each(name, parts);
    let overlaps = series.overlaps();
    let at = (overlaps.len() * 95).div_ceil(100).saturating_sub(1);
    let p95 = overlaps.get(at).map(|overlap| overlap.length);
    let text = format!("overlaps of at most {} ms at p95, in 100 hand-overs", most.as_millis());
    let holds = overlaps.len() >= 100 && p95.is_some_and(|p95| p95 <= most);
    series.claims.add(text, shown(&overlaps), holds || tried().is_some());
    let moved = MOVES.iter().zip(&series.parts).filter(|((file, _), _)| *file != "kill-leader");
    let gaps: Vec<_> = moved.flat_map(|(_, part)| part.spans(group_gaps)).collect();
    series.claims.add("no gap where no leader died", shown(&gaps), gaps.is_empty());
    let text = format!("overlaps {}; by experiment: {}", shown(&overlaps), by_part(&series));
    series.conclude(&text);
}

fn by_part(series: &Series) -> String {
    let shown = MOVES.iter().zip(&series.parts).map(|((file, _), part)| {
        let overlaps = part.spans(|timeline| {
            timeline.groups.values().flat_map(|group| &group.findings.overlaps).collect()
        });
        format!("{file} {}", shown(&overlaps))
    });
    shown.collect::<Vec<_>>().join(", ")
}

/// Both clients of a group, in turn: leaders killed at three sessions, and leaders cut off by a
/// network that holds traffic back.
const CLIENTS: [(&str, &str, &str); 8] = [
    ("own-1s", "kill-leader", "--set defaults.membership=own"),
    ("librdkafka-1s", "kill-leader", "--set defaults.membership=librdkafka"),
    ("own-300ms", "kill-leader", "--set defaults.membership=own --set defaults.session=300ms"),
    (
        "librdkafka-300ms",
        "kill-leader",
        "--set defaults.membership=librdkafka --set defaults.session=300ms",
    ),
    (
        "own-100ms",
        "kill-leader",
        "--set defaults.membership=own --set defaults.session=100ms --set defaults.heartbeat=30ms",
    ),
    (
        "librdkafka-100ms",
        "kill-leader",
        "--set defaults.membership=librdkafka --set defaults.session=100ms \
         --set defaults.heartbeat=30ms",
    ),
    ("own-stalled", "heal-stalled", "--set defaults.membership=own"),
    ("librdkafka-stalled", "heal-stalled", "--set defaults.membership=librdkafka"),
];

/// What groups miss, twenty trials a client and session. The protocol is the same: members hand
/// over with neither.
pub fn memberships(name: &'static str) {
    let parts = CLIENTS.map(|(word, file, set)| {
        let experiment = part(file, 20).with(set);
        (word, experiment.with("--set groups.p1.handover=false --set groups.p2.handover=false"))
    });
    let series = Series::of_each(name, parts);
    let gaps = |part: &Part| shown(&part.spans(group_gaps));
    let each =
        CLIENTS.iter().zip(&series.parts).map(|((word, ..), it)| format!("{word} {}", gaps(it)));
    let text = format!("group gaps: {}", each.collect::<Vec<_>>().join("; "));
    series.conclude(&text);
}
