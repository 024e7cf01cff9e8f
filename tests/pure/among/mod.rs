//! Elections among members: the core of one member as transcripts, and several members in virtual
//! time, with planted mistakes. An election is one file, which says its words.
//!
//! Inputs: `member me=N of=N width=W session=MS heartbeat=MS` begins, at 0; with `votes=G:P,…` (of
//! each partition the number in which it voted last, and for whom, or `-`) it is not its first
//! life. Then, each with `at=MS`: `saved number=N`; `timeout`, `leave`; and the words of the
//! election, with `from=N partition=K` and their number. What comes out: changes, messages, saves
//! with their numbers, claims, the next timeout. Instants are milliseconds.

mod allcall;
mod bully;
mod generation;
mod quorum_lease;
mod ring;
mod world;
mod zab;

use std::collections::BTreeMap;
use std::fmt::Write;
use std::num::NonZeroU32;
use std::time::Duration;

use support::transcript::{Command, check_folder};
use tandem::ids::PartitionId;
use tandem::neli::elections::among::{
    Ballot, Config, Elects, Generation, Member, Message, Peer, Votes,
};
use tandem::time::Mono;

use super::shown::{self, show};

/// How an election is written in transcripts, and how the shell's mistakes are made in it.
trait Spoken: Elects {
    /// The folder of its transcripts.
    const FOLDER: &'static str;
    /// The key of a message's number, and what stands before it in an output; none if messages
    /// have none.
    const NUMBER: Option<(&'static str, &'static str)>;

    /// The message of this word; the instant is that of `sent=MS`.
    fn word(word: &str, sent: impl Fn() -> Mono) -> Option<Self::Word>;

    fn shown(word: Self::Word) -> String;

    /// When a message was sent that proves something, once it is answered.
    fn sent(_: Self::Word) -> Option<Mono> {
        None
    }

    /// The answer, as if it were one to the message sent at this instant.
    fn counted_from(word: Self::Word, _: Mono) -> Self::Word {
        word
    }

    /// Whether only the leader of its number says it.
    fn is_leaders(_: Self::Word) -> bool {
        false
    }

    /// Whether it ends the claim of one that hears it, where a claim ends by others' words alone.
    fn ends_claims(_: Self::Word) -> bool {
        false
    }
}

fn ms(at: u64) -> Mono {
    Mono::ZERO + Duration::from_millis(at)
}

fn peer(number: u64) -> Peer {
    Peer(u16::try_from(number).unwrap())
}

fn ballot(text: &str) -> Ballot {
    let (generation, vote) = text.split_once(':').expect("a vote is written G:P");
    let vote = (vote != "-").then(|| Peer(vote.parse().unwrap()));
    Ballot { generation: Generation(generation.parse().unwrap()), vote }
}

fn begin<E: Spoken>(command: &Command) -> Member<E> {
    let config = Config {
        me: peer(command.number("me")),
        members: u16::try_from(command.number("of")).unwrap(),
        width: NonZeroU32::new(u32::try_from(command.number("width")).unwrap()).unwrap(),
        session: Duration::from_millis(command.number("session")),
        heartbeat: Duration::from_millis(command.number("heartbeat")),
        seed: 1,
    };
    let votes = command.text("votes").map(|text| Votes(text.split(',').map(ballot).collect()));
    Member::new(Mono::ZERO, config, votes.as_ref())
}

fn apply<E: Spoken>(core: &mut Member<E>, command: &Command) {
    let now = ms(command.number("at"));
    match command.verb.as_str() {
        "timeout" => core.handle_timeout(now),
        "leave" => core.handle_leave(now),
        "saved" => core.handle_saved(now, command.number("number")),
        verb => {
            let kind = E::word(verb, || ms(command.number("sent")));
            let message = Message {
                partition: PartitionId(u32::try_from(command.number("partition")).unwrap()),
                generation: Generation(E::NUMBER.map_or(0, |(key, _)| command.number(key))),
                kind: kind.unwrap_or_else(|| panic!("{verb} is no input")),
            };
            core.handle_message(now, peer(command.number("from")), message);
        }
    }
}

fn drain<E: Spoken>(core: &mut Member<E>) -> String {
    let mut out = String::new();
    while let Some(event) = core.poll_event() {
        out += &shown::change(&event, |k| core.fence(k).map(|fence| fence.0));
    }
    // What goes to several is one line.
    let mut lines: Vec<(String, Vec<u16>)> = Vec::new();
    while let Some((to, Message { partition, generation, kind })) = core.poll_message() {
        let number = E::NUMBER.map(|(_, before)| format!(" in {before}{generation}"));
        let line = format!("{} on {partition}{}", E::shown(kind), number.unwrap_or_default());
        match lines.iter_mut().find(|(known, _)| *known == line) {
            Some((_, peers)) => peers.push(to.0),
            None => lines.push((line, vec![to.0])),
        }
    }
    for (line, peers) in lines {
        writeln!(out, "to {peers:?}: {line}").unwrap();
    }
    while let Some((number, votes)) = core.poll_save() {
        let vote = |it: &Ballot| {
            let vote = it.vote.map_or_else(|| "-".to_owned(), |peer| peer.0.to_string());
            format!("{}:{vote}", it.generation)
        };
        let votes: Vec<_> = votes.0.iter().map(vote).collect();
        writeln!(out, "save #{number} {}", votes.join(",")).unwrap();
    }
    let claims: BTreeMap<_, _> = core.claims().map(|it| (it.partition.0, show(it.until))).collect();
    if !claims.is_empty() {
        writeln!(out, "claims {claims:?}").unwrap();
    }
    out += &shown::timeout(core.poll_timeout(), core.is_gone());
    out
}

fn transcripts<E: Spoken>() {
    check_folder(E::FOLDER, || {
        let mut member = None;
        move |command: &Command| {
            if command.verb == "member" {
                return drain(member.insert(begin::<E>(command)));
            }
            let core = member.as_mut().expect("a transcript begins with `member`");
            apply(core, command);
            drain(core)
        }
    });
}

/// The tests that an election passes; its votes are on disks, and it counts from the send.
macro_rules! passes {
    ($election:ty) => {
        #[test]
        fn transcripts() {
            super::transcripts::<$election>();
        }

        #[test]
        fn two_never_lead_fences_rise_and_all_are_led_in_the_end() {
            super::world::holds::<$election>();
        }

        #[test]
        fn votes_that_are_not_on_the_disk_give_a_fence_twice() {
            super::world::finds_forgotten_votes::<$election>();
        }

        #[test]
        fn a_lease_counted_from_the_answer_makes_two_leaders() {
            super::world::finds_counting_from_the_answer::<$election>();
        }

        #[test]
        fn a_voter_that_starts_again_and_votes_at_once_makes_two_leaders() {
            super::world::finds_votes_at_once::<$election>();
        }
    };
}
use passes;

/// The tests that an election passes whose leaders lead on their own word.
macro_rules! agrees {
    ($election:ty) => {
        #[test]
        fn transcripts() {
            super::transcripts::<$election>();
        }

        #[test]
        fn one_leads_in_the_end() {
            super::world::holds::<$election>();
        }

        #[test]
        fn two_lead_while_they_do_not_reach_each_other() {
            super::world::shows_two_leaders::<$election>();
        }

        #[test]
        fn members_that_are_deaf_to_leaders_lead_for_ever() {
            super::world::finds_deafness::<$election>();
        }
    };
}
use agrees;
