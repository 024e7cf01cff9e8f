//! The embedded broker of cluster `a` of a topology that is kept up: it dies and is started again.

use tandem::ids::ClusterName;
use tandem::live_view::{Happening, Picture};

use super::up::Follower;

/// The cluster whose broker dies.
pub fn cluster() -> ClusterName {
    "a".parse().unwrap()
}

/// Where the broker of cluster `a` listens, and its process.
pub fn broker(picture: &Picture) -> (String, u32) {
    let broker = &picture.brokers[&cluster()];
    (broker.address.clone(), broker.pid.unwrap())
}

/// Waits for the event that the broker of cluster `a` died.
pub fn await_death(follower: &mut Follower) {
    follower.await_event("its death", |event| match &event.what {
        Happening::ClusterDied { cluster: died } if *died == cluster() => Some(()),
        _ => None,
    });
}

/// Waits for the event that it was started again. Returns its address and process id.
pub fn await_start(follower: &mut Follower, before: u32) -> (String, u32) {
    let started = follower.await_event("its next life", |event| match &event.what {
        Happening::ClusterStarted { cluster: started, address, pid }
            if *started == cluster() && *pid != before =>
        {
            Some((address.clone(), *pid))
        }
        _ => None,
    });
    started.1
}
