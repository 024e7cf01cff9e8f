//! Frames of the mesh: a length (32 bits, big-endian) and so many bytes. The first frame of each
//! end is its greeting, the others are [`Word`](tandem_neli::mesh::Word)s.

use tandem_facts::ids::{ConsumerGroup, Life, TopicName};
use tandem_neli::mesh::Process;

/// The longest frame: a statement of 65,536 partitions has 16 KiB.
pub(super) const FRAME_MOST: usize = 64 * 1024;
/// The first bytes of a greeting; its version follows.
const MAGIC: &[u8; 6] = b"tandem";
const VERSION: u8 = 1;
/// The texts of a greeting.
const TEXTS: usize = 6;

/// The bytes of a frame.
pub(super) fn frame(bytes: &[u8]) -> Vec<u8> {
    let mut framed = u32::try_from(bytes.len()).unwrap_or(u32::MAX).to_be_bytes().to_vec();
    framed.extend(bytes);
    framed
}

/// Takes the first frame off what was read; an error if it is longer than `most`.
pub(super) fn take_frame(read: &mut Vec<u8>, most: usize) -> Result<Option<Vec<u8>>, &'static str> {
    let Some((head, rest)) = read.split_first_chunk::<4>() else { return Ok(None) };
    let length = usize::try_from(u32::from_be_bytes(*head)).unwrap_or(usize::MAX);
    if length > most {
        return Err("a frame is too long");
    }
    if rest.len() < length {
        return Ok(None);
    }
    let taken = read.drain(..4 + length).skip(4).collect();
    Ok(Some(taken))
}

/// Who an end of a link is. Both ends must be of the same group on the same ledger.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Greeting {
    pub(super) topic: TopicName,
    pub(super) group: ConsumerGroup,
    pub(super) from: Process,
    /// Whom the dialing end means to reach; none from the other end.
    pub(super) to: Option<Process>,
}

impl Greeting {
    /// The magic, the version, and six texts, each ended by a zero byte: the ledger, the group, and
    /// the life and the process of both ends. The other end of a greeting that answers is empty.
    pub(super) fn encode(&self) -> Vec<u8> {
        let mut bytes = MAGIC.to_vec();
        bytes.push(VERSION);
        let texts = |of: &Process| [of.life.to_string(), of.number.to_string()];
        let [to, process] = self.to.as_ref().map(texts).unwrap_or_default();
        let [from, number] = texts(&self.from);
        let ends = [&from, &number, &to, &process].map(String::as_str);
        for text in [self.topic.as_str(), self.group.as_str()].into_iter().chain(ends) {
            bytes.extend(text.as_bytes());
            bytes.push(0);
        }
        bytes
    }

    /// The greeting in these bytes; fields that follow it belong to later versions.
    pub(super) fn decode(bytes: &[u8]) -> Option<Self> {
        let (version, rest) = bytes.strip_prefix(MAGIC)?.split_first()?;
        let ends = rest.iter().filter(|byte| **byte == 0).count();
        if *version < VERSION || ends < TEXTS {
            return None;
        }
        let mut texts = rest.split(|byte| *byte == 0).map(std::str::from_utf8);
        let mut text = || texts.next()?.ok();
        let (topic, group) = (text()?.parse().ok()?, text()?.parse().ok()?);
        let process = |life: &str, number: &str| {
            let life = Life::try_from(life.to_owned()).ok()?;
            Some(Process { life, number: number.parse().ok()? })
        };
        let from = process(text()?, text()?)?;
        let to = match (text()?, text()?) {
            ("", _) => None,
            (life, number) => Some(process(life, number)?),
        };
        Some(Self { topic, group, from, to })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn greetings_survive_their_bytes_and_no_prefix_is_one() {
        let life =
            |text: &str| Process { life: Life::try_from(text.to_owned()).unwrap(), number: 7 };
        for to in [None, Some(life("p1-2.1"))] {
            let (topic, group) = ("t".parse().unwrap(), "g".parse().unwrap());
            let greeting = Greeting { topic, group, from: life("p1-1.3"), to };
            let bytes = greeting.encode();
            assert_eq!(Greeting::decode(&bytes), Some(greeting.clone()));
            for end in 0..bytes.len() {
                assert_ne!(Greeting::decode(&bytes[..end]), Some(greeting.clone()), "{end}");
            }
        }
        assert_eq!(Greeting::decode(b"GET / HTTP/1.1\r\n\r\n"), None);
    }

    #[test]
    fn frames_come_out_whole_and_long_ones_are_refused() {
        let mut read = frame(b"one");
        read.extend(frame(b""));
        read.extend(&frame(b"three")[..6]);
        assert_eq!(take_frame(&mut read, 5), Ok(Some(b"one".to_vec())));
        assert_eq!(take_frame(&mut read, 5), Ok(Some(Vec::new())));
        assert_eq!(take_frame(&mut read, 5), Ok(None));
        read.extend(b"ree");
        assert_eq!(take_frame(&mut read, 5), Ok(Some(b"three".to_vec())));
        assert!(take_frame(&mut frame(b"longer"), 5).is_err());
        let mut long = u32::MAX.to_be_bytes().to_vec();
        assert!(take_frame(&mut long, FRAME_MOST).is_err());
    }
}
