//! Windows of a topology that is kept up, as traces: one per window, as soon as it is final.
//!
//! ```text
//!   up.window              a stretch of time            --continues--> the one before
//!     leadership           a term, cut to the window    --continues--> itself in the one before
//!     leadership.gap       no one served, cut to the window
//!     leadership.overlap   two claimed, cut to the window
//! ```
//!
//! Names, attributes and times are those of a trial's trace. A span that crosses a border is cut
//! there and appears in both windows, so the gaps of all windows add up to the journal's.

use std::sync::Arc;
use std::time::Duration;

use opentelemetry_proto::tonic::logs::v1::LogRecord;
use opentelemetry_proto::tonic::trace::v1::Span;

use super::finding::{self, Open};
use super::run_context::{RunContext, number, truth};
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
    /// The root span, then all others.
    pub spans: Vec<Span>,
    /// Whether the window ended early, because too much happened.
    pub cut_short: bool,
}

/// Turns facts into one trace per window. The owner passes every fact in the order of arrival,
/// takes traces a few times a second until there are none, and calls [`finish`](Self::finish)
/// after the last fact.
#[derive(Debug, Clone)]
pub struct WindowTraces {
    context: RunContext,
    plan: Plan,
    objective: Objective,
    seed: u64,
    zero: Mono,
    cutter: Cutter,
    past: Past,
    open: Open,
}

impl WindowTraces {
    /// Traces of the run that `header` begins and `context` describes, in windows of this length.
    #[must_use]
    pub fn new(header: &Header, context: RunContext, length: Duration) -> Self {
        Self {
            context: context.in_windows(),
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

    /// The log record of a fact that was taken, if it has one: it belongs to the window in which it
    /// happened, or to the run.
    #[must_use]
    pub fn record(&self, fact: &Fact) -> Option<LogRecord> {
        let window = self.cutter.window(fact.t).unwrap_or(ids::OWN);
        logbook::record(&self.context, window, fact)
    }

    /// Records that `facts` were missed, because they came too fast: their time is unknown.
    pub fn miss(&mut self, facts: u64) {
        self.cutter.miss(facts);
    }

    /// Advances the time.
    pub fn handle_timeout(&mut self, now: Mono) {
        self.cutter.handle_timeout(now);
    }

    /// The trace of the next window that is final by the live fold. The owner asks the fold for
    /// `finality` first and passes the waiting facts then, so that no folded fact is missing.
    pub fn poll_trace(&mut self, finality: &Finality) -> Option<WindowTrace> {
        let window = self.cutter.poll_window(finality)?;
        Some(WindowTrace { cut_short: window.cut_short, spans: self.trace(window) })
    }

    /// No fact follows.
    pub fn finish(&mut self) {
        self.cutter.finish();
    }

    /// The run's own span, to send when the run is over.
    #[must_use]
    pub fn own(&self) -> Span {
        let run = Interval::new(self.zero, self.cutter.latest.max(self.zero));
        own(&self.context, self.seed, run, self.cutter.ended.as_ref())
    }

    fn trace(&mut self, window: Window) -> Vec<Span> {
        let Window { number: which, span, cut_short, is_last, missed, mut timeline } = window;
        let found = finding::sorted(&self.plan, &timeline).remove(&which).unwrap_or_default();
        let found = finding::within(found, span, is_last, &mut self.open);
        // Findings at a border were searched for beyond it; a term knows by itself whether it
        // crosses one.
        let trial = Trial { number: which, window: span, recovered: None };
        timeline.record.trials = vec![trial];
        let terms = term::sorted(&self.plan, &timeline, &self.past);
        let terms = terms.get(&which).map_or(&[][..], Vec::as_slice);
        let (context, plan) = (&self.context, &self.plan);
        let leaderships = terms.iter().map(|tenure| tenure.span(context, plan, &trial));
        let findings = found.iter().map(|one| one.span(context, plan, &self.objective));
        let children: Vec<Span> = leaderships.chain(findings).collect();
        self.past.keep(which, terms);
        let mut root = self.root(which, span);
        root.attributes.extend(counts(&found));
        root.attributes.push(truth(names::CUT_SHORT, cut_short));
        root.attributes.push(number(names::MISSED, missed));
        root.events = stalls(&self.context, &timeline.record, span);
        root.status = worst(found.iter().map(|one| one.status(&self.objective)));
        let mut spans = vec![root];
        spans.extend(children);
        spans
    }

    fn root(&self, window: TrialNumber, during: Interval) -> Span {
        let mut root = self.context.root(window, during);
        root.attributes = vec![self.context.numbered(window)];
        root.links = vec![self.context.link(ids::OWN, names::RUN, "part_of")];
        let before = TrialNumber(window.0.saturating_sub(1));
        if before != ids::OWN {
            let key = self.context.root_key(before);
            root.links.push(self.context.link(before, key, CONTINUES));
        }
        root
    }
}
