//! Colours. Without them, the words and bold text carry the same information.

use ratatui::style::{Color, Modifier, Style};

use super::Level;

/// The colours of a page.
#[derive(Debug, Clone, Copy)]
pub(super) struct Palette {
    colour: bool,
}

impl Palette {
    pub(super) fn new(colour: bool) -> Self {
        Self { colour }
    }

    pub(super) fn plain(self) -> Style {
        Style::new()
    }

    pub(super) fn faint(self) -> Style {
        Style::new().add_modifier(Modifier::DIM)
    }

    pub(super) fn alarm(self) -> Style {
        self.strong(Color::Red)
    }

    pub(super) fn caution(self) -> Style {
        self.strong(Color::Yellow)
    }

    pub(super) fn level(self, level: Level) -> Style {
        match level {
            Level::Led => self.strong(Color::Green),
            Level::Starting | Level::Degraded => self.caution(),
            Level::Down => self.alarm().add_modifier(Modifier::REVERSED),
        }
    }

    fn strong(self, colour: Color) -> Style {
        let bold = Style::new().add_modifier(Modifier::BOLD);
        if self.colour { bold.fg(colour) } else { bold }
    }
}
