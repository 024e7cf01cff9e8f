//! Members of several versions in one group: those that work together take each other's place, and
//! one that does not work with those that are there is refused, with both versions.

use std::num::NonZeroU32;
use std::time::Duration;

use support::foreign::{Broker, eventually};
use tandem::ids::PartitionId;
use tandem::kafka::Publisher;
use tandem::time::Mono;
use tandem_member::{Builder, Config, Event, JoinError, Member, Misfit, Next, Versions};

const WIDTH: NonZeroU32 = NonZeroU32::MIN.saturating_add(3);
const HOLD: Duration = Duration::from_millis(200);
/// No stall of the host ends it.
const SESSION: Duration = Duration::from_secs(10);
/// What was there for longer than this stays.
const THRESHOLD: Duration = Duration::from_millis(800);
/// The next version, which still works with this one.
const NEXT: Versions =
    Versions { speaks: Versions::OURS.speaks + 1, oldest: Versions::OURS.oldest };
/// One after that, which does not.
const LATER: Versions = Versions { speaks: NEXT.speaks + 1, oldest: NEXT.speaks };

fn builder(broker: &Broker, name: &str, versions: Versions) -> Builder {
    let builder = Member::builder(&broker.address, "upgraded").name(name).versions(versions);
    builder.create_ledger(WIDTH).roles(["a", "b", "c", "d"])
}

/// Joins without asking the ledger first, as one that starts together with the others does. It
/// proves its membership more often than its session asks for.
fn join_unasked(builder: &Builder) -> Member {
    let config = builder.config().unwrap();
    let (heartbeat, wake) = (Duration::from_millis(100), Duration::from_millis(50));
    Member::join(&Config { heartbeat, wake, ..config }, |_, _| {}).unwrap()
}

fn led(member: &Member) -> usize {
    (0..WIDTH.get()).filter(|k| member.leads(PartitionId(*k))).count()
}

/// How many partitions have a leader. One that moves from a member that is looked at late to one
/// that was looked at before is led all the time, and seen by another look.
fn led_by_any(members: &[Member]) -> usize {
    let is_led = |k: PartitionId| members.iter().any(|member| member.leads(k));
    (0..WIDTH.get()).map(PartitionId).filter(|k| is_led(*k) || is_led(*k)).count()
}

#[test]
fn members_of_the_next_version_take_over_one_after_the_other() {
    let broker = Broker::direct();
    let join =
        |name: &str, versions| builder(&broker, name, versions).session(SESSION).join().unwrap();
    let old = ["one", "two"].map(|name| join(name, Versions::OURS));
    eventually("an even share", || old.iter().all(|one| led(one) == 2).then_some(()));
    let mut all = Vec::from(old);
    for name in ["three", "four"] {
        all.push(join(name, NEXT));
        let share = || all.iter().all(|one| led(one) > 0).then_some(());
        eventually("a share for each of both versions", share);
        all.remove(0).leave();
        let led = led_by_any(&all);
        assert_eq!(led, 4, "a partition was left without a leader: {led} of 4 are led");
    }
    eventually("all roles at the new ones", || {
        (all.iter().map(led).sum::<usize>() == 4).then_some(())
    });
    for member in all {
        member.leave();
    }
}

#[test]
fn one_that_does_not_work_with_those_that_are_there_does_not_join() {
    let broker = Broker::direct();
    let one = builder(&broker, "one", Versions::OURS).join().unwrap();
    eventually("all roles", || (led(&one) == 4).then_some(()));
    // Brokers that do not answer in time let it in, and it leaves again.
    let refused =
        eventually("the refusal", || builder(&broker, "two", LATER).join().map(drop).err());
    let JoinError::Misfit(misfit) = &refused else { panic!("{refused}") };
    assert_eq!(*misfit, Misfit::Versions { ours: LATER, theirs: Versions::OURS });
    let text = refused.to_string();
    for named in ["speaks version 3 of the protocol", "version 1 of the protocol"] {
        assert!(text.contains(named), "{named}: {text}");
    }
    eventually("all roles as before", || (led(&one) == 4).then_some(()));
    one.leave();
    // Whoever left says nothing more; after a threshold, the later version may begin.
    eventually("the way to be free", || builder(&broker, "two", LATER).join().ok()).leave();
}

/// In the exclusive mode: what was there before it for longer stays.
fn meets(there: Versions, comes: Versions) {
    let broker = Broker::direct();
    let exclusive = |name, versions, times: u32| {
        let builder = builder(&broker, name, versions).exclusive(HOLD);
        builder.session(times * SESSION).threshold(times * THRESHOLD)
    };
    let stays = join_unasked(&exclusive("stays", there, 1));
    let began = Mono::now(); // clock: what this is about
    eventually("all roles", || {
        let settled = Mono::now().since(began) > 2 * THRESHOLD; // clock: what this is about
        (settled && led(&stays) == 4).then_some(())
    });
    // Settled later than any host lets it hear of the other one.
    let goes = join_unasked(&exclusive("goes", comes, 60));
    let mut events = goes.events();
    let misfit = eventually("the refusal", || match events.take()? {
        Next::Event(_, Event::Refused(misfit)) => Some(misfit),
        Next::Event(..) | Next::Missed(_) => None,
    });
    assert_eq!(misfit, Misfit::Versions { ours: comes, theirs: there });
    eventually("its leave", || matches!(events.take()?, Next::Event(_, Event::Left)).then_some(()));
    eventually("all roles at the one that stays", || (led(&stays) == 4).then_some(()));
    assert_eq!(led(&goes), 0);
    stays.leave();
}

#[test]
fn a_newcomer_that_learns_it_late_leaves_whichever_version_is_older() {
    meets(Versions::OURS, LATER);
    meets(LATER, Versions::OURS);
}

#[test]
fn what_names_no_version_is_heard() {
    let broker = Broker::direct();
    let builder = builder(&broker, "one", LATER);
    let config = builder.config().unwrap();
    // As a member of before: a record without the header.
    let publisher = Publisher::new(&config.cluster, "before", &config.topic).unwrap();
    for _ in 0..20 {
        publisher.publish("", b"").unwrap();
    }
    let one = builder.join().unwrap();
    eventually("all roles", || (led(&one) == 4).then_some(()));
    one.leave();
}
