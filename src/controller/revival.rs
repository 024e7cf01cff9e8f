//! Restarts embedded brokers that die unexpectedly, at their old address and with their topics
//! created again, up to a limit.

use std::collections::VecDeque;
use std::time::Duration;

use super::embedded::Embedded;
use super::provision::remake;
use super::{BrokerError, Clusters};
use crate::guard::Guard;
use crate::time::{Mono, Span};
use crate::topology::Plan;

/// How often a broker may be started within [`WITHIN`].
const ATTEMPTS_MAX: usize = 5;
/// The period of [`ATTEMPTS_MAX`]. If a broker dies more often, the next start will not help
/// either.
const WITHIN: Span = Span::ms(60_000);
/// The wait after a failed start.
const RETRY: Duration = Duration::from_secs(1);

/// The latest attempts, the oldest first.
#[derive(Debug, Default)]
struct Attempts(VecDeque<Mono>);

impl Attempts {
    /// Takes an attempt at `now`. Returns `false` if none is left.
    fn take(&mut self, now: Mono) -> bool {
        self.0.retain(|at| now.since(*at) < WITHIN.get());
        let left = self.0.len() < ATTEMPTS_MAX;
        if left {
            self.0.push_back(now);
        }
        left
    }
}

/// Restarts a broker each time it dies unexpectedly. Returns when that happens too often, with a
/// sentence that says why and what to do.
pub(super) async fn keep_alive(
    clusters: &Clusters,
    broker: &Embedded,
    plan: &Plan,
    guard: &Guard,
) -> String {
    let mut attempts = Attempts::default();
    loop {
        broker.lost().await;
        loop {
            if !attempts.take(Mono::now()) {
                return given_up(broker);
            }
            match revive(clusters, broker, plan, guard).await {
                Ok(()) => break,
                Err(error) => {
                    let (cluster, error) = (&broker.cluster, crate::error::chain(&error));
                    tracing::warn!(%cluster, error, "The broker of a cluster is not back yet.");
                    tokio::time::sleep(RETRY).await;
                }
            }
        }
        tracing::info!(cluster = %broker.cluster, "The broker of a cluster is back.");
    }
}

/// Starts it, unless it runs already, and creates its topics.
async fn revive(
    clusters: &Clusters,
    broker: &Embedded,
    plan: &Plan,
    guard: &Guard,
) -> Result<(), BrokerError> {
    if broker.is_lost() {
        broker.start(guard).await?;
    }
    tokio::select! {
        biased;
        () = broker.lost() => Err(BrokerError::Died),
        made = remake(plan, clusters, &broker.cluster) => {
            made.map_err(|error| BrokerError::Topics(Box::new(error)))
        }
    }
}

fn given_up(broker: &Embedded) -> String {
    let (cluster, log) = (&broker.cluster, broker.log().display());
    format!(
        "the broker of cluster {cluster} cannot be kept alive: it died after each of \
         {ATTEMPTS_MAX} starts within {WITHIN}; find the cause in {log} and the system's log, and \
         start again"
    )
}

#[cfg(test)]
mod tests {
    use super::{ATTEMPTS_MAX, Attempts};
    use crate::time::Mono;

    fn at(seconds: u64) -> Mono {
        Mono(seconds * 1_000_000_000)
    }

    #[test]
    fn attempts_come_back_a_minute_later_each_by_itself() {
        let mut attempts = Attempts::default();
        for second in 0..5 {
            assert!(attempts.take(at(100 + 10 * second)), "attempt {second}");
        }
        assert!(!attempts.take(at(150)), "all {ATTEMPTS_MAX} were taken");
        assert!(!attempts.take(at(159)));
        assert!(attempts.take(at(160)), "the first was a minute ago");
        assert!(!attempts.take(at(161)), "the second was not");
        assert!(attempts.take(at(170)));
        assert!(attempts.take(at(1_000)) && attempts.0.len() == 1, "nothing old is kept");
    }
}
