//! `traces.otlp.json`: all traces of a run as one OTLP document (`ExportTraceServiceRequest` in the
//! JSON form of proto3), which Jaeger's page and the collector's `otlpjson` connector read.
//!
//! It is computed from the journal alone. It holds whole traces, in order, up to a bound. Spans
//! that do not fit are counted; `tandem export` sends them as well.

use std::io::{self, Write};

use super::{RunContext, Traces};

/// The most bytes of the document.
pub const SIZE_MAX: u64 = 256 << 20;

/// How many spans were written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Written {
    /// The spans in the document.
    pub spans: u64,
    /// The spans that did not fit.
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
/// Writing to `out` fails.
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
