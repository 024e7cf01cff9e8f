//! What disturbs a group.

use tandem::neli::membership::{GroupMember, Outgoing, Request, RequestId};

use super::network::Link;
use super::world::{Happening, Place, World, ms};

/// A disturbance. Places are counted modulo the number of members.
#[derive(Debug, Clone)]
pub(super) enum Fault {
    /// The process dies; another life begins after a while, if ever. Its parent may leave for it.
    Kill { place: usize, back_after_ms: Option<u64>, left_for: bool },
    /// The member leaves.
    Leave { place: usize, back_after_ms: Option<u64> },
    /// Packets are held, and delivered when the network heals.
    Stall { place: usize, ms: u64 },
    /// Connections are reset, and new ones as well.
    Reset { place: usize, ms: u64 },
    /// The next Join is delivered late.
    HoldJoin { place: usize, ms: u64 },
    /// The next answer is delivered late.
    HoldAnswer { place: usize, ms: u64 },
    /// The next answers are lost, and their connections with them.
    LoseAnswers { place: usize, times: u32 },
    /// The process is stopped, and continues.
    Stop { place: usize, ms: u64 },
    /// The member reaches only a coordinator that was deposed and does not know it: it counts the
    /// member in, and can replicate nothing.
    Deposed { place: usize, ms: u64 },
    /// The member does not reach the leader of a partition; of no place: all.
    Deaf { place: Option<usize>, partition: u32, ms: u64 },
    /// The coordinator is away, and another broker goes on with its state, or with none.
    Coordinator { ms: u64, forgets: bool },
}

impl World {
    fn place(&self, place: usize) -> usize {
        place % self.places.len()
    }

    pub(super) fn inject(&mut self, fault: &Fault) {
        self.note(&format!("!! {fault:?}"));
        let now = self.now;
        if let Fault::Stall { ms: lasts, .. }
        | Fault::Reset { ms: lasts, .. }
        | Fault::Stop { ms: lasts, .. }
        | Fault::Deposed { ms: lasts, .. }
        | Fault::Coordinator { ms: lasts, .. } = fault
        {
            self.disturbs_until(now + ms(*lasts));
        }
        match *fault {
            Fault::Kill { place, back_after_ms, left_for } => {
                let place = self.place(place);
                if left_for {
                    self.leave_for(place);
                }
                self.places[place].core = None;
                self.places[place].neli = None;
                self.come_back(place, back_after_ms);
            }
            Fault::Leave { place, back_after_ms } => {
                let place = self.place(place);
                if let Some(core) = self.awake(place) {
                    core.handle_leave(now);
                    if let Some(neli) = &mut self.places[place].neli {
                        neli.handle_leave(now);
                    }
                    self.come_back(place, back_after_ms);
                }
            }
            Fault::Stall { place, ms: lasts } => {
                let place = self.place(place);
                self.places[place].link = Link::Stalled(now + ms(lasts));
            }
            Fault::Reset { place, ms: lasts } => {
                let place = self.place(place);
                self.places[place].link = Link::Reset(now + ms(lasts));
            }
            Fault::Stop { place, ms: lasts } => {
                let place = self.place(place);
                self.places[place].stopped = now + ms(lasts);
                self.after(ms(lasts), Happening::Woken);
            }
            Fault::Deposed { place, ms: lasts } => {
                let place = self.place(place);
                self.wires.deposed.insert(place, now + ms(lasts));
            }
            Fault::Deaf { place, partition, ms: lasts } => self.deafen(place, partition, ms(lasts)),
            Fault::HoldJoin { place, ms: lasts } => {
                let place = self.place(place);
                self.wires.hold.entry(place).or_default().push_back(ms(lasts));
            }
            Fault::HoldAnswer { place, ms: lasts } => {
                let place = self.place(place);
                self.wires.hold_answer.insert(place, ms(lasts));
            }
            Fault::LoseAnswers { place, times } => {
                self.wires.lose.insert(self.place(place), times);
            }
            Fault::Coordinator { ms: lasts, forgets } => {
                if self.away_since.is_none() {
                    self.away_since = Some(now);
                    self.lose_parked();
                    if forgets {
                        self.forget_everything();
                    }
                    self.after(ms(lasts), Happening::CoordinatorBack);
                }
            }
        }
    }

    /// The parent of a dead process leaves for it, by the id that the coordinator gave it.
    fn leave_for(&mut self, place: usize) {
        let Place { life, core, .. } = &self.places[place];
        let id = core.as_ref().and_then(GroupMember::member_id);
        if let Some(member_id) = id.map(ToOwned::to_owned) {
            let (life, id) = (*life, RequestId(u64::MAX));
            let to = Some(self.where_is_the_coordinator());
            let outgoing = Outgoing { id, to, request: Request::Leave { member_id } };
            self.after(ms(5), Happening::Arrives { place, life, outgoing });
        }
    }

    fn come_back(&mut self, place: usize, after_ms: Option<u64>) {
        if let Some(after) = after_ms {
            self.disturbs_until(self.now + ms(after));
            self.after(ms(after), Happening::Revived { place });
        }
    }

    pub(super) fn coordinator_back(&mut self) {
        if let Some(since) = self.away_since.take() {
            self.away += self.now.since(since);
            self.broker += 1;
        }
    }

    /// Nothing that is sent from now on is held or lost, once the faults under way are over.
    pub(super) fn calm(&mut self) {
        self.note("!! no more faults");
        self.wires.hold.clear();
        self.wires.hold_answer.clear();
        self.wires.lose.clear();
    }
}
