//! One member, as transcripts under `tests/data/membership/`: an input a line, and below `----`
//! what comes out of it. `UPDATE=1 cargo test --test pure` rewrites them.
//!
//! `member assignor=A session=MS heartbeat=MS rebalance=MS [instance=I] [renews] [commit=MS]
//! [hold=MS] [silence=MS] [wall=MS] [learns=MS] [keeps]` begins, at 0, on a
//! topic `t` of 4 partitions. Then, each with `at=MS`:
//!
//! - `coordinator broker=B`, `joined member=M generation=G leader=L [members=M,M]`,
//!   `synced [partitions=K,K] [foreign]`, `led [partitions=K,K]`: the answer to the last such
//!   request;
//! - `heard partitions=K,K`, `delivered partitions=K,K`: what it hears, what its messages reach;
//! - `done R`, `refused R code=C [member=M]`, and `failed R`, where a connection is lost: to the
//!   last request of the kind `R`: `find`, `join`, `sync`, `heartbeat`, `commit`, `leaders` or
//!   `leave`;
//! - `kept id=N fences=K:N,K:N`: the host keeps these fences; a fence is EPOCH/COUNT here;
//! - `set_back`: so is the ledger;
//! - `id=N` names another request than the last; `timeout`; `leave`; `proof`.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::num::NonZeroU32;
use std::time::Duration;

use support::transcript::{Command, check_folder, fence_of, fence_text};
use tandem::ids::PartitionId;
use tandem::neli::Membership;
use tandem::neli::membership::{
    Assignor, Assignors, Broker, ByPartition, GroupConfig, GroupEvent, GroupMember, Joined,
    JoinedMember, Partitions, Refusal, Request, RequestId, Response, Subscription,
    decode_assignment, encode_assignment, heeds_unreachable,
};
use tandem::time::Mono;

fn ms(at: u64) -> Mono {
    Mono::ZERO + Duration::from_millis(at)
}

fn text(command: &Command, key: &str) -> String {
    command.values.get(key).cloned().unwrap_or_default()
}

fn begin(command: &Command) -> GroupMember {
    let span = |key| Duration::from_millis(command.number(key));
    let config = GroupConfig {
        group: "g".parse().unwrap(),
        topic: "t".parse().unwrap(),
        width: NonZeroU32::new(4).unwrap(),
        instance: command.values.get("instance").cloned(),
        assignors: Assignors::parse(&text(command, "assignor")).unwrap(),
        session: span("session"),
        heartbeat: span("heartbeat"),
        rebalance: span("rebalance"),
        renews_id: command.words.iter().any(|word| word == "renews"),
        commit: command.optional("commit").map(Duration::from_millis),
        gives_way: command.optional("silence").map(Duration::from_millis),
        hold: Duration::from_millis(command.optional("hold").unwrap_or(0)),
        backoff: Duration::from_millis(20),
        backoff_max: Duration::from_millis(200),
        learns: command.optional("learns").map(Duration::from_millis),
        wall_ms: i64::try_from(command.optional("wall").unwrap_or(0)).unwrap(),
        seed: 7,
    };
    let core = GroupMember::new(Mono::ZERO, config);
    if command.words.iter().any(|word| word == "keeps") { core.keeping_fences() } else { core }
}

fn of_t(list: &str) -> Partitions {
    let ks = list.split(',').filter_map(|k| k.parse().ok()).map(PartitionId);
    [("t".to_owned(), ks.collect())].into()
}

/// Pairs of a partition and a fence.
fn fences(list: &str) -> ByPartition {
    let pair = |pair: &str| {
        let (k, fence) = pair.split_once(':')?;
        Some((PartitionId(k.parse().ok()?), fence_of(fence)?))
    };
    list.split(',').filter_map(pair).collect()
}

fn each(command: &Command, then: impl FnMut(PartitionId)) {
    let partitions = of_t(&text(command, "partitions")).remove("t").unwrap_or_default();
    partitions.into_iter().for_each(then);
}

/// How many bytes the leader of this kind writes to say that it heeds what members do not reach.
fn heeded() -> usize {
    let share = encode_assignment(&Partitions::new());
    assert!(heeds_unreachable(&share));
    share.len() - 10
}

fn joined(command: &Command) -> Joined {
    let wants = Subscription { topics: ["t".to_owned()].into(), ..Subscription::default() };
    let members = text(command, "members");
    let members = members.split(',').filter(|id| !id.is_empty()).map(|id| JoinedMember {
        member_id: id.to_owned(),
        instance_id: None,
        metadata: wants.encode(),
    });
    let protocol = command.values.get("protocol").map_or("range", String::as_str).to_owned();
    Joined {
        member_id: text(command, "member"),
        generation: i32::try_from(command.number("generation")).unwrap(),
        protocol,
        leader: text(command, "leader"),
        skip_assignment: command.words.iter().any(|word| word == "skip"),
        members: members.collect(),
    }
}

fn response(command: &Command) -> Response {
    match command.verb.as_str() {
        "coordinator" => {
            let id = i32::try_from(command.number("broker")).unwrap();
            Response::Coordinator(Broker { id, host: format!("b{id}"), port: 9092 })
        }
        "joined" => Response::Joined(joined(command)),
        "synced" => {
            let mut share = encode_assignment(&of_t(&text(command, "partitions")));
            if command.words.iter().any(|word| word == "foreign") {
                // Without the user data.
                share.truncate(share.len() - heeded());
                let at = share.len() - 4;
                share.splice(at.., 0_i32.to_be_bytes());
            }
            Response::Synced(share)
        }
        "led" => {
            let ks = of_t(&text(command, "partitions")).remove("t").unwrap_or_default();
            Response::Leaders(ks)
        }
        "done" => Response::Done,
        "offsets" => Response::Offsets(fences(&text(command, "last"))),
        "refused" => {
            let refusal = Refusal::from_code(text(command, "code").parse().unwrap()).unwrap();
            Response::Refused { refusal, member_id: command.values.get("member").cloned() }
        }
        other => panic!("no such input: {other}"),
    }
}

/// The member, and the last request of each kind.
struct Subject {
    core: GroupMember,
    last: BTreeMap<&'static str, RequestId>,
}

impl Subject {
    /// The request that an input is about.
    fn request(&self, command: &Command) -> RequestId {
        if command.values.contains_key("id") {
            return RequestId(command.number("id"));
        }
        let kind = match command.verb.as_str() {
            "coordinator" => "find",
            "joined" => "join",
            "synced" => "sync",
            "offsets" => "offsets",
            "led" => "leaders",
            _ => command.words.first().map_or("", String::as_str),
        };
        self.last.get(kind).copied().unwrap_or_else(|| panic!("no {kind} was sent"))
    }
}

fn kind(request: &Request) -> &'static str {
    match request {
        Request::FindCoordinator => "find",
        Request::Join(_) => "join",
        Request::Sync(_) => "sync",
        Request::Heartbeat { .. } => "heartbeat",
        Request::Offsets { .. } => "offsets",
        Request::Commit { .. } => "commit",
        Request::Leaders { .. } => "leaders",
        Request::Leave { .. } => "leave",
        Request::Beat(_) | Request::Session | Request::Members => "of the newer protocol",
    }
}

fn apply(subject: &mut Subject, command: &Command) -> String {
    let now = ms(command.number("at"));
    let mut out = String::new();
    let own = ["timeout", "leave", "proof", "heard", "delivered", "kept", "set_back"];
    let answered = !own.contains(&command.verb.as_str());
    let id = answered.then(|| subject.request(command));
    let core = &mut subject.core;
    match command.verb.as_str() {
        "timeout" => core.handle_timeout(now),
        "heard" => each(command, |partition| core.handle_heard(now, partition)),
        "delivered" => each(command, |partition| {
            core.handle_publishing(now);
            core.handle_delivered(now, partition);
        }),
        "leave" => core.handle_leave(now),
        "kept" => {
            let id = RequestId(command.number("id"));
            core.handle_fences(now, id, &fences(&text(command, "fences")));
        }
        "set_back" => core.handle_set_back(now),
        "failed" => core.handle_failure(now, id.unwrap()),
        "proof" => match core.proof() {
            Some(proof) => {
                let since = proof.since.0 / 1_000_000;
                let fence = |k| {
                    let fence = fence_text(core.fence(PartitionId(k))?);
                    Some(format!(", {k} fenced by {fence}"))
                };
                let fences: String = (0..4).filter_map(fence).collect();
                writeln!(out, "proved in generation {} at {since}{fences}", proof.generation)
                    .unwrap();
            }
            None => writeln!(out, "no proof").unwrap(),
        },
        _ => core.handle_response(now, id.unwrap(), response(command)),
    }
    drain(subject, now, &mut out);
    out
}

fn drain(subject: &mut Subject, now: Mono, out: &mut String) {
    let core = &mut subject.core;
    while let Some(event) = core.poll_event() {
        writeln!(out, "{}", event_text(&event)).unwrap();
    }
    while let Some(id) = core.poll_abandoned() {
        writeln!(out, "abandon {}", id.0).unwrap();
    }
    while let Some((id, fences)) = core.poll_fences() {
        let pair = |(k, fence): (&_, &_)| format!("{k}: {}", fence_text(*fence));
        let all: Vec<_> = fences.iter().map(pair).collect();
        writeln!(out, "keep {}, {}", id.0, all.join(", ")).unwrap();
    }
    if let Some(fence) = core.poll_learned() {
        writeln!(out, "learn {}", fence_text(fence)).unwrap();
    }
    while let Some(outgoing) = core.poll_request(now) {
        let to = outgoing.to.map_or_else(|| "any".to_owned(), |broker| broker.host);
        let what = request_text(&outgoing.request);
        subject.last.insert(kind(&outgoing.request), outgoing.id);
        writeln!(out, "send {} to {to}: {what}", outgoing.id.0).unwrap();
    }
    match core.poll_timeout() {
        Some(at) => writeln!(out, "timeout {}", at.0 / 1_000_000).unwrap(),
        None => writeln!(out, "no timeout").unwrap(),
    }
}

fn list(partitions: &[PartitionId]) -> String {
    let numbers: Vec<_> = partitions.iter().map(ToString::to_string).collect();
    if numbers.is_empty() { "nothing".to_owned() } else { numbers.join(",") }
}

fn event_text(event: &GroupEvent) -> String {
    match event {
        GroupEvent::Group(Membership::Assigned(it)) => {
            let (generation, id) = (it.generation.unwrap(), it.member_id.as_deref().unwrap());
            format!("assigned {} in generation {generation} as {id}", list(&it.partitions))
        }
        GroupEvent::Group(Membership::Revoked(partitions)) => {
            format!("revoked {}", list(partitions))
        }
        GroupEvent::Group(Membership::Lost(partitions)) => format!("lost {}", list(partitions)),
        GroupEvent::GaveWay(silent) => format!("gives way on {}", list(silent)),
        GroupEvent::Left => "left".to_owned(),
        GroupEvent::Failed(refusal) => format!("failed: {refusal}"),
    }
}

fn request_text(request: &Request) -> String {
    let name = |id: &str| if id.is_empty() { "anonymous".to_owned() } else { id.to_owned() };
    match request {
        Request::FindCoordinator => "FindCoordinator".to_owned(),
        Request::Join(join) => {
            let offer = |(name, metadata): &(&str, Vec<u8>)| {
                let it = Subscription::decode(metadata).unwrap();
                let candidate = Assignor::from_name(name).unwrap();
                let it = candidate.candidate(String::new(), None, it);
                let owned: Vec<_> = it.owned.values().flatten().copied().collect();
                let generation = it.generation.map_or(String::new(), |g| format!(" since {g}"));
                let lacks: Vec<_> = it.unreachable.values().flatten().copied().collect();
                let lacks = if lacks.is_empty() {
                    String::new()
                } else {
                    format!(" not reaching {}", list(&lacks))
                };
                format!("{name} with {}{generation}{lacks}", list(&owned))
            };
            let offers: Vec<_> = join.protocols.iter().map(offer).collect();
            format!("Join as {}, {}", name(&join.member_id), offers.join(", "))
        }
        Request::Sync(sync) => {
            let share = |(id, bytes): &(String, Vec<u8>)| {
                let share = decode_assignment(bytes).unwrap();
                let all: Vec<_> = share.values().flatten().copied().collect();
                format!(", {id} gets {}", list(&all))
            };
            let shares: String = sync.assignments.iter().map(share).collect();
            format!("Sync {} of {}{shares}", sync.generation, sync.member_id)
        }
        Request::Heartbeat { member_id, generation } => {
            format!("Heartbeat {generation} of {member_id}")
        }
        Request::Offsets { partitions, .. } => format!("Offsets of {}", list(partitions)),
        Request::Commit { member_id, generation, offsets } => {
            let pair = |(k, fence): &(_, _)| format!("{k}: {}", fence_text(*fence));
            let all: Vec<_> = offsets.iter().map(pair).collect();
            format!("Commit {generation} of {member_id}: {}", all.join(", "))
        }
        Request::Leaders { partitions } => format!("Leaders of {}", list(partitions)),
        Request::Leave { member_id } => format!("Leave of {member_id}"),
        Request::Beat(_) | Request::Session | Request::Members => {
            "of the newer protocol".to_owned()
        }
    }
}

#[test]
fn transcripts() {
    check_folder("membership", || {
        let mut member = None;
        move |command: &Command| {
            if command.verb == "member" {
                let mut subject = Subject { core: begin(command), last: BTreeMap::new() };
                let mut out = String::new();
                drain(&mut subject, Mono::ZERO, &mut out);
                member = Some(subject);
                return out;
            }
            let subject = member.as_mut().expect("a transcript begins with `member`");
            apply(subject, command)
        }
    });
}
