//! Members that speak for themselves in their group authenticate as librdkafka's do, share one
//! group with them, and say why a cluster refuses them.

use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroU32;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use support::experiment::eventually;
use tandem::ids::{Life, PartitionId};
use tandem::kafka::{Access, Cluster, MembershipClient};
use tandem::topology::Secret;
use tandem_member::{Config, Event, Member};

use super::support::Secured;

pub(super) const TOPIC: &str = "kafka-secure-own";
pub(super) const WIDTH: u32 = 6;
pub(super) const SOON: Duration = Duration::from_secs(60);

/// A member in this process, what the group gave it, and why it did not reach its brokers.
pub(super) struct One {
    _member: Member,
    pub(super) seen: Arc<Mutex<Seen>>,
}

#[derive(Debug, Default)]
pub(super) struct Seen {
    held: BTreeSet<PartitionId>,
    /// What it claims.
    pub(super) led: BTreeSet<PartitionId>,
    pub(super) troubles: Vec<String>,
    /// Its events, except claims that go on.
    story: Vec<String>,
}

impl One {
    pub(super) fn join(
        life: &str,
        group: &str,
        cluster: Cluster,
        membership: MembershipClient,
    ) -> Self {
        let config = Config {
            session: Duration::from_secs(2),
            heartbeat: Duration::from_millis(200),
            threshold: Duration::from_secs(4),
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

    pub(super) fn held(&self) -> BTreeSet<PartitionId> {
        self.seen.lock().unwrap().held.clone()
    }

    /// The first reason for which it did not reach its brokers.
    pub(super) fn trouble(&self) -> String {
        eventually("a member says why it is refused", SOON, || {
            self.seen.lock().unwrap().troubles.first().cloned()
        })
    }
}

pub(super) fn access(properties: &[(&str, &str)], secrets: &[(&str, &Path)]) -> Access {
    let property = |(key, it): &(&str, &str)| ((*key).to_owned(), (*it).to_owned());
    let secret =
        |(key, file): &(&str, &Path)| ((*key).to_owned(), Secret::File(file.display().to_string()));
    Access {
        properties: properties.iter().map(property).collect::<BTreeMap<_, _>>(),
        secrets: secrets.iter().map(secret).collect(),
    }
}

impl Secured {
    fn password(&self) -> PathBuf {
        self.file("tandem-member.password")
    }

    /// The first cluster, for a member with this password.
    fn by_password(&self, mechanism: &str, password: &Path) -> Cluster {
        let ca = self.file("ca.pem").display().to_string();
        let properties = [
            ("security.protocol", "SASL_SSL"),
            ("ssl.ca.location", &ca),
            ("sasl.mechanism", mechanism),
            ("sasl.username", "tandem-member"),
        ];
        let access = access(&properties, &[("sasl.password", password)]);
        Cluster { bootstrap: self.kafka.bootstraps[0].clone(), access }
    }

    /// The same for one with the certificate in this file.
    fn by_own_certificate(&self) -> Cluster {
        let [ca, ours] =
            ["ca.pem", "tandem-member.pem"].map(|name| self.file(name).display().to_string());
        let properties = [
            ("security.protocol", "SSL"),
            ("ssl.ca.location", ca.as_str()),
            ("ssl.certificate.location", ours.as_str()),
            ("ssl.key.location", ours.as_str()),
        ];
        Cluster { bootstrap: self.by_certificate(), access: access(&properties, &[]) }
    }

    pub(super) fn create_topic(&self) {
        let mut tool = self.admin("org.apache.kafka.tools.TopicCommand");
        tool.args(["--create", "--if-not-exists", "--topic", TOPIC]);
        let done = tool.args(["--partitions", &WIDTH.to_string()]).output().unwrap();
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stdout));
    }

    pub(super) fn delete_topic(&self) {
        let mut tool = self.admin("org.apache.kafka.tools.TopicCommand");
        let done = tool.args(["--delete", "--topic", TOPIC]).output().unwrap();
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stdout));
    }
}

#[test]
fn members_of_every_kind_of_identity_share_one_group_and_refusals_have_reasons() {
    let secured = Secured::beside(1);
    secured.create_topic();
    let password = secured.password();
    let (own, library) = (MembershipClient::Own, MembershipClient::Library);
    let all = [
        ("m-1.1", secured.by_password("SCRAM-SHA-512", &password), own),
        ("m-2.1", secured.by_password("SCRAM-SHA-512", &password), library),
        ("m-3.1", secured.by_password("PLAIN", &password), own),
        // The right to read the group is granted to the owner of the certificate, too.
        ("m-4.1", secured.by_own_certificate(), own),
    ];
    let mut joined = Vec::new();
    for (life, cluster, membership) in all {
        joined.push(One::join(life, TOPIC, cluster, membership));
        eventually(&format!("{life} has its share"), SOON, || {
            let shares: Vec<_> = joined.iter().map(One::held).collect();
            let total: usize = shares.iter().map(BTreeSet::len).sum();
            let all: BTreeSet<_> = shares.iter().flatten().collect();
            let even = shares.iter().all(|share| share.len() >= 6 / shares.len());
            (even && total == 6 && all.len() == 6).then_some(())
        });
    }
    drop(joined);

    let wrong = secured.kafka.folder.path().join("wrong");
    std::fs::write(&wrong, "wrong-password").unwrap();
    for mechanism in ["SCRAM-SHA-512", "PLAIN"] {
        let refused = One::join("m-5.1", TOPIC, secured.by_password(mechanism, &wrong), own);
        let why = refused.trouble();
        let expected = "the cluster refuses user tandem-member: the name, the password";
        assert!(why.starts_with(expected) && !why.contains("wrong-password"), "{why}");
        assert_eq!(refused.held(), BTreeSet::new());
    }
    secured.delete_topic();
    // Without a topic there is no traffic, and the group, of another name, is not this user's.
    let cluster = secured.by_password("SCRAM-SHA-512", &password);
    let stranger = One::join("m-6.1", "other", cluster, own);
    let why = stranger.trouble();
    let expected = "consumer group other refuses this member: GROUP_AUTHORIZATION_FAILED";
    assert!(why.starts_with(expected), "{why}");
}
