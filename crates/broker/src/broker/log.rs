//! The log of one partition, in memory: batches in the order of their offsets.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use tokio::sync::Notify;

use super::producers::Producers;
use crate::wire::Batch;
use tandem_facts::time::Wall;

/// A stored batch.
#[derive(Debug)]
struct Stored {
    base: i64,
    /// The offset after its last record.
    next: i64,
    stamp: Wall,
    bytes: Bytes,
}

#[derive(Debug, Default)]
pub(super) struct Log {
    batches: VecDeque<Stored>,
    start: i64,
    end: i64,
    bytes: usize,
    pub(super) producers: Producers,
    /// The connections whose fetches wait for the next batch; each is woken once.
    waiting: BTreeMap<u64, Arc<Notify>>,
}

impl Log {
    /// The first offset that can be read.
    pub(super) const fn start(&self) -> i64 {
        self.start
    }

    /// The offset of the next record.
    pub(super) const fn end(&self) -> i64 {
        self.end
    }

    pub(super) const fn bytes(&self) -> usize {
        self.bytes
    }

    /// Appends a batch, with the broker's timestamp if the topic uses append time. Returns the
    /// batch's first offset.
    pub(super) fn append(&mut self, mut batch: Batch, append_time: Option<Wall>) -> i64 {
        let base = self.end;
        let next = base.saturating_add(i64::from(batch.count()));
        batch.place(base, append_time);
        let stamp = batch.max_timestamp();
        let bytes = Bytes::from(batch.into_bytes());
        self.bytes = self.bytes.saturating_add(bytes.len());
        self.end = next;
        self.batches.push_back(Stored { base, next, stamp, bytes });
        for reader in std::mem::take(&mut self.waiting).into_values() {
            reader.notify_one();
        }
        base
    }

    /// Wakes this connection when a batch is appended.
    pub(super) fn wait(&mut self, connection: u64, wake: &Arc<Notify>) {
        self.waiting.entry(connection).or_insert_with(|| Arc::clone(wake));
    }

    /// Forgets a closed connection.
    pub(super) fn forget(&mut self, connection: u64) {
        self.waiting.remove(&connection);
    }

    /// Wakes all waiting connections, since the log is deleted.
    pub(super) fn close(self) {
        for reader in self.waiting.into_values() {
            reader.notify_one();
        }
    }

    /// The number of bytes from `offset` on, counted up to `most`.
    pub(super) fn available(&self, offset: i64, most: usize) -> usize {
        let mut bytes = 0_usize;
        for batch in self.from(offset) {
            bytes = bytes.saturating_add(batch.bytes.len());
            if bytes >= most {
                break;
            }
        }
        bytes
    }

    /// Whole batches from the one that holds `offset` on, at most `most` bytes, but at least one
    /// batch if `one` is set (KIP-74).
    pub(super) fn read(&self, offset: i64, most: usize, one: bool) -> Bytes {
        let mut length = 0_usize;
        let mut count = 0_usize;
        for batch in self.from(offset) {
            let longer = length.saturating_add(batch.bytes.len());
            if longer > most && !(one && count == 0) {
                break;
            }
            length = longer;
            count += 1;
        }
        let mut batches = self.from(offset).take(count);
        if count == 1 {
            return batches.next().map(|batch| batch.bytes.clone()).unwrap_or_default();
        }
        let mut bytes = BytesMut::with_capacity(length);
        batches.for_each(|batch| bytes.extend_from_slice(&batch.bytes));
        bytes.freeze()
    }

    fn from(&self, offset: i64) -> impl Iterator<Item = &Stored> {
        let first = self.batches.partition_point(|batch| batch.next <= offset);
        self.batches.range(first..)
    }

    /// The first batch with a timestamp at or after `stamp`: its timestamp and first offset.
    /// Records are opaque, so with producers' timestamps the offset may be some records early.
    pub(super) fn at_or_after(&self, stamp: Wall) -> Option<(Wall, i64)> {
        let found = self.batches.iter().find(|batch| batch.stamp >= stamp)?;
        Some((found.stamp, found.base.max(self.start)))
    }

    /// The batch with the latest timestamp: its timestamp and last offset.
    pub(super) fn newest(&self) -> Option<(Wall, i64)> {
        let newest = self.batches.iter().max_by_key(|batch| batch.stamp)?;
        Some((newest.stamp, newest.next - 1))
    }

    /// Deletes the records before `offset`, which is at most the end. A batch stays as long as one
    /// of its records does.
    pub(super) fn start_at(&mut self, offset: i64) {
        while self.batches.front().is_some_and(|batch| batch.next <= offset) {
            self.drop_first();
        }
        self.start = self.start.max(offset);
    }

    /// Drops batches from the start of the log whose timestamps are before `oldest`.
    pub(super) fn expire(&mut self, oldest: Wall) {
        while self.batches.front().is_some_and(|batch| batch.stamp < oldest) {
            self.drop_first();
        }
    }

    /// Drops batches from the start of the log until at most `most` bytes are left.
    pub(super) fn shrink(&mut self, most: usize) {
        while self.bytes > most && !self.batches.is_empty() {
            self.drop_first();
        }
    }

    /// Drops the oldest batch.
    pub(super) fn drop_first(&mut self) {
        if let Some(batch) = self.batches.pop_front() {
            self.bytes = self.bytes.saturating_sub(batch.bytes.len());
            self.start = batch.next;
        }
    }
}
