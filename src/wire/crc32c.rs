//! CRC-32C (Castagnoli, RFC 3720 appendix B.4), with which record batches are sealed.

const TABLE: [u32; 256] = table();

const fn table() -> [u32; 256] {
    let mut table = [0; 256];
    let mut rest: &mut [u32] = &mut table;
    let mut byte: u32 = 0;
    while let [first, tail @ ..] = rest {
        let mut value = byte;
        let mut bit = 0;
        while bit < 8 {
            value = if value & 1 == 1 { (value >> 1) ^ 0x82f6_3b78 } else { value >> 1 };
            bit += 1;
        }
        *first = value;
        rest = tail;
        byte += 1;
    }
    table
}

/// The checksum of `bytes`.
#[must_use]
pub fn crc32c(bytes: &[u8]) -> u32 {
    let step = |sum: u32, byte: &u8| {
        let [low, ..] = sum.to_le_bytes();
        let entry = TABLE.get(usize::from(low ^ byte)).copied().unwrap_or_default();
        (sum >> 8) ^ entry
    };
    !bytes.iter().fold(u32::MAX, step)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rfc_3720_examples() {
        assert_eq!(crc32c(&[0; 32]), 0x8a91_36aa);
        assert_eq!(crc32c(&[0xff; 32]), 0x62a8_ab43);
        assert_eq!(crc32c(b"123456789"), 0xe306_9283);
    }
}
