//! Fences of two hosts that lead in turn, whose clocks are hours apart, always rise: a story of a
//! minute.

use support::fences_apart::Apart;
use support::measured::shared_turn;
use tandem::neli::membership::epoch;

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
