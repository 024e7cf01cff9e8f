//! Fences of a group that is kept up always rise: over deaths and pauses of its leaders, over a
//! restart of its embedded broker, and over `down` and `up` on a host whose clock is set back
//! meanwhile. So do those of two hosts that lead in turn, whose clocks are hours apart.

use support::fences::{Blow, Forgetful};
use support::fences_apart::Apart;
use support::measured::shared_turn;
use tandem::neli::membership::epoch;

#[test]
fn fences_rise_over_a_lost_broker_and_over_down_and_up() {
    let _turn = shared_turn();
    let mut all = Forgetful::start(4);
    for blow in Blow::ALL {
        all.strike(blow);
    }
    all.strike(Blow::Kill);
    let risen = all.end();
    assert_eq!(risen, Ok(()));
    // All four partitions, each time that the group began, lost its leader or its broker.
    assert!(all.past.len() == 2 && all.acquired() >= 4 * 6, "{}", all.acquired());
}

/// The clock of the first host is three hours ahead. The topic is deleted and created again with
/// each change of hosts, the second one is replaced by a new one, and at last brokers lose all.
#[test]
fn fences_of_two_hosts_rise_over_deleted_topics_and_lost_brokers() {
    let _turn = shared_turn();
    let mut all = Apart::start();
    all.was_ahead(0, 3);
    all.lead_on(0);
    all.lead_on(1);
    all.lead_on(0);
    all.is_new(1);
    all.lead_by(1, "consumer");
    all.lose_all();
    all.lead_on(1);
    let risen = all.risen().unwrap_or_else(|what| panic!("{what}"));
    // Only what brokers lose begins an epoch: a deleted topic does not.
    let epochs: Vec<_> = risen.iter().map(|(least, most)| (epoch(*least), epoch(*most))).collect();
    let (first, last) = epochs[0];
    assert!(epochs[1..4].iter().all(|it| first <= it.0 && it.1 <= last), "{epochs:?}");
    assert!(last < epochs[4].0, "{epochs:?}");
}

/// The broker keeps them in a file, and is killed: a new host has nothing else to go by.
#[test]
fn fences_of_a_broker_that_keeps_them_go_on_after_its_death() {
    let _turn = shared_turn();
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
    let _turn = shared_turn();
    let mut all = Apart::start();
    all.replace_the_topic_under_members_of(0);
    let risen = all.risen().unwrap_or_else(|what| panic!("{what}"));
    assert_eq!(risen.len(), 1);
}
