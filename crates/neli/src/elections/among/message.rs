//! What members say to each other, as values and as bytes.

use std::fmt;

use tandem_facts::ids::PartitionId;

/// A member of the group, by its place in the list of members, which all have in common.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Peer(pub u16);

/// The generation clock of one partition: each leader has a greater one than those before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Generation(pub u64);

impl Generation {
    /// The one that follows.
    #[must_use]
    pub const fn next(self) -> Self {
        Self(self.0.saturating_add(1))
    }
}

impl fmt::Display for Generation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// What a message says, as a value and in a frame.
pub trait Word: Copy + PartialEq + fmt::Debug {
    /// Which it is, and its number or instant; 0 without one.
    fn parts(self) -> (u8, u64);

    /// The one with these parts; none if there is none.
    fn of(kind: u8, number: u64) -> Option<Self>;
}

/// Makes an enum of words without a number one of [`Word`]: the kind of each is its place in the
/// list, which names all.
macro_rules! plain_words {
    ($kind:ident: $($word:ident),+) => {
        impl $crate::elections::among::Word for $kind {
            fn parts(self) -> (u8, u64) {
                let place = [$(Self::$word),+].into_iter().position(|word| match self {
                    $(Self::$word)|+ => word == self,
                });
                (place.and_then(|it| u8::try_from(it).ok()).unwrap_or(u8::MAX), 0)
            }

            fn of(kind: u8, _: u64) -> Option<Self> {
                [$(Self::$word),+].into_iter().nth(usize::from(kind))
            }
        }
    };
}
pub(in crate::elections) use plain_words;

/// A message about one partition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Message<W> {
    /// The partition that it is about.
    pub partition: PartitionId,
    /// The generation, term, epoch or round that it speaks of; 0 in an election without any.
    pub generation: Generation,
    /// What it says.
    pub kind: W,
}

/// The bytes of a message.
pub type Frame = [u8; 21];

impl<W: Word> Message<W> {
    /// Partition, generation, kind and number, big-endian.
    #[must_use]
    pub fn encode(self) -> Frame {
        let (kind, number) = self.kind.parts();
        let parts: [&[u8]; 4] = [
            &self.partition.0.to_be_bytes(),
            &self.generation.0.to_be_bytes(),
            &[kind],
            &number.to_be_bytes(),
        ];
        let mut frame = [0; 21];
        for (place, byte) in frame.iter_mut().zip(parts.into_iter().flatten()) {
            *place = *byte;
        }
        frame
    }

    /// The message in these bytes; none if they are of no message.
    #[must_use]
    pub fn decode(frame: Frame) -> Option<Self> {
        let (partition, rest) = frame.split_first_chunk()?;
        let (generation, rest) = rest.split_first_chunk()?;
        let (kind, number) = rest.split_first()?;
        Some(Self {
            partition: PartitionId(u32::from_be_bytes(*partition)),
            generation: Generation(u64::from_be_bytes(*generation)),
            kind: W::of(*kind, u64::from_be_bytes(number.try_into().ok()?))?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    struct Said(u8, u64);

    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    enum Plain {
        Yes,
        No,
    }
    plain_words!(Plain: Yes, No);

    #[test]
    fn words_without_a_number_have_the_kind_of_their_place() {
        for (kind, word) in [(0, Plain::Yes), (1, Plain::No)] {
            assert_eq!((word.parts(), Plain::of(kind, 7)), ((kind, 0), Some(word)));
        }
        assert_eq!(Plain::of(2, 0), None);
    }

    impl Word for Said {
        fn parts(self) -> (u8, u64) {
            (self.0, self.1)
        }

        fn of(kind: u8, number: u64) -> Option<Self> {
            (kind < 8).then_some(Self(kind, number))
        }
    }

    #[test]
    fn messages_survive_their_bytes_and_an_unknown_kind_is_none() {
        for kind in 0..8 {
            let kind = Said(kind, 7_000_000_001);
            let message =
                Message { partition: PartitionId(3), generation: Generation(1 << 40), kind };
            let frame = message.encode();
            assert_eq!(Message::decode(frame), Some(message));
            let mut unknown = frame;
            unknown[12] = 8;
            assert_eq!(Message::<Said>::decode(unknown), None);
        }
    }
}
