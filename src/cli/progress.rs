//! How far a run is, on standard error: a bar on a terminal, a line a trial elsewhere.

use std::io::{IsTerminal, Write};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::run::Milestone;

/// Shows how far a run is.
pub(super) struct Progress {
    bar: Option<ProgressBar>,
    parts: &'static str,
}

impl Progress {
    /// Of so many trials; these parts are started and stopped.
    pub(super) fn new(trials: u32, parts: &'static str) -> Self {
        if !std::io::stderr().is_terminal() {
            return Self { bar: None, parts };
        }
        let bar = ProgressBar::with_draw_target(
            Some(u64::from(trials)),
            ProgressDrawTarget::stderr_with_hz(5),
        );
        // A template that does not parse would only look plainer.
        let style = ProgressStyle::with_template("{spinner} {elapsed:>4} {wide_bar} {msg}");
        bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
        bar.enable_steady_tick(Duration::from_millis(200));
        Self { bar: Some(bar), parts }
    }

    /// Shows a milestone.
    pub(super) fn tell(&self, milestone: Milestone) {
        let (done, text) = match milestone {
            Milestone::Starting => (0, format!("starting {}", self.parts)),
            Milestone::Trial { number, of } => {
                (number.0.saturating_sub(1), format!("trial {number} of {of}"))
            }
            Milestone::Stopping => (u32::MAX, format!("stopping {}", self.parts)),
        };
        match &self.bar {
            Some(bar) if milestone == Milestone::Stopping => {
                bar.set_message(text);
                bar.finish_and_clear();
            }
            Some(bar) => {
                bar.set_position(u64::from(done));
                bar.set_message(text);
            }
            // Nobody reads it: no reason to stop.
            None => drop(writeln!(std::io::stderr(), "{text}")),
        }
    }
}
