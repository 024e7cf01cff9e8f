//! Durations as people write them.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

#[cfg(feature = "serde")]
use serde::{Deserialize, Serialize};

/// A duration as files and arguments write it: `250ms`, `1.5s`, `1m 30s`.
///
/// One or more numbers, each with one of the units `ns us ms s m h`, in any order, added up. There
/// is no sign, and a bare number is refused: a duration without a unit is a common cause of
/// outages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
#[cfg_attr(
    feature = "serde",
    derive(Serialize, Deserialize),
    serde(try_from = "String", into = "String")
)]
pub struct Span(pub Duration);

/// Why a text is not a duration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SpanError {
    /// A number has no unit.
    Unit(String),
    /// The text is not a duration.
    Form(String),
    /// The duration is longer than a year.
    Long(String),
}

impl fmt::Display for SpanError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unit(text) => {
                write!(f, "{text:?} has no unit: write {text}ms, {text}s or {text}m")
            }
            Self::Form(text) => write!(
                f,
                "{text:?} is no duration: write a number and one of ns, us, ms, s, m, h, as in \
                 250ms"
            ),
            Self::Long(text) => write!(f, "{text:?} is longer than a year"),
        }
    }
}

impl std::error::Error for SpanError {}

const UNITS: [(&str, u64); 6] = [
    ("h", 3_600_000_000_000),
    ("m", 60_000_000_000),
    ("s", 1_000_000_000),
    ("ms", 1_000_000),
    ("us", 1_000),
    ("ns", 1),
];
const YEAR_NS: u64 = 31_536_000_000_000_000;

impl Span {
    /// A duration of `ms` milliseconds.
    #[must_use]
    pub const fn ms(ms: u64) -> Self {
        Self(Duration::from_millis(ms))
    }

    /// Whether it is 0.
    #[must_use]
    pub const fn is_zero(&self) -> bool {
        self.0.is_zero()
    }

    /// The duration itself.
    #[must_use]
    pub const fn get(self) -> Duration {
        self.0
    }
}

impl FromStr for Span {
    type Err = SpanError;

    fn from_str(text: &str) -> Result<Self, SpanError> {
        let form = || SpanError::Form(text.to_owned());
        let mut rest = text.trim();
        let mut total: u64 = 0;
        loop {
            let number = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
            let (value, tail) = rest.split_at(number);
            let unit = tail.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(tail.len());
            let (unit, tail) = tail.split_at(unit);
            if unit.is_empty() && tail.is_empty() && value.parse::<f64>().is_ok() {
                return Err(SpanError::Unit(text.trim().to_owned()));
            }
            let (_, scale) = UNITS.iter().find(|(name, _)| *name == unit).ok_or_else(form)?;
            let nanos = scaled(value, *scale).ok_or_else(form)?;
            total = total.saturating_add(nanos);
            if total > YEAR_NS {
                return Err(SpanError::Long(text.to_owned()));
            }
            rest = tail.trim_start();
            if rest.is_empty() {
                return Ok(Self(Duration::from_nanos(total)));
            }
        }
    }
}

/// `value` times `scale`, exactly. A fraction finer than a nanosecond is refused.
fn scaled(value: &str, scale: u64) -> Option<u64> {
    let (whole, fraction) = value.split_once('.').unwrap_or((value, ""));
    let digits = |text: &str| text.chars().all(|c| c.is_ascii_digit());
    if whole.is_empty() || !digits(fraction) || (value.contains('.') && fraction.is_empty()) {
        return None;
    }
    let whole: u64 = whole.parse().unwrap_or(u64::MAX);
    let numerator: u64 = if fraction.is_empty() { 0 } else { fraction.parse().ok()? };
    let denominator = 10u64.checked_pow(u32::try_from(fraction.len()).ok()?)?;
    let part = numerator.checked_mul(scale)?;
    (part % denominator == 0)
        .then(|| whole.saturating_mul(scale).saturating_add(part / denominator))
}

/// Writes the shortest exact sum: `90s` becomes `1m 30s`, 1.5 s becomes `1s 500ms`.
impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut rest = u64::try_from(self.0.as_nanos()).unwrap_or(u64::MAX);
        if rest == 0 {
            return f.pad("0s");
        }
        let mut parts = Vec::new();
        for (unit, scale) in UNITS {
            if rest >= scale {
                parts.push(format!("{}{unit}", rest / scale));
                rest %= scale;
            }
        }
        f.pad(&parts.join(" "))
    }
}

impl TryFrom<String> for Span {
    type Error = SpanError;
    fn try_from(text: String) -> Result<Self, SpanError> {
        text.parse()
    }
}

impl From<Span> for String {
    fn from(span: Span) -> Self {
        span.to_string()
    }
}

#[cfg(feature = "serde")]
impl schemars::JsonSchema for Span {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Duration".into()
    }
    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "type": "string",
            "description": "A sum of numbers with units: 250ms, 1.5s, 1m 30s.",
            "pattern": r"^\s*\d+(\.\d+)?(ns|us|ms|s|m|h)(\s*\d+(\.\d+)?(ns|us|ms|s|m|h))*\s*$"
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_read_as_people_write_them() {
        let ms = |text: &str| text.parse::<Span>().map(|span| span.get().as_millis());
        assert_eq!(ms("250ms"), Ok(250));
        assert_eq!(ms("1.5s"), Ok(1_500));
        assert_eq!(ms("1m 30s"), Ok(90_000));
        assert_eq!(ms("1h1ms"), Ok(3_600_001));
        assert_eq!(ms("0s"), Ok(0));
        assert_eq!(ms("300"), Err(SpanError::Unit("300".into())));
        for bad in ["", "-1s", "1 s", "s", "1.s", ".5s", "1.5ns", "1d", "1e3s", "1s,"] {
            assert!(matches!(ms(bad), Err(SpanError::Form(_))), "{bad:?}");
        }
        assert_eq!(ms("9000h"), Err(SpanError::Long("9000h".into())));
        assert_eq!(
            ms("99999999999999999999h"),
            Err(SpanError::Long("99999999999999999999h".into()))
        );
    }

    #[test]
    fn durations_write_what_they_read() {
        for text in ["1s", "300ms", "1m 30s", "1s 500ms", "0s", "1h 1ns"] {
            assert_eq!(text.parse::<Span>().map(|span| span.to_string()), Ok(text.to_owned()));
        }
    }
}
