//! The format of experiment files: `chaos/*.yaml`.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::Deserialize;
use serde_json::{Map, Value};

use super::network_words::BrokerSpec;
use super::trials::Trials;
use super::words::{AllOr, OrAny};
use super::{Kind, Pick};
use crate::ids::{ClusterName, ExperimentName, GroupName, HostName, MemberId, RoleName, StepId};
use crate::time::Span;
use crate::topology::{Allowance, Objective};
use crate::verdict::{Assertion, Condition};

/// An experiment: which faults hit which parts of a topology and when, how often, and what is
/// claimed about the outcome.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "an experiment")]
#[schemars(title = "Experiment")]
pub struct Spec {
    /// The version of this format: 1.
    #[schemars(range(min = 1, max = 1))]
    pub version: u32,
    /// The experiment's name; its output is named after it.
    pub name: ExperimentName,
    /// The topology's file, relative to this one; the command line overrides it; default:
    /// `topologies/duo.yaml`.
    pub topology: Option<String>,
    /// The seed of every choice; default: random, and recorded.
    pub seed: Option<u64>,
    /// The number of trials, or a claim to repeat until; default: 1.
    pub trials: Option<Trials>,
    /// When a trial counts as disturbed by the host, to be judged apart and replaced; default:
    /// never.
    pub disturbed: Option<DisturbedSpec>,
    /// The gate before each trial.
    #[serde(default)]
    pub steady_state: SteadyState,
    /// The steps.
    #[schemars(with = "Vec<WholeStep>")]
    pub method: Vec<StepSpec>,
    /// The claims.
    #[serde(default)]
    pub assert: Vec<Assertion>,
    /// Replaces the topology's objective.
    pub objective: Option<Objective>,
    /// The limits on its faults; the topology's apply where it sets none.
    #[serde(default)]
    pub limits: Allowance,
    /// Recovery after each trial.
    #[serde(default)]
    pub recover: Recover,
    /// The condition that ends the run early, healed, with exit code 5: `joint.gap > 30s`.
    pub stop_when: Option<Condition>,
}

/// When a trial counts as disturbed, independent of its outcome.
#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a rule on disturbed trials, as in {stall: 50ms}")]
pub struct DisturbedSpec {
    /// The host kept the instrument or a member from running for longer than this; at least 25ms.
    pub stall: Span,
    /// The most trials that replace disturbed ones; default: half of the trials, rounded up.
    #[schemars(range(min = 0, max = 100_000))]
    pub replace: Option<u32>,
}

/// The gate before each trial.
#[derive(Debug, Clone, Copy, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a steady state, as in {settled: 1s}")]
pub struct SteadyState {
    /// How long everything must have been settled; default: 1s.
    pub settled: Option<Span>,
}

/// Recovery after each trial.
#[derive(Debug, Clone, Copy, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a recovery, as in {within: 30s}")]
pub struct Recover {
    /// How long after its last fault a trial waits for everything to settle again; default: 30s and
    /// three thresholds.
    pub within: Option<Span>,
}

/// One step of the method. The fault reads its own fields by itself.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(expecting = "a step, as in {fault: kill, target: {leader_of: any}}")]
pub struct StepSpec {
    /// The step's name; default: `step-1` and so on, by its position.
    pub id: Option<StepId>,
    /// How long after the beginning of the trial the step is due; default: at once.
    pub at: Option<Span>,
    /// The step is due after this earlier step is in force.
    pub after: Option<StepId>,
    /// How long after that step.
    pub delay: Option<Span>,
    /// A uniform draw from 0 to this is added.
    pub jitter: Option<Span>,
    /// What the step does.
    pub fault: Kind,
    /// The target.
    pub target: Option<TargetSpec>,
}

impl StepSpec {
    /// The fields that every step has.
    pub(super) const FIELDS: [&str; 7] =
        ["id", "at", "after", "delay", "jitter", "fault", "target"];
}

/// The schema of a step: the fields that every step has, and those of all faults.
struct WholeStep;

impl JsonSchema for WholeStep {
    fn schema_name() -> Cow<'static, str> {
        "StepSpec".into()
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let mut whole = StepSpec::json_schema(generator);
        let mut fields = properties(&whole);
        for word in Kind::ALL.map(Kind::word) {
            let own = properties(&(word.schema)(generator));
            let taken = own.into_iter().filter(|(field, _)| word.fields.contains(&field.as_str()));
            for (field, schema) in taken {
                fields.entry(field).or_insert(schema);
            }
        }
        whole.insert("description".to_owned(), "One step of the method.".into());
        whole.insert("properties".to_owned(), fields.into());
        whole.insert("additionalProperties".to_owned(), false.into());
        whole
    }
}

fn properties(schema: &Schema) -> Map<String, Value> {
    schema.get("properties").and_then(Value::as_object).cloned().unwrap_or_default()
}

/// The brokers on the far side of a network fault.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "brokers, as in {cluster: b} or {coordinator_of: any}")]
pub(super) struct FromSpec {
    /// All brokers of this cluster.
    pub cluster: Option<ClusterName>,
    /// One broker of the victim's cluster, by its address or its number.
    pub broker: Option<BrokerSpec>,
    /// The broker that coordinates this group; `any` is each victim's own.
    pub coordinator_of: Option<OrAny<GroupName>>,
    /// The broker that leads this role's partition; `any` is a seeded choice.
    pub leader_of: Option<OrAny<RoleName>>,
    /// In the ledger of this group; default: each victim's own.
    pub group: Option<OrAny<GroupName>>,
}

/// The target: `{member: p1-1}`, `{leader_of: ROLE, group: NAME}`, `{group: NAME, mode: one}`,
/// `{host: NAME}`, `{cluster: NAME}`; for brokers `{coordinator_of: GROUP}`, `{leader_of: ROLE,
/// group: NAME}`, `{cluster: NAME}`; `any` instead of a name is a seeded choice.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a target, as in {leader_of: any, group: any}")]
pub struct TargetSpec {
    /// This member.
    pub member: Option<MemberId>,
    /// The leader of this role; among brokers, the leader of its partition.
    pub leader_of: Option<OrAny<RoleName>>,
    /// The broker that coordinates this group.
    pub coordinator_of: Option<OrAny<GroupName>>,
    /// Every member on this machine, of all groups; for faults of a machine also its embedded
    /// brokers; `any` is a seeded choice.
    pub host: Option<OrAny<HostName>>,
    /// Every member of every group on this cluster; or all of its brokers, where `any` is allowed,
    /// too.
    pub cluster: Option<OrAny<ClusterName>>,
    /// In this group.
    pub group: Option<OrAny<GroupName>>,
    /// How many members of the group; default: one.
    pub mode: Option<Pick>,
    /// In several groups at once.
    pub across: Option<AcrossSpec>,
}

/// Several groups with one deadline.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "groups, as in {groups: all, within: 50ms}")]
pub struct AcrossSpec {
    /// `all`, or their names.
    pub groups: AllOr,
    /// The most time between the first and the last victim; default: 50ms.
    pub within: Option<Span>,
}
