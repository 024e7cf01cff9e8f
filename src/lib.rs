//! Tandem keeps a set of roles led all the time by several disjoint leader elections on Kafka
//! consumer groups, and measures under injected faults for how long a role was led by nobody (a
//! gap) or by two (an overlap).
//!
//! ```text
//!  topology.yaml --> plan --> provision --> fleet starts members  [neli <-> kafka]
//!                                             ^    |
//!  experiment.yaml --> schedule --> chaos ----+    | facts, on a pipe a member
//!                                     |            v
//!                                     +-------> journal --> timeline --> verdict --> report
//! ```
//!
//! # The crates and rooms, from the ground up
//!
//! A crate or a room uses only what stands above it in this list; `tests/files/tidy.rs` holds them
//! to that. Crates are under `crates/`, and stand here under the names of their rooms.
//!
//! | crate | room | holds |
//! |---|---|---|
//! | `tandem-facts` | [`ids`], [`time`] | a type for every identifier; two clocks |
//! | | [`observation`] | the facts: who, when, what; a member's and the controller's |
//! | `tandem-host` | [`host`], [`secret`] | who holds the other end, whose a file is; secrets |
//! | | [`error`], [`shown`] | errors and foreign text, as a terminal may show them |
//! | `tandem-neli` | [`neli`] | the protocol of one member, pure |
//! | `tandem-broker` | [`groups`], [`wire`] | consumer groups, and Kafka as bytes, pure |
//! | | [`broker`] | the embedded broker: sockets and logs around both |
//! | `tandem-edge` | [`edge`] | the fault proxy: one edge a client and broker |
//! | `tandem-member` | [`kafka`] | the only room that names rdkafka |
//! | | [`tandem_member`] | one member, as a library |
//! | `tandem-judge` | [`roster`], [`statistics`] | what judging must know; what trials say |
//! | | [`timeline`], [`live`] | facts to intervals, afterwards and as they come |
//! | | [`verdict`] | intervals to judgement and numbers |
//! | `tandem` | [`built`], [`yaml`] | the commit of the build; files as people write them |
//! | | [`topology`] | what is wanted; the plan in which everything is decided; the bounds |
//! | | [`live_view`], [`html_report`] | what is shown of a topology; a run as one HTML file |
//! | | [`journal`] | the append-only file that holds every fact |
//! | | [`fold`] | the live fold of a run, shared by its readers |
//! | | [`guard`] | a small process that undoes what its dead master cannot |
//! | | [`telemetry`] | facts to OpenTelemetry: traces, metrics and logs |
//! | | [`status_socket`] | the socket on which a run that goes on is asked how it stands |
//! | | [`member`] | a member as a process: its channel, its duty, its orders |
//! | | [`controller`] | makes reality match the plan, and writes down what happens |
//! | | [`chaos`] | experiments: schedule, targets, faults with their heals |
//! | | [`run`] | a whole experiment on one page; a topology that is kept up, on another |
//! | | [`cli`] | the commands |
//!
//! # What holds everywhere
//!
//! - A pure room has no I/O, clock or chance inside: `now` is an argument.
//! - [`Mono`](time::Mono) measures, [`Wall`](time::Wall) is what brokers stamp; they never meet.
//! - The alarm wakes, the clock decides: every handler first lets time pass.
//! - What nobody could observe is unknown, and never a pass.
//! - Everything is bounded: queues, waits, memory, files. Shutdown is ask, wait, kill.

// A test may fail loudly, what is shipped may not; all other lints are those of the package.
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

pub mod yaml;

pub mod topology;

pub mod live_view;

pub mod html_report;

pub mod fold;
pub mod guard;
pub mod journal;

pub mod telemetry;

pub mod member;
pub mod status_socket;

pub mod controller;

pub mod chaos;

pub mod run;

pub mod cli;
