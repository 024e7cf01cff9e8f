//! Checks a request or an answer against its shape, without allocating memory.
//!
//! An array's length is four bytes that any client can forge. Here every element must be present,
//! and their total number is bounded, before the decoder sees the request.

use std::ops::Range;

/// The format of a field on the wire.
#[derive(Debug, Clone, Copy)]
pub(super) enum Shape {
    /// A number of bytes.
    Fixed(usize),
    /// A nullable string.
    Text,
    /// Nullable bytes: metadata, assignments, records.
    Blob,
    /// An array of plain values.
    List(&'static Self),
    /// An array of structures.
    Many(&'static [Field]),
    /// A structure.
    One(&'static [Field]),
    /// Host and port of a broker.
    Address,
    /// A tagged field with this number, at any position in the list.
    Tagged(usize, &'static Self),
}

/// A field, and the versions that have it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Field {
    pub(super) since: i16,
    pub(super) until: i16,
    pub(super) shape: Shape,
}

/// More elements than any honest request has. The decoder makes a structure of some hundred bytes
/// of each.
const ELEMENTS_MAX: usize = 100_000;

/// Walks through a request or an answer, and records the positions of addresses.
#[derive(Debug)]
pub(super) struct Walker<'a> {
    whole: &'a [u8],
    rest: &'a [u8],
    version: i16,
    flexible: bool,
    elements: usize,
    seen: Seen,
}

/// The recorded positions.
#[derive(Debug, Default)]
pub(super) struct Seen {
    /// The position of each host and its port, with both values.
    pub(super) addresses: Vec<(Range<usize>, String, i32)>,
    /// The positions of the size and the contents of the tagged field that contains the addresses.
    pub(super) tag: Option<(Range<usize>, Range<usize>)>,
}

impl<'a> Walker<'a> {
    pub(super) fn new(bytes: &'a [u8], version: i16, flexible: bool) -> Self {
        let seen = Seen::default();
        Self { whole: bytes, rest: bytes, version, flexible, elements: 0, seen }
    }

    /// The current position.
    pub(super) const fn at(&self) -> usize {
        self.whole.len().saturating_sub(self.rest.len())
    }

    /// The recorded positions.
    pub(super) fn seen(self) -> Seen {
        self.seen
    }

    /// Walks through these fields and the tagged fields behind them; none if the bytes do not
    /// match.
    pub(super) fn fields(&mut self, fields: &[Field]) -> Option<()> {
        self.first(fields)?;
        self.tagged(fields)
    }

    /// Walks through these fields only.
    pub(super) fn first(&mut self, fields: &[Field]) -> Option<()> {
        for field in fields {
            if (field.since..=field.until).contains(&self.version) {
                self.shape(field.shape)?;
            }
        }
        Some(())
    }

    /// Walks through a string.
    pub(super) fn text(&mut self) -> Option<()> {
        self.shape(Shape::Text)
    }

    /// Continues from here, with or without flexible fields.
    pub(super) fn then(self, flexible: bool) -> Self {
        Self { flexible, ..self }
    }

    fn shape(&mut self, shape: Shape) -> Option<()> {
        match shape {
            Shape::Fixed(bytes) => self.skip(bytes),
            Shape::Text if !self.flexible => {
                let length = i16::from_be_bytes(self.take()?);
                self.skip_nullable(i32::from(length))
            }
            Shape::Blob if !self.flexible => {
                let length = i32::from_be_bytes(self.take()?);
                self.skip_nullable(length)
            }
            Shape::Text | Shape::Blob => {
                let length = self.varint()?;
                self.skip(length.saturating_sub(1))
            }
            Shape::List(element) => {
                for _ in 0..self.length()? {
                    self.shape(*element)?;
                }
                Some(())
            }
            Shape::Many(fields) => {
                for _ in 0..self.length()? {
                    self.fields(fields)?;
                }
                Some(())
            }
            Shape::One(fields) => self.fields(fields),
            Shape::Address => self.address(),
            Shape::Tagged(..) => Some(()),
        }
    }

    fn address(&mut self) -> Option<()> {
        let from = self.at();
        let length = if self.flexible {
            self.varint()?.checked_sub(1)?
        } else {
            usize::try_from(i16::from_be_bytes(self.take()?)).ok()?
        };
        let host = std::str::from_utf8(self.rest.get(..length)?).ok()?.to_owned();
        self.skip(length)?;
        let port = i32::from_be_bytes(self.take()?);
        self.seen.addresses.push((from..self.at(), host, port));
        Some(())
    }

    /// The number of elements of an array; none if it is null.
    pub(super) fn length(&mut self) -> Option<usize> {
        let length = if self.flexible {
            self.varint()?.saturating_sub(1)
        } else {
            match i32::from_be_bytes(self.take()?) {
                -1 => 0,
                length => usize::try_from(length).ok()?,
            }
        };
        // Every element has at least one byte.
        if length > self.rest.len() {
            return None;
        }
        self.elements += length;
        (self.elements <= ELEMENTS_MAX).then_some(length)
    }

    /// The tagged fields at the end of a flexible structure.
    pub(super) fn tags(&mut self) -> Option<()> {
        self.tagged(&[])
    }

    fn tagged(&mut self, fields: &[Field]) -> Option<()> {
        if !self.flexible {
            return Some(());
        }
        for _ in 0..self.length_of_tags()? {
            let number = self.varint()?;
            let size_from = self.at();
            let size = self.varint()?;
            let from = self.at();
            let until = from.checked_add(size)?;
            if let Some(shape) = self.known(fields, number) {
                let addresses = self.seen.addresses.len();
                self.shape(shape)?;
                // The contents must end where the size says: the decoder ignores the size of a
                // tagged field that it knows, and would continue elsewhere.
                if self.at() != until {
                    return None;
                }
                // Only one tagged field contains addresses.
                if self.seen.addresses.len() > addresses
                    && self.seen.tag.replace((size_from..from, from..until)).is_some()
                {
                    return None;
                }
            } else {
                self.skip(size)?;
            }
        }
        Some(())
    }

    fn known(&self, fields: &[Field], number: usize) -> Option<Shape> {
        fields.iter().find_map(|field| match field.shape {
            Shape::Tagged(own, shape)
                if own == number && (field.since..=field.until).contains(&self.version) =>
            {
                Some(*shape)
            }
            Shape::Tagged(..)
            | Shape::Fixed(_)
            | Shape::Text
            | Shape::Blob
            | Shape::List(_)
            | Shape::Many(_)
            | Shape::One(_)
            | Shape::Address => None,
        })
    }

    fn length_of_tags(&mut self) -> Option<usize> {
        let tags = self.varint()?;
        self.elements += tags;
        (tags <= self.rest.len() && self.elements <= ELEMENTS_MAX).then_some(tags)
    }

    fn varint(&mut self) -> Option<usize> {
        let mut value: u32 = 0;
        for shift in [0, 7, 14, 21, 28] {
            let [byte] = self.take()?;
            value |= u32::from(byte & 0x7f).checked_shl(shift)?;
            if byte & 0x80 == 0 {
                return usize::try_from(value).ok();
            }
        }
        None
    }

    fn skip_nullable(&mut self, length: i32) -> Option<()> {
        if length == -1 { Some(()) } else { self.skip(usize::try_from(length).ok()?) }
    }

    pub(super) fn skip(&mut self, bytes: usize) -> Option<()> {
        self.rest = self.rest.get(bytes..)?;
        Some(())
    }

    pub(super) fn take<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (head, rest) = self.rest.split_first_chunk()?;
        self.rest = rest;
        Some(*head)
    }
}
