//! What the core wants done: claims told, beacons sent.

use tandem_facts::observation::Horizon;
use tandem_facts::time::{Mono, Wall};
use tandem_neli::Event as Change;

use super::{DIRECT, RENEWAL, State};
use crate::Event;
use crate::kafka::Mark;

impl State {
    /// Carries out the outputs of the core.
    pub(super) fn drain(&mut self, now: Mono) {
        while let Some(change) = self.core.poll_event() {
            let event = match change {
                Change::Acquired { claim, from, stands_in_for } => {
                    let Horizon { partition, term, until } = claim;
                    let fence = self.fences.get(&partition).copied();
                    Event::Claimed { partition, term, from, until, stands_in_for, fence }
                }
                Change::Ended { claim: Horizon { partition, term, until: at }, why } => {
                    Event::Lapsed { partition, term, at, why }
                }
            };
            self.report(now, event);
        }
        self.claims.publish(self.core.claims(), &self.fences);
        if let Some(mesh) = &mut self.mesh {
            mesh.own(self.core.statement(DIRECT));
        }
        while let Some(partition) = self.core.poll_beacon() {
            let sent = Mono::now();
            let stamp = self.clock.read(sent, Wall::now());
            let statement = self.core.statement(partition);
            let mark = match &self.mark {
                Some(life) => Some(Mark::Sent(life, sent)),
                None => statement.as_ref().map(|it| Mark::Statement(it, self.advertise.as_deref())),
            };
            if !self.producer.publish(partition, stamp, (self.company.own(sent), mark)) {
                tracing::debug!(%partition, "The producer's queue is full; a beacon is dropped.");
            }
        }
        if now.since(self.renewed) >= RENEWAL {
            self.renewed = now;
            let claims: Vec<_> = self.core.claims().collect();
            if !claims.is_empty() {
                self.report(now, Event::Renewed(claims));
            }
            if !self.clock.is_true() {
                self.report_clock(now);
            }
        }
    }
}
