//! What the system allows: as many files and sockets as a topology takes, and to see who connects.

use std::io;
use std::net::{Ipv4Addr, TcpListener, TcpStream};

use crate::host::{Descriptors, descriptors, holder};
use crate::topology::{Plan, Weight};

/// A pidfd and two pipes a member.
const OF_CONTROLLER: u64 = 3;
/// A member has up to ten connections while it joins, and an edge two sockets for each.
const OF_BROKER: u64 = 10;
const OF_EDGES: u64 = 20;
/// What a process has anyway: its journal, its logs, its clients of brokers.
const BESIDE: u64 = 128;

/// Whether the process that needs most of them gets them.
pub(super) fn descriptors_for(plan: Option<&Plan>) -> (Weight, String) {
    judge(descriptors(), plan.map(members))
}

/// Whether the kernel says who holds the other end of a connection: without that, edges, embedded
/// brokers and metrics on the loopback refuse everybody.
pub(super) fn diagnosis() -> (Weight, String) {
    match holder_of_own() {
        Ok(()) => (Weight::Fine, "connections of other users can be told apart".to_owned()),
        Err(error) => {
            let why = "so edges, embedded brokers and metrics refuse everybody";
            (Weight::Refused, format!("the kernel does not say who connects ({error}), {why}"))
        }
    }
}

fn holder_of_own() -> io::Result<()> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    let client = TcpStream::connect(listener.local_addr()?)?;
    let (server, peer) = listener.accept()?;
    let found = holder(server.local_addr()?, peer)?;
    drop(client);
    found.map(drop).ok_or_else(|| io::Error::other("it does not know of a connection that is open"))
}

fn members(plan: &Plan) -> u64 {
    let members: usize = plan.groups.values().map(|group| group.members.len()).sum();
    u64::try_from(members).unwrap_or(u64::MAX)
}

/// The process has raised its limit already, as all of ours do.
fn judge(Descriptors { now, most }: Descriptors, members: Option<u64>) -> (Weight, String) {
    let Some(have) = now else {
        return (Weight::Fine, "a process may open as many files as it wants".to_owned());
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
    fn what_a_topology_takes_is_held_against_what_a_process_may_open() {
        let limit = |now| Descriptors { now: Some(now), most: Some(now) };
        let weight = |now, members| judge(limit(now), members).0;
        assert!(weight(1_024, None) == Weight::Fine);
        assert!(weight(1_024, Some(12)) == Weight::Fine);
        assert!(weight(1_024, Some(100)) == Weight::Warned);
        assert!(weight(1_024, Some(330)) == Weight::Refused, "three a member, and what is beside");
        assert!(weight(30_000, Some(1_000)) == Weight::Fine);
        assert!(judge(Descriptors { now: None, most: None }, Some(9_999)).0 == Weight::Fine);
        let (_, told) = judge(limit(1_024), Some(1_000));
        assert!(
            told.contains("1000 members take up to 20128") && told.contains("ulimit"),
            "{told}"
        );
    }
}
