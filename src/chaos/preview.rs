//! What a run would do, before it starts anything: everything that the files and the seed
//! determine. Pure. Which members lead when a step strikes is only known during the run.

use std::collections::BTreeMap;
use std::time::Duration;

use schemars::JsonSchema;
use serde::Serialize;

use super::cost::{Cost, cost};
use super::{Prepared, Schedule, Step, Trigger};
use crate::ids::{ClusterName, GroupName, MemberId, StepId, TrialNumber};
use crate::time::Span;
use crate::topology::{Address, Edges, Plan};
use crate::verdict::{Assertion, Disturbed, Limits, Until};

/// The most trials whose schedule is shown.
const SHOWN: u32 = 5;

/// What a run would do.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Preview {
    /// The experiment's name.
    pub experiment: String,
    /// The topology's name.
    pub topology: String,
    /// The seed of every choice.
    pub seed: u64,
    /// The number of trials; the maximum, if they go on until a claim holds.
    pub trials: u32,
    /// The claim that the trials go on for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub until: Option<UntilPreview>,
    /// When a trial counts as disturbed by the host, and how many trials may replace disturbed
    /// ones.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub disturbed: Option<Disturbed>,
    /// The processes that would be started, and the topics that would be created if missing, one
    /// line each.
    pub starts: Vec<String>,
    /// The steps.
    pub steps: Vec<StepPreview>,
    /// The first trials.
    pub schedule: Vec<TrialPreview>,
    /// The longest gap and overlap that the steps may cost each group; absent if no bound is known.
    pub bounds: BTreeMap<GroupName, Limits>,
    /// The same for all groups together.
    pub joint: Limits,
    /// The claims.
    pub assertions: Vec<Assertion>,
    /// The condition that ends the run early, if any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stop_when: Option<String>,
}

/// The claim that trials go on for.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct UntilPreview {
    /// The claim.
    pub claim: String,
    /// The minimum number of trials.
    pub trials_min: u32,
    /// The maximum number of trials.
    pub trials_max: u32,
    /// After how many trials the claim is tested, and how many joint gaps it allows there.
    pub looks: String,
}

impl UntilPreview {
    fn of(until: &Until) -> Self {
        let (trials_min, trials_max) = (until.min, until.max);
        Self { claim: until.to_string(), trials_min, trials_max, looks: until.describe() }
    }
}

/// One step.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct StepPreview {
    /// Its name.
    pub step: StepId,
    /// The fault's word in experiment files.
    pub fault: &'static str,
    /// When it is due, in words.
    pub due: String,
    /// What it does.
    pub does: String,
    /// The target; absent if it has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to: Option<String>,
    /// The members that the target may be.
    pub candidates: Vec<MemberId>,
    /// How it is undone.
    pub undo: String,
    /// The most that it may cost a group; absent for a series.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub costs: Option<StepCost>,
}

/// The most that one step may cost a group; absent parts have no known bound.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
pub struct StepCost {
    /// The longest gap.
    pub gap: Option<Span>,
    /// The longest overlap: that of the fault, as in `tandem plan`, plus that of the return.
    pub overlap: Option<Span>,
    /// The part of the overlap that the victims' return adds.
    pub of_return: Span,
}

/// One trial, as the seed draws it.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct TrialPreview {
    /// The trial's number.
    pub trial: TrialNumber,
    /// Its strikes, in the order of the method.
    pub strikes: Vec<StrikePreview>,
}

/// One strike, as the seed draws it.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct StrikePreview {
    /// The step.
    pub step: StepId,
    /// The fault, if it is drawn.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fault: Option<&'static str>,
    /// Waits until this strike is over and everything has settled again.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub once_settled: Option<StepId>,
    /// What `delay_ms` counts from: this step being in force, or the trial's beginning if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after: Option<StepId>,
    /// The delay until it is due, jitter included.
    pub delay_ms: u64,
    /// The victims, if all members run and all roles are led; absent if there is no target.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to: Option<String>,
}

impl Preview {
    /// What a run would do with this seed.
    #[must_use]
    pub fn of(prepared: &Prepared, seed: u64) -> Self {
        let (experiment, plan) = (&prepared.experiment, &prepared.plan);
        let trials = (1..=experiment.trials.min(SHOWN)).map(TrialNumber);
        let schedule = trials.map(|trial| {
            let drawn = Schedule::draw(experiment, plan, seed, trial);
            let strikes = drawn.strikes.into_iter().map(|strike| StrikePreview {
                step: strike.step.id.clone(),
                fault: strike.drawn.then(|| strike.step.fault.kind().as_str()),
                once_settled: strike.once_settled,
                after: strike.after,
                delay_ms: u64::try_from(strike.delay.as_millis()).unwrap_or(u64::MAX),
                to: strike.step.target.map(|target| target.foreseen(plan, strike.seed)),
            });
            TrialPreview { trial, strikes: strikes.collect() }
        });
        Self {
            experiment: experiment.name.clone(),
            topology: plan.topology.to_string(),
            seed,
            trials: experiment.trials,
            until: experiment.until.as_ref().map(UntilPreview::of),
            disturbed: prepared.brief.disturbed,
            starts: starts(plan),
            steps: experiment.method.iter().map(|step| StepPreview::of(step, plan)).collect(),
            schedule: schedule.collect(),
            bounds: prepared.brief.limits.clone(),
            joint: prepared.brief.joint,
            assertions: experiment.assertions.clone(),
            stop_when: experiment.stop_when.as_ref().map(ToString::to_string),
        }
    }
}

impl StepPreview {
    fn of(step: &Step, plan: &Plan) -> Self {
        let (delay, from) = match &step.trigger {
            Trigger::At(at) => (*at, "the trial began".to_owned()),
            Trigger::After(other, delay) => (*delay, format!("{other} is in force")),
        };
        let due = if step.jitter.get().is_zero() {
            format!("{delay} after {from}")
        } else {
            format!("{delay} to {} after {from}", Span(delay.get() + step.jitter.get()))
        };
        let target = step.target.as_ref();
        Self {
            step: step.id.clone(),
            fault: step.fault.kind().as_str(),
            due,
            does: step.fault.describe_for(target, plan),
            to: target.map(|target| step.describe_for(target)),
            candidates: target.map(|target| target.candidates(plan)).unwrap_or_default(),
            undo: step.fault.describe_undo(target, plan),
            costs: StepCost::of(step, plan),
        }
    }
}

impl StepCost {
    fn of(step: &Step, plan: &Plan) -> Option<Self> {
        let target = &step.concerns().filter(|_| !step.fault.kind().is_series())?;
        let groups = target.groups(plan);
        let costs = groups.iter().map(|group| cost(step, target, plan, group));
        let worst = costs.reduce(Cost::worst)?;
        let known = |length: Duration| (length != Duration::MAX).then_some(Span(length));
        Some(Self {
            gap: known(worst.gap),
            overlap: known(worst.overlap),
            of_return: Span(worst.back),
        })
    }
}

/// The processes and topics of a plan.
fn starts(plan: &Plan) -> Vec<String> {
    let mut starts = vec!["a guard, which undoes everything if the run cannot".to_owned()];
    let embedded = |name: &ClusterName| {
        plan.clusters.get(name).is_none_or(|cluster| cluster.address == Address::Embedded)
    };
    let brokers = plan.clusters.iter().filter(|(name, _)| embedded(name));
    starts.extend(brokers.map(|(name, cluster)| {
        let host = cluster.host.as_ref().map(|host| format!(", on host {host}"));
        format!("a broker: the only one of cluster {name}{}", host.unwrap_or_default())
    }));
    if plan.edges == Edges::Proxied {
        starts.push("a process of edges, through which members connect to brokers".to_owned());
    }
    for (name, group) in &plan.groups {
        let (topic, cluster) = (&group.topic, &group.cluster);
        let made = if embedded(cluster) { "to be created" } else { "created if missing" };
        let members: Vec<&str> = group.members.iter().map(MemberId::as_str).collect();
        if plan.etcd_of(group).is_some() {
            starts.push(format!("{name}: {} over etcd, cluster {cluster}", members.join(", ")));
            continue;
        }
        if plan.is_over_nats(group) {
            starts.push(format!("{name}: {} over NATS, cluster {cluster}", members.join(", ")));
            continue;
        }
        if plan.zookeeper_of(group).is_some() {
            let members = members.join(", ");
            starts.push(format!("{name}: {members} over ZooKeeper, cluster {cluster}"));
            continue;
        }
        if let Some(electorate) = plan.electorate_of(group) {
            let (members, by) = (members.join(", "), electorate.election);
            starts.push(format!("{name}: {members} among themselves, by {by}"));
            continue;
        }
        starts.push(format!(
            "{name}: {} on topic {topic} of cluster {cluster}, {made}",
            members.join(", ")
        ));
    }
    starts
}
