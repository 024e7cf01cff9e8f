//! Frames: every message is preceded by its length, four bytes, big endian.

use super::WireError;

/// The greatest accepted length of a request. Kafka's `socket.request.max.bytes` is 100 MiB, but no
/// client here needs that much, and each connection may hold one request.
pub const FRAME_BYTES_MAX: usize = 16 << 20;

/// The shortest header: API key, version, correlation id.
const FRAME_BYTES_MIN: usize = 8;

/// The length in a frame's prefix.
///
/// # Errors
///
/// The length is not valid for a request.
pub fn frame_length(prefix: [u8; 4]) -> Result<usize, WireError> {
    let length = i32::from_be_bytes(prefix);
    let refused = WireError::Length(length);
    let length = usize::try_from(length).map_err(|_| refused.clone())?;
    if (FRAME_BYTES_MIN..=FRAME_BYTES_MAX).contains(&length) { Ok(length) } else { Err(refused) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_sane_lengths_pass() {
        assert_eq!(frame_length([0, 0, 0, 8]), Ok(8));
        assert_eq!(frame_length([1, 0, 0, 0]), Ok(FRAME_BYTES_MAX));
        for bad in [[0, 0, 0, 0], [0, 0, 0, 7], [1, 0, 0, 1], [0x7f, 255, 255, 255], [255; 4]] {
            assert_eq!(frame_length(bad), Err(WireError::Length(i32::from_be_bytes(bad))));
        }
    }
}
