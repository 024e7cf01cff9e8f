//! What a program may rely on: promises that no rebalance breaks, work that ends with its claim,
//! and roles that move while a program is ill. How soon work ends, and a group leaves, is measured
//! in `tests/measured/broker/promises.rs`.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use support::foreign::{Broker, eventually};
use support::prices::{WIDTH, builder, led, seen};
use tandem::ids::{PartitionId, RoleIndex};
use tandem::time::Mono;
use tandem_member::{Builder, Config, Deposed, Event, JoinError, Member};
use tokio::sync::Notify;

const HOLD: Duration = Duration::from_millis(300);
/// No stall of the host ends it.
const SESSION: Duration = Duration::from_secs(10);
/// Longer than anything is waited for: what would wait for its end fails.
const ENDLESS: Duration = Duration::from_secs(1_200);

/// Joins with this session, and the heartbeat of a short one.
fn joined(builder: Builder, session: Duration) -> Member {
    let config = builder.session(session).config().unwrap();
    let (heartbeat, wake) = (Duration::from_millis(100), Duration::from_millis(50));
    Member::join(&Config { heartbeat, wake, ..config }, |_, _| ()).unwrap()
}

#[test]
fn roles_are_led_on_their_partitions_and_their_names_are_known() {
    let broker = Broker::direct();
    let member = builder(&broker, "one").session(SESSION).join().unwrap();
    eventually("all roles", || (led(&member) == 4).then_some(()));
    // Five roles on four partitions: the fifth shares the first partition.
    assert_eq!(member.role("e"), Some(RoleIndex(4)));
    assert_eq!(member.role("f"), None);
    let claim = member.claim(RoleIndex(4)).unwrap();
    assert!(claim.fence.is_none(), "only exclusive groups keep fences");
    let left = claim.remaining(Mono::now());
    assert!(left > Duration::ZERO && left <= 3 * SESSION, "{left:?}");
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
    let join = |name| joined(builder(&broker, name), ENDLESS);
    let (one, two) = ["one", "two"].map(join).into();
    eventually("an even share", || (led(&one) == 2 && led(&two) == 2).then_some(()));
    let mut events = one.events();
    one.health(false);
    seen("the leave", &mut events, |_, event| (event == Event::Left).then_some(()));
    assert_eq!(led(&one), 0, "a member that has left leads");
    // The group knows: the other does not wait for the session.
    eventually("all roles at the other", || (led(&two) == 4).then_some(()));
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
    let exclusive = |name: &str| joined(builder(&broker, name).exclusive(HOLD), SESSION);
    let one = exclusive("one");
    let fence_of_all = || (led(&one) == 4).then(|| one.claim(PartitionId(0))?.fence)?;
    let mut fence = eventually("all roles", fence_of_all);
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
            let most = || promised.iter().map(|most| most.load(Ordering::Relaxed));
            eventually("a promise on each", || (!most().any(|until| until == 0)).then_some(()));
            let two = exclusive(&format!("two-{round}"));
            let mut events = two.events();
            let first = seen("a claim of the second", &mut events, |_, event| match event {
                Event::Claimed { partition, from, .. } => Some((partition, from)),
                _ => None,
            });
            let (partition, from) = first;
            let until = Mono(promised[partition.index()].load(Ordering::Relaxed));
            assert!(until <= from, "promised until {until:?}, led by another from {from:?}");
            drop(stops);
            two.leave();
        });
        let again = eventually("all roles again", fence_of_all);
        assert!(again > fence, "fences rise: {again} after {fence}");
        fence = again;
    }
    one.leave();
}

/// With a session of which no stall of the host takes so much that a claim ends.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn work_ends_with_its_claim_when_a_member_joins() {
    let broker = Broker::direct();
    let exclusive = |name: &str| builder(&broker, name).session(SESSION).exclusive(HOLD);
    let (one, two) = (exclusive("one").join().unwrap(), exclusive("two"));
    let role = one.role("a").unwrap();
    let stop = Duration::from_millis(100);
    let begins = Notify::new();
    let work = one.while_leading(role, stop, async |_lead| {
        begins.notify_one();
        std::future::pending::<()>().await;
    });
    let mut events = one.events();
    // On a thread of its own: it blocks, and the work must go on meanwhile.
    let (done, two) = tokio::join!(work, async {
        begins.notified().await;
        tokio::task::spawn_blocking(|| two.join().unwrap()).await.unwrap()
    });
    assert_eq!(done, Err(Deposed));
    // A rebalance takes every partition from everybody: that claim ends as well.
    let ended =
        |_, event| matches!(event, Event::Lapsed { partition: PartitionId(0), .. }).then_some(());
    tokio::task::block_in_place(|| seen("the end of the claim", &mut events, ended));
    for member in [one, two] {
        tokio::task::block_in_place(|| member.leave());
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn work_that_is_done_keeps_its_claim() {
    let broker = Broker::direct();
    let one = builder(&broker, "one").session(SESSION).exclusive(HOLD).join().unwrap();
    let role = one.role("a").unwrap();
    let stop = Duration::from_millis(100);
    assert_eq!(one.while_leading(role, stop, async |lead| lead.holds()).await, Ok(true));
    tokio::task::block_in_place(|| one.leave());
}

/// Each knows that the others leave as well, however quickly these are gone: else they would wait
/// for the end of their claims.
#[test]
fn a_group_that_leaves_as_a_whole_does_not_wait_for_itself() {
    let broker = Broker::direct();
    for _ in 0..3 {
        let name = |number: usize| format!("m{number}");
        let builder = |number| builder(&broker, &name(number)).threshold(ENDLESS);
        let members: Vec<_> = (0..3).map(|number| joined(builder(number), SESSION)).collect();
        eventually("a leader of each partition, and roles for all", || {
            let each: Vec<usize> = members.iter().map(led).collect();
            (each.iter().sum::<usize>() == 4 && !each.contains(&0)).then_some(())
        });
        let leave = |member: Member| std::thread::spawn(|| member.leave());
        let left: Vec<_> = members.into_iter().map(leave).collect();
        eventually("the end of all", || left.iter().all(JoinHandle::is_finished).then_some(()));
        left.into_iter().for_each(|one| one.join().unwrap());
    }
}
