//! Bytes as a sequence of requests to the coordinator: every request gets exactly one answer in the
//! end, and once all clients are silent no member is left.

use std::collections::BTreeMap;
use std::time::Duration;

use bytes::Bytes;
use tandem::groups::{
    Commit, CommittedOffset, Coordinator, CoordinatorSettings, Departure, Heartbeat, Join, Leave,
    Protocol, ReplyBody, Sync, Token, TopicPartition,
};
use tandem::time::Mono;

/// Groups, clients, instances: few enough to meet.
const FEW: u8 = 4;
const MEMBERS_MAX: usize = 3;
/// More timers than any input can leave behind.
const ALARMS_MAX: usize = 10_000;

struct World<'a> {
    bytes: std::slice::Iter<'a, u8>,
    coordinator: Coordinator,
    /// By client: the last id it was given, and its generation.
    known: BTreeMap<u8, (String, i32)>,
    open: BTreeMap<Token, u8>,
    tokens: u64,
    now: Mono,
}

/// Plays the requests that the bytes spell.
pub fn coordinator(bytes: &[u8]) {
    let settings = CoordinatorSettings {
        members_max: MEMBERS_MAX,
        // A static member that does not come is waited for as often as its rebalance timeout
        // fits into its session.
        session_max: Duration::from_secs(2),
        groups_max: 3,
        offsets_max: 4,
        metadata_bytes_max: 64,
        offset_metadata_bytes_max: 8,
        initial_delay: Duration::from_millis(u64::from(bytes.first().copied().unwrap_or(0))),
        ..CoordinatorSettings::default()
    };
    let mut world = World {
        bytes: bytes.iter(),
        coordinator: Coordinator::new(settings),
        known: BTreeMap::new(),
        open: BTreeMap::new(),
        tokens: 0,
        now: Mono::ZERO,
    };
    while let Some(kind) = world.bytes.next().copied() {
        world.request(kind);
        world.hear();
    }
    world.fall_silent();
}

impl World<'_> {
    /// The next byte; zero where there are no more.
    fn byte(&mut self) -> u8 {
        self.bytes.next().copied().unwrap_or(0)
    }

    /// Short times often, absurd ones now and then.
    fn span(&mut self) -> Duration {
        let (exponent, factor) = (self.byte() % 32, u64::from(self.byte()));
        Duration::from_millis(factor << (exponent / 2))
    }

    fn few(&mut self, prefix: &str) -> String {
        format!("{prefix}{}", self.byte() % FEW)
    }

    /// Who asks: the id and generation that the client knows, or something like them.
    fn who(&mut self, client: u8) -> (String, i32) {
        let known = self.known.get(&client).cloned().unwrap_or_default();
        match self.byte() % 8 {
            0 => (String::new(), -1),
            1 => (known.0, known.1.wrapping_sub(1)),
            2 => (self.few("c0-"), known.1),
            3 => (known.0, i32::MAX),
            _ => known,
        }
    }

    fn instance(&mut self) -> Option<String> {
        let byte = self.byte();
        byte.is_multiple_of(3).then(|| format!("i{}", byte % FEW))
    }

    fn park(&mut self, client: u8) -> Token {
        self.tokens += 1;
        self.open.insert(Token(self.tokens), client);
        Token(self.tokens)
    }

    fn request(&mut self, kind: u8) {
        let client = self.byte() % FEW;
        let group = self.few("g").replace("g3", "");
        let (member_id, generation) = self.who(client);
        let instance_id = self.instance();
        let now = self.now;
        match kind % 10 {
            0..=2 => self.join(client, group, member_id, instance_id),
            3 => {
                let share = Bytes::from(vec![client; usize::from(self.byte() % 80)]);
                let (other, _) = self.known.get(&(client ^ 1)).cloned().unwrap_or_default();
                let names = self.byte();
                let sync = Sync {
                    assignments: vec![(member_id.clone(), share.clone()), (other, share)],
                    protocol_type: names.is_multiple_of(2).then(|| "consumer".to_owned()),
                    protocol: names.is_multiple_of(3).then(|| "range".to_owned()),
                    must_name_protocol: names.is_multiple_of(5),
                    group,
                    member_id,
                    instance_id,
                    generation,
                };
                let token = self.park(client);
                self.coordinator.handle_sync(now, token, &sync);
            }
            4 => {
                let beat = Heartbeat { group, member_id, instance_id, generation };
                let _outcome = self.coordinator.handle_heartbeat(now, &beat);
            }
            5 => {
                let who = Departure { member_id, instance_id };
                let members = vec![who.clone(), who];
                let reply = self.coordinator.handle_leave(now, &Leave { group, members });
                assert!(reply.is_err() || reply.is_ok_and(|reply| reply.len() == 2));
            }
            6 => self.commit(group, member_id, instance_id, generation),
            7 => {
                let _outcome = self.coordinator.handle_delete(now, &group);
            }
            8 => {
                self.coordinator.handle_topic_deleted(now, "t");
                assert!(self.coordinator.handle_list(now).len() <= 3, "bounded");
                assert!(self.coordinator.handle_fetch_offsets(now, &group).len() <= 4, "bounded");
                let reply = self.coordinator.handle_describe(now, &group);
                // Those who join again may stand beside those who have not come back yet.
                assert!(reply.is_none_or(|group| group.members.len() <= 2 * MEMBERS_MAX));
            }
            _ => {
                self.now = self.now + self.span();
                self.coordinator.handle_timeout(self.now);
            }
        }
    }

    fn join(&mut self, client: u8, group: String, member_id: String, instance_id: Option<String>) {
        let (session, rebalance) = (self.span(), self.span());
        let version = self.byte() % 10;
        let names = ["range", "roundrobin", ""];
        let count = usize::from(self.byte() % 4);
        let protocol = |name: &&str| Protocol {
            name: (*name).to_owned(),
            metadata: Bytes::from(vec![version; count]),
        };
        let token = self.park(client);
        let join = Join {
            group,
            member_id,
            instance_id,
            client_id: format!("c{client}"),
            client_host: String::new(),
            suffix: token.0.to_string(),
            session,
            rebalance,
            protocol_type: if count == 3 { String::new() } else { "consumer".to_owned() },
            protocols: names.iter().cycle().skip(count).take(count).map(protocol).collect(),
            needs_known_id: version >= 4,
            can_skip_assignment: version >= 9,
        };
        self.coordinator.handle_join(self.now, token, &join);
    }

    fn commit(
        &mut self,
        group: String,
        member_id: String,
        instance_id: Option<String>,
        generation: i32,
    ) {
        let partition = i32::from(self.byte()) - 128;
        let metadata = "m".repeat(usize::from(self.byte() % 16));
        let at = TopicPartition { topic: "t".to_owned(), partition };
        let offset = CommittedOffset { offset: i64::MIN, leader_epoch: -1, metadata };
        let commit = Commit {
            group,
            member_id,
            instance_id,
            generation,
            knows_group_id_not_found: partition > 0,
            positions: vec![(at.clone(), offset.clone()), (at, offset)],
        };
        let reply = self.coordinator.handle_commit(self.now, &commit);
        assert!(reply.is_err() || reply.is_ok_and(|reply| reply.len() == 2));
    }

    fn hear(&mut self) {
        while let Some(reply) = self.coordinator.poll_reply() {
            let client = self.open.remove(&reply.token).expect("answered once, and only if asked");
            let ReplyBody::Join(reply) = reply.body else { continue };
            let known = self.known.entry(client).or_default();
            known.0 = reply.member_id;
            known.1 = reply.outcome.map_or(known.1, |joined| joined.generation);
        }
        let alarm = self.coordinator.poll_timeout();
        assert!(alarm.is_none_or(|alarm| alarm > self.now), "what is due is done");
    }

    /// One timer after the other, until there is none.
    fn fall_silent(&mut self) {
        for _ in 0..ALARMS_MAX {
            let Some(alarm) = self.coordinator.poll_timeout() else {
                assert!(self.open.is_empty(), "never answered: {:?}", self.open);
                for line in self.coordinator.handle_list(self.now) {
                    let group = self.coordinator.handle_describe(self.now, &line.group);
                    assert!(group.is_some_and(|group| group.members.is_empty()));
                }
                return;
            };
            self.now = alarm;
            self.coordinator.handle_timeout(alarm);
            self.hear();
        }
        panic!("timers without an end");
    }
}
