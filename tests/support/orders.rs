//! Orders that must not count, and their refusals.

use std::time::Duration;

use tandem::external::{Nonce, Order, OrderKey};
use tandem::ids::TopicName;
use tandem::kafka::{Cluster, Publisher, Tail, TailFrom, Tailed};
use tandem::observation::RefusedOrders;
use tandem::time::Wall;

use super::experiment::eventually;
use super::held::SOON;
use super::up::Up;

/// Waits for the first order on this topic, and sends it again; then one that is sealed with
/// another key; and then one that is sealed with this key and was over long ago.
pub fn send_what_must_not_count(cluster: &Cluster, topic: &str, key: &str) {
    let topic: TopicName = topic.parse().unwrap();
    let mut tail = Tail::open(cluster, &topic, TailFrom::Beginning).unwrap().unwrap();
    let first = eventually("the first order", SOON, || match tail.next(Duration::ZERO) {
        Ok(Tailed::Record(record)) => Some(record),
        Ok(Tailed::Caught | Tailed::Nothing) | Err(_) => None,
    });
    let order = Order::read(&first).unwrap();
    let publisher = Publisher::new(cluster, "replay", &topic).unwrap();
    let send = |record: &[u8]| publisher.publish(&order.key(), record).unwrap();
    send(&first);
    let expires = Wall(Wall::now().0 + 5_000);
    send(&OrderKey::new("guessed").seal(&Order { expires, ..order.clone() }));
    let old = Order { expires: Wall(1), nonce: Nonce("old".to_owned()), ..order.clone() };
    send(&OrderKey::new(key.trim_end()).seal(&old));
}

/// Waits until this member has refused one of each.
pub fn await_refusals(up: &Up, member: &str) {
    let wanted = RefusedOrders { replayed: 1, forged: 1, expired: 1, ..RefusedOrders::default() };
    eventually("the refusals", SOON, || {
        let picture = up.status().1?;
        let members = picture.groups.values().flat_map(|group| &group.members);
        let mut of = members.filter(|(name, _)| name.as_str() == member);
        (of.next()?.1.refused_orders == wanted).then_some(())
    });
}
