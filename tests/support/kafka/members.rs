//! Members in the process of a test, by the identities that a secured cluster knows.

use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroU32;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tandem::ids::{Life, PartitionId};
use tandem::kafka::{Access, Cluster, MembershipClient};
use tandem::topology::Secret;
use tandem_member::{Config, Event, Member};

use crate::experiment::eventually;

/// Their topic, and its partitions.
pub const TOPIC: &str = "kafka-secure-own";
pub const WIDTH: u32 = 6;
/// Nothing takes them longer, however loaded the machine.
pub const SOON: Duration = Duration::from_secs(60);

/// A member in this process, what the group gave it, and why it did not reach its brokers.
pub struct One {
    _member: Member,
    pub seen: Arc<Mutex<Seen>>,
}

/// What such a member has reported.
#[derive(Debug, Default)]
pub struct Seen {
    held: BTreeSet<PartitionId>,
    /// What it claims.
    pub led: BTreeSet<PartitionId>,
    pub troubles: Vec<String>,
    /// Its events, except claims that go on.
    story: Vec<String>,
}

impl One {
    /// Joins the group under the name of this life, with this session.
    pub fn join(
        life: &str,
        group: &str,
        cluster: Cluster,
        membership: MembershipClient,
        session: Duration,
    ) -> Self {
        let config = Config {
            session,
            heartbeat: Duration::from_millis(200),
            threshold: session * 2,
            membership,
            ..Config::new(
                Life::try_from(life.to_owned()).unwrap(),
                cluster,
                TOPIC.parse().unwrap(),
                NonZeroU32::new(WIDTH).unwrap(),
                group.parse().unwrap(),
            )
        };
        let seen = Arc::<Mutex<Seen>>::default();
        let shared = Arc::clone(&seen);
        let on_event = move |at, event| {
            let mut seen = shared.lock().unwrap();
            if !matches!(event, Event::Renewed(_)) {
                seen.story.push(format!("{at:?} {event:?}"));
            }
            match event {
                Event::Assigned(given) => seen.held = given.partitions.into_iter().collect(),
                Event::Revoked(gone) | Event::Lost(gone) => {
                    seen.held.retain(|partition| !gone.contains(partition));
                }
                Event::Claimed { partition, .. } => drop(seen.led.insert(partition)),
                Event::Lapsed { partition, .. } => drop(seen.led.remove(&partition)),
                Event::Unconnected(why) => seen.troubles.push(why),
                _ => {}
            }
        };
        Self { _member: Member::join(&config, on_event).unwrap(), seen }
    }

    /// What its group gave it.
    pub fn held(&self) -> BTreeSet<PartitionId> {
        self.seen.lock().unwrap().held.clone()
    }

    /// The first reason for which it did not reach its brokers.
    pub fn trouble(&self) -> String {
        eventually("a member says why it is refused", SOON, || {
            self.seen.lock().unwrap().troubles.first().cloned()
        })
    }
}

/// How a member proves who it is: properties, and secrets that are in files.
pub fn access(properties: &[(&str, &str)], secrets: &[(&str, &Path)]) -> Access {
    let property = |(key, it): &(&str, &str)| ((*key).to_owned(), (*it).to_owned());
    let secret =
        |(key, file): &(&str, &Path)| ((*key).to_owned(), Secret::File(file.display().to_string()));
    Access {
        properties: properties.iter().map(property).collect::<BTreeMap<_, _>>(),
        secrets: secrets.iter().map(secret).collect(),
    }
}
