//! Idempotent producers (KIP-98): a repeated batch is not appended again.

use std::collections::{BTreeMap, VecDeque};

use super::error::{INVALID_PRODUCER_EPOCH, OUT_OF_ORDER_SEQUENCE_NUMBER};
use crate::wire::Batch;

/// The number of batches remembered per producer: as many as a client may have in flight.
const REMEMBERED: usize = 5;
/// The greatest number of producers of one partition; above it the oldest is forgotten.
const PRODUCERS_MAX: usize = 1_000;

#[derive(Debug)]
struct Producer {
    epoch: i16,
    /// First sequence, last sequence and base offset of each of the latest batches.
    batches: VecDeque<(i32, i32, i64)>,
}

/// The producers of one partition, by id.
#[derive(Debug, Default)]
pub(super) struct Producers(BTreeMap<i64, Producer>);

/// The decision about a batch.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// Append it.
    Fresh,
    /// The batch is in the log already, at this offset.
    Duplicate(i64),
    /// Refuse the batch with this error.
    Refused(i16),
}

impl Producers {
    pub(super) fn judge(&self, batch: &Batch) -> Verdict {
        let Some(producer) = self.0.get(&batch.producer_id()) else { return Verdict::Fresh };
        let first = batch.base_sequence();
        if batch.producer_epoch() < producer.epoch {
            return Verdict::Refused(INVALID_PRODUCER_EPOCH);
        }
        if batch.producer_epoch() > producer.epoch {
            return if first == 0 {
                Verdict::Fresh
            } else {
                Verdict::Refused(OUT_OF_ORDER_SEQUENCE_NUMBER)
            };
        }
        let last = last_sequence(batch);
        let same = producer.batches.iter().find(|(a, b, _)| (*a, *b) == (first, last));
        if let Some((_, _, offset)) = same {
            return Verdict::Duplicate(*offset);
        }
        match producer.batches.back() {
            Some((_, before, _)) if next(*before) != first => {
                Verdict::Refused(OUT_OF_ORDER_SEQUENCE_NUMBER)
            }
            Some(_) | None => Verdict::Fresh,
        }
    }

    pub(super) fn remember(&mut self, id: i64, epoch: i16, first: i32, count: i32, base: i64) {
        let fresh = || Producer { epoch, batches: VecDeque::new() };
        let producer = self.0.entry(id).or_insert_with(fresh);
        if producer.epoch != epoch {
            *producer = fresh();
        }
        producer.batches.push_back((first, advance(first, count - 1), base));
        if producer.batches.len() > REMEMBERED {
            producer.batches.pop_front();
        }
        // Ids are assigned in ascending order, so the lowest is the oldest.
        if self.0.len() > PRODUCERS_MAX {
            self.0.pop_first();
        }
    }
}

fn last_sequence(batch: &Batch) -> i32 {
    advance(batch.base_sequence(), batch.count() - 1)
}

fn next(sequence: i32) -> i32 {
    advance(sequence, 1)
}

/// Sequences wrap from `i32::MAX` to 0.
const fn advance(sequence: i32, by: i32) -> i32 {
    sequence.wrapping_add(by) & i32::MAX
}
