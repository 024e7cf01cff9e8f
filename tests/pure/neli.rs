//! The protocol of one member, as transcripts under `tests/data/neli/`: an input a line, and below
//! `----` what comes out of it. `UPDATE=1 cargo test --test pure` rewrites them.
//!
//! Inputs: `member width=W threshold=MS beacon=MS [hold=MS]` begins, at 0; `fast`, `exclusive` and
//! `pulsed` behind it choose the mode and the pacing of the beacons. Then, each with `at=MS`:
//! `heard partition=K` (`sent=MS` of a message of its own), `proof since=MS`, `unproved`, `pulse`,
//! `assigned K,K`, `revoked K,K`, `lost K,K`, `timeout`, `leave`, and `who`, which asks for the
//! partitions led. Instants are milliseconds.

#![allow(
    clippy::as_conversions,
    clippy::cast_possible_truncation,
    reason = "a test may fail loudly"
)]

use std::fmt::Write;
use std::num::NonZeroU32;
use std::time::Duration;

use support::transcript::{Command, check_folder};
use tandem::ids::PartitionId;
use tandem::neli::{Assignment, Config, Event, Heard, Membership, Neli, Pulse};
use tandem::observation::Mode;
use tandem::time::Mono;

fn ms(at: u64) -> Mono {
    Mono::ZERO + Duration::from_millis(at)
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
        mode: match (command.has("fast"), command.has("exclusive")) {
            (true, _) => Mode::Fast,
            (_, true) => Mode::Exclusive,
            (false, false) => Mode::NonExclusive,
        },
        pulse: if command.has("pulsed") { Pulse::Program } else { Pulse::Clock },
    };
    (Neli::new(Mono::ZERO, config), width)
}

fn partitions(command: &Command) -> Vec<PartitionId> {
    let list = command.words.first().map_or("", String::as_str);
    list.split(',').filter_map(|k| k.parse().ok()).map(PartitionId).collect()
}

fn apply(core: &mut Neli, width: NonZeroU32, command: &Command) -> String {
    let now = ms(command.number("at"));
    let mut out = String::new();
    match command.verb.as_str() {
        "heard" => {
            let partition = PartitionId(command.number("partition") as u32);
            let sent = command.optional("sent").map(ms);
            core.handle_heard(now, Heard { partition, sent });
        }
        "assigned" => {
            let partitions = partitions(command);
            let assignment = Assignment { generation: None, member_id: None, partitions };
            core.handle_membership(now, &Membership::Assigned(assignment));
        }
        "revoked" => core.handle_membership(now, &Membership::Revoked(partitions(command))),
        "lost" => core.handle_membership(now, &Membership::Lost(partitions(command))),
        "timeout" => core.handle_timeout(now),
        "proof" => core.handle_proof(now, Some(ms(command.number("since")))),
        "unproved" => core.handle_proof(now, None),
        "pulse" => core.handle_pulse(now),
        "leave" => core.handle_leave(now),
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
            Event::Acquired { claim, from } => {
                let (k, term, until) = (claim.partition, claim.term, show(claim.until));
                writeln!(out, "acquired {k} term {term}: {}..{until}", show(from)).unwrap();
            }
            Event::Ended { claim, why } => {
                let (k, term, at) = (claim.partition, claim.term, show(claim.until));
                writeln!(out, "ended {k} term {term} at {at}: {why:?}").unwrap();
            }
        }
    }
    let beacons: Vec<_> =
        std::iter::from_fn(|| core.poll_beacon()).map(|k| k.to_string()).collect();
    if !beacons.is_empty() {
        writeln!(out, "publish {}", beacons.join(",")).unwrap();
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
