//! The wall clock of a member, which a fault may have set wrong.

use tandem_facts::observation::Mode;
use tandem_facts::time::{Mono, Wall};

use super::State;
use crate::Event;

impl State {
    /// Tells the core what the wall clock says, in the mode whose claims depend on it.
    pub(super) fn look_at_clock(&mut self, now: Mono) {
        if self.core.mode() == Mode::ExclusivePaper {
            let wall = self.clock.read(now, Wall::now());
            self.core.handle_clock(now, wall);
        }
    }

    /// Reports the reading of the wall clock, so that a reader of the facts can check it.
    pub(super) fn report_clock(&mut self, now: Mono) {
        let truth = Wall::now();
        // Read right after the true time, so that the two belong together.
        let at = Mono::now().max(now);
        let wall = self.clock.read(at, truth);
        self.report(at, Event::Clock(wall));
    }
}
