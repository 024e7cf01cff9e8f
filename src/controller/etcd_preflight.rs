//! Asks whether each etcd of a plan accepts connections, before the run changes anything.

use std::io;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::error::chain;
use crate::ids::ClusterName;
use crate::member::tls::{Properties, Tls};
use crate::topology::{Address, Finding, Plan, Weight};

/// The longest wait for a connection.
const WITHIN: Duration = Duration::from_secs(5);

/// The findings for each etcd of the plan.
pub async fn etcd_findings(plan: &Plan) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (name, cluster) in &plan.clusters {
        if let Address::Etcd(address) = &cluster.address {
            findings.extend(of_servers(name, address, &cluster.members.properties).await);
        }
    }
    findings
}

/// One finding for each server. The others do without one that is not there.
async fn of_servers(name: &ClusterName, addresses: &str, properties: &Properties) -> Vec<Finding> {
    let mut findings = Vec::new();
    for address in addresses.split(',') {
        findings.push(finding(name, address, properties).await);
    }
    if findings.iter().any(|found| found.weight == Weight::Fine) {
        for found in findings.iter_mut().filter(|found| found.weight == Weight::Refused) {
            found.weight = Weight::Warned;
        }
    }
    findings
}

async fn finding(name: &ClusterName, address: &str, properties: &Properties) -> Finding {
    let connect = async {
        match address.strip_prefix("https://") {
            Some(place) => let_in(place, properties).await,
            None => {
                let place = address.trim_start_matches("http://");
                TcpStream::connect(place).await.map(drop).map_err(|error| error.to_string())
            }
        }
    };
    let why = match timeout(WITHIN, connect).await {
        Ok(Ok(())) => {
            let text = format!("cluster {name} is etcd at {address}, which accepts connections");
            return Finding { weight: Weight::Fine, text };
        }
        Ok(Err(why)) => why,
        Err(_) => format!("no answer within {WITHIN:?}"),
    };
    let text = format!("cluster {name}: cannot connect to etcd at {address}: {why}");
    Finding { weight: Weight::Refused, text }
}

/// Whether a server that wants TLS lets a client with these certificates in. One that wants another
/// certificate says so only when it is asked for something.
async fn let_in(place: &str, properties: &Properties) -> Result<(), String> {
    let tls = Tls::always(properties).map_err(|error| chain(&error))?;
    let ask = async {
        let mut stream = tls.connect(TcpStream::connect(place).await?, place).await?;
        stream.write_all(b"GET /version HTTP/1.0\r\n\r\n").await?;
        stream.read_u8().await.map(drop)
    };
    ask.await.map_err(|error: io::Error| error.to_string())
}
