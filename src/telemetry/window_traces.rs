//! Windows of a topology that is kept up, as traces: one each, as soon as all of it is final.
//!
//! ```text
//!   up.window              a stretch of time            --continues--> the one before
//!     leadership           a term, cut to the window    --continues--> itself in the one before
//!     leadership.gap       nobody served, cut to it
//!     leadership.overlap   two claimed, cut to it
//! ```
//!
//! Names, attributes and times are those of a trial's trace. What reaches over a border is cut
//! there, and stands in both windows; so the gaps of all windows add up to the journal's.

use std::sync::Arc;
use std::time::Duration;

use opentelemetry_proto::tonic::logs::v1::LogRecord;
use opentelemetry_proto::tonic::trace::v1::Span;

use super::finding::{self, Open};
use super::scene::{Scene, number, truth};
use super::term::{self, CONTINUES, Past};
use super::traces::{counts, own, stalls, worst};
use super::window::{Cutter, Window};
use super::{ids, logbook, names};
use crate::ids::TrialNumber;
use crate::journal::Header;
use crate::live::Finality;
use crate::observation::Fact;
use crate::time::Mono;
use crate::timeline::{Interval, Trial};
use crate::topology::{Objective, Plan};

/// The trace of a window.
#[derive(Debug, Clone, PartialEq)]
pub struct WindowTrace {
    /// The root, then all others.
    pub spans: Vec<Span>,
    /// The window ended before its time, for too much happened.
    pub cut_short: bool,
}

/// Turns facts into a trace a window. Its owner hands it every fact in the order of arrival, lets
/// time pass a few times a second, and takes traces until there are none; once no fact comes any
/// more, it says [`finish`](Self::finish).
#[derive(Debug, Clone)]
pub struct WindowTraces {
    scene: Scene,
    plan: Plan,
    objective: Objective,
    seed: u64,
    zero: Mono,
    cutter: Cutter,
    past: Past,
    open: Open,
}

impl WindowTraces {
    /// Of the run that `header` begins and `scene` shows, in windows of this length.
    #[must_use]
    pub fn new(header: &Header, scene: Scene, length: Duration) -> Self {
        Self {
            scene: scene.in_windows(),
            plan: header.plan.clone(),
            objective: header.brief.objective,
            seed: header.seed,
            zero: header.zero,
            cutter: Cutter::new(&header.plan, length),
            past: Past::default(),
            open: Open::default(),
        }
    }

    /// Takes a fact.
    pub fn observe(&mut self, fact: &Arc<Fact>) {
        self.cutter.observe(fact);
    }

    /// The log record of a fact that was taken, if it is one that is told: it belongs to the window
    /// in which it happened, or to the run.
    #[must_use]
    pub fn record(&self, fact: &Fact) -> Option<LogRecord> {
        let window = self.cutter.window(fact.t).unwrap_or(ids::OWN);
        logbook::record(&self.scene, window, fact)
    }

    /// So many facts came faster than they were taken: their time is unknown.
    pub fn miss(&mut self, facts: u64) {
        self.cutter.miss(facts);
    }

    /// Lets time pass.
    pub fn handle_timeout(&mut self, now: Mono) {
        self.cutter.handle_timeout(now);
    }

    /// The trace of the next window of which everything is final, as the live fold says. Its
    /// owner asks the fold first and hands in facts then: no fact may be missing that is folded.
    pub fn poll_trace(&mut self, finality: &Finality) -> Option<WindowTrace> {
        let window = self.cutter.poll_window(finality)?;
        Some(WindowTrace { cut_short: window.cut_short, spans: self.trace(window) })
    }

    /// No fact will come any more.
    pub fn finish(&mut self) {
        self.cutter.finish();
    }

    /// The run's own span, to be sent when it is over.
    #[must_use]
    pub fn own(&self) -> Span {
        let run = Interval::new(self.zero, self.cutter.latest.max(self.zero));
        own(&self.scene, self.seed, run, self.cutter.ended.as_ref())
    }

    fn trace(&mut self, window: Window) -> Vec<Span> {
        let Window { number: which, span, cut_short, is_last, missed, mut timeline } = window;
        let found = finding::sorted(&self.plan, &timeline).remove(&which).unwrap_or_default();
        let found = finding::within(found, span, is_last, &mut self.open);
        // What reaches a border was looked for beyond it; a term says by itself whether it does.
        let trial = Trial { number: which, window: span, recovered: None };
        timeline.record.trials = vec![trial];
        let terms = term::sorted(&self.plan, &timeline, &self.past);
        let terms = terms.get(&which).map_or(&[][..], Vec::as_slice);
        let (scene, plan) = (&self.scene, &self.plan);
        let leaderships = terms.iter().map(|tenure| tenure.span(scene, plan, &trial));
        let findings = found.iter().map(|one| one.span(scene, plan, &self.objective));
        let children: Vec<Span> = leaderships.chain(findings).collect();
        self.past.keep(which, terms);
        let mut root = self.root(which, span);
        root.attributes.extend(counts(&found));
        root.attributes.push(truth(names::CUT_SHORT, cut_short));
        root.attributes.push(number(names::MISSED, missed));
        root.events = stalls(&self.scene, &timeline.record, span);
        root.status = worst(found.iter().map(|one| one.status(&self.objective)));
        let mut spans = vec![root];
        spans.extend(children);
        spans
    }

    fn root(&self, window: TrialNumber, during: Interval) -> Span {
        let mut root = self.scene.root(window, during);
        root.attributes = vec![self.scene.numbered(window)];
        root.links = vec![self.scene.link(ids::OWN, names::RUN, "part_of")];
        let before = TrialNumber(window.0.saturating_sub(1));
        if before != ids::OWN {
            let key = self.scene.root_key(before);
            root.links.push(self.scene.link(before, key, CONTINUES));
        }
        root
    }
}
