//! Deaths, and what they leave: notices, tombstones, orphans.

use super::inquest::AGAIN;
use super::peer::{Link, Peer, State};
use super::rendezvous::winner;
use super::{Cause, DOUBT, LinkId, Mesh, Notice, Process, REVIVALS, Share, Word};
use tandem_facts::ids::PartitionId;
use tandem_facts::time::Mono;

impl Mesh {
    /// A link ended, at whichever end. Without a goodbye that is a death.
    pub fn handle_ended(&mut self, now: Mono, link: LinkId) {
        self.turn(now);
        let Some(life) = self.links.remove(&link) else { return };
        let Some(peer) = self.peers.get_mut(&life) else { return };
        peer.link = None;
        match peer.state {
            State::Here => self.bury(now, &life),
            // Its orphans already are.
            State::Dead(_) | State::Left(_) => {}
        }
    }

    /// Another member says that one is dead.
    pub(super) fn noticed(&mut self, now: Mono, notice: &Notice) {
        let Notice { dead, share } = notice;
        if *dead == self.config.me || self.gone {
            return;
        }
        let Some(peer) = self.peer(now, dead) else { return };
        let news = share.as_ref().is_some_and(|share| peer.learn(share));
        // What the ledger or a new link has just refuted goes around a little longer.
        let refuted = peer.was_wronged(now, AGAIN);
        match (peer.state, &mut peer.link) {
            // Its own link knows better, or ends in a moment.
            (State::Here, Some(Link { id, doubt, .. })) => {
                let id = *id;
                if doubt.is_none() {
                    *doubt = Some(now + DOUBT);
                    self.words.push_back((id, Word::Ask));
                }
            }
            (State::Here, None) if refuted => {}
            (State::Here, None) => self.bury(now, dead),
            (State::Dead(_), _) if news => self.bereave(now, dead),
            (State::Dead(_) | State::Left(_), _) => {}
        }
    }

    /// Another member says on a new link that one was dead before. A stand-in is there already, so
    /// there is nothing to do before the next death.
    pub(super) fn learned(&mut self, now: Mono, notice: &Notice) {
        let Notice { dead, share: Some(share) } = notice else { return };
        let until = now + self.config.stand_in;
        if *dead == self.config.me || self.gone {
            return;
        }
        let Some(peer) = self.peer(now, dead) else { return };
        // Its own link, or its goodbye, knows better.
        let refuted = peer.was_wronged(now, AGAIN);
        if peer.link.is_some() || matches!(peer.state, State::Left(_)) || refuted {
            return;
        }
        peer.learn(share);
        peer.state = State::Dead(now);
        self.ask(dead);
        self.orphans.add(dead, share, Cause::Death, until);
        self.settle();
    }

    /// Links that said nothing since others took their members for dead.
    pub(super) fn doubt(&mut self, now: Mono) {
        let over = |peer: &Peer| {
            let doubt = peer.link.and_then(|link| link.doubt);
            doubt.is_some_and(|doubt| doubt <= now)
        };
        let dead: Vec<Process> =
            self.peers.iter().filter(|(_, it)| over(it)).map(|(life, _)| life.clone()).collect();
        for life in dead {
            self.hang_up(&life);
            self.bury(now, &life);
        }
    }

    /// A tombstone for `life`.
    fn bury(&mut self, now: Mono, life: &Process) {
        if self.gone {
            return;
        }
        let dials = self.config.me < *life;
        if let Some(peer) = self.peers.get_mut(life) {
            peer.state = State::Dead(now);
            // A link that broke between two living members is replaced.
            if dials {
                peer.dial(now, Some(REVIVALS));
            }
        }
        self.ask(life);
        // The group now waits for this member's session as well.
        self.orphans.prolong(now + self.config.stand_in);
        self.bereave(now, life);
    }

    /// What a dead member owned has no owner; all others learn of it.
    pub(super) fn bereave(&mut self, now: Mono, dead: &Process) {
        let Some(peer) = self.peers.get(dead) else { return };
        if let Some(share) = &peer.share {
            self.orphans.add(dead, share, Cause::Death, now + self.config.stand_in);
        }
        let notice = Notice { dead: dead.clone(), share: peer.share.clone() };
        let links = self.links.iter().filter(|(_, life)| *life != dead);
        self.words.extend(links.map(|(&link, _)| (link, Word::Notice(notice.clone()))));
        self.grant();
    }

    /// Orphans that a newer owner leads are none.
    pub(super) fn settle(&mut self) {
        let Self { orphans, own, peers, .. } = self;
        orphans.settle(|generation, partition| {
            let mine = own
                .as_ref()
                .is_some_and(|own| own.generation > generation && own.leads.contains(&partition));
            mine || peers.values().any(|peer| peer.leads_since(generation, partition))
        });
    }

    /// Takes the orphans that fall to this member.
    pub(super) fn grant(&mut self) {
        self.settle();
        let Self { orphans, own, peers, since, config, .. } = self;
        let Some(own) = own.as_ref().filter(|own| !own.going) else { return };
        let own_share = Share { generation: own.generation, partitions: own.holds.clone() };
        let mut living: Vec<(&Process, Option<i32>, &Share)> = peers
            .iter()
            .filter(|(_, peer)| peer.is_living())
            .filter_map(|(life, peer)| Some((life, peer.since, peer.share.as_ref()?)))
            .collect();
        living.push((&config.me, *since, &own_share));
        let is_mine = |partition: PartitionId, generation: i32| {
            let newer = |share: &&Share| {
                share.generation > generation && share.partitions.contains(&partition)
            };
            let given = living.iter().filter(|(.., share)| newer(share));
            if let Some((owner, ..)) =
                given.max_by_key(|(life, _, share)| (share.generation, *life))
            {
                return **owner == config.me;
            }
            let was = |since: &Option<i32>| since.is_some_and(|since| since <= generation);
            let old = living.iter().filter(|(_, since, _)| was(since)).map(|(life, ..)| *life);
            // If all that were there are dead, those that came later will do.
            let taker = winner(partition, old)
                .or_else(|| winner(partition, living.iter().map(|(life, ..)| *life)));
            taker == Some(&config.me)
        };
        self.orders.extend(orphans.grant(is_mine));
    }
}
