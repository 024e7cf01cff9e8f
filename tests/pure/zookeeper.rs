//! Election over ZooKeeper: the core of one member, as transcripts under `tests/data/zookeeper/`,
//! and several members on a simulated ensemble, with planted mistakes.
//!
//! Inputs: `member width=W session=MS heartbeat=MS threshold=MS` begins, at 0. Then, each with
//! `at=MS`, the answers to the request `number=N`: `opened session=ID length=MS`, `renewed`, `nodes
//! NAME…`, `created`, `exists zxid=Z`, `absent`, `deleted`, `closed`, `no_session`, `failed`; the
//! reports of the watch `number=N`: `gone`, `ended`; and `timeout`, `leave`. What comes out:
//! changes, requests with their numbers, claims, the next timeout. Instants are milliseconds.

mod ensemble;
mod worlds;

use std::fmt::Write;
use std::num::NonZeroU32;
use std::time::Duration;

use support::transcript::{Command, check_folder};
use tandem::neli::elections::over_store::OverStore;
use tandem::neli::elections::zookeeper::{
    Answer, Config, Node, Request, SessionId, Watched, ZooKeeper, Zxid,
};
use tandem::time::Mono;

use super::shown::{self, show};

fn ms(at: u64) -> Mono {
    Mono::ZERO + Duration::from_millis(at)
}

fn begin(command: &Command) -> ZooKeeper {
    let length = |key| Duration::from_millis(command.number(key));
    let config = Config {
        width: NonZeroU32::new(u32::try_from(command.number("width")).unwrap()).unwrap(),
        session: length("session"),
        heartbeat: length("heartbeat"),
        threshold: length("threshold"),
    };
    let mut core = ZooKeeper::new(Mono::ZERO, config);
    core.handle_timeout(Mono::ZERO);
    core
}

fn answer(command: &Command) -> Option<Answer> {
    let number = |key| i64::try_from(command.number(key)).unwrap();
    Some(match command.verb.as_str() {
        "opened" => {
            let length = Duration::from_millis(command.number("length"));
            Answer::Opened(SessionId(number("session")), length)
        }
        "renewed" => Answer::Renewed,
        "nodes" => Answer::Nodes(command.words.iter().filter_map(|it| Node::parse(it)).collect()),
        "created" => Answer::Created,
        "exists" => Answer::Exists(Zxid(number("zxid"))),
        "absent" => Answer::Absent,
        "deleted" => Answer::Deleted,
        "closed" => Answer::Closed,
        "no_session" => Answer::NoSession,
        "failed" => Answer::Failed,
        _ => return None,
    })
}

fn apply(core: &mut ZooKeeper, command: &Command) {
    let now = ms(command.number("at"));
    if let Some(answer) = answer(command) {
        return core.handle_answer(now, command.number("number"), answer);
    }
    let watched = match command.verb.as_str() {
        "timeout" => return core.handle_timeout(now),
        "leave" => return core.handle_leave(now),
        "gone" => Watched::Deleted,
        "ended" => Watched::Ended,
        verb => panic!("{verb} is no input"),
    };
    core.handle_watched(now, command.number("number"), watched);
}

fn shown(request: &Request) -> String {
    match request {
        Request::Open(length) => format!("open {}", length.as_millis()),
        Request::Renew => "renew".to_owned(),
        Request::List(partition) => format!("list {partition}"),
        Request::Create(partition) => format!("create {partition}"),
        Request::Watch(partition, node) => format!("watch {partition}/{}", node.name()),
        Request::Delete(partition, node) => format!("delete {partition}/{}", node.name()),
        Request::Close => "close".to_owned(),
    }
}

fn drain(core: &mut ZooKeeper, now: Mono) -> String {
    let mut out = String::new();
    while let Some(event) = core.poll_event() {
        out += &shown::change(&event, |k| core.fence(k));
    }
    while let Some((number, request)) = core.poll_request(now) {
        writeln!(out, "#{number} {}", shown(&request)).unwrap();
    }
    let claims: Vec<_> = core.claims().map(|it| (it.partition.0, show(it.until))).collect();
    if !claims.is_empty() {
        writeln!(out, "claims {claims:?}").unwrap();
    }
    out += &shown::timeout(core.poll_timeout(), core.is_gone());
    out
}

#[test]
fn transcripts() {
    check_folder("zookeeper", || {
        let mut member = None;
        move |command: &Command| {
            if command.verb == "member" {
                let core = member.insert(begin(command));
                return drain(core, Mono::ZERO);
            }
            let core = member.as_mut().expect("a transcript begins with `member`");
            apply(core, command);
            drain(core, ms(command.number("at")))
        }
    });
}

/// As kazoo and Curator name theirs, and what is no node of a contender.
#[test]
fn names_of_others_are_read() {
    let node = |name: &str| Node::parse(name);
    let kazoo = node("36a0f5a4a0b14d1e8e1fce7b5a7a0d2c__lock__0000000002").unwrap();
    let curator = node("_c_5c5e6b9e-0f2b-4a07-a6f5-lock-0000000011").unwrap();
    let own = node(&format!("{}0000000007", SessionId(-2).prefix())).unwrap();
    assert!(kazoo < own && own < curator, "the number decides, not the name");
    assert!(own.is_of(SessionId(-2)) && !own.is_of(SessionId(2)) && !kazoo.is_of(SessionId(-2)));
    for name in ["", "lease_holder", "x-1", "x__lock__00000000é", "x-+000000001"] {
        assert_eq!(node(name), None, "{name}");
    }
}
