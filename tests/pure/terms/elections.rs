//! The bounds of elections over other stores, and among members.

use std::time::Duration;

use tandem::topology::Bounds;

use super::{both, ms};

/// S = 2000, h' = 200 + 10; x = 500 + 40, B = F = 40 + 2 * 10, a = 210 + 2 * 10; T = 1980.
#[test]
fn a_group_over_etcd_is_bounded_by_its_lease() {
    let text = std::fs::read_to_string("topologies/mixed-etcd.yaml").unwrap();
    let plan = tandem::topology::plan(&text, &[]).unwrap();
    let bounds = &plan.groups.get("p2").unwrap().bounds;
    assert_eq!(both(bounds.kill), [(1_790, 2_660), (0, 0)]);
    assert_eq!(both(bounds.leave), [(0, 120), (0, 0)]);
    assert_eq!(both(bounds.isolation), [(0, 2_660 + 230 - 1_980), (0, 0)]);
    assert_eq!(both(bounds.pause), [(1_790, 2_660), (0, 0)]);
    assert_eq!(both(bounds.restart), [(0, 0), (0, 0)], "a join moves nothing");
    let short = plan.with_longest_pause(Some(ms(500)));
    let pause = short.groups.get("p2").unwrap().bounds.pause;
    assert_eq!(both(pause), [(500, 560), (0, 0)]);
}

/// S = 2000, h' = 200 + 10; x = 200 + 40, B = 40 + 2 * 10, F = 2 * 10, a = 210 + 60; T = 1980.
#[test]
fn a_group_over_zookeeper_is_bounded_by_its_session_and_the_ticks_of_the_servers() {
    let text = std::fs::read_to_string("topologies/mixed-zookeeper.yaml").unwrap();
    let bounds = |text: &str| {
        tandem::topology::plan(text, &[]).unwrap().groups.get("p2").unwrap().bounds.clone()
    };
    let alone = bounds(&text);
    assert_eq!(both(alone.kill), [(1_790, 2_320), (0, 0)]);
    assert_eq!(both(alone.leave), [(0, 80), (0, 0)]);
    assert_eq!(both(alone.isolation), [(0, 2_320 + 270 - 1_980), (0, 0)]);
    assert_eq!(both(alone.pause), [(1_790, 2_320), (0, 0)]);
    assert_eq!(both(alone.restart), [(0, 0), (0, 0)], "a join moves nothing");
    // The leader hears of a session up to five and a half ticks late, half a tick in calm, and may
    // have heard of the write before the last.
    let three = text
        .replace("127.0.0.1:22181", "127.0.0.1:22181,127.0.0.1:22182,127.0.0.1:22183")
        .replace("sync_limit: 0", "sync_limit: 5")
        .replace("session: 2s", "session: 4s");
    let three = bounds(&three);
    let (longest, threshold) = (4_000 + 300 + 40 + 60 + 20, 3_960 - 1_100 - 400);
    assert_eq!(both(three.kill), [(4_000 - 410, longest), (0, 0)]);
    assert_eq!(both(three.isolation), [(0, longest + 410 + 60 - threshold), (0, 0)]);
}

/// S = 1000, h' = 100 + 10; x = 10 + 25 + 50, B = 2 * 60 + 3 * 5, F = 5; T = 990.
#[test]
fn a_group_that_elects_among_its_members_is_bounded_by_its_session() {
    let text = std::fs::read_to_string("topologies/mixed.yaml").unwrap();
    let plan = |text: &str| tandem::topology::plan(text, &[]).unwrap();
    let bounds = |text: &str| plan(text).groups.get("p2").unwrap().bounds.clone();
    let three = bounds(&text);
    assert_eq!(both(three.kill), [(890, 1_225), (0, 0)]);
    assert_eq!(both(three.leave), [(0, 140), (0, 0)]);
    assert_eq!(both(three.pause), [(890, 1_225), (0, 0)]);
    assert_eq!(both(three.restart), [(0, 0), (0, 0)], "a member that returns disturbs no leader");
    let short = plan(&text).with_longest_pause(Some(ms(500)));
    let pause = short.groups.get("p2").unwrap().bounds.pause;
    assert_eq!(both(pause), [(500, 505), (0, 0)]);
    // Of five, two may die at once, and the first in order with its leader.
    let five = text.replace("election: generation, members: 3", "election: generation, members: 5");
    assert_eq!(both(bounds(&five).kill), [(890, 1_275), (0, 0)]);
}

/// The bounds of `p2` of `mixed.yaml` under another election among its members.
fn elected_by(election: &str) -> Bounds {
    let text = std::fs::read_to_string("topologies/mixed.yaml").unwrap();
    let text = text.replace("election: generation", &format!("election: {election}"));
    tandem::topology::plan(&text, &[]).unwrap().groups.get("p2").unwrap().bounds.clone()
}

/// S = 1000, h' = 100 + 10; x = 10 + 25, B = 50 + 5 + 2 * 60, F = 5; a = 115, T = 990.
#[test]
fn a_lease_of_a_majority_is_bounded_by_its_votes() {
    let bounds = elected_by("quorum-lease");
    assert_eq!(both(bounds.kill), [(890, 1_215), (0, 0)]);
    assert_eq!(both(bounds.leave), [(0, 180), (0, 0)]);
    assert_eq!(both(bounds.pause), [(890, 1_215), (0, 0)]);
    assert_eq!(both(bounds.isolation), [(0, 1_215 + 115 - 990), (0, 0)]);
}

/// x = 10 + 5, B = 0, F = 2 * 10 + 5; T = 990. It needs no vote and no answer. Of five, two may die
/// at once, and the last ping of the greater is at most a heartbeat younger: B = 100 + 10 + 5.
#[test]
fn allcall_is_bounded_by_lease_and_skew_and_leads_on_both_sides_of_a_cut() {
    let bounds = elected_by("allcall");
    assert_eq!(both(bounds.kill), [(890, 1_040), (0, 115)]);
    assert_eq!(both(bounds.leave), [(0, 25), (0, 115)]);
    assert_eq!(both(bounds.pause), [(890, 1_040), (0, 115)]);
    assert_eq!(bounds.isolation.gap.high.get(), Duration::ZERO);
    assert_eq!(bounds.isolation.overlap.high.get(), tandem::topology::UNLIMITED);
    let text = std::fs::read_to_string("topologies/mixed.yaml").unwrap();
    let five = text.replace("election: generation, members: 3", "election: allcall, members: 5");
    let five = tandem::topology::plan(&five, &[]).unwrap();
    let kill = five.groups.get("p2").unwrap().bounds.kill;
    assert_eq!(both(kill)[0], (890, 1_155));
}

/// x = 10 + 10, B = 100 + 10 + 10, F = 2 * 10 + 10: NATS does not know how many members there are.
#[test]
fn allcall_over_nats_is_bounded_for_any_number_of_members() {
    let text = std::fs::read_to_string("topologies/mixed-nats.yaml").unwrap();
    let plan = tandem::topology::plan(&text, &[]).unwrap();
    let bounds = &plan.groups.get("p2").unwrap().bounds;
    assert_eq!(both(bounds.kill), [(890, 1_170), (0, 120)]);
    assert_eq!(both(bounds.leave), [(0, 150), (0, 120)]);
    assert_eq!(both(bounds.pause), [(890, 1_170), (0, 120)]);
    assert_eq!(bounds.isolation.gap.high.get(), Duration::ZERO);
    assert_eq!(bounds.isolation.overlap.high.get(), tandem::topology::UNLIMITED);
    let warned = plan.warnings.iter().filter(|warning| warning.contains("no fence"));
    assert_eq!(warned.count(), 1, "{:?}", plan.warnings);
}

/// x = 10 + 3 * 5 / 2, B = 50 + 10 + 3 * 5, F = 15. One that comes back takes nothing.
#[test]
fn a_ring_is_bounded_by_its_hops() {
    let bounds = elected_by("ring");
    assert_eq!(both(bounds.kill), [(890, 1_107), (0, 0)]);
    assert_eq!(both(bounds.leave), [(0, 90), (0, 0)]);
    assert_eq!(both(bounds.pause), [(890, 1_107), (0, 110)]);
    assert_eq!(both(bounds.restart), [(0, 0), (0, 0)]);
    assert_eq!(bounds.isolation.gap.high.get(), Duration::ZERO);
    assert_eq!(bounds.isolation.overlap.high.get(), tandem::topology::UNLIMITED);
}

/// x = 10 + 5, B = 10 + 5 + 2 * 60, F = 5; a = 115, T = 1000. A leader that is cut off stops when
/// its session is over, and the others have elected one at the earliest h' before.
#[test]
fn a_quorum_that_acknowledges_bounds_how_long_two_lead() {
    let bounds = elected_by("zab");
    assert_eq!(both(bounds.kill), [(890, 1_155), (0, 0)]);
    assert_eq!(both(bounds.leave), [(0, 140), (0, 0)]);
    assert_eq!(both(bounds.pause), [(890, 1_155), (0, 110)]);
    assert_eq!(both(bounds.isolation), [(0, 1_155 + 115 - 1_000), (0, 110)]);
}

/// x = 10, B = 100 + 10 + 5, F = 15: without a disk. A leader that is cut off leads on.
#[test]
fn the_bully_leads_on_both_sides_of_a_cut() {
    let bounds = elected_by("bully");
    assert_eq!(both(bounds.kill), [(890, 1_140), (0, 115)]);
    assert_eq!(both(bounds.leave), [(0, 130), (0, 115)]);
    assert_eq!(both(bounds.pause), [(890, 1_140), (0, 115)]);
    assert_eq!(bounds.isolation.gap.high.get(), Duration::ZERO);
    assert_eq!(bounds.isolation.overlap.high.get(), tandem::topology::UNLIMITED);
}
