//! `tandem apply` on a topology that is up, and what comes of it.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use tandem::ids::{GroupName, MemberId};
use tandem::journal::{JournalError, Recording, read};
use tandem::live_view::{Level, MemberPicture, Picture};
use tandem::timeline::{Findings, Lateness, Processors, Timeline};

use super::experiment::{eventually, output, tandem};
use super::quiet::STALL;
use super::up::Up;

/// No change takes longer to be seen.
pub const SOON: Duration = Duration::from_secs(60);

/// The exit code of `tandem apply`, and what it prints.
pub fn apply(up: &Up, file: &Path, args: &[&str]) -> (Option<i32>, String) {
    let said = output(tandem(up.state()).args(["apply", "-f"]).arg(file).args(args));
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (said.status.code(), text(&said.stdout) + &text(&said.stderr))
}

/// The file of a topology, in a folder of its own.
pub fn written(text: &str) -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("topology.yaml");
    fs::write(&file, text).unwrap();
    (folder, file)
}

/// A topology whose roles and members come and go.
pub struct Changing {
    /// Before any change: with three roles, and two members in each group but those at the end.
    pub text: String,
    /// The sizes of the groups at the end, which stay as they are.
    fixed: &'static [usize],
}

/// Two groups alike, and below them what else the topology has.
pub fn grown(more: &str) -> Changing {
    let text = "\
version: 1
name: grown
roles: {count: 3, prefix: slot-}
clusters:
  a: embedded
  b: embedded
groups:
  p1: {cluster: a, members: 2, partitions: 12}
  p2: {cluster: b, members: 2, partitions: 12}
objective: {joint_gap: 0s}
";
    Changing { text: format!("{text}{more}"), fixed: &[] }
}

/// Of the first two groups the members come and go.
pub fn mixture() -> Changing {
    let text = "\
version: 1
name: mixture
roles: {count: 3, prefix: slot-}
clusters: {a: embedded, b: embedded}
groups:
  p1: {cluster: a, members: 2, partitions: 12, mode: exclusive}
  p2: {cluster: b, members: 2, partitions: 12, on_death: stand-in, session: 10s, heartbeat: 100ms}
  p3: {election: generation, members: 3, partitions: 12}
defaults: {restart: {after: 1s}}
objective: {joint_gap: 0s}
";
    Changing { text: text.to_owned(), fixed: &[3] }
}

impl Changing {
    /// Without the group that votes. A member of it that cannot write its votes down ends, and
    /// partitions without a role may still be voted on when all roles are led.
    pub fn without_votes(&self) -> Self {
        let lines = self.text.split_inclusive('\n');
        let text: String = lines.filter(|line| !line.starts_with("  p3: ")).collect();
        assert_ne!(text, self.text);
        Self { text, fixed: &[] }
    }

    /// With so many roles and members.
    pub fn with(&self, roles: usize, count: usize) -> String {
        let text = self.text.replace("count: 3", &format!("count: {roles}"));
        text.replace("members: 2", &format!("members: {count}"))
    }

    /// Has it so in the file and applies that. What was said, and the picture once all is led.
    pub fn change(
        &self,
        (up, file): (&Up, &Path),
        (roles, count): (usize, usize),
        args: &[&str],
    ) -> (String, Picture) {
        fs::write(file, self.with(roles, count)).unwrap();
        let (code, said) = apply(up, file, args);
        assert_eq!(code, Some(0), "{said}\n{}", up.said());
        assert!(said.ends_with("done\n"), "{said}");
        let sizes = [&[count; 2], self.fixed].concat();
        let picture = stands(up, &format!("{roles} roles, {count} members"), |picture| {
            picture.roles.len() == roles && members(picture) == sizes
        });
        (said, picture)
    }
}

/// Waits until every role is led, and the topology is like this.
pub fn stands(up: &Up, what: &str, is: impl Fn(&Picture) -> bool) -> Picture {
    eventually(&format!("{what}\n{}", up.said()), SOON, || {
        up.status().1.filter(|picture| picture.health == Level::Led && is(picture))
    })
}

/// How many members each group has.
pub fn members(picture: &Picture) -> Vec<usize> {
    picture.groups.values().map(|group| group.members.len()).collect()
}

/// Whether each member has a process.
pub fn all_live(picture: &Picture) -> bool {
    seats(picture).all(|(_, member)| member.pid.is_some())
}

fn seats(picture: &Picture) -> impl Iterator<Item = (&MemberId, &MemberPicture)> {
    picture.groups.values().flat_map(|group| &group.members)
}

/// What is known of a member.
pub fn seat<'a>(picture: &'a Picture, name: &str) -> &'a MemberPicture {
    seats(picture).find(|(member, _)| member.as_str() == name).unwrap().1
}

/// The processes of all members.
pub fn processes(up: &Up) -> Vec<u32> {
    let picture = eventually("its status", SOON, || up.status().1);
    seats(&picture).filter_map(|(_, member)| member.pid).collect()
}

/// The process of a member.
pub fn process(up: &Up, name: &str) -> u32 {
    let picture = eventually("its status", SOON, || up.status().1);
    seat(&picture, name).pid.unwrap()
}

/// The files of its journal, each read by itself. The last one may have been made a moment ago, and
/// have no header yet: then it is not there.
pub fn parts(up: &Up) -> Vec<Recording> {
    let mut files: Vec<_> =
        fs::read_dir(&up.out).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.retain(|path| path.extension().is_some_and(|it| it == "jsonl"));
    files.sort();
    let last = files.last().cloned();
    let read = |path: &PathBuf| match read(path) {
        Err(JournalError::Empty { .. }) if Some(path) == last.as_ref() => None,
        part => Some(part.unwrap()),
    };
    files.iter().filter_map(read).collect()
}

/// A file of the journal, judged by itself.
pub struct Part {
    pub recording: Recording,
    pub timeline: Timeline,
}

impl Part {
    /// All of them.
    pub fn all(up: &Up) -> Vec<Self> {
        let of = |recording: Recording| {
            let timeline = Timeline::compute(&recording.header.plan, &recording.facts);
            Self { recording, timeline }
        };
        parts(up).into_iter().map(of).collect()
    }

    /// What is found of a group.
    pub fn of(&self, group: &str) -> &Findings {
        let name = group.parse().unwrap();
        &self.timeline.groups.get::<GroupName>(&name).unwrap().findings
    }

    /// For how long two led a role of a group, each time.
    pub fn overlaps(&self, group: &str) -> Vec<Duration> {
        self.of(group).overlaps.iter().map(|overlap| overlap.span.length()).collect()
    }
}

/// Every thread that ran late, of all files, the one last that the host kept longest from running;
/// and for how long it did.
fn hindrances(parts: &[Part]) -> Vec<(Duration, &Lateness)> {
    let looks: Vec<Processors> =
        parts.iter().flat_map(|part| part.timeline.record.processors.clone()).collect();
    let all = parts.iter().flat_map(|part| &part.timeline.record.lateness);
    let mut all: Vec<_> = all.map(|late| (late.imposed(&looks), late)).collect();
    all.sort_by_key(|(imposed, _)| *imposed);
    all
}

/// Whether the host disturbed them: it kept a member or the supervisor from running for longer than
/// in a trial that counts. A stall may begin in one file and be known in the next.
pub fn is_disturbed(parts: &[Part]) -> bool {
    hindrances(parts).last().is_some_and(|(imposed, _)| *imposed > STALL)
}

/// Each gap, with the thread that ran late for longest meanwhile; and what the host hindered most.
pub fn shown(parts: &[Part]) -> String {
    let all = hindrances(parts);
    let mut lines = vec![format!("hindered most: {:?}", all.last())];
    for (part, number) in parts.iter().zip(1..) {
        for (name, group) in &part.timeline.groups {
            let mut gaps = BTreeSet::new();
            for gap in &group.findings.gaps {
                let meets =
                    |(_, late): &&(Duration, &Lateness)| !late.span.intersect(gap.span).is_empty();
                let late = all.iter().filter(meets).max_by_key(|(_, late)| late.span.length());
                let late = late.map(|(imposed, late)| (&late.life, late.span.length(), imposed));
                let (length, cause) = (gap.span.length(), &gap.cause);
                gaps.insert(format!("file {number}, {name}: {length:?} {cause:?}, late: {late:?}"));
            }
            lines.extend(gaps);
        }
    }
    lines.join("\n") + "\n"
}
