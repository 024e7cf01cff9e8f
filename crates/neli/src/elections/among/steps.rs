//! How long the steps of an election take at most: the bounds of a plan consist of them.

use std::time::Duration;

use super::step;

/// What the steps are made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Means {
    /// How long a member may be silent until others act.
    pub session: Duration,
    /// How often it gives a sign of life.
    pub heartbeat: Duration,
    /// How late a member's thread wakes.
    pub wake: Duration,
    /// A message and its answer.
    pub rtt: Duration,
    /// A vote, until it is on the disk.
    pub save: Duration,
    /// How many members there are.
    pub members: u16,
}

impl Means {
    pub(in crate::elections) fn step(&self) -> Duration {
        step(self.heartbeat)
    }

    /// How much later than the first in order the first one that is alive stands, where as many
    /// are dead as a majority outlives.
    pub(in crate::elections) fn order(&self) -> Duration {
        let dead = u32::from(self.members.saturating_sub(1) / 2);
        self.step() * dead.saturating_sub(1)
    }
}

/// The steps, each at its longest where members and messages are as the means say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Steps {
    /// How much later than a session after the leader's last sign of life another member stands.
    pub stands: Duration,
    /// From there, or from the end of a leader that leaves, until one is elected.
    pub elected: Duration,
    /// From there until it leads; or, of a leader that was stopped for less than a session, until
    /// it leads again.
    pub leads: Duration,
}
