//! The scheduler as a duty, fenced in a real PostgreSQL: no job runs twice, and none is lost, while
//! its members are killed, paused and cut off.

use std::collections::BTreeSet;

use support::experiment::Experiment;
use support::measured::shared_turn;
use support::postgres::Postgres;

/// Each hits the member that leads.
const METHOD: &str = "\
version: 1
name: schedules
trials: 2
steady_state: {settled: 500ms}
method:
  - {id: k, at: 500ms, fault: kill, target: {leader_of: r, group: p1}}
  - {id: p, after: k, delay: 5s, fault: pause, for: 4s, target: {leader_of: r, group: p1}}
  - {id: c, after: p, delay: 9s, fault: partition, for: 4s, target: {leader_of: r, group: p1}}
objective: {leaders_per_group: 0}
";

#[test]
fn no_job_runs_twice_and_none_is_lost_while_members_are_killed_paused_and_cut_off() {
    let _turn = shared_turn();
    let store = Postgres::with("examples/scheduler.sql");
    let order = Experiment::of("schedules.yaml", METHOD);
    let topology = format!(
        "version: 1\nname: scheduler\nroles: [r]\nclusters: {{a: embedded}}\n\
         defaults: {{mode: exclusive, session: 2s, hold: 1s}}\ngroups:\n  p1:\n    cluster: a\n    \
         duty:\n      ticks: true\n      \
         command: [python3, examples/scheduler_postgres.py, \"{}\"]\n",
        store.connection()
    );
    let file = order.write("scheduler.yaml", &topology);
    let run = order.with(&format!("-f {}", file.display())).finish();
    // How long that takes on this host is of no interest here.
    run.sound();
    let rows = store.ask("SELECT job, fence FROM runs ORDER BY place");
    let rows = rows.iter().map(|row| row.split_once('|').unwrap());
    let rows = rows.map(|(job, fence)| (job.parse().unwrap(), fence.parse().unwrap()));
    let rows: Vec<(usize, u64)> = rows.collect();
    let jobs = rows.iter().map(|(job, _)| *job);
    assert!(jobs.eq(1..=rows.len()), "each job ran once: {rows:?}\n{run}");
    assert!(rows.is_sorted_by_key(|(_, fence)| fence), "{rows:?}\n{run}");
    // Others worked after the faults.
    let leaders: BTreeSet<u64> = rows.iter().map(|(_, fence)| *fence).collect();
    assert!(leaders.len() > 3, "{} leaders ran jobs\n{run}", leaders.len());
}
