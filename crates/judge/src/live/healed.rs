//! Since when the current health lasts: not before the end of a gap that contradicts it.

use super::joint::Class;
use super::lane::Lane;
use super::{Event, Health, Live};
use tandem_facts::time::Mono;

impl Live {
    /// Notes that a gap of a group, or of all groups together, lasted until then.
    pub(super) fn healed(&mut self, joint: bool, until: Mono) {
        let (group, all) = &mut self.healed;
        let last = if joint { all } else { group };
        *last = until.max(*last);
    }

    /// The current health lasts only since the end of the last gap that contradicts it. Such a gap
    /// was over before it was certain, or certainly lasted longer than the claims show.
    pub(super) fn look_since(&mut self) {
        let lanes = self.groups.values().flat_map(|group| group.lanes.values());
        let lanes = lanes.filter_map(Lane::led_again).max();
        let classes = self.classes.iter().filter_map(Class::led_again).max();
        lanes.into_iter().for_each(|until| self.healed(false, until));
        classes.into_iter().for_each(|until| self.healed(true, until));
        let (health, since) = self.health;
        let (group, all) = self.healed;
        let last = match health {
            Health::Led => group.max(all),
            Health::Degraded | Health::Starting => all,
            Health::Down => Mono::ZERO,
        };
        if last > since {
            self.health = (health, last);
            self.events.push_back(Event::Health { now: health, since: last });
        }
    }
}
