//! Measures a request or an answer against its shape, without reserving anything.
//!
//! An array's length is four bytes that anybody can write; here every element must really be there,
//! and there may be so many in all, before the decoder sees the request.

use std::ops::Range;

/// What a field looks like on the wire.
#[derive(Debug, Clone, Copy)]
pub(super) enum Shape {
    /// So many bytes.
    Fixed(usize),
    /// Text that may be null.
    Text,
    /// Bytes that may be null: metadata, assignments, records.
    Blob,
    /// An array of plain values.
    List(&'static Self),
    /// An array of structures.
    Many(&'static [Field]),
    /// A structure by itself.
    One(&'static [Field]),
    /// Host and port of a broker.
    Place,
    /// A tagged field of this number, wherever it stands in the list.
    Tagged(usize, &'static Self),
}

/// A field, and the versions that have it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Field {
    pub(super) since: i16,
    pub(super) until: i16,
    pub(super) shape: Shape,
}

/// More elements than any honest request has; each becomes a structure of some hundred bytes.
const ELEMENTS_MAX: usize = 100_000;

/// Walks along a request or an answer, and remembers where addresses stand.
#[derive(Debug)]
pub(super) struct Walker<'a> {
    whole: &'a [u8],
    rest: &'a [u8],
    version: i16,
    flexible: bool,
    elements: usize,
    seen: Seen,
}

/// What was met on the way, as places in the bytes.
#[derive(Debug, Default)]
pub(super) struct Seen {
    /// Each host with the port behind it, and its text.
    pub(super) places: Vec<(Range<usize>, String, i32)>,
    /// The size of the tagged field in which they stand, and its contents.
    pub(super) tag: Option<(Range<usize>, Range<usize>)>,
}

impl<'a> Walker<'a> {
    pub(super) fn new(bytes: &'a [u8], version: i16, flexible: bool) -> Self {
        let seen = Seen::default();
        Self { whole: bytes, rest: bytes, version, flexible, elements: 0, seen }
    }

    /// How far it has come.
    pub(super) const fn at(&self) -> usize {
        self.whole.len().saturating_sub(self.rest.len())
    }

    /// What was met.
    pub(super) fn seen(self) -> Seen {
        self.seen
    }

    /// Whether the bytes begin with these fields; nothing if not.
    pub(super) fn fields(&mut self, fields: &[Field]) -> Option<()> {
        self.first(fields)?;
        self.tagged(fields)
    }

    /// The same, where more may follow that does not matter.
    pub(super) fn first(&mut self, fields: &[Field]) -> Option<()> {
        for field in fields {
            if (field.since..=field.until).contains(&self.version) {
                self.shape(field.shape)?;
            }
        }
        Some(())
    }

    /// One text more.
    pub(super) fn text(&mut self) -> Option<()> {
        self.shape(Shape::Text)
    }

    /// Goes on from here, by other rules.
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
            Shape::Place => self.place(),
            Shape::Tagged(..) => Some(()),
        }
    }

    fn place(&mut self) -> Option<()> {
        let from = self.at();
        let length = if self.flexible {
            self.varint()?.checked_sub(1)?
        } else {
            usize::try_from(i16::from_be_bytes(self.take()?)).ok()?
        };
        let host = std::str::from_utf8(self.rest.get(..length)?).ok()?.to_owned();
        self.skip(length)?;
        let port = i32::from_be_bytes(self.take()?);
        self.seen.places.push((from..self.at(), host, port));
        Some(())
    }

    /// How many elements an array has; none where it is null.
    pub(super) fn length(&mut self) -> Option<usize> {
        let length = if self.flexible {
            self.varint()?.saturating_sub(1)
        } else {
            match i32::from_be_bytes(self.take()?) {
                -1 => 0,
                length => usize::try_from(length).ok()?,
            }
        };
        // No element is shorter than a byte.
        if length > self.rest.len() {
            return None;
        }
        self.elements += length;
        (self.elements <= ELEMENTS_MAX).then_some(length)
    }

    /// The tagged fields that end every flexible structure.
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
                let places = self.seen.places.len();
                self.shape(shape)?;
                // It ends where it says: the decoder believes what stands in a field that it knows,
                // and would go on elsewhere.
                if self.at() != until {
                    return None;
                }
                // Addresses stand in one of a kind.
                if self.seen.places.len() > places
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
            | Shape::Place => None,
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
