//! The protocol of one member, as transcripts under `tests/data/neli/`: an input a line, and below
//! `----` what comes out of it. `UPDATE=1 cargo test --test pure` rewrites them.
//!
//! Inputs: `member width=W threshold=MS beacon=MS [hold=MS]` begins, at 0; `fast`, `exclusive` and
//! `pulsed` behind it choose the mode and the pacing of the beacons, `grace=MS` the paper's
//! exclusive mode; `handing-over` makes it `p1-1.1` of group `g`, which states on partition 0 what
//! it holds and leads; with `owners` it publishes each round on what it owns, and on all partitions
//! each third of the threshold. Then, each with
//! `at=MS`: `stated by=LIFE [process=N] generation=G [leads=K,K] [group=NAME] [going]`, `going`,
//! and `relieved`, which asks whether a member that goes need not lead on; the orders of the mesh,
//! `stand_in partition=K generation=G until=MS of=LIFE` and `owner_lives partition=K`;
//! `heard partition=K`
//! (`sent=MS` of a message of its own, `stamp=MS` of the broker), `offset partition=K offset=N`,
//! the offset of a message, `clock wall=MS`,
//! `proof since=MS`, `unproved`, `pulse`,
//! `assigned K,K [generation=G]`, `revoked K,K`, `lost K,K`, `timeout`, `leave`, and `who`, which
//! asks for the partitions led. Instants are milliseconds.

#![allow(
    clippy::as_conversions,
    clippy::cast_possible_truncation,
    reason = "a test may fail loudly"
)]

use std::collections::BTreeSet;
use std::fmt::Write;
use std::num::NonZeroU32;
use std::time::Duration;

use support::transcript::{Command, check_folder};
use tandem::ids::{ConsumerGroup, Life, PartitionId};
use tandem::neli::mesh::{Cause, Inquest, Order, StandIn};
use tandem::neli::{
    Assignment, Config, Event, Heard, Identity, Membership, Neli, Publishers, Pulse, Statement,
};
use tandem::observation::Mode;
use tandem::time::{Mono, Wall};

fn ms(at: u64) -> Mono {
    Mono::ZERO + Duration::from_millis(at)
}

fn wall(at: u64) -> Wall {
    Wall(i64::try_from(at).unwrap())
}

fn show(at: Mono) -> u64 {
    at.0 / 1_000_000
}

fn begin(command: &Command) -> (Neli, NonZeroU32) {
    let width = NonZeroU32::new(command.number("width") as u32).unwrap();
    let config = Config {
        width,
        threshold: Duration::from_millis(command.number("threshold")),
        beacon: Duration::from_millis(command.number("beacon")),
        hold: Duration::from_millis(command.optional("hold").unwrap_or(0)),
        mode: match (command.has("fast"), command.has("exclusive"), command.optional("grace")) {
            (true, ..) => Mode::Fast,
            (_, true, _) => Mode::Exclusive,
            (.., Some(_)) => Mode::ExclusivePaper,
            (false, false, None) => Mode::NonExclusive,
        },
        pulse: if command.has("pulsed") { Pulse::Program } else { Pulse::Clock },
    };
    let grace = Duration::from_millis(command.optional("grace").unwrap_or(0));
    let core = Neli::new(Mono::ZERO, config).with_grace(grace);
    let me = Identity { group: name("g"), life: life("p1-1.1"), process: 11, address: None };
    let hands_over = command.has("handing-over");
    let core = if hands_over { core.handing_over(me, PartitionId(0)) } else { core };
    let publishers = if command.has("owners") { Publishers::Owners } else { Publishers::All };
    (core.publishing(publishers), width)
}

fn name(text: &str) -> ConsumerGroup {
    text.parse().unwrap()
}

fn life(text: &str) -> Life {
    Life::try_from(text.to_owned()).unwrap()
}

fn listed(list: &str) -> Vec<PartitionId> {
    list.split(',').filter_map(|k| k.parse().ok()).map(PartitionId).collect()
}

fn partitions(command: &Command) -> Vec<PartitionId> {
    listed(command.words.first().map_or("", String::as_str))
}

fn generation(command: &Command) -> Option<i32> {
    command.optional("generation").map(|generation| generation as i32)
}

/// Of `p1-2.3`: 23.
fn process(command: &Command) -> u64 {
    let Life { member, incarnation } = life(command.text("by").unwrap());
    let number = member.as_str().rsplit('-').next().unwrap().parse::<u64>().unwrap();
    number * 10 + u64::from(incarnation.0)
}

fn statement(command: &Command) -> Statement {
    let leads: BTreeSet<_> = listed(command.text("leads").unwrap_or("")).into_iter().collect();
    Statement {
        group: name(command.text("group").unwrap_or("g")),
        life: life(command.text("by").unwrap()),
        process: command.optional("process").unwrap_or_else(|| process(command)),
        generation: generation(command).unwrap(),
        holds: leads.clone(),
        leads,
        going: command.has("going"),
        address: None,
        inquest: Inquest::default(),
    }
}

fn stand_in(command: &Command) -> Order {
    Order::Stand(StandIn {
        partition: PartitionId(command.number("partition") as u32),
        generation: generation(command).unwrap(),
        until: ms(command.number("until")),
        of: life(command.text("of").unwrap()),
        cause: Cause::Death,
    })
}

fn apply(core: &mut Neli, width: NonZeroU32, command: &Command) -> String {
    let now = ms(command.number("at"));
    let mut out = String::new();
    match command.verb.as_str() {
        "heard" => {
            let partition = PartitionId(command.number("partition") as u32);
            let sent = command.optional("sent").map(ms);
            match command.optional("stamp") {
                Some(stamp) => core.handle_stamped(now, Heard { partition, sent }, wall(stamp)),
                None => core.handle_heard(now, Heard { partition, sent }),
            }
        }
        "offset" => {
            let partition = PartitionId(command.number("partition") as u32);
            let offset = i64::try_from(command.number("offset")).unwrap();
            if core.handle_offset(now, partition, offset) {
                out.push_str("set back\n");
            }
        }
        "assigned" => {
            let partitions = partitions(command);
            let assignment =
                Assignment { generation: generation(command), member_id: None, partitions };
            core.handle_membership(now, &Membership::Assigned(assignment));
        }
        "revoked" => core.handle_membership(now, &Membership::Revoked(partitions(command))),
        "clock" => core.handle_clock(now, wall(command.number("wall"))),
        "lost" => core.handle_membership(now, &Membership::Lost(partitions(command))),
        "timeout" => core.handle_timeout(now),
        "proof" => core.handle_proof(now, Some(ms(command.number("since")))),
        "unproved" => core.handle_proof(now, None),
        "pulse" => core.handle_pulse(now),
        "leave" => core.handle_leave(now),
        "going" => core.handle_going(now),
        "stated" => core.handle_statement(now, &statement(command)),
        "stand_in" => core.handle_order(now, &stand_in(command)),
        "owner_lives" => {
            let partition = PartitionId(command.number("partition") as u32);
            core.handle_order(now, &Order::End { partition });
        }
        "relieved" => writeln!(out, "relieved: {}", core.is_relieved(now)).unwrap(),
        "who" => {
            let led = (0..width.get()).map(PartitionId).filter(|&k| core.leads(now, k));
            let led: Vec<_> = led.map(|k| k.to_string()).collect();
            writeln!(out, "leads {}", if led.is_empty() { "none".into() } else { led.join(",") })
                .unwrap();
        }
        other => panic!("no such input: {other}"),
    }
    drain(core, &mut out);
    out
}

fn drain(core: &mut Neli, out: &mut String) {
    while let Some(event) = core.poll_event() {
        match event {
            Event::Acquired { claim, from, stands_in_for } => {
                let (k, term, until) = (claim.partition, claim.term, show(claim.until));
                let of = stands_in_for.map_or(String::new(), |of| format!(" for {of}"));
                writeln!(out, "acquired {k} term {term}: {}..{until}{of}", show(from)).unwrap();
            }
            Event::Ended { claim, why } => {
                let (k, term, at) = (claim.partition, claim.term, show(claim.until));
                writeln!(out, "ended {k} term {term} at {at}: {why:?}").unwrap();
            }
        }
    }
    let beacons: Vec<PartitionId> = std::iter::from_fn(|| core.poll_beacon()).collect();
    let stated = beacons.iter().find_map(|k| core.statement(*k));
    let beacons: Vec<_> = beacons.into_iter().map(|k| k.to_string()).collect();
    if !beacons.is_empty() {
        writeln!(out, "publish {}", beacons.join(",")).unwrap();
    }
    if let Some(Statement { generation, holds, leads, going, .. }) = stated {
        let list = |set: BTreeSet<PartitionId>| {
            let all: Vec<_> = set.into_iter().map(|k| k.to_string()).collect();
            if all.is_empty() { "none".to_owned() } else { all.join(",") }
        };
        let (holds, leads) = (list(holds), list(leads));
        let going = if going { ", going" } else { "" };
        writeln!(out, "state {generation}: holds {holds}, leads {leads}{going}").unwrap();
    }
    match core.poll_timeout() {
        Some(at) => writeln!(out, "timeout {}", show(at)).unwrap(),
        None => writeln!(out, "no timeout").unwrap(),
    }
}

#[test]
fn transcripts() {
    check_folder("neli", || {
        let mut member = None;
        move |command: &Command| {
            if command.verb == "member" {
                let (mut core, width) = begin(command);
                core.handle_timeout(Mono::ZERO);
                let mut out = String::new();
                drain(&mut core, &mut out);
                member = Some((core, width));
                return out;
            }
            let (core, width) = member.as_mut().expect("a transcript begins with `member`");
            apply(core, *width, command)
        }
    });
}
