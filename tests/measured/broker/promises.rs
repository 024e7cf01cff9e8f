//! How soon work ends, before its claim does, and how soon a group leaves as a whole: it does not
//! wait for itself.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use support::foreign::{Broker, eventually};
use support::measured::turn;
use support::prices::{builder, led, seen};
use support::stalls::Watch;
use tandem::ids::PartitionId;
use tandem::time::Mono;
use tandem_member::{Deposed, Event, Member};

const HOLD: Duration = Duration::from_millis(300);

#[test]
fn work_ends_before_its_claim_when_a_member_joins() {
    let _turn = turn();
    let mut runtime = tokio::runtime::Builder::new_multi_thread();
    runtime.worker_threads(2).enable_all().build().unwrap().block_on(work_ends_before_its_claim());
}

async fn work_ends_before_its_claim() {
    let (broker, watch) = (Broker::direct(), Watch::begin());
    watch.add(std::process::id());
    let exclusive = |name: &str| builder(&broker, name).exclusive(HOLD);
    let (one, two) = (exclusive("one").join().unwrap(), exclusive("two"));
    let role = one.role("a").unwrap();
    let stop = Duration::from_millis(100);
    assert_eq!(one.while_leading(role, stop, async |lead| lead.holds()).await, Ok(true));
    let worked = AtomicU64::new(0);
    let work = one.while_leading(role, stop, async |_lead| {
        loop {
            worked.store(Mono::now().0, Ordering::Relaxed);
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    });
    let mut events = one.events();
    let began = Mono::now();
    let work = async { (work.await, Mono::now()) };
    // On a thread of its own: it blocks, and the work must go on meanwhile.
    let ((done, dropped), two) = tokio::join!(work, async {
        tokio::time::sleep(Duration::from_millis(300)).await;
        tokio::task::spawn_blocking(|| two.join().unwrap()).await.unwrap()
    });
    assert_eq!(done, Err::<(), _>(Deposed));
    // A rebalance takes every partition from everybody: that claim ended, and after the work did.
    let ended = tokio::task::block_in_place(|| {
        seen("the end of the claim", &mut events, |_, event| match event {
            Event::Lapsed { partition: PartitionId(0), at, .. } => Some(at),
            _ => None,
        })
    });
    let last = Mono(worked.load(Ordering::Relaxed));
    // The work is dropped `stop` before its claim ends: a host that keeps this process from running
    // for as long makes it late.
    let stalled = watch.longest(began, Mono::now());
    let in_time = last < ended && dropped < ended;
    assert!(
        in_time || stalled >= stop,
        "worked until {last:?}, dropped at {dropped:?}, led until {ended:?}, stalled {stalled:?}"
    );
    for member in [one, two] {
        tokio::task::block_in_place(|| member.leave());
    }
}

/// Each knows that the others leave as well, however quickly these are gone.
#[test]
fn a_group_that_leaves_as_a_whole_does_not_wait_for_itself() {
    let _turn = turn();
    let broker = Broker::direct();
    let threshold = Duration::from_secs(30);
    for round in 0..20 {
        let join = |number: usize| {
            builder(&broker, &format!("m{number}")).threshold(threshold).join().unwrap()
        };
        let members: Vec<Member> = (0..3).map(join).collect();
        eventually("a leader of each partition, and roles for all", || {
            let each: Vec<usize> = members.iter().map(led).collect();
            (each.iter().sum::<usize>() == 4 && !each.contains(&0)).then_some(())
        });
        let began = Mono::now();
        std::thread::scope(|scope| {
            for member in members {
                scope.spawn(|| member.leave());
            }
        });
        let took = Mono::now().since(began);
        assert!(took < threshold / 2, "round {round}: {took:?}");
    }
}
