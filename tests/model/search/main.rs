//! Every schedule of a small group. The cores of its members and of its coordinator are those that
//! are shipped; the network, the clock and the faults are choices of the search.
//!
//! A member sends heartbeats and commits each quarter of a session, and the clock goes on in
//! eighths of a session. Instants count from now, and of ids only their equality counts, so a group
//! that has recovered is in a state that is known. Most searches therefore end without a horizon:
//! what they find holds however long a fault lasts.
//!
//! `cargo test --workspace --features tls --test model -- --nocapture` prints how many states.

#![allow(clippy::print_stderr, reason = "a search says how many states it has seen")]

mod by_paper;
mod calm;
mod core;
mod fingerprint;
mod hub;
mod large;
mod moves;
mod newer;
mod newer_planted;
mod planted;
mod seat;
mod setting;
mod small;
mod story;
mod twice;
mod world;

use calm::Calm;
use moves::{GIVES_UP, ONCE, SETTLES, Search};
use setting::Setting;
use stateright::{Checker as _, HasDiscoveries, Model as _};

/// Searches all states, or up to the first mistake; the story of that, if there is one.
fn search(name: &str, setting: Setting) -> Option<String> {
    let model = Search { calm: Calm::new(&setting), setting };
    let checker = model.checker().finish_when(HasDiscoveries::AnyFailures).spawn_bfs().join();
    let states = checker.unique_state_count();
    let settles = checker.model().calm.longest().map_or_else(String::new, |ticks| {
        format!(", all partitions led at most {ticks}/8 of a session after the last fault")
    });
    eprintln!("{name}: {states} states{settles}");
    let found = [ONCE, SETTLES, GIVES_UP].into_iter().find_map(|what| {
        let path = checker.discovery(what)?;
        Some(format!("not: {what}\n{}", story::text(path)))
    });
    if found.is_none() {
        assert!(checker.is_done(), "{name}: the search has not ended");
    }
    found
}

/// Searches all states, and finds no mistake.
fn holds(name: &str, setting: Setting) {
    if let Some(story) = search(name, setting) {
        panic!("{name}: {story}");
    }
}
