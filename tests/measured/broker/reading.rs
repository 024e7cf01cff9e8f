//! A message on a partition that is read ends the wait of a member's consumer for a new one.

use std::time::Duration;

use support::measured::turn;
use support::quiet::undisturbed;
use support::reader::Reader;
use support::stalls::Watch;
use tandem::time::Mono;

/// Rounds of waits, and the stall of the host that is too much for one: a wait is up to 100 ms.
const ROUNDS: usize = 15;
const STALL: Duration = Duration::from_millis(20);

/// How long it takes to read a partition that is new, where others publish on it alone, and on one
/// that is read as well.
#[derive(Debug)]
struct Round {
    alone: Duration,
    woken: Duration,
    /// For so long the host kept a thread from running meanwhile.
    stalled: Duration,
}

impl Round {
    fn play(reader: &mut Reader, watch: &Watch) -> Self {
        let began = Mono::now();
        let mut wait = |published: &[u32]| {
            reader.hold(&[]);
            // All that was published is read; then a fetch of partition 0 waits.
            while reader.heard(Duration::from_millis(20)).is_some() {}
            reader.hold(&[1]);
            reader.wait_for(1, published)
        };
        let (alone, woken) = (wait(&[1]), wait(&[0, 1]));
        Self { alone, woken, stalled: watch.longest(began, Mono::now()) }
    }

    fn counts(&self) -> bool {
        self.stalled < STALL
    }
}

/// The broker answers the requests of a connection in order, and a fetch that finds nothing waits
/// for 100 ms: the request for the end of a new partition waits behind it. That is why a member
/// publishes on all that it reads until it hears a message on what is new.
#[test]
fn a_message_on_a_partition_that_is_read_ends_the_wait_for_a_new_one() {
    let _turn = turn();
    let mut reader = Reader::new();
    let watch = Watch::begin();
    watch.add(reader.broker.pid());
    watch.add(std::process::id());
    let play = || (0..ROUNDS).map(|_| Round::play(&mut reader, &watch)).collect::<Vec<_>>();
    let counted = |rounds: &Vec<Round>| rounds.iter().filter(|it| it.counts()).count();
    let is_disturbed = |rounds: &Vec<Round>| counted(rounds) * 3 < ROUNDS * 2;
    let Some(rounds) = undisturbed(play, is_disturbed, |rounds| format!("{rounds:?}")) else {
        return;
    };
    let median = |of: fn(&Round) -> Duration| {
        let mut all: Vec<_> = rounds.iter().filter(|it| it.counts()).map(of).collect();
        all.sort_unstable();
        all[all.len() / 2]
    };
    let (alone, woken) = (median(|it| it.alone), median(|it| it.woken));
    assert!(woken * 2 < alone, "a median of {woken:?} with messages, {alone:?} without");
}
