//! How a member leaves its group.

use std::time::Duration;

use tandem_facts::observation::Mode;
use tandem_facts::time::Mono;

use super::State;
use crate::Event;
use crate::clients::Clients;

/// The longest wait for the client to close, since closing can hang.
const CLOSE: Duration = Duration::from_secs(2);
/// A leaving member leads on for at most this long. Closing the client takes about 100 ms.
const LEAD_ON: Duration = Duration::from_millis(300);
/// How long the statement that a member leaves may take to reach the ledger.
const SAID: Duration = Duration::from_millis(200);

impl State {
    /// Gives its partitions back, and leads on until others lead them: make before break. Its
    /// claims are as long as at any other rebalance: a just started Kafka took 2.5 s for the first
    /// one, and a wait of a second left a gap of 1.6 s.
    ///
    /// Members that leave as well wait for this one until they know that it goes, so it stays until
    /// the ledger has that. Without it three that left at once waited for `T` in one of ten times.
    fn hand_over(&mut self, clients: &mut Clients) {
        clients.begin_leave();
        let began = Mono::now();
        self.core.handle_going(began);
        self.drain(began);
        // What it holds no longer is renewed no more.
        let end = self.core.claims().map(|claim| claim.until).max();
        loop {
            let now = Mono::now();
            let relieved = self.core.is_relieved(now) || end.is_none_or(|end| end <= now);
            let said = self.producer.has_delivered_all() || now.since(began) >= SAID;
            if relieved && said {
                return;
            }
            let inputs = self.next(clients);
            self.take(inputs);
        }
    }

    /// Leaves the group. A member that hands over leads until others do. Another one in the
    /// non-exclusive mode leads until it has left, since the others learn of its leave only at
    /// their next heartbeats. Then it ends every claim and reports it.
    pub(super) fn leave(&mut self, mut clients: Clients) {
        if self.core.hands_over() {
            self.hand_over(&mut clients);
        }
        self.producer.discard();
        let within = LEAD_ON + self.hold;
        // In the other modes a successor leads at once: no claim may outlast the membership.
        if self.core.mode() != Mode::NonExclusive {
            let now = Mono::now();
            self.core.handle_leave(now);
            self.drain(now);
        }
        let (done, closed) = std::sync::mpsc::channel();
        let closing = std::thread::Builder::new().name("close".to_owned()).spawn(move || {
            // The receiver is gone if closing took too long.
            clients.leave(within, || {
                done.send(()).ok();
            });
        });
        let left = closing.is_ok() && closed.recv_timeout(within).is_ok();
        let now = Mono::now();
        self.core.handle_leave(now);
        self.drain(now);
        if let Some(mesh) = self.mesh.take() {
            mesh.leave();
        }
        self.report(Mono::now(), Event::Left);
        let rest = CLOSE.saturating_sub(within);
        if closing.is_ok() && !left && closed.recv_timeout(rest).is_err() {
            tracing::warn!(
                "The client did not close within {CLOSE:?}; it goes on in the background."
            );
        }
    }
}
