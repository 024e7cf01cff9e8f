//! All that may happen next, and what it does.

use std::sync::Arc;

use stateright::{Model, Property};
use tandem_neli::membership::{Outgoing, Request, RequestId};

use super::calm::Calm;
use super::seat::{Outcome, Seat, State};
use super::setting::{Kind, Setting};
use super::world::{Late, World};

/// The most messages that the network holds.
const HELD_MOST: usize = 2;

/// How a message fares.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fate {
    Arrives,
    /// It is held; of a request with its answer, the request.
    Held,
    /// The request arrives, and its answer is held.
    AnswerHeld,
    /// The connection breaks; the request has not arrived.
    Broken,
    /// The connection breaks; the request has arrived.
    AnswerBroken,
}

/// One step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Move {
    /// The clock goes on.
    Tick,
    /// A request of a member goes to a broker, and is answered if it can be answered at once.
    Ask { seat: usize, which: usize, fate: Fate },
    /// An answer that had to wait goes to a member.
    Answer { which: usize, fate: Fate },
    /// What the network held is delivered.
    Release { which: usize },
    /// A new member joins.
    Begin { seat: usize },
    /// A fault befalls a member.
    Befall { seat: usize, kind: Kind },
    /// It is over.
    Recover { seat: usize },
    /// Another broker is to coordinate the group.
    Depose,
    /// It has loaded the group.
    Load,
    /// The session of the group is lowered.
    Lower,
    /// Faults cease for good.
    Cease,
}

/// A search of all that may happen to a group.
#[derive(Debug)]
pub(super) struct Search {
    pub(super) setting: Setting,
    pub(super) calm: Calm,
}

impl Search {
    /// The requests that may go next. Heartbeats and commits of different members commute, so that
    /// one order of them stands for all.
    fn asks(world: &World) -> Vec<(usize, usize)> {
        let of = |(at, seat): (usize, &Arc<Seat>)| {
            (0..seat.outbox.len()).map(|which| (at, which)).collect::<Vec<_>>()
        };
        let all = world.seats.iter().enumerate().flat_map(of);
        let mut all: Vec<(usize, usize)> = all.collect();
        // A heartbeat of the newer protocol is no more than a sign where nothing is to change.
        let settled = world.hub.is_settled && !world.hub.loads;
        let alone = |(at, which): &(usize, usize)| {
            let request = &world.seats[*at].outbox[*which].request;
            is_sign(request)
                || (settled && matches!(request, Request::Beat(beat) if beat.epoch > 0))
        };
        if world.ready.is_empty() && all.iter().all(alone) {
            all.truncate(1);
        }
        all
    }

    /// Whether this is the time for what befalls a member: after what other members do at the same
    /// instant without regard to it is no other time than before.
    fn is_turn(world: &World, asks: &[(usize, usize)], seat: usize) -> bool {
        asks.len() != 1 || asks.iter().any(|(at, _)| *at == seat) || !world.ready.is_empty()
    }
}

impl Model for Search {
    type State = World;
    type Action = Move;

    fn init_states(&self) -> Vec<World> {
        vec![World::new(&self.setting)]
    }

    fn actions(&self, world: &World, moves: &mut Vec<Move>) {
        let Setting { kinds, settles, .. } = self.setting;
        // Nothing to look for beyond a mistake that was found.
        if !world.settled || (self.setting.mode.forbids_overlap() && !world.led_once()) {
            return;
        }
        if world.rests() {
            moves.push(Move::Tick);
            moves.extend(settles.then_some(Move::Cease));
        }
        let may = |kind| world.faults > 0 && world.lull == 0 && kinds.contains(&kind);
        let (holds, breaks) = (may(Kind::Held) && world.late.len() < HELD_MOST, may(Kind::Broken));
        let asks = Self::asks(world);
        for &(seat, which) in &asks {
            let ask = |fate| Move::Ask { seat, which, fate };
            moves.push(ask(Fate::Arrives));
            if holds {
                moves.extend([Fate::Held, Fate::AnswerHeld].map(ask));
            }
            if breaks {
                moves.extend([Fate::Broken, Fate::AnswerBroken].map(ask));
            }
        }
        for (at, seat) in world.seats.iter().enumerate() {
            if !Self::is_turn(world, &asks, at) {
                continue;
            }
            match seat.state {
                State::Unborn => moves.push(Move::Begin { seat: at }),
                State::Well => {
                    let befalls = kinds.iter().filter(|kind| may(**kind) && kind.is_of_a_member());
                    moves.extend(befalls.map(|kind| Move::Befall { seat: at, kind: *kind }));
                }
                State::Paused | State::Cut | State::NoHeartbeats | State::Deposed => {
                    moves.push(Move::Recover { seat: at });
                }
                State::Gone | State::Failed => {}
            }
        }
        for which in 0..world.ready.len() {
            moves.push(Move::Answer { which, fate: Fate::Arrives });
            if holds {
                moves.push(Move::Answer { which, fate: Fate::AnswerHeld });
            }
            if breaks {
                moves.push(Move::Answer { which, fate: Fate::AnswerBroken });
            }
        }
        moves.extend((0..world.late.len()).map(|which| Move::Release { which }));
        if world.hub.loads {
            moves.push(Move::Load);
        } else if may(Kind::Moved) {
            moves.push(Move::Depose);
        }
        if may(Kind::Lowered) && world.rests() && !world.hub.loads {
            moves.push(Move::Lower);
        }
    }

    fn next_state(&self, world: &World, step: Move) -> Option<World> {
        let mut next = world.clone();
        let now = next.now;
        match step {
            Move::Tick => {
                next.ticks += u8::from(self.setting.horizon.is_some());
                next.tick();
            }
            Move::Ask { seat, which, fate } => {
                let outgoing = next.seat(seat).outbox.remove(which);
                next.ask(seat, outgoing, fate);
            }
            Move::Answer { which, fate } => {
                let (seat, id, outcome) = next.ready.remove(which);
                next.answer(seat, id, outcome, fate);
            }
            Move::Release { which } => next.release(which),
            Move::Begin { seat } => next.seat(seat).begin(now, &self.setting),
            Move::Befall { seat, kind } => next.befall(seat, kind),
            Move::Recover { seat } => next.seat(seat).recover(now),
            Move::Depose => {
                next.faults -= 1;
                next.depose();
            }
            Move::Load => next.hub().load(now),
            Move::Lower => {
                next.faults -= 1;
                next.lull = self.setting.lull;
                next.hub().lower(now);
            }
            Move::Cease => {
                // All that follows is one story: there is nothing to search.
                next.settled = self.calm.settles(&next);
                if next.settled {
                    return None;
                }
            }
        }
        next.spread();
        Some(next)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        let mut properties = vec![
            Property::<Self>::always(GIVES_UP, |_, world| {
                world.seats.iter().all(|seat| seat.state != State::Failed)
            }),
            Property::<Self>::always(SETTLES, |_, world| world.settled),
        ];
        if self.setting.mode.forbids_overlap() {
            properties.push(Property::<Self>::always(ONCE, |_, world| world.led_once()));
        }
        properties
    }

    fn within_boundary(&self, world: &World) -> bool {
        self.setting.horizon.is_none_or(|horizon| world.ticks <= horizon)
    }
}

pub(super) const ONCE: &str = "no partition is led by two members";
pub(super) const SETTLES: &str = "every partition is led, once the faults cease";
pub(super) const GIVES_UP: &str = "no member gives up";

const fn is_sign(request: &Request) -> bool {
    match request {
        Request::Heartbeat { .. }
        | Request::Commit { .. }
        | Request::Offsets { .. }
        | Request::Session
        | Request::Members => true,
        Request::FindCoordinator
        | Request::Join(_)
        | Request::Sync(_)
        | Request::Leaders { .. }
        | Request::Beat(_)
        | Request::Leave { .. } => false,
    }
}

impl Kind {
    const fn is_of_a_member(self) -> bool {
        match self {
            Self::Kill
            | Self::Leave
            | Self::Pause
            | Self::Cut
            | Self::NoHeartbeats
            | Self::Deposed => true,
            Self::Moved | Self::Held | Self::Broken | Self::Lowered => false,
        }
    }
}

impl World {
    fn ask(&mut self, seat: usize, outgoing: Outgoing, fate: Fate) {
        let id = outgoing.id;
        if fate != Fate::Arrives {
            self.faults -= 1;
        }
        match fate {
            Fate::Held => return self.late.push(Late::Request(seat, outgoing)),
            Fate::Broken => return self.take(seat, id, None),
            Fate::Arrives | Fate::AnswerHeld | Fate::AnswerBroken => {}
        }
        if let Some(response) = self.arrive(seat, outgoing) {
            self.carry(seat, id, Some(response), fate);
        } else if fate == Fate::AnswerBroken {
            self.take(seat, id, None);
        }
    }

    fn answer(&mut self, seat: usize, id: RequestId, outcome: Outcome, fate: Fate) {
        if fate != Fate::Arrives {
            self.faults -= 1;
        }
        self.carry(seat, id, outcome, fate);
    }

    fn carry(&mut self, seat: usize, id: RequestId, outcome: Outcome, fate: Fate) {
        match fate {
            Fate::Arrives | Fate::Held => self.take(seat, id, outcome),
            Fate::AnswerHeld => self.late.push(Late::Answer(seat, id, outcome)),
            Fate::Broken | Fate::AnswerBroken => self.take(seat, id, None),
        }
    }

    pub(super) fn release(&mut self, which: usize) {
        match self.late.remove(which) {
            Late::Request(seat, outgoing) => self.ask(seat, outgoing, Fate::Arrives),
            Late::Answer(seat, id, outcome) => self.take(seat, id, outcome),
        }
    }

    fn befall(&mut self, seat: usize, kind: Kind) {
        self.faults -= 1;
        let now = self.now;
        let of = self.seat(seat);
        match kind {
            Kind::Kill => of.die(),
            Kind::Leave => of.leave(now),
            Kind::Pause => of.state = State::Paused,
            Kind::Cut => {
                of.state = State::Cut;
                of.outbox.clear();
            }
            Kind::NoHeartbeats => of.state = State::NoHeartbeats,
            Kind::Deposed => of.state = State::Deposed,
            Kind::Moved | Kind::Held | Kind::Broken | Kind::Lowered => {}
        }
        if kind == Kind::Deposed {
            self.hub().replaced(now);
        }
        if matches!(kind, Kind::Kill | Kind::Cut) {
            self.ready.retain(|ready| ready.0 != seat);
        }
    }
}
