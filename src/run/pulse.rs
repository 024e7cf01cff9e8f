//! The pulse of the loop that heals: its guard goes by that, not by a thread that lives on when the
//! loop hangs.

use std::time::Duration;

use crate::guard::Guard;

/// How often the loop shows that it runs.
const BEAT: Duration = Duration::from_millis(250);

/// Does `work`, and shows the guard all the while that the task which does it is not held up.
pub(super) async fn pulsed<W: Future>(guard: &Guard, work: W) -> W::Output {
    let mut work = Box::pin(work);
    let beat = async {
        loop {
            guard.pulse();
            tokio::time::sleep(BEAT).await;
        }
    };
    tokio::select! {
        biased;
        done = &mut work => done,
        done = beat => done,
    }
}
