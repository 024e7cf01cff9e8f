//! A topology that is kept up outlives its embedded brokers: one that dies is started again where
//! it was, with the topics that died with it; one that dies again and again ends it. How soon its
//! members are back: `tests/measured/revived.rs`.

use std::time::Duration;

use rustix::process::Signal;
use support::experiment::{eventually, output, signal_pid, tandem};
use support::revived::{await_death, await_start, broker, cluster};
use support::supervised::pids;
use support::up::{Up, nothing_is_left};
use tandem::ids::GroupName;
use tandem::live_view::{Level, Picture};
use tandem::observation::{Fact, Outcome, RunEvent, What};
use tandem::timeline::Timeline;

/// Nothing here takes longer, however loaded the machine.
const SOON: Duration = Duration::from_secs(60);

/// Whether some role has no leader in `p1`.
fn is_unled(picture: &Picture) -> bool {
    picture.roles.iter().any(|role| role.leaders["p1"].is_empty())
}

/// What became of the broker of cluster `a`, in order.
fn lives(facts: &[Fact]) -> Vec<String> {
    let describe = |fact: &Fact| match &fact.what {
        What::Run(RunEvent::ClusterStarted { cluster: it, address, pid }) if *it == cluster() => {
            Some(format!("{address} {pid}"))
        }
        What::Run(RunEvent::ClusterDied { cluster: it }) if *it == cluster() => {
            Some("died".to_owned())
        }
        _ => None,
    };
    facts.iter().filter_map(describe).collect()
}

#[test]
fn a_broker_that_dies_is_started_again_where_it_was() {
    let mut up = Up::start("-f topologies/duo.yaml");
    let before = up.await_health(Level::Led);
    let (address, first) = broker(&before);
    let mut follower = up.follow();
    signal_pid(first, Signal::KILL);
    await_death(&mut follower);
    let (there, second) = await_start(&mut follower, first);
    assert_eq!(there, address);
    // Members would be back before their claims are over; they are held longer, so that no member
    // leads.
    signal_pid(second, Signal::STOP);
    eventually("no leader of p1, for its broker is stopped", SOON, || {
        let picture = up.status().1?;
        let is_lost = matches!(picture.health, Level::Degraded | Level::Down);
        (is_lost && !picture.reasons.brokers.is_empty() && is_unled(&picture)).then_some(())
    });
    signal_pid(second, Signal::CONT);
    let after = eventually("all members to lead and live", SOON, || {
        up.status().1.filter(|now| now.health == Level::Led && pids(now) == pids(&before))
    });
    assert_eq!((broker(&after), after.brokers[&cluster()].deaths), ((address.clone(), second), 1));
    let page = output(tandem(up.state()).arg("status"));
    let page = String::from_utf8_lossy(&page.stdout).into_owned();
    assert!(page.contains(&format!("broker of a at {address}: alive for ")), "{page}");
    assert!(page.contains(&format!("process {second}, died once\n")), "{page}");
    up.signal(Signal::INT);
    assert_eq!(up.ends().code(), Some(0), "{}", up.said());
    let expected = [format!("{address} {first}"), "died".to_owned(), format!("{address} {second}")];
    let recording = up.recording();
    assert_eq!(lives(&recording.facts), expected);
    let stopped = |fact: &Fact| matches!(fact.what, What::Run(RunEvent::BrokerLost { .. }));
    assert!(recording.facts.iter().any(stopped), "the stop is a fact");
    let timeline = Timeline::compute(&recording.header.plan, &recording.facts);
    let found = &timeline.groups[&"p1".parse::<GroupName>().unwrap()].findings;
    // Of a member that the host holds up, it may be unknown what it did.
    assert!(!found.gaps.is_empty() || !found.unknown_gaps.is_empty(), "{found:?}");
    nothing_is_left(up.state());
}

#[test]
fn a_broker_that_is_down_with_its_only_group_comes_back_too() {
    let mut up = Up::start("-f topologies/solo.yaml");
    let (_, first) = broker(&up.await_health(Level::Led));
    let mut follower = up.follow();
    signal_pid(first, Signal::KILL);
    let (_, second) = await_start(&mut follower, first);
    signal_pid(second, Signal::STOP);
    up.await_health(Level::Down);
    // It dies while its topics are made again, and the next one gets them all the same.
    signal_pid(second, Signal::KILL);
    await_start(&mut follower, second);
    up.await_health(Level::Led);
    up.signal(Signal::INT);
    assert_eq!(up.ends().code(), Some(0), "{}", up.said());
    nothing_is_left(up.state());
}

#[test]
fn a_broker_that_dies_again_and_again_ends_it() {
    let mut up = Up::start("-f topologies/solo.yaml");
    let (_, mut pid) = broker(&up.await_health(Level::Led));
    let mut follower = up.follow();
    for _ in 0..5 {
        signal_pid(pid, Signal::KILL);
        pid = await_start(&mut follower, pid).1;
    }
    signal_pid(pid, Signal::KILL);
    assert_eq!(up.ends().code(), Some(4), "{}", up.said());
    let log = up.out.join("logs/broker-a.log");
    for part in ["the broker of cluster a cannot be kept alive", &log.display().to_string()] {
        assert!(up.said().contains(part), "{part}: {}", up.said());
    }
    let facts = up.recording().facts;
    let died = lives(&facts).iter().filter(|life| *life == "died").count();
    assert_eq!((died, lives(&facts).len()), (6, 12), "{:?}", lives(&facts));
    let ended = facts.iter().find_map(|fact| match &fact.what {
        What::Run(RunEvent::Ended { how, why }) => Some((*how, why.clone().unwrap_or_default())),
        _ => None,
    });
    let (how, why) = ended.unwrap();
    assert!(
        how == Outcome::Broken && why.contains("it died after each of 5 starts"),
        "{how:?}: {why}"
    );
    nothing_is_left(up.state());
}
