//! How busy the host is, as the kernel tells it: whether a measurement can be believed.

use std::time::Duration;

use tandem::time::Mono;

/// Above this share of the time in which something that could run waited for a core, or for a disk,
/// what is measured is the host. Six members, two brokers and a controller alone on two cores make
/// a few percent.
const BUSY: f64 = 0.25;

/// Watches the host from now on.
pub struct Pressure {
    began: Mono,
    waited: [Option<Duration>; 2],
}

impl Pressure {
    /// From now on.
    pub fn watch() -> Self {
        Self { began: Mono::now(), waited: waited() }
    }

    /// The greater share of the time since then in which something waited for a core, or for a
    /// disk; nothing where the kernel does not tell.
    pub fn share(&self) -> Option<f64> {
        let lasted = Mono::now().since(self.began).as_secs_f64().max(0.001);
        let pairs = waited().into_iter().zip(self.waited);
        let shares =
            pairs.filter_map(|(now, then)| Some(now?.saturating_sub(then?).as_secs_f64() / lasted));
        shares.reduce(f64::max)
    }

    /// Whether that is too much for a measurement.
    pub fn is_busy(&self) -> bool {
        self.share().is_some_and(|share| share > BUSY)
    }
}

/// For how long, since the host booted, something that could run has waited for a core, and for a
/// disk (`Documentation/accounting/psi.rst`, `some`).
fn waited() -> [Option<Duration>; 2] {
    ["cpu", "io"].map(|what| {
        let text = std::fs::read_to_string(format!("/proc/pressure/{what}")).ok()?;
        let total = text.lines().next()?.rsplit_once("total=")?.1;
        total.trim().parse().ok().map(Duration::from_micros)
    })
}
