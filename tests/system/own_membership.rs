//! Group membership of our own: on the embedded broker, beside librdkafka's members in one group,
//! and under `tandem up`.

use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroU32;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use rustix::process::Signal;
use support::alone::Alone;
use support::described::members;
use support::experiment::eventually;
use support::outside::kill_leader;
use support::up::{Up, nothing_is_left};
use tandem::ids::{GroupName, Life, PartitionId};
use tandem::kafka::{Cluster, MembershipClient};
use tandem::live_view::Level;
use tandem_member::{Config, Event, Member};

const WIDTH: u32 = 6;
const SOON: Duration = Duration::from_secs(60);
/// A host that holds members up for two seconds expels none of them.
const SESSION: Duration = Duration::from_secs(3);
/// Longer than a session. One that hands over waits as long for those who do not.
const THRESHOLD: Duration = Duration::from_millis(3_500);

/// A member in this process, and what the group has given it.
struct One {
    member: Member,
    held: Arc<Mutex<BTreeSet<PartitionId>>>,
}

impl One {
    fn join(at: &str, life: &str, group: &str, assignor: &str, by: MembershipClient) -> Self {
        let cluster = Cluster { bootstrap: at.to_owned(), ..Cluster::default() };
        let life = Life::try_from(life.to_owned()).unwrap();
        let width = NonZeroU32::new(WIDTH).unwrap();
        let (topic, group) = (group.parse().unwrap(), group.parse().unwrap());
        let config = Config {
            assignor: assignor.to_owned(),
            membership: by,
            session: SESSION,
            threshold: THRESHOLD,
            ..Config::new(life, cluster, topic, width, group)
        };
        let held = Arc::<Mutex<BTreeSet<PartitionId>>>::default();
        let seen = Arc::clone(&held);
        let on_event = move |_, event| {
            let mut seen = seen.lock().unwrap();
            match event {
                Event::Assigned(assignment) => *seen = assignment.partitions.into_iter().collect(),
                Event::Revoked(gone) | Event::Lost(gone) => seen.retain(|k| !gone.contains(k)),
                _ => {}
            }
        };
        Self { member: Member::join(&config, on_event).unwrap(), held }
    }

    fn held(&self) -> BTreeSet<PartitionId> {
        self.held.lock().unwrap().clone()
    }
}

/// Whether each partition is held by one of these and led by its holder, and all hold as many as
/// the others, or one more.
fn is_shared(all: &[&One]) -> bool {
    let mut holders: BTreeMap<PartitionId, usize> = BTreeMap::new();
    for one in all {
        for partition in one.held() {
            *holders.entry(partition).or_default() += 1;
            if !one.member.leads(partition) {
                return false;
            }
        }
    }
    let counts: Vec<usize> = all.iter().map(|one| one.held().len()).collect();
    let even = counts.iter().max().unwrap() - counts.iter().min().unwrap() <= 1;
    let once = (0..WIDTH).all(|k| holders.get(&PartitionId(k)) == Some(&1));
    even && once
}

fn await_shared(what: &str, all: &[&One]) {
    eventually(what, SOON, || is_shared(all).then_some(()));
}

/// Waits until the broker lists these alone.
fn await_members(at: &str, group: &str, wanted: &[&str]) {
    let what = format!("{wanted:?} alone in {group}");
    eventually(&what, SOON, || (members(at, group) == wanted).then_some(()));
}

/// Members of both kinds come to a group and leave it. The first to come leads it, and shares out.
fn come_and_go(at: &str, group: &str, assignor: &str, [first, second]: [MembershipClient; 2]) {
    let join = |life: &str, by| One::join(at, life, group, assignor, by);
    let one = join("m-1.1", first);
    await_shared(&format!("{group}: one"), &[&one]);
    let other = join("m-2.1", second);
    await_shared(&format!("{group}: two"), &[&one, &other]);
    let third = join("m-3.1", first);
    await_shared(&format!("{group}: three"), &[&one, &other, &third]);
    // The one that shared out goes.
    one.member.leave();
    await_shared(&format!("{group}: two are left"), &[&other, &third]);
    await_members(at, group, &["m-2.1", "m-3.1"]);
    third.member.leave();
    await_shared(&format!("{group}: one is left"), &[&other]);
    other.member.leave();
    await_members(at, group, &[]);
}

/// Each client is led by the other once. The groups share nothing but a broker.
#[test]
fn own_and_other_members_share_one_group_under_every_assignor() {
    let broker = Alone::start();
    let (own, library) = (MembershipClient::Own, MembershipClient::Library);
    std::thread::scope(|scope| {
        for assignor in ["range", "roundrobin", "cooperative-sticky"] {
            for [first, second] in [[own, library], [library, own]] {
                let group = format!("{assignor}-{first}-first");
                broker.create(&group, i32::try_from(WIDTH).unwrap());
                let at = &broker.address;
                scope.spawn(move || come_and_go(at, &group, assignor, [first, second]));
            }
        }
    });
}

#[test]
fn a_topology_with_own_membership_elects_and_outlives_its_leaders() {
    let mut up = Up::start("-f topologies/duo.yaml --set defaults.membership=own");
    let groups: Vec<GroupName> = up.await_health(Level::Led).groups.into_keys().collect();
    let mut follower = up.follow();
    assert_eq!(groups.len(), 2);
    for group in &groups {
        drop(kill_leader(&up, &mut follower, group));
        up.await_health(Level::Led);
    }
    up.signal(Signal::INT);
    assert_eq!(up.ends().code(), Some(0), "{}", up.said());
    nothing_is_left(up.state());
}
