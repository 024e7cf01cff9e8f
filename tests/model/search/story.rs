//! A path of the search, as a story that people can read.

use stateright::Path;
use tandem_facts::ids::PartitionId;
use tandem_neli::membership::{Request, Response};

use super::core::NAMES;
use super::moves::{Fate, Move};
use super::setting::TICK;
use super::world::{Late, World};

/// One line a move: when, what, and who leads what afterwards.
pub(super) fn text(path: Path<World, Move>) -> String {
    let steps = path.into_vec();
    let Some(begin) = steps.first().map(|(world, _)| world.now) else { return String::new() };
    let mut lines = Vec::new();
    for pair in steps.windows(2) {
        let [(before, Some(step)), (after, _)] = pair else { continue };
        if *step == Move::Tick && before.rests() && leads(before) == leads(after) {
            continue;
        }
        let ticks = after.now.since(begin).as_millis() / TICK.as_millis();
        let line = format!("{ticks:>3}  {:<60} {}", line(before, *step), leads(after));
        lines.push(line);
    }
    lines.join("\n")
}

fn line(world: &World, step: Move) -> String {
    match step {
        Move::Tick => "a tick".to_owned(),
        Move::Ask { seat, which, fate } => {
            let asked = asked(&world.seats[seat].outbox[which].request);
            format!("{}: {asked}{}", NAMES[seat], shown(fate))
        }
        Move::Answer { which, fate } => {
            let (seat, _, outcome) = &world.ready[which];
            format!("{} <- {}{}", NAMES[*seat], answered(outcome.as_ref()), shown(fate))
        }
        Move::Release { which } => match &world.late[which] {
            Late::Request(seat, outgoing) => {
                format!("{}: {}, at last", NAMES[*seat], asked(&outgoing.request))
            }
            Late::Answer(seat, _, outcome) => {
                format!("{} <- {}, at last", NAMES[*seat], answered(outcome.as_ref()))
            }
        },
        Move::Begin { seat } => format!("{} joins", NAMES[seat]),
        Move::Befall { seat, kind } => format!("!! {kind:?} befalls {}", NAMES[seat]),
        Move::Recover { seat } => format!("!! {} is well", NAMES[seat]),
        Move::Depose => "!! another broker is coordinator, and loads".to_owned(),
        Move::Load => "!! it has loaded the group".to_owned(),
        Move::Lower => "!! the session of the group is lowered".to_owned(),
        Move::Cease => "no more faults".to_owned(),
    }
}

const fn shown(fate: Fate) -> &'static str {
    match fate {
        Fate::Arrives => "",
        Fate::Held => ", held",
        Fate::AnswerHeld => ", the answer held",
        Fate::Broken => ", the connection breaks before",
        Fate::AnswerBroken => ", the connection breaks after",
    }
}

fn asked(request: &Request) -> String {
    match request {
        Request::FindCoordinator => "FindCoordinator".to_owned(),
        Request::Join(join) => format!("Join as '{}'", join.member_id),
        Request::Sync(sync) => format!("Sync of generation {}", sync.generation),
        Request::Heartbeat { member_id, generation } => {
            format!("Heartbeat as {member_id} of generation {generation}")
        }
        Request::Commit { member_id, generation, .. } => {
            format!("Commit as {member_id} of generation {generation}")
        }
        Request::Offsets { .. } => "Offsets".to_owned(),
        Request::Leaders { .. } => "Leaders".to_owned(),
        Request::Leave { member_id } => format!("Leave of {member_id}"),
        Request::Beat(beat) => {
            let owned = beat.owned.iter().flatten().map(|it| it.partition.to_string());
            let owned: Vec<String> = owned.collect();
            format!("Beat of {} at {}, owning {}", beat.member_id, beat.epoch, owned.join(" "))
        }
        Request::Session => "Session".to_owned(),
        Request::Members => "Members".to_owned(),
    }
}

fn answered(outcome: Option<&Response>) -> String {
    match outcome {
        None => "connection lost".to_owned(),
        Some(Response::Coordinator(broker)) => format!("coordinator {}", broker.id),
        Some(Response::Joined(joined)) => format!("in generation {}", joined.generation),
        Some(Response::Synced(_)) => "its share".to_owned(),
        Some(Response::Offsets(_)) => "offsets".to_owned(),
        Some(Response::Leaders(_)) => "leaders".to_owned(),
        Some(Response::Done) => "done".to_owned(),
        Some(Response::Beaten(it)) => {
            let given = it.assignment.iter().flatten().map(|it| it.partition.to_string());
            let given: Vec<String> = given.collect();
            format!("in epoch {}, given {}", it.epoch, given.join(" "))
        }
        Some(Response::Members(count)) => format!("{count} members"),
        Some(Response::Session(session)) => format!("a session of {session:?}"),
        Some(Response::Refused { refusal, .. }) => refusal.to_string(),
    }
}

/// Who leads each partition.
fn leads(world: &World) -> String {
    let of = |k| {
        let who = NAMES.iter().zip(&world.seats).filter(|(_, seat)| seat.leads(world.now, k));
        let who: String = who.map(|(name, _)| *name).collect();
        if who.is_empty() { "-".to_owned() } else { who }
    };
    format!("{} {}", of(PartitionId(0)), of(PartitionId(1)))
}
