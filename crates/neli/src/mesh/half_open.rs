//! Links that are open at one end alone: a host lost its power, a firewall forgot the connection, a
//! cable is cut. No end of a connection arrives then, so members ask.
//!
//! A link that was silent for a quarter of [`Mesh::tomb`] is asked whether its member is alive; one
//! that was silent for all of it is hung up, and its member is dialed anew. That is no death: the
//! group itself has noticed by then, if it was one, and a cut network looks the same. The other end
//! learns by a word of its own ([`Word::Hangup`]) that the end of the link is none.

use super::peer::Link;
use super::{LinkId, Mesh, Process, Word};
use tandem_facts::time::Mono;

/// How often a silent link is asked before it is hung up, and once more.
const ASKS: u32 = 4;

impl Link {
    /// When it is to be asked, or hung up.
    pub(super) fn look(&self, tomb: std::time::Duration) -> Mono {
        (self.heard.max(self.asked) + tomb / ASKS).min(self.heard + tomb)
    }
}

impl Mesh {
    /// Asks links that are silent, and hangs up those that do not answer.
    pub(super) fn look_for_half_open(&mut self, now: Mono) {
        let tomb = self.tomb();
        let mut lost = Vec::new();
        for (life, peer) in &mut self.peers {
            let Some(link) = peer.link.as_mut().filter(|link| link.look(tomb) <= now) else {
                continue;
            };
            if now.since(link.heard) >= tomb {
                lost.push(life.clone());
            } else {
                link.asked = now;
                self.words.push_back((link.id, Word::Ask));
            }
        }
        for life in lost {
            self.hang_up(&life);
            self.redial(now, &life);
        }
    }

    /// Closes a link, and says at its other end that this is no death.
    pub(super) fn hang_up(&mut self, life: &Process) {
        if let Some(link) = self.unlink(life) {
            self.words.push_back((link, Word::Hangup));
        }
    }

    /// The other end hung up.
    pub(super) fn hung_up(&mut self, now: Mono, life: &Process) {
        self.unlink(life);
        self.redial(now, life);
    }

    fn unlink(&mut self, life: &Process) -> Option<LinkId> {
        let link = self.peers.get_mut(life)?.link.take()?.id;
        self.links.remove(&link);
        self.closes.push_back(link);
        Some(link)
    }

    /// Dials a member, if this one is to.
    pub(super) fn redial(&mut self, now: Mono, life: &Process) {
        let dials = self.config.me < *life;
        if let Some(peer) = self.peers.get_mut(life).filter(|_| dials) {
            peer.dial(now, None);
        }
    }
}
