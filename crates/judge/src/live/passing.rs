//! How service passes from one life to another, by the rule of the timeline.

use std::collections::{BTreeMap, BTreeSet};

use crate::timeline::{Interval, View};
use tandem_facts::ids::Life;
use tandem_facts::time::Mono;

/// The service of a partition up to an instant.
#[derive(Debug, Clone, Default)]
pub(super) struct Passing {
    leader: Option<Life>,
    /// When the leader stopped serving, if no life has followed.
    stopped: Option<Mono>,
    /// The life that serves, and since when.
    serving: BTreeMap<Life, Mono>,
}

impl Passing {
    /// The takeovers that end in `window`, which follows the previous window.
    pub(super) fn pass(&mut self, services: &[(&Life, View)], window: Interval) -> Vec<Interval> {
        let mut pieces: Vec<(Interval, &Life)> = Vec::new();
        for (life, view) in services {
            for mut piece in view.sure.within(window).iter() {
                if piece.from == window.from {
                    piece.from = self.serving.get(*life).copied().unwrap_or(piece.from);
                }
                pieces.push((piece, life));
            }
        }
        // Nearly always nothing has changed.
        if let [(piece, life)] = pieces.as_slice()
            && self.leader.as_ref() == Some(life)
            && piece.from <= window.from
            && piece.until == window.until
            && self.stopped.is_none()
        {
            self.serving = BTreeMap::from([((*life).clone(), piece.from)]);
            return Vec::new();
        }
        let ends = pieces.iter().flat_map(|(piece, _)| [piece.from, piece.until]);
        let changes: BTreeSet<Mono> = ends.chain([window.from]).collect();
        let mut found = Vec::new();
        for &now in changes.range(window.from..window.until) {
            let serving = pieces.iter().filter(|(piece, _)| piece.contains(now));
            let serving: BTreeSet<_> = serving.map(|(piece, life)| (piece.from, *life)).collect();
            if serving.iter().any(|(_, life)| Some(*life) == self.leader.as_ref()) {
                self.stopped = None;
                continue;
            }
            let from = *self.stopped.get_or_insert(now);
            if let Some((_, successor)) = serving.first() {
                if self.leader.is_some() {
                    found.push(Interval::new(from, now));
                }
                self.leader = Some((*successor).clone());
                self.stopped = None;
            }
        }
        let on = pieces.iter().filter(|(piece, _)| piece.until == window.until);
        self.serving = on.map(|(piece, life)| ((*life).clone(), piece.from)).collect();
        found
    }
}
