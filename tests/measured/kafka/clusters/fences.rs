//! Fences on Apache Kafka: they go on where they were when the topic is deleted and created again,
//! though another host leads, whose clock is hours behind.

use support::fences_apart::Apart;
use support::kafka::Kafka;
use tandem::neli::membership::epoch;

#[test]
fn another_host_goes_on_with_the_fences_of_a_deleted_topic() {
    let kafka = Kafka::one_of_the_pair();
    let mut all = Apart::on(&kafka.bootstraps[0]);
    all.was_ahead(0, 3);
    all.lead_on(0);
    all.lead_on(1);
    all.is_new(1);
    all.lead_by(1, "consumer");
    let risen = all.risen().unwrap_or_else(|what| panic!("{what}"));
    let (first, last) = (epoch(risen[0].0), epoch(risen[0].1));
    for (least, most) in &risen[1..] {
        assert!(first <= epoch(*least) && epoch(*most) <= last, "{risen:?}");
    }
}
