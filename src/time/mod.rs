//! Two clocks that must not be confused, and durations as people write them.
//!
//! [`Mono`] orders and measures on one host: all processes of a host share it, and it goes on while
//! the host is suspended. [`Wall`] is what messages are stamped with, and what a fault may shift:
//! [`WallClock`]. Only [`Mono::now`], [`Wall::now`] and [`Suspends`] read the system's clocks;
//! everything else takes `now` as an argument.

mod offset;
mod run_delay;
mod skew;
mod suspend;

use std::fmt;
use std::ops::{Add, Sub};
use std::str::FromStr;
use std::time::Duration;

use rustix::time::{ClockId, Timespec, clock_gettime};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use run_delay::{LATE_LEAST, RunDelay};
pub use skew::{Skew, WallClock};
pub use suspend::Suspends;

/// An instant of CLOCK_BOOTTIME, in nanoseconds since the host booted, those in suspend included: a
/// claim must not outlive a suspend.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(transparent)]
pub struct Mono(pub u64);

/// An instant of the wall clock, in milliseconds since 1970-01-01 UTC, as Kafka stamps messages.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(transparent)]
pub struct Wall(pub i64);

impl Mono {
    /// The beginning of time: no claim reaches back to it, so it serves as *never*.
    pub const ZERO: Self = Self(0);

    /// Reads the clock.
    #[must_use]
    pub fn now() -> Self {
        Self::of(clock_gettime(ClockId::Boottime)) + offset::offset()
    }

    fn of(at: Timespec) -> Self {
        let seconds = u64::try_from(at.tv_sec).unwrap_or(0);
        let nanos = u64::try_from(at.tv_nsec).unwrap_or(0);
        Self(seconds.saturating_mul(1_000_000_000).saturating_add(nanos))
    }

    /// How long it is from `earlier` to here; nothing if that lies ahead.
    #[must_use]
    pub fn since(self, earlier: Self) -> Duration {
        Duration::from_nanos(self.0.saturating_sub(earlier.0))
    }
}

impl Wall {
    /// Reads the clock.
    #[must_use]
    pub fn now() -> Self {
        let at = clock_gettime(ClockId::Realtime);
        Self(at.tv_sec.saturating_mul(1_000).saturating_add(at.tv_nsec / 1_000_000))
    }
}

/// Saturates: an instant beyond the end of time is the end of time.
impl Add<Duration> for Mono {
    type Output = Self;
    fn add(self, span: Duration) -> Self {
        Self(self.0.saturating_add(u64::try_from(span.as_nanos()).unwrap_or(u64::MAX)))
    }
}

/// Saturates: an instant before the boot is the boot.
impl Sub<Duration> for Mono {
    type Output = Self;
    fn sub(self, span: Duration) -> Self {
        Self(self.0.saturating_sub(u64::try_from(span.as_nanos()).unwrap_or(u64::MAX)))
    }
}

/// A duration as files and arguments write it: `250ms`, `1.5s`, `1m 30s`.
///
/// A number with one of `ns us ms s m h`, or several, largest first or not, added up. There is no
/// sign and no bare number: a duration without its unit is how outages start.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
#[serde(try_from = "String", into = "String")]
pub struct Span(pub Duration);

/// Why a text is no duration.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SpanError {
    /// A number stands alone.
    #[error("{0:?} has no unit: write {0}ms, {0}s or {0}m")]
    Unit(String),
    /// Not a duration at all.
    #[error("{0:?} is no duration: write a number and one of ns, us, ms, s, m, h, as in 250ms")]
    Form(String),
    /// More than a year.
    #[error("{0:?} is longer than a year")]
    Long(String),
}

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
    /// So many milliseconds.
    #[must_use]
    pub const fn ms(ms: u64) -> Self {
        Self(Duration::from_millis(ms))
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

/// `value` times `scale`, exactly: a fraction finer than a nanosecond is refused.
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

/// The shortest sum that is exact: `90s` is written `1m 30s`, 1.5 s is `1s 500ms`.
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

impl JsonSchema for Span {
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

    #[test]
    fn differences_saturate() {
        assert_eq!(Mono(5).since(Mono(9)), Duration::ZERO);
        assert_eq!(Mono(5) - Duration::from_secs(1), Mono::ZERO);
        assert_eq!(Mono(u64::MAX) + Duration::from_secs(1), Mono(u64::MAX));
    }
}
