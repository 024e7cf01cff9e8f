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
//! # The rooms, from the ground up
//!
//! A room uses only what stands above it in this list; `tests/tidy.rs` holds everybody to that.
//!
//! | room | holds |
//! |---|---|
//! | [`ids`], [`time`], [`error`] | a type for every identifier; two clocks; how errors are told |
//! | [`built`] | the commit that this program was built from |
//! | [`shown`] | text of others, as a terminal may show it; pure |
//! | [`host`] | what the kernel says: who holds the other end, whose a file is, descriptors |
//! | [`statistics`] | what so many trials say about those to come; pure |
//! | [`observation`] | the facts: who, when, what; a member's and the controller's |
//! | [`yaml`] | files as people write them; what is wrong, and where |
//! | [`neli`] | the protocol of one member, pure |
//! | [`groups`] | the coordinator of consumer groups, pure |
//! | [`wire`] | Kafka's frames, requests and record batches as bytes, pure |
//! | [`topology`] | what is wanted; the plan in which everything is decided; the bounds |
//! | [`secret`] | passwords, fetched at the last moment from where they stand |
//! | [`timeline`] | facts to intervals: who led when, where nobody or two did; the live view |
//! | [`watch`] | facts as they come: who leads what now, gaps and overlaps as they happen |
//! | [`verdict`] | intervals to judgement and numbers |
//! | [`view`] | what is shown of a topology that is kept up: values, lines, a terminal's page |
//! | [`page`] | a run as one HTML file |
//! | [`journal`] | the append-only file that holds every fact |
//! | [`kafka`] | the only room that names rdkafka: consumer, producer, admin |
//! | [`broker`] | the embedded broker: sockets and logs around `groups` and `wire` |
//! | [`edge`] | the fault proxy: one edge a client and broker, in a process of its own |
//! | [`guard`] | a small process that undoes what its dead master cannot |
//! | [`inquiry`] | the socket on which a run that goes on is asked how it stands |
//! | [`telemetry`] | facts to OpenTelemetry: traces and logs, as a file and over OTLP |
//! | [`member`] | one process: the core driven by Kafka, its channel, its duty |
//! | [`controller`] | makes reality match the plan, and writes down what happens |
//! | [`chaos`] | experiments: schedule, targets, faults with their heals |
//! | [`run`] | a whole experiment on one page; a topology that is kept up, on another |
//! | [`cli`] | the commands |
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
pub use tandem_facts::{ids, observation, time};
pub use tandem_host::{self as host, error, secret, shown};
pub use tandem_judge::{roster, statistics, timeline, verdict, watch};
pub use tandem_member::kafka;
pub use tandem_neli as neli;

pub mod built;

pub mod yaml;

pub mod topology;

pub mod view;

pub mod page;

pub mod guard;
pub mod journal;

pub mod telemetry;

pub mod inquiry;
pub mod member;

pub mod controller;

pub mod chaos;

pub mod run;

pub mod cli;
