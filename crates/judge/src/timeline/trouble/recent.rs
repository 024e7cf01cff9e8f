//! Forgets old troubles, so that those of a run that goes on take a bounded memory.

use std::collections::{BTreeMap, BTreeSet};

use super::{History, RETURN, Troubles};
use crate::timeline::Interval;
use tandem_facts::ids::{Incarnation, Life, MemberId};
use tandem_facts::time::Mono;

/// How many lives of a member are remembered: facts about an earlier one do not come any more.
const LIVES_KEPT: u64 = 3;

impl Troubles {
    /// Forgets what is of no use for the cause of an interval that begins at `at` or later.
    pub(crate) fn drop_before(&mut self, at: Mono) {
        self.groups.values_mut().for_each(|history| history.drop_before(at));
        let felt = |span: &Interval| span.until > at || at < span.until + RETURN;
        self.lost.retain(|_, spans| {
            spans.retain(felt);
            !spans.is_empty()
        });
        for lives in self.unconnected.values_mut() {
            lives.retain(|_, spans| {
                spans.retain(felt);
                !spans.is_empty()
            });
            // A life that died has no end here.
            retain_latest_of(lives);
        }
    }
}

impl History {
    fn drop_before(&mut self, at: Mono) {
        if let Some(last) = self.settled.range(..=at).next_back().copied() {
            self.settled = self.settled.split_off(&last);
        }
        if let Some(last) = self.latest(at).map(|(began, _)| began) {
            self.troubles = self.troubles.split_off(&last);
            self.leaves.drop_before(last);
        }
        self.deaths = self.deaths.split_off(&at);
        self.suspends.retain(|suspend| suspend.until > at);
        if let Some(trial) = self.faults.last().map(|fault| fault.trial) {
            self.faults.retain(|fault| fault.trial.0.saturating_add(1) >= trial.0);
        }
        for lives in [&mut self.struck, &mut self.paused] {
            retain_latest(lives);
        }
        for times in [&mut self.ended, &mut self.not_yet, &mut self.died] {
            retain_latest_of(times);
        }
        self.ticks.retain_latest();
    }
}

/// Keeps what is about the latest lives of each member.
pub(super) fn retain_latest_of<V>(all: &mut BTreeMap<Life, V>) {
    let mut lives: BTreeSet<Life> = all.keys().cloned().collect();
    retain_latest(&mut lives);
    all.retain(|life, _| lives.contains(life));
}

/// Keeps the latest lives of each member.
pub(super) fn retain_latest(lives: &mut BTreeSet<Life>) {
    let mut latest: BTreeMap<&MemberId, Incarnation> = BTreeMap::new();
    for life in lives.iter() {
        let one = latest.entry(&life.member).or_insert(life.incarnation);
        *one = life.incarnation.max(*one);
    }
    let old = |life: &&Life| {
        let latest = latest.get(&life.member).map_or(0, |latest| u64::from(latest.0));
        u64::from(life.incarnation.0) + LIVES_KEPT <= latest
    };
    let old: Vec<Life> = lives.iter().filter(old).cloned().collect();
    for life in &old {
        lives.remove(life);
    }
}
