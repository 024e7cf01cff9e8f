//! One line of a transcript: a request, or the rules of the coordinator.

use std::collections::BTreeMap;
use std::time::Duration;

use bytes::Bytes;
use tandem::groups::{
    Commit, CommittedOffset, CoordinatorSettings, Departure, Heartbeat, Join, Leave, Protocol, Sync,
};
use tandem::time::Mono;

use super::Request;

/// What a client remembers.
#[derive(Debug, Clone, Default)]
pub struct Client {
    pub member_id: String,
    pub generation: i32,
}

/// `sync a at=10 shares=a:0,b:1`: a word, whose, and settings.
pub struct Line<'a> {
    pub word: &'a str,
    pub client: &'a str,
    settings: BTreeMap<&'a str, &'a str>,
}

impl<'a> Line<'a> {
    pub fn parse(line: &'a str) -> Self {
        let mut words = line.split_whitespace();
        let word = words.next().unwrap();
        let mut client = "";
        let mut settings = BTreeMap::new();
        for word in words {
            match word.split_once('=') {
                Some((name, value)) => drop(settings.insert(name, value.trim_matches('"'))),
                None => client = word,
            }
        }
        Self { word, client, settings }
    }

    pub(super) fn text(&self, name: &str, default: &str) -> String {
        self.settings.get(name).copied().unwrap_or(default).to_owned()
    }

    pub(super) fn option(&self, name: &str) -> Option<String> {
        self.settings.get(name).map(|text| (*text).to_owned())
    }

    pub(super) fn number(&self, name: &str, default: i64) -> i64 {
        self.settings.get(name).map_or(default, |text| text.parse().unwrap())
    }

    /// When the request is sent, if not right after the one before. `real=` is for real clocks,
    /// which cannot separate one millisecond from the next.
    pub fn at(&self, real: bool) -> Option<Mono> {
        let name = if real && self.settings.contains_key("real") { "real" } else { "at" };
        self.settings.get(name).map(|_| Mono::ZERO + self.span(name, 0))
    }

    pub(super) fn span(&self, name: &str, default: i64) -> Duration {
        Duration::from_millis(u64::try_from(self.number(name, default)).unwrap())
    }
}

pub fn settings(line: &Line<'_>) -> CoordinatorSettings {
    let default = CoordinatorSettings::default();
    let members_max = line.settings.get("members_max").map(|text| text.parse().unwrap());
    CoordinatorSettings {
        initial_delay: line.span("initial_delay", 0),
        session_min: line.span("session_min", 100),
        members_max: members_max.unwrap_or(default.members_max),
        ..default
    }
}

pub fn request(line: &Line<'_>, clients: &BTreeMap<String, Client>) -> Request {
    let client = clients.get(line.client).cloned().unwrap_or_default();
    let group = line.text("group", "g");
    let member_id = line.text("member", &client.member_id);
    let generation = i32::try_from(line.number("generation", client.generation.into())).unwrap();
    let instance_id = line.option("instance");
    match line.word {
        "join" => Request::Join(join(line, group, member_id)),
        "sync" => {
            let named = line.option("type").is_some() && line.option("protocol").is_some();
            let version = line.number("version", if named { 5 } else { 4 });
            let id =
                |name: &str| clients.get(name).map_or(name.to_owned(), |c| c.member_id.clone());
            let shares = line.text("shares", "");
            let pairs = shares.split(',').filter_map(|pair| pair.split_once(':'));
            let assignments = pairs.map(|(name, share)| (id(name), bytes(share))).collect();
            Request::Sync(Sync {
                group,
                member_id,
                instance_id,
                generation,
                protocol_type: line.option("type"),
                protocol: line.option("protocol"),
                must_name_protocol: version >= 5,
                assignments,
            })
        }
        "heartbeat" => Request::Heartbeat(Heartbeat { group, member_id, instance_id, generation }),
        "leave" => {
            let mut members = vec![Departure { member_id, instance_id }];
            let others = line.text("with", "");
            members.extend(
                others.split(',').filter_map(|name| clients.get(name)).map(|other| Departure {
                    member_id: other.member_id.clone(),
                    instance_id: None,
                }),
            );
            Request::Leave(Leave { group, members })
        }
        "commit" => {
            let offset = CommittedOffset {
                offset: line.number("offset", 1),
                leader_epoch: -1,
                metadata: "m".repeat(usize::try_from(line.number("metadata", 0)).unwrap()),
            };
            let knows_group_id_not_found = line.number("version", 9) >= 9;
            let positions = vec![(super::consumer::position(line), offset)];
            Request::Commit(Commit {
                group,
                member_id,
                instance_id,
                generation,
                knows_group_id_not_found,
                positions,
            })
        }
        "fetch" => Request::Fetch(group, super::consumer::position(line)),
        "describe" => Request::Describe(group),
        "list" => Request::List,
        "delete" => Request::Delete(group),
        "wait" => Request::Wait,
        _ => super::consumer::request(line, &client, group),
    }
}

fn join(line: &Line<'_>, group: String, member_id: String) -> Join {
    let version = line.number("version", 9);
    let metadata = line.text("metadata", line.client);
    let names = line.text("protocols", "range");
    let names = names.split(',').filter(|name| !name.is_empty());
    Join {
        group,
        member_id,
        instance_id: line.option("instance"),
        client_id: line.client.to_owned(),
        client_host: "/127.0.0.1".to_owned(),
        suffix: String::new(),
        session: line.span("session", 5_000),
        rebalance: line.span("rebalance", 3_000),
        protocol_type: line.text("type", "consumer"),
        protocols: names
            .map(|name| Protocol { name: name.to_owned(), metadata: bytes(&metadata) })
            .collect(),
        needs_known_id: version >= 4,
        can_skip_assignment: version >= 9,
    }
}

fn bytes(text: &str) -> Bytes {
    Bytes::copy_from_slice(text.as_bytes())
}
