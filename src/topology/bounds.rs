//! The most a fault may cost: the bounds that a plan prints and a measurement must respect.

use std::time::Duration;

use super::terms::FIRST_MESSAGE;
use super::{Mode, Terms};
pub use crate::roster::UNLIMITED;
use crate::roster::{Bound, Bounds, Range};

/// How far apart members may reconnect to their brokers: the longest backoff of a client, 200 ms,
/// which it draws up to half as long again.
pub const RECONNECT: Duration = Duration::from_millis(300);
/// A broker refuses joins while it loads its groups, and librdkafka retries a second later.
const JOIN_AGAIN: Duration = Duration::from_secs(1);
/// How long a member that was paused may keep its claims while it drains missed messages.
const DRAIN: Duration = Duration::from_millis(200);

/// The bounds of a group with these terms, if no pause is longer than `longest_pause`; `None` means
/// unlimited pauses.
#[must_use]
pub fn bounds(terms: &Terms, longest_pause: Option<Duration>) -> Bounds {
    let threshold = terms.threshold;
    let joined = match terms.mode {
        _ if !terms.joins_move => Duration::ZERO,
        Mode::NonExclusive => terms.joined(),
        // A program is asked to end up to `K` before its claim does.
        Mode::Fast | Mode::Exclusive | Mode::ExclusivePaper => terms.succession() + terms.stop,
    };
    let (moved, (soonest, latest)) = (to(terms.moved()), terms.death());
    let lasting = Bound { gap: to(Duration::ZERO), overlap: to(UNLIMITED) };
    Bounds {
        kill: Bound { gap: Range::new(soonest, latest), overlap: moved },
        leave: Bound { gap: to(terms.left()), overlap: moved },
        // It leads on, and the others elect another one.
        isolation: if terms.leads_alone {
            lasting
        } else {
            Bound {
                gap: to(terms.seamless_threshold().saturating_sub(threshold)),
                overlap: to(match terms.mode {
                    // Nothing by the paper, if its conditions hold.
                    Mode::NonExclusive | Mode::Fast | Mode::ExclusivePaper => (threshold
                        + terms.clock)
                        .saturating_sub(terms.soonest())
                        .saturating_sub(terms.grace),
                    Mode::Exclusive => Duration::ZERO,
                }),
            }
        },
        pause: pause(terms, longest_pause.unwrap_or(Duration::MAX)),
        restart: Bound { gap: to(joined), overlap: moved },
        silence: terms.yielded().map(|gap| Bound { gap: to(gap), overlap: moved }),
        link: terms
            .refuted()
            .map(|overlap| Bound { gap: to(Duration::ZERO), overlap: to(overlap) }),
        links_and_brokers: terms.stand_in.map(|_| Bound {
            gap: to(terms.seamless_threshold().saturating_sub(threshold)),
            overlap: to(terms.stand_in_term()),
        }),
        broker: outage_bound(terms, terms.failover, Recall::Reads),
    }
}

/// The cost to a group when its brokers are down for `down`, and the broker that takes over
/// remembers as much of the group as `recall` says. Clients find that broker up to `L` later.
/// Members may rejoin under new names, and wait for the sessions of their old names. Meanwhile
/// members keep their claims for `T` after the last message they heard. When all are back, the
/// roles that moved to the first member move on to the last.
#[must_use]
pub fn outage_bound(terms: &Terms, down: Duration, recall: Recall) -> Bound {
    let (back, apart) = match recall {
        // An embedded broker keeps its address, and has no old names.
        Recall::Nothing => (terms.succession(), RECONNECT),
        Recall::All => (terms.search + terms.takeover(), RECONNECT),
        Recall::Reads => {
            let found = terms.search + JOIN_AGAIN;
            (found + terms.takeover(), found)
        }
    };
    let seamless = down + back + terms.age + terms.clock;
    let overlap = match (terms.mode, recall) {
        (Mode::NonExclusive | Mode::Fast, _) => terms.threshold + terms.succession() + apart,
        // A proof from before the restart binds no broker that has forgotten its groups.
        (Mode::Exclusive, Recall::Nothing) => terms.threshold,
        (Mode::Exclusive, Recall::All | Recall::Reads) => Duration::ZERO,
        // Whatever the group remembers: the grace of a new owner is longer than a claim.
        (Mode::ExclusivePaper, _) => (terms.threshold + terms.clock).saturating_sub(terms.grace),
    };
    Bound { gap: to(seamless.saturating_sub(terms.threshold)), overlap: to(overlap) }
}

/// What a restarted broker remembers of the groups that it coordinated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Recall {
    /// Nothing: an embedded broker restarts empty.
    Nothing,
    /// Everything: it was only paused.
    All,
    /// Everything, once it has loaded its log; until then it refuses joins.
    Reads,
}

/// A member that is paused for `d` serves nothing meanwhile. When it wakes, it still holds its
/// earlier claims, and the messages that waited for it renew them once more; where members hand
/// over, until it learns of its expulsion and of its successors. In the fast mode only
/// a message that it sends after waking renews a claim, until its next heartbeat finds it expelled.
/// In the exclusive mode only a proof that it asks for after waking does. In the paper's only a
/// message that was appended since does; that it may receive one after it was expelled, before it
/// learns of that, breaks the promise of that mode.
fn pause(terms: &Terms, d: Duration) -> Bound {
    let threshold = terms.threshold;
    let (soonest, latest) = terms.suspected().unwrap_or((terms.soonest(), terms.takeover()));
    let asleep = d.min(threshold + terms.clock).saturating_sub(soonest).saturating_sub(terms.grace);
    let drained = asleep + terms.silence() + DRAIN;
    let (longest, overlap) = match terms.mode {
        // Its claim ends while it is asleep; when it wakes it may be the greatest again.
        Mode::NonExclusive if terms.unproven => {
            (slept(terms, d, terms.first), asleep.max(terms.moved()))
        }
        Mode::NonExclusive => (d.min(latest), drained + terms.moved()),
        Mode::Fast => (slept(terms, d, FIRST_MESSAGE + terms.work), drained),
        Mode::Exclusive => (slept(terms, d, terms.first + terms.work), Duration::ZERO),
        // It promises that a member that wakes claims nothing: what waited for it bears old stamps.
        Mode::ExclusivePaper => (slept(terms, d, FIRST_MESSAGE + terms.work), asleep),
    };
    Bound { gap: Range::new(d.min(soonest), longest), overlap: to(overlap) }
}

/// The longest gap of a pause in a mode in which a revocation ends a claim. A member that wakes
/// before it can be expelled leads again `first` later. One that wakes while its group gives its
/// partitions away joins again, and may interrupt that just before the successor leads.
fn slept(terms: &Terms, d: Duration, first: Duration) -> Duration {
    let takeover = terms.takeover();
    if d < terms.soonest() {
        d + first
    } else if d <= takeover {
        takeover.max(d + terms.succession())
    } else {
        takeover
    }
}

fn to(high: Duration) -> Range {
    Range::new(Duration::ZERO, high)
}
