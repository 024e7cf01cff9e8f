//! Reads the fault of a step; each fault reads its own fields.

use crate::chaos::faults::Written;
use crate::chaos::spec::StepSpec;
use crate::chaos::{AnyFault, Kind};
use crate::yaml::{Cursor, Problem, choices};

/// The fault of a step.
pub(super) fn fault(kind: Kind, place: Cursor<'_>) -> Result<AnyFault, Problem> {
    foreign(kind, place)?;
    let word = kind.word();
    (word.read)(Written::new(word, place))
}

/// A field that no step has.
pub(super) fn unknown(place: Cursor<'_>) -> Option<Problem> {
    let own = Kind::ALL.into_iter().flat_map(|kind| kind.word().fields);
    let known: Vec<&str> = StepSpec::FIELDS.iter().chain(own).copied().collect();
    let entry = place.entries().iter().find(|entry| !known.contains(&entry.key.as_str()))?;
    let message = format!("unknown field `{}`", entry.key);
    let hint = choices(&entry.key, known);
    Some(Problem::at(entry.key_origin.clone(), message).hint(hint))
}

/// A field that belongs to other faults.
fn foreign(kind: Kind, place: Cursor<'_>) -> Result<(), Problem> {
    let word = kind.word();
    let all = Kind::ALL.into_iter().flat_map(|kind| kind.word().fields);
    let mut others = all.filter(|field| !word.fields.contains(field));
    let Some(field) = others.find(|field| place.key(field).exists()) else { return Ok(()) };
    let hint = match ((word.hint)(field), *field) {
        (Some(hint), _) => hint.to_owned(),
        (None, "restart_after" | "overlap_restart") => "no process ends".to_owned(),
        (None, field) => {
            let whose = Kind::ALL.into_iter().filter(|kind| kind.word().fields.contains(&field));
            let whose: Vec<_> = whose.map(|kind| format!("`{}`", kind.as_str())).collect();
            format!("that belongs to {}", whose.join(", "))
        }
    };
    let message = format!("a {} has no `{field}`", word.noun);
    Err(Problem::at(place.key(field).name(), message).hint(hint))
}
