//! Members that speak for themselves in their group authenticate as librdkafka's do, share one
//! group with them, and say why a cluster refuses them.

use std::collections::BTreeSet;
use std::time::Duration;

use support::experiment::eventually;
use support::kafka::members::{One, SOON, TOPIC};
use support::kafka::secured::Secured;
use tandem::kafka::{Cluster, MembershipClient};

/// No stall of the host ends it.
const SESSION: Duration = Duration::from_secs(10);

fn join(life: &str, group: &str, cluster: Cluster, membership: MembershipClient) -> One {
    One::join(life, group, cluster, membership, SESSION)
}

#[test]
fn members_of_every_kind_of_identity_share_one_group_and_refusals_have_reasons() {
    let secured = Secured::sole();
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
        joined.push(join(life, TOPIC, cluster, membership));
        eventually(&format!("{life} has its share"), SOON, || {
            let shares: Vec<_> = joined.iter().map(One::held).collect();
            let total: usize = shares.iter().map(BTreeSet::len).sum();
            let all: BTreeSet<_> = shares.iter().flatten().collect();
            let even = shares.iter().all(|share| share.len() >= 6 / shares.len());
            (even && total == 6 && all.len() == 6).then_some(())
        });
    }
    drop(joined);

    let wrong = secured.folder.path().join("wrong");
    std::fs::write(&wrong, "wrong-password").unwrap();
    for mechanism in ["SCRAM-SHA-512", "PLAIN"] {
        let refused = join("m-5.1", TOPIC, secured.by_password(mechanism, &wrong), own);
        let why = refused.trouble();
        let expected = "the cluster refuses user tandem-member: the name, the password";
        assert!(why.starts_with(expected) && !why.contains("wrong-password"), "{why}");
        assert_eq!(refused.held(), BTreeSet::new());
    }
    secured.delete_topic();
    // Without a topic there is no traffic, and the group, of another name, is not this user's.
    let cluster = secured.by_password("SCRAM-SHA-512", &password);
    let stranger = join("m-6.1", "other", cluster, own);
    let why = stranger.trouble();
    let expected = "consumer group other refuses this member: GROUP_AUTHORIZATION_FAILED";
    assert!(why.starts_with(expected), "{why}");
}
