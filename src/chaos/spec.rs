//! The experiment as it is written: `chaos/*.yaml`.

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

/// What is done to a topology, when and to whom, how often, and what is claimed of it.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "an experiment")]
#[schemars(title = "Experiment")]
pub struct Spec {
    /// The version of this format: 1.
    #[schemars(range(min = 1, max = 1))]
    pub version: u32,
    /// The experiment's name; its output is named after it.
    pub name: ExperimentName,
    /// The topology's file, relative to this one; `topologies/duo.yaml` unless given here or on the
    /// command line.
    pub topology: Option<String>,
    /// What every choice is drawn from; drawn itself, and recorded, unless given.
    pub seed: Option<u64>,
    /// How often it is repeated: a number, or until a claim holds; once unless given.
    pub trials: Option<Trials>,
    /// When a trial is disturbed by the host, to be judged apart and replaced; never unless given.
    pub disturbed: Option<DisturbedSpec>,
    /// The gate before each trial.
    #[serde(default)]
    pub steady_state: SteadyState,
    /// What is done.
    #[schemars(with = "Vec<WholeStep>")]
    pub method: Vec<StepSpec>,
    /// What is claimed.
    #[serde(default)]
    pub assert: Vec<Assertion>,
    /// Replaces the topology's objective.
    pub objective: Option<Objective>,
    /// What it may do at most; the topology's own limits hold where nothing is said.
    #[serde(default)]
    pub limits: Allowance,
    /// Recovery after each trial.
    #[serde(default)]
    pub recover: Recover,
    /// What ends the run early, healed, with exit code 5: `joint.gap > 30s`.
    pub stop_when: Option<Condition>,
}

/// When a trial is disturbed, whatever its outcome.
#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a rule on disturbed trials, as in {stall: 50ms}")]
pub struct DisturbedSpec {
    /// The host kept the instrument or a member from running for longer; at least 25ms.
    pub stall: Span,
    /// At most so many further trials are played in the place of disturbed ones; half of the trials
    /// unless given, rounded up.
    #[schemars(range(min = 0, max = 100_000))]
    pub replace: Option<u32>,
}

/// The gate before each trial.
#[derive(Debug, Clone, Copy, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a steady state, as in {settled: 1s}")]
pub struct SteadyState {
    /// For so long everything must have been settled; 1s unless given.
    pub settled: Option<Span>,
}

/// Recovery after each trial.
#[derive(Debug, Clone, Copy, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a recovery, as in {within: 30s}")]
pub struct Recover {
    /// How long after its last fault a trial waits for everything to settle again; 30s and three
    /// thresholds unless given.
    pub within: Option<Span>,
}

/// One thing that is done. The fields that it has beside these belong to its fault, which reads
/// them by itself.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(expecting = "a step, as in {fault: kill, target: {leader_of: any}}")]
pub struct StepSpec {
    /// Its name; `step-1` and so on, by its place, unless given.
    pub id: Option<StepId>,
    /// So long after the trial began; at once unless given, or after another step.
    pub at: Option<Span>,
    /// After this step, which stands above, is in force.
    pub after: Option<StepId>,
    /// How long after it.
    pub delay: Option<Span>,
    /// A uniform draw from nothing to this is added.
    pub jitter: Option<Span>,
    /// What is done.
    pub fault: Kind,
    /// To whom.
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
        whole.insert("description".to_owned(), "One thing that is done.".into());
        whole.insert("properties".to_owned(), fields.into());
        whole.insert("additionalProperties".to_owned(), false.into());
        whole
    }
}

fn properties(schema: &Schema) -> Map<String, Value> {
    schema.get("properties").and_then(Value::as_object).cloned().unwrap_or_default()
}

/// The far side of a fault of the network.
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
    /// In the ledger of this group; of each victim's own unless given.
    pub group: Option<OrAny<GroupName>>,
}

/// To whom it is done: `{member: p1-1}`, `{leader_of: ROLE, group: NAME}`,
/// `{group: NAME, mode: one}`, `{host: NAME}`, `{cluster: NAME}` or, to brokers,
/// `{coordinator_of: GROUP}`, `{leader_of: ROLE, group: NAME}`, `{cluster: NAME}`; `any` in the
/// place of a name is a seeded choice.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a target, as in {leader_of: any, group: any}")]
pub struct TargetSpec {
    /// This member.
    pub member: Option<MemberId>,
    /// Whoever leads this role; of brokers, the one that leads its partition.
    pub leader_of: Option<OrAny<RoleName>>,
    /// The broker that coordinates this group.
    pub coordinator_of: Option<OrAny<GroupName>>,
    /// Every member on this machine, whatever its group, and where it dies or stands still the
    /// embedded brokers on it; `any` is a seeded choice.
    pub host: Option<OrAny<HostName>>,
    /// Every member of every group on this cluster; or all of its brokers, and then `any` as well.
    pub cluster: Option<OrAny<ClusterName>>,
    /// In this group.
    pub group: Option<OrAny<GroupName>>,
    /// How many members of the group; one unless given.
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
    /// The last victim is struck no later than this after the first; 50ms unless given.
    pub within: Option<Span>,
}
