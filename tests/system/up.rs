//! A topology that is kept up: it reports what happens promptly and correctly to permitted users,
//! and leaves nothing behind however it ends.

use std::fs;
use std::io::{Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::process::Signal;
use support::experiment::{eventually, output, signal_pid, tandem};
use support::undone::idle;
use support::up::{Up, nothing_is_left};
use tandem::ids::GroupName;
use tandem::live_view::{Event, Happening, Level};
use tandem::time::Mono;

const SOON: Duration = Duration::from_secs(60);

fn group(name: &str) -> GroupName {
    name.parse().unwrap()
}

fn sockets(state: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(state.join("tandem/up")).into_iter().flatten();
    entries.map(|entry| entry.unwrap().path()).collect()
}

#[test]
fn status_says_how_it_stands_by_its_exit_code() {
    // The dead stay away for long enough to be missed on a busy host.
    let mut up = Up::start("-f topologies/duo.yaml --set defaults.restart.after=10s");
    up.await_health(Level::Led);
    assert_eq!(up.status().0, Some(0));
    let picture = up.status().1.unwrap();
    assert_eq!(picture.run.pid, up.pid());
    assert!(picture.journal.written && picture.journal.file.exists(), "{:?}", picture.journal);
    assert!(picture.roles.iter().all(|role| role.leaders.len() == 2), "{:?}", picture.roles);
    // All members of a group die: its roles are led elsewhere, until a session is over.
    let killed = |picture: &tandem::live_view::Picture, name: &str| {
        for seat in picture.groups[&group(name)].members.values() {
            signal_pid(seat.pid.unwrap(), Signal::KILL);
        }
    };
    killed(&picture, "p1");
    eventually("all roles to be degraded", SOON, || {
        let (code, picture) = up.status();
        let all = picture?.roles.iter().all(|role| role.health == Level::Degraded);
        (all && code == Some(7)).then_some(())
    });
    killed(&picture, "p2");
    let waited = ["status", "--wait", "down", "--within", "30s", "-o", "json"];
    let waited = output(tandem(up.state()).args(waited));
    assert_eq!(waited.status.code(), Some(0), "{waited:?}");
    let down: tandem::live_view::Picture = serde_json::from_slice(&waited.stdout).unwrap();
    assert_eq!((down.health, up.status().0), (Level::Down, Some(8)));
    assert!(down.health_for_ms < 30_000.0, "{down:?}");
    let page = output(tandem(up.state()).arg("status"));
    let page = String::from_utf8_lossy(&page.stdout).into_owned();
    assert!(page.starts_with("duo: down for "), "{page}");
    let waited = output(tandem(up.state()).args(["status", "--wait", "led"]));
    assert_eq!(waited.status.code(), Some(0), "{waited:?}");
    let page = String::from_utf8_lossy(&waited.stdout).into_owned();
    assert!(page.contains(", the objective is BROKEN\n"), "{page}");
    let led = up.await_health(Level::Led);
    assert_eq!(up.status().0, Some(3), "it is led, and there was a joint gap");
    let joint = &led.objective[0];
    eventually("the joint gap to be final", SOON, || {
        up.status().1.filter(|it| it.joint.gaps >= 4).map(drop)
    });
    assert!(!up.status().1.unwrap().objective[0].kept, "{joint:?}");
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
    // A host that stalls all groups for a moment breaks no promise here.
    let promise = "-f topologies/duo.yaml --set objective.joint_gap=10s";
    let mut duo = Up::start_in(promise, state.path());
    let mut solo = Up::start_in("-f topologies/solo.yaml", state.path());
    duo.await_health(Level::Led);
    solo.await_health(Level::Led);
    let (code, said) = ask(&[]);
    assert_eq!(code, Some(1), "{said}");
    for (topology, pid) in [("duo", duo.pid()), ("solo", solo.pid())] {
        let line = said.lines().find(|line| line.contains(&format!("process {pid}")));
        assert!(line.is_some_and(|line| line.trim_start().starts_with(topology)), "{said}");
    }
    assert_eq!(ask(&["-f", "topologies/solo.yaml"]).0, Some(0));
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
    assert_eq!((ask(&["--pid", &duo.pid().to_string()]).0, solo.status().0), (Some(0), Some(0)));
    let supervisor = solo.supervisor();
    let said = halt(&["--all"]);
    let ended = format!("supervisor {supervisor} ended when asked");
    assert!(said.contains(&ended), "{said}");
    assert_eq!((duo.ends().code(), solo.ends().code()), (Some(0), Some(0)));
    assert!(sockets(state.path()).is_empty());
}

#[test]
fn it_ends_by_itself_or_at_once() {
    let mut up = Up::start("-f topologies/solo.yaml --for 2s");
    assert_eq!(up.ends().code(), Some(0), "{}", up.said());
    assert!(up.said().contains("ending why=\"its time of 2s is over\""), "{}", up.said());
    nothing_is_left(up.state());

    let mut up = Up::start("-f topologies/solo.yaml");
    let member = up.await_health(Level::Led).groups[&group("p1")].members.clone();
    // A member that is stopped does not leave: the first request takes long enough for another.
    // Two signals that a process hears at once are one.
    signal_pid(member.values().find_map(|seat| seat.pid).unwrap(), Signal::STOP);
    up.signal(Signal::INT);
    eventually("the first request", SOON, || up.said().contains("stopping ").then_some(()));
    up.signal(Signal::INT);
    assert_eq!(up.ends().code(), Some(130), "{}", up.said());
    nothing_is_left(up.state());
    for seat in member.values() {
        let gone =
            || (!Path::new(&format!("/proc/{}/exe", seat.pid.unwrap())).exists()).then_some(());
        eventually("a member's end", SOON, gone);
    }
}

#[test]
fn a_stalled_controller_reports_no_gaps_for_its_guards_shutdown() {
    let mut up = Up::start("-f topologies/duo.yaml");
    up.await_health(Level::Led);
    std::thread::sleep(Duration::from_secs(1));
    let supervisor = up.supervisor();
    let stopped = Mono::now();
    signal_pid(supervisor, Signal::STOP);
    std::thread::sleep(Duration::from_secs(2));
    let (code, picture) = up.status();
    assert_eq!(code, Some(4), "what a silent supervisor keeps up is unknown: {picture:?}");
    assert!(picture.unwrap().silent_ms.unwrap() > 1_000.0);
    std::thread::sleep(Duration::from_secs(4));
    signal_pid(supervisor, Signal::CONT);
    assert_eq!(up.ends().code(), Some(4), "{}", up.said());
    let most = Mono::now().since(stopped) + Duration::from_secs(3);
    let idle = idle(&up.said());
    assert!(idle >= Duration::from_secs(6) && idle <= most, "{idle:?} of {most:?}: {}", up.said());
    assert!(up.said().contains(" joint_gaps=0 "), "{}", up.said());
    let again = output(tandem(up.state()).arg("report").arg(&up.out).args(["-o", "json"]));
    let report: tandem::verdict::Report = serde_json::from_slice(&again.stdout).unwrap();
    assert_eq!((again.status.code(), report.joint.gap.count), (Some(4), 0));
    assert!(report.unknown_ms > 6_000.0, "{}", report.unknown_ms);
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
    let mut up = Up::start("-f topologies/solo.yaml");
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
    assert_eq!(up.status().0, Some(0), "it is none the worse");
    up.signal(Signal::HUP);
    assert_eq!(up.ends().code(), Some(0), "{}", up.said());
}

/// Even if folder and socket are accessible by mistake, no other user gets an answer.
#[test]
fn its_socket_refuses_another_user() {
    let all = fs::read_to_string("/proc/self/status").unwrap();
    let root = all.lines().any(|line| line.starts_with("Uid:\t0\t0"));
    assert!(root, "missing: root; this asks as another user");
    let mut up = Up::start("-f topologies/solo.yaml");
    up.await_health(Level::Led);
    let [socket] = sockets(up.state()).try_into().unwrap();
    is_refused_to_another_user(&socket, up.folder());
    up.signal(Signal::INT);
    assert_eq!(up.ends().code(), Some(0), "{}", up.said());
}

fn is_refused_to_another_user(socket: &Path, own: &Path) {
    let program = "import os, socket, sys\nos.setuid(65534)\ns = socket.socket(socket.AF_UNIX)\n\
        s.connect(sys.argv[1])\nprint(s.recv(1000).decode())";
    let ask = || {
        let mut python = std::process::Command::new("python3");
        let said = output(python.args(["-c", program]).arg(socket));
        String::from_utf8_lossy(&said.stdout).into_owned() + &String::from_utf8_lossy(&said.stderr)
    };
    let said = ask();
    assert!(said.contains("PermissionError"), "{said}");
    // The folders of this test alone, never those above.
    for path in socket.ancestors().take_while(|path| path.starts_with(own)) {
        let open = if path == socket { 0o666 } else { 0o711 };
        fs::set_permissions(path, fs::Permissions::from_mode(open)).unwrap();
    }
    let said = ask();
    assert!(said.contains("it answers only its owner"), "{said}");
}

#[test]
fn a_client_that_does_not_read_disturbs_no_other() {
    let mut up = Up::start("-f topologies/solo.yaml");
    up.await_health(Level::Led);
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
    eventually("a place", SOON, || (up.status().0 == Some(0)).then_some(()));
    up.signal(Signal::INT);
    assert_eq!(up.ends().code(), Some(0), "{}", up.said());
    signal_pid(stopped.pid(), Signal::CONT);
    let (_, events) = stopped.finish();
    let ended = events.iter().any(|(_, it)| matches!(it.what, Happening::Ending { .. }));
    assert!(ended, "events from while it was stopped waited in the socket: {events:#?}");
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
    // A host that stalls all groups for a moment breaks no promise here.
    let promise = "--set objective.joint_gap=10s";
    let limits = format!("-f topologies/trio.yaml --journal-size 1 --journal-files 3 {promise}");
    let mut up = Up::start(&limits);
    up.await_health(Level::Led);
    let mut follower = up.follow();
    let away = up.out.with_extension("away");
    fs::rename(&up.out, &away).unwrap();
    // The next file, whenever it is begun, has no place.
    follower.await_event("that nothing is written", |event| match &event.what {
        Happening::Unwritten { why } if why.contains("journal-") => Some(()),
        _ => None,
    });
    let picture = up.status().1.unwrap();
    assert!(!picture.journal.written && picture.journal.why.is_some(), "{:?}", picture.journal);
    eventually("the members are up", SOON, || {
        let (code, picture) = up.status();
        (picture?.health == Level::Led && code == Some(0)).then_some(())
    });
    let page = output(tandem(up.state()).arg("status"));
    assert!(String::from_utf8_lossy(&page.stdout).contains("NOTHING IS WRITTEN"), "{page:?}");
    let pid = picture.groups[&group("p1")].members.values().find_map(|seat| seat.pid).unwrap();
    signal_pid(pid, Signal::KILL);
    let died = |event: &Event| matches!(event.what, Happening::Died { .. }).then_some(());
    follower.await_event("a death that is not written", died);
    fs::rename(&away, &up.out).unwrap();
    follower.await_event("that it is written again", |event| match event.what {
        Happening::Written { lost } if lost > 0 => Some(()),
        _ => None,
    });
    up.await_health(Level::Led);
    up.signal(Signal::INT);
    assert_eq!(up.ends().code(), Some(0), "{}", up.said());
    let recording = up.recording();
    assert!(recording.header.part.unwrap().after_loss, "it is read from where it is whole");
    nothing_is_left(up.state());
}
