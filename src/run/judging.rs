//! From when to when gaps count in a topology that is kept up: the first and the last fact of its
//! only trial.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::controller::Recorder;
use crate::fold::Heard;
use crate::ids::TrialNumber;
use crate::live::{Health, Live};
use crate::observation::{MemberEvent, RunEvent, What};
use crate::time::Mono;

/// A topology that is kept up is judged as one trial.
pub(super) const TRIAL: TrialNumber = TrialNumber(1);

/// Records when gaps begin to count, and when they no longer do.
pub(super) struct Judging(Mutex<Counts>);

/// Whether gaps and overlaps count.
#[derive(Clone, Copy)]
enum Counts {
    NotYet,
    Now,
    /// They counted until then, if they ever did.
    Over(Mono),
}

impl Judging {
    /// Makes gaps count once every group has led every role.
    pub(super) fn follow(record: &Arc<Recorder>) -> Arc<Self> {
        let judging = Arc::new(Self(Mutex::new(Counts::NotYet)));
        let (theirs, recorder) = (Arc::downgrade(&judging), Arc::downgrade(record));
        record.fold().listen(Box::new(move |live, heard| {
            // Nearly all facts are of these two kinds, and neither makes a group lead a role.
            if let Heard::Fact(fact) = heard
                && let What::Member(MemberEvent::Renewed { .. } | MemberEvent::Ticks { .. }) =
                    fact.what
            {
                return;
            }
            if let Some((judging, record)) = theirs.upgrade().zip(recorder.upgrade()) {
                judging.hear(live, &record);
            }
        }));
        judging
    }

    fn counts(&self) -> MutexGuard<'_, Counts> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn hear(&self, live: &Live, record: &Recorder) {
        let mut counts = self.counts();
        if let Counts::NotYet = *counts
            && live.health().0 == Health::Led
        {
            *counts = Counts::Now;
            let event = RunEvent::TrialBegan { trial: TRIAL };
            // All observers of the same facts begin at the same instant.
            if record.is_observing() {
                record.note_at(live.led_from(), None, event);
            } else {
                record.note(None, event);
            }
        }
    }

    /// The members are asked to leave: from now on nothing counts.
    pub(super) fn end(&self, record: &Recorder) {
        // The lock of the fold comes first, because the fold calls `hear` under it.
        let until = record.look(|live| {
            let mut counts = self.counts();
            let recovered = Some(live.health().0 == Health::Led);
            let until = match *counts {
                Counts::NotYet => Mono::now(),
                Counts::Now => record.note(None, RunEvent::TrialEnded { trial: TRIAL, recovered }),
                Counts::Over(until) => until,
            };
            *counts = Counts::Over(until);
            until
        });
        record.fold().end(until);
    }
}
