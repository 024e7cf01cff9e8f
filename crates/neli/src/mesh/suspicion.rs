//! Suspicion: a member whose link is silent is stood in for, at the price of an overlap if it
//! lives.
//!
//! - Each member gives a sign of life on every link, eight times within the limit.
//! - A member whose own loop was late suspects no member: what it did not hear may wait for it.
//! - If most links have been silent for three quarters of the limit, the fault is its own. So of
//!   two members none suspects the other; and where all fall silent at once, none is suspected
//!   because its last sign of life came a little before that of the others.
//! - A statement on the ledger vetoes: it counts as speech. A suspect that is vouched for is
//!   suspected again only after its link has spoken.
//! - No more than one suspicion of a member in a second.
//! - No tombstone, no notice: each member judges its own links.

use std::time::Duration;

use super::peer::{Link, Peer};
use super::{Cause, LinkId, Mesh, Process, Word};
use tandem_facts::time::Mono;

/// The shortest time between two suspicions of one member.
const AGAIN: Duration = Duration::from_secs(1);
/// Signs of life within the time after which silence is suspect.
const BEATS: u32 = 8;

impl Mesh {
    /// Every call comes by here: a loop that was late forgives all silence.
    pub(super) fn turn(&mut self, now: Mono) {
        let since = now.since(self.turned);
        let late = self.config.suspect.is_some_and(|it| since >= it / 2);
        let slept = since >= self.tomb() / 2;
        for link in self.peers.values_mut().filter_map(|peer| peer.link.as_mut()) {
            if late {
                link.spoke = link.spoke.max(now);
            }
            if slept {
                link.heard = link.heard.max(now);
            }
        }
        self.turned = self.turned.max(now);
    }

    /// A member spoke on its link.
    pub(super) fn spoke(&mut self, now: Mono, life: &Process) {
        let Some(link) = self.peers.get_mut(life).and_then(|peer| peer.link.as_mut()) else {
            return;
        };
        (link.spoke, link.heard, link.armed, link.doubt) = (now, now, true, None);
        if std::mem::take(&mut link.suspect) {
            self.orders.extend(self.orphans.release(life, Some(Cause::Silence)));
        }
    }

    /// A member spoke on the ledger.
    pub(super) fn vouched(&mut self, now: Mono, life: &Process) {
        let Some(link) = self.peers.get_mut(life).and_then(|peer| peer.link.as_mut()) else {
            return;
        };
        link.spoke = link.spoke.max(now);
        if std::mem::take(&mut link.suspect) {
            link.armed = false;
            self.orders.extend(self.orphans.release(life, Some(Cause::Silence)));
        }
    }

    /// Gives signs of life, and suspects silent members.
    pub(super) fn judge_silence(&mut self, now: Mono) {
        let Some(limit) = self.config.suspect else { return };
        if self.beat.is_some_and(|beat| beat <= now) {
            self.beat = Some(now + limit / BEATS);
            let links: Vec<LinkId> = self.links.keys().copied().collect();
            self.words.extend(links.into_iter().map(|link| (link, Word::Alive)));
        }
        // Two signs of life less than the limit.
        let rest = u64::try_from((limit * 3 / 4).as_nanos()).unwrap_or(u64::MAX);
        let silent = |link: &Link| link.suspect || now.since(link.spoke) >= limit;
        // By their links alone: the ledger hears of each at another time.
        let quiet = |link: &Link| link.suspect || now.since(link.heard) >= limit * 3 / 4;
        let count = self.peers.values().filter_map(|it| it.link).filter(quiet).count();
        if count * 2 > self.links.len() {
            // When it is over, the links speak again one after the other.
            for link in self.peers.values_mut().filter_map(|peer| peer.link.as_mut()) {
                let forgiven = Mono(now.0.saturating_sub(rest));
                link.spoke = link.spoke.max(forgiven);
            }
            return;
        }
        let is_new = |peer: &Peer| {
            let soon = peer.suspected.is_some_and(|at| now.since(at) < AGAIN);
            peer.link.is_some_and(|link| silent(&link) && link.armed && !link.suspect) && !soon
        };
        let suspects: Vec<Process> =
            self.peers.iter().filter(|(_, it)| is_new(it)).map(|(life, _)| life.clone()).collect();
        for life in suspects {
            self.suspect(now, &life);
        }
    }

    fn suspect(&mut self, now: Mono, life: &Process) {
        let Some(peer) = self.peers.get_mut(life) else { return };
        peer.suspected = Some(now);
        if let Some(link) = &mut peer.link {
            link.suspect = true;
        }
        if let Some(share) = &peer.share {
            self.orphans.add(life, share, Cause::Silence, now + self.config.stand_in);
        }
        self.grant();
    }
}
