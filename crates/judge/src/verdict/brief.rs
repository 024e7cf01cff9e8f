//! What is to be judged, decided before anything starts and written into the journal's header, so
//! that the judgement can be repeated from the journal alone.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Assertion, Disturbed, Until};
use crate::roster::Objective;
use tandem_facts::ids::GroupName;
use tandem_facts::time::Span;

/// What is to be judged.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Brief {
    /// The experiment's name.
    pub experiment: String,
    /// How many trials were asked for.
    pub trials: u32,
    /// The claim that it goes on for; `trials` is then how many it has at most.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<Until>,
    /// When a trial is disturbed; nothing where the experiment does not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disturbed: Option<Disturbed>,
    /// The experiment's own claims.
    pub assertions: Vec<Assertion>,
    /// The experiment's objective, or else the topology's.
    pub objective: Objective,
    /// `bound.group.…` by group: the high end over all steps and restarts that hit it.
    pub limits: BTreeMap<GroupName, Limits>,
    /// `bound.joint.…`: the least group bound where all groups are hit at once, else 0.
    pub joint: Limits,
}

/// What the steps of an experiment may cost.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Limits {
    /// The longest gap; nothing where no bound is known.
    pub gap: Option<Span>,
    /// The longest overlap; nothing where no bound is known.
    pub overlap: Option<Span>,
}

impl Limits {
    /// Of what costs nothing.
    pub const NONE: Self = Self { gap: Some(Span::ms(0)), overlap: Some(Span::ms(0)) };
}
