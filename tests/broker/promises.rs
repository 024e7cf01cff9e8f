//! What a program may rely on: promises that no rebalance breaks, work that ends before its claim,
//! and roles that move while a program is ill.

use std::num::NonZeroU32;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use support::foreign::{Broker, eventually};
use support::stalls::Watch;
use tandem::ids::{PartitionId, RoleIndex};
use tandem::time::Mono;
use tandem_member::{Builder, Deposed, Event, Events, JoinError, Member, Next};

const WIDTH: NonZeroU32 = NonZeroU32::MIN.saturating_add(3);
const HOLD: Duration = Duration::from_millis(300);

fn builder(broker: &Broker, name: &str) -> Builder {
    let builder = Member::builder(&broker.address, "prices").name(name);
    builder.create_ledger(WIDTH).roles(["a", "b", "c", "d", "e"])
}

fn led(member: &Member) -> usize {
    (0..WIDTH.get()).filter(|k| member.leads(PartitionId(*k))).count()
}

/// Waits for an event that `wanted` likes.
fn seen<T>(what: &str, events: &mut Events, mut wanted: impl FnMut(Mono, Event) -> Option<T>) -> T {
    eventually(what, || {
        let next = std::iter::from_fn(|| events.take());
        next.map(|next| match next {
            Next::Event(at, event) => (at, event),
            Next::Missed(count) => panic!("{count} events are missed"),
        })
        .find_map(|(at, event)| wanted(at, event))
    })
}

#[test]
fn roles_are_led_on_their_partitions_and_their_names_are_known() {
    let broker = Broker::direct();
    let member = builder(&broker, "one").join().unwrap();
    eventually("all roles", || (led(&member) == 4).then_some(()));
    // Five roles on four partitions: the fifth shares the first partition.
    assert_eq!(member.role("e"), Some(RoleIndex(4)));
    assert_eq!(member.role("f"), None);
    let claim = member.claim(RoleIndex(4)).unwrap();
    assert!(claim.fence.is_none(), "only exclusive groups keep fences");
    let left = claim.remaining(Mono::now());
    assert!(left > Duration::ZERO && left <= Duration::from_secs(3), "{left:?}");
    member.leave();
}

#[test]
fn a_member_without_a_ledger_says_so() {
    let broker = Broker::direct();
    let refused = Member::builder(&broker.address, "nowhere").join().map(drop);
    let Err(JoinError::NoLedger { topic, .. }) = refused else { panic!("{refused:?}") };
    assert_eq!(topic.as_str(), "nowhere");
}

#[test]
fn an_ill_member_hands_its_roles_over_and_leads_again_when_it_is_well() {
    let broker = Broker::direct();
    // Long, so that also a host that is busy tells a leave from the end of a session.
    let session = Duration::from_secs(15);
    let join = |name| builder(&broker, name).session(session).join().unwrap();
    let (one, two) = ["one", "two"].map(join).into();
    eventually("an even share", || (led(&one) == 2 && led(&two) == 2).then_some(()));
    let mut events = one.events();
    one.health(false);
    let ill = Mono::now();
    let left = seen("the leave", &mut events, |at, event| (event == Event::Left).then_some(at));
    assert_eq!(led(&one), 0, "a member that has left leads");
    eventually("all roles at the other", || (led(&two) == 4).then_some(()));
    // The other does not wait for the session: the group knows.
    let took = [left, Mono::now()].map(|at| at.since(ill));
    assert!(took[1] < session / 2, "{took:?}");
    assert!(!one.is_well());
    // The latest word counts.
    for well in [true, false, true] {
        one.health(well);
    }
    let claimed = |_, event| matches!(event, Event::Claimed { .. }).then_some(());
    seen("a claim of its next life", &mut events, claimed);
    eventually("an even share again", || (led(&one) == 2 && led(&two) == 2).then_some(()));
    for member in [one, two] {
        member.leave();
    }
}

/// Stops a thread, also when the test fails.
struct Stops<'a>(&'a AtomicBool);

impl Drop for Stops<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

#[test]
fn no_rebalance_breaks_a_promise() {
    let broker = Broker::direct();
    let exclusive = |name: &str| builder(&broker, name).exclusive(HOLD).join().unwrap();
    let one = exclusive("one");
    eventually("all roles", || (led(&one) == 4).then_some(()));
    let mut fence = one.claim(PartitionId(0)).unwrap().fence.unwrap();
    for round in 0..3 {
        let stop = AtomicBool::new(false);
        // The second member gets some of the partitions: the promises on each are kept apart.
        let promised: Vec<AtomicU64> = (0..WIDTH.get()).map(|_| AtomicU64::new(0)).collect();
        std::thread::scope(|scope| {
            let stops = Stops(&stop);
            scope.spawn(|| {
                while !stop.load(Ordering::Relaxed) {
                    for (k, most) in (0..).map(PartitionId).zip(&promised) {
                        if let Some(claim) = one.claim(k) {
                            most.fetch_max(claim.until.0, Ordering::Relaxed);
                        }
                    }
                    std::thread::sleep(Duration::from_micros(200));
                }
            });
            let two = exclusive(&format!("two-{round}"));
            let mut events = two.events();
            let first = seen("a claim of the second", &mut events, |_, event| match event {
                Event::Claimed { partition, from, .. } => Some((partition, from)),
                _ => None,
            });
            let (partition, from) = first;
            let until = Mono(promised[partition.index()].load(Ordering::Relaxed));
            assert!(until > Mono::ZERO, "nothing was promised on {partition}");
            assert!(until <= from, "promised until {until:?}, led by another from {from:?}");
            drop(stops);
            two.leave();
        });
        let again = eventually("all roles again", || {
            (led(&one) == 4).then(|| one.claim(PartitionId(0))?.fence)?
        });
        assert!(again > fence, "fences rise: {again} after {fence}");
        fence = again;
    }
    one.leave();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn work_ends_before_its_claim_when_a_member_joins() {
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
