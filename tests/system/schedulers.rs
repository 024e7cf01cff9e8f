//! The scheduler of `examples/` that is a member itself, with PostgreSQL and with SQLite: no job
//! runs twice and none is lost while members are killed, paused and cut off, while others join and
//! leave; without its fence one runs twice, and the test finds that.

use support::schedulers::{GATED, Kept, Run, Schedulers, Tally};

/// One fault of each kind; with each one joins, and one leaves.
const ROUNDS: usize = 3;
/// Half of the time some job is at work.
const WORK: &str = "sleep 0.05";

fn no_job_twice(kept: Kept) {
    let mut all = Schedulers::start(kept, true, WORK, 3);
    (0..ROUNDS).for_each(|number| all.round(number));
    let tally = all.tally();
    assert!(tally.is_right(), "{tally}: {tally:?}");
    // Each fault, each join and each leave brought another leader, or another claim; one that waits
    // for a lock may have written nothing.
    assert!(tally.leaders + all.locked > 3 * ROUNDS, "{tally}");
}

#[test]
fn in_postgresql_no_job_runs_twice_and_none_is_lost() {
    no_job_twice(Kept::Postgres);
}

#[test]
fn in_sqlite_no_job_runs_twice_and_none_is_lost() {
    no_job_twice(Kept::Sqlite);
}

/// How often the job of a leader that was stopped in the middle of it is in the store, and what the
/// store says in all.
fn stopped_in_the_middle(kept: Kept, is_fenced: bool) -> (usize, Tally) {
    let mut all = Schedulers::start(kept, is_fenced, GATED, 1);
    (all.stop_in_the_middle(), all.tally())
}

#[test]
fn a_leader_that_wakes_in_the_middle_of_a_job_writes_nothing() {
    for kept in [Kept::Postgres, Kept::Sqlite] {
        let (count, tally) = stopped_in_the_middle(kept, true);
        assert!(count == 1 && tally.is_right(), "{kept:?}: {count} times, {tally:?}");
    }
}

#[test]
fn without_the_fence_that_job_runs_twice_and_the_test_finds_it() {
    for kept in [Kept::Postgres, Kept::Sqlite] {
        let (count, tally) = stopped_in_the_middle(kept, false);
        assert_eq!(count, 2, "{kept:?}: {tally:?}");
        assert!(!tally.twice.is_empty() && !tally.late.is_empty(), "{kept:?}: {tally:?}");
        assert!(!tally.is_right());
    }
}

#[test]
fn what_is_lost_or_late_is_found_among_runs() {
    let run = |job, fence| Run { job, fence, name: "s1".to_owned() };
    assert!(Tally::of(&[run(7, 1), run(8, 1), run(9, 2)]).is_right());
    let tally = Tally::of(&[run(7, 1), run(8, 2), run(8, 1), run(11, 2)]);
    assert_eq!((tally.twice, tally.lost), (vec![8], vec![9, 10]));
    assert_eq!(tally.late, [run(8, 1)]);
}
