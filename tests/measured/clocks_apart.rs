//! Members on three hosts with clocks of their own, and an observer on one of them: each instant
//! that it finds is within the error that it states of the true one. Here the truth is known: the
//! clocks are apart by what the test has set.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Duration;

use rustix::process::Signal;
use support::experiment::{eventually, signal_pid};
use support::hosts::OnHost;
use support::measured::turn;
use support::memory::{self, Folder};
use support::namespaces::Namespaces;
use support::observed::Hold;
use support::up::Up;
use tandem::ids::{GroupName, Life};
use tandem::journal::Recording;
use tandem::live_view::{Level, Picture};
use tandem::observation::{Fact, MemberEvent, RunEvent, What};
use tandem::time::Mono;
use tandem::timeline::{Interval, IntervalSet, Timeline};

const SOON: Duration = Duration::from_secs(60);
/// How far the last tick before a stop may be away from it.
const LATE: Duration = Duration::from_millis(100);
/// The host of the brokers and of the observer.
const HERE: usize = 0;
/// Each member, and its host. The groups are apart, so that no host takes both.
const MEMBERS: [(&str, &str, usize); 8] = [
    ("p1", "a", 1),
    ("p1", "b", 2),
    ("p1", "c", 1),
    ("p1", "h", 2),
    ("p2", "d", 0),
    ("p3", "e", 0),
    ("p3", "f", 1),
    ("p3", "g", 2),
];

struct Stage {
    // The order of their ends.
    observer: Option<Up>,
    holds: BTreeMap<String, Hold>,
    _brokers: Vec<OnHost>,
    folder: Folder,
    hosts: Namespaces,
}

/// `p1-a`, as facts name it.
fn named(group: &str, name: &str) -> String {
    format!("{group}-{name}")
}

fn host_of(member: &str) -> usize {
    MEMBERS.iter().find(|(group, name, _)| named(group, name) == member).unwrap().2
}

impl Stage {
    fn new() -> Self {
        let (hosts, folder) = (Namespaces::new(), memory::folder());
        let here = Namespaces::ADDRESSES[HERE];
        let brokers = [9_092, 9_093].map(|port| {
            let mut broker = hosts.on(HERE, support::program());
            broker.args(["broker", "--listen", &format!("{here}:{port}"), "--until-eof"]);
            let broker = broker.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
            let mut broker = OnHost(broker);
            assert!(broker.first_line().contains(&port.to_string()));
            broker
        });
        let text = format!(
            "version: 1\nname: apart\nroles: [r]\n\
             clusters: {{a: {{bootstrap: \"{here}:9092\"}}, b: {{bootstrap: \"{here}:9093\"}}}}\n\
             defaults: {{session: 3s}}\n\
             groups:\n  p1: {{cluster: a, launch: external}}\n  p2: {{cluster: b, launch: \
             external}}\n  p3: {{cluster: a, launch: external, on_death: stand-in, mesh: \
             {{listen: \"{here}\", plain: true}}}}\n"
        );
        fs::write(folder.path().join("t.yaml"), text).unwrap();
        let (holds, brokers) = (BTreeMap::new(), Vec::from(brokers));
        let mut stage = Self { observer: None, holds, _brokers: brokers, folder, hosts };
        let file = stage.folder.path().join("t.yaml").display().to_string();
        let (observer, state) = (stage.tandem(HERE), stage.state(HERE));
        stage.observer = Some(Up::start_from(observer, &format!("-f {file} --observe"), &state));
        for (group, name, host) in MEMBERS {
            stage.hold(group, name, host);
        }
        stage
    }

    /// Hosts have no files in common.
    fn state(&self, host: usize) -> PathBuf {
        self.folder.path().join(format!("state-{host}"))
    }

    fn tandem(&self, host: usize) -> Command {
        let mut command = self.hosts.on(host, support::program());
        command.env("XDG_STATE_HOME", self.state(host)).env_remove("TANDEM_TRIALS");
        command.env("RUST_LOG", "warn");
        command
    }

    fn hold(&mut self, group: &str, name: &str, host: usize) {
        let log = |kind| File::create(self.folder.path().join(format!("{name}.{kind}"))).unwrap();
        let mut hold = self.tandem(host);
        hold.arg("hold").arg("-f").arg(self.folder.path().join("t.yaml"));
        hold.args(["--group", group, "--name", name, "--serve", "127.0.0.1:0"]);
        if group == "p3" {
            hold.args(["--mesh", &format!("{}:7400", Namespaces::ADDRESSES[host])]);
        }
        hold.stdin(Stdio::null()).stdout(log("out")).stderr(log("err"));
        self.holds.insert(named(group, name), Hold(hold.spawn().unwrap()));
    }

    fn observer(&self) -> &Up {
        self.observer.as_ref().unwrap()
    }

    fn pid(&self, member: &str) -> u32 {
        self.holds[member].0.id()
    }

    /// The facts that the living life of a member has written, by its own clock.
    fn written(&self, member: &str) -> Vec<Fact> {
        let (group, name) = member.split_once('-').unwrap();
        let folder = self.state(host_of(member)).join("tandem/facts/apart").join(group);
        let lives = fs::read_dir(folder.join(name)).unwrap().flatten().map(|it| it.path());
        let files = lives.flat_map(|life| ["0.jsonl", "1.jsonl"].map(|name| life.join(name)));
        let text: Vec<_> = files.filter_map(|file| fs::read_to_string(file).ok()).collect();
        let lines = text.iter().flat_map(|text| text.lines());
        lines.filter_map(|line| serde_json::from_str(line).ok()).collect()
    }

    /// All is led, each role by one member, and no rebalance was for two seconds.
    fn settles(&self, members: usize) -> Picture {
        eventually(&format!("all led\n{}", self.observer().said()), SOON, || {
            let picture = self.observer().status().1?;
            let led = picture.health == Level::Led && picture.reasons.elsewhere.is_empty();
            let alive = picture.groups.values().flat_map(|group| group.members.values());
            let alive = alive.filter(|member| member.pid.is_some()).count();
            // What a member did before its clock was compared is in no fact.
            let facts = self.observer().recording().facts;
            let changes = facts.iter().filter(|fact| {
                matches!(
                    fact.what,
                    What::Member(MemberEvent::Assigned { .. } | MemberEvent::Revoked { .. })
                        | What::Run(RunEvent::Started { .. } | RunEvent::Died { .. })
                )
            });
            let last = Namespaces::truly(HERE, changes.map(|fact| fact.t).max()?);
            let rests = alive == members && Mono::now().since(last).as_secs() >= 2;
            (led && rests).then_some(picture)
        })
    }

    fn leader(&self, group: &str, but: Option<&str>) -> String {
        eventually(&format!("a leader of {group}"), SOON, || {
            let picture = self.observer().status().1?;
            let leaders = picture.roles[0].leaders.get(group)?;
            let [leader] = &leaders[..] else { return None };
            Some(leader.to_string()).filter(|leader| Some(leader.as_str()) != but)
        })
    }

    /// Kills a member. Returns the time in which it died, on the clock of the test.
    fn kill(&mut self, member: &str) -> Interval {
        let mut hold = self.holds.remove(member).unwrap();
        let before = Mono::now();
        signal_pid(hold.0.id(), Signal::KILL);
        hold.0.wait().unwrap();
        Interval::new(before, Mono::now())
    }

    /// When a member first claimed after `from`, truly.
    fn claimed(&self, member: &str, from: Mono) -> Mono {
        let host = host_of(member);
        eventually(&format!("a claim of {member}"), SOON, || {
            let claims = self.written(member).into_iter().filter_map(|fact| match fact.what {
                What::Member(MemberEvent::Claimed { from, .. }) => Some(from),
                _ => None,
            });
            claims.map(|at| Namespaces::truly(host, at)).filter(|at| *at > from).min()
        })
    }
}

/// A leader that was killed: when it died, and when its successor led, on the clock of the test.
struct Kill {
    group: &'static str,
    victim: String,
    successor: String,
    died: Interval,
    led: Mono,
}

/// How far the instants of a member may be off, by the observer's word.
fn error_of(recording: &Recording, member: &str) -> Duration {
    let stated = recording.facts.iter().rev().find_map(|fact| match &fact.what {
        What::Run(RunEvent::Started { external: Some(external), .. })
            if fact.life.as_ref().is_some_and(|life| life.member.as_str() == member) =>
        {
            external.error()
        }
        _ => None,
    });
    stated.unwrap_or_else(|| panic!("the clock of {member} was not compared"))
}

fn apart(one: Mono, other: Mono) -> Duration {
    one.since(other).max(other.since(one))
}

/// Each fact of a member that the observer has is within the error of the one that was written.
/// Returns how many there are, and by how much the farthest is off.
fn all_within(stage: &Stage, recording: &Recording, member: &str) -> (usize, Duration) {
    let (host, error) = (host_of(member), error_of(recording, member));
    let number = |fact: &Fact| (fact.life.clone().unwrap(), fact.seq);
    let key = |fact: &Fact| (number(fact), fact.t);
    let own: BTreeMap<(Life, u64), Mono> = stage.written(member).iter().map(key).collect();
    let seen = recording.facts.iter().filter(|fact| fact.what.is_by_member());
    let of_member =
        |fact: &&Fact| fact.life.as_ref().is_some_and(|it| it.member.as_str() == member);
    let (mut count, mut worst) = (0, Duration::ZERO);
    for fact in seen.filter(of_member) {
        let Some(written) = own.get(&number(fact)) else { continue };
        let truth = Namespaces::truly(host, *written);
        let off = apart(Namespaces::truly(HERE, fact.t), truth);
        assert!(off <= error, "{member}: {fact:?} is off by {off:?}, not {error:?}");
        (count, worst) = (count + 1, worst.max(off));
    }
    (count, worst)
}

/// What the observer found of a kill contains the truth, and no gap is longer than that was.
fn fits(recording: &Recording, timeline: &Timeline, kill: &Kill) {
    let name: GroupName = kill.group.parse().unwrap();
    let truth = Interval::new(kill.died.from, kill.led);
    let on_test = |span: Interval| {
        Interval::new(Namespaces::truly(HERE, span.from), Namespaces::truly(HERE, span.until))
    };
    let all = |findings: &[tandem::timeline::Finding]| -> IntervalSet {
        findings.iter().map(|it| on_test(it.span)).filter(|it| it.touches(truth)).collect()
    };
    let found = &timeline.groups[&name].findings;
    let (gaps, unknown) = (all(&found.gaps), all(&found.unknown_gaps));
    let [of_victim, of_successor] =
        [&kill.victim, &kill.successor].map(|member| error_of(recording, member));
    // On a busy host the witness of the victim sees its death some time after it.
    let seen = recording.facts.iter().find(|fact| {
        matches!(fact.what, What::Run(RunEvent::Died { .. }))
            && fact.life.as_ref().is_some_and(|life| life.member.as_str() == kill.victim)
    });
    let seen = Namespaces::truly(HERE, seen.expect("its witness saw it die").t);
    assert!(seen + of_victim >= kill.died.from, "{} died before it was killed", kill.victim);
    let late = seen.since(kill.died.until);
    println!(
        "{}: {} died, seen {late:?} late; {} led {:?} later; found {:?}, and {:?} unknown; errors \
         {of_victim:?} and {of_successor:?}",
        kill.group,
        kill.victim,
        kill.successor,
        truth.length(),
        gaps.total(),
        unknown.total()
    );
    // It is a gap where no member led, and nowhere else.
    assert!(gaps.subtract(&truth.into()).is_empty(), "{gaps:?} is more than {truth:?}");
    // What is not found is unknown, but for the time that the witness took to see the death.
    let surely = Interval::new(kill.died.until + late, kill.led);
    let missed = IntervalSet::from(surely).subtract(&gaps).subtract(&unknown);
    assert!(missed.is_empty(), "{missed:?} of {truth:?} is neither in {gaps:?} nor {unknown:?}");
    // No more is unknown than the errors at both ends, and the silence of the dead.
    let most = (of_victim + of_successor) * 2 + late + LATE;
    assert!(unknown.total() <= most, "{unknown:?} is more than {most:?}");
    let least = truth.length().saturating_sub(most + late);
    assert!(gaps.total() >= least, "{gaps:?} is less than {least:?}");
}

#[test]
fn what_is_measured_across_hosts_is_within_the_stated_error() {
    let _turn = turn();
    let mut stage = Stage::new();
    stage.settles(MEMBERS.len());
    // On a busy host the first comparisons may say little.
    let picture = eventually("clocks that are known within 50 ms", SOON, || {
        let picture = stage.observer().status().1?;
        picture.clocks.values().all(|ms| *ms <= 50.0).then_some(picture)
    });
    assert_eq!(picture.clocks.len(), 2, "one clock a host: {:?}", picture.clocks);
    println!("stated errors, in ms: {:?}", picture.clocks);

    // In p3 a stand-in leads before the successor does, so this kill is of p1.
    let victim = stage.leader("p1", None);
    let died = stage.kill(&victim);
    let successor = stage.leader("p1", Some(&victim));
    let led = stage.claimed(&successor, died.from);
    let kill = Kill { group: "p1", victim, successor, died, led };
    stage.settles(MEMBERS.len() - 1);

    // The host of the leader of p1 is lost: its cable, then all that runs on it, frozen and killed.
    let leader = stage.leader("p1", None);
    let lost = host_of(&leader);
    stage.hosts.link(lost, false);
    let before = Mono::now();
    let there: Vec<String> =
        stage.holds.keys().filter(|member| host_of(member) == lost).cloned().collect();
    for member in &there {
        signal_pid(stage.pid(member), Signal::STOP);
    }
    let next = stage.leader("p1", Some(&leader));
    let led = stage.claimed(&next, before);
    for member in &there {
        stage.kill(member);
    }
    // Long enough for the live view to have decided: it waits 5 s for those that are silent.
    eventually("the decision", SOON, || (Mono::now().since(led).as_secs() >= 6).then_some(()));

    let observer = stage.observer.as_mut().unwrap();
    observer.signal(Signal::TERM);
    assert_eq!(observer.ends().code(), Some(0), "{}", observer.said());
    let recording = stage.observer().recording();
    let timeline = Timeline::compute(&recording.header.plan, &recording.facts);
    for member in stage.holds.keys() {
        let (count, worst) = all_within(&stage, &recording, member);
        println!("{member}: {count} facts, off by {worst:?} at most");
        assert!(count > 50, "{member}: {count} facts");
    }
    fits(&recording, &timeline, &kill);
    // What no witness saw of the lost host is unknown, and no gap; the other groups led meanwhile.
    let p1 = &timeline.groups[&"p1".parse::<GroupName>().unwrap()].findings;
    let within =
        |span: Interval| Interval::new(before, led).contains(Namespaces::truly(HERE, span.from));
    assert!(!p1.gaps.iter().any(|gap| within(gap.span)), "{:?}", p1.gaps);
    let unknown = p1.unknown_gaps.iter().filter(|it| {
        let from = Namespaces::truly(HERE, it.span.from);
        before - Duration::from_secs(1) < from && from < led
    });
    let unknown = unknown.map(|it| it.span.length()).max().unwrap_or_default();
    println!("the lost host: led by {next} after {:?}, unknown {unknown:?}", led.since(before));
    assert!(unknown + LATE * 2 >= led.since(before), "{unknown:?} of {:?}", led.since(before));
    assert!(timeline.joint.gaps.is_empty(), "{:?}", timeline.joint.gaps);
    assert!(timeline.joint.unknown_gaps.is_empty(), "{:?}", timeline.joint.unknown_gaps);
}
