//! The header of a record batch (magic 2, KIP-98). The records stay opaque.

use crc32c::crc32c;
use tandem_facts::time::Wall;

/// The length of the header.
pub const HEADER_BYTES: usize = 61;

/// The checksum covers the bytes from here to the end.
const SEALED_FROM: usize = 21;
/// The length field counts the bytes from here on.
const LENGTH_FROM: usize = 12;
const LOG_APPEND_TIME: i16 = 0x08;
const TRANSACTIONAL: i16 = 0x10;
const CONTROL: i16 = 0x20;

/// Why the bytes are not a batch that a log accepts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum BatchError {
    /// The batch is cut off, longer than its length says, or older than Kafka 0.11.
    #[error("the bytes are not a single record batch of magic 2")]
    Form,
    /// The checksum does not match.
    #[error("the checksum of the batch does not match")]
    Checksum,
    /// The batch is empty, or its counts contradict each other.
    #[error("the counts of the batch contradict each other")]
    Count,
    /// Transactions are not supported, and clients may not write control batches.
    #[error("transactional and control batches are not accepted")]
    Kind,
}

/// A record batch with a valid header and checksum.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Batch {
    bytes: Vec<u8>,
}

impl Batch {
    /// Parses exactly one batch, as in a Produce request.
    ///
    /// # Errors
    ///
    /// The bytes are not a batch, are damaged, or may not be appended.
    pub fn parse(bytes: &[u8]) -> Result<Self, BatchError> {
        let batch = Self { bytes: bytes.to_vec() };
        if bytes.len() < HEADER_BYTES || batch.array::<1>(16) != [2] {
            return Err(BatchError::Form);
        }
        let length = usize::try_from(batch.i32(8)).map_err(|_| BatchError::Form)?;
        if length.checked_add(LENGTH_FROM) != Some(bytes.len()) {
            return Err(BatchError::Form);
        }
        if u32::from_be_bytes(batch.array(17)) != batch.checksum() {
            return Err(BatchError::Checksum);
        }
        if batch.count() < 1 || batch.i32(23) != batch.count() - 1 {
            return Err(BatchError::Count);
        }
        if batch.attributes() & (TRANSACTIONAL | CONTROL) != 0 {
            return Err(BatchError::Kind);
        }
        Ok(batch)
    }

    /// The number of records.
    #[must_use]
    pub fn count(&self) -> i32 {
        self.i32(57)
    }

    /// The latest timestamp of the records.
    #[must_use]
    pub fn max_timestamp(&self) -> Wall {
        Wall(i64::from_be_bytes(self.array(35)))
    }

    /// The id of the idempotent producer, or -1.
    #[must_use]
    pub fn producer_id(&self) -> i64 {
        i64::from_be_bytes(self.array(43))
    }

    /// The epoch of the producer.
    #[must_use]
    pub fn producer_epoch(&self) -> i16 {
        i16::from_be_bytes(self.array(51))
    }

    /// The producer's sequence number of the first record.
    #[must_use]
    pub fn base_sequence(&self) -> i32 {
        self.i32(53)
    }

    /// Sets the offset in the log, and the timestamp if the topic uses append time. As in Kafka,
    /// the batch's timestamp then applies to all its records.
    pub fn place(&mut self, base_offset: i64, append_time: Option<Wall>) {
        self.put(0, base_offset.to_be_bytes());
        // The leader epoch, which never changes here.
        self.put(12, 0_i32.to_be_bytes());
        if let Some(stamp) = append_time {
            self.put(21, (self.attributes() | LOG_APPEND_TIME).to_be_bytes());
            self.put(35, stamp.0.to_be_bytes());
            self.put(17, self.checksum().to_be_bytes());
        }
    }

    /// The bytes to store and to send.
    #[must_use]
    pub fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }

    fn attributes(&self) -> i16 {
        i16::from_be_bytes(self.array(21))
    }

    fn checksum(&self) -> u32 {
        crc32c(self.bytes.get(SEALED_FROM..).unwrap_or_default())
    }

    fn i32(&self, at: usize) -> i32 {
        i32::from_be_bytes(self.array(at))
    }

    /// The constructor has checked that the header is complete.
    fn array<const N: usize>(&self, at: usize) -> [u8; N] {
        let tail = self.bytes.get(at..).unwrap_or_default();
        tail.first_chunk().copied().unwrap_or([0; N])
    }

    fn put<const N: usize>(&mut self, at: usize, value: [u8; N]) {
        let tail = self.bytes.get_mut(at..).unwrap_or_default();
        if let Some(place) = tail.first_chunk_mut() {
            *place = value;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> Vec<u8> {
        let mut batch = Batch { bytes: vec![7; HEADER_BYTES + 9] };
        batch.put(8, 58_i32.to_be_bytes());
        batch.put(16, [2]);
        batch.put(21, 0_i16.to_be_bytes());
        batch.put(23, 2_i32.to_be_bytes());
        batch.put(57, 3_i32.to_be_bytes());
        batch.put(17, batch.checksum().to_be_bytes());
        batch.bytes
    }

    #[test]
    fn a_stamp_is_sealed() {
        let mut batch = Batch::parse(&sample()).unwrap();
        batch.place(42, Some(Wall(1_000)));
        let again = Batch::parse(&batch.into_bytes()).unwrap();
        assert_eq!((again.count(), again.max_timestamp()), (3, Wall(1_000)));
        assert_eq!(again.attributes(), LOG_APPEND_TIME);
        assert_eq!(again.array(0), 42_i64.to_be_bytes());
    }

    #[test]
    fn damage_is_found() {
        let good = sample();
        for at in SEALED_FROM..good.len() {
            let mut bad = good.clone();
            bad[at] ^= 1;
            assert_eq!(Batch::parse(&bad), Err(BatchError::Checksum), "{at}");
        }
        for cut in 0..good.len() {
            assert_eq!(Batch::parse(&good[..cut]), Err(BatchError::Form), "{cut}");
        }
    }
}
