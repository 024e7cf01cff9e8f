//! What a witness has made of its orders: it says so in its letters, and a reader finds what is new
//! in it. Pure.

use serde::{Deserialize, Serialize};

use crate::observation::{RefusedOrders, RunEvent};
use crate::time::Mono;

/// The most pauses, and the most cuts, that a letter says.
const HALTS_MAX: usize = 4;

/// What became of all orders so far.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Standing {
    /// Grows whenever something below changes.
    pub seq: u64,
    /// How many orders were carried out.
    pub taken: u64,
    /// How many were refused.
    pub refused: RefusedOrders,
    /// The latest pauses.
    pub halts: Vec<Halt>,
    /// The latest cuts between the member and its brokers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cuts: Vec<Cut>,
}

/// A pause of the member's process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Halt {
    /// Its number, from 1.
    pub number: u64,
    /// Just before the signal, and when the kernel said that the process was stopped.
    #[serde(rename = "stopped_ns")]
    pub stopped: [Mono; 2],
    /// The same of its end.
    #[serde(rename = "continued_ns", default, skip_serializing_if = "Option::is_none")]
    pub continued: Option<[Mono; 2]>,
}

/// A time in which the member's traffic with its brokers was lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cut {
    /// Its number, from 1.
    pub number: u64,
    /// Since then nothing passes.
    #[serde(rename = "cut_ns")]
    pub cut: Mono,
    /// Since then all passes again.
    #[serde(rename = "mended_ns", default, skip_serializing_if = "Option::is_none")]
    pub mended: Option<Mono>,
}

/// What a reader finds new.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum News {
    /// This happened at this instant.
    Event(Mono, RunEvent),
    /// Since this instant the member is cut off from its brokers by an order, or is not any more.
    CutOff(Mono, bool),
}

impl Standing {
    /// Takes the counts of orders. Only new refusals are news.
    pub fn count(&mut self, taken: u64, refused: RefusedOrders) {
        self.taken = taken;
        if std::mem::replace(&mut self.refused, refused) != refused {
            self.seq += 1;
        }
    }

    /// The process was stopped between the two.
    pub fn stop(&mut self, stopped: [Mono; 2]) {
        let number = self.halts.last().map_or(1, |last| last.number + 1);
        self.halts.push(Halt { number, stopped, continued: None });
        if self.halts.len() > HALTS_MAX {
            self.halts.remove(0);
        }
        self.seq += 1;
    }

    /// It was continued between the two.
    pub fn wake(&mut self, continued: [Mono; 2]) {
        if let Some(last) = self.halts.last_mut().filter(|last| last.continued.is_none()) {
            last.continued = Some(continued);
            self.seq += 1;
        }
    }

    /// Nothing passes between the member and its brokers since then.
    pub fn cut(&mut self, cut: Mono) {
        let number = self.cuts.last().map_or(1, |last| last.number + 1);
        self.cuts.push(Cut { number, cut, mended: None });
        if self.cuts.len() > HALTS_MAX {
            self.cuts.remove(0);
        }
        self.seq += 1;
    }

    /// All passes again since then.
    pub fn mend(&mut self, mended: Mono) {
        if let Some(last) = self.cuts.last_mut().filter(|last| last.mended.is_none()) {
            last.mended = Some(mended);
            self.seq += 1;
        }
    }
}

/// What a reader has found in the standings of one life so far.
#[derive(Debug, Clone, Default)]
pub(super) struct Heard {
    seq: u64,
    /// The number of the last pause, and whether it is over.
    halt: (u64, bool),
    /// The same of the last cut.
    cut: (u64, bool),
    refused: RefusedOrders,
}

impl Heard {
    /// What is new, with its instants as `here` has those of the witness. None where it does not
    /// have one: then nothing was heard.
    pub(super) fn hear(
        &mut self,
        standing: &Standing,
        mut here: impl FnMut(Mono) -> Option<Mono>,
        now: Mono,
    ) -> Option<Vec<News>> {
        let mut heard = self.clone();
        let news = heard.hear_all(standing, &mut here, now)?;
        *self = heard;
        Some(news)
    }

    fn hear_all(
        &mut self,
        standing: &Standing,
        here: &mut impl FnMut(Mono) -> Option<Mono>,
        now: Mono,
    ) -> Option<Vec<News>> {
        let mut news = Vec::new();
        if standing.seq <= self.seq {
            return Some(news);
        }
        self.seq = standing.seq;
        let mut turns = Vec::new();
        for halt in &standing.halts {
            if halt.number > self.halt.0 {
                turns.push((halt.stopped, RunEvent::Stopped));
                self.halt = (halt.number, false);
            }
            if let Some(continued) = halt.continued.filter(|_| self.halt == (halt.number, false)) {
                turns.push((continued, RunEvent::Continued));
                self.halt = (halt.number, true);
            }
        }
        for ([asked, seen], event) in turns {
            news.push(News::Event(here(asked)?, RunEvent::NotYet));
            news.push(News::Event(here(seen)?, event));
        }
        for cut in &standing.cuts {
            if cut.number > self.cut.0 {
                news.push(News::CutOff(here(cut.cut)?, true));
                self.cut = (cut.number, false);
            }
            if let Some(mended) = cut.mended.filter(|_| self.cut == (cut.number, false)) {
                news.push(News::CutOff(here(mended)?, false));
                self.cut = (cut.number, true);
            }
        }
        if std::mem::replace(&mut self.refused, standing.refused) != standing.refused {
            let Standing { taken, refused, .. } = *standing;
            news.push(News::Event(now, RunEvent::Orders { taken, refused }));
        }
        Some(news)
    }
}
