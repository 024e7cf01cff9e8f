//! Rendezvous hashing: every member computes alike who takes an orphaned partition. If one of the
//! candidates goes, only what it would have taken moves.

use super::Process;
use tandem_facts::ids::PartitionId;

/// The candidate with the greatest weight for `partition`.
pub(super) fn winner<'a>(
    partition: PartitionId,
    candidates: impl Iterator<Item = &'a Process>,
) -> Option<&'a Process> {
    candidates.max_by_key(|life| (weight(life, partition), *life))
}

/// FNV-1a over the life as text, the process and the partition, and the finalizer of MurmurHash3,
/// since FNV mixes its last bytes little. All versions must compute the same.
fn weight(life: &Process, partition: PartitionId) -> u64 {
    let text = life.to_string();
    let numbers = life.number.to_be_bytes().into_iter().chain(partition.0.to_be_bytes());
    let bytes = text.bytes().chain([0]).chain(numbers);
    let fnv = bytes.fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    let mixed = (fnv ^ (fnv >> 33)).wrapping_mul(0xff51_afd7_ed55_8ccd);
    let mixed = (mixed ^ (mixed >> 33)).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    mixed ^ (mixed >> 33)
}

#[cfg(test)]
mod tests {
    use super::*;
    use tandem_facts::ids::Life;

    fn process(life: &str, number: u64) -> Process {
        Process { life: Life::try_from(life.to_owned()).unwrap(), number }
    }

    fn lives(count: u32) -> Vec<Process> {
        (1..=count).map(|n| process(&format!("p1-{n}.1"), u64::from(n))).collect()
    }

    #[test]
    fn partitions_spread_and_only_those_of_one_that_goes_move() {
        let lives = lives(5);
        let mut taken = [0_u32; 5];
        for k in (0..1_000).map(PartitionId) {
            let first = winner(k, lives.iter()).unwrap();
            let at = lives.iter().position(|life| life == first).unwrap();
            taken[at] += 1;
            let rest = lives.iter().filter(|life| **life != lives[4]);
            let second = winner(k, rest).unwrap();
            assert!(first == second || *first == lives[4], "{k} moved without need");
        }
        assert!(taken.iter().all(|taken| (150..=250).contains(taken)), "{taken:?}");
    }

    #[test]
    fn the_weights_never_change() {
        let life = process("p1-1.1", 7);
        let weights = [0, 1].map(|k| weight(&life, PartitionId(k)));
        assert_eq!(
            weights,
            [0x39f7_4791_9dc9_2523, 0xc6fc_1625_f92b_4b8c],
            "members of two versions must agree"
        );
    }
}
