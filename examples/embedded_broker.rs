//! An embedded broker in a test: it starts inside the program, on a free port, and any Kafka client
//! speaks to it.
//!
//! ```sh
//! cargo run --example embedded_broker
//! ```

use std::error::Error;
use std::time::Duration;

use rdkafka::ClientConfig;
use rdkafka::Message as _;
use rdkafka::admin::{AdminClient, AdminOptions, NewTopic, TopicReplication};
use rdkafka::client::DefaultClientContext;
use rdkafka::consumer::{BaseConsumer, Consumer as _};
use rdkafka::producer::{FutureProducer, FutureRecord};
use tandem_broker::broker::{Broker, BrokerSettings};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

/// Nothing here takes longer.
const PATIENCE: Duration = Duration::from_secs(60);

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let broker = Broker::bind("127.0.0.1:0".parse()?, BrokerSettings::default()).await?;
    let address = broker.address().to_string();
    let stop = CancellationToken::new();
    let mut serving = JoinSet::new();
    serving.spawn(broker.serve(stop.clone()));

    let mut config = ClientConfig::new();
    config.set("bootstrap.servers", &address).set("group.id", "readers");
    config.set("auto.offset.reset", "earliest");
    let admin: AdminClient<DefaultClientContext> = config.create()?;
    let topic = NewTopic::new("orders", 1, TopicReplication::Fixed(1));
    admin.create_topics([&topic], &AdminOptions::new()).await?;

    let producer: FutureProducer = config.create()?;
    let record = FutureRecord::to("orders").key("7").payload("buy 100");
    producer.send(record, PATIENCE).await.map_err(|(error, _)| error)?;

    let consumer: BaseConsumer = config.create()?;
    consumer.subscribe(&["orders"])?;
    let message = tokio::task::spawn_blocking(move || {
        // The client reports what it meets on its way, too.
        let message = consumer.iter().find_map(Result::ok)?;
        Some(String::from_utf8_lossy(message.payload()?).into_owned())
    });
    println!(
        "read {:?} from {address}",
        tokio::time::timeout(PATIENCE, message).await??.ok_or("nothing was read")?
    );

    stop.cancel();
    serving.join_all().await;
    Ok(())
}
