//! Who watches whom: the members in the order in which they stand.

use std::cmp::Reverse;

use super::{Instance, Kind, Turn};
use crate::elections::among::{Config, Peer, order};
use tandem_facts::time::Mono;

impl Instance {
    /// The member's place in the order: the leader's is 0. Before there is one, the greatest id's.
    fn place(&self, config: &Config, peer: Peer) -> u32 {
        let id = |peer| order::id(config, self.partition, peer);
        let count = u32::from(config.members.max(1));
        let first = self.newest.map_or(count - 1, |(_, leader)| id(leader));
        (first + count - id(peer) % count) % count
    }

    /// Those that stand before it, the next one first, and when each was heard.
    fn before(&self, config: &Config) -> Vec<(Peer, Mono)> {
        let (own, leader) = (self.place(config, config.me), self.newest.map(|(_, peer)| peer));
        let others = config.others().filter(|peer| Some(*peer) != leader);
        let mut before: Vec<Peer> = others.filter(|peer| self.place(config, *peer) < own).collect();
        before.sort_by_key(|peer| Reverse(self.place(config, *peer)));
        let heard = |peer: Peer| self.signs.get(&peer).copied().unwrap_or(self.began);
        before.into_iter().map(|peer| (peer, heard(peer))).collect()
    }

    /// It stands when the leader and all before it are silent, each of which holds it up; or if
    /// one of them lives, and there is no leader for another session.
    pub(super) fn plan(&mut self, config: &Config) {
        let before = self.before(config);
        let passed = u32::try_from(before.len()).unwrap_or(u32::MAX);
        let last = before.iter().map(|(_, heard)| *heard + self.session).max();
        let quiet = if self.left { self.idle } else { self.heard + self.session };
        let first = last.map_or(quiet, |last| last.max(quiet)) + config.step() * passed;
        self.stands = first.min(self.heard + self.session * 2).max(self.idle);
    }

    /// Asks the one before it whether it lives; if that one is silent, also the next that is not.
    pub(super) fn watch(&mut self, turn: &mut Turn<'_>) {
        self.watches = turn.now + turn.config.heartbeat;
        let before = self.before(turn.config);
        let lives = |(_, heard): &&(Peer, Mono)| turn.now < *heard + self.session;
        let watched = before.iter().take(1).chain(
            before
                .iter()
                .find(lives)
                .filter(|it| before.first().is_none_or(|first| first.0 != it.0)),
        );
        for (peer, _) in watched {
            turn.out.send(*peer, self.says(self.ballot.generation, Kind::Watch));
        }
    }
}
