//! The session of a group is lowered on its broker while members lead by proof: no heartbeat says
//! so, and their claims end all the same. `tests/data/consumer_member/lowered.txt` proves how soon.

use std::num::NonZeroU32;
use std::time::Duration;

use support::foreign::{Broker, eventually};
use tandem::ids::PartitionId;
use tandem::kafka::GroupProtocol;
use tandem_member::{Config, Event, Events, GroupTerms, Member, Next, set_group_terms};

const WIDTH: NonZeroU32 = NonZeroU32::new(4).unwrap();
const SESSION: Duration = Duration::from_secs(12);
/// A little less: claims would lapse so long after the last heartbeat.
const THRESHOLD: Duration = Duration::from_millis(11_800);
/// Shorter than the threshold, and far longer than a heartbeat: no stall of the host makes a member
/// lose its place.
const LOWERED: Duration = Duration::from_secs(8);

const TERMS: GroupTerms = GroupTerms {
    session: SESSION,
    heartbeat: Duration::from_millis(100),
    assignment: Duration::ZERO,
};

fn config(broker: &Broker, name: &str) -> Config {
    let builder = Member::builder(&broker.address, "prices").name(name).create_ledger(WIDTH);
    let builder = builder.session(SESSION).threshold(THRESHOLD).exclusive(Duration::ZERO);
    let config = builder.config().unwrap();
    let (heartbeat, assignor) = (TERMS.heartbeat, "uniform".to_owned());
    Config { protocol: GroupProtocol::Consumer, heartbeat, assignor, ..config }
}

fn led(members: &[Member]) -> usize {
    let of = |member: &Member| (0..WIDTH.get()).filter(|k| member.leads(PartitionId(*k))).count();
    members.iter().map(of).sum()
}

/// Claims that began, of all that has happened.
fn claimed(events: &mut Events) -> usize {
    let all = std::iter::from_fn(|| events.take());
    all.filter(|next| match next {
        Next::Event(_, event) => matches!(event, Event::Claimed { .. }),
        Next::Missed(count) => panic!("{count} events are missed"),
    })
    .count()
}

#[test]
fn claims_end_when_the_session_is_lowered_and_begin_again_when_it_is_raised() {
    let broker = Broker::direct();
    let first = config(&broker, "one");
    let set = |session| {
        let terms = GroupTerms { session, ..TERMS };
        set_group_terms(&first.cluster, &first.consumer_group, Some(terms)).unwrap();
    };
    set(SESSION);
    let join = |config: &Config| Member::join(config, |_, _| ()).unwrap();
    let members = [join(&first), join(&config(&broker, "two"))];
    eventually("an even share", || {
        let two_each = members.iter().all(|it| led(std::slice::from_ref(it)) == 2);
        two_each.then_some(())
    });

    set(LOWERED);
    eventually("no claim any more", || (led(&members) == 0).then_some(()));
    let mut events = members.each_ref().map(Member::events);
    // Each asks again after a quarter of the threshold, and leads by what it is answered.
    std::thread::sleep(THRESHOLD / 3); // clock: nothing shows that a member has asked
    assert_eq!(led(&members), 0, "a member leads by a session that is too short");
    assert_eq!(events.each_mut().map(claimed), [0, 0]);
    set(SESSION);
    eventually("all led again", || (led(&members) == 4).then_some(()));
    for member in members {
        member.leave();
    }
}
