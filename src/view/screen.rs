//! The terminal's page: what it shows, where it is scrolled to, and what keys do. It knows a frame
//! to draw on, and no terminal.

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, Borders, Paragraph};

use super::paint::Palette;
use super::picture::{Picture, RolePicture};
use super::{Event, lines};

/// How many events the page remembers.
const EVENTS_MAX: usize = 200;
/// How many lines of events are shown where there is room.
const EVENTS_SHOWN: u16 = 8;
/// How many reasons are shown; `tandem status` has all.
const REASONS_SHOWN: usize = 4;
/// How wide the column of a group is.
const COLUMN: usize = 14;

/// What a key asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stroke {
    /// One line up.
    Up,
    /// One line down.
    Down,
    /// One page up.
    PageUp,
    /// One page down.
    PageDown,
    /// The first role.
    Home,
    /// The last role.
    End,
    /// Roles with the same leaders are one line, or each has its own.
    Fold,
}

/// The page.
#[derive(Debug)]
pub struct Screen {
    palette: Palette,
    events: Vec<String>,
    offset: usize,
    folded: bool,
    /// How many lines of roles were shown last, and how many there were.
    shown: usize,
    total: usize,
}

impl Screen {
    /// An empty page; roles are folded at first where there are more than so many.
    #[must_use]
    pub fn new(colour: bool, folded: bool) -> Self {
        let palette = Palette::new(colour);
        Self { palette, events: Vec::new(), offset: 0, folded, shown: 0, total: 0 }
    }

    /// Remembers an event.
    pub fn tell(&mut self, event: &Event) {
        if self.events.len() == EVENTS_MAX {
            self.events.remove(0);
        }
        // The day is known.
        let line = lines::line(event);
        self.events.push(line.split_once('T').map_or(line.clone(), |(_, rest)| rest.to_owned()));
    }

    /// A key was struck.
    pub fn strike(&mut self, stroke: Stroke) {
        let page = self.shown.max(1);
        self.offset = match stroke {
            Stroke::Up => self.offset.saturating_sub(1),
            Stroke::Down => self.offset + 1,
            Stroke::PageUp => self.offset.saturating_sub(page),
            Stroke::PageDown => self.offset + page,
            Stroke::Home => 0,
            Stroke::End => self.total,
            Stroke::Fold => {
                self.folded = !self.folded;
                0
            }
        };
    }

    /// Draws the page.
    pub fn draw(&mut self, frame: &mut Frame<'_>, picture: &Picture) {
        let area = frame.area();
        let head = self.head(picture);
        let groups = self.groups(picture);
        let height = |lines: &[Line<'_>]| u16::try_from(lines.len()).unwrap_or(u16::MAX);
        // The least that roles and keys take comes first, whatever else there is.
        let rest = area.height.saturating_sub(height(&head) + height(&groups) + 5);
        let events = rest.min(EVENTS_SHOWN + 1);
        let [top, middle, roles, bottom, keys] = Layout::vertical([
            Constraint::Length(height(&head)),
            Constraint::Length(height(&groups)),
            Constraint::Min(3),
            Constraint::Length(events),
            Constraint::Length(1),
        ])
        .areas(area);
        frame.render_widget(Paragraph::new(head), top);
        frame.render_widget(Paragraph::new(groups), middle);
        self.draw_roles(frame, roles, picture);
        self.draw_events(frame, bottom);
        let help = "q ends   arrows, PgUp, PgDn scroll   f folds roles with the same leaders";
        frame.render_widget(Paragraph::new(Line::styled(help, self.palette.faint())), keys);
    }

    fn head(&self, picture: &Picture) -> Vec<Line<'static>> {
        let long = lines::lasts(picture.health_for_ms);
        let word = picture.health.word().to_uppercase();
        let ends = picture.ends_in_ms.map(|left| format!("   ends in {}", lines::lasts(left)));
        let mut head = vec![Line::from(vec![
            Span::raw(format!("{}  ", picture.run.topology)),
            Span::styled(word, self.palette.level(picture.health)),
            Span::raw(format!(" for {long}")),
            Span::styled(lines::broken(picture), self.palette.alarm()),
            Span::raw(ends.unwrap_or_default()),
        ])];
        for promise in &picture.objective {
            let style = if promise.kept { self.palette.plain() } else { self.palette.alarm() };
            head.push(Line::styled(lines::promised(promise), style));
        }
        head.push(Line::raw(format!("all groups at once: {}", lines::counted(&picture.joint))));
        for (cluster, broker) in picture.brokers.iter().filter(|(_, it)| it.pid.is_none()) {
            let told = lines::brokered(cluster, broker);
            head.push(Line::styled(told, self.palette.alarm()));
        }
        let reasons = picture.reasons.urgent().chain(picture.reasons.stalled(true));
        for told in reasons.take(REASONS_SHOWN) {
            head.push(Line::styled(told, self.palette.alarm()));
        }
        if let Some(why) = &picture.journal.why {
            let lost = picture.journal.lost;
            let told = format!("NOTHING IS WRITTEN: {why}; {lost} facts lost");
            head.push(Line::styled(told, self.palette.alarm()));
        }
        if picture.missed > 0 {
            let told = format!("{} facts could not be counted", picture.missed);
            head.push(Line::styled(told, self.palette.alarm()));
        }
        head
    }

    /// One line a group: who lives, and what was counted.
    fn groups(&self, picture: &Picture) -> Vec<Line<'static>> {
        let line = |(name, group): (&crate::ids::GroupName, &super::GroupPicture)| {
            let mut spans = vec![Span::raw(format!("{name:<COLUMN$}"))];
            for (member, seat) in &group.members {
                let (mark, style) = match seat.pid {
                    None if seat.left => ("left", self.palette.plain()),
                    None => ("dead", self.palette.alarm()),
                    Some(_) if seat.stopped => ("stopped", self.palette.alarm()),
                    Some(_) => ("", self.palette.plain()),
                };
                let leads = if mark.is_empty() { seat.leads.to_string() } else { mark.to_owned() };
                spans.push(Span::styled(format!("{member} {leads}  "), style));
            }
            spans.push(Span::styled(lines::counted(&group.counts), self.palette.faint()));
            Line::from(spans)
        };
        picture.groups.iter().map(line).collect()
    }

    fn draw_roles(&mut self, frame: &mut Frame<'_>, area: Rect, picture: &Picture) {
        let rows = if self.folded { folded(&picture.roles) } else { single(&picture.roles) };
        let shown = usize::from(area.height.saturating_sub(1));
        (self.shown, self.total) = (shown, rows.len());
        self.offset = self.offset.min(rows.len().saturating_sub(shown));
        let last = (self.offset + shown).min(rows.len());
        let hidden = rows.len().saturating_sub(shown);
        let place = match hidden {
            0 => String::new(),
            _ => format!(" ({} to {last} of {})", self.offset + 1, rows.len()),
        };
        let names = picture.groups.keys().map(|name| format!(" {name:<COLUMN$}"));
        let title = format!("{:<24}{}{place}", "role", names.collect::<String>());
        let block = Block::new().borders(Borders::TOP).title(title);
        let visible = rows.iter().skip(self.offset).take(shown);
        let lines: Vec<_> = visible.map(|(name, role)| self.role(name, role)).collect();
        frame.render_widget(Paragraph::new(lines).block(block), area);
    }

    fn role(&self, name: &str, role: &RolePicture) -> Line<'static> {
        let mut spans = vec![Span::raw(format!("{name:<24.24}"))];
        for (group, leaders) in &role.leaders {
            let names: Vec<_> = leaders.iter().map(crate::ids::MemberId::as_str).collect();
            let (text, style) = match names.len() {
                0 => ("nobody".to_owned(), self.palette.alarm()),
                _ if role.idle.contains(group) => {
                    (format!("{} hangs", names.join("+")), self.palette.alarm())
                }
                1 => (names.join(""), self.palette.plain()),
                _ => (names.join("+"), self.palette.caution()),
            };
            spans.push(Span::styled(format!(" {text:<COLUMN$.COLUMN$}"), style));
        }
        let word = format!(" {}", role.health.word());
        spans.push(Span::styled(word, self.palette.level(role.health)));
        spans.push(Span::raw(format!(" for {}", lines::lasts(role.health_for_ms))));
        Line::from(spans)
    }

    fn draw_events(&self, frame: &mut Frame<'_>, area: Rect) {
        let room = usize::from(area.height.saturating_sub(1));
        let from = self.events.len().saturating_sub(room);
        let latest = self.events.iter().skip(from).map(|line| Line::raw(line.clone()));
        let block = Block::new().borders(Borders::TOP).title("what happened");
        frame.render_widget(Paragraph::new(latest.collect::<Vec<_>>()).block(block), area);
    }
}

fn single(roles: &[RolePicture]) -> Vec<(String, &RolePicture)> {
    roles.iter().map(|role| (role.role.to_string(), role)).collect()
}

/// Neighbours in the list of who leads what, by their leaders; those that are not led come first.
fn folded(roles: &[RolePicture]) -> Vec<(String, &RolePicture)> {
    let mut rows: Vec<(&RolePicture, usize)> = Vec::new();
    let mut at = std::collections::BTreeMap::new();
    for role in roles {
        let key = (std::cmp::Reverse(role.health), &role.leaders);
        at.entry(key).or_insert((role, 0_usize)).1 += 1;
    }
    rows.extend(at.into_values());
    let name = |role: &RolePicture, count: usize| match count {
        1 => role.role.to_string(),
        _ => format!("{} and {} more", role.role, count - 1),
    };
    rows.into_iter().map(|(role, count)| (name(role, count), role)).collect()
}
