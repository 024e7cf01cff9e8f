//! Fences of a group that is kept up always rise: over deaths and pauses of its leaders, over a
//! restart of its embedded broker, and over `down` and `up` on a host whose clock is set back
//! meanwhile. So do those of two hosts that lead in turn, whose clocks are hours apart; a longer
//! story of these is in `tests/measured/fences.rs`.

use support::fences::{Blow, Forgetful};
use support::fences_apart::Apart;
use tandem::neli::membership::epoch;

#[test]
fn fences_rise_over_a_lost_broker_and_over_down_and_up() {
    let mut all = Forgetful::start(4);
    for blow in Blow::ALL {
        all.strike(blow);
    }
    let risen = all.end();
    assert_eq!(risen, Ok(()));
    // All four partitions, at least each time that the group began or lost its broker.
    assert!(all.past.len() == 2 && all.acquired() >= 4 * 3, "{}", all.acquired());
}

/// The broker keeps them in a file, and is killed: a new host has nothing else to go by.
#[test]
fn fences_of_a_broker_that_keeps_them_go_on_after_its_death() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("fences").display().to_string();
    let mut all = Apart::start();
    all.another_broker(&["--fences", &file]);
    all.was_ahead(0, 3);
    all.lead_on(0);
    all.another_broker(&["--fences", &file]);
    all.lead_on(1);
    let risen = all.risen().unwrap_or_else(|what| panic!("{what}"));
    assert!(epoch(risen[1].1) <= epoch(risen[0].1), "{risen:?}");
}

/// The members notice that the offsets begin again: their claims end, and the next ones have higher
/// fences.
#[test]
fn claims_end_when_the_topic_is_replaced_under_its_members() {
    let mut all = Apart::start();
    all.replace_the_topic_under_members_of(0);
    let risen = all.risen().unwrap_or_else(|what| panic!("{what}"));
    assert_eq!(risen.len(), 1);
}
