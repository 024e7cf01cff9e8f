//! What comes out of the core of a member: claims, and beacons for the others.

use tandem::neli::{Event, Heard};

use super::{Due, LOOK_UP, World};

impl World {
    /// Carries out the outputs of a core: records claims, and delivers beacons to the members that
    /// see them.
    pub(super) fn drain(&mut self, index: usize) {
        let mut announces = false;
        while let Some(event) = self.clients[index].core.poll_event() {
            match event {
                Event::Acquired { claim, from, .. } => {
                    announces = true;
                    self.acquired.push((from, index, claim.partition));
                }
                Event::Ended { claim, .. } => {
                    self.ended.push((claim.until, index, claim.partition));
                }
            }
        }
        while let Some(partition) = self.clients[index].core.poll_beacon() {
            let arrives = self.now + self.lucky(self.terms.first.saturating_sub(LOOK_UP));
            let away = self.is_cut(index) || self.mute == Some(index);
            let lost = announces && self.loses_announcements || away;
            self.published += 1;
            let stated = self.clients[index].core.statement(partition).filter(|_| !lost);
            for (to, statement) in (0..self.clients.len()).zip(stated.iter().cycle()) {
                let statement = statement.clone();
                self.at(arrives, Due::Statement { to, statement });
            }
            for to in 0..self.clients.len() {
                let sees = self.clients[to].holds.get(&partition).is_some_and(|s| *s <= self.now);
                self.delivered += usize::from(!away && (sees || stated.is_some()));
                if sees && !away {
                    let sent = (to == index).then_some(self.now);
                    self.at(arrives, Due::Message { to, message: Heard { partition, sent } });
                }
            }
        }
        if let Some(at) = self.clients[index].core.poll_timeout() {
            self.at(at.max(self.now), Due::Core(index));
        }
    }
}
