//! What a group in exclusive mode needs beside: proofs of membership; how members leave and pause.

use tandem::groups::{Departure, Leave};
use tandem::time::Mono;

use super::{Due, GROUP, World};

impl World {
    /// The last proof of `client` is from `when`.
    pub fn prove(&mut self, client: usize, when: Mono) {
        self.clients[client].proved = Some(when);
        let generation = self.clients[client].generation;
        self.at(when, Due::Proof { of: client, generation, since: when });
    }

    /// `client` leaves.
    pub fn leave(&mut self, client: usize) {
        let member_id = self.clients[client].member_id.clone();
        let members = vec![Departure { member_id, instance_id: None }];
        let leave = Leave { group: GROUP.to_owned(), members };
        self.clients[client].core.handle_leave(self.now);
        self.drain(client);
        self.silence(client);
        self.clients[client].cut = Some(self.now);
        self.coordinator.handle_leave(self.now, &leave).unwrap();
        self.answer();
    }

    /// `client` stops.
    pub fn pause(&mut self, client: usize) {
        self.clients[client].cut = Some(self.now);
        self.silence(client);
    }

    /// `client` goes on, after a pause: it reads what waited for it, and sends what is due.
    pub fn wake(&mut self, client: usize) {
        self.clients[client].cut = None;
        for partition in self.holds(client) {
            self.hear(client, partition);
        }
        self.at(self.now, Due::Beat(client));
    }

    pub(super) fn ask_for_proof(&mut self, of: usize) {
        let (generation, since) = (self.clients[of].generation, self.now);
        self.at(since + self.lucky(self.terms.first), Due::Proof { of, generation, since });
    }

    pub(super) fn prove_at(&mut self, of: usize, generation: i32, since: Mono) {
        let client = &mut self.clients[of];
        let late = client.proved.is_some_and(|last| last < since);
        if client.generation == generation && !client.holds.is_empty() && !late {
            client.core.handle_proof(self.now, Some(since));
            self.drain(of);
        }
    }
}
