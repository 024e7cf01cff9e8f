//! When service passed from one life to another.
//!
//! The leader is the life that has served for longest. When it stops serving, the takeover begins;
//! it ends when another life serves. If another life serves already, its duration is 0. If the same
//! life serves again before any other does, because it was stopped for a moment, there is no
//! takeover. The end of another life that served beside the leader is no takeover, either.

use std::collections::BTreeSet;

use super::{Interval, IntervalSet, View};
use tandem_facts::ids::Life;

/// The takeovers within `window`, each from the instant a leader stops to the instant another life
/// serves.
pub(super) fn takeovers(services: &[(Life, View)], window: Interval) -> Vec<Interval> {
    let within: Vec<(&Life, &IntervalSet, IntervalSet)> = services
        .iter()
        .map(|(life, view)| (life, &view.sure, view.sure.within(window)))
        .filter(|(_, _, inside)| !inside.is_empty())
        .collect();
    let ends = |inside: &IntervalSet| {
        inside.iter().flat_map(|one| [one.from, one.until]).collect::<Vec<_>>()
    };
    let changes: BTreeSet<_> = within.iter().flat_map(|(_, _, inside)| ends(inside)).collect();
    let (mut leader, mut stopped, mut found) = (None, None, Vec::new());
    for now in changes.into_iter().filter(|now| *now < window.until) {
        let serving = within.iter().filter_map(|(life, whole, _)| {
            let piece = whole.at(now)?;
            Some((piece.from, *life))
        });
        let serving: BTreeSet<_> = serving.collect();
        if serving.iter().any(|(_, life)| Some(*life) == leader) {
            stopped = None;
            continue;
        }
        let from = *stopped.get_or_insert(now);
        if let Some((_, successor)) = serving.first() {
            if leader.is_some() {
                found.push(Interval::new(from, now));
            }
            leader = Some(successor);
            stopped = None;
        }
    }
    found
}
