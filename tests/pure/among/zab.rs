//! ZooKeeper's own round. Its words have an epoch: `new-leader`, `ack`, `commit sent=MS`,
//! `heard sent=MS`, `refused`, which may name a leader, as in `refused:2`, `watch`, `alive`, which
//! may vouch for the leader, as in `alive:led`, and `left`.

use tandem::neli::elections::among::Peer;
use tandem::neli::elections::zab::{Instance, Kind};
use tandem::time::Mono;

use super::{Spoken, shown::show};

impl Spoken for Instance {
    const FOLDER: &'static str = "zab";
    const NUMBER: Option<(&'static str, &'static str)> = Some(("epoch", "epoch "));

    fn word(word: &str, sent: impl Fn() -> Mono) -> Option<Kind> {
        Some(match word {
            "new-leader" => Kind::NewLeader,
            "ack" => Kind::Ack,
            "commit" => Kind::Commit(sent()),
            "heard" => Kind::Heard(sent()),
            "refused" => Kind::Refused(None),
            "watch" => Kind::Watch,
            "alive" => Kind::Alive(false),
            "alive:led" => Kind::Alive(true),
            "left" => Kind::Left,
            word => {
                let leader = word.strip_prefix("refused:")?.parse().ok()?;
                Kind::Refused(Some(Peer(leader)))
            }
        })
    }

    fn shown(word: Kind) -> String {
        match word {
            Kind::NewLeader => "new-leader".to_owned(),
            Kind::Ack => "ack".to_owned(),
            Kind::Commit(at) => format!("commit sent {}", show(at)),
            Kind::Heard(at) => format!("heard sent {}", show(at)),
            Kind::Refused(None) => "refused".to_owned(),
            Kind::Refused(Some(Peer(leader))) => format!("refused:{leader}"),
            Kind::Watch => "watch".to_owned(),
            Kind::Alive(false) => "alive".to_owned(),
            Kind::Alive(true) => "alive:led".to_owned(),
            Kind::Left => "left".to_owned(),
        }
    }

    fn is_leaders(word: Kind) -> bool {
        matches!(word, Kind::Commit(_))
    }

    fn ends_claims(word: Kind) -> bool {
        matches!(word, Kind::Commit(_) | Kind::Refused(_))
    }
}

#[test]
fn transcripts() {
    super::transcripts::<Instance>();
}

#[test]
fn one_leads_in_the_end_and_never_two_in_one_epoch() {
    super::world::holds::<Instance>();
}

#[test]
fn two_lead_for_a_moment_while_the_watcher_alone_does_not_hear_the_leader() {
    super::world::shows_two_leaders::<Instance>();
}

/// So an epoch is no fence.
#[test]
fn a_claim_may_begin_in_an_epoch_below_that_of_another_leader() {
    super::world::shows_a_lower_number::<Instance>();
}

#[test]
fn acknowledgements_that_are_not_on_the_disk_make_two_leaders_in_one_epoch() {
    super::world::finds_two_of_one_number::<Instance>();
}

#[test]
fn members_that_are_deaf_to_leaders_do_not_settle() {
    super::world::finds_deafness::<Instance>();
}
