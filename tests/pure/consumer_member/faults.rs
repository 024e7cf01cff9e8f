//! What disturbs a group.

use super::world::{Packet, SESSION, World, ms};
use tandem::groups::consumer::GroupOverrides;
use tandem::neli::membership::{Beat, Beaten, Outgoing, Request, RequestId, Response};

/// A disturbance, of one place or of all. What lasts is over by itself.
#[derive(Debug, Clone)]
pub(super) enum Fault {
    /// The process dies; its parent may leave for it.
    Kill {
        place: usize,
        left_for: bool,
    },
    Leave {
        place: usize,
    },
    Stop {
        place: usize,
        ms: u64,
    },
    /// Requests are lost on their way.
    Deaf {
        place: usize,
        ms: u64,
    },
    /// Answers are lost on their way.
    Dumb {
        place: usize,
        ms: u64,
    },
    /// Requests arrive late, when their sender has given them up.
    Hold {
        place: usize,
        ms: u64,
        by: u64,
    },
    /// The member reaches only a coordinator that was deposed and does not know it.
    Deposed {
        place: usize,
        ms: u64,
    },
    /// The session of the group is lowered.
    Lower {
        session: u64,
    },
}

impl World {
    pub(super) fn inject(&mut self, fault: &Fault) {
        self.note(&format!("!! {fault:?}"));
        let (now, count) = (self.now, self.places.len());
        let mut until = now;
        match *fault {
            Fault::Kill { place, left_for } => {
                let at = &mut self.places[place % count];
                if let Some(core) = at.core.as_ref().filter(|_| left_for) {
                    let member_id = core.member_id().to_owned();
                    let beat = Beat { member_id, epoch: -1, whole: false, owned: None };
                    let request = Request::Beat(beat);
                    let outgoing = Outgoing { id: RequestId(u64::MAX), to: None, request };
                    self.packets.push((now + ms(5), place % count, 0, Packet::Asks(outgoing)));
                }
                (at.core, at.neli, at.back) = (None, None, Some(now + ms(300)));
                until = now + ms(300);
            }
            Fault::Leave { place } => {
                let at = &mut self.places[place % count];
                if let Some(core) = at.core.as_mut().filter(|_| at.stopped <= now) {
                    core.handle_leave(now);
                    if let Some(neli) = &mut at.neli {
                        neli.handle_leave(now);
                    }
                    at.back = Some(now + SESSION * 2);
                    until = now + SESSION * 2;
                }
            }
            Fault::Stop { place, ms: lasts } => {
                until = now + ms(lasts);
                self.places[place % count].stopped = until;
            }
            Fault::Deaf { place, ms: lasts } => {
                until = now + ms(lasts);
                self.places[place % count].deaf = until;
            }
            Fault::Dumb { place, ms: lasts } => {
                until = now + ms(lasts);
                self.places[place % count].dumb = until;
            }
            Fault::Hold { place, ms: lasts, by } => {
                self.places[place % count].held = (now + ms(lasts), ms(by));
                until = now + ms(lasts + by);
            }
            Fault::Deposed { place, ms: lasts } => {
                until = now + ms(lasts);
                self.places[place % count].deposed = (until, self.broker);
                // The one that follows has read the group from the log.
                self.broker += 1;
                self.coordinator.handle_loaded(now);
            }
            Fault::Lower { session } => {
                let overrides = GroupOverrides { session: Some(ms(session)), heartbeat: None };
                self.coordinator.handle_overrides(now, "g", overrides).unwrap();
            }
        }
        self.calm = self.calm.max(until);
    }
}

/// What a coordinator answers that was deposed: it writes no record, so it answers only what
/// changes nothing.
pub(super) fn deposed(request: Request) -> Option<Response> {
    match request {
        Request::Beat(Beat { epoch: epoch @ 1.., owned: Some(owned), .. }) => {
            let assignment = Some(owned.into_iter().collect());
            Some(Response::Beaten(Beaten { epoch, interval: ms(100), assignment }))
        }
        Request::Session => Some(Response::Session(SESSION)),
        _ => None,
    }
}
