//! A member of a group that elects over ZooKeeper, as a process: the core of
//! [`neli::elections::zookeeper`](crate::neli::elections::zookeeper), driven by the client
//! `zookeeper-client`.

mod store;
pub mod tunnel;

use std::num::NonZeroU32;
use std::time::Duration;

use store::Store;

use super::other::member_arguments;
use super::tls::{self, Properties};
use super::{MemberError, over_store};
use crate::ids::Life;
use crate::neli::elections::zookeeper::{Config, ZooKeeper};

/// How long no request must succeed until the member says that it does not reach the store; at
/// least: it writes ten times in a session.
const SILENCE: Duration = Duration::from_millis(500);
/// So many writes must fail until the member says so.
const WRITES: u32 = 2;

/// The configuration of one life of one member.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ZooKeeperConfig {
    /// The member's name and incarnation.
    pub life: Life,
    /// The addresses of the servers: `host:port`, separated by commas.
    pub zookeeper: String,
    /// The folder of the group's nodes: each partition has one below it.
    pub nodes: String,
    /// The number of partitions.
    pub width: NonZeroU32,
    /// The length of the session that it asks for.
    pub session: Duration,
    /// How often it writes.
    pub heartbeat: Duration,
    /// How long a claim outlives the last write.
    pub threshold: Duration,
    /// Whether the servers are reached over TLS, and where certificates and keys are.
    pub properties: Properties,
}

impl ZooKeeperConfig {
    /// The arguments of `tandem` that start this member.
    #[must_use]
    pub fn arguments(&self) -> Vec<String> {
        let span = |span: Duration| crate::time::Span(span).to_string();
        let options = [
            ("zookeeper", self.zookeeper.clone()),
            ("nodes", self.nodes.clone()),
            ("partitions", self.width.to_string()),
            ("session", span(self.session)),
            ("heartbeat", span(self.heartbeat)),
            ("threshold", span(self.threshold)),
        ];
        let properties = tls::arguments(&self.properties);
        member_arguments(&self.life, options).into_iter().chain(properties).collect()
    }
}

/// Runs the member until a command or a signal ends it.
///
/// # Errors
/// The client or a thread cannot be set up.
pub fn run(config: &ZooKeeperConfig) -> Result<(), MemberError> {
    let ZooKeeperConfig { width, session, heartbeat, threshold, .. } = *config;
    let core = |now| ZooKeeper::new(now, Config { width, session, heartbeat, threshold });
    let store = |inputs| Ok(Store::new(config, inputs)?);
    over_store::run((&config.life, width), SILENCE.max(heartbeat * WRITES), core, store)
}
