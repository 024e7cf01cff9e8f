//! Members that take orders, orders that no experiment gives, and orders that must not count.

use std::collections::BTreeMap;
use std::fs;
use std::time::Duration;

use tandem::external::{Deed, Nonce, Order, OrderKey};
use tandem::ids::{TopicName, TopologyName};
use tandem::journal::read_parts;
use tandem::kafka::{Access, Cluster, Publisher, Tail, TailFrom, Tailed};
use tandem::live_view::Level;
use tandem::observation::{RefusedOrders, RunEvent, What};
use tandem::time::{Mono, Wall};

use super::experiment::{Experiment, eventually};
use super::held::SOON;
use super::observed::{Hold, Stage, leader};
use super::up::Up;

/// One order in so many looks.
const LOOKS_EACH: u64 = 10;
/// How long an order is valid, in milliseconds: however late a host delivers it, and less than what
/// witnesses refuse.
const VALID_MS: i64 = 20_000;

/// Two groups whose members allow experiments, and what observes them.
pub struct Seen {
    // Dropped first, as its state is in the folder of the stage.
    pub up: Up,
    pub holds: Vec<(String, Hold)>,
    /// The ports of their sidecars.
    pub ports: BTreeMap<String, u16>,
    pub stage: Stage,
}

impl Seen {
    pub fn new() -> Self {
        let stage = Stage::that_allows_chaos();
        let up = up_on(&stage);
        let all = [("p1", "a"), ("p1", "b"), ("p2", "c"), ("p2", "d")];
        let (mut holds, mut ports) = (Vec::new(), BTreeMap::new());
        for (group, name) in all {
            let (hold, port) = stage.serve(group, name);
            holds.push((format!("{group}-{name}"), hold));
            ports.insert(format!("{group}-{name}"), port);
        }
        let seen = Self { up, holds, ports, stage };
        eventually("all members", SOON, || {
            let picture = seen.up.status().1?;
            let members = picture.groups.values().flat_map(|group| group.members.values());
            let living = members.filter(|member| member.pid.is_some()).count();
            (living == all.len() && picture.health == Level::Led).then_some(())
        });
        seen.settles();
        seen
    }

    /// Waits until the leaders stay for two seconds: members that run may still have to join, and
    /// then take a role from its leader.
    pub fn settles(&self) {
        let (mut before, mut since) = ([None, None], Mono::now());
        eventually("leaders that stay", SOON, || {
            let picture = self.up.status().1?;
            let now = ["p1", "p2"].map(|group| leader(&picture, group));
            if now != before {
                (before, since) = (now, Mono::now());
            }
            let stay = before.iter().all(Option::is_some);
            (stay && Mono::now().since(since).as_secs() >= 2).then_some(())
        });
    }

    pub fn leader(&self) -> String {
        eventually("a leader", SOON, || leader(&self.up.status().1?, "p1"))
    }

    pub fn pid(&self, member: &str) -> u32 {
        self.holds.iter().find(|(name, _)| name == member).unwrap().1.0.id()
    }

    /// An experiment with this step.
    pub fn disturb(&self, name: &str, step: &str) -> Experiment {
        let text = format!(
            "version: 1\nname: {name}\ntrials: 1\nsteady_state: {{settled: 1s}}\n\
             objective: {{leaders_per_group: 0}}\nmethod: [{{id: k, at: 0s, {step}}}]\n"
        );
        let experiment = Experiment::of(&format!("{name}.yaml"), &text);
        experiment.with("--on seen").in_state(&self.stage.state())
    }
}

/// `tandem up` for this stage: experiments on its members are ordered there.
pub fn up_on(stage: &Stage) -> Up {
    Up::start_in(&format!("-f {}", stage.file().display()), &stage.state())
}

/// The first cluster of a stage.
pub fn cluster(stage: &Stage) -> Cluster {
    Cluster { bootstrap: stage.brokers[0].address.clone(), access: Access::default() }
}

/// The key that seals the orders of a stage, once a process has made it.
pub fn key(stage: &Stage) -> String {
    let path = stage.state().join("tandem/order-keys/seen");
    eventually("the key of orders", SOON, || fs::read_to_string(&path).ok())
}

/// Orders to one life, of which no controller knows.
pub struct Orders {
    publisher: Publisher,
    key: String,
    order: Order,
    /// The last one.
    record: Vec<u8>,
    given: u64,
}

impl Orders {
    /// To the first life of this member, once what is up knows it.
    pub fn to(stage: &Stage, up: &Up, member: &str) -> Self {
        let (life, began) = eventually(&format!("the start of {member}"), SOON, || {
            read_parts(&up.out).ok()?.facts.into_iter().find_map(|fact| {
                let started = matches!(fact.what, What::Run(RunEvent::Started { .. }));
                let life = fact.life.filter(|life| started && life.member.as_str() == member)?;
                Some((life, fact.t))
            })
        });
        let (topology, topic): (TopologyName, TopicName) =
            ("seen".parse().unwrap(), "seen-orders".parse().unwrap());
        let (nonce, expires, deed) = (Nonce(String::new()), Wall(0), Deed::Continue);
        Self {
            publisher: Publisher::new(&cluster(stage), "given", &topic).unwrap(),
            key: key(stage),
            order: Order { topology, life, began, nonce, expires, deed },
            record: Vec::new(),
            given: 0,
        }
    }

    /// Gives one.
    pub fn give(&mut self, deed: Deed) {
        self.given += 1;
        let expires = Wall(Wall::now().0 + VALID_MS);
        let nonce = Nonce(format!("given-{}", self.given));
        self.order = Order { deed, expires, nonce, ..self.order.clone() };
        self.record = OrderKey::new(self.key.trim_end()).seal(&self.order);
        // One that a cluster does not take in time is followed by others.
        self.publisher.publish(&self.order.key(), &self.record).ok();
    }

    /// Gives what must not count after the last one.
    pub fn give_what_must_not_count(&self) {
        spoil(&self.publisher, &self.record, &self.key);
    }

    /// Gives this order again and again, until something has come of it: a witness may not listen
    /// yet, and what is not renewed ends.
    pub fn until(&mut self, what: &str, deed: Deed, mut done: impl FnMut() -> bool) {
        let mut looks = 0_u64;
        eventually(what, SOON, || {
            if done() {
                return Some(());
            }
            if looks.is_multiple_of(LOOKS_EACH) {
                self.give(deed);
            }
            looks += 1;
            None
        });
    }
}

/// Waits for the first order on this topic, and sends what must not count after it.
pub fn send_what_must_not_count(cluster: &Cluster, topic: &str, key: &str) {
    let topic: TopicName = topic.parse().unwrap();
    let mut tail = Tail::open(cluster, &topic, TailFrom::Beginning).unwrap().unwrap();
    let first = eventually("the first order", SOON, || match tail.next(Duration::ZERO) {
        Ok(Tailed::Record(record)) => Some(record),
        Ok(Tailed::Caught | Tailed::Nothing) | Err(_) => None,
    });
    spoil(&Publisher::new(cluster, "replay", &topic).unwrap(), &first, key);
}

/// Sends this order again; then a pause that is sealed with another key; and then one that is
/// sealed with this key and was over long ago.
fn spoil(publisher: &Publisher, record: &[u8], key: &str) {
    let order = Order { deed: Deed::Pause, ..Order::read(record).unwrap() };
    let send = |record: &[u8]| publisher.publish(&order.key(), record).unwrap();
    send(record);
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
