//! What to judge. It is decided before anything starts and written into the journal's header, so
//! that the judgement can be repeated from the journal alone.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Assertion, Disturbed, Until};
use crate::roster::Objective;
use tandem_facts::ids::GroupName;
use tandem_facts::time::Span;

/// What to judge.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Brief {
    /// The experiment's name.
    pub experiment: String,
    /// The number of requested trials.
    pub trials: u32,
    /// The claim that ends the run; `trials` is then the greatest number of trials.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<Until>,
    /// When a trial counts as disturbed; none if the experiment does not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disturbed: Option<Disturbed>,
    /// The experiment's claims.
    pub assertions: Vec<Assertion>,
    /// The experiment's objective, or the topology's if it has none.
    pub objective: Objective,
    /// `bound.group.…` by group: the upper end over all steps and restarts that affect the group.
    pub limits: BTreeMap<GroupName, Limits>,
    /// `bound.joint.…`: the least group bound if all groups are affected at once, otherwise 0.
    pub joint: Limits,
}

/// The greatest cost of an experiment's steps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Limits {
    /// The longest gap; none if no bound is known.
    pub gap: Option<Span>,
    /// The longest overlap; none if no bound is known.
    pub overlap: Option<Span>,
}

impl Limits {
    /// The limits of steps without a cost.
    pub const NONE: Self = Self { gap: Some(Span::ms(0)), overlap: Some(Span::ms(0)) };
}
