//! The scheduler as a duty, fenced in a real PostgreSQL: no job runs twice, and none is lost, while
//! its members are killed and stopped. In an experiment that cuts them off as well:
//! `tests/measured/scheduler_postgres.rs`.

use std::collections::BTreeSet;
use std::time::Duration;

use rustix::process::Signal;
use support::applied::written;
use support::experiment::{eventually, signal_pid};
use support::outside::lone_leader;
use support::postgres::Postgres;
use support::up::{Up, nothing_is_left};

const SOON: Duration = Duration::from_secs(60);

/// The jobs that were run, in that order, each with the fence of its leader.
fn jobs(store: &Postgres) -> Vec<(usize, u64)> {
    let rows = store.ask("SELECT job, fence FROM runs ORDER BY place");
    let rows = rows.iter().map(|row| row.split_once('|').unwrap());
    rows.map(|(job, fence)| (job.parse().unwrap(), fence.parse().unwrap())).collect()
}

/// Waits for a job that a later leader has run. Returns its fence.
fn works_after(store: &Postgres, before: u64) -> u64 {
    eventually("a job of a later leader", SOON, || {
        let last = jobs(store).last().map(|(_, fence)| *fence);
        last.filter(|fence| *fence > before)
    })
}

#[test]
fn no_job_runs_twice_and_none_is_lost_while_members_are_killed_and_stopped() {
    let store = Postgres::with("examples/scheduler.sql");
    let (_folder, file) = written(&format!(
        "version: 1\nname: scheduler\nroles: [r]\nclusters: {{a: embedded}}\n\
         defaults: {{mode: exclusive, session: 2s, hold: 1s}}\ngroups:\n  p1:\n    cluster: a\n    \
         duty:\n      ticks: true\n      \
         command: [python3, examples/scheduler_postgres.py, \"{}\"]\n",
        store.connection()
    ));
    let mut up = Up::start(&format!("-f {}", file.display()));
    let group = "p1".parse().unwrap();
    let first = works_after(&store, 0);
    signal_pid(lone_leader(&up, &group).1, Signal::KILL);
    let second = works_after(&store, first);
    let (_, stopped) = lone_leader(&up, &group);
    signal_pid(stopped, Signal::STOP);
    works_after(&store, second);
    // It wakes while another leads. Its jobs would be among those to come.
    signal_pid(stopped, Signal::CONT);
    lone_leader(&up, &group);
    let count = jobs(&store).len();
    eventually("more jobs", SOON, || (jobs(&store).len() > count).then_some(()));
    up.signal(Signal::INT);
    assert_eq!(up.ends().code(), Some(0), "{}", up.said());
    nothing_is_left(up.state());
    let rows = jobs(&store);
    let said = up.said();
    assert!(rows.iter().map(|(job, _)| *job).eq(1..=rows.len()), "each ran once: {rows:?}\n{said}");
    assert!(rows.is_sorted_by_key(|(_, fence)| fence), "{rows:?}\n{said}");
    let leaders: BTreeSet<u64> = rows.iter().map(|(_, fence)| *fence).collect();
    assert!(leaders.len() >= 3, "{leaders:?}: {rows:?}\n{said}");
}
