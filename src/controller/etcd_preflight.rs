//! Asks whether each etcd of a plan accepts connections, before the run changes anything.

use std::time::Duration;

use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::ids::ClusterName;
use crate::topology::{Address, Finding, Plan, Weight};

/// The longest wait for a connection.
const WITHIN: Duration = Duration::from_secs(5);

/// One finding for each etcd of the plan.
pub async fn etcd_findings(plan: &Plan) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (name, cluster) in &plan.clusters {
        if let Address::Etcd(address) = &cluster.address {
            findings.push(finding(name, address).await);
        }
    }
    findings
}

async fn finding(name: &ClusterName, address: &str) -> Finding {
    let place = address.trim_start_matches("http://");
    let why = match timeout(WITHIN, TcpStream::connect(place)).await {
        Ok(Ok(_)) => {
            let text = format!("cluster {name} is etcd at {address}, which accepts connections");
            return Finding { weight: Weight::Fine, text };
        }
        Ok(Err(error)) => error.to_string(),
        Err(_) => format!("no answer within {WITHIN:?}"),
    };
    let text = format!("cluster {name}: cannot connect to etcd at {address}: {why}");
    Finding { weight: Weight::Refused, text }
}
