//! Formats an event as a line, and a picture as a page, for terminals, pipes and programs.
//!
//! The line of an event is `TIME WORD KEY=VALUE ...`: the time in UTC with milliseconds, the word
//! as in `events -o json`, and values without spaces, or in double quotes as in JSON. Words and
//! keys do not change within a version; new keys may be added at the end of a line.

use std::fmt::Write;

use super::event::Span;
use super::picture::{BrokerPicture, Counts, MemberPicture, Picture, Promise, RolePicture};
use super::{Event, Happening, Level};
use crate::ids::{ClusterName, Life, MemberId, RoleName};
use crate::time::Wall;

/// How many roles without a leader a page names.
const UNLED_MAX: usize = 20;

/// What a group says whose members are all programs of the user, before the first has joined.
pub(super) const NOT_JOINED: &str = "no program of yours has joined yet (`tandem hold`)";

/// An event as a line, without the line break.
#[must_use]
pub fn line(event: &Event) -> String {
    format!("{} {}", clock(event.wall), words(&event.what))
}

/// `2026-11-21T20:15:01.123Z`.
#[must_use]
pub fn clock(at: Wall) -> String {
    let time = jiff::Timestamp::from_millisecond(at.0).unwrap_or_default();
    time.strftime("%Y-%m-%dT%H:%M:%S%.3fZ").to_string()
}

fn words(what: &Happening) -> String {
    match what {
        Happening::Started { life, pid } => format!("started life={life} pid={pid}"),
        Happening::Died { life, signal, status } => {
            let number = |name: &str, number: &Option<i32>| {
                number.map_or_else(String::new, |number| format!(" {name}={number}"))
            };
            format!("died life={life}{}{}", number("signal", signal), number("status", status))
        }
        Happening::Left { life } => format!("left life={life}"),
        Happening::Stopped { life } => format!("stopped life={life}"),
        Happening::Continued { life } => format!("continued life={life}"),
        Happening::StandsIn { life, partition, of } => {
            format!("stands_in life={life} partition={partition} of={of}")
        }
        Happening::Leaving { life } => format!("leaving life={life}"),
        Happening::ClusterStarted { cluster, address, pid } => {
            format!("cluster_started cluster={cluster} address={address} pid={pid}")
        }
        Happening::ClusterDied { cluster } => format!("cluster_died cluster={cluster}"),
        Happening::Stalled { ms } => format!("stalled ms={ms:.3}"),
        Happening::BrokerLost { cluster, broker } => {
            format!("broker_lost cluster={cluster} broker={}", quoted(broker))
        }
        Happening::BrokerBack { cluster, broker } => {
            format!("broker_back cluster={cluster} broker={}", quoted(broker))
        }
        Happening::Unconnected { life, why } => {
            format!("unconnected life={life} why={}", quoted(why))
        }
        Happening::Refused { life, why } => format!("refused life={life} why={}", quoted(why)),
        Happening::Connected { life } => format!("connected life={life}"),
        Happening::Leaders { group, partition, leaders, roles, role_count } => {
            let leaders: Vec<_> = leaders.iter().map(Life::to_string).collect();
            let roles = named(roles, *role_count);
            let leaders = leaders.join(",");
            format!("leaders group={group} partition={partition} leaders={leaders} {roles}")
        }
        Happening::Health { now, before } => {
            format!("health now={} before={}", now.word(), before.word())
        }
        Happening::GapBegan(span) => format!("gap_began {}", spans(span)),
        Happening::Gap(span) => format!("gap {}", spans(span)),
        Happening::Overlap(span) => format!("overlap {}", spans(span)),
        Happening::Missed { facts } => format!("missed facts={facts}"),
        Happening::Unwritten { why } => format!("unwritten why={}", quoted(why)),
        Happening::Written { lost } => format!("written lost={lost}"),
        Happening::Ending { why, joint } => {
            let Counts { gaps, gap_ms_max, .. } = joint;
            let why = quoted(why);
            format!("ending why={why} joint_gaps={gaps} joint_gap_ms_max={gap_ms_max:.3}")
        }
    }
}

fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

fn named(roles: &[RoleName], count: usize) -> String {
    let names: Vec<_> = roles.iter().map(RoleName::as_str).collect();
    format!("role_count={count} roles={}", names.join(","))
}

fn spans(span: &Span) -> String {
    let group = span.group.as_ref().map_or_else(|| "all=true".to_owned(), |g| format!("group={g}"));
    let ms = span.until.map_or_else(String::new, |until| {
        format!(" ms={:.3}", until.since(span.from).as_secs_f64() * 1_000.0)
    });
    let cause = span.cause.map_or_else(String::new, |cause| format!(" cause={}", cause.word()));
    let by = span.by.as_ref().map_or_else(String::new, |by| format!(" by={by}"));
    let stall = span.stall_ms.map_or_else(String::new, |ms| format!(" stall_ms={ms:.3}"));
    format!("{group}{ms} {}{cause}{by}{stall}", named(&span.roles, span.role_count))
}

/// A picture as a page of text.
#[must_use]
pub fn summary(picture: &Picture) -> String {
    let mut page = String::new();
    // Writing to a `String` cannot fail.
    write_summary(&mut page, picture).ok();
    page
}

fn write_summary(page: &mut String, picture: &Picture) -> std::fmt::Result {
    let run = &picture.run;
    let long = lasts(picture.health_for_ms);
    let broken = broken(picture);
    writeln!(page, "{}: {} for {long}{broken}", run.topology, picture.health.word())?;
    if let Some(silent) = silent(picture) {
        writeln!(page, "  {silent}")?;
    }
    writeln!(page, "  run {} (process {}) in {}", run.name, run.pid, run.folder.display())?;
    let since = clock(run.began);
    match picture.ends_in_ms {
        Some(left) => writeln!(page, "  since {since}, ends in {}", lasts(left))?,
        None => writeln!(page, "  since {since}")?,
    }
    for promise in &picture.objective {
        writeln!(page, "  {}", promise_line(promise))?;
    }
    writeln!(page, "  all groups at once: {}", counted(&picture.joint))?;
    if picture.missed > 0 {
        writeln!(page, "  {} facts were missed and are not counted", picture.missed)?;
    }
    let (journal, file) = (&picture.journal, picture.journal.file.display());
    match &journal.why {
        Some(why) if !journal.written => {
            writeln!(page, "  NOTHING IS WRITTEN to {file}: {why}; {} facts lost", journal.lost)?;
        }
        Some(_) | None if journal.lost > 0 => {
            writeln!(page, "  written to {file}; {} facts were lost before", journal.lost)?;
        }
        Some(_) | None => writeln!(page, "  written to {file}")?,
    }
    for (cluster, broker) in &picture.brokers {
        writeln!(page, "{}", broker_line(cluster, broker))?;
    }
    for reason in picture.reasons.urgent().chain(picture.reasons.stalled(false)) {
        writeln!(page, "{reason}")?;
    }
    for (clock, error) in &picture.clocks {
        writeln!(page, "the host of {clock}: each instant to within {error:.1} ms")?;
    }
    for (name, group) in &picture.groups {
        writeln!(page, "group {name} on {}: {}", group.cluster, counted(&group.counts))?;
        for (member, state) in &group.members {
            writeln!(page, "  {}", member_line(member, state))?;
        }
        if group.members.is_empty() {
            writeln!(page, "  {NOT_JOINED}")?;
        }
    }
    let unled = || picture.roles.iter().filter(|role| role.health != Level::Led);
    for role in unled().take(UNLED_MAX) {
        let (word, long) = (role.health.word(), lasts(role.health_for_ms));
        writeln!(page, "role {}: {word} for {long}, {}", role.title(0), missing(role))?;
    }
    let more: u32 = unled().skip(UNLED_MAX).map(|role| 1 + role.more).sum();
    if more > 0 {
        writeln!(page, "and {more} roles more")?;
    }
    if unled().next().is_none() {
        let all: u32 = picture.roles.iter().map(|role| 1 + role.more).sum();
        writeln!(page, "all {all} roles are led in every group")?;
    }
    Ok(())
}

/// The remark in the header if the objective was not kept.
pub(super) fn broken(picture: &Picture) -> &'static str {
    if picture.is_kept() { "" } else { ", the objective is BROKEN" }
}

/// A sentence about a supervisor that is silent.
pub(super) fn silent(picture: &Picture) -> Option<String> {
    let silent = lasts(picture.silent_ms?);
    let process =
        picture.run.supervisor.map_or_else(String::new, |pid| format!(", process {pid},"));
    Some(format!(
        "UNKNOWN: the supervisor{process} has said nothing for {silent}; all of this is as it was \
         then"
    ))
}

/// In which groups a role is not led, because it has no leader or its leader hangs.
fn missing(role: &RolePicture) -> String {
    let empty = role.leaders.iter().filter(|(_, leaders)| leaders.is_empty());
    let empty: Vec<_> = empty.map(|(group, _)| group.as_str()).collect();
    let yet = if role.health == Level::Starting { " yet" } else { "" };
    let none = (!empty.is_empty()).then(|| format!("no leader in {}{yet}", empty.join(", ")));
    let hangs = role.idle.iter().filter_map(|group| {
        let leaders: Vec<_> = role.leaders.get(group)?.iter().map(MemberId::as_str).collect();
        Some(format!("{} hangs in {group}", leaders.join(" and ")))
    });
    none.into_iter().chain(hangs).collect::<Vec<_>>().join(", ")
}

/// The summary that `tandem up` prints when it has ended.
#[must_use]
pub fn farewell(picture: &Picture) -> String {
    let Picture { run, at, joint, objective, groups, .. } = picture;
    let lasted = std::time::Duration::from_millis(at.0.saturating_sub(run.began.0).unsigned_abs());
    let mut lines =
        vec![format!("{} was kept up for {}", run.topology, lasts(lasted.as_secs_f64() * 1_000.0))];
    lines.extend(objective.iter().map(promise_line));
    lines.push(format!("all groups at once: {}", counted(joint)));
    lines.extend(groups.iter().map(|(name, one)| format!("{name}: {}", counted(&one.counts))));
    let folder = run.folder.display();
    lines.push(format!("its journals are in {folder}; `tandem report {folder}` judges them"));
    lines.join("\n  ") + "\n"
}

pub(super) fn promise_line(promise: &Promise) -> String {
    let Promise { what, allowed_ms, longest_ms, left_ms, kept } = promise;
    let how = if *kept { format!("kept, {left_ms:.0} ms left") } else { "BROKEN".to_owned() };
    format!("{what} at most {allowed_ms:.0} ms: longest {longest_ms:.0} ms, {how}")
}

pub(super) fn counted(counts: &Counts) -> String {
    let Counts { gaps, gap_ms_max, open, open_ms_max, overlaps, .. } = counts;
    let number = |count: &u64, noun: &str| match count {
        1 => format!("1 {noun}"),
        _ => format!("{count} {noun}s"),
    };
    let goes = if *open == 1 { "goes" } else { "go" };
    let on = format!("{goes} on, the longest for {open_ms_max:.0} ms");
    let over = format!("{}, the longest {gap_ms_max:.0} ms", number(gaps, "gap"));
    let overlaps = overlaps.map_or_else(String::new, |it| format!(", {}", number(&it, "overlap")));
    match (gaps, open) {
        (0, 0) => format!("no gap{overlaps}"),
        (0, _) => format!("{} {on}{overlaps}", number(open, "gap")),
        (_, 0) => format!("{over}{overlaps}"),
        (_, _) => format!("{over}, {open} more {on}{overlaps}"),
    }
}

pub(super) fn member_line(member: &MemberId, state: &MemberPicture) -> String {
    let (incarnation, leads, long) = (state.incarnation, state.leads, lasts(state.for_ms));
    let refused = match &state.refused_orders {
        none if none.is_none() => String::new(),
        some => format!(", refused orders: {some}"),
    };
    let line = match state.pid {
        None if incarnation.0 == 0 => format!("{member}  not started"),
        None if state.left => format!("{member}.{incarnation}  left {long} ago"),
        None => format!("{member}.{incarnation}  dead for {long}"),
        Some(pid) if state.stopped => {
            format!("{member}.{incarnation}  stopped for {long}, process {pid}, leads {leads}")
        }
        Some(pid) => {
            format!("{member}.{incarnation}  alive for {long}, process {pid}, leads {leads}")
        }
    };
    line + &refused
}

pub(super) fn broker_line(cluster: &ClusterName, broker: &BrokerPicture) -> String {
    let BrokerPicture { address, pid, for_ms, deaths } = broker;
    let how = match pid {
        None => format!("dead for {}", lasts(*for_ms)),
        Some(pid) => format!("alive for {}, process {pid}", lasts(*for_ms)),
    };
    let died = match deaths {
        0 => String::new(),
        1 => ", died once".to_owned(),
        _ => format!(", died {deaths} times"),
    };
    format!("broker of {cluster} at {address}: {how}{died}")
}

/// `0.4 s`, `12 s`, `3 min 20 s`, `2 h 5 min`.
pub(super) fn lasts(ms: f64) -> String {
    let seconds = ms / 1_000.0;
    let whole = std::time::Duration::from_secs_f64(seconds.clamp(0.0, 1e9)).as_secs();
    match whole {
        0..10 => format!("{seconds:.1} s"),
        10..60 => format!("{whole} s"),
        60..3_600 => format!("{} min {} s", whole / 60, whole % 60),
        _ => format!("{} h {} min", whole / 3_600, whole % 3_600 / 60),
    }
}
