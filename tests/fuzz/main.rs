//! The fuzz targets on seeds: the same bytes each time, on any machine. `tests/fuzz/Cargo.toml`
//! says how libFuzzer runs them for longer, with coverage as its guide.

mod targets;

use rand::{Rng, RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use support::{naming_answers, samples};
use tandem::wire::{SUPPORTED, number};

/// A few seconds each, unoptimised.
const ROUNDS: u64 = 20_000;

#[test]
fn requests() {
    let valid: Vec<Vec<u8>> = SUPPORTED
        .iter()
        .flat_map(|api| (api.min..=api.max).map(|v| samples::written(api.key, v).1.to_vec()))
        .collect();
    for seed in 0..ROUNDS {
        let chance = &mut ChaCha8Rng::seed_from_u64(seed);
        let pick = chance.random_range(0..valid.len());
        targets::request(&damaged(chance, valid[pick].clone()));
        targets::request(&noise(chance, 300));
    }
}

#[test]
fn answers() {
    let named = vec![(1, "broker-1.example".to_owned(), 9092), (2, "::1".to_owned(), 1)];
    let valid: Vec<Vec<u8>> = naming_answers::naming_versions()
        .into_iter()
        .map(|(key, version)| {
            let frame = naming_answers::written(
                key,
                version,
                &naming_answers::answer(key, version, &named),
            );
            let head = [number(key), version].map(|number| u8::try_from(number).unwrap());
            [&head[..], &frame].concat()
        })
        .collect();
    for seed in 0..ROUNDS {
        let chance = &mut ChaCha8Rng::seed_from_u64(seed);
        let pick = &valid[chance.random_range(0..valid.len())];
        let played = std::panic::catch_unwind(|| targets::answer(pick));
        assert!(played.is_ok(), "valid, seed {seed}");
        let mut bytes = damaged(chance, pick[2..].to_vec());
        bytes.splice(..0, pick[..2].to_vec());
        let played = std::panic::catch_unwind(|| targets::answer(&bytes));
        assert!(played.is_ok(), "seed {seed}");
        targets::answer(&noise(chance, 300));
    }
}

#[test]
fn batches() {
    for seed in 0..ROUNDS {
        let chance = &mut ChaCha8Rng::seed_from_u64(seed);
        targets::batch(&noise(chance, 200));
        // Sealed, so that the checksum does not keep everything out.
        let mut batch = noise(chance, 200);
        batch.resize(batch.len().max(61), 0);
        let length = i32::try_from(batch.len() - 12).unwrap();
        batch[8..12].copy_from_slice(&length.to_be_bytes());
        batch[16] = 2;
        batch[22] &= 0x0f;
        let count = chance.random_range(0..3_i32);
        batch[23..27].copy_from_slice(&(count - 1).to_be_bytes());
        batch[57..61].copy_from_slice(&count.to_be_bytes());
        let seal = crc32c::crc32c(&batch[21..]).to_be_bytes();
        batch[17..21].copy_from_slice(&seal);
        targets::batch(&batch);
    }
}

#[test]
fn requests_to_the_coordinator() {
    for seed in 0..ROUNDS {
        let chance = &mut ChaCha8Rng::seed_from_u64(seed);
        let bytes = noise(chance, 800);
        let played = std::panic::catch_unwind(|| targets::coordinator(&bytes));
        assert!(played.is_ok(), "seed {seed}");
    }
}

/// Some bytes, any.
fn noise(chance: &mut ChaCha8Rng, most: usize) -> Vec<u8> {
    let mut bytes = vec![0; chance.random_range(0..most)];
    chance.fill_bytes(&mut bytes);
    bytes
}

/// Bits flipped, lengths made absurd, the end cut off, something put in.
fn damaged(chance: &mut ChaCha8Rng, mut bytes: Vec<u8>) -> Vec<u8> {
    for _ in 0..chance.random_range(0..4) {
        let at = chance.random_range(0..=bytes.len());
        match chance.random_range(0..4) {
            0 if at < bytes.len() => bytes[at] ^= 1 << chance.random_range(0..8),
            1 => bytes.truncate(at),
            2 => drop(bytes.splice(at..at, [0x7f, 0xff, 0xff, 0xff])),
            _ => {
                let absurd = [[0xff; 4], [0x7f, 0xff, 0xff, 0xff], [0, 0x7f, 0xff, 0xff]];
                let value = absurd[chance.random_range(0..absurd.len())];
                let end = (at + 4).min(bytes.len());
                bytes[at..end].copy_from_slice(&value[..end - at]);
            }
        }
    }
    bytes
}
