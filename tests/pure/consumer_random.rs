//! Random worlds of consumer groups of the newer protocol (KIP-848), with members that obey late,
//! lose answers, are silent, leave, come back and change their minds, and topics that come, widen
//! and go. Two things always hold, from the view of the members themselves: no partition
//! has two owners, and once the world is quiet every partition of a subscribed topic has one, and
//! under `uniform` with equal subscriptions no member has two more than another.
//!
//! Proptest prints the shortest sequence that breaks one of these.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on must fail")]

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use proptest::prelude::*;
use support::cases::cases;
use tandem::groups::consumer::{ConsumerHeartbeat, ConsumerSettings, Partition, TopicId};
use tandem::groups::{Coordinator, CoordinatorSettings, Fault};
use tandem::time::Mono;

const CLIENTS: usize = 5;
const SESSION: Duration = Duration::from_millis(1_000);
const REBALANCE: Duration = Duration::from_millis(400);
const TOPICS: [&str; 3] = ["books", "ledger", "pages"];

/// What happens next.
#[derive(Debug, Clone)]
enum Step {
    /// A client sends a heartbeat, or joins. It may lose the answer.
    Beat {
        client: usize,
        lost: bool,
        whole: bool,
    },
    /// A client gives up what it must, which it says with its next heartbeat.
    Obey {
        client: usize,
    },
    /// It leaves, a static one perhaps for a while.
    Leave {
        client: usize,
        back: bool,
    },
    /// It dies, and its next life has another member id.
    Die {
        client: usize,
    },
    Subscribe {
        client: usize,
        topics: usize,
    },
    Topic {
        topic: usize,
        width: i32,
    },
    Drop {
        topic: usize,
    },
    Wait {
        ms: u64,
    },
}

fn step() -> impl Strategy<Value = Step> {
    let client = 0..CLIENTS;
    prop_oneof![
        8 => (client.clone(), prop::bool::weighted(0.1), any::<bool>())
            .prop_map(|(client, lost, whole)| Step::Beat { client, lost, whole }),
        4 => client.clone().prop_map(|client| Step::Obey { client }),
        1 => (client.clone(), any::<bool>())
            .prop_map(|(client, back)| Step::Leave { client, back }),
        1 => client.clone().prop_map(|client| Step::Die { client }),
        1 => (client, 1_usize..8).prop_map(|(client, topics)| Step::Subscribe { client, topics }),
        1 => (0..TOPICS.len(), 1_i32..7).prop_map(|(topic, width)| Step::Topic { topic, width }),
        1 => (0..TOPICS.len()).prop_map(|topic| Step::Drop { topic }),
        4 => (0_u64..500).prop_map(|ms| Step::Wait { ms }),
    ]
}

/// A client with the view that it has itself.
#[derive(Debug, Clone)]
struct Client {
    life: u32,
    epoch: i32,
    topics: usize,
    /// What it works on. It ends by itself when the client has been silent for a session.
    owns: BTreeSet<Partition>,
    /// What it was last given, and obeys with the next step of that kind.
    given: BTreeSet<Partition>,
    heard: Mono,
    /// Whether it lost an answer, after which a client sends all its fields again.
    missed: bool,
    /// Since when it has had to give up something, and has not heard that this was noted.
    revoking: Option<Mono>,
}

struct World {
    coordinator: Coordinator,
    clients: Vec<Client>,
    assignor: &'static str,
    widths: BTreeMap<&'static str, (TopicId, i32)>,
    now: Mono,
    ids: u128,
}

impl World {
    fn new(assignor: &'static str) -> Self {
        let consumer = ConsumerSettings { session: SESSION, ..ConsumerSettings::default() };
        let settings = CoordinatorSettings { consumer, ..CoordinatorSettings::default() };
        let client = Client {
            life: 0,
            epoch: 0,
            topics: 1,
            owns: BTreeSet::new(),
            given: BTreeSet::new(),
            heard: Mono::ZERO,
            missed: false,
            revoking: None,
        };
        let mut world = Self {
            coordinator: Coordinator::new(settings),
            clients: vec![client; CLIENTS],
            assignor,
            widths: BTreeMap::new(),
            now: Mono::ZERO,
            ids: 0,
        };
        world.topic(0, 4);
        world
    }

    /// The topic exists, and is as wide as this at least.
    fn topic(&mut self, topic: usize, width: i32) {
        let name = TOPICS[topic];
        let (id, old) = self.widths.get(name).copied().unwrap_or_else(|| {
            self.ids += 1;
            (TopicId(self.ids), 0)
        });
        let width = width.max(old);
        self.widths.insert(name, (id, width));
        self.coordinator.handle_topic(self.now, name, id, width);
    }

    fn id(&self, client: usize) -> String {
        format!("m{client}-{}", self.clients[client].life)
    }

    /// Two clients are static.
    fn instance(client: usize) -> Option<String> {
        (client < 2).then(|| format!("i{client}"))
    }

    fn topics(mask: usize) -> Vec<String> {
        let chosen = (0..TOPICS.len()).filter(|at| mask & (1 << at) != 0);
        chosen.map(|at| TOPICS[at].to_owned()).collect()
    }

    fn heartbeat(&self, client: usize, epoch: i32) -> ConsumerHeartbeat {
        ConsumerHeartbeat {
            group: "g".to_owned(),
            member_id: self.id(client),
            instance_id: Self::instance(client),
            client_id: format!("c{client}"),
            epoch,
            ..ConsumerHeartbeat::default()
        }
    }

    fn beat(&mut self, client: usize, lost: bool, whole: bool) {
        let own = self.clients[client].clone();
        let whole = whole || own.epoch == 0 || own.missed;
        let beat = ConsumerHeartbeat {
            rebalance: whole.then_some(REBALANCE),
            topics: whole.then(|| Self::topics(own.topics)),
            assignor: whole.then(|| self.assignor.to_owned()),
            owned: Some(own.owns.iter().copied().collect()),
            ..self.heartbeat(client, own.epoch)
        };
        let reply = self.coordinator.handle_consumer_heartbeat(self.now, &beat);
        let own = &mut self.clients[client];
        let takes_away = |given: &BTreeSet<Partition>| !own.owns.is_subset(given);
        let shrinks = reply.as_ref().is_ok_and(|r| r.assignment.as_ref().is_some_and(takes_away));
        // A member that does not hear that it must give something up is fenced before it knows:
        // here as on Kafka, where its own limit on the time between polls is to be shorter.
        own.missed = lost && !shrinks;
        if own.missed {
            return;
        }
        match reply {
            Ok(reply) => {
                own.epoch = reply.epoch;
                own.heard = self.now;
                if let Some(given) = reply.assignment {
                    own.given = given;
                }
                if own.owns.is_subset(&own.given) {
                    own.revoking = None;
                } else {
                    own.revoking.get_or_insert(self.now);
                }
                // New partitions are taken at once, old ones are given up later.
                own.owns.extend(own.given.iter().copied());
            }
            Err(Fault::UnreleasedInstanceId) => {}
            Err(Fault::FencedMemberEpoch | Fault::UnknownMemberId | Fault::GroupIdNotFound) => {
                own.forget();
            }
            Err(Fault::FencedInstanceId) => own.die(),
            Err(other) => panic!("{other:?}"),
        }
    }

    fn play(&mut self, step: &Step) {
        match *step {
            Step::Beat { client, lost, whole } => self.beat(client, lost, whole),
            Step::Obey { client } => self.clients[client].obey(),
            Step::Leave { client, back } => {
                let back = back && Self::instance(client).is_some();
                self.clients[client].owns.clear();
                let beat = self.heartbeat(client, if back { -2 } else { -1 });
                drop(self.coordinator.handle_consumer_heartbeat(self.now, &beat));
                self.clients[client].die();
            }
            Step::Die { client } => self.clients[client].die(),
            Step::Subscribe { client, topics } => {
                self.clients[client].topics = topics;
                self.beat(client, false, true);
            }
            Step::Topic { topic, width } => self.topic(topic, width),
            Step::Drop { topic } => {
                self.widths.remove(TOPICS[topic]);
                self.coordinator.handle_topic_deleted(self.now, TOPICS[topic]);
            }
            Step::Wait { ms } => {
                self.now = self.now + Duration::from_millis(ms);
                self.coordinator.handle_timeout(self.now);
            }
        }
        self.fence();
        self.check();
    }

    /// Clients keep time as well: one that is silent for a session, or takes too long to give
    /// something up, stops to work and joins again.
    fn fence(&mut self) {
        for own in &mut self.clients {
            let late = own.revoking.is_some_and(|since| self.now.since(since) >= REBALANCE);
            if self.now.since(own.heard) >= SESSION || late {
                own.forget();
            }
        }
    }

    fn check(&mut self) {
        let mut owners: BTreeMap<Partition, usize> = BTreeMap::new();
        for (client, own) in self.clients.iter().enumerate() {
            for at in &own.owns {
                let other = owners.insert(*at, client);
                assert_eq!(other, None, "{at:?} has two owners, {client} is one");
            }
        }
        if let Some(alarm) = self.coordinator.poll_timeout() {
            assert!(alarm > self.now, "what is due is done");
        }
    }

    /// All send heartbeats and obey, until nothing changes any more.
    fn settle(&mut self) {
        for _ in 0..40 {
            for client in 0..CLIENTS {
                self.play(&Step::Beat { client, lost: false, whole: false });
                self.play(&Step::Obey { client });
            }
            self.play(&Step::Wait { ms: 100 });
        }
    }

    fn expect_balance(&mut self) {
        let mut owned: BTreeSet<Partition> = BTreeSet::new();
        owned.extend(self.clients.iter().flat_map(|own| &own.owns));
        let mut wanted: BTreeSet<Partition> = BTreeSet::new();
        for name in self.clients.iter().flat_map(|own| Self::topics(own.topics)) {
            if let Some((topic, width)) = self.widths.get(name.as_str()).copied() {
                wanted.extend((0..width).map(|index| Partition { topic, index }));
            }
        }
        assert_eq!(owned, wanted, "every partition has an owner");
        let group = self.coordinator.handle_describe_consumer(self.now, "g").unwrap();
        assert_eq!(group.state.to_string(), "Stable");
        assert_eq!(group.members.len(), CLIENTS);
        let equal = self.clients.iter().all(|own| own.topics == self.clients[0].topics);
        if equal && self.assignor == "uniform" {
            let sizes = || self.clients.iter().map(|own| own.owns.len());
            assert!(sizes().max().unwrap() <= sizes().min().unwrap() + 1, "{:?}", self.clients);
        }
    }
}

impl Client {
    fn obey(&mut self) {
        let given = &self.given;
        self.owns.retain(|at| given.contains(at));
    }

    /// It was fenced, and joins again without partitions.
    fn forget(&mut self) {
        self.owns.clear();
        self.given.clear();
        self.revoking = None;
        self.epoch = 0;
    }

    fn die(&mut self) {
        self.forget();
        self.life += 1;
    }
}

proptest! {
    #![proptest_config(cases(0x5EED_0004, 1_000))]

    #[test]
    fn no_partition_has_two_owners_and_in_the_end_each_has_one(
        steps in prop::collection::vec(step(), 1..120),
        assignor in prop_oneof![Just("uniform"), Just("range")],
        alike in any::<bool>(),
    ) {
        let mut world = World::new(assignor);
        for step in &steps {
            world.play(step);
        }
        if alike {
            for client in 0..CLIENTS {
                world.play(&Step::Subscribe { client, topics: 7 });
            }
        }
        world.settle();
        world.expect_balance();
    }
}
