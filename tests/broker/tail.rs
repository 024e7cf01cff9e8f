//! A tail says when all that was there is read, also of a topic that is written to all the time.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use support::alone::Alone;
use support::experiment::eventually;
use tandem::kafka::{Cluster, Publisher, Tail, TailFrom, Tailed};

const SOON: Duration = Duration::from_secs(60);
/// How many records are there before it begins.
const PAST: usize = 200;

#[test]
fn the_past_of_a_topic_ends_although_it_is_written_to_all_the_time() {
    let broker = Alone::start();
    broker.create("busy", 2);
    let cluster = Cluster { bootstrap: broker.address.clone(), ..Cluster::default() };
    let topic = "busy".parse().unwrap();
    let publisher = Publisher::new(&cluster, "writer", &topic).unwrap();
    // Keys are spread over both partitions.
    let write = move |number: usize| publisher.publish(&number.to_string(), b"v").map(drop);
    (0..PAST).for_each(|number| write(number).unwrap());
    let stop = Arc::new(AtomicBool::new(false));
    let stopped = Arc::clone(&stop);
    let writer = std::thread::spawn(move || {
        let numbers = (PAST..).take_while(|_| !stopped.load(Ordering::SeqCst));
        numbers.map(&write).try_for_each(|wrote| wrote)
    });

    let open = || Tail::open(&cluster, &topic, TailFrom::Beginning).ok();
    let mut tail = eventually("a tail", SOON, open).unwrap();
    // How often the end is said, and how many records there are before that, and after.
    let (mut ends, mut read) = (0, [0; 2]);
    let mut look = |wanted: fn(usize, [usize; 2]) -> bool| {
        eventually("records and the end of the past", SOON, || {
            loop {
                match tail.next(Duration::ZERO).unwrap() {
                    Tailed::Record(_) => read[ends.min(1)] += 1,
                    Tailed::Caught => ends += 1,
                    Tailed::Nothing => return wanted(ends, read).then_some(read),
                }
            }
        })
    };
    let [before, _] = look(|ends, _| ends > 0);
    assert!(before >= PAST, "{before} of {PAST}");
    look(|_, [_, after]| after >= PAST);
    assert_eq!(ends, 1, "it is said once");
    stop.store(true, Ordering::SeqCst);
    writer.join().unwrap().unwrap();
    drop(tail);

    // Nothing was there before the end of a topic, and nothing in an empty one.
    broker.create("empty", 1);
    for (topic, from) in [("busy", TailFrom::End), ("empty", TailFrom::Beginning)] {
        let topic = topic.parse().unwrap();
        let open = || Tail::open(&cluster, &topic, from).ok();
        let mut tail = eventually("a tail", SOON, open).unwrap();
        let first = tail.next(Duration::ZERO).unwrap();
        assert!(matches!(first, Tailed::Caught), "{topic}: {first:?}");
    }
    drop(broker);
}
