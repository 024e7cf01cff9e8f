//! A topology that is kept up: it reports what happens correctly to permitted users, and leaves
//! nothing behind however it ends.

use std::fs;
use std::io::{Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::process::Signal;
use support::experiment::{eventually, output, signal_pid, tandem};
use support::leftovers::{is_stopped, see};
use support::supervised::{guard, loses_a_death, pids};
use support::undone::idle;
use support::up::{Up, nothing_is_left};
use tandem::ids::GroupName;
use tandem::live_view::{Happening, Level, Picture};
use tandem::observation::{Fact, Outcome, RunEvent, What};
use tandem::time::Mono;
use tandem::timeline::Timeline;

const SOON: Duration = Duration::from_secs(60);
/// A host that stalls all groups breaks no promise of these.
const SOLO: &str = "-f topologies/solo.yaml --set objective.group_gap=10m";
const DUO: &str = "-f topologies/duo.yaml --set objective.joint_gap=10m";
/// No host makes a session expire, and a death is known at once.
const STEADY: &str = "--set defaults.session=30s --set defaults.heartbeat=100ms \
                      --set defaults.on_death=leave";

fn group(name: &str) -> GroupName {
    name.parse().unwrap()
}

fn sockets(state: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(state.join("tandem/up")).into_iter().flatten();
    entries.map(|entry| entry.unwrap().path()).collect()
}

/// Waits until `tandem status` ends with this code. A supervisor that the host keeps from running
/// says nothing meanwhile, and what it keeps up is unknown then.
fn await_code(up: &Up, code: i32) -> Picture {
    eventually(&format!("a status that ends with {code}\n{}", up.said()), SOON, || {
        let (found, picture) = up.status();
        picture.filter(|_| found == Some(code))
    })
}

fn kill_all(picture: &Picture, of: &str) {
    for seat in picture.groups[&group(of)].members.values() {
        signal_pid(seat.pid.unwrap(), Signal::KILL);
    }
}

/// Waits until what `tandem status` prints for people begins like this.
fn page_begins(up: &Up, with: &str) {
    eventually(&format!("a page that begins with {with:?}"), SOON, || {
        let page = output(tandem(up.state()).arg("status"));
        String::from_utf8_lossy(&page.stdout).starts_with(with).then_some(())
    });
}

#[test]
fn status_says_how_it_stands_by_its_exit_code() {
    // The dead stay away.
    let mut up = Up::start(&format!("{DUO} {STEADY} --set defaults.restart.after=10m"));
    up.await_health(Level::Led);
    let picture = await_code(&up, 0);
    assert_eq!(picture.run.pid, up.pid());
    assert!(picture.journal.file.exists(), "{:?}", picture.journal);
    assert!(picture.roles.iter().all(|role| role.leaders.len() == 2), "{:?}", picture.roles);
    // All members of a group die: its roles are led elsewhere.
    kill_all(&picture, "p1");
    eventually("all roles to be degraded", SOON, || {
        let (code, picture) = up.status();
        let all = picture?.roles.iter().all(|role| role.health == Level::Degraded);
        (all && code == Some(7)).then_some(())
    });
    kill_all(&picture, "p2");
    let waited = ["status", "--wait", "down", "--within", "60s", "-o", "json"];
    let waited = output(tandem(up.state()).args(waited));
    assert_eq!(waited.status.code(), Some(0), "{waited:?}");
    let down: Picture = serde_json::from_slice(&waited.stdout).unwrap();
    let lives = Duration::from_millis(u64::try_from(down.at.0 - down.run.began.0).unwrap());
    assert!(down.health_for_ms < lives.as_secs_f64() * 1e3, "of {lives:?}: {down:?}");
    assert_eq!((down.health, await_code(&up, 8).health), (Level::Down, Level::Down));
    page_begins(&up, "duo: down for ");
    up.signal(Signal::TERM);
    assert_eq!(up.ends().code(), Some(0), "{}", up.said());
    nothing_is_left(up.state());
}

#[test]
fn what_was_broken_stays_so_when_all_is_led_again() {
    // All are dead at one time, also where this test is kept from running between two kills.
    let duo = "-f topologies/duo.yaml --set defaults.restart.after=4s";
    let mut up = Up::start(&format!("{duo} {STEADY}"));
    let picture = up.await_health(Level::Led);
    for of in ["p1", "p2"] {
        kill_all(&picture, of);
    }
    eventually("the joint gap of each role to be final", SOON, || {
        up.status().1.filter(|it| it.joint.gaps >= 4).map(drop)
    });
    let led = await_code(&up, 3);
    assert!(led.health == Level::Led && !led.objective[0].kept, "{:?}", led.objective);
    let waited = output(tandem(up.state()).args(["status", "--wait", "led", "--within", "60s"]));
    assert_eq!(waited.status.code(), Some(0), "{waited:?}");
    let page = String::from_utf8_lossy(&waited.stdout).into_owned();
    assert!(page.contains(", the objective is BROKEN\n"), "{page}");
    up.signal(Signal::TERM);
    assert_eq!(up.ends().code(), Some(0), "{}", up.said());
    nothing_is_left(up.state());
}

#[test]
fn one_of_several_must_be_named() {
    let state = tempfile::tempdir().unwrap();
    let ask = |args: &[&str]| {
        let said = output(tandem(state.path()).arg("status").args(args));
        (said.status.code(), String::from_utf8_lossy(&said.stderr).into_owned())
    };
    let (code, said) = ask(&[]);
    assert_eq!(code, Some(1));
    assert!(said.contains("no `tandem up` of yours is running"), "{said}");
    let mut duo = Up::start_in(DUO, state.path());
    let mut solo = Up::start_in(SOLO, state.path());
    duo.await_health(Level::Led);
    solo.await_health(Level::Led);
    let (code, said) = ask(&[]);
    assert_eq!(code, Some(1), "{said}");
    for (topology, pid) in [("duo", duo.pid()), ("solo", solo.pid())] {
        let line = said.lines().find(|line| line.contains(&format!("process {pid}")));
        assert!(line.is_some_and(|line| line.trim_start().starts_with(topology)), "{said}");
    }
    let named = |args: &[&str]| {
        eventually(&format!("{args:?} to name one"), SOON, || {
            (ask(args).0 == Some(0)).then_some(())
        });
    };
    named(&["-f", "topologies/solo.yaml"]);
    let (code, said) = ask(&["-f", "topologies/trio.yaml"]);
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("no `tandem up` of yours keeps trio up; running are:"), "{said}");
    assert!(said.contains(&format!("process {}", duo.pid())), "{said}");
    assert_eq!(ask(&["-f", "topologies/none.yaml"]).0, Some(2));
    // `tandem halt` leaves them alone, unless it is asked for all.
    let halt = |args: &[&str]| {
        let said = output(tandem(state.path()).arg("halt").args(args));
        assert!(said.status.success(), "{said:?}");
        String::from_utf8_lossy(&said.stdout).into_owned()
    };
    let said = halt(&[]);
    assert!(said.starts_with("nothing is left to halt\n"), "{said}");
    let kept =
        format!("process {} still keeps duo up: `tandem halt --all` ends it", duo.supervisor());
    assert!(said.contains(&kept), "{said}");
    named(&["--pid", &duo.pid().to_string()]);
    await_code(&solo, 0);
    let supervisor = solo.supervisor();
    let said = halt(&["--all"]);
    let ended = format!("supervisor {supervisor} ended when asked");
    assert!(said.contains(&ended), "{said}");
    assert_eq!((duo.ends().code(), solo.ends().code()), (Some(0), Some(0)));
    assert!(sockets(state.path()).is_empty());
}

#[test]
fn it_ends_by_itself_or_at_once() {
    let mut up = Up::start("-f topologies/solo.yaml --for 1s");
    assert_eq!(up.ends().code(), Some(0), "{}", up.said());
    // It prints its last line within a bound, and the journal has it on any host.
    let ended = up.recording().facts.into_iter().find_map(|fact| match fact.what {
        What::Run(RunEvent::Ended { how, why }) => Some((how, why)),
        _ => None,
    });
    assert_eq!(ended, Some((Outcome::Completed, Some("its time of 1s is over".to_owned()))));
    nothing_is_left(up.state());

    let mut up = Up::start("-f topologies/solo.yaml");
    let members = pids(&up.await_health(Level::Led));
    signal_pid(*members.values().next().unwrap(), Signal::STOP);
    // It hears both when it wakes. Two of one kind would be one.
    for signal in [Signal::STOP, Signal::INT, Signal::TERM, Signal::CONT] {
        up.signal(signal);
    }
    assert_eq!(up.ends().code(), Some(130), "{}", up.said());
    nothing_is_left(up.state());
    eventually("the members' end", SOON, || {
        members.values().all(|pid| see(*pid).is_none()).then_some(())
    });
}

#[test]
fn a_stalled_controller_reports_no_gaps_for_its_guards_shutdown() {
    let mut up = Up::start(DUO);
    let members = pids(&up.await_health(Level::Led));
    let began = |fact: &Fact| matches!(fact.what, What::Run(RunEvent::TrialBegan { .. }));
    let counts = || up.recording().facts.iter().any(began).then_some(());
    eventually("that gaps count, in the journal", SOON, counts);
    let (supervisor, guard) = (up.supervisor(), guard(&up));
    signal_pid(supervisor, Signal::STOP);
    eventually("its stop", SOON, || is_stopped(supervisor).then_some(()));
    let stopped = Mono::now(); // clock: the journal says by it what happened before
    let silent = await_code(&up, 4).silent_ms;
    assert!(silent.is_some_and(|ms| ms >= 1_000.0), "what it keeps up is unknown: {silent:?}");
    eventually("that its guard has ended the members, and itself", SOON, || {
        let ended = |pid: &u32| see(*pid).is_none_or(|one| one.has_ended());
        members.values().chain([&guard]).all(ended).then_some(())
    });
    let asleep = Mono::now().since(stopped); // clock: it says for how long it did not run
    signal_pid(supervisor, Signal::CONT);
    assert_eq!(up.ends().code(), Some(4), "{}", up.said());
    // It is rounded to a tenth of a second.
    let idle = idle(&up.said());
    assert!(idle + Duration::from_millis(100) >= asleep, "{asleep:?}: {}", up.said());
    let again = output(tandem(up.state()).arg("report").arg(&up.out).args(["-o", "json"]));
    let report: tandem::verdict::Report = serde_json::from_slice(&again.stdout).unwrap();
    assert_eq!(again.status.code(), Some(4), "{:?}", report.reasons);
    let unknown = Duration::from_secs_f64(report.unknown_ms / 1e3);
    assert!(unknown >= asleep, "{unknown:?} of {asleep:?} is unknown");
    let recording = up.recording();
    let timeline = Timeline::compute(&recording.header.plan, &recording.facts);
    let groups = timeline.groups.values().map(|group| &group.findings);
    for gap in groups.chain([&timeline.joint]).flat_map(|found| &found.gaps) {
        assert!(gap.span.until <= stopped, "stopped at {stopped:?}: {gap:?}");
    }
    nothing_is_left(up.state());
}

#[test]
fn a_topology_that_cannot_be_kept_up_is_refused_before_anything_starts() {
    let state = tempfile::tempdir().unwrap();
    let up = |args: &[&str]| {
        let said = output(tandem(state.path()).arg("up").args(args));
        (said.status.code(), String::from_utf8_lossy(&said.stderr).into_owned())
    };
    assert_eq!(up(&["-f", "topologies/none.yaml"]).0, Some(2));
    assert_eq!(up(&["--for", "3"]).0, Some(2));
    fs::write(state.path().join("file"), "").unwrap();
    let (code, said) = up(&["--out", state.path().to_str().unwrap()]);
    assert_eq!(code, Some(1));
    assert!(said.contains("is not empty: name another folder with --out"), "{said}");
    // A folder that others can enter could hold another's socket.
    let folder = state.path().join("tandem/up");
    fs::create_dir_all(&folder).unwrap();
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o755)).unwrap();
    let out = state.path().join("out");
    let (code, said) = up(&["--out", out.to_str().unwrap()]);
    assert_eq!(code, Some(1));
    assert!(said.contains("must belong to the user who runs this"), "{said}");
    assert!(!out.exists(), "nothing is left of it");
}

/// Speaks to a socket as a program might.
fn speak(socket: &Path, line: &[u8]) -> String {
    let mut stream = UnixStream::connect(socket).unwrap();
    stream.set_read_timeout(Some(SOON)).unwrap();
    // It may have been turned away before it has said all.
    stream.write_all(line).ok();
    let mut said = Vec::new();
    stream.read_to_end(&mut said).ok();
    String::from_utf8(said).unwrap()
}

#[test]
fn its_socket_is_its_owners_alone_and_takes_no_nonsense() {
    let mut up = Up::start(SOLO);
    up.await_health(Level::Led);
    let [socket] = sockets(up.state()).try_into().unwrap();
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&socket), 0o600);
    assert_eq!(mode(socket.parent().unwrap()), 0o700);
    let status = speak(&socket, b"{\"tandem\":1,\"ask\":\"status\"}\n");
    let status: serde_json::Value = serde_json::from_str(&status).unwrap();
    assert_eq!(status["status"]["topology"], "solo", "{status}");
    for (line, why) in [
        (&b"nonsense\n"[..], "this is not a request"),
        (b"{\"tandem\":2,\"ask\":\"status\"}\n", "the request has version 2"),
        (b"{\"tandem\":1,\"ask\":\"everything\"}\n", "this is not a request"),
        (&[b'x'; 5_000], "one line of at most 4096 bytes"),
    ] {
        let said = speak(&socket, line);
        assert!(said.contains("refused") && said.contains(why), "{said}");
    }
    // It is none the worse.
    await_code(&up, 0);
    up.signal(Signal::HUP);
    assert_eq!(up.ends().code(), Some(0), "{}", up.said());
}

#[test]
fn a_client_that_does_not_read_disturbs_no_other() {
    let mut up = Up::start("-f topologies/solo.yaml");
    let members = pids(&up.await_health(Level::Led));
    let [socket] = sockets(up.state()).try_into().unwrap();
    let mut stopped = up.follow();
    stopped.await_event("anything", |_| Some(()));
    signal_pid(stopped.pid(), Signal::STOP);
    let mut idle: Vec<_> = (0..15)
        .map(|_| {
            let mut stream = UnixStream::connect(&socket).unwrap();
            stream.write_all(b"{\"tandem\":1,\"ask\":\"events\",\"follow\":true}\n").unwrap();
            stream
        })
        .collect();
    let full = eventually("too many", SOON, || {
        let said = speak(&socket, b"{\"tandem\":1,\"ask\":\"status\"}\n");
        said.contains("16 other clients are connected").then_some(said)
    });
    assert!(full.contains("refused"), "{full}");
    idle.pop();
    let (victim, pid) = members.first_key_value().unwrap();
    signal_pid(*pid, Signal::KILL);
    eventually("a place, and the death", SOON, || {
        let picture = up.status().1?;
        (pids(&picture).get(victim) != Some(pid)).then_some(())
    });
    up.signal(Signal::INT);
    assert_eq!(up.ends().code(), Some(0), "{}", up.said());
    signal_pid(stopped.pid(), Signal::CONT);
    let (_, events) = stopped.finish();
    let died = events.iter().any(|(_, it)| match &it.what {
        Happening::Died { life, .. } => life.member == *victim,
        _ => false,
    });
    assert!(died, "events from while it was stopped waited in the socket: {events:#?}");
}

#[test]
fn the_socket_of_a_dead_process_is_removed() {
    let mut up = Up::start("-f topologies/solo.yaml");
    up.await_health(Level::Led);
    let supervisor = up.supervisor();
    up.signal(Signal::KILL);
    up.ends();
    assert_eq!(sockets(up.state()).len(), 1, "the socket file remains");
    assert_eq!(up.status().0, Some(1));
    assert!(sockets(up.state()).is_empty());
    // What it had started goes on, until `halt --all`.
    let status = output(tandem(up.state()).arg("status"));
    let said = String::from_utf8_lossy(&status.stderr).into_owned();
    let expected = format!("process {supervisor} keeps solo up, and no `tandem up` watches it");
    assert!(said.contains(&expected) && status.status.code() == Some(1), "{said}");
    assert!(output(tandem(up.state()).args(["halt", "--all"])).status.success());
    nothing_is_left(up.state());
}

#[test]
fn unwritten_facts_are_reported_and_the_run_continues() {
    let after = "--set defaults.restart.after=2s";
    let duo = |gap: &str| {
        format!("-f topologies/duo.yaml --set objective.joint_gap={gap} {STEADY} {after}")
    };
    let mut up = Up::start(&duo("10m"));
    let members = pids(&up.await_health(Level::Led));
    let mut follower = up.follow();
    let away = up.out.with_extension("away");
    fs::rename(&up.out, &away).unwrap();
    // A change of the topology begins the next file, which has no place.
    let changed = output(tandem(up.state()).arg("apply").args(duo("9m").split_whitespace()));
    let said = String::from_utf8_lossy(&changed.stdout);
    assert!(said.contains("; the change holds\n"), "{said}{}", up.said());
    follower.await_event("that nothing is written", |event| {
        matches!(event.what, Happening::Unwritten { .. }).then_some(())
    });
    eventually("why", SOON, || {
        let journal = up.status().1?.journal;
        (!journal.written && journal.why?.contains("journal-")).then_some(())
    });
    // The members are up.
    assert_eq!(await_code(&up, 0).health, Level::Led);
    let page = output(tandem(up.state()).arg("status"));
    assert!(String::from_utf8_lossy(&page.stdout).contains("NOTHING IS WRITTEN"), "{page:?}");
    loses_a_death(&mut up, &mut follower, *members.values().next().unwrap(), &away);
    nothing_is_left(up.state());
}
