//! A member of a group that elects over etcd, as a process: the core of
//! [`neli::elections::etcd`](crate::neli::elections::etcd), driven by etcd's JSON gateway.
//!
//! It speaks JSON over HTTP, as `reqwest` does already here: the crate `etcd-client` compiles
//! etcd's protocol files when it is built, and needs `protoc` for that.

mod store;
mod wire;

use std::num::NonZeroU32;
use std::time::Duration;

use store::Store;
pub use store::StoreError;

use super::other::member_arguments;
use super::tls::{self, Properties};
use super::{MemberError, over_store};
use crate::ids::Life;
use crate::neli::elections::etcd::{Config, Etcd};

/// How long no request must succeed until the member says that it does not reach the store.
const SILENCE: Duration = Duration::from_millis(500);

/// The configuration of one life of one member.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EtcdConfig {
    /// The member's name and incarnation.
    pub life: Life,
    /// The address of etcd: `http://host:port`, with commas if there are several.
    pub etcd: String,
    /// What the keys of the group begin with: `<prefix>/<partition>`.
    pub prefix: String,
    /// The number of partitions.
    pub width: NonZeroU32,
    /// The length of the lease that it asks for.
    pub lease: Duration,
    /// How often it renews the lease.
    pub keep_alive: Duration,
    /// Where certificates and keys for TLS are.
    pub properties: Properties,
}

impl EtcdConfig {
    /// The arguments of `tandem` that start this member.
    #[must_use]
    pub fn arguments(&self) -> Vec<String> {
        let span = |span: Duration| crate::time::Span(span).to_string();
        let options = [
            ("etcd", self.etcd.clone()),
            ("prefix", self.prefix.clone()),
            ("partitions", self.width.to_string()),
            ("lease", span(self.lease)),
            ("keep-alive", span(self.keep_alive)),
        ];
        let properties = tls::arguments(&self.properties);
        member_arguments(&self.life, options).into_iter().chain(properties).collect()
    }
}

/// Runs the member until a command or a signal ends it.
///
/// # Errors
/// The client or a thread cannot be set up.
pub fn run(config: &EtcdConfig) -> Result<(), MemberError> {
    let EtcdConfig { width, lease, keep_alive, .. } = *config;
    let core = |now| Etcd::new(now, Config { width, lease, keep_alive });
    let store = |inputs| Store::new(config, inputs).map_err(MemberError::Store);
    over_store::run((&config.life, width), SILENCE, core, store)
}
