//! The mesh of one member, as transcripts under `tests/data/mesh/`: an input a line, and below
//! `----` what comes out of it. `UPDATE=1 cargo test --test pure` rewrites them.
//!
//! Inputs: `mesh life=L stand_in=MS [suspect=MS]` begins, at 0. Then, each with `at=MS`: `own
//! generation=G holds=K,K leads=K,K [going]`; `ledger life=L generation=G holds=K,K leads=K,K
//! [address=A] [going] [stranger] [asks=N] [answers=N]`, the last two of this member, and the same
//! `word link=N …` for what is stated on a link; `notice link=N dead=L [generation=G holds=K,K]`;
//! `linked link=N life=L`, `ended link=N`, `ask link=N`, `alive link=N`, `goodbye link=N`, `hangup
//! link=N`, `undialed life=L`, `timeout`, `leave`. Instants are milliseconds. `process=N` tells a
//! process from its twin of the same name.

#![allow(
    clippy::as_conversions,
    clippy::cast_possible_truncation,
    reason = "a test may fail loudly"
)]

use std::collections::BTreeSet;
use std::fmt::Write;
use std::time::Duration;

use support::transcript::{Command, check_folder};
use tandem::ids::{Life, PartitionId};
use tandem::neli::Statement;
use tandem::neli::mesh::{
    Inquest, LinkId, Mesh, MeshConfig, Notice, Order, Process, Share, StandIn, Word,
};
use tandem::time::Mono;

fn ms(at: u64) -> Mono {
    Mono::ZERO + Duration::from_millis(at)
}

fn life(command: &Command, key: &str) -> Life {
    Life::try_from(command.values[key].clone()).unwrap()
}

/// Of the member's only process, if no `process=N` says otherwise.
fn process(command: &Command, key: &str) -> Process {
    Process { life: life(command, key), number: command.optional("process").unwrap_or(0) }
}

fn partitions(command: &Command, key: &str) -> BTreeSet<PartitionId> {
    let list = command.values.get(key).map_or("", String::as_str);
    list.split(',').filter_map(|k| k.parse().ok()).map(PartitionId).collect()
}

fn shown(partitions: &BTreeSet<PartitionId>) -> String {
    let all: Vec<String> = partitions.iter().map(ToString::to_string).collect();
    if all.is_empty() { "nothing".to_owned() } else { all.join(",") }
}

fn begin(command: &Command) -> Mesh {
    let config = MeshConfig {
        group: "g".parse().unwrap(),
        me: process(command, "life"),
        stand_in: Duration::from_millis(command.number("stand_in")),
        suspect: command.optional("suspect").map(Duration::from_millis),
    };
    Mesh::new(Mono::ZERO, config)
}

/// What the author asks and answers the member of the transcript.
fn inquest(command: &Command, me: &Life) -> Inquest {
    let me = Process { life: me.clone(), number: 0 };
    let of = |key| {
        let number = command.optional(key).map(|number| number as u32);
        number.map(|number| (me.clone(), number)).into_iter().collect()
    };
    Inquest { asks: of("asks"), answers: of("answers") }
}

fn statement(command: &Command, life: Life, me: &Life) -> Statement {
    Statement {
        group: if command.has("stranger") { "other" } else { "g" }.parse().unwrap(),
        life,
        process: command.optional("process").unwrap_or(0),
        generation: command.number("generation") as i32,
        holds: partitions(command, "holds"),
        leads: partitions(command, "leads"),
        going: command.has("going"),
        address: command.values.get("address").cloned(),
        inquest: inquest(command, me),
    }
}

fn apply(mesh: &mut Mesh, me: &Life, command: &Command) {
    let now = ms(command.number("at"));
    let link = command.optional("link").map(LinkId);
    let mut word = |word: Word| mesh.handle_word(now, link.unwrap(), word);
    match command.verb.as_str() {
        "own" => mesh.handle_own(now, statement(command, me.clone(), me)),
        "ledger" => mesh.handle_statement(now, &statement(command, life(command, "life"), me)),
        "word" => word(Word::Statement(statement(command, life(command, "life"), me))),
        "notice" => {
            let generation = command.optional("generation").map(|it| it as i32);
            let partitions = partitions(command, "holds");
            let share = generation.map(|generation| Share { generation, partitions });
            word(Word::Notice(Notice { dead: process(command, "dead"), share }));
        }
        "ask" => word(Word::Ask),
        "alive" => word(Word::Alive),
        "goodbye" => word(Word::Goodbye),
        "hangup" => word(Word::Hangup),
        "linked" => mesh.handle_linked(now, link.unwrap(), &process(command, "life")),
        "ended" => mesh.handle_ended(now, link.unwrap()),
        "undialed" => mesh.handle_undialed(now, &process(command, "life")),
        "timeout" => mesh.handle_timeout(now),
        "leave" => mesh.handle_leave(now),
        other => panic!("no such input: {other}"),
    }
}

fn drain(mesh: &mut Mesh) -> String {
    let mut out = String::new();
    while let Some(order) = mesh.poll_order() {
        match order {
            Order::Stand(StandIn { partition, generation, until, of, cause }) => {
                let until = until.0 / 1_000_000;
                writeln!(
                    out,
                    "stand in for {of} on {partition} (generation {generation}) until {until}: \
                     {cause:?}"
                )
            }
            Order::End { partition } => writeln!(out, "end the stand-in on {partition}"),
        }
        .unwrap();
    }
    if let Some(Inquest { asks, answers }) = mesh.poll_inquest() {
        let list = |all: std::collections::BTreeMap<Process, u32>| {
            let all: Vec<_> = all.iter().map(|(of, n)| format!(" {of} ({n})")).collect();
            if all.is_empty() { " nobody".to_owned() } else { all.concat() }
        };
        writeln!(out, "ledger: asks{}, answers{}", list(asks), list(answers)).unwrap();
    }
    while let Some((LinkId(link), word)) = mesh.poll_word() {
        let word = match word {
            Word::Statement(it) => {
                format!("generation {} holds {}", it.generation, shown(&it.holds))
            }
            Word::Notice(Notice { dead, share: Some(Share { generation, partitions }) }) => {
                format!("{dead} is dead; {} in generation {generation}", shown(&partitions))
            }
            Word::Notice(Notice { dead, share: None }) => format!("{dead} is dead"),
            Word::Dead(Notice { dead, share }) => {
                let owned = share.map(|it| shown(&it.partitions)).unwrap_or_default();
                format!("{dead} was dead before; {owned}")
            }
            Word::Ask | Word::Alive | Word::Goodbye | Word::Hangup => format!("{word:?}"),
        };
        writeln!(out, "to {link}: {word}").unwrap();
    }
    while let Some(LinkId(link)) = mesh.poll_close() {
        writeln!(out, "close {link}").unwrap();
    }
    while let Some((life, address)) = mesh.poll_dial() {
        writeln!(out, "dial {life} at {address}").unwrap();
    }
    if let Some(at) = mesh.poll_timeout() {
        writeln!(out, "timeout {}", at.0 / 1_000_000).unwrap();
    }
    out
}

#[test]
fn transcripts() {
    check_folder("mesh", || {
        let mut subject = None;
        move |command: &Command| {
            if command.verb == "mesh" {
                let mut mesh = begin(command);
                let out = drain(&mut mesh);
                subject = Some((mesh, life(command, "life")));
                return out;
            }
            let (mesh, me) = subject.as_mut().expect("a transcript begins with `mesh`");
            apply(mesh, me, command);
            drain(mesh)
        }
    });
}
