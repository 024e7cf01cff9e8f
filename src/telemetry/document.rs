//! `traces.otlp.json`: all traces of a run as one OTLP document (`ExportTraceServiceRequest` in the
//! JSON form of proto3), which Jaeger's page and the collector's `otlpjson` connector read.
//!
//! It is computed from the journal alone. It takes whole traces, in order, up to a bound; what does
//! not fit is counted, and `tandem export` sends it all the same.

use std::io::{self, Write};

use super::{RunContext, Traces};

/// The most that the document may hold.
pub const SIZE_MAX: u64 = 256 << 20;

/// What was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Written {
    /// So many spans stand in the document.
    pub spans: u64,
    /// So many had no room.
    pub left_out: u64,
}

impl Written {
    /// How many spans the run has.
    #[must_use]
    pub fn all(&self) -> u64 {
        self.spans.saturating_add(self.left_out)
    }
}

/// Writes the document, of at most about `most` bytes.
///
/// # Errors
/// `out` refuses.
pub fn write(traces: &Traces, most: u64, out: &mut impl Write) -> io::Result<Written> {
    let json = |value: Result<Vec<u8>, serde_json::Error>| value.map_err(io::Error::other);
    out.write_all(b"{\"resourceSpans\":[{\"resource\":")?;
    out.write_all(&json(serde_json::to_vec(&traces.context().resource()))?)?;
    out.write_all(b",\"scopeSpans\":[{\"scope\":")?;
    out.write_all(&json(serde_json::to_vec(&RunContext::scope()))?)?;
    out.write_all(b",\"spans\":[")?;
    let (mut written, mut size, mut full) = (Written::default(), 0u64, false);
    let mut between: &[u8] = b"\n";
    let mut text = Vec::new();
    for (trace, count) in traces.iter().zip(traces.sizes()) {
        let count = u64::try_from(count).unwrap_or(u64::MAX);
        if !full {
            text.clear();
            for span in trace {
                text.extend_from_slice(between);
                serde_json::to_writer(&mut text, &span)?;
                between = b",\n";
            }
            size = size.saturating_add(u64::try_from(text.len()).unwrap_or(u64::MAX));
            full = size > most;
        }
        if full {
            written.left_out = written.left_out.saturating_add(count);
        } else {
            out.write_all(&text)?;
            written.spans = written.spans.saturating_add(count);
        }
    }
    out.write_all(b"\n]}]}]}\n")?;
    Ok(written)
}
