//! Measures a request against its shape, without reserving anything.
//!
//! An array's length is four bytes that anybody can write; here every element must really be there,
//! and there may be so many in all, before the decoder sees the request.

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

/// Walks along a request.
#[derive(Debug)]
pub(super) struct Walker<'a> {
    rest: &'a [u8],
    version: i16,
    flexible: bool,
    elements: usize,
}

impl<'a> Walker<'a> {
    pub(super) const fn new(bytes: &'a [u8], version: i16, flexible: bool) -> Self {
        Self { rest: bytes, version, flexible, elements: 0 }
    }

    /// Whether the bytes begin with these fields; nothing if not.
    pub(super) fn fields(&mut self, fields: &[Field]) -> Option<()> {
        for field in fields {
            if (field.since..=field.until).contains(&self.version) {
                self.shape(field.shape)?;
            }
        }
        self.tags()
    }

    /// One text more.
    pub(super) fn text(&mut self) -> Option<()> {
        self.shape(Shape::Text)
    }

    /// Goes on from here, by other rules.
    pub(super) const fn then(self, flexible: bool) -> Self {
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
        }
    }

    /// How many elements an array has; none where it is null.
    fn length(&mut self) -> Option<usize> {
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
        if !self.flexible {
            return Some(());
        }
        for _ in 0..self.length_of_tags()? {
            self.varint()?;
            let bytes = self.varint()?;
            self.skip(bytes)?;
        }
        Some(())
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

    fn skip(&mut self, bytes: usize) -> Option<()> {
        self.rest = self.rest.get(bytes..)?;
        Some(())
    }

    fn take<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (head, rest) = self.rest.split_first_chunk()?;
        self.rest = rest;
        Some(*head)
    }
}
