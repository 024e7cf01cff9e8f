//! What is said of a run while it goes on: a line a trial, with who was struck and what it cost.
//! That the costs are those of the report, on a quiet host: `tests/measured/progress.rs`.

use support::experiment::Experiment;

const KILLS: &str = "version: 1
name: kills
trials: 2
steady_state: {settled: 500ms}
recover: {within: 2m}
method:
  - {at: 300ms, fault: kill, target: {member: p1-1}}
  - {at: 300ms, fault: pause, for: 100ms, target: {member: p2-1}}
objective: {leaders_per_group: 0}
";

#[test]
fn each_trial_is_reported_with_its_victims_and_costs() {
    let run = Experiment::of("kills.yaml", KILLS).with("-f topologies/duo.yaml").finish();
    let report = run.sound();
    assert_eq!(report.trials, 2, "{run}");
    let lines: Vec<&str> = run.stderr.lines().filter(|line| line.starts_with("trial ")).collect();
    assert_eq!(lines.len(), 2, "{run}");
    for (number, line) in (1..).zip(&lines) {
        let done = line.strip_prefix(&format!("trial {number} of 2: "));
        let done = done.unwrap_or_else(|| panic!("{line}\n{run}"));
        let (struck, cost) = done.split_once(": ").unwrap_or_else(|| panic!("{line}\n{run}"));
        let mut struck: Vec<&str> = struck.split("; ").collect();
        struck.sort_unstable();
        assert_eq!(struck, ["kill p1-1", "pause p2-1"], "{line}\n{run}");
        // A member that dies while another one leads its roles leaves no gap.
        let costs = cost.starts_with("no gap") || cost.starts_with("gap ");
        assert!(costs, "{line}\n{run}");
    }
}
