//! What members say to each other over their links.

use std::collections::BTreeSet;

use tandem_facts::ids::PartitionId;

use super::Process;
use crate::Statement;
use crate::bytes::{Reader, Writer};

/// One message on a link.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Word {
    /// What the sender states about itself.
    Statement(Statement),
    /// Another member is dead.
    Notice(Notice),
    /// Another member died before this link stood, and what it owned has no new owner yet.
    Dead(Notice),
    /// The receiver is to say at once that it is alive.
    Ask,
    /// The sender is alive.
    Alive,
    /// The sender leaves: the end of this link is no death.
    Goodbye,
    /// The sender gives this link up, and lives on.
    Hangup,
}

/// The notice of a death. It carries what the dead member owned, so that its receivers agree even
/// if they have last heard different statements.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Notice {
    /// The process: a restarted member is not affected.
    pub dead: Process,
    /// What it owned, as far as the sender knows.
    pub share: Option<Share>,
}

/// What a member was given in a generation of its group. A revocation takes nothing from it,
/// because it ends no claim.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Share {
    /// The generation of the assignment.
    pub generation: i32,
    /// The assigned partitions.
    pub partitions: BTreeSet<PartitionId>,
}

const STATEMENT: i16 = 1;
const NOTICE: i16 = 2;
const ASK: i16 = 3;
const ALIVE: i16 = 4;
const GOODBYE: i16 = 5;
const DEAD: i16 = 6;
const HANGUP: i16 = 7;

impl Word {
    /// The bytes: the kind (16 bits), then a statement's own bytes (32-bit length), or of a notice
    /// the life and the process (64 bits), and whether a share follows (16 bits): its generation
    /// (32 bits) and a bitmap of its partitions. Numbers are big-endian. Later versions only add
    /// kinds, and fields at the end.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let mut to = Writer::default();
        match self {
            Self::Statement(statement) => {
                to.i16(STATEMENT);
                to.bytes(&statement.encode());
            }
            Self::Notice(notice) => {
                to.i16(NOTICE);
                notice.encode(&mut to);
            }
            Self::Dead(notice) => {
                to.i16(DEAD);
                notice.encode(&mut to);
            }
            Self::Ask => to.i16(ASK),
            Self::Alive => to.i16(ALIVE),
            Self::Goodbye => to.i16(GOODBYE),
            Self::Hangup => to.i16(HANGUP),
        }
        to.finish()
    }

    /// The word in these bytes; none if they are malformed or of an unknown kind.
    #[must_use]
    pub fn decode(bytes: &[u8]) -> Option<Self> {
        let mut from = Reader(bytes);
        match from.i16()? {
            STATEMENT => Statement::decode(from.bytes()?).map(Self::Statement),
            NOTICE => Notice::decode(&mut from).map(Self::Notice),
            DEAD => Notice::decode(&mut from).map(Self::Dead),
            ASK => Some(Self::Ask),
            ALIVE => Some(Self::Alive),
            GOODBYE => Some(Self::Goodbye),
            HANGUP => Some(Self::Hangup),
            _ => None,
        }
    }
}

impl Notice {
    fn encode(&self, to: &mut Writer) {
        let Self { dead, share } = self;
        to.string(&dead.life.to_string());
        to.u64(dead.number);
        to.i16(i16::from(share.is_some()));
        if let Some(Share { generation, partitions }) = share {
            to.i32(*generation);
            to.bitmap(partitions);
        }
    }

    fn decode(from: &mut Reader<'_>) -> Option<Self> {
        let life = from.string()?.try_into().ok()?;
        let dead = Process { life, number: from.u64()? };
        let share = match from.i16()? {
            0 => None,
            _ => Some(Share { generation: from.i32()?, partitions: from.bitmap()? }),
        };
        Some(Self { dead, share })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mesh::Inquest;
    use tandem_facts::ids::Life;

    fn life(text: &str) -> Life {
        Life::try_from(text.to_owned()).unwrap()
    }

    #[test]
    fn words_survive_their_bytes_and_no_prefix_is_a_word() {
        let partitions: BTreeSet<_> = [0, 7, 8, 63].map(PartitionId).into();
        let asked: std::collections::BTreeMap<_, _> =
            [(Process { life: life("p1-2.1"), number: 5 }, u32::MAX)].into();
        let statement = Statement {
            group: "g".parse().unwrap(),
            life: life("p1-1.3"),
            process: 77,
            generation: 7,
            holds: partitions.clone(),
            leads: BTreeSet::new(),
            going: false,
            address: Some("127.0.0.1:4000".to_owned()),
            inquest: Inquest { asks: asked.clone(), answers: asked },
        };
        let share = Share { generation: 7, partitions };
        let dead = Process { life: life("p1-2.1"), number: u64::MAX };
        let words = [
            Word::Statement(statement),
            Word::Notice(Notice { dead: dead.clone(), share: Some(share) }),
            Word::Dead(Notice { dead: dead.clone(), share: None }),
            Word::Notice(Notice { dead, share: None }),
            Word::Ask,
            Word::Alive,
            Word::Goodbye,
            Word::Hangup,
        ];
        for word in words {
            let bytes = word.encode();
            assert_eq!(Word::decode(&bytes), Some(word));
            for end in 0..bytes.len() {
                assert_eq!(Word::decode(&bytes[..end]), None);
            }
        }
        assert_eq!(Word::decode(&[0, 99]), None, "an unknown kind");
    }
}
