//! The terminal of `tandem up`: draws the page, hears keys, and leaves the terminal as it was.

use std::fs::File;
use std::io::{self, IsTerminal};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{Builder, JoinHandle};
use std::time::Duration;

use ratatui::DefaultTerminal;
use ratatui::crossterm::event::{
    self, Event as Input, KeyCode, KeyEvent, KeyEventKind, KeyModifiers,
};
use tokio::sync::broadcast::Receiver;
use tokio::sync::broadcast::error::TryRecvError;

use super::signals::Interrupt;
use crate::live_view::{Event, KeyAction, Screen};
use crate::run::Service;
use crate::status_socket::Source;
use crate::time::Mono;

/// How often the page is drawn when nothing happens: times go on.
const IDLE: Duration = Duration::from_millis(250);
/// How long a key is waited for before events are looked at.
const LOOK: Duration = Duration::from_millis(40);
/// With more roles than this, those with the same leaders are one line at first.
const SINGLE_MAX: usize = 64;

/// What keys do, beside those that end it.
const STROKES: [(KeyCode, KeyAction); 10] = [
    (KeyCode::Char('f'), KeyAction::Fold),
    (KeyCode::Up, KeyAction::Up),
    (KeyCode::Char('k'), KeyAction::Up),
    (KeyCode::Down, KeyAction::Down),
    (KeyCode::Char('j'), KeyAction::Down),
    (KeyCode::PageUp, KeyAction::PageUp),
    (KeyCode::PageDown, KeyAction::PageDown),
    (KeyCode::Char(' '), KeyAction::PageDown),
    (KeyCode::Home, KeyAction::Home),
    (KeyCode::End, KeyAction::End),
];

/// A page on the terminal. Dropped, the terminal is as it was.
pub(super) struct Terminal {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

/// Whether there is a terminal that can show a page.
pub(super) fn is_there() -> bool {
    let dumb = std::env::var_os("TERM").is_none_or(|term| term.is_empty() || term == "dumb");
    io::stdout().is_terminal() && io::stdin().is_terminal() && !dumb
}

impl Terminal {
    /// Shows `service`, whose log goes to `log` while it is shown.
    pub(super) fn start(
        service: &Arc<Service>,
        interrupt: &Interrupt,
        log: &Path,
    ) -> io::Result<Self> {
        let colour = std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
        super::log_aside(Some(File::options().append(true).create(true).open(log)?));
        let terminal = ratatui::try_init().inspect_err(|_| super::log_aside(None))?;
        interrupt.on_terminal(true);
        let stop = Arc::new(AtomicBool::new(false));
        let (_, coming) = service.feed();
        let folded = service.picture().roles.len() > SINGLE_MAX;
        let page = Page {
            service: Arc::clone(service),
            interrupt: interrupt.clone(),
            stop: Arc::clone(&stop),
            coming,
            screen: Screen::new(colour, folded),
        };
        let thread = Builder::new().name("terminal".to_owned()).spawn(move || page.show(terminal));
        let mut shown = Self { stop, thread: None };
        // Where no thread is to be had, dropping this restores the terminal.
        shown.thread = Some(thread?);
        Ok(shown)
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            thread.join().ok();
        }
        super::log_aside(None);
        ratatui::try_restore().ok();
    }
}

/// What the thread has.
struct Page {
    service: Arc<Service>,
    interrupt: Interrupt,
    stop: Arc<AtomicBool>,
    coming: Receiver<Arc<Event>>,
    screen: Screen,
}

impl Page {
    fn show(mut self, mut terminal: DefaultTerminal) {
        while !self.stop.load(Ordering::Relaxed) {
            // A terminal that is gone shows nothing, and its end is told by a signal.
            if self.turn(&mut terminal).is_err() {
                return;
            }
        }
    }

    /// Draws, then waits until there is something new to draw.
    fn turn(&mut self, terminal: &mut DefaultTerminal) -> io::Result<()> {
        let picture = self.service.picture();
        terminal.draw(|frame| self.screen.draw(frame, &picture))?;
        let drawn = Mono::now();
        while !self.stop.load(Ordering::Relaxed) && Mono::now().since(drawn) < IDLE {
            let struck = event::poll(LOOK)? && self.hear(&event::read()?);
            if self.news() || struck {
                return Ok(());
            }
        }
        Ok(())
    }

    /// Whether something happened.
    fn news(&mut self) -> bool {
        let mut any = false;
        loop {
            match self.coming.try_recv() {
                Ok(event) => self.screen.push_event(&event),
                // Only the latest are shown anyway.
                Err(TryRecvError::Lagged(_)) => {}
                Err(TryRecvError::Empty | TryRecvError::Closed) => return any,
            }
            any = true;
        }
    }

    /// Whether the page looks different for it.
    fn hear(&mut self, input: &Input) -> bool {
        let Input::Key(KeyEvent { code, modifiers, kind, .. }) = input else { return true };
        if *kind == KeyEventKind::Release {
            return false;
        }
        let control = modifiers.contains(KeyModifiers::CONTROL);
        if *code == KeyCode::Char('q') || (control && *code == KeyCode::Char('c')) {
            self.interrupt.ask();
            return true;
        }
        let stroke = STROKES.iter().find(|(key, _)| key == code).map(|(_, stroke)| *stroke);
        stroke.map(|stroke| self.screen.apply(stroke)).is_some()
    }
}
