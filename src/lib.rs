//! Tandem keeps a set of roles led all the time by several disjoint leader elections on Kafka
//! consumer groups. It measures under injected faults how long a role had no leader (a gap) or two
//! leaders (an overlap).
//!
//! ```text
//!  topology.yaml --> plan --> provision --> fleet starts members  [neli <-> kafka]
//!                                             ^    |
//!  experiment.yaml --> schedule --> chaos ----+    | facts, one pipe per member
//!                                     |            v
//!                                     +-------> journal --> timeline --> verdict --> report
//! ```
//!
//! # The crates and rooms, from the ground up
//!
//! A room is a module with one subject. A crate or room uses only those above it in this list;
//! `tests/files/tidy.rs` checks that. Crates are in `crates/`.
//!
//! | crate | room | holds |
//! |---|---|---|
//! | `tandem-facts` | [`ids`], [`time`] | a type for every identifier; two clocks |
//! | | [`observation`] | the facts of members and of the controller |
//! | `tandem-host` | [`host`], [`secret`] | the users of connections and files; secrets |
//! | | [`error`], [`shown`] | errors, and foreign text made safe for a terminal |
//! | `tandem-neli` | [`neli`] | the protocol of one member, pure |
//! | `tandem-broker` | [`groups`], [`wire`] | consumer groups, and Kafka as bytes, pure |
//! | | [`broker`] | the embedded broker: sockets and logs around both |
//! | `tandem-edge` | [`edge`] | the fault proxy: one edge per client and broker |
//! | `tandem-member` | [`kafka`] | the only room that names rdkafka |
//! | | [`tandem_member`] | one member, as a library |
//! | `tandem-judge` | [`roster`], [`statistics`] | groups, members, roles; statistics |
//! | | [`timeline`], [`live`] | intervals from facts, after a run and live |
//! | | [`verdict`] | verdict and numbers from intervals |
//! | `tandem` | [`built`], [`yaml`] | the commit of the build; parsing of YAML with positions |
//! | | [`slots`] | a listener with a bounded number of connections |
//! | | `http` | a server of HTTP with bounds on what a client can hold |
//! | | `secured` | the TLS of members whose traffic passes through edges |
//! | | [`topology`] | the topology, its plan, and the bounds |
//! | | [`live_view`], [`html_report`] | the state of a topology; a run as one HTML file |
//! | | [`journal`] | the append-only file with every fact |
//! | | [`fold`] | the live fold of a run, shared by its readers |
//! | | [`guard`] | a process that undoes a run when its controller is gone |
//! | | [`telemetry`] | OpenTelemetry: traces, metrics and logs |
//! | | [`status_socket`] | the socket of `tandem up` for its status and events |
//! | | [`supervision`] | what a supervisor says, and who listens |
//! | | [`member`] | a member as a process: its facts, its duty, its orders |
//! | | [`controller`] | carries out the plan, and records what happens |
//! | | [`hold`] | a program of the user holds a role |
//! | | [`chaos`] | experiments: schedule, targets, faults and how they are healed |
//! | | [`run`] | a whole experiment; a topology that is kept up |
//! | | [`cli`] | the commands |
//!
//! # Rules for all rooms
//!
//! - A pure room has no I/O, clock or randomness: `now` is an argument.
//! - [`Mono`](time::Mono) measures durations, [`Wall`](time::Wall) is the timestamp of a broker;
//!   they are never compared.
//! - A timer may be late, so every handler first advances the time.
//! - What could not be observed is unknown, and never a pass.
//! - Everything is bounded: queues, waits, memory, files. To shut something down: ask, wait, kill.

// Tests may panic, other code may not. All other lints are set for the package.
#![warn(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stderr,
    clippy::print_stdout,
    clippy::unwrap_used,
    clippy::wildcard_enum_match_arm
)]

pub use tandem_broker::{broker, groups, wire};
pub use tandem_edge as edge;
pub use tandem_facts::{ids, observation, roles, time};
pub use tandem_host::{self as host, error, secret, shown};
pub use tandem_judge::{live, roster, statistics, timeline, verdict};
pub use tandem_member::kafka;
pub use tandem_neli as neli;

pub mod built;
mod http;
pub mod slots;

mod secured;

pub mod yaml;

pub mod topology;

pub mod live_view;

pub mod html_report;

pub mod fold;
pub mod guard;
pub mod journal;

pub mod telemetry;

pub mod external;
pub mod member;
pub mod status_socket;
pub mod supervision;

pub mod controller;

pub mod hold;

pub mod chaos;

pub mod run;

pub mod cli;
