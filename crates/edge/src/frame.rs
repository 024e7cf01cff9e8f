//! Bytes become frames, a piece at a time: large bodies pass before they are complete.

use bytes::{Bytes, BytesMut};

use super::error::Parting;

/// The bytes of the length itself.
const PREFIX: usize = 4;

/// Cuts what arrives into frames.
#[derive(Debug, Default)]
pub(super) struct Cutter {
    arrived: BytesMut,
    /// What is missing of the frame that is being cut.
    left: usize,
    /// Whether it is handed over only when it is complete.
    whole: bool,
}

/// What is known of a frame that begins.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Opening<'a> {
    /// How long it is, its length not included.
    pub length: usize,
    /// As much of it as is here.
    pub here: &'a [u8],
}

impl Cutter {
    /// Takes what was read.
    pub(super) fn feed(&mut self, bytes: &[u8]) {
        self.arrived.extend_from_slice(bytes);
    }

    /// The bytes that wait here.
    pub(super) fn buffered(&self) -> usize {
        self.arrived.len()
    }

    /// Whether no frame is half cut.
    pub(super) const fn between(&self) -> bool {
        self.left == 0
    }

    /// The frame that begins here; none where its length is not here, or another is being cut.
    ///
    /// # Errors
    /// Where no frame can be that long.
    pub(super) fn opening(
        &self,
        least: usize,
        most: usize,
    ) -> Result<Option<Opening<'_>>, Parting> {
        if !self.between() {
            return Ok(None);
        }
        let Some((prefix, here)) = self.arrived.split_first_chunk::<PREFIX>() else {
            return Ok(None);
        };
        let told = i32::from_be_bytes(*prefix);
        let length = usize::try_from(told).map_err(|_| Parting::Length(told))?;
        if !(least..=most).contains(&length) {
            return Err(Parting::Length(told));
        }
        Ok(Some(Opening { length, here: here.get(..length).unwrap_or(here) }))
    }

    /// Begins to cut the frame that [`opening`](Self::opening) showed.
    pub(super) const fn begin(&mut self, length: usize, whole: bool) {
        self.left = length.saturating_add(PREFIX);
        self.whole = whole;
    }

    /// The next bytes of the frame that is being cut, its length included, and whether they end it;
    /// none where nothing is here, or not all of a frame that is wanted whole.
    pub(super) fn piece(&mut self) -> Option<(Bytes, bool)> {
        let here = self.arrived.len().min(self.left);
        if here == 0 || (self.whole && here < self.left) {
            return None;
        }
        self.left -= here;
        let bytes = self.arrived.split_to(here).freeze();
        if self.arrived.is_empty() {
            // Nothing is kept for a connection that is silent.
            self.arrived = BytesMut::new();
        }
        Some((bytes, self.left == 0))
    }

    /// Forgets everything.
    pub(super) fn clear(&mut self) -> usize {
        std::mem::take(self).arrived.len()
    }
}
