//! Kafka's primitive types, to and from bytes.

use std::collections::BTreeSet;

use tandem_facts::ids::PartitionId;

use crate::membership::Partitions;

/// Bytes that are still to be read. Lengths are not trusted: nothing is reserved for them.
pub(crate) struct Reader<'a>(pub(crate) &'a [u8]);

impl<'a> Reader<'a> {
    fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(taken)
    }

    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        self.take(N)?.try_into().ok()
    }

    pub(crate) fn i16(&mut self) -> Option<i16> {
        self.array().map(i16::from_be_bytes)
    }

    pub(crate) fn i32(&mut self) -> Option<i32> {
        self.array().map(i32::from_be_bytes)
    }

    pub(crate) fn u64(&mut self) -> Option<u64> {
        self.array().map(u64::from_be_bytes)
    }

    /// The length of an array; one that is null is empty.
    pub(crate) fn length(&mut self) -> Option<usize> {
        match self.i32()? {
            -1 => Some(0),
            length => usize::try_from(length).ok(),
        }
    }

    pub(crate) fn string(&mut self) -> Option<String> {
        let length = usize::try_from(self.i16()?).ok()?;
        String::from_utf8(self.take(length)?.to_vec()).ok()
    }

    pub(crate) fn bytes(&mut self) -> Option<&'a [u8]> {
        let length = self.length()?;
        self.take(length)
    }

    /// A set of partitions as a bitmap.
    pub(crate) fn bitmap(&mut self) -> Option<BTreeSet<PartitionId>> {
        let bits = self.bytes()?.iter().flat_map(|byte| (0..8).map(move |bit| byte >> bit & 1));
        let set = (0..).map(PartitionId).zip(bits).filter(|(_, bit)| *bit == 1);
        Some(set.map(|(partition, _)| partition).collect())
    }

    pub(crate) fn partitions(&mut self) -> Option<Partitions> {
        let mut all = Partitions::new();
        for _ in 0..self.length()? {
            let topic = self.string()?;
            let partitions = all.entry(topic).or_default();
            for _ in 0..self.length()? {
                partitions.insert(PartitionId(u32::try_from(self.i32()?).ok()?));
            }
        }
        Some(all)
    }
}

/// Bytes as they grow.
#[derive(Default)]
pub(crate) struct Writer(Vec<u8>);

impl Writer {
    pub(crate) fn finish(self) -> Vec<u8> {
        self.0
    }

    pub(crate) fn i16(&mut self, value: i16) {
        self.0.extend(value.to_be_bytes());
    }

    pub(crate) fn i32(&mut self, value: i32) {
        self.0.extend(value.to_be_bytes());
    }

    pub(crate) fn u64(&mut self, value: u64) {
        self.0.extend(value.to_be_bytes());
    }

    pub(crate) fn length(&mut self, length: usize) {
        self.i32(i32::try_from(length).unwrap_or(i32::MAX));
    }

    /// Names of topics have at most 249 bytes.
    pub(crate) fn string(&mut self, text: &str) {
        self.i16(i16::try_from(text.len()).unwrap_or(i16::MAX));
        self.0.extend(text.as_bytes());
    }

    pub(crate) fn null_string(&mut self) {
        self.i16(-1);
    }

    pub(crate) fn bytes(&mut self, bytes: &[u8]) {
        self.length(bytes.len());
        self.0.extend(bytes);
    }

    /// A set of partitions as a bitmap, which ends with the last of them.
    pub(crate) fn bitmap(&mut self, set: &BTreeSet<PartitionId>) {
        let mut bytes = vec![0_u8; set.last().map_or(0, |last| last.index() / 8 + 1)];
        for partition in set {
            if let Some(byte) = bytes.get_mut(partition.index() / 8) {
                *byte |= 1 << (partition.0 % 8);
            }
        }
        self.bytes(&bytes);
    }

    pub(crate) fn partitions(&mut self, all: &Partitions) {
        self.length(all.len());
        for (topic, partitions) in all {
            self.string(topic);
            self.length(partitions.len());
            for partition in partitions {
                self.i32(i32::try_from(partition.0).unwrap_or(i32::MAX));
            }
        }
    }
}
