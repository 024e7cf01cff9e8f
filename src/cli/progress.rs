//! Shows the progress of a run on standard error: a bar on a terminal, else one line per trial. A
//! thread of its own prints it, so that a blocked terminal never delays the healing of faults.

use std::io::IsTerminal;
use std::sync::mpsc::{SyncSender, sync_channel};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::log_lines;
use crate::run::Milestone;

/// How many milestones may wait; further ones are not shown.
const WAITING: usize = 64;

/// Shows the progress of a run.
pub(super) struct Progress {
    milestones: Option<SyncSender<Milestone>>,
}

struct Display {
    bar: Option<ProgressBar>,
    parts: &'static str,
}

impl Progress {
    /// Progress for `trials` trials; `parts` names what is started and stopped. If no thread can be
    /// started, nothing is shown.
    pub(super) fn new(trials: u32, parts: &'static str) -> Self {
        let (milestones, coming) = sync_channel(WAITING);
        let thread = std::thread::Builder::new().name("progress".to_owned());
        let shown = thread.spawn(move || {
            let display = Display::new(trials, parts);
            coming.iter().for_each(|milestone| display.show(&milestone));
        });
        Self { milestones: shown.is_ok().then_some(milestones) }
    }

    /// Shows a milestone.
    pub(super) fn show(&self, milestone: Milestone) {
        if let Some(milestones) = &self.milestones {
            milestones.try_send(milestone).ok();
        }
    }
}

impl Display {
    fn new(trials: u32, parts: &'static str) -> Self {
        if !std::io::stderr().is_terminal() {
            return Self { bar: None, parts };
        }
        let bar = ProgressBar::with_draw_target(
            Some(u64::from(trials)),
            ProgressDrawTarget::stderr_with_hz(5),
        );
        // If the template did not parse, the default style would do.
        let style = ProgressStyle::with_template("{spinner} {elapsed:>4} {wide_bar} {msg}");
        bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
        bar.enable_steady_tick(Duration::from_millis(200));
        Self { bar: Some(bar), parts }
    }

    fn show(&self, milestone: &Milestone) {
        let (done, text) = match milestone {
            Milestone::Starting => (0, format!("starting {}", self.parts)),
            Milestone::Played { trial, of } => {
                let line = format!("trial {} of {of}: {trial}", trial.number);
                // One line per trial, above the bar if there is one.
                match &self.bar {
                    Some(bar) if !bar.is_finished() => bar.println(line),
                    Some(_) | None => log_lines::say(&line),
                }
                return;
            }
            Milestone::Trial { number, of } => {
                (number.0.saturating_sub(1), format!("trial {number} of {of}"))
            }
            Milestone::Stopping => (u32::MAX, format!("stopping {}", self.parts)),
        };
        match &self.bar {
            Some(bar) if *milestone == Milestone::Stopping => {
                bar.set_message(text);
                bar.finish_and_clear();
            }
            Some(bar) => {
                bar.set_position(u64::from(done));
                bar.set_message(text);
            }
            // Without a bar, a trial is only reported when it is over.
            None if matches!(milestone, Milestone::Trial { .. }) => {}
            None => log_lines::say(&text),
        }
    }
}
