//! Random requests to the coordinator, and its invariants: it answers every request in the end, a
//! share belongs to one member of a generation, and no member is admitted beyond the bounds.
//! Proptest prints the shortest sequence that breaks one of these.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on must fail")]

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use bytes::Bytes;
use proptest::prelude::*;
use support::cases::cases;
use tandem::groups::{
    Commit, Coordinator, CoordinatorSettings, Departure, Heartbeat, Join, Leave, Protocol,
    ReplyBody, Sync, Token,
};
use tandem::time::Mono;

const CLIENTS: usize = 5;
const MEMBERS_MAX: usize = 4;
/// Longer than any session, rebalance or first join: every waiting request is decided by then.
const LONG: Duration = Duration::from_secs(20);

/// What a client does next, with what it knows of itself.
#[derive(Debug, Clone)]
enum Step {
    Join { client: usize, fresh: bool, instance: bool, version: i16, change: bool },
    Sync { client: usize, stale: bool },
    Heartbeat { client: usize },
    Leave { client: usize, instance: bool },
    Commit { client: usize },
    Wait { ms: u64 },
}

fn step() -> impl Strategy<Value = Step> {
    let client = 0..CLIENTS;
    prop_oneof![
        4 => (client.clone(), any::<bool>(), any::<bool>(), 3_i16..10, any::<bool>()).prop_map(
            |(client, fresh, instance, version, change)| Step::Join {
                client, fresh, instance, version, change
            }
        ),
        4 => (client.clone(), prop::bool::weighted(0.1))
            .prop_map(|(client, stale)| Step::Sync { client, stale }),
        2 => client.clone().prop_map(|client| Step::Heartbeat { client }),
        1 => (client.clone(), any::<bool>())
            .prop_map(|(client, instance)| Step::Leave { client, instance }),
        1 => client.prop_map(|client| Step::Commit { client }),
        3 => (0_u64..1_500).prop_map(|ms| Step::Wait { ms }),
    ]
}

#[derive(Debug, Default, Clone)]
struct Client {
    member_id: String,
    generation: i32,
    /// The members that it must assign shares to, if it leads.
    roster: Vec<String>,
}

struct World {
    coordinator: Coordinator,
    clients: Vec<Client>,
    parked: BTreeMap<Token, usize>,
    now: Mono,
    tokens: u64,
    /// Generation and share, to who got it.
    shares: BTreeMap<(i32, Bytes), String>,
    generation: i32,
}

impl World {
    fn new(initial_delay: Duration) -> Self {
        let settings = CoordinatorSettings {
            members_max: MEMBERS_MAX,
            initial_delay,
            new_member_join: Duration::from_secs(5),
            ..CoordinatorSettings::default()
        };
        Self {
            coordinator: Coordinator::new(settings),
            clients: vec![Client::default(); CLIENTS],
            parked: BTreeMap::new(),
            now: Mono::ZERO,
            tokens: 0,
            shares: BTreeMap::new(),
            generation: 0,
        }
    }

    fn park(&mut self, client: usize) -> Token {
        self.tokens += 1;
        self.parked.insert(Token(self.tokens), client);
        Token(self.tokens)
    }

    fn play(&mut self, step: &Step) {
        match *step {
            Step::Join { client, fresh, instance, version, change } => {
                self.join(client, fresh, instance, version, change);
            }
            Step::Sync { client, stale } => self.sync(client, stale),
            Step::Heartbeat { client } => {
                let Client { member_id, generation, .. } = self.client(client);
                let beat =
                    Heartbeat { group: "g".to_owned(), member_id, instance_id: None, generation };
                let _answer = self.coordinator.handle_heartbeat(self.now, &beat);
            }
            Step::Leave { client, instance } => {
                let member_id = self.client(client).member_id;
                let instance_id = instance.then(|| format!("i{client}"));
                let members = vec![Departure { member_id, instance_id }];
                let leave = Leave { group: "g".to_owned(), members };
                drop(self.coordinator.handle_leave(self.now, &leave));
            }
            Step::Commit { client } => {
                let Client { member_id, generation, .. } = self.client(client);
                let commit = Commit {
                    group: "g".to_owned(),
                    member_id,
                    instance_id: None,
                    generation,
                    knows_group_id_not_found: true,
                    positions: Vec::new(),
                };
                drop(self.coordinator.handle_commit(self.now, &commit));
            }
            Step::Wait { ms } => {
                self.now = self.now + Duration::from_millis(ms);
                self.coordinator.handle_timeout(self.now);
            }
        }
        self.hear();
        self.check();
    }

    fn client(&self, client: usize) -> Client {
        self.clients.get(client).unwrap().clone()
    }

    fn join(&mut self, client: usize, fresh: bool, instance: bool, version: i16, change: bool) {
        let token = self.park(client);
        let member_id = if fresh { String::new() } else { self.client(client).member_id };
        let metadata = Bytes::from(if change { token.0.to_string() } else { "same".to_owned() });
        let join = Join {
            group: "g".to_owned(),
            member_id,
            instance_id: instance.then(|| format!("i{client}")),
            client_id: format!("c{client}"),
            client_host: String::new(),
            suffix: token.0.to_string(),
            session: Duration::from_millis(1_000),
            rebalance: Duration::from_millis(if client == 0 { 0 } else { 2_000 }),
            protocol_type: "consumer".to_owned(),
            protocols: vec![Protocol { name: "range".to_owned(), metadata }],
            needs_known_id: version >= 4,
            can_skip_assignment: version >= 9,
        };
        self.coordinator.handle_join(self.now, token, &join);
    }

    fn sync(&mut self, client: usize, stale: bool) {
        let token = self.park(client);
        let Client { member_id, generation, roster } = self.client(client);
        let share = |(at, id): (usize, String)| (id, Bytes::from(format!("share {at}")));
        let sync = Sync {
            group: "g".to_owned(),
            member_id,
            instance_id: None,
            generation: if stale { generation - 1 } else { generation },
            protocol_type: None,
            protocol: None,
            must_name_protocol: false,
            assignments: roster.into_iter().enumerate().map(share).collect(),
        };
        self.coordinator.handle_sync(self.now, token, &sync);
    }

    fn hear(&mut self) {
        while let Some(reply) = self.coordinator.poll_reply() {
            // Answered once, and only what was asked.
            let client = self.parked.remove(&reply.token).unwrap();
            let client = self.clients.get_mut(client).unwrap();
            match reply.body {
                ReplyBody::Join(reply) => {
                    client.member_id = reply.member_id;
                    if let Ok(joined) = reply.outcome {
                        assert!(joined.generation >= self.generation, "generations only grow");
                        self.generation = joined.generation;
                        client.generation = joined.generation;
                        let ids = joined.members.into_iter().map(|member| member.member_id);
                        client.roster = ids.collect();
                        let distinct: BTreeSet<_> = client.roster.iter().collect();
                        assert_eq!(distinct.len(), client.roster.len());
                    }
                }
                ReplyBody::Sync(Ok(synced)) if !synced.assignment.is_empty() => {
                    // A static member's successor inherits its share, so instances count.
                    let holder = client.member_id.split('-').next().unwrap().to_owned();
                    let key = (self.generation, synced.assignment);
                    let owner = self.shares.entry(key).or_insert_with(|| holder.clone());
                    let name = |id: &str| id.trim_start_matches(['i', 'c']).to_owned();
                    assert_eq!(name(owner), name(&holder), "a share has one owner");
                }
                ReplyBody::Sync(_) => {}
            }
        }
    }

    fn check(&mut self) {
        let description = self.coordinator.handle_describe(self.now, "g");
        let members = description.map_or(0, |description| description.members.len());
        // While members join again, newcomers may stand beside those who have not come back yet.
        assert!(members <= 2 * MEMBERS_MAX, "{members} members");
        if let Some(alarm) = self.coordinator.poll_timeout() {
            assert!(alarm > self.now, "what is due is done");
        }
    }
}

proptest! {
    #![proptest_config(cases(0x5EED_0005, 1_000))]

    #[test]
    fn no_request_is_lost_and_no_share_is_given_twice(
        steps in prop::collection::vec(step(), 1..80),
        delay in prop_oneof![Just(0_u64), Just(300)],
    ) {
        let mut world = World::new(Duration::from_millis(delay));
        for step in &steps {
            world.play(step);
        }
        for _ in 0..3 {
            world.play(&Step::Wait { ms: u64::try_from(LONG.as_millis()).unwrap() });
        }
        assert!(world.parked.is_empty(), "never answered: {:?}", world.parked);
        let left = world.coordinator.handle_describe(world.now, "g");
        assert!(left.is_none_or(|group| group.members.is_empty()), "no member lives for ever");
    }
}
