//! Reasons are shown where people look: a cluster that is lost, members that cannot reach it, and
//! stalls of the host; in events, in the status, on the live page and in a run's text. And what a
//! doctor says of members that are our own, and of a state folder that cannot be written.

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use ratatui::Terminal;
use ratatui::backend::TestBackend;
use rustix::process::Signal;
use support::broker_process::BrokerProcess;
use support::experiment::{eventually, output, tandem};
use support::facts::{Story, at, brief, plan};
use support::up::Up;
use support::watched::picture;
use tandem::live::Live;
use tandem::live_view::{Event, Happening, Level, Screen, Table, line, summary};
use tandem::observation::{MemberEvent, Outcome, RunEvent};
use tandem::time::{Mono, Wall};
use tandem::verdict::{Report, render};

const SOON: Duration = Duration::from_secs(60);

/// A topology on a cluster that outlives a run. Its members stay in their group while they live.
fn far(folder: &std::path::Path, broker: &BrokerProcess) -> PathBuf {
    let file = folder.join("far.yaml");
    let text = format!(
        "version: 1\nname: far\nroles: [a]\nclusters: {{c: {{bootstrap: \"{}\"}}}}\ngroups: {{p1: \
         {{cluster: c, members: 2}}}}\ndefaults: {{session: 30s, heartbeat: 300ms}}\n",
        broker.address
    );
    fs::write(&file, text).unwrap();
    file
}

#[test]
fn a_lost_cluster_is_reported_with_the_members_that_cannot_reach_it() {
    let folder = tempfile::tempdir().unwrap();
    let mut broker = BrokerProcess::start();
    let file = far(folder.path(), &broker);
    let mut up = Up::start(&format!("-f {}", file.display()));
    up.await_health(Level::Led);
    let said = up.said();
    assert!(said.contains("starting members\n") && !said.contains("brokers"), "{said}");
    is_known_to_the_doctor(&up, &file);
    let mut follower = up.follow();
    broker.child.kill().unwrap();
    let address = broker.address.clone();
    let mut unconnected = 0;
    let mut lost = false;
    while unconnected < 2 || !lost {
        let (_, what) = follower.await_event("what is lost", |event| match &event.what {
            Happening::Unconnected { why, .. } => Some(Err(why.clone())),
            Happening::BrokerLost { broker, .. } => Some(Ok(broker.clone())),
            _ => None,
        });
        match what {
            Ok(broker) => lost = broker.ends_with(&format!(" at {address}")),
            Err(why) => {
                assert!(!why.is_empty());
                unconnected += 1;
            }
        }
    }
    eventually("one lost broker, and two members without one", SOON, || {
        let reasons = up.status().1?.reasons;
        ((reasons.brokers.len(), reasons.members.len()) == (1, 2)).then_some(())
    });
    let page = output(tandem(up.state()).arg("status"));
    let page = String::from_utf8_lossy(&page.stdout).into_owned();
    assert!(page.contains(&format!("at {address} of cluster c: lost for ")), "{page}");
    assert!(page.contains("p1-1 has not reached its brokers for "), "{page}");
    up.signal(Signal::INT);
    up.ends();
    let text = output(tandem(up.state()).arg("report").arg(&up.out));
    let text = String::from_utf8_lossy(&text.stdout).into_owned();
    assert!(text.contains("did not reach its brokers for "), "{text}");
    assert!(text.contains(&format!("at {address} of cluster c was lost to the end")), "{text}");
}

/// While it is kept up, its members are no strangers.
fn is_known_to_the_doctor(up: &Up, file: &std::path::Path) {
    let said = output(tandem(up.state()).arg("doctor").arg("-f").arg(file));
    let text = String::from_utf8_lossy(&said.stdout).into_owned();
    let shows = format!("`tandem status --pid {}` shows it", up.supervisor());
    let own = "has the members of your own `tandem up`";
    assert!(text.contains(own) && text.contains(&shows) && !text.contains("not ours"), "{text}");
    assert_eq!(said.status.code(), Some(0), "{text}");
    for heading in
        ["state folder: a run checks this again", "clusters: a run checks all of this again"]
    {
        assert!(text.contains(heading), "{text}");
    }
    assert!(text.contains("faults: a run does not check these"), "{text}");
    // A second run on the same brokers is refused, and names the first.
    let second = output(tandem(up.state()).args(["up", "--for", "1s", "-f"]).arg(file));
    let text = String::from_utf8_lossy(&second.stderr).into_owned();
    assert!(text.contains(own) && text.contains(&shows) && !text.contains("not ours"), "{text}");
    assert_eq!(second.status.code(), Some(1), "{text}");
}

#[test]
fn a_second_run_beside_the_first_names_it() {
    let mut first = Up::start("-f topologies/solo.yaml");
    first.await_health(Level::Led);
    let mut second = tandem(first.state());
    second.args(["up", "--for", "1s", "-f", "topologies/solo.yaml"]);
    let second = output(second.arg("--out").arg(first.state().join("second")));
    let text = String::from_utf8_lossy(&second.stderr).into_owned();
    let pid = first.supervisor();
    let ways = format!("`tandem status --pid {pid}` shows it, `kill -INT {pid}` ends it");
    let names_it = text.contains("another `tandem up` of solo is running");
    assert!(names_it && text.contains(&ways), "{text}");
    first.signal(Signal::INT);
    assert_eq!(first.ends().code(), Some(0), "{}", first.said());
    assert!(!first.said().contains("another `tandem up`"), "{}", first.said());
}

#[test]
fn a_refused_connection_is_reported_at_once() {
    let folder = tempfile::tempdir().unwrap();
    // No process listens there: the kernel gives this port to none that asks for any.
    let free = "127.0.0.1:1";
    let file = folder.path().join("shut.yaml");
    let text = format!(
        "version: 1\nname: shut\nroles: [a]\nclusters: {{c: {{bootstrap: \"{free}\"}}}}\n\
         groups: {{p1: {{cluster: c, members: 1}}}}\n"
    );
    fs::write(&file, text).unwrap();
    let said = output(tandem(folder.path()).arg("doctor").arg("-f").arg(&file));
    let text = String::from_utf8_lossy(&said.stdout).into_owned();
    // Where no answer comes at all, ten seconds are waited.
    assert!(text.contains("Connection refused") && text.contains("within 1s"), "{text}");
    assert_eq!(said.status.code(), Some(1), "{text}");
}

#[test]
fn a_state_folder_that_cannot_be_written_is_found() {
    let folder = tempfile::tempdir().unwrap();
    // No user can create a folder in a file, not even root.
    let state = folder.path().join("file");
    fs::write(&state, "").unwrap();
    let said = output(tandem(&state).args(["doctor", "-f", "topologies/duo.yaml"]));
    let text = String::from_utf8_lossy(&said.stdout).into_owned();
    assert_eq!(said.status.code(), Some(1), "{text}");
    let line = text.lines().find(|line| line.contains("cannot be written")).unwrap();
    assert!(line.starts_with("fail") && line.contains("set XDG_STATE_HOME"), "{text}");
}

#[test]
fn a_member_that_leaves_in_order_does_not_die() {
    let mut up = Up::start("-f topologies/solo.yaml");
    up.await_health(Level::Led);
    // One that leads reads signals by now.
    let pid = eventually("a member that leads", SOON, || {
        let picture = up.status().1?;
        let members = picture.groups.values().flat_map(|group| group.members.values());
        members.filter(|member| member.leads > 0).find_map(|member| member.pid)
    });
    let mut follower = up.follow();
    // A member that is asked to leave does, and ends with status 0.
    support::experiment::signal_pid(pid, Signal::TERM);
    follower.await_event("that it left", |event| match &event.what {
        Happening::Left { .. } => Some(()),
        Happening::Died { life, .. } => panic!("{life} is said to have died"),
        _ => None,
    });
    let page = eventually("that it left", SOON, || {
        let page = output(tandem(up.state()).arg("status")).stdout;
        let page = String::from_utf8_lossy(&page).into_owned();
        (page.contains("  left ") || page.contains(".2  alive")).then_some(page)
    });
    assert!(!page.contains("dead"), "{page}");
    up.signal(Signal::INT);
    assert_eq!(up.ends().code(), Some(0), "{}", up.said());
}

#[test]
fn stalls_and_losses_are_on_every_page() {
    let plan = plan(1, &[("p1", 1, 1)]);
    let mut story = Story::default();
    let (cluster, broker) = ("a".parse().unwrap(), "1 at h:1".to_owned());
    story.started("p1-1.1", 1);
    story.run(1_030, RunEvent::Stall { from: at(1_000), until: at(1_030), waited_ns: None });
    story.run(2_400, RunEvent::Stall { from: at(2_000), until: at(2_400), waited_ns: None });
    story.run(3_000, RunEvent::BrokerLost { cluster, broker });
    story.says(
        "p1-1.1",
        3_100,
        MemberEvent::Unconnected { why: "Connection \"refused\"".to_owned() },
    );
    story.says("p1-1.1", 3_500, MemberEvent::Refused { why: "versions 1 and 3".to_owned() });
    let (mut live, table) = (Live::new(&plan), Table::new(&plan, Mono::ZERO));
    let mut lines = Vec::new();
    for fact in &story.facts {
        live.observe(fact);
        if let Some(what) = Happening::of(&live, fact) {
            let event = Event { seq: 1, t: fact.t, wall: Wall(0), published: fact.t, what };
            lines.push(line(&event).split_once(' ').unwrap().1.to_owned());
        }
    }
    let expected = [
        "started life=p1-1.1 pid=1",
        "stalled ms=400.000",
        "broker_lost cluster=a broker=\"1 at h:1\"",
        "unconnected life=p1-1.1 why=\"Connection \\\"refused\\\"\"",
        "refused life=p1-1.1 why=\"versions 1 and 3\"",
    ];
    assert_eq!(lines, expected);
    let shown = [
        "broker 1 at h:1 of cluster a: lost for 1.0 s",
        "p1-1 has not reached its brokers for 0.9 s: Connection \"refused\"",
        "p1-1 left its group 0.5 s ago: versions 1 and 3",
        "host stalled once, for up to 400 ms, last 1.6 s ago",
    ];
    let picture = picture(&table, &live, at(4_000));
    let mut terminal = Terminal::new(TestBackend::new(100, 20)).unwrap();
    terminal.draw(|frame| Screen::new(false, false).draw(frame, &picture)).unwrap();
    // A terminal's rows stand in quotes.
    let page = terminal.backend().to_string();
    for line in shown {
        assert!(summary(&picture).contains(&format!("{line}\n")), "{}", summary(&picture));
        assert!(page.contains(line), "{page}");
    }
}

#[test]
fn unexplained_findings_are_in_the_text_of_a_run() {
    let plan = plan(1, &[("p1", 1, 2)]);
    let mut story = Story::default();
    let cluster = || "a".parse().unwrap();
    story.started("p1-1.1", 1).began(100, 1);
    story.run(1_000, RunEvent::Stall { from: at(600), until: at(1_000), waited_ns: None });
    story.run(1_200, RunEvent::BrokerLost { cluster: cluster(), broker: "1 at h:1".to_owned() });
    story.run(3_200, RunEvent::BrokerBack { cluster: cluster(), broker: "1 at h:1".to_owned() });
    story.says("p1-1.1", 1_300, MemberEvent::Unconnected { why: "Connection refused".to_owned() });
    story.asked("p1-2.1", 5_000, "1.k", "partition");
    story.says("p1-2.1", 5_500, MemberEvent::Unconnected { why: "expected".to_owned() });
    story.ended(9_000, 1);
    story.run(9_100, RunEvent::Ended { how: Outcome::Interrupted, why: None });
    let report = Report::compute(&plan, &brief(&plan, 1, &[]), 7, Mono::ZERO, &story.facts);
    let text = render(&report, "out", false);
    assert!(text.starts_with("INTERRUPTED "), "{text}");
    for part in [
        "host       stalled once, for 400 ms\n",
        "broker 1 at h:1 of cluster a was lost for 2.0 s",
        "p1-1.1 did not reach its brokers to the end: Connection refused",
    ] {
        assert!(text.contains(part), "{text}");
    }
    assert!(!text.contains("expected"), "a fault explains it: {text}");
}
