//! Cuts the facts of a run without an end into windows of time, each with its timeline.
//!
//! ```text
//!   record -- observe, miss ---> +--------+
//!   clock  -- handle_timeout --> | Cutter | ---- poll_window ---> traces
//!   fold   -- Finality --------> +--------+
//! ```
//!
//! Windows follow each other without a hole, from the instant from which on the run is judged until
//! its members are asked to leave. A window is judged once all of it is final in the live fold.
//! That is a second after its end, or a few seconds if a member has fallen silent, so late facts
//! are in it. The earlier state comes from the same [`Carry`] with which a later file of a journal
//! begins, taken [`BEFORE`] the start of the window: a carry lacks a few things that matter for a
//! moment (since when no duty ticked, and requests without a confirmation).
//!
//! Memory is bounded. A window with more than [`FACTS_MAX`] facts ends early. If even that does not
//! suffice, facts are dropped, and their time is unknown.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use super::borders::Borders;
use crate::ids::{Life, TrialNumber};
use crate::journal::Carry;
use crate::live::{Finality, LAG};
use crate::observation::{Fact, Outcome, RunEvent, What};
use crate::roster::Roster;
use crate::time::Mono;
use crate::timeline::{Interval, IntervalSet, Stretch, Timeline, Trial};
use crate::topology::Plan;

/// Facts are kept for this long before a window: longer than a gap stays undecided, and as long as
/// the live fold looks back.
const BEFORE: Duration = Duration::from_secs(10);
/// The most facts of one window: fifty members, all of them leaders, write as many in a minute and
/// a half. They take about fifty megabytes.
pub(super) const FACTS_MAX: usize = 150_000;
/// The most facts of several windows and of the time before them.
const KEPT_MAX: usize = 2 * FACTS_MAX;
/// A judged span reaches beyond its window by this at both ends, to show what goes on there.
const BEYOND: Duration = Duration::from_nanos(1);

/// A window that is over.
#[derive(Debug)]
pub(super) struct Window {
    /// Its number, from 1.
    pub(super) number: TrialNumber,
    /// Its begin and end.
    pub(super) span: Interval,
    /// It ended early, because of too many facts.
    pub(super) cut_short: bool,
    /// No window follows.
    pub(super) is_last: bool,
    /// How many facts were missed while it lasted.
    pub(super) missed: u64,
    /// Its timeline, and that of the moments beside it; its only trial has this number.
    pub(super) timeline: Timeline,
}

/// A window, before it is judged.
#[derive(Debug, Clone, Copy)]
struct Frame {
    number: TrialNumber,
    from: Mono,
    until: Mono,
    facts: usize,
    missed: u64,
    cut_short: bool,
    is_last: bool,
}

/// Cuts time into windows.
#[derive(Debug, Clone)]
pub(super) struct Cutter {
    roster: Roster,
    length: Duration,
    borders: Borders,
    /// The state before the kept facts.
    before: Carry,
    /// In the order of their arrival.
    facts: VecDeque<Arc<Fact>>,
    /// The number of the controller's latest fact.
    own: u64,
    has_begun: bool,
    /// The window under way.
    open: Option<Frame>,
    /// Windows that are over, and not judged yet.
    over: VecDeque<Frame>,
    /// The latest timestamp of a fact.
    pub(super) latest: Mono,
    missed: Missed,
    /// How the run ended, if it did.
    pub(super) ended: Option<(Outcome, Option<String>)>,
}

/// When facts were missed.
#[derive(Debug, Clone, Default)]
struct Missed {
    spans: IntervalSet,
    /// When facts began to be missed; the next fact ends it.
    since: Option<Mono>,
    /// The stopped lives, and since when.
    stopped: BTreeMap<Life, Mono>,
    /// The lives that were stopped when facts were missed, and may have continued since.
    doubtful: BTreeMap<Life, Mono>,
}

impl Cutter {
    /// Cuts a run of `plan` into windows of this length.
    pub(super) fn new(plan: &Plan, length: Duration) -> Self {
        Self {
            roster: plan.into(),
            length,
            borders: Borders::new(length),
            before: Carry::default(),
            facts: VecDeque::new(),
            own: 0,
            has_begun: false,
            open: None,
            over: VecDeque::new(),
            latest: Mono::ZERO,
            missed: Missed::default(),
            ended: None,
        }
    }

    /// Takes a fact, in the order of arrival.
    pub(super) fn observe(&mut self, fact: &Arc<Fact>) {
        self.latest = self.latest.max(fact.t);
        if self.facts.len() >= KEPT_MAX {
            self.miss(1);
        } else {
            self.keep(fact);
        }
        if let What::Run(RunEvent::TrialBegan { .. }) = &fact.what
            && !self.has_begun
        {
            self.has_begun = true;
            self.begin(TrialNumber(1), fact.t);
        } else if let What::Run(RunEvent::TrialEnded { .. }) = &fact.what {
            self.end(fact.t);
        } else if let What::Run(RunEvent::Ended { how, why }) = &fact.what {
            self.end(fact.t);
            self.ended = Some((*how, why.clone()));
        }
    }

    fn keep(&mut self, fact: &Arc<Fact>) {
        if !fact.what.is_by_member() {
            self.own = self.own.max(fact.seq);
        }
        if let Some(woke) = self.missed.hear(fact, self.own) {
            self.facts.push_back(Arc::new(woke));
        }
        self.facts.push_back(Arc::clone(fact));
        let Some(open) = &mut self.open else { return };
        open.facts += 1;
        if open.facts >= FACTS_MAX && self.latest > open.from {
            // All known facts are before it.
            let at = open.until.min(self.latest + BEYOND);
            open.cut_short = at < open.until;
            self.cut(at);
        }
    }

    /// This many facts were dropped, because they came too fast.
    pub(super) fn miss(&mut self, facts: u64) {
        self.missed.begin(self.latest);
        let under_way = self.open.as_mut().or(self.over.back_mut());
        if let Some(frame) = under_way {
            frame.missed = frame.missed.saturating_add(facts);
        }
    }

    /// Time has passed.
    pub(super) fn handle_timeout(&mut self, now: Mono) {
        while let Some(open) = self.open
            && now >= open.until
        {
            self.cut(open.until);
        }
        self.forget_facts(now);
    }

    /// The next window that is final. All facts that are folded by then must have been passed
    /// before.
    pub(super) fn poll_window(&mut self, finality: &Finality) -> Option<Window> {
        let frame = *self.over.front()?;
        if finality.settled < frame.until + BEYOND && !finality.is_over {
            return None;
        }
        let window = self.judge(&frame, finality.known);
        self.over.pop_front();
        Some(window)
    }

    /// The window of a fact with this timestamp; `None` before the first and after the last
    /// window.
    pub(super) fn window(&self, at: Mono) -> Option<TrialNumber> {
        self.borders.window(at)
    }

    /// The run is over: no fact follows.
    pub(super) fn finish(&mut self) {
        self.end(self.latest);
    }

    fn begin(&mut self, number: TrialNumber, from: Mono) {
        self.borders.begin(number, from);
        let (until, facts, missed) = (from + self.length, 0, 0);
        let (cut_short, is_last) = (false, false);
        self.open = Some(Frame { number, from, until, facts, missed, cut_short, is_last });
    }

    /// Ends the current window at `at`, and begins the next.
    fn cut(&mut self, at: Mono) {
        let Some(open) = self.open.take() else { return };
        self.over.push_back(Frame { until: at, ..open });
        self.begin(TrialNumber(open.number.0.saturating_add(1)), at);
    }

    /// The members are asked to leave: the last window is over.
    fn end(&mut self, at: Mono) {
        while let Some(open) = self.open
            && at > open.until
        {
            self.cut(open.until);
        }
        let Some(mut last) = self.open.take() else { return };
        // Windows may have begun after `at`, before this call: they are dropped.
        while at <= last.from
            && let Some(before) = self.over.pop_back()
        {
            last = Frame { missed: before.missed.saturating_add(last.missed), ..before };
        }
        let until = at.max(last.from);
        self.borders.end(last.number, until);
        self.over.push_back(Frame { until, is_last: true, ..last });
    }

    fn judge(&self, frame: &Frame, known: Mono) -> Window {
        let Frame { number, from, until, missed, cut_short, is_last, .. } = *frame;
        let window = Interval::new(from - BEYOND, until + BEYOND);
        let stretch = Stretch {
            trial: Trial { number, window, recovered: None },
            known,
            missed: self.missed.spans(),
        };
        let carried = self.before.facts(Mono::ZERO).into_iter().map(Arc::new);
        // Facts of a member that died before the window may arrive after the fact of its death.
        let is_of_dead = |fact: &Fact| {
            let life = fact.life.as_ref().filter(|_| fact.what.is_by_member());
            life.is_some_and(|life| self.before.has_outlived(life))
        };
        let kept = self.facts.iter().filter(|fact| !is_of_dead(fact)).cloned();
        let facts: Vec<Arc<Fact>> = carried.chain(kept).collect();
        let timeline = Timeline::of_stretch(&self.roster, &facts, &stretch);
        let span = Interval::new(from, until);
        Window { number, span, cut_short, is_last, missed, timeline }
    }

    /// Facts from long before all unjudged windows are kept only as their sum.
    fn forget_facts(&mut self, now: Mono) {
        let first = self.over.front().or(self.open.as_ref());
        let from = first.map_or(now, |frame| frame.from) - BEFORE;
        while let Some(fact) = self.facts.pop_front_if(|fact| fact.t < from) {
            self.before.observe(&fact);
        }
        self.missed.spans = self.missed.spans.within(Interval::new(from, Mono(u64::MAX)));
    }
}

impl Missed {
    /// Missed facts may have a timestamp a little before the latest known one.
    fn begin(&mut self, latest: Mono) {
        self.since.get_or_insert(latest - LAG);
        self.doubtful.append(&mut self.stopped);
    }

    /// Takes a fact. Returns the fact that its author continued, if that fact must have been
    /// missed: a member that reports is not stopped. `own` is the number of the controller's latest
    /// fact.
    fn hear(&mut self, fact: &Fact, own: u64) -> Option<Fact> {
        if let Some(since) = self.since.take() {
            self.spans = self.spans.union(&Interval::new(since, fact.t + LAG).into());
        }
        let life = fact.life.as_ref()?;
        if fact.what.is_by_member() {
            let stopped = self.doubtful.get(life).copied();
            stopped.filter(|stopped| *stopped < fact.t)?;
            self.doubtful.remove(life);
            let (life, what) = (Some(life.clone()), What::Run(RunEvent::Continued));
            return Some(Fact { t: fact.t, seq: own, life, what });
        }
        if let What::Run(RunEvent::Stopped | RunEvent::Continued | RunEvent::Died { .. }) =
            &fact.what
        {
            self.stopped.remove(life);
            self.doubtful.remove(life);
        }
        if fact.what == What::Run(RunEvent::Stopped) {
            self.stopped.insert(life.clone(), fact.t);
        }
        None
    }

    fn spans(&self) -> IntervalSet {
        let open = self.since.map(|since| Interval::new(since, Mono(u64::MAX)));
        self.spans.iter().chain(open).collect()
    }
}
