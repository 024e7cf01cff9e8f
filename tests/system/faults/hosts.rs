//! Members on three hosts with clocks of their own, and an observer on one of them. A leader dies,
//! and then the host of the next one is cut off: each time a member of another host leads. What the
//! observer writes down of each is as far from the truth as it admits, at most: here the truth is
//! known.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Duration;

use rustix::process::Signal;
use support::experiment::{eventually, signal_pid};
use support::hosts::OnHost;
use support::memory::{self, Folder};
use support::namespaces::Namespaces;
use support::observed::Hold;
use support::up::Up;
use tandem::ids::Life;
use tandem::journal::Recording;
use tandem::live_view::Level;
use tandem::observation::{Fact, MemberEvent, RunEvent, What};
use tandem::time::Mono;

use super::SOON;

/// The host of the broker and of the observer.
const HERE: usize = 0;
/// Each member, and its host: two on each of the others.
const MEMBERS: [(&str, usize); 4] = [("a", 1), ("b", 2), ("c", 1), ("d", 2)];

struct Stage {
    // The order of their ends.
    observer: Up,
    holds: BTreeMap<String, Hold>,
    _broker: OnHost,
    folder: Folder,
    hosts: Namespaces,
}

fn host_of(member: &str) -> usize {
    MEMBERS.iter().find(|(name, _)| format!("p1-{name}") == member).unwrap().1
}

/// Hosts have no files in common.
fn state(folder: &Folder, host: usize) -> PathBuf {
    folder.path().join(format!("state-{host}"))
}

fn tandem_on(hosts: &Namespaces, folder: &Folder, host: usize) -> Command {
    let mut command = hosts.on(host, support::program());
    command.env("XDG_STATE_HOME", state(folder, host)).env("RUST_LOG", "warn");
    command
}

impl Stage {
    fn new() -> Self {
        let (hosts, folder) = (Namespaces::new(), memory::folder());
        let address = format!("{}:9092", Namespaces::ADDRESSES[HERE]);
        let mut broker = hosts.on(HERE, support::program());
        broker.args(["broker", "--listen", &address, "--until-eof"]);
        let broker = broker.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let mut broker = OnHost(broker);
        assert!(broker.first_line().contains(&address));
        let text = format!(
            "version: 1\nname: apart\nroles: [r]\nclusters: {{a: {{bootstrap: \"{address}\"}}}}\n\
             groups: {{p1: {{cluster: a, launch: external, session: 3s}}}}\n"
        );
        let file = folder.path().join("t.yaml");
        fs::write(&file, text).unwrap();
        let observe = format!("-f {} --observe", file.display());
        let here = tandem_on(&hosts, &folder, HERE);
        let observer = Up::start_from(here, &observe, &state(&folder, HERE));
        let mut holds = BTreeMap::new();
        for (name, host) in MEMBERS {
            let log = |kind| File::create(folder.path().join(format!("{name}.{kind}"))).unwrap();
            let mut hold = tandem_on(&hosts, &folder, host);
            hold.arg("hold").arg("-f").arg(&file).args(["--group", "p1", "--name", name]);
            hold.args(["--serve", "127.0.0.1:0"]).stdin(Stdio::null());
            let hold = hold.stdout(log("out")).stderr(log("err")).spawn().unwrap();
            holds.insert(format!("p1-{name}"), Hold(hold));
        }
        Self { observer, holds, _broker: broker, folder, hosts }
    }

    /// The facts that the living life of a member has written, by its own clock.
    fn written(&self, member: &str) -> Vec<Fact> {
        let name = member.strip_prefix("p1-").unwrap();
        let folder = state(&self.folder, host_of(member)).join("tandem/facts/apart/p1").join(name);
        let lives = fs::read_dir(folder).unwrap().flatten().map(|it| it.path());
        let files = lives.flat_map(|life| ["0.jsonl", "1.jsonl"].map(|name| life.join(name)));
        let text: Vec<_> = files.filter_map(|file| fs::read_to_string(file).ok()).collect();
        let lines = text.iter().flat_map(|text| text.lines());
        lines.filter_map(|line| serde_json::from_str(line).ok()).collect()
    }

    /// Waits until all is led, so many members are seen, and the clocks of both hosts are compared.
    fn settles(&self, members: usize) {
        eventually(&format!("all led\n{}", self.observer.said()), SOON, || {
            let picture = self.observer.status().1?;
            let seen = picture.groups.values().flat_map(|group| group.members.values());
            let seen = seen.filter(|member| member.pid.is_some()).count();
            let led = picture.health == Level::Led && picture.reasons.elsewhere.is_empty();
            (led && seen == members && picture.clocks.len() == 2).then_some(())
        });
    }

    /// Waits until one member alone leads, and not one of these.
    fn leader(&self, but: &[String]) -> String {
        eventually(&format!("a leader but {but:?}"), SOON, || {
            let picture = self.observer.status().1?;
            let leaders = picture.roles[0].leaders.values().next()?;
            let [leader] = &leaders[..] else { return None };
            Some(leader.to_string()).filter(|leader| !but.contains(leader))
        })
    }

    /// Waits until a member has claimed after this instant, by its own word.
    fn claims(&self, member: &str, after: Mono) {
        eventually(&format!("a claim of {member}"), SOON, || {
            let claims = |fact: &Fact| match fact.what {
                What::Member(MemberEvent::Claimed { from, .. }) => {
                    Namespaces::truly(host_of(member), from) > after
                }
                _ => false,
            };
            self.written(member).iter().any(claims).then_some(())
        });
    }

    fn kill(&mut self, member: &str) {
        let mut hold = self.holds.remove(member).unwrap();
        hold.0.kill().unwrap();
        hold.0.wait().unwrap();
    }
}

/// The most by which the instants of a member may be off, as the observer has ever stated it.
fn stated(recording: &Recording, member: &str) -> Duration {
    let errors = recording.facts.iter().filter_map(|fact| match &fact.what {
        What::Run(RunEvent::Started { external: Some(external), .. })
            if fact.life.as_ref().is_some_and(|life| life.member.as_str() == member) =>
        {
            external.error()
        }
        _ => None,
    });
    errors.max().unwrap_or_else(|| panic!("the clock of {member} was not compared"))
}

/// Each fact of a member that the observer has is within that of the one that was written; how many
/// there are.
fn all_within(stage: &Stage, recording: &Recording, member: &str) -> usize {
    let (host, error) = (host_of(member), stated(recording, member));
    let number = |fact: &Fact| (fact.life.clone(), fact.seq);
    let own: BTreeMap<(Option<Life>, u64), Mono> =
        stage.written(member).iter().map(|fact| (number(fact), fact.t)).collect();
    let mut count = 0;
    for fact in recording.facts.iter().filter(|fact| fact.what.is_by_member()) {
        let Some(written) = own.get(&number(fact)) else { continue };
        let (truth, said) = (Namespaces::truly(host, *written), Namespaces::truly(HERE, fact.t));
        let off = truth.since(said).max(said.since(truth));
        assert!(off <= error, "{member}: {fact:?} is off by {off:?}, not {error:?}");
        count += 1;
    }
    count
}

#[test]
fn a_member_of_another_host_leads_and_instants_are_within_the_stated_error() {
    let mut stage = Stage::new();
    stage.settles(MEMBERS.len());
    let victim = stage.leader(&[]);
    let before = Mono::now(); // clock: an instant, after which the next claims
    stage.kill(&victim);
    let successor = stage.leader(std::slice::from_ref(&victim));
    stage.claims(&successor, before);
    // Its witness, which outlives it, has seen it die.
    eventually("the death", SOON, || {
        let died = |fact: &Fact| {
            matches!(fact.what, What::Run(RunEvent::Died { .. }))
                && fact.life.as_ref().is_some_and(|life| life.member.as_str() == victim)
        };
        stage.observer.recording().facts.iter().any(died).then_some(())
    });
    stage.settles(MEMBERS.len() - 1);

    // The host of the leader is lost: its cable, and all that runs on it stands still.
    let leader = stage.leader(&[]);
    let lost = host_of(&leader);
    stage.hosts.link(lost, false);
    let before = Mono::now(); // clock: an instant, after which the next claims
    let there: Vec<String> =
        stage.holds.keys().filter(|member| host_of(member) == lost).cloned().collect();
    there.iter().for_each(|member| signal_pid(stage.holds[member].0.id(), Signal::STOP));
    let next = stage.leader(&there);
    assert_ne!(host_of(&next), lost);
    stage.claims(&next, before);
    there.iter().for_each(|member| stage.kill(member));

    stage.observer.signal(Signal::TERM);
    assert_eq!(stage.observer.ends().code(), Some(0), "{}", stage.observer.said());
    let recording = stage.observer.recording();
    for member in stage.holds.keys() {
        let count = all_within(&stage, &recording, member);
        assert!(count > 0, "the observer knows no fact of {member}");
    }
}
