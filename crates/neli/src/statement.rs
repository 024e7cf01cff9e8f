//! What a member states about itself to the others of its group, as a header of a beacon.
//!
//! Bytes: a version (16 bits), flags (16 bits: 1, it goes), the generation (32 bits), the process
//! (64 bits), the group, the life, where it listens (16-bit lengths; empty where nowhere), and two
//! bitmaps of partitions (32-bit lengths): held, and led; then, if there are any, questions and
//! answers ([`Inquest`]). Numbers are big-endian. Later versions only add fields at the end.

use std::collections::BTreeSet;

use tandem_facts::ids::{ConsumerGroup, Life, PartitionId};

use crate::bytes::{Reader, Writer};
use crate::mesh::Inquest;

const VERSION: i16 = 1;
const GOING: i16 = 1;

/// The generation of a member that was given nothing yet, not even nothing: as Kafka has it.
pub const UNASSIGNED: i32 = -1;

/// What a member states about itself.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Statement {
    /// Its group. Groups that share a topic hear each other.
    pub group: ConsumerGroup,
    /// Its name and incarnation.
    pub life: Life,
    /// Tells two processes that bear one name apart.
    pub process: u64,
    /// The generation of its last assignment; [`UNASSIGNED`] before the first.
    pub generation: i32,
    /// What it holds by that assignment.
    pub holds: BTreeSet<PartitionId>,
    /// What it holds, has heard a message on since, and claims.
    pub leads: BTreeSet<PartitionId>,
    /// Whether it leaves the group, and waits for others to lead what it led.
    pub going: bool,
    /// Where it accepts connections of the others, as `host:port`.
    pub address: Option<String>,
    /// Whom it takes for dead, and who takes it for dead.
    pub inquest: Inquest,
}

impl Statement {
    /// The bytes of the header.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let mut to = Writer::default();
        to.i16(VERSION);
        to.i16(if self.going { GOING } else { 0 });
        to.i32(self.generation);
        to.u64(self.process);
        to.string(self.group.as_str());
        to.string(&self.life.to_string());
        to.string(self.address.as_deref().unwrap_or_default());
        to.bitmap(&self.holds);
        to.bitmap(&self.leads);
        if !self.inquest.is_empty() {
            self.inquest.encode(&mut to);
        }
        to.finish()
    }

    /// The statement in these bytes, if there is one.
    #[must_use]
    pub fn decode(bytes: &[u8]) -> Option<Self> {
        let mut from = Reader(bytes);
        from.i16().filter(|version| *version >= VERSION)?;
        let flags = from.i16()?;
        let (generation, process) = (from.i32()?, from.u64()?);
        let group = from.string()?.try_into().ok()?;
        let life = from.string()?.try_into().ok()?;
        let address = Some(from.string()?).filter(|address| !address.is_empty());
        let (holds, leads) = (from.bitmap()?, from.bitmap()?);
        // What another version has there asks and answers nothing.
        let inquest = Inquest::decode(&mut from).unwrap_or_default();
        let going = flags & GOING != 0;
        Some(Self { group, life, process, generation, holds, leads, going, address, inquest })
    }
}
