//! Asks whether each ZooKeeper of a plan grants the sessions of its groups, and says of itself what
//! the topology says, before the run changes anything.

use std::collections::BTreeSet;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;
use zookeeper_client::{Client, Error};

use crate::error::chain;
use crate::ids::ClusterName;
use crate::member::tls::{Properties, Tls};
use crate::member::zookeeper::tunnel::Tunnel;
use crate::time::Span;
use crate::topology::{Address, Ensemble, Finding, Plan, Weight};

/// The longest wait for a session, and for what a server says of itself.
const WITHIN: Duration = Duration::from_secs(5);
/// The most that a server may say of itself.
const CONF_MAX: u64 = 1 << 16;

/// The findings for each ZooKeeper of the plan.
pub async fn zookeeper_findings(plan: &Plan) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (name, cluster) in &plan.clusters {
        let Address::ZooKeeper(ensemble) = &cluster.address else { continue };
        let groups = plan.groups.values().filter(|group| group.cluster == *name);
        let sessions: BTreeSet<Duration> = groups.map(|it| it.pace.session.get()).collect();
        let way = match way(&ensemble.zookeeper, &cluster.members.properties).await {
            Ok(way) => way,
            Err(why) => {
                let text = format!("cluster {name}: TLS to ZooKeeper cannot be set up: {why}");
                findings.push(Finding { weight: Weight::Refused, text });
                continue;
            }
        };
        let doors = way.as_ref().map_or(&ensemble.zookeeper, |tunnel| &tunnel.addresses);
        for session in sessions {
            findings.push(granted(name, ensemble, doors, session).await);
        }
        for (server, door) in ensemble.zookeeper.split(',').zip(doors.split(',')) {
            if let Some(conf) = conf(door).await {
                findings.extend(differs(name, ensemble, server, &conf));
            }
        }
    }
    findings
}

/// The way to servers that want TLS, if they do, and one of them lets the controller in.
async fn way(servers: &str, properties: &Properties) -> Result<Option<Tunnel>, String> {
    let Some(tls) = Tls::of(properties).map_err(|error| chain(&error))? else { return Ok(None) };
    let mut why = None;
    for server in servers.split(',') {
        let connect = async { tls.connect(TcpStream::connect(server).await?, server).await };
        match timeout(WITHIN, connect).await {
            Ok(Ok(_)) => {
                let opened = Tunnel::open(servers, &tls).await;
                return opened.map(Some).map_err(|error| error.to_string());
            }
            Ok(Err(error)) => why = Some(format!("{server}: {error}")),
            Err(_) => why = Some(format!("{server}: no answer within {WITHIN:?}")),
        }
    }
    Err(why.unwrap_or_default())
}

/// Whether the servers grant a session of this length.
async fn granted(
    name: &ClusterName,
    ensemble: &Ensemble,
    doors: &str,
    session: Duration,
) -> Finding {
    let servers = &ensemble.zookeeper;
    let connector = Client::connector().with_session_timeout(session).with_fail_eagerly();
    let opened = timeout(WITHIN, connector.connect(doors)).await;
    let (weight, text) = match opened.unwrap_or(Err(Error::Timeout)) {
        Ok(client) => {
            let (asked, length) = (Span(session), Span(client.session_timeout()));
            if asked == length {
                let text = format!("ZooKeeper at {servers}, which grants sessions of {asked}");
                (Weight::Fine, format!("cluster {name} is {text}"))
            } else {
                let key = if length > asked { "minSessionTimeout" } else { "maxSessionTimeout" };
                let ms = session.as_millis();
                let text = format!(
                    "ZooKeeper at {servers} grants a session of {length} in place of {asked}: \
                     write `session: {length}`, or {key}={ms} in its zoo.cfg"
                );
                (Weight::Refused, format!("cluster {name}: {text}"))
            }
        }
        Err(error) => {
            let text = format!("cannot open a session of ZooKeeper at {servers}: {error}");
            (Weight::Refused, format!("cluster {name}: {text}"))
        }
    };
    Finding { weight, text }
}

/// What the server says of its configuration; none if it does not answer `conf`, which
/// `4lw.commands.whitelist` must allow.
async fn conf(server: &str) -> Option<String> {
    let ask = async {
        let mut stream = TcpStream::connect(server).await?;
        stream.write_all(b"conf").await?;
        let mut said = Vec::new();
        stream.take(CONF_MAX).read_to_end(&mut said).await?;
        Ok::<_, std::io::Error>(String::from_utf8_lossy(&said).into_owned())
    };
    timeout(WITHIN, ask).await.ok()?.ok()
}

/// Where its configuration asks for more than the topology says.
fn differs(name: &ClusterName, ensemble: &Ensemble, server: &str, conf: &str) -> Vec<Finding> {
    let value = |key: &str| {
        let of_key = |line: &str| line.strip_prefix(key)?.strip_prefix('=')?.trim().parse().ok();
        conf.lines().find_map(of_key)
    };
    let refused = |text: String| Finding {
        weight: Weight::Refused,
        text: format!("cluster {name}: the server {server} has {text}"),
    };
    let mut findings = Vec::new();
    let tick: Option<u64> = value("tickTime");
    if let Some(ms) = tick.filter(|ms| Duration::from_millis(*ms) > ensemble.tick.get()) {
        let (is, said) = (Span::ms(ms), ensemble.tick);
        findings
            .push(refused(format!("tickTime={ms}, and the topology {said}: write `tick: {is}`")));
    }
    let limit: Option<u64> = value("syncLimit");
    if let Some(limit) = limit.filter(|limit| *limit > u64::from(ensemble.sync_limit)) {
        let said = ensemble.sync_limit;
        findings.push(refused(format!(
            "syncLimit={limit}, and the topology {said}: write `sync_limit: {limit}`"
        )));
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(tick: &str, limit: u32, conf: &str) -> Vec<String> {
        let ensemble = Ensemble {
            zookeeper: "127.0.0.1:1".to_owned(),
            tick: tick.parse().unwrap(),
            sync_limit: limit,
        };
        let found = differs(&"z".parse().unwrap(), &ensemble, "127.0.0.1:1", conf);
        found.into_iter().map(|finding| finding.text).collect()
    }

    #[test]
    fn a_server_with_a_longer_tick_or_limit_is_refused() {
        let conf = "clientPort=1\ntickTime=200\nminSessionTimeout=400\nsyncLimit=5\n";
        assert_eq!(texts("200ms", 5, conf), Vec::<String>::new());
        assert_eq!(texts("2s", 10, conf), Vec::<String>::new(), "more than is needed is safe");
        let begin = "cluster z: the server 127.0.0.1:1 has";
        assert_eq!(
            texts("100ms", 0, conf),
            [
                format!("{begin} tickTime=200, and the topology 100ms: write `tick: 200ms`"),
                format!("{begin} syncLimit=5, and the topology 0: write `sync_limit: 5`"),
            ]
        );
        let refused = "conf is not executed because it is not in the whitelist.\n";
        assert_eq!(texts("100ms", 0, refused), Vec::<String>::new());
    }
}
