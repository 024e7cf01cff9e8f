//! Asks whether each NATS of a plan is one, before the run changes anything.

use std::io;
use std::time::Duration;

use tokio::io::AsyncReadExt;
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::ids::ClusterName;
use crate::topology::{Address, Finding, Plan, Weight};

/// The longest wait for the first word of a server.
const WITHIN: Duration = Duration::from_secs(5);
/// How a server begins to describe itself to each client.
const HELLO: [u8; 5] = *b"INFO ";

/// The findings for each NATS of the plan.
pub async fn nats_findings(plan: &Plan) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (name, cluster) in &plan.clusters {
        if let Address::Nats(addresses) = &cluster.address {
            for address in addresses.split(',') {
                findings.push(finding(name, address).await);
            }
        }
    }
    findings
}

async fn finding(name: &ClusterName, address: &str) -> Finding {
    let why = match timeout(WITHIN, greeted(address)).await {
        Ok(Ok(())) => {
            let text = format!("cluster {name} is NATS at {address}, which answers");
            return Finding { weight: Weight::Fine, text };
        }
        Ok(Err(error)) => error.to_string(),
        Err(_) => format!("no answer within {WITHIN:?}"),
    };
    let text = format!("cluster {name}: cannot use NATS at {address}: {why}");
    Finding { weight: Weight::Refused, text }
}

async fn greeted(address: &str) -> io::Result<()> {
    let mut hello = [0; HELLO.len()];
    TcpStream::connect(address).await?.read_exact(&mut hello).await?;
    if hello == HELLO { Ok(()) } else { Err(io::Error::other("another server answers")) }
}
