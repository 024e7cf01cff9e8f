//! The terminal of `tandem up`: draws the page, reads keys, and restores the terminal at the end.

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

/// How often to draw the page without events, because the times on it change.
const IDLE: Duration = Duration::from_millis(250);
/// How long to wait for a key before checking for events.
const LOOK: Duration = Duration::from_millis(40);
/// With more roles than this, the page starts folded: one line for roles with the same leaders.
const SINGLE_MAX: usize = 64;

/// The keys and their actions, except for those that end the run.
const KEYS: [(KeyCode, KeyAction); 10] = [
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

/// A page on the terminal. Dropping it restores the terminal.
pub(super) struct Terminal {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

/// Whether the standard streams are a terminal that can show a page.
pub(super) fn is_there() -> bool {
    let dumb = std::env::var_os("TERM").is_none_or(|term| term.is_empty() || term == "dumb");
    io::stdout().is_terminal() && io::stdin().is_terminal() && !dumb
}

impl Terminal {
    /// Shows the state of `service`. Meanwhile, the log of this process goes to the file `log`.
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
        // If the thread could not be started, dropping `shown` restores the terminal.
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

/// The state of the thread that draws.
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
            // The terminal is gone; SIGHUP ends the run.
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
            let changed = event::poll(LOOK)? && self.handle(&event::read()?);
            if self.take_events() || changed {
                return Ok(());
            }
        }
        Ok(())
    }

    /// Takes all new events. Returns whether there were any.
    fn take_events(&mut self) -> bool {
        let mut any = false;
        loop {
            match self.coming.try_recv() {
                Ok(event) => self.screen.push_event(&event),
                // Only the latest events are shown anyway.
                Err(TryRecvError::Lagged(_)) => {}
                Err(TryRecvError::Empty | TryRecvError::Closed) => return any,
            }
            any = true;
        }
    }

    /// Handles input. Returns whether the page must be drawn again.
    fn handle(&mut self, input: &Input) -> bool {
        let Input::Key(KeyEvent { code, modifiers, kind, .. }) = input else { return true };
        if *kind == KeyEventKind::Release {
            return false;
        }
        let control = modifiers.contains(KeyModifiers::CONTROL);
        if *code == KeyCode::Char('q') || (control && *code == KeyCode::Char('c')) {
            self.interrupt.ask();
            return true;
        }
        let action = KEYS.iter().find(|(key, _)| key == code).map(|(_, action)| *action);
        action.map(|action| self.screen.apply(action)).is_some()
    }
}
