//! Splits a stream of bytes into frames, piece by piece: a large frame may pass before it is
//! complete.

use bytes::{Bytes, BytesMut};

use super::error::CloseReason;

/// The length of the length prefix.
const PREFIX: usize = 4;

/// Splits incoming bytes into frames.
#[derive(Debug, Default)]
pub(super) struct Cutter {
    arrived: BytesMut,
    /// The missing bytes of the current frame.
    left: usize,
    /// Whether to return the current frame only when it is complete.
    whole: bool,
}

/// The start of a frame.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Opening<'a> {
    /// The length of the frame without its prefix.
    pub length: usize,
    /// The bytes of the frame that have arrived.
    pub here: &'a [u8],
}

impl Cutter {
    /// Appends received bytes.
    pub(super) fn feed(&mut self, bytes: &[u8]) {
        self.arrived.extend_from_slice(bytes);
    }

    /// The number of buffered bytes.
    pub(super) fn buffered(&self) -> usize {
        self.arrived.len()
    }

    /// Whether the last frame is complete.
    pub(super) const fn between(&self) -> bool {
        self.left == 0
    }

    /// The start of the next frame; none if its length has not arrived, or the current frame is not
    /// complete.
    ///
    /// # Errors
    /// The length is not valid.
    pub(super) fn opening(
        &self,
        least: usize,
        most: usize,
    ) -> Result<Option<Opening<'_>>, CloseReason> {
        if !self.between() {
            return Ok(None);
        }
        let Some((prefix, here)) = self.arrived.split_first_chunk::<PREFIX>() else {
            return Ok(None);
        };
        let prefix = i32::from_be_bytes(*prefix);
        let length = usize::try_from(prefix).map_err(|_| CloseReason::Length(prefix))?;
        if !(least..=most).contains(&length) {
            return Err(CloseReason::Length(prefix));
        }
        Ok(Some(Opening { length, here: here.get(..length).unwrap_or(here) }))
    }

    /// Starts the frame that [`opening`](Self::opening) returned.
    pub(super) const fn begin(&mut self, length: usize, whole: bool) {
        self.left = length.saturating_add(PREFIX);
        self.whole = whole;
    }

    /// The next bytes of the current frame, prefix included, and whether they complete it; none if
    /// no bytes have arrived, or not all of a frame that is to be returned whole.
    pub(super) fn piece(&mut self) -> Option<(Bytes, bool)> {
        let here = self.arrived.len().min(self.left);
        if here == 0 || (self.whole && here < self.left) {
            return None;
        }
        self.left -= here;
        let bytes = self.arrived.split_to(here).freeze();
        if self.arrived.is_empty() {
            // An idle connection keeps no buffer.
            self.arrived = BytesMut::new();
        }
        Some((bytes, self.left == 0))
    }

    /// Drops all bytes; returns how many there were.
    pub(super) fn clear(&mut self) -> usize {
        std::mem::take(self).arrived.len()
    }
}
