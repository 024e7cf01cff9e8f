//! The leadership of one role, as the program that does its work asks for it.

use std::num::NonZeroU32;
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use tandem_facts::ids::{PartitionId, RoleIndex};
use tandem_facts::observation::Mode;
use tandem_facts::time::Mono;
use tokio::sync::watch;

use crate::{Claims, Config};

/// The longest sleep before the clock is compared again. Timers do not count the time for which the
/// host was suspended, and claims do.
const LOOK: Duration = Duration::from_millis(50);

/// What has a place in the ledger: a role, on partition `j mod |M|`, or a partition itself.
pub trait Placed: Copy {
    /// Its partition in a ledger of this width.
    #[must_use]
    fn partition(self, width: NonZeroU32) -> PartitionId;
}

impl Placed for RoleIndex {
    fn partition(self, width: NonZeroU32) -> PartitionId {
        Self::partition(self, width)
    }
}

impl Placed for PartitionId {
    fn partition(self, _width: NonZeroU32) -> PartitionId {
        self
    }
}

/// A claim, as far as a program may rely on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Claim {
    /// The first instant after the claim, on the clock of [`Mono::now`]. In the exclusive mode no
    /// other member leads before it, under any fault; in the other modes the claim may end sooner.
    pub until: Mono,
    /// In the exclusive mode: a number above that of every earlier leader of the role. A store that
    /// refuses lower ones than it has seen refuses the writes of a leader that does not know of its
    /// end. None in the other modes, and where the group keeps none.
    ///
    /// It is a pair in one number: an epoch in the upper bits, and a count of leaders in the lower
    /// 20. It stays below 2^53 until the year 2242, so a `bigint` of a database and a number in
    /// JSON or JavaScript have it exactly, and order it as the pair.
    ///
    /// It rests on what the group keeps as committed offsets, also when the topic is deleted and
    /// created again, whichever host leads next. Where brokers have lost these offsets a later
    /// epoch begins, above all that the member's host keeps in a file ([`Builder::fences`]): what
    /// its members were given, and what they have read of others. A host on which no member of the
    /// group has run since the last epoch began has its clock alone then.
    ///
    /// [`Builder::fences`]: crate::Builder::fences
    pub fence: Option<i64>,
}

impl Claim {
    /// How much of the claim is left at `now`.
    #[must_use]
    pub fn remaining(&self, now: Mono) -> Duration {
        self.until.since(now)
    }
}

/// The member stopped leading the role, or was about to, before the work was done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the member no longer leads the role")]
pub struct Deposed;

/// How the promises of a member are bounded.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Promise {
    /// A claim lasts to its horizon, or ends sooner.
    None,
    /// Nothing ends a claim sooner than this after it was asked for: the member sends no request
    /// that lets its partitions go within that time after it gave them back.
    Hold(Duration),
}

impl Promise {
    pub(crate) fn of(config: &Config) -> Self {
        match config.mode {
            Mode::Exclusive => Self::Hold(config.hold),
            Mode::NonExclusive | Mode::Fast | Mode::ExclusivePaper => Self::None,
        }
    }

    /// For how long a claim outlives the end of an assignment.
    pub(crate) const fn hold(self) -> Duration {
        match self {
            Self::None => Duration::ZERO,
            Self::Hold(hold) => hold,
        }
    }
}

/// Answers for one role. Cheap to clone, and lock-free.
#[derive(Debug, Clone)]
pub struct Lead {
    claims: Arc<Claims>,
    partition: PartitionId,
    promise: Promise,
}

impl Lead {
    pub(crate) const fn new(claims: Arc<Claims>, partition: PartitionId, promise: Promise) -> Self {
        Self { claims, partition, promise }
    }

    /// Whether the member leads the role now.
    #[must_use]
    pub fn holds(&self) -> bool {
        leads(&self.claims, self.partition)
    }

    /// The claim on the role, if the member leads it now.
    #[must_use]
    pub fn claim(&self) -> Option<Claim> {
        claim(&self.claims, self.partition, self.promise)
    }

    /// When the claim ends if nothing renews it; none if the member does not lead. Unlike
    /// [`Claim::until`], a rebalance may still bring it forward to [`Config::hold`] from then on.
    #[must_use]
    pub fn horizon(&self) -> Option<Mono> {
        let end = self.claims.end(self.partition);
        (Mono::now() < end).then_some(end)
    }

    /// Waits until the member leads the role. Needs a tokio runtime with timers.
    pub async fn begins(&self) -> Claim {
        let mut turns = self.claims.changes();
        loop {
            turns.borrow_and_update();
            match self.claim() {
                Some(claim) => return claim,
                None => turn(&mut turns, LOOK).await,
            }
        }
    }

    /// Waits until less than `left` of the claim is left.
    pub async fn ends(&self, left: Duration) {
        let mut turns = self.claims.changes();
        loop {
            turns.borrow_and_update();
            match self.rest(left) {
                Some(rest) => turn(&mut turns, rest.min(LOOK)).await,
                None => return,
            }
        }
    }

    /// How long it is until less than `left` of the claim is left; none if it is so now.
    fn rest(&self, left: Duration) -> Option<Duration> {
        let rest = self.horizon()?.since(Mono::now());
        rest.checked_sub(left).filter(|rest| !rest.is_zero())
    }

    /// Does `work` while the member leads the role, and drops it when only `stop` of the claim is
    /// left: so long does the work need to stop.
    pub(crate) async fn during<T>(
        &self,
        stop: Duration,
        work: impl Future<Output = T>,
    ) -> Result<T, Deposed> {
        let (mut work, mut ends) = (pin!(work), pin!(self.ends(stop)));
        std::future::poll_fn(|context| {
            // The clock decides, however late this is polled: the work comes second.
            if ends.as_mut().poll(context).is_ready() || self.rest(stop).is_none() {
                return Poll::Ready(Err(Deposed));
            }
            work.as_mut().poll(context).map(Ok)
        })
        .await
    }
}

/// Waits for the next turn of any claim, for at most `within`.
async fn turn(turns: &mut watch::Receiver<u64>, within: Duration) {
    // Elapsed, or the member is gone: in both cases the clock says what holds.
    if let Ok(Err(_)) = tokio::time::timeout(within, turns.changed()).await {
        tokio::time::sleep(within).await;
    }
}

pub(crate) fn leads(claims: &Claims, partition: PartitionId) -> bool {
    let end = claims.end(partition);
    // The clock after the claim: a thread that was stopped in between finds the claim expired.
    Mono::now() < end
}

pub(crate) fn claim(claims: &Claims, partition: PartitionId, promise: Promise) -> Option<Claim> {
    // The clock before the claim: whoever gives the partition back afterwards waits for `hold` from
    // an instant that is later than this.
    let now = Mono::now();
    let end = claims.end(partition);
    let until = match promise {
        Promise::None => end,
        Promise::Hold(hold) => end.min(now + hold),
    };
    (now < until).then(|| Claim { until, fence: claims.fence(partition) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;
    use tandem_facts::ids::Term;
    use tandem_facts::observation::Horizon;

    const K: PartitionId = PartitionId(0);

    fn claims(until: Mono) -> Arc<Claims> {
        let claims = Arc::new(Claims::new(NonZeroU32::MIN));
        publish(&claims, until);
        claims
    }

    fn publish(claims: &Claims, until: Mono) {
        let claim = Horizon { partition: K, term: Term(1), until };
        claims.publish([claim].into_iter(), &BTreeMap::new());
    }

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn a_promise_is_no_longer_than_the_hold_nor_than_the_claim() {
        let (now, hold) = (Mono::now(), 1_800 * SECOND);
        let claims = claims(now + 3_600 * SECOND);
        let promised = claim(&claims, K, Promise::Hold(hold)).unwrap().until;
        assert!(promised >= now + hold && promised <= Mono::now() + hold, "{promised:?}");
        assert_eq!(claim(&claims, K, Promise::None).unwrap().until, now + 3_600 * SECOND);
        publish(&claims, now + 900 * SECOND);
        let short = claim(&claims, K, Promise::Hold(hold)).unwrap().until;
        assert_eq!(short, now + 900 * SECOND);
    }

    #[test]
    fn without_a_hold_exclusive_claims_promise_nothing() {
        let claims = claims(Mono::now() + 3_600 * SECOND);
        assert!(leads(&claims, K));
        assert_eq!(claim(&claims, K, Promise::Hold(Duration::ZERO)), None);
    }

    #[test]
    fn a_claim_that_is_over_is_none_though_nobody_said_so() {
        let claims = claims(Mono::now());
        assert!(!leads(&claims, K));
        assert_eq!(claim(&claims, K, Promise::None), None);
    }

    #[tokio::test]
    async fn work_is_dropped_before_its_claim_ends_and_when_it_is_curtailed() {
        let began = Mono::now();
        let claims = claims(began + 3_600 * SECOND);
        let lead = Lead::new(Arc::clone(&claims), K, Promise::None);
        assert_eq!(lead.during(SECOND, async { 7 }).await, Ok(7));
        let curtails = async {
            publish(&claims, Mono::now() + 900 * SECOND);
            std::future::pending::<()>().await;
        };
        let stop = 900 * SECOND - Duration::from_millis(100);
        let done = lead.during(stop, curtails).await;
        let now = Mono::now();
        assert_eq!(done, Err(Deposed));
        assert!(now < claims.end(K), "the work ended after its claim");
        // Work that blocks comes to its end, and is not polled again once the claim is over.
        let mut polls = 0;
        let blocks = std::future::poll_fn(|context| {
            polls += 1;
            publish(&claims, Mono::now() + Duration::from_millis(30));
            std::thread::sleep(Duration::from_millis(40));
            context.waker().wake_by_ref();
            Poll::<()>::Pending
        });
        assert_eq!(lead.during(Duration::ZERO, blocks).await, Err(Deposed));
        assert_eq!(polls, 1);
    }

    #[test]
    fn roles_are_on_their_partitions() {
        let width = NonZeroU32::new(64).unwrap();
        assert_eq!(Placed::partition(RoleIndex(65), width), PartitionId(1));
        assert_eq!(Placed::partition(PartitionId(65), width), PartitionId(65));
    }
}
