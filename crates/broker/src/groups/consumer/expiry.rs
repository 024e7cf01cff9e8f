//! The effects of time on a group: members whose session ends, or who do not give up what they
//! must, are fenced.

use std::time::Duration;

use super::group::ConsumerGroup;
use super::member::ConsumerMember;
use crate::groups::coordinator::{Coordinator, earlier};
use tandem_facts::time::Mono;

impl Coordinator {
    /// Another broker has read the groups of the newer protocol from the log, which knows no
    /// instants: each member has a whole session again, and as much time as at first to give up
    /// what it must.
    pub fn handle_loaded(&mut self, now: Mono) {
        let names: Vec<String> = self.consumers.keys().cloned().collect();
        for name in names {
            let session = self.terms(&name).session;
            let Some(group) = self.consumers.get_mut(&name) else { continue };
            group.restart(now, session);
            self.alarm = earlier(self.alarm, group.next_due());
        }
    }
}

impl ConsumerMember {
    fn due(&self) -> Option<Mono> {
        earlier(self.expiry, self.revoke_by)
    }
}

impl ConsumerGroup {
    /// The next instant at which a member is fenced.
    pub(in crate::groups) fn next_due(&self) -> Option<Mono> {
        self.members.values().filter_map(ConsumerMember::due).min()
    }

    fn restart(&mut self, now: Mono, session: Duration) {
        for member in self.members.values_mut() {
            member.expiry = member.expiry.map(|_| now + session);
            member.revoke_by = member.revoke_by.map(|_| now + member.rebalance);
        }
    }

    /// Fences the members that are due.
    pub(in crate::groups) fn expire(&mut self, now: Mono) {
        let due = self.members.iter().filter(|(_, one)| one.due().is_some_and(|due| due <= now));
        let ids: Vec<String> = due.map(|(id, _)| id.clone()).collect();
        for id in ids {
            self.fence(&id);
        }
    }
}
