//! Transcripts of the coordinator: `tests/data/coordinator/*.txt` of the classic protocol and
//! `tests/data/consumer/*.txt` of the newer one, which people read and `UPDATE=1 cargo test --test
//! pure` rewrites.
//!
//! A block is a request, a line of dashes, and what is answered by the end of it, to whomever.
//! Clients are called by one letter; a client goes on with the member id and the generation that it
//! was given last, unless the request says otherwise. Times are milliseconds: `at=` of a clock
//! that a test sets, and `real=` instead where a clock of the real world needs a margin. What
//! cannot be seen over a socket is not in a transcript, so that every subject is asked the same:
//! the core here; the embedded broker in `tests/measured/broker/parity.rs` and Apache Kafka in
//! `tests/measured/kafka/parity.rs`, in real time. An answer that not all give is marked:
//! `here: …`, `kafka: …`, `kafka-3.9.1: …`.

use support::coordinator::core::Core;
use support::coordinator::parity;
use support::coordinator::transcript;

fn transcripts() -> Vec<std::path::PathBuf> {
    ["coordinator", "consumer"].into_iter().flat_map(parity::transcripts).collect()
}

#[test]
fn the_core_answers_as_it_is_written() {
    let update = std::env::var("UPDATE").is_ok();
    let mut wrong = Vec::new();
    for path in transcripts() {
        let written = std::fs::read_to_string(&path).unwrap();
        let played = transcript::play(&written, |settings| Box::new(Core::new(settings)));
        if update {
            std::fs::write(&path, &played).unwrap();
        } else if let Some(difference) = transcript::first_difference(&written, &played) {
            wrong.push(format!("{}\n{difference}", path.display()));
        }
    }
    assert!(wrong.is_empty(), "{}\nUPDATE=1 rewrites them", wrong.join("\n"));
}

/// The times of `real=` leave a margin on both sides: a core whose clients are late by chance
/// answers the same.
#[test]
fn the_core_answers_so_even_where_clients_are_late() {
    for seed in 0..100 {
        for path in transcripts() {
            let written = std::fs::read_to_string(&path).unwrap();
            let late = |settings| -> Box<dyn support::coordinator::Subject> {
                Box::new(Core::late(settings, seed))
            };
            let played = transcript::play(&written, late);
            let difference = transcript::first_difference(&written, &played);
            assert!(difference.is_none(), "{} seed {seed}: {difference:?}", path.display());
        }
    }
}
