//! Embedded brokers for as long as a test runs.

use std::net::SocketAddr;

use tandem::broker::{Broker, BrokerSettings};
use tandem::groups;
use tokio::runtime::Runtime;
use tokio_util::sync::CancellationToken;

/// All brokers end with this value.
pub struct Embedded(Option<Runtime>);

impl Embedded {
    pub fn new() -> Self {
        let mut builder = tokio::runtime::Builder::new_multi_thread();
        Self(Some(builder.worker_threads(1).enable_all().build().unwrap()))
    }

    /// One more, with these rules for groups.
    pub fn start(&self, groups: groups::CoordinatorSettings) -> SocketAddr {
        let runtime = self.0.as_ref().unwrap();
        let listen = SocketAddr::from(([127, 0, 0, 1], 0));
        let settings = BrokerSettings { groups, ..BrokerSettings::default() };
        let broker = runtime.block_on(Broker::bind(listen, settings)).unwrap();
        let address = broker.address();
        drop(runtime.spawn(broker.serve(CancellationToken::new())));
        address
    }
}

impl Drop for Embedded {
    fn drop(&mut self) {
        self.0.take().unwrap().shutdown_background();
    }
}
