//! Election over etcd: the core of one member, as transcripts under `tests/data/etcd/`, and several
//! members on a simulated store, with two planted mistakes.
//!
//! Inputs: `member width=W lease=MS keep_alive=MS` begins, at 0. Then, each with `at=MS`, the
//! answers to the request `number=N`: `granted lease=ID ttl=MS`, `kept ttl=MS`, `keys revision=R`
//! with `K=LEASE/CREATED` for each key, `held revision=R lease=ID created=R`, `revoked`,
//! `no_lease`, `failed`; the reports of the watch `number=N`: `deleted partition=K revision=R`,
//! `ended`; and `timeout`, `leave`. What comes out: changes, requests with their numbers, claims,
//! the next timeout. Instants are milliseconds.

mod store;

use std::collections::BTreeMap;
use std::fmt::Write;
use std::num::NonZeroU32;
use std::time::Duration;

use support::transcript::{Command, check_folder};
use tandem::ids::PartitionId;
use tandem::neli::elections::etcd::{
    Answer, Config, Etcd, Holder, LeaseId, Request, Revision, Watched,
};
use tandem::neli::elections::over_store::OverStore;
use tandem::time::Mono;

use super::shown::{self, show};

fn ms(at: u64) -> Mono {
    Mono::ZERO + Duration::from_millis(at)
}

fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap()
}

fn partition(number: u64) -> PartitionId {
    PartitionId(u32::try_from(number).unwrap())
}

fn begin(command: &Command) -> Etcd {
    let config = Config {
        width: NonZeroU32::new(u32::try_from(command.number("width")).unwrap()).unwrap(),
        lease: Duration::from_millis(command.number("lease")),
        keep_alive: Duration::from_millis(command.number("keep_alive")),
    };
    let mut core = Etcd::new(Mono::ZERO, config);
    core.handle_timeout(Mono::ZERO);
    core
}

fn holder(text: &str) -> Holder {
    let (lease, created) = text.split_once('/').expect("a key is written K=LEASE/CREATED");
    Holder { lease: LeaseId(lease.parse().unwrap()), created: Revision(created.parse().unwrap()) }
}

fn answer(command: &Command) -> Option<Answer> {
    let ttl = || Duration::from_millis(command.number("ttl"));
    let number = |key| signed(command.number(key));
    let revision = || Revision(number("revision"));
    Some(match command.verb.as_str() {
        "granted" => Answer::Granted(LeaseId(number("lease")), ttl()),
        "kept" => Answer::KeptAlive(ttl()),
        "keys" => {
            let keys = command
                .values
                .iter()
                .filter_map(|(key, value)| Some((PartitionId(key.parse().ok()?), holder(value))));
            Answer::Keys(revision(), keys.collect::<BTreeMap<_, _>>())
        }
        "held" => {
            let created = Revision(number("created"));
            Answer::Held(revision(), Holder { lease: LeaseId(number("lease")), created })
        }
        "revoked" => Answer::Revoked,
        "no_lease" => Answer::NoLease,
        "failed" => Answer::Failed,
        _ => return None,
    })
}

fn apply(core: &mut Etcd, command: &Command) {
    let now = ms(command.number("at"));
    if let Some(answer) = answer(command) {
        return core.handle_answer(now, command.number("number"), answer);
    }
    let watched = |what| (command.number("number"), what);
    let (number, watched) = match command.verb.as_str() {
        "timeout" => return core.handle_timeout(now),
        "leave" => return core.handle_leave(now),
        "ended" => watched(Watched::Ended),
        "deleted" => {
            let at = Revision(signed(command.number("revision")));
            watched(Watched::Deleted(partition(command.number("partition")), at))
        }
        verb => panic!("{verb} is no input"),
    };
    core.handle_watched(now, number, watched);
}

fn drain(core: &mut Etcd, now: Mono) -> String {
    let mut out = String::new();
    while let Some(event) = core.poll_event() {
        out += &shown::change(&event, |k| core.fence(k));
    }
    while let Some((number, request)) = core.poll_request(now) {
        let request = match request {
            Request::Grant(length) => format!("grant {}", length.as_millis()),
            Request::KeepAlive(lease) => format!("keep alive {}", lease.0),
            Request::Read => "read".to_owned(),
            Request::Watch(from) => format!("watch from {}", from.0),
            Request::Create(partition, lease) => format!("create {partition} by {}", lease.0),
            Request::Revoke(lease) => format!("revoke {}", lease.0),
        };
        writeln!(out, "#{number} {request}").unwrap();
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
    check_folder("etcd", || {
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
