//! The experiment as it is written: `chaos/*.yaml`.

use std::fmt;

use schemars::JsonSchema;
use serde::Deserialize;

use super::{Fault, Pick};
use crate::ids::{ExperimentName, GroupName, MemberId, RoleName, StepId};
use crate::time::Span;
use crate::topology::{Allowance, Objective, Share};
use crate::verdict::Assertion;

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
    /// How often it is repeated; once unless given.
    #[schemars(range(min = 1, max = 100_000))]
    pub trials: Option<u32>,
    /// The gate before each trial.
    #[serde(default)]
    pub steady_state: SteadyState,
    /// What is done.
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
    /// Not in this version.
    #[schemars(skip)]
    pub stop_when: Option<Refused>,
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

/// One thing that is done.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a step, as in {fault: kill, target: {leader_of: any}}")]
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
    pub fault: Fault,
    /// To whom.
    pub target: Option<TargetSpec>,
    /// For how long: a pause, a noop.
    #[serde(rename = "for")]
    pub lasts: Option<Span>,
    /// When the victims of a kill are started again; as the topology says unless given.
    pub restart_after: Option<Span>,
    /// Whether the restart may come before the dead one's session is over: the group then waits for
    /// the rest of that session.
    #[serde(default)]
    pub overlap_restart: bool,
}

/// To whom it is done: `{member: p1-1}`, `{leader_of: ROLE, group: NAME}`, `{group: NAME, mode:
/// one}`;
/// `any` in the place of a name is a seeded choice.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a target, as in {leader_of: any, group: any}")]
pub struct TargetSpec {
    /// This member.
    pub member: Option<MemberId>,
    /// Whoever leads this role.
    pub leader_of: Option<OrAny<RoleName>>,
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

/// A name, or `any`: a seeded choice.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OrAny<N> {
    /// A seeded choice.
    Any,
    /// This one.
    This(N),
}

impl<N> OrAny<N> {
    /// The name, if there is one.
    #[must_use]
    pub fn this(self) -> Option<N> {
        match self {
            Self::Any => None,
            Self::This(name) => Some(name),
        }
    }
}

impl<'de, N: Deserialize<'de> + TryFrom<String, Error: fmt::Display>> Deserialize<'de>
    for OrAny<N>
{
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        if text == "any" {
            return Ok(Self::Any);
        }
        text.try_into().map(Self::This).map_err(serde::de::Error::custom)
    }
}

impl<N> JsonSchema for OrAny<N> {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "NameOrAny".into()
    }
    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "type": "string",
            "description": "A name, or any: a seeded choice."
        })
    }
}

/// `all`, or names.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema)]
#[schemars(untagged)]
pub enum AllOr {
    /// All of them.
    All(All),
    /// These.
    These(Vec<GroupName>),
}

/// The word `all`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, JsonSchema)]
#[schemars(rename_all = "snake_case")]
pub enum All {
    /// All of them.
    All,
}

impl<'de> Deserialize<'de> for AllOr {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        use serde::de::value::SeqAccessDeserializer;
        struct AllVisitor;
        impl<'de> serde::de::Visitor<'de> for AllVisitor {
            type Value = AllOr;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("`all`, or a list of groups")
            }
            fn visit_str<E: serde::de::Error>(self, word: &str) -> Result<AllOr, E> {
                if word == "all" {
                    return Ok(AllOr::All(All::All));
                }
                Err(E::invalid_type(serde::de::Unexpected::Str(word), &self))
            }
            fn visit_seq<A: serde::de::SeqAccess<'de>>(self, list: A) -> Result<AllOr, A::Error> {
                Vec::deserialize(SeqAccessDeserializer::new(list)).map(AllOr::These)
            }
        }
        deserializer.deserialize_any(AllVisitor)
    }
}

/// A field that the format knows and this version refuses.
#[derive(Debug, Clone, Copy)]
pub struct Refused;

impl<'de> Deserialize<'de> for Refused {
    fn deserialize<D: serde::Deserializer<'de>>(_: D) -> Result<Self, D::Error> {
        let message = "this version cannot stop a run by a condition\n`limits: {time: 10m}` can";
        Err(serde::de::Error::custom(message))
    }
}

/// Faults that the format names and this version does not inject.
const LATER: [&str; 14] = [
    "leave",
    "stop",
    "partition",
    "slow",
    "protocol",
    "clock",
    "starve",
    "broker",
    "churn",
    "duplicate",
    "host",
    "network",
    "delay",
    "drop",
];

impl<'de> Deserialize<'de> for Fault {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let word = String::deserialize(deserializer)?;
        let known = Self::ALL.map(Self::as_str);
        if let Some(fault) = Self::ALL.into_iter().find(|fault| fault.as_str() == word) {
            return Ok(fault);
        }
        let message = if LATER.contains(&word.as_str()) {
            format!("this version cannot inject `{word}`\nit can: `{}`", known.join("`, `"))
        } else {
            format!("unknown fault `{word}`\n{}", crate::yaml::choices(&word, known))
        };
        Err(serde::de::Error::custom(message))
    }
}

impl JsonSchema for Fault {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Fault".into()
    }
    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({"enum": Self::ALL.map(Self::as_str)})
    }
}

const PICKS: [(&str, Pick); 5] = [
    ("one", Pick::One),
    ("minority", Pick::Minority),
    ("majority", Pick::Majority),
    ("all", Pick::All),
    ("leaders", Pick::Leaders),
];

impl<'de> Deserialize<'de> for Pick {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let word = String::deserialize(deserializer)?;
        if let Some((_, pick)) = PICKS.iter().find(|(name, _)| *name == word) {
            return Ok(*pick);
        }
        match word.parse() {
            Ok(Share::Count(count)) => Ok(Self::Count(count)),
            Ok(Share::Percent(percent)) => Ok(Self::Percent(percent)),
            Err(_) => {
                let hint = crate::yaml::choices(&word, PICKS.map(|(name, _)| name));
                let message = format!("unknown mode `{word}`\n{hint}");
                Err(serde::de::Error::custom(message))
            }
        }
    }
}

impl JsonSchema for Pick {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Mode".into()
    }
    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "anyOf": [
                {"enum": PICKS.map(|(name, _)| name)},
                {"type": "integer", "minimum": 1},
                {"type": "string", "pattern": r"^\d+%?$"}
            ]
        })
    }
}
