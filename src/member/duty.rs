//! The duty: what is the evidence that a claim was served, on a thread of its own.
//!
//! The stand-in duty ticks every 10 ms for the partitions that the member leads, as the work of a
//! real leader would. Where the member runs programs of the user, theirs count instead.

use std::collections::BTreeMap;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use super::lateness::Lateness;
use super::service::{self, REPORT_PERIOD, RUN};
use super::{Channel, Service};
use tandem_member::Claims;

use crate::ids::PartitionId;
use crate::observation::MemberEvent;
use crate::time::Mono;

const TICK: Duration = Duration::from_millis(10);
/// How often the duty wakes if it leads nothing; a claim wakes it at once. A shorter period would
/// keep two processors busy for a thousand members that lead nothing; with a longer one, a stall of
/// such a member would go unnoticed.
const IDLE: Duration = Duration::from_millis(50);

/// A run of ticks for the same partitions.
#[derive(Debug, Default)]
struct Run {
    partitions: Vec<PartitionId>,
    from: Option<Mono>,
    last: Option<Mono>,
    reported: Option<Mono>,
}

impl Run {
    /// Records one tick. Returns the fact to report, if any.
    fn tick(&mut self, now: Mono, led: Vec<PartitionId>) -> Option<MemberEvent> {
        let goes_on = led == self.partitions && self.last.is_some_and(|t| now.since(t) <= RUN);
        if !goes_on {
            *self = Self { partitions: led, from: Some(now), last: Some(now), reported: None };
        }
        self.last = Some(now);
        if self.partitions.is_empty()
            || self.reported.is_some_and(|at| now.since(at) < REPORT_PERIOD)
        {
            return None;
        }
        self.reported = Some(now);
        let from = self.from.unwrap_or(now);
        Some(MemberEvent::Ticks { partitions: self.partitions.clone(), from, until: now })
    }
}

/// Who ticks.
enum Duty {
    StandIn(Run),
    Programs(Arc<Service>, BTreeMap<PartitionId, service::Run>),
}

impl Duty {
    /// The facts to report, if these partitions are led now.
    fn tick(&mut self, now: Mono, led: Vec<PartitionId>) -> Vec<MemberEvent> {
        match self {
            Self::StandIn(run) => run.tick(now, led).into_iter().collect(),
            Self::Programs(service, runs) => {
                let ticks = led.into_iter().filter_map(|on| {
                    let at = service.of(now, on)?;
                    runs.entry(on).or_insert(service::Run::NONE).tick(now, on, at)
                });
                ticks.collect()
            }
        }
    }
}

/// Starts the thread; it ends with the process. With `service`, that of the programs counts.
///
/// # Errors
/// The system refuses a thread.
pub fn start(
    claims: Arc<Claims>,
    channel: Arc<Mutex<Channel>>,
    service: Option<Arc<Service>>,
) -> io::Result<()> {
    let mut duty = match service {
        None => Duty::StandIn(Run::default()),
        Some(service) => Duty::Programs(service, BTreeMap::new()),
    };
    let thread = std::thread::Builder::new().name("duty".to_owned());
    let _runs_with_the_process = thread.spawn(move || {
        let mut lateness = Lateness::of_this_thread();
        loop {
            let now = Mono::now();
            for ticks in duty.tick(now, claims.led(now)) {
                channel.lock().unwrap_or_else(PoisonError::into_inner).send(now, ticks);
            }
            let asleep = Mono::now();
            let idle = claims.await_any(IDLE);
            if !idle {
                std::thread::sleep(TICK);
            }
            let woke = Mono::now();
            // An idle duty waits for a claim, so only its wait for a processor counts.
            let late = if idle { lateness.idled(woke) } else { lateness.woke(asleep, woke) };
            if let Some(late) = late {
                let now = Mono::now();
                channel.lock().unwrap_or_else(PoisonError::into_inner).send(now, late);
            }
        }
    })?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    #[test]
    fn a_run_is_reported_every_50_ms_and_ends_at_a_pause_of_100() {
        let mut run = Run::default();
        let mut reported = Vec::new();
        for ms in [0, 10, 40, 50, 60, 100, 201, 210] {
            if let Some(MemberEvent::Ticks { from, until, .. }) =
                run.tick(Mono(ms * MS), vec![PartitionId(0)])
            {
                reported.push((from.0 / MS, until.0 / MS));
            }
        }
        assert_eq!(reported, [(0, 0), (0, 50), (0, 100), (201, 201)]);
    }

    #[test]
    fn a_run_has_the_same_partitions_and_none_is_not_reported() {
        let mut run = Run::default();
        assert_eq!(run.tick(Mono(0), Vec::new()), None);
        assert!(run.tick(Mono(MS), vec![PartitionId(0)]).is_some());
        let two = vec![PartitionId(0), PartitionId(1)];
        let reported = run.tick(Mono(2 * MS), two.clone());
        let (from, until) = (Mono(2 * MS), Mono(2 * MS));
        assert_eq!(reported, Some(MemberEvent::Ticks { partitions: two, from, until }));
    }
}
