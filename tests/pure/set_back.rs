//! A ledger that is set back ends all claims, in every mode, and nothing else about offsets does.

use std::collections::BTreeMap;
use std::num::NonZeroU32;
use std::time::Duration;

use rand::{RngExt as _, SeedableRng as _};
use rand_chacha::ChaCha8Rng;
use tandem::ids::PartitionId;
use tandem::neli::{Assignment, Config, Heard, Membership, Neli, Pulse};
use tandem::observation::Mode;
use tandem::time::Mono;

const WIDTH: u32 = 3;
const HOLD: Duration = Duration::from_millis(50);
const MODES: [Mode; 3] = [Mode::NonExclusive, Mode::Exclusive, Mode::Fast];

/// A member that holds all partitions.
fn holder(mode: Mode) -> Neli {
    let config = Config {
        width: NonZeroU32::new(WIDTH).unwrap(),
        threshold: Duration::from_secs(1),
        hold: if mode == Mode::Exclusive { HOLD } else { Duration::ZERO },
        beacon: Duration::from_millis(100),
        mode,
        pulse: Pulse::Clock,
    };
    let mut core = Neli::new(Mono::ZERO, config);
    assign(&mut core, Mono::ZERO);
    core
}

fn assign(core: &mut Neli, now: Mono) {
    let partitions = (0..WIDTH).map(PartitionId).collect();
    let assignment = Assignment { generation: Some(1), member_id: None, partitions };
    core.handle_membership(now, &Membership::Assigned(assignment));
}

/// It hears its own message on each partition, and its group counts it in.
fn hear_all(core: &mut Neli, now: Mono) {
    core.handle_proof(now, Some(now));
    for partition in (0..WIDTH).map(PartitionId) {
        core.handle_heard(now, Heard { partition, sent: Some(now) });
    }
}

fn led(core: &Neli, now: Mono) -> usize {
    (0..WIDTH).filter(|k| core.leads(now, PartitionId(*k))).count()
}

fn ms(at: u64) -> Mono {
    Mono::ZERO + Duration::from_millis(at)
}

#[test]
fn an_offset_below_one_that_was_there_ends_all_claims() {
    for mode in MODES {
        let mut core = holder(mode);
        hear_all(&mut core, ms(10));
        assert!(!core.handle_offset(ms(10), PartitionId(1), 700));
        assert_eq!(led(&core, ms(10)), 3, "{mode:?}");
        assert!(core.handle_offset(ms(20), PartitionId(1), 699));
        assert_eq!(led(&core, ms(20) + HOLD), 0, "{mode:?}");
    }
}

/// The mistake that this is for: the topic is deleted and created again, and a member that looks at
/// no offsets leads on with the fence that it had on the former one.
#[test]
fn a_member_that_looks_at_no_offsets_leads_on() {
    for mode in MODES {
        let mut core = holder(mode);
        hear_all(&mut core, ms(10));
        assert_eq!(led(&core, ms(20) + HOLD), 3, "{mode:?}");
    }
}

/// In the exclusive mode only a new assignment, with new fences, lets it claim again.
#[test]
fn an_exclusive_member_claims_nothing_until_it_is_assigned_again() {
    let mut core = holder(Mode::Exclusive);
    hear_all(&mut core, ms(10));
    assert!(!core.handle_offset(ms(10), PartitionId(0), 5));
    assert!(core.handle_offset(ms(20), PartitionId(0), 0));
    hear_all(&mut core, ms(100));
    assert_eq!(led(&core, ms(100)), 0);
    assign(&mut core, ms(110));
    hear_all(&mut core, ms(120));
    assert_eq!(led(&core, ms(120)), 3);
}

#[test]
fn claims_end_exactly_where_an_offset_falls() {
    for seed in 0..200 {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let mode = MODES[rng.random_range(0..MODES.len())];
        let mut core = holder(mode);
        let mut seen: BTreeMap<PartitionId, i64> = BTreeMap::new();
        for step in 0..40 {
            // A member that was set back holds its partitions again by then.
            let now = ms(200 * (step + 1));
            assign(&mut core, now);
            hear_all(&mut core, now);
            assert_eq!(led(&core, now), 3, "seed {seed}, step {step}");
            let partition = PartitionId(rng.random_range(0..WIDTH));
            let offset = rng.random_range(0..20) + i64::try_from(step).unwrap();
            let falls = seen.get(&partition).is_some_and(|last| offset < *last);
            let found = core.handle_offset(now, partition, offset);
            assert_eq!(found, falls, "seed {seed}, step {step}: {offset} after {seen:?}");
            let left = if falls { 0 } else { 3 };
            assert_eq!(led(&core, now + HOLD), left, "seed {seed}, step {step} {mode:?}");
            if falls {
                seen.clear();
            }
            seen.insert(partition, offset);
        }
    }
}
