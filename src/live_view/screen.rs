//! The page on the terminal: its content, its scroll position, and its keys. It draws on a frame
//! and does not access the terminal itself.

use std::collections::btree_map::Entry;

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::Style;
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, Borders, Paragraph};

use super::flow::{fitted, flow};
use super::paint::Palette;
use super::picture::{MemberPicture, Picture, RolePicture};
use super::{Event, lines};

/// How many events the page keeps.
const EVENTS_MAX: usize = 200;
/// How many lines of events are shown before roles get more than their minimum.
const EVENTS_SHOWN: u16 = 8;
/// The minimum number of lines for roles.
const ROLES_LEAST: u16 = 3;
/// How many reasons are shown; `tandem status` shows all.
const REASONS_SHOWN: usize = 4;
/// The maximum width of the column of roles, and of the column of a group.
const NAME_MAX: usize = 24;
const COLUMN_MAX: usize = 14;
/// The minimum width of the column of a group.
const COLUMN_LEAST: usize = 6;
/// The width of the health of a role, and since when it is that, behind the columns.
const HEALTH: usize = 22;

/// The action of a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyAction {
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
    /// Toggles between one line per role, and one line for all roles with the same leaders.
    Fold,
}

/// The page on the terminal.
#[derive(Debug)]
pub struct Screen {
    palette: Palette,
    events: Vec<String>,
    offset: usize,
    folded: bool,
    /// How many lines of roles the last drawing showed, and how many there were.
    shown: usize,
    total: usize,
}

impl Screen {
    /// An empty page; `folded` says whether roles are folded at first.
    #[must_use]
    pub fn new(colour: bool, folded: bool) -> Self {
        let palette = Palette::new(colour);
        Self { palette, events: Vec::new(), offset: 0, folded, shown: 0, total: 0 }
    }

    /// Adds an event.
    pub fn push_event(&mut self, event: &Event) {
        if self.events.len() == EVENTS_MAX {
            self.events.remove(0);
        }
        // Without the date, and without a count where the one role is named.
        let line = lines::line(event).replace(" role_count=1 ", " ");
        self.events.push(line.split_once('T').map_or(line.clone(), |(_, rest)| rest.to_owned()));
    }

    /// Applies the action of a key.
    pub fn apply(&mut self, action: KeyAction) {
        let page = self.shown.max(1);
        self.offset = match action {
            KeyAction::Up => self.offset.saturating_sub(1),
            KeyAction::Down => self.offset + 1,
            KeyAction::PageUp => self.offset.saturating_sub(page),
            KeyAction::PageDown => self.offset + page,
            KeyAction::Home => 0,
            KeyAction::End => self.total,
            KeyAction::Fold => {
                self.folded = !self.folded;
                0
            }
        };
    }

    /// Draws the page.
    pub fn draw(&mut self, frame: &mut Frame<'_>, picture: &Picture) {
        let area = frame.area();
        let width = usize::from(area.width);
        let head = self.head(picture).into_iter().flat_map(|line| wrapped(line, width));
        let head: Vec<Line<'static>> = head.collect();
        let height = |lines: usize| u16::try_from(lines).unwrap_or(u16::MAX);
        let rows = if self.folded { folded(&picture.roles) } else { single(&picture.roles) };
        let reserved = height(head.len()).saturating_add(EVENTS_SHOWN + 2);
        let free = area.height.saturating_sub(reserved).saturating_sub(height(rows.len()) + 1);
        let groups = self.groups(picture, width, free);
        let taken = height(head.len()).saturating_add(height(groups.len()));
        // First the minimum for roles and keys, then some events, then all roles; the rest is for
        // events.
        let rest = area.height.saturating_sub(taken + ROLES_LEAST + 2);
        let wanted = (height(rows.len()) + 1).saturating_sub(ROLES_LEAST);
        let events = rest.saturating_sub(wanted).max(EVENTS_SHOWN.min(rest / 2));
        let [top, middle, roles, bottom, keys] = Layout::vertical([
            Constraint::Length(height(head.len())),
            Constraint::Length(height(groups.len())),
            Constraint::Min(ROLES_LEAST),
            Constraint::Length(if rest == 0 { 0 } else { events + 1 }),
            Constraint::Length(1),
        ])
        .areas(area);
        frame.render_widget(Paragraph::new(head), top);
        frame.render_widget(Paragraph::new(groups), middle);
        self.draw_roles(frame, roles, picture, &rows);
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
        let silent = lines::silent(picture);
        head.extend(silent.map(|line| Line::styled(line, self.palette.alarm())));
        for promise in &picture.objective {
            let style = if promise.kept { self.palette.plain() } else { self.palette.alarm() };
            head.push(Line::styled(lines::promise_line(promise), style));
        }
        head.push(Line::raw(format!("all groups at once: {}", lines::counted(&picture.joint))));
        for (cluster, broker) in picture.brokers.iter().filter(|(_, it)| it.pid.is_none()) {
            let line = lines::broker_line(cluster, broker);
            head.push(Line::styled(line, self.palette.alarm()));
        }
        let reasons = picture.reasons.urgent().chain(picture.reasons.stalled(true));
        for reason in reasons.take(REASONS_SHOWN) {
            head.push(Line::styled(reason, self.palette.alarm()));
        }
        if let Some(why) = &picture.journal.why {
            let lost = picture.journal.lost;
            let line = format!("NOTHING IS WRITTEN: {why}; {lost} facts lost");
            head.push(Line::styled(line, self.palette.alarm()));
        }
        if picture.missed > 0 {
            let line = format!("{} facts were missed and are not counted", picture.missed);
            head.push(Line::styled(line, self.palette.alarm()));
        }
        head
    }

    /// The members and counts of each group; one line per member if enough lines are `free`.
    fn groups(&self, picture: &Picture, width: usize, free: u16) -> Vec<Line<'static>> {
        let members: usize = picture.groups.values().map(|group| group.members.len()).sum();
        let long = usize::from(free) >= members + picture.groups.len();
        let name = picture.groups.keys().map(|name| name.as_str().chars().count()).max();
        let name = name.unwrap_or_default().min(COLUMN_MAX) + 2;
        let mut all = Vec::new();
        for (group, of) in &picture.groups {
            // A long name has its two spaces as well.
            let mut pieces =
                vec![(format!("{:<name$}", format!("{group}  ")), self.palette.plain())];
            let counts = (lines::counted(&of.counts), self.palette.faint());
            if long {
                pieces.push(counts);
                all.extend(flow(pieces, width));
                for (member, state) in &of.members {
                    let style = self.member_style(state).1;
                    let line = format!("  {}", lines::member_line(member, state));
                    all.extend(flow([(line, style)], width));
                }
                if of.members.is_empty() {
                    let line = format!("  {}", lines::NOT_JOINED);
                    all.extend(flow([(line, self.palette.faint())], width));
                }
                continue;
            }
            for (member, state) in &of.members {
                let (mark, style) = self.member_style(state);
                let leads = mark.map_or_else(|| state.leads.to_string(), str::to_owned);
                pieces.push((format!("{member} {leads}  "), style));
            }
            pieces.push(counts);
            all.extend(flow(pieces, width));
        }
        all
    }

    /// The style of a member, with a word for its state if it is not running.
    fn member_style(&self, state: &MemberPicture) -> (Option<&'static str>, Style) {
        match state.pid {
            None if state.left => (Some("left"), self.palette.plain()),
            None => (Some("dead"), self.palette.alarm()),
            Some(_) if state.stopped => (Some("stopped"), self.palette.alarm()),
            Some(_) => (None, self.palette.plain()),
        }
    }

    fn draw_roles(
        &mut self,
        frame: &mut Frame<'_>,
        area: Rect,
        picture: &Picture,
        rows: &[(String, &RolePicture)],
    ) {
        let shown = usize::from(area.height.saturating_sub(1));
        (self.shown, self.total) = (shown, rows.len());
        self.offset = self.offset.min(rows.len().saturating_sub(shown));
        let last = (self.offset + shown).min(rows.len());
        let hidden = rows.len().saturating_sub(shown);
        let place = match hidden {
            0 => String::new(),
            _ => format!(" ({} to {last} of {})", self.offset + 1, rows.len()),
        };
        let (name, column) = columns(rows, picture, usize::from(area.width));
        let names = picture.groups.keys().map(|name| format!(" {}", fitted(name.as_str(), column)));
        let title = format!("{:<name$}{}{place}", "role", names.collect::<String>());
        let block = Block::new().borders(Borders::TOP).title(title);
        let visible = rows.iter().skip(self.offset).take(shown);
        let lines: Vec<_> =
            visible.map(|(text, role)| self.role(text, role, (name, column))).collect();
        frame.render_widget(Paragraph::new(lines).block(block), area);
    }

    fn role(
        &self,
        text: &str,
        role: &RolePicture,
        (name, column): (usize, usize),
    ) -> Line<'static> {
        let mut spans = vec![Span::raw(fitted(text, name))];
        for (group, leaders) in &role.leaders {
            let names: Vec<_> = leaders.iter().map(crate::ids::MemberId::as_str).collect();
            let (text, style) = match names.len() {
                0 => ("none".to_owned(), self.palette.alarm()),
                _ if role.idle.contains(group) => {
                    (format!("{} hangs", names.join("+")), self.palette.alarm())
                }
                1 => (names.join(""), self.palette.plain()),
                _ => (names.join("+"), self.palette.caution()),
            };
            spans.push(Span::styled(format!(" {}", fitted(&text, column)), style));
        }
        let word = format!(" {}", role.health.word());
        spans.push(Span::styled(word, self.palette.level(role.health)));
        spans.push(Span::raw(format!(" for {}", lines::lasts(role.health_for_ms))));
        Line::from(spans)
    }

    fn draw_events(&self, frame: &mut Frame<'_>, area: Rect) {
        let room = usize::from(area.height.saturating_sub(1));
        let plain = self.palette.plain();
        let recent = self.events.iter().skip(self.events.len().saturating_sub(room));
        let latest = recent.flat_map(|line| flow([(line.clone(), plain)], usize::from(area.width)));
        let latest: Vec<_> = latest.collect();
        let from = latest.len().saturating_sub(room);
        let latest = latest.into_iter().skip(from);
        let block = Block::new().borders(Borders::TOP).title("what happened");
        frame.render_widget(Paragraph::new(latest.collect::<Vec<_>>()).block(block), area);
    }
}

/// Wraps a line to the terminal's width.
fn wrapped(line: Line<'static>, width: usize) -> Vec<Line<'static>> {
    let style = line.style;
    let pieces = line.spans.into_iter().map(|span| (span.content.into_owned(), span.style));
    flow(pieces, width).into_iter().map(|one| one.style(style)).collect()
}

/// The width of the column of roles, and of the column of each group, by their content.
fn columns(rows: &[(String, &RolePicture)], picture: &Picture, width: usize) -> (usize, usize) {
    let wide = |text: &str| text.chars().count();
    let names = rows.iter().map(|(name, _)| wide(name)).max().unwrap_or_default();
    let members = picture.groups.values().flat_map(|group| group.members.keys());
    let groups = picture.groups.keys().map(|name| wide(name.as_str()));
    let members = members.map(|member| wide(member.as_str()));
    // Two leaders at once are shown side by side.
    let column = groups.chain(members.map(|member| 2 * member + 1)).max().unwrap_or_default();
    let name = names.clamp(8, NAME_MAX);
    let room = width.saturating_sub(name + HEALTH);
    let each = room.checked_div(picture.groups.len()).unwrap_or_default().saturating_sub(1);
    let most = each.clamp(COLUMN_LEAST, COLUMN_MAX);
    (name, column.clamp(COLUMN_LEAST, most))
}

fn single(roles: &[RolePicture]) -> Vec<(String, &RolePicture)> {
    roles.iter().map(|role| (role.title(0), role)).collect()
}

/// One row for all roles with the same health and leaders; roles that are not led come first.
fn folded(roles: &[RolePicture]) -> Vec<(String, &RolePicture)> {
    let mut rows: Vec<(&RolePicture, u32)> = Vec::new();
    let mut at = std::collections::BTreeMap::new();
    for role in roles {
        let key = (std::cmp::Reverse(role.health), &role.leaders);
        match at.entry(key) {
            Entry::Vacant(place) => drop(place.insert((role, 0))),
            Entry::Occupied(mut place) => place.get_mut().1 += 1 + role.more,
        }
    }
    rows.extend(at.into_values());
    rows.into_iter().map(|(role, others)| (role.title(others), role)).collect()
}
