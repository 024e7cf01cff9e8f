//! An edge between a client of one's own and a broker: what passes can be cut, held and slowed.
//! Here the client loses its broker for a second.
//!
//! ```sh
//! cargo run --example edge
//! ```

use std::error::Error;
use std::io::{BufRead, BufReader, Write};
use std::time::Duration;

use rdkafka::ClientConfig;
use rdkafka::consumer::{BaseConsumer, Consumer as _};
use tandem_broker::broker::{Broker, BrokerSettings};
use tandem_edge::{Answer, Direction, EdgeCommand, Effect, Rule, Scope};
use tandem_facts::ids::FaultId;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

/// What is open answers within this, however busy the host.
const OPEN: Duration = Duration::from_secs(30);
/// For so long it is tried to reach a broker that is cut off.
const CUT: Duration = Duration::from_secs(1);

/// An edge process takes orders and gives answers, one JSON object a line. Here it is a thread.
struct Edges {
    orders: std::io::PipeWriter,
    answers: BufReader<std::io::PipeReader>,
}

impl Edges {
    fn start() -> Result<Self, Box<dyn Error>> {
        let (read, orders) = std::io::pipe()?;
        let (answers, write) = std::io::pipe()?;
        std::thread::spawn(move || tandem_edge::run(BufReader::new(read), write));
        Ok(Self { orders, answers: BufReader::new(answers) })
    }

    fn ask(&mut self, command: &EdgeCommand) -> Result<Answer, Box<dyn Error>> {
        writeln!(self.orders, "{}", serde_json::to_string(command)?)?;
        let mut line = String::new();
        self.answers.read_line(&mut line)?;
        Ok(serde_json::from_str(&line)?)
    }
}

/// Whether a client reaches a broker at this address within this time.
fn reaches(bootstrap: &str, within: Duration) -> Result<bool, Box<dyn Error>> {
    let client: BaseConsumer = ClientConfig::new().set("bootstrap.servers", bootstrap).create()?;
    Ok(client.fetch_metadata(None, within).is_ok())
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let broker = Broker::bind("127.0.0.1:0".parse()?, BrokerSettings::default()).await?;
    let bootstrap = broker.address().to_string();
    let stop = CancellationToken::new();
    let mut serving = JoinSet::new();
    serving.spawn(broker.serve(stop.clone()));

    let shown =
        tokio::task::spawn_blocking(move || experiment(bootstrap).map_err(|e| e.to_string()));
    for line in shown.await?? {
        println!("{line}");
    }
    stop.cancel();
    serving.join_all().await;
    Ok(())
}

fn experiment(bootstrap: String) -> Result<Vec<String>, Box<dyn Error>> {
    let mut edges = Edges::start()?;
    let (client, cluster) = ("client-1".parse()?, "a".parse()?);
    let open = EdgeCommand::Open { client, cluster, bootstrap, tls: None };
    let Answer::Opened { bootstrap: through, .. } = edges.ask(&open)? else {
        return Err("the edge does not open".into());
    };
    let mut said = vec![format!("through {through}: {}", reaches(&through, OPEN)?)];

    let fault = FaultId::try_from("1.cut".to_owned())?;
    let rule = Rule {
        clients: ["client-1".parse()?].into(),
        scope: Scope { cluster: "a".parse()?, brokers: None },
        direction: Direction::Both,
        apis: None,
        effect: Effect::Drop,
    };
    edges.ask(&EdgeCommand::Break { fault: fault.clone(), rule })?;
    said.push(format!("cut: {}", reaches(&through, CUT)?));
    edges.ask(&EdgeCommand::Heal { fault })?;
    said.push(format!("healed: {}", reaches(&through, OPEN)?));
    Ok(said)
}
