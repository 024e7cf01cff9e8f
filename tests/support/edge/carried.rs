//! Traffic through the edges of one cluster for so long, and what their process takes for it.

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use tandem::time::Mono;

use super::process::Edges;
use super::traffic::{Tally, kcat, rdkafka};

/// What a process touches once, it has touched by then.
const WARM_MAX: Duration = Duration::from_secs(60);

/// What was carried.
#[derive(Debug, Clone, Copy)]
pub struct Carried {
    tally: Tally,
    /// Kibibytes that the process of the edges held once it was warm, and at the end.
    resident_kib: [u64; 2],
}

impl Carried {
    /// Every message came once, in order, as it was sent.
    pub fn is_whole(&self) -> bool {
        self.tally.is_whole()
    }

    /// The memory that it took beyond what it had when it was warm, in KiB.
    pub fn grown_kib(&self) -> u64 {
        self.resident_kib[1].saturating_sub(self.resident_kib[0])
    }
}

impl fmt::Display for Carried {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Tally { sent, messages, wrong, bytes } = self.tally;
        let [first, last] = self.resident_kib;
        let mib = bytes >> 20;
        write!(
            f,
            "{messages} of {sent} messages, {wrong} wrong, {mib} MiB, edges at first {first} KiB, \
             at last {last} KiB"
        )
    }
}

/// Two producers and two consumers, of rdkafka and kcat, for so long.
pub fn carried(bootstrap: &str, lasts: Duration) -> Carried {
    let mut edges = Edges::start();
    let ways = ["rdkafka-1", "kcat-1"].map(|name| edges.open(name, bootstrap));
    let ended = AtomicBool::new(false);
    let until = || ended.load(Ordering::SeqCst);
    thread::scope(|scope| {
        let one = scope.spawn(|| rdkafka(&ways[0], "rdkafkas", &until));
        let other = scope.spawn(|| kcat(&ways[1], "kcats", &until));
        // If one of them fails, that is the end.
        let both_last = |lasts: Duration| {
            let began = Mono::now();
            while Mono::now().since(began) < lasts && !one.is_finished() && !other.is_finished() {
                thread::sleep(Duration::from_millis(100));
            }
        };
        let warm = WARM_MAX.min(lasts / 4);
        both_last(warm);
        let first = edges.resident_kib();
        both_last(lasts - warm);
        let last = edges.resident_kib();
        ended.store(true, Ordering::SeqCst);
        let tally = one.join().unwrap().and(other.join().unwrap());
        Carried { tally, resident_kib: [first, last] }
    })
}
