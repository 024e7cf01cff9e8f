//! Checks the limits of the system: how many files and sockets a process may open, and whether the
//! kernel identifies the user of a connection.

use std::io;
use std::net::{Ipv4Addr, TcpListener, TcpStream};

use crate::host::{Descriptors, descriptors, holder};
use crate::topology::{Plan, Weight};

/// Descriptors of the controller per member: a pidfd and two pipes.
const OF_CONTROLLER: u64 = 3;
/// Connections of a member while it joins; an edge has two sockets for each.
const OF_BROKER: u64 = 10;
const OF_EDGES: u64 = 20;
/// Descriptors that a process has anyway, for its journal, logs and Kafka clients.
const BESIDE: u64 = 128;

/// Whether the limit on descriptors is enough for the members of the plan.
pub(super) fn descriptors_for(plan: Option<&Plan>) -> (Weight, String) {
    judge(descriptors(), plan.map(members))
}

/// Whether the kernel identifies the user at the other end of a connection. Without that, edges,
/// embedded brokers and metrics on the loopback refuse all clients.
pub(super) fn diagnosis() -> (Weight, String) {
    match holder_of_own() {
        Ok(()) => (Weight::Fine, "connections of other users can be recognised".to_owned()),
        Err(error) => {
            let why = "so edges, embedded brokers and metrics refuse all clients";
            let what = "the kernel does not identify the user of a connection";
            (Weight::Refused, format!("{what} ({error}), {why}"))
        }
    }
}

fn holder_of_own() -> io::Result<()> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    let client = TcpStream::connect(listener.local_addr()?)?;
    let (server, peer) = listener.accept()?;
    let found = holder(server.local_addr()?, peer)?;
    drop(client);
    found.map(drop).ok_or_else(|| io::Error::other("it does not list an open connection"))
}

fn members(plan: &Plan) -> u64 {
    let members: usize = plan.groups.values().map(|group| group.members.len()).sum();
    u64::try_from(members).unwrap_or(u64::MAX)
}

/// Judges the limit, which this process has already raised as far as it may.
fn judge(Descriptors { now, most }: Descriptors, members: Option<u64>) -> (Weight, String) {
    let Some(have) = now else {
        return (Weight::Fine, "a process may open any number of files".to_owned());
    };
    let may = format!("a process may open {have} files and sockets");
    let need = |each: u64| each.saturating_mul(members.unwrap_or(0)).saturating_add(BESIDE);
    let (least, all) = (need(OF_CONTROLLER), need(OF_BROKER.max(OF_EDGES)));
    let takes = members.map(|members| format!("{members} members take up to {all}"));
    let takes = takes.map(|takes| format!("; {takes}")).unwrap_or_default();
    let raise = if most == now { "raise it with `ulimit -Hn`" } else { "raise it" };
    if have < least {
        let why =
            format!("the controller alone holds {least}: {raise}, or LimitNOFILE= of systemd");
        return (Weight::Refused, format!("{may}{takes}, and {why}"));
    }
    if have < all {
        return (Weight::Warned, format!("{may}{takes}: {raise}, or LimitNOFILE= of systemd"));
    }
    (Weight::Fine, format!("{may}{takes}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_limit_is_compared_with_what_a_topology_needs() {
        let limit = |now| Descriptors { now: Some(now), most: Some(now) };
        let weight = |now, members| judge(limit(now), members).0;
        assert!(weight(1_024, None) == Weight::Fine);
        assert!(weight(1_024, Some(12)) == Weight::Fine);
        assert!(weight(1_024, Some(100)) == Weight::Warned);
        assert!(weight(1_024, Some(330)) == Weight::Refused, "three per member, and the others");
        assert!(weight(30_000, Some(1_000)) == Weight::Fine);
        assert!(judge(Descriptors { now: None, most: None }, Some(9_999)).0 == Weight::Fine);
        let (_, text) = judge(limit(1_024), Some(1_000));
        assert!(
            text.contains("1000 members take up to 20128") && text.contains("ulimit"),
            "{text}"
        );
    }
}
