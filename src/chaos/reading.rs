//! From text to an experiment: read, and check what can be checked without a topology.

use std::collections::BTreeSet;
use std::path::PathBuf;

use super::spec::{Spec, StepSpec, TargetSpec};
use super::words::{AllOr, OrAny};
use super::{Across, Experiment, Fault, Pick, Steady, Step, Target, Trigger};
use crate::ids::StepId;
use crate::time::Span;
use crate::yaml::{Cursor, Node, Problem, choices, parse, read};

const SETTLED: Span = Span::ms(1_000);
const WITHIN: Span = Span::ms(50);
/// Longer than it takes to replace a broker, and not so long that a disk fills.
const BROKER_RESTART: Span = Span::ms(5_000);
const TRIALS_MOST: u32 = 100_000;

/// Reads the experiment that `text` describes; the document comes along, for what has to be said of
/// it later.
///
/// # Errors
/// All that is wrong with it; a value that does not even fit its type hides the rest.
pub fn experiment(text: &str) -> Result<(Experiment, Node), Vec<Problem>> {
    let one = |problem| vec![problem];
    let root = parse(text).map_err(one)?;
    let spec: Spec = read(&root).map_err(one)?;
    let place = Cursor::of(&root);
    let mut problems = Vec::new();
    if spec.version != 1 {
        let message = format!("version {} of this format is not known", spec.version);
        problems.push(Problem::at(place.key("version").origin(), message).hint("write 1"));
    }
    let trials = spec.trials.unwrap_or(1);
    if !(1..=TRIALS_MOST).contains(&trials) {
        let message = format!("an experiment has 1 to {TRIALS_MOST} trials, not {trials}");
        problems.push(Problem::at(place.key("trials").origin(), message));
    }
    if spec.method.is_empty() {
        let nothing = Problem::at(place.key("method").origin(), "the method has no step");
        problems.push(nothing.hint("a control trial does nothing: {fault: noop, for: 60s}"));
    }
    let method = steps(&spec.method, place.key("method"), &mut problems);
    if !problems.is_empty() {
        return Err(problems);
    }
    let experiment = Experiment {
        name: spec.name.to_string(),
        topology: spec.topology.map(PathBuf::from),
        seed: spec.seed,
        trials,
        steady: Steady { settled: spec.steady_state.settled.unwrap_or(SETTLED) },
        method,
        assertions: spec.assert,
        objective: spec.objective,
        limits: spec.limits,
        stop_when: spec.stop_when,
        recover: spec.recover.within,
    };
    Ok((experiment, root))
}

fn steps(specs: &[StepSpec], place: Cursor<'_>, problems: &mut Vec<Problem>) -> Vec<Step> {
    let mut steps: Vec<Step> = Vec::new();
    for (index, spec) in specs.iter().enumerate() {
        let place = place.index(index);
        match step(spec, index, &steps, place) {
            Ok(step) => steps.push(step),
            Err(problem) => problems.push(problem),
        }
    }
    steps
}

fn step(spec: &StepSpec, index: usize, above: &[Step], place: Cursor<'_>) -> Result<Step, Problem> {
    let named = || format!("step-{}", index + 1).parse::<StepId>();
    let id = match &spec.id {
        Some(id) => id.clone(),
        None => named().map_err(|error| Problem::at(place.origin(), error.to_string()))?,
    };
    if above.iter().any(|step| step.id == id) {
        let message = format!("a step above is named `{id}` already");
        return Err(Problem::at(place.key("id").origin(), message));
    }
    let trigger = trigger(spec, &id, above, place)?;
    durations(spec, place)?;
    let target = match (&spec.target, spec.fault) {
        (None, Fault::Noop) => None,
        (Some(_), Fault::Noop) => {
            let message = "a noop is done to nobody";
            return Err(Problem::at(place.key("target").name(), message));
        }
        (None, fault @ (Fault::Kill | Fault::Pause | Fault::Broker)) => {
            let message = format!("a {} needs a `target`", fault.as_str());
            let hint = match fault {
                Fault::Broker => "as in target: {coordinator_of: any}",
                Fault::Kill | Fault::Pause | Fault::Noop => {
                    "as in target: {leader_of: any, group: any}"
                }
            };
            return Err(Problem::at(place.key("fault").origin(), message).hint(hint));
        }
        (Some(spec), fault @ (Fault::Kill | Fault::Pause | Fault::Broker)) => {
            Some(target_of(fault, spec, place.key("target"))?)
        }
    };
    Ok(Step {
        id,
        trigger,
        jitter: spec.jitter.unwrap_or_default(),
        fault: spec.fault,
        target,
        lasts: spec.lasts,
        restart_after: match spec.fault {
            Fault::Broker => spec.restart_after.or(Some(BROKER_RESTART)),
            Fault::Kill | Fault::Pause | Fault::Noop => spec.restart_after,
        },
        overlap_restart: spec.overlap_restart,
    })
}

fn trigger(
    spec: &StepSpec,
    id: &StepId,
    above: &[Step],
    place: Cursor<'_>,
) -> Result<Trigger, Problem> {
    let Some(after) = &spec.after else {
        if spec.delay.is_some() {
            let message = "a `delay` counts from another step";
            return Err(Problem::at(place.key("delay").name(), message)
                .hint("write `at`, or say `after` which step"));
        }
        return Ok(Trigger::At(spec.at.unwrap_or_default()));
    };
    if spec.at.is_some() {
        let message = "a step is due `at` a time or `after` another step, not both";
        return Err(Problem::at(place.key("after").name(), message));
    }
    if !above.iter().any(|step| step.id == *after) {
        let origin = place.key("after").origin();
        if after == id {
            return Err(Problem::at(origin, format!("`{id}` waits for itself")));
        }
        let names = above.iter().map(|step| step.id.as_str());
        return Err(Problem::at(origin, format!("no step above is named `{after}`"))
            .hint(choices(after.as_str(), names)));
    }
    Ok(Trigger::After(after.clone(), spec.delay.unwrap_or_default()))
}

/// What lasts has an end of its own, what dies is started again.
fn durations(spec: &StepSpec, place: Cursor<'_>) -> Result<(), Problem> {
    let word = spec.fault.as_str();
    let refused = |key: &str, why: &str| {
        Err(Problem::at(place.key(key).name(), format!("a {word} has no `{key}`")).hint(why))
    };
    match spec.fault {
        Fault::Kill | Fault::Broker => {
            if spec.lasts.is_some() {
                return refused("for", "it ends with the restart: see `restart_after`");
            }
            if spec.fault == Fault::Broker && spec.overlap_restart {
                return refused("overlap_restart", "no member dies of it");
            }
        }
        Fault::Pause | Fault::Noop => {
            if spec.restart_after.is_some() {
                return refused("restart_after", "nobody dies of it");
            }
            if spec.overlap_restart {
                return refused("overlap_restart", "nobody dies of it");
            }
            if spec.lasts.is_none_or(|lasts| lasts == Span::default()) {
                let message = format!("a {word} must say `for` how long");
                return Err(Problem::at(place.key("fault").origin(), message).hint("as in for: 3s"));
            }
        }
    }
    Ok(())
}

/// Members are killed and paused, brokers die of a fault of their own.
fn target_of(fault: Fault, spec: &TargetSpec, place: Cursor<'_>) -> Result<Target, Problem> {
    let of_a_broker = matches!(fault, Fault::Broker);
    match (&spec.coordinator_of, of_a_broker) {
        (None, false) => target(spec, place),
        (Some(_), false) => {
            let message = format!("a {} is done to members", fault.as_str());
            Err(Problem::at(place.key("coordinator_of").name(), message)
                .hint("`fault: broker` kills a broker"))
        }
        (None, true) => Err(Problem::at(place.name(), "the target names no broker")
            .hint("say `coordinator_of` which group")),
        (Some(group), true) => {
            let others = [
                ("member", spec.member.is_some()),
                ("leader_of", spec.leader_of.is_some()),
                ("group", spec.group.is_some()),
                ("mode", spec.mode.is_some()),
                ("across", spec.across.is_some()),
            ];
            match others.into_iter().find(|(_, given)| *given) {
                Some((key, _)) => {
                    let message = format!("a target has no `{key}` beside `coordinator_of`");
                    Err(Problem::at(place.key(key).name(), message))
                }
                None => Ok(Target::Coordinator { group: group.clone().this() }),
            }
        }
    }
}

fn target(spec: &TargetSpec, place: Cursor<'_>) -> Result<Target, Problem> {
    let not_with = |key: &str, other: &str| {
        let message = format!("a target has no `{key}` beside `{other}`");
        Err(Problem::at(place.key(key).name(), message))
    };
    let across = match &spec.across {
        Some(_) if spec.group.is_some() => return not_with("group", "across"),
        Some(across) => Some(Across {
            groups: match &across.groups {
                AllOr::All(_) => None,
                AllOr::These(names) => Some(names.iter().cloned().collect::<BTreeSet<_>>()),
            },
            within: across.within.unwrap_or(WITHIN),
        }),
        None => None,
    };
    if let Some(member) = &spec.member {
        let others = [
            ("leader_of", spec.leader_of.is_some()),
            ("group", spec.group.is_some()),
            ("mode", spec.mode.is_some()),
            ("across", across.is_some()),
        ];
        if let Some((key, _)) = others.into_iter().find(|(_, given)| *given) {
            return not_with(key, "member");
        }
        return Ok(Target::Member(member.clone()));
    }
    let group = spec.group.clone().and_then(OrAny::this);
    if let Some(role) = &spec.leader_of {
        if spec.mode.is_some() {
            return not_with("mode", "leader_of");
        }
        let role = role.clone().this();
        return Ok(match across {
            Some(across) => Target::LeadersAcross { role, across },
            None => Target::LeaderOf { role, group },
        });
    }
    let mode = spec.mode.unwrap_or(Pick::One);
    match across {
        Some(across) => Ok(Target::GroupsAcross { mode, across }),
        None if spec.group.is_some() => Ok(Target::Group { group, mode }),
        None => Err(Problem::at(place.name(), "the target names nobody")
            .hint("say `member`, `leader_of` or `group`")),
    }
}
