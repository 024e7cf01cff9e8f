//! A test that starts its own Kafka broker: a service reads orders and writes bills, and the test
//! looks at what it wrote and from where it goes on.
//!
//! ```sh
//! cargo test --example broker_in_a_test
//! ```

use std::error::Error;
use std::time::Duration;

use rdkafka::consumer::{BaseConsumer, CommitMode, Consumer as _};
use rdkafka::producer::{BaseRecord, Producer as _, ThreadedProducer};
use rdkafka::{ClientConfig, Message as _};

/// Nothing here takes longer.
const PATIENCE: Duration = Duration::from_secs(60);

fn config(bootstrap: &str) -> ClientConfig {
    let mut config = ClientConfig::new();
    config.set("bootstrap.servers", bootstrap).set("enable.auto.commit", "false");
    config.set("auto.offset.reset", "earliest");
    config
}

/// The service under test: writes so many bills, one for each order, and remembers where it is.
fn bill(bootstrap: &str, count: usize) -> Result<(), Box<dyn Error>> {
    let orders: BaseConsumer = config(bootstrap).set("group.id", "billing").create()?;
    let bills: ThreadedProducer<_> = config(bootstrap).create()?;
    orders.subscribe(&["orders"])?;
    // A client reports what it meets on its way, too: a topic that is not there yet, for instance.
    let messages = orders.iter().filter_map(Result::ok).take(count);
    for order in messages {
        let bill = format!("bill for {}", text(order.payload()));
        let record = BaseRecord::<(), _>::to("bills").payload(&bill);
        bills.send(record).map_err(|(error, _)| error)?;
        bills.flush(PATIENCE)?;
        orders.commit_message(&order, CommitMode::Sync)?;
    }
    Ok(())
}

fn text(payload: Option<&[u8]>) -> String {
    String::from_utf8_lossy(payload.unwrap_or_default()).into_owned()
}

fn main() -> Result<(), Box<dyn Error>> {
    let bootstrap = std::env::args().nth(1).ok_or("usage: broker_in_a_test BOOTSTRAP")?;
    bill(&bootstrap, usize::MAX)
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroU32;

    use tandem_broker::broker::{Broker, BrokerSettings};
    use tokio::runtime::Runtime;
    use tokio::task::JoinSet;
    use tokio_util::sync::CancellationToken;

    use super::*;

    /// A broker that lives as long as this value, on a free port.
    struct TestBroker {
        bootstrap: String,
        // Dropped, it stops to serve.
        _serving: JoinSet<()>,
        _runtime: Runtime,
    }

    impl TestBroker {
        fn start() -> Self {
            // Threads of its own: the test itself may block.
            let runtime = Runtime::new().unwrap();
            let auto_create = NonZeroU32::new(1);
            let settings = BrokerSettings { auto_create, ..BrokerSettings::default() };
            let any_port = "127.0.0.1:0".parse().unwrap();
            let broker = runtime.block_on(Broker::bind(any_port, settings)).unwrap();
            let bootstrap = broker.address().to_string();
            let mut serving = JoinSet::new();
            serving.spawn_on(broker.serve(CancellationToken::new()), runtime.handle());
            Self { bootstrap, _serving: serving, _runtime: runtime }
        }

        fn order(&self, what: &str) {
            let producer: ThreadedProducer<_> = config(&self.bootstrap).create().unwrap();
            let record = BaseRecord::<(), _>::to("orders").payload(what);
            producer.send(record).map_err(|(error, _)| error).unwrap();
            producer.flush(PATIENCE).unwrap();
        }

        fn bills(&self, count: usize) -> Vec<String> {
            let mut config = config(&self.bootstrap);
            let bills: BaseConsumer = config.set("group.id", "test").create().unwrap();
            bills.subscribe(&["bills"]).unwrap();
            let messages = bills.iter().filter_map(Result::ok).take(count);
            messages.map(|bill| text(bill.payload())).collect()
        }
    }

    #[test]
    fn each_order_is_billed_once_although_the_service_starts_again() {
        let broker = TestBroker::start();
        for what in ["apples", "pears", "plums"] {
            broker.order(what);
        }
        bill(&broker.bootstrap, 2).unwrap();
        bill(&broker.bootstrap, 1).unwrap();
        assert_eq!(broker.bills(3), ["bill for apples", "bill for pears", "bill for plums"]);
    }

    #[test]
    fn a_broker_of_another_test_knows_nothing_of_this_one() {
        let (one, other) = (TestBroker::start(), TestBroker::start());
        one.order("apples");
        other.order("cherries");
        bill(&other.bootstrap, 1).unwrap();
        assert_eq!(other.bills(1), ["bill for cherries"]);
    }
}
