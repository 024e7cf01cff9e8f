//! The terms of groups that do not elect by Kafka's classic protocol.

use std::time::Duration;

use super::super::{Electorate, Ensemble, Mode, Pace};
use super::{ANSWER, FIRST_MESSAGE, SAVE, Terms};
use crate::neli::elections::among::{Means, Steps};

/// etcd looks for leases that are over each 500 ms.
const EXPIRY_LAG_ETCD: Duration = Duration::from_millis(500);
/// A change of etcd: it writes it to its log, and to the disk.
const CHANGE_ETCD: Duration = Duration::from_millis(40);
/// The same of ZooKeeper.
const CHANGE_ZOOKEEPER: Duration = Duration::from_millis(40);

impl Terms {
    /// The same for a group of the newer protocol. `B`: one member learns at its next heartbeat
    /// what it has to give up, and confirms that after `hold`; another gets it at its own. The
    /// group may wait before it shares anything out. `F` is in the exclusive mode a fence, which is
    /// read and committed, then the first message, or a commit and the question for the session.
    /// There `a` is the age of a heartbeat that counts once the session is known, which is asked
    /// each quarter of `T`, and no heartbeat counts within `hold`.
    pub(super) fn shared_out_by_brokers(self, pace: &Pace, rtt: Duration) -> Self {
        let (beat, hold) = (self.silence(), pace.hold.get());
        let turn = 2 * (rtt + ANSWER);
        let (first, age) = match self.mode {
            Mode::NonExclusive | Mode::Fast | Mode::ExclusivePaper => (self.first, self.age),
            Mode::Exclusive => {
                let counted = self.threshold / 4 + beat + 3 * rtt + hold;
                (turn + SAVE + FIRST_MESSAGE.max(turn), self.age.max(counted))
            }
        };
        let rebalance = pace.assignment.get() + 2 * beat + 4 * rtt + hold;
        Self { rebalance, first, age, regains: true, ..self }
    }

    /// The same for an election among members. `S` counts from the leader's last sign of life that
    /// the others heard, `x` is how much later one of them stands, `B` until it is elected and `F`
    /// until it leads: each election has its own. Where one that returns takes over, the other
    /// leads beside it until its word arrives, which may be the next one.
    pub(super) fn among_members(self, rtt: Duration, electorate: Electorate) -> Self {
        let Electorate { election, members } = electorate;
        let Self { session, heartbeat, wake, .. } = self;
        let members = u16::try_from(members).unwrap_or(u16::MAX);
        let means = Means { session, heartbeat, wake, rtt, save: SAVE, members };
        let Steps { stands, elected, leads } = election.steps(&means);
        let age = self.silence() + rtt;
        let unproven = !election.is_exclusive();
        let beside = if election.takes_over() { age } else { Duration::ZERO };
        Self {
            lag: stands,
            rebalance: elected,
            first: leads,
            age,
            statement: unproven.then_some(beside),
            gives_way: None,
            joins_move: false,
            unproven,
            leads_alone: unproven && !election.votes(),
            ..self
        }
    }

    /// The same for an election over etcd. `S` is the lease, `h` its renewal; `B` the deletion of a
    /// key and the report of its watch, `F` the creation by the successor.
    pub(super) fn over_etcd(self, rtt: Duration) -> Self {
        let change = CHANGE_ETCD + 2 * rtt;
        Self {
            lag: EXPIRY_LAG_ETCD + CHANGE_ETCD,
            rebalance: change,
            first: change,
            age: self.silence() + 2 * rtt,
            gives_way: None,
            joins_move: false,
            ..self
        }
    }

    /// The same for an election over ZooKeeper. `S` is the session, `h` the time between two
    /// writes. It looks for sessions that are over once a tick, and a server reports twice a tick
    /// to the leader which it has heard. `B` is the deletion of a node and the report of its watch;
    /// `F` the list of the nodes, and the question for the member's own.
    pub(super) fn over_zookeeper(self, ensemble: &Ensemble, rtt: Duration) -> Self {
        let change = CHANGE_ZOOKEEPER + 2 * rtt;
        Self {
            lag: ensemble.expiry_lag() + CHANGE_ZOOKEEPER,
            rebalance: change,
            first: 2 * rtt,
            age: self.silence() + change,
            gives_way: None,
            joins_move: false,
            ..self
        }
    }
}
