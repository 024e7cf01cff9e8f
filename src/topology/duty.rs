//! `duty` of a group: the program that its members run for each role that they lead.

use std::fmt;
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::places::Places;
use super::{Group, OnDeath, Pace, Spec, defaults};
use crate::ids::GroupName;
use crate::time::Span;
use crate::yaml::Problem;

/// The least time between SIGKILL and the end of a claim.
const MARGIN_LEAST: Duration = Duration::from_millis(50);
/// What a claim must have left beside the time to stop, so that it can be renewed.
const RENEWS: Duration = Duration::from_millis(40);
/// A run gives its members three seconds to leave at its end.
const GRACE_MOST: Span = Span::ms(2_000);
/// The longest default grace.
const GRACE_USUAL: Duration = Duration::from_secs(1);
/// The default time from a claim until its program serves: two processes and an interpreter start.
const STARTS_WITHIN: Span = Span::ms(500);
/// One member may lead every role, and each is up to four processes and three threads.
const ROLES_MOST: u32 = 100;

/// A program that does the work of a leader.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a duty, as in {command: [./feed.sh]}")]
pub struct Duty {
    /// The program and its arguments. A member runs it once for each role that it leads, in the
    /// folder in which the run was started. The role is in TANDEM_ROLE.
    #[schemars(length(min = 1))]
    pub command: Vec<String>,
    /// Whether the program says that it serves: a line on the descriptor TANDEM_TICK_FD at least
    /// each 100ms. Default: false; then it serves while it is alive and not stopped.
    #[serde(default)]
    pub ticks: bool,
    /// From SIGTERM to SIGKILL, at most 2s; default: a quarter of the threshold, at most 1s; in
    /// exclusive mode half the hold.
    pub grace: Option<Span>,
    /// How long after its claim a member's program serves, for the bounds; default: 500ms.
    pub starts_within: Option<Span>,
}

/// The program of a group, with defaults applied.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PlannedDuty {
    /// The program and its arguments.
    pub command: Vec<String>,
    /// Whether it says itself that it serves.
    #[serde(default)]
    pub ticks: bool,
    /// From SIGTERM to SIGKILL.
    pub grace: Span,
    /// From SIGKILL to the end of the claim.
    pub margin: Span,
    /// How long after its claim it serves.
    pub starts_within: Span,
}

impl Duty {
    /// The plan for it, if the claims of the group leave the time to stop it.
    pub(super) fn plan(&self, pace: &Pace) -> Result<PlannedDuty, TooShort> {
        let usual = usual_grace(pace).min(GRACE_USUAL);
        let grace = self.grace.map_or(usual, Span::get);
        Ok(PlannedDuty {
            command: self.command.clone(),
            ticks: self.ticks,
            grace: Span(grace),
            margin: Span(time_to_kill(pace, grace)?),
            starts_within: self.starts_within.unwrap_or(STARTS_WITHIN),
        })
    }
}

/// The command on one line. Words that a shell would change are in quotes.
impl fmt::Display for PlannedDuty {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let plain = |c: char| c.is_ascii_alphanumeric() || "-_=+:,./@%".contains(c);
        for (number, word) in self.command.iter().enumerate() {
            let space = if number > 0 { " " } else { "" };
            if !word.is_empty() && word.chars().all(plain) {
                write!(f, "{space}{word}")?;
            } else {
                write!(f, "{space}{word:?}")?;
            }
        }
        Ok(())
    }
}

/// A claim is too short to end a command before it ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TooShort {
    /// The setting that is too short: `hold` or `threshold`.
    pub word: &'static str,
    /// Its value.
    pub lasts: Span,
    /// From SIGTERM to SIGKILL.
    pub grace: Span,
    /// From SIGKILL to the end of the claim.
    pub margin: Span,
}

impl fmt::Display for TooShort {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { word, lasts, grace, margin } = self;
        write!(
            f,
            "a {word} of {lasts}, too short to end a command before its claim ends (SIGKILL \
             {grace} after SIGTERM, and {margin} before the end)"
        )
    }
}

/// How long a claim is relied on, and the setting that says so.
fn relied_on(pace: &Pace) -> (&'static str, Duration) {
    if pace.mode.is_exclusive() {
        ("hold", pace.hold.get())
    } else {
        ("threshold", pace.threshold.get())
    }
}

/// The usual time from SIGTERM to SIGKILL: half the hold, or a quarter of the threshold.
#[must_use]
pub fn usual_grace(pace: &Pace) -> Duration {
    let (_, lasts) = relied_on(pace);
    if pace.mode.is_exclusive() { lasts / 2 } else { lasts / 4 }
}

/// From SIGKILL to the end of a claim, for the kernel and a host that is busy, if claims with this
/// pace leave so much time.
///
/// # Errors
/// The setting that is too short.
pub fn time_to_kill(pace: &Pace, grace: Duration) -> Result<Duration, TooShort> {
    let (word, lasts) = relied_on(pace);
    let margin = if pace.mode.is_exclusive() { MARGIN_LEAST.max(lasts / 5) } else { MARGIN_LEAST };
    if grace + margin + RENEWS <= lasts {
        return Ok(margin);
    }
    Err(TooShort { word, lasts: Span(lasts), grace: Span(grace), margin: Span(margin) })
}

/// The problems of a group's duty.
pub(super) fn problems(
    spec: &Spec,
    group: &Group,
    pace: &Pace,
    name: &GroupName,
    places: Places<'_>,
) -> Vec<Problem> {
    let Some(duty) = &group.duty else { return Vec::new() };
    let place = places.group(name).key("duty");
    let mut problems = Vec::new();
    if duty.command.first().is_none_or(String::is_empty) {
        let problem = Problem::at(place.key("command").origin(), "a duty without a program");
        problems.push(problem.hint("the program and its arguments, as in [./feed.sh, --fast]"));
    }
    if group.members.unwrap_or(defaults::MEMBERS) == 0 {
        let message = "a group without members cannot run a program";
        let hint = "`tandem hold` brings its own program";
        problems.push(Problem::at(place.name(), message).hint(hint));
    }
    if spec.roles.len() > ROLES_MOST {
        let message = format!("{} roles are too many programs for a member", spec.roles.len());
        let hint = format!("a group with a duty has at most {ROLES_MOST} roles");
        problems.push(Problem::at(place.name(), message).hint(hint));
    }
    if pace.on_death == OnDeath::StandIn {
        let message = "a claim that others stand in for is too short to start a program";
        let hint = "`on_death: leave` goes with a duty";
        problems.push(Problem::at(places.setting(name, "on_death"), message).hint(hint));
    }
    if let Some(grace) = duty.grace.filter(|grace| *grace > GRACE_MOST) {
        let message = format!("grace {grace} is more than {GRACE_MOST}");
        let hint = "a run gives its members three seconds to leave at its end";
        problems.push(Problem::at(place.key("grace").origin(), message).hint(hint));
    }
    if pace.mode.is_exclusive() && pace.hold.is_zero() {
        let message = "an exclusive group without a `hold` promises nothing to a program";
        let hint = "set one, as in `hold: 500ms`";
        problems.push(Problem::at(places.setting(name, "hold"), message).hint(hint));
    } else if let Err(short) = duty.plan(pace) {
        let problem = Problem::at(place.name(), format!("the group has {short}"));
        let word = short.word;
        problems.push(problem.hint(format!("a longer `{word}`, or a shorter `grace`")));
    }
    problems
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_shown_as_one_types_it() {
        let command = ["sh", "-c", "echo \"a b\"", ""].map(str::to_owned).to_vec();
        let (grace, margin) = (Span::ms(1), Span::ms(2));
        let duty = PlannedDuty { command, ticks: false, grace, margin, starts_within: grace };
        assert_eq!(duty.to_string(), r#"sh -c "echo \"a b\"" """#);
    }
}
