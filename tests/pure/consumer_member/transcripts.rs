//! One member of the newer protocol, as transcripts under `tests/data/consumer_member/`: an input a
//! line, and below `----` what comes out of it. `UPDATE=1 cargo test --test pure` rewrites them.
//!
//! `member session=MS heartbeat=MS [instance=I] [renews] [commit=MS] [hold=MS] [learns=MS]
//! [keeps] [silence=MS]` begins, at 0, on a topic of 4 partitions. Then, each with `at=MS`:
//!
//! - `coordinator broker=B`, `members count=N`, `beaten epoch=E [interval=MS] [given=K,K]`,
//!   `offsets [last=K:N,K:N]`, `session ms=MS`, `led partitions=K,K`, `done`, `refused code=C`,
//!   `failed`: the answer to the last request;
//! - `heard partitions=K,K`; `timeout`; `leave`; `curtailed`; `set_back`; `proof`. A fence is
//!   EPOCH/COUNT here.

use std::fmt::Write;
use std::num::NonZeroU32;
use std::time::Duration;

use support::transcript::{Command, check_folder, fence_of, fence_text};
use tandem::ids::PartitionId;
use tandem::neli::Membership;
use tandem::neli::membership::{
    Assignor, Beat, Beaten, Broker, ConsumerConfig, ConsumerMember, GroupConfig, GroupEvent,
    Refusal, Request, RequestId, Response, TopicPartition,
};
use tandem::time::Mono;

fn begin(command: &Command) -> ConsumerMember {
    let span = |key| Duration::from_millis(command.number(key));
    let group = GroupConfig {
        group: "g".parse().unwrap(),
        topic: "t".parse().unwrap(),
        width: NonZeroU32::new(4).unwrap(),
        instance: command.text("instance").map(str::to_owned),
        assignors: Assignor::Range.into(),
        session: span("session"),
        heartbeat: span("heartbeat"),
        rebalance: Duration::from_secs(3),
        renews_id: command.has("renews"),
        commit: command.optional("commit").map(Duration::from_millis),
        gives_way: command.optional("silence").map(Duration::from_millis),
        hold: Duration::from_millis(command.optional("hold").unwrap_or(0)),
        backoff: Duration::from_millis(20),
        backoff_max: Duration::from_millis(200),
        learns: command.optional("learns").map(Duration::from_millis),
        wall_ms: 1_000_000,
        seed: 7,
    };
    let core = ConsumerMember::new(Mono::ZERO, ConsumerConfig { group, id: "m".to_owned() });
    if command.has("keeps") { core.keeping_fences() } else { core }
}

fn numbers(list: &str) -> impl Iterator<Item = PartitionId> + '_ {
    list.split(',').filter_map(|k| k.parse().ok()).map(PartitionId)
}

fn response(command: &Command) -> Response {
    let owned = |partition| TopicPartition { topic: 7, partition };
    match command.verb.as_str() {
        "coordinator" => {
            let id = i32::try_from(command.number("broker")).unwrap();
            Response::Coordinator(Broker { id, host: format!("b{id}"), port: 9092 })
        }
        "beaten" => Response::Beaten(Beaten {
            epoch: command.text("epoch").unwrap().parse().unwrap(),
            interval: Duration::from_millis(command.optional("interval").unwrap_or(100)),
            assignment: command.text("given").map(|it| numbers(it).map(owned).collect()),
        }),
        "offsets" => {
            let pair = |pair: &str| {
                let (k, fence) = pair.split_once(':')?;
                Some((PartitionId(k.parse().ok()?), fence_of(fence)?))
            };
            let last = command.text("last").unwrap_or_default();
            Response::Offsets(last.split(',').filter_map(pair).collect())
        }
        "led" => Response::Leaders(numbers(command.text("partitions").unwrap()).collect()),
        "members" => Response::Members(usize::try_from(command.number("count")).unwrap()),
        "session" => Response::Session(Duration::from_millis(command.number("ms"))),
        "done" => Response::Done,
        "refused" => {
            let code = i16::try_from(command.number("code")).unwrap();
            Response::Refused { refusal: Refusal::from_code(code).unwrap(), member_id: None }
        }
        other => panic!("no such input: {other}"),
    }
}

fn apply(core: &mut ConsumerMember, last: &mut RequestId, command: &Command) -> String {
    let now = Mono::ZERO + Duration::from_millis(command.number("at"));
    let mut out = String::new();
    match command.verb.as_str() {
        "timeout" => core.handle_timeout(now),
        "heard" => {
            for partition in numbers(command.text("partitions").unwrap()) {
                core.handle_heard(now, partition);
            }
        }
        "leave" => core.handle_leave(now),
        "set_back" => core.handle_set_back(now),
        "curtailed" => core.handle_curtailed(now),
        "failed" => core.handle_failure(now, *last),
        "proof" => match core.proof() {
            Some(proof) => {
                let fence = |k| {
                    let fence = fence_text(core.fence(PartitionId(k))?);
                    Some(format!(", {k} fenced by {fence}"))
                };
                let fences: String = (0..4).filter_map(fence).collect();
                writeln!(out, "proved at {}{fences}", proof.since.0 / 1_000_000).unwrap();
            }
            None => writeln!(out, "no proof").unwrap(),
        },
        _ => core.handle_response(now, *last, response(command)),
    }
    drain(core, last, now, &mut out);
    out
}

fn drain(core: &mut ConsumerMember, last: &mut RequestId, now: Mono, out: &mut String) {
    while let Some(event) = core.poll_event() {
        writeln!(out, "{}", event_text(&event)).unwrap();
    }
    while let Some(id) = core.poll_abandoned() {
        writeln!(out, "abandon {}", id.0).unwrap();
    }
    if let Some(fence) = core.poll_learned() {
        writeln!(out, "learn {}", fence_text(fence)).unwrap();
    }
    while let Some(outgoing) = core.poll_request(now) {
        *last = outgoing.id;
        let to = outgoing.to.map_or_else(|| "any".to_owned(), |broker| broker.host);
        writeln!(out, "send {} to {to}: {}", last.0, request_text(&outgoing.request)).unwrap();
    }
    match core.poll_timeout() {
        Some(at) => writeln!(out, "timeout {}", at.0 / 1_000_000).unwrap(),
        None => writeln!(out, "no timeout").unwrap(),
    }
}

fn list(partitions: impl IntoIterator<Item = PartitionId>) -> String {
    let numbers: Vec<_> = partitions.into_iter().map(|it| it.to_string()).collect();
    if numbers.is_empty() { "nothing".to_owned() } else { numbers.join(",") }
}

fn event_text(event: &GroupEvent) -> String {
    match event {
        GroupEvent::Group(Membership::Assigned(it)) => {
            let (epoch, id) = (it.generation.unwrap(), it.member_id.as_deref().unwrap());
            format!("assigned {} in epoch {epoch} as {id}", list(it.partitions.iter().copied()))
        }
        GroupEvent::Group(Membership::Revoked(all)) => format!("revoked {}", list(all.clone())),
        GroupEvent::Group(Membership::Lost(all)) => format!("lost {}", list(all.clone())),
        GroupEvent::GaveWay(all) => format!("gives way on {}", list(all.clone())),
        GroupEvent::Left => "left".to_owned(),
        GroupEvent::Failed(refusal) => format!("failed: {refusal}"),
    }
}

fn request_text(request: &Request) -> String {
    match request {
        Request::FindCoordinator => "FindCoordinator".to_owned(),
        Request::Beat(Beat { member_id, epoch, whole, owned }) => {
            let owned = owned.as_ref().map(|it| list(it.iter().map(|it| it.partition)));
            let owned = owned.map(|it| format!(", owning {it}")).unwrap_or_default();
            let whole = if *whole { ", whole" } else { "" };
            format!("Beat of {member_id} at {epoch}{whole}{owned}")
        }
        Request::Session => "Session".to_owned(),
        Request::Members => "Members".to_owned(),
        Request::Leaders { partitions } => format!("Leaders of {}", list(partitions.clone())),
        Request::Offsets { partitions, .. } => format!("Offsets of {}", list(partitions.clone())),
        Request::Commit { member_id, generation, offsets } => {
            let pair = |(k, fence): &(_, _)| format!("{k}: {}", fence_text(*fence));
            let all: Vec<_> = offsets.iter().map(pair).collect();
            format!("Commit of {member_id} at {generation}: {}", all.join(", "))
        }
        Request::Join(_) | Request::Sync(_) | Request::Heartbeat { .. } | Request::Leave { .. } => {
            "of the classic protocol".to_owned()
        }
    }
}

#[test]
fn transcripts() {
    check_folder("consumer_member", || {
        let mut member = None;
        let mut last = RequestId(0);
        move |command: &Command| {
            if command.verb == "member" {
                let mut out = String::new();
                drain(member.insert(begin(command)), &mut last, Mono::ZERO, &mut out);
                return out;
            }
            let member = member.as_mut().expect("a transcript begins with `member`");
            apply(member, &mut last, command)
        }
    });
}
