//! Two members of one group, embedded in a program: each leads a part of the partitions, and when
//! one leaves, the other leads them all.
//!
//! ```sh
//! cargo run --example two_members
//! ```

use std::error::Error;
use std::num::NonZeroU32;
use std::time::Duration;

use tandem_broker::broker::{Broker, BrokerSettings};
use tandem_facts::ids::{Life, PartitionId};
use tandem_facts::time::Span;
use tandem_member::kafka::{Admin, Cluster, TopicSettings};
use tandem_member::{Config, Member};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

const WIDTH: NonZeroU32 = NonZeroU32::MIN.saturating_add(3);
/// It is waited for a state no longer than this.
const PATIENCE: Duration = Duration::from_secs(60);
const LOOK: Duration = Duration::from_millis(20);

fn config(life: &str, cluster: &Cluster) -> Result<Config, Box<dyn Error>> {
    let life = Life::try_from(life.to_owned())?;
    Ok(Config::new(life, cluster.clone(), "ledger".parse()?, WIDTH, "pricing".parse()?))
}

fn led(member: &Member) -> Vec<u32> {
    (0..WIDTH.get()).filter(|number| member.leads(PartitionId(*number))).collect()
}

/// Waits until something holds.
async fn until(what: &str, holds: impl Fn() -> bool) -> Result<(), Box<dyn Error>> {
    let waits = async {
        while !holds() {
            tokio::time::sleep(LOOK).await;
        }
    };
    let waited = tokio::time::timeout(PATIENCE, waits).await;
    waited.map_err(|_| format!("{what}: not within {PATIENCE:?}").into())
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let broker = Broker::bind("127.0.0.1:0".parse()?, BrokerSettings::default()).await?;
    let cluster = Cluster { bootstrap: broker.address().to_string(), ..Cluster::default() };
    let stop = CancellationToken::new();
    let mut serving = JoinSet::new();
    serving.spawn(broker.serve(stop.clone()));
    let retention = Span(Duration::from_secs(60));
    let settings =
        TopicSettings { width: WIDTH, replication: None, min_insync_replicas: None, retention };
    Admin::new(&cluster)?.create(&"ledger".parse()?, settings).await?;

    let first = Member::join(&config("pricing-1.1", &cluster)?, |_, event| {
        println!("pricing-1.1 {event:?}");
    })?;
    let second = Member::join(&config("pricing-2.1", &cluster)?, |_, _| {})?;
    until("each leads two", || led(&first).len() == 2 && led(&second).len() == 2).await?;
    println!("the first leads {:?}, the second {:?}", led(&first), led(&second));

    first.leave();
    until("the second leads all", || led(&second).len() == 4).await?;
    println!("the first has left, and the second leads {:?}", led(&second));

    second.leave();
    stop.cancel();
    serving.join_all().await;
    Ok(())
}
