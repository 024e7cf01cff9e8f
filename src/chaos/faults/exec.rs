//! `exec`: runs a command of the user's, and another that undoes it. Only its author knows what it
//! does, so no cost is assumed. The guard knows the undo before the command begins.

mod shell;

use std::time::Duration;

use schemars::JsonSchema;
use serde::Deserialize;

use super::{AnyFault, Fault, Permission, Targets, Word, Written, written};
use crate::chaos::cost::{Cost, Hit, UNKNOWN};
use crate::chaos::{Injection, Target};
use crate::guard::shown;
use crate::observation::FaultClass;
use crate::time::Span;
use crate::topology::Plan;
use crate::yaml::Problem;

/// The default timeout of a command.
const TIMEOUT: Span = Span::ms(10_000);
/// The longest timeout: an interrupted run waits this long for an undo.
const TIMEOUT_MOST: Span = Span::ms(300_000);

pub(super) const WORD: Word = Word {
    name: "exec",
    noun: "command fault",
    aliases: &["command", "script", "run", "shell"],
    class: FaultClass::Other,
    targets: Targets::Anything,
    fields: &["for", "command", "undo", "timeout"],
    schema: written::schema::<Fields>,
    hint: Word::no_hint,
    read,
    in_storm: None,
    permission: Some(Permission::Exec),
    needs: &[],
    able: "commands can be run, with --allow-exec",
};

/// The fields of a step.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Fields {
    /// How long the fault lasts.
    #[serde(rename = "for")]
    lasts: Option<Span>,
    /// A program and its arguments: `[tc, qdisc, add, dev, eth1, root, netem, loss, 30%]`. It runs
    /// without a shell.
    #[schemars(length(min = 1))]
    command: Option<Vec<String>>,
    /// The program, with its arguments, that undoes it; `["true"]` if there is nothing to undo.
    #[schemars(length(min = 1))]
    undo: Option<Vec<String>>,
    /// The timeout of each of the two commands; default 10s, at most 5m.
    timeout: Option<Span>,
}

/// A command, and its undo.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Exec {
    command: Vec<String>,
    undo: Vec<String>,
    timeout: Span,
    lasts: Span,
}

impl Fault for Exec {
    fn describe(&self) -> String {
        format!("runs `{}`, for {}", shown(&self.command), self.lasts)
    }

    fn describe_undo(&self, _: Option<&Target>, _: &Plan) -> String {
        format!("runs `{}`; each command has {}", shown(&self.undo), self.timeout)
    }

    fn lasts(&self) -> Option<Duration> {
        Some(self.lasts.get())
    }

    fn cost(&self, _: &Hit<'_>) -> Cost {
        UNKNOWN
    }

    fn held(&self) -> Duration {
        self.lasts.get()
    }

    // A command of the user's own may do anything.
    fn can_break_proof(&self) -> bool {
        true
    }

    fn injection(&self) -> Box<dyn Injection> {
        Box::new(shell::Shell::of(self.clone()))
    }
}

fn read(written: Written<'_>) -> Result<AnyFault, Problem> {
    let fields: Fields = written.fields()?;
    let lasts = written.lasts(fields.lasts)?;
    let command = program(written, "command", fields.command, "what it runs")?;
    let undo = program(written, "undo", fields.undo, "how that is undone")?;
    let timeout = fields.timeout.unwrap_or(TIMEOUT);
    if timeout.get().is_zero() || timeout > TIMEOUT_MOST {
        let message = format!("a timeout is more than 0 and at most {TIMEOUT_MOST}");
        return Err(Problem::at(written.value("timeout"), message).hint("as in timeout: 10s"));
    }
    Ok(AnyFault::Exec(Exec { command, undo, timeout, lasts }))
}

/// A program and its arguments.
fn program(
    written: Written<'_>,
    field: &str,
    words: Option<Vec<String>>,
    what: &str,
) -> Result<Vec<String>, Problem> {
    let example = format!("as in {field}: [sh, -c, 'date >> marks']");
    let Some(words) = words else {
        let message = format!("a {} must say {what}: `{field}`", written.noun());
        return Err(written.wrong(message).hint(example));
    };
    if words.first().is_none_or(String::is_empty) {
        let message = "it names no program";
        return Err(Problem::at(written.value(field), message).hint(example));
    }
    Ok(words)
}
