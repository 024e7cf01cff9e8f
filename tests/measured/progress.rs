//! What is said of a run while it goes on, on a host that makes no fact late: each trial's line
//! comes before the end, and its costs are those of the report.

use support::experiment::{Experiment, Finished};
use support::quiet::{is_counted_late, undisturbed};

/// The method of a run whose progress is printed. Nothing where the host made its facts so late
/// that they were not counted in time: then the lines say less than the journal.
fn played(text: &str) -> Option<Finished> {
    let play = || {
        let run = Experiment::of("kills.yaml", text).with("-f topologies/duo.yaml");
        run.with("--set defaults.session=500ms").finish()
    };
    let is_disturbed = |run: &Finished| is_counted_late(&run.timeline().record);
    undisturbed(play, is_disturbed, ToString::to_string)
}

#[test]
fn each_trial_is_reported_in_time_with_its_costs() {
    let text = "version: 1\nname: kills\ntrials: 2\nmethod:\n  \
                - {at: 300ms, fault: kill, target: {leader_of: any, group: p1}}\n  \
                - {at: 300ms, fault: pause, for: 100ms, target: {member: p2-1}}\n";
    let Some(ended) = played(text) else { return };
    let lines: Vec<&str> = ended.stderr.lines().filter(|line| line.starts_with("trial ")).collect();
    assert_eq!(lines.len(), 2, "{ended}");
    let place = |of: &str| ended.stderr.lines().position(|line| line.starts_with(of));
    assert!(place("trial 2") < place("stopping"), "the last trial is printed first: {ended}");
    let report = ended.report();
    let mut longest = Vec::new();
    for (number, line) in (1..).zip(&lines) {
        assert!(line.starts_with(&format!("trial {number} of 2: ")), "{line}");
        assert!(line.contains("kill p1-") && line.contains("pause p2-1"), "{line}");
        let gap = line.split_once(" ms in p1").unwrap_or_else(|| panic!("{line}\n{ended}")).0;
        let gap: f64 = gap.rsplit(' ').next().unwrap().parse().unwrap();
        longest.push(gap);
    }
    // The report of the journal agrees with the progress lines, except for the fraction.
    let of = &report.groups.values().next().unwrap();
    let all = [of.fault.gap.max_ms, of.other.restart.gap.max_ms, of.other.none.gap.max_ms];
    let most = all.into_iter().flatten().fold(0.0, f64::max);
    let shown = longest.into_iter().fold(0.0, f64::max);
    assert!((most - shown).abs() <= 1.5, "{most} and {shown}: {ended}");
}
