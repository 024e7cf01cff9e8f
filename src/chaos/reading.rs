//! Reads an experiment from its text, and checks everything that does not depend on a topology.

mod fault;
mod target;
mod trials;

use std::path::PathBuf;

pub(super) use target::far;

use super::spec::{Spec, StepSpec};
use super::{Experiment, Steady, Step, Trigger};
use crate::ids::StepId;
use crate::time::Span;
use crate::yaml::{Cursor, FileKind, Node, Problem, choices, parse, read};

const SETTLED: Span = Span::ms(1_000);
/// The longest name to which a strike's number can be appended.
const NAME_MOST: usize = 90;

/// Reads the experiment that `text` describes. Returns the document as well, for later problems.
///
/// # Errors
/// All problems found; a value of the wrong type hides the rest.
pub fn experiment(text: &str) -> Result<(Experiment, Node), Vec<Problem>> {
    let one = |problem| vec![problem];
    let root = parse(text).map_err(one)?;
    FileKind::Experiment.expect(&root).map_err(one)?;
    let spec: Spec = read(&root)?;
    let place = Cursor::of(&root);
    let mut problems = Vec::new();
    if spec.version != 1 {
        let message = format!("version {} of this format is not known", spec.version);
        problems.push(Problem::at(place.key("version").origin(), message).hint("write 1"));
    }
    let (trials, until) = trials::trials(spec.trials.as_ref(), place.key("trials"), &mut problems);
    let disturbed =
        trials::disturbed(spec.disturbed.as_ref(), place.key("disturbed"), &mut problems);
    if spec.method.is_empty() {
        let nothing = Problem::at(place.key("method").origin(), "the method has no steps");
        problems.push(nothing.hint("a control trial does nothing: {fault: noop, for: 60s}"));
    }
    let method = steps(&spec.method, place.key("method"), &mut problems);
    problems.extend(namesakes(&method, place.key("method")));
    if !problems.is_empty() {
        return Err(problems);
    }
    let experiment = Experiment {
        name: spec.name.to_string(),
        topology: spec.topology.map(PathBuf::from),
        seed: spec.seed,
        trials,
        until,
        disturbed,
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

/// The strikes of a series are named after it, so no other step may have such a name.
fn namesakes(steps: &[Step], place: Cursor<'_>) -> Vec<Problem> {
    let series: Vec<_> = steps.iter().filter(|step| step.fault.kind().is_series()).collect();
    let named = |step: &Step| {
        let numbered = |one: &&&Step| {
            let rest = step.id.as_str().strip_prefix(one.id.as_str());
            let number = rest.and_then(|rest| rest.strip_prefix('-'));
            number.is_some_and(|number| number.parse::<u32>().is_ok())
        };
        series.iter().find(numbered).map(|one| one.id.clone())
    };
    let mut problems = Vec::new();
    for (index, step) in steps.iter().enumerate() {
        let origin = || place.index(index).key("id").origin();
        if let Some(one) = named(step) {
            let message = format!("the strikes of `{one}` are named like this: {one}-1, {one}-2");
            problems.push(Problem::at(origin(), message));
        }
        if step.fault.kind().is_series() && step.id.as_str().len() > NAME_MOST {
            let message = format!("this names many strikes: at most {NAME_MOST} characters");
            problems.push(Problem::at(origin(), message));
        }
    }
    problems
}

fn step(spec: &StepSpec, index: usize, above: &[Step], place: Cursor<'_>) -> Result<Step, Problem> {
    if let Some(problem) = fault::unknown(place) {
        return Err(problem);
    }
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
    let fault = fault::fault(spec.fault, place)?;
    let target = target::target(spec, place)?;
    Ok(Step { id, trigger, jitter: spec.jitter.unwrap_or_default(), fault, target })
}

fn trigger(
    spec: &StepSpec,
    id: &StepId,
    above: &[Step],
    place: Cursor<'_>,
) -> Result<Trigger, Problem> {
    let Some(after) = &spec.after else {
        if spec.delay.is_some() {
            let message = "a `delay` counts from another step, and none is named";
            return Err(Problem::at(place.key("delay").name(), message)
                .hint("write `at`, or name the step: `after`"));
        }
        return Ok(Trigger::At(spec.at.unwrap_or_default()));
    };
    if spec.at.is_some() {
        let message = "a step has `at` or `after`, not both";
        return Err(Problem::at(place.key("after").name(), message));
    }
    if let Some(step) = above.iter().find(|step| step.id == *after && step.fault.kind().is_series())
    {
        let noun = step.fault.kind().noun();
        let message = format!("`{after}` is a {noun}, which is many strikes");
        return Err(Problem::at(place.key("after").origin(), message).hint("write `at`"));
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
