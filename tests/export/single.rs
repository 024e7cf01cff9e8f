//! Topologies that are kept up with one member a group: no other takes over from one that is
//! killed, so its death leaves a gap on any host.

use rustix::process::Signal;
use tandem::ids::{GroupName, Life};
use tandem::live_view::{Happening, Level};

use support::experiment::signal_pid;
use support::up::{Follower, Up};

/// The session of `p2` is so long that no host makes it expire.
pub(crate) const SINGLE: &str = "-f topologies/duo.yaml --set groups.p1.members=1 \
    --set groups.p2.members=1 --set groups.p2.session=30s";

/// Kills the only member of a group, and waits until that is reported.
pub(crate) fn kill_member(up: &Up, follower: &mut Follower, group: &GroupName) -> Life {
    let picture = up.await_health(Level::Led);
    let (member, seat) = picture.groups[group].members.iter().next().unwrap();
    let life = Life { member: member.clone(), incarnation: seat.incarnation };
    signal_pid(seat.pid.unwrap(), Signal::KILL);
    let wanted = life.clone();
    follower.await_event("the death", move |event| match &event.what {
        Happening::Died { life, signal: Some(9), .. } if *life == wanted => Some(()),
        _ => None,
    });
    life
}

/// Waits until a gap of this group is over, and reported.
pub(crate) fn await_gap(follower: &mut Follower, group: &GroupName) {
    follower.await_event("its gap", |event| match &event.what {
        Happening::Gap(gap) if gap.group.as_ref() == Some(group) => Some(()),
        _ => None,
    });
}
