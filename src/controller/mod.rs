//! The controller: carries out the plan. It provisions topics, starts brokers, edges and members,
//! keeps members alive, and records what happens to them.

mod broker_address;
mod brokers;
mod canary;
mod cluster;
mod created;
mod departure;
mod deployed;
mod edges;
mod embedded;
mod facts_topic;
mod fleet;
mod gate;
mod log_file;
mod own_members;
mod preflight;
mod process;
mod processors;
mod provision;
mod recorder;
mod revival;
mod secured;
mod sentinel;
mod slot;
mod stop_watcher;
mod suspend_watch;
mod twin;

pub use broker_address::{BrokerQuery, broker_address};
pub use brokers::{Broker, BrokerError};
pub use canary::Canary;
pub use cluster::{ClusterError, Clusters};
pub use created::{Created, Entry};
pub use edges::{Edges, EdgesError};
pub use fleet::Fleet;
pub use gate::{Gate, Unsettled};
pub use own_members::own_members;
pub use preflight::{Answers, inspect};
pub use process::{Process, ProcessEnd, ProcessError};
pub use provision::{ProvisionError, Provisioned, down, provision};
pub use recorder::{Recorder, Unflushed};
pub use sentinel::Sentinels;
pub use slot::{Phase, Slot, State};
pub use stop_watcher::{LOOK_CLOSELY, LOOK_NOW_AND_THEN};
pub use suspend_watch::SuspendWatch;
pub use twin::{Twin, TwinError};
