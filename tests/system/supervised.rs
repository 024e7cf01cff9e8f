//! Members outlive the `tandem up` that started them: it is killed, started again and replaced, and
//! so is the guard, while members die and restart. What that costs, on a quiet host:
//! `tests/measured/supervised.rs`.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use support::experiment::{eventually, output, signal_pid, tandem, tandem_at};
use support::hung::Held;
use support::leftovers::see;
use support::outside::lone_leader;
use support::supervised::{guard, is_whole, pids, starts};
use support::up::{Up, nothing_is_left};
use tandem::ids::{Life, MemberId};
use tandem::live_view::Level;
use tandem::observation::{Fact, RunEvent, What};
use tandem::supervision::{About, Message};

/// Nothing here takes longer, however loaded the machine.
const SOON: Duration = Duration::from_secs(90);
/// Two groups that lose and regain no role unless a member dies: no host makes a session expire.
const STEADY: &str = "-f topologies/duo.yaml --set defaults.session=30s \
                      --set defaults.heartbeat=100ms --set defaults.on_death=leave \
                      --set defaults.restart.after=1s";

/// Waits until the journal has a second life of this member.
fn is_back(up: &Up, member: &MemberId) {
    eventually("the victim's next life, in the journal", SOON, || {
        let recording = up.recording();
        let lives = starts(&recording).into_iter().filter_map(|fact| fact.life.as_ref());
        (lives.filter(|life| life.member == *member).count() == 2).then_some(())
    });
}

#[test]
fn members_outlive_up_and_what_happens_meanwhile_is_counted() {
    let mut first = Up::start(STEADY);
    let (victim, pid) = lone_leader(&first, &"p1".parse().unwrap());
    let before = first.await_health(Level::Led);
    let supervisor = first.supervisor();
    first.signal(Signal::KILL);
    first.ends();
    // A leader dies while no `up` watches, and is restarted all the same.
    signal_pid(pid, Signal::KILL);
    is_back(&first, &victim.member);
    let mut second = Up::start_in(STEADY, first.state());
    // What it shows at first is as old as what it has read.
    let after = eventually("the victim's next life", SOON, || {
        let picture = second.status().1.filter(|picture| picture.health == Level::Led)?;
        let next = pids(&picture).get(&victim.member).is_some_and(|it| *it != pid);
        (next && pids(&picture).len() == pids(&before).len()).then_some(picture)
    });
    assert_eq!(after.run.supervisor, Some(supervisor));
    assert_eq!((&after.run.name, after.run.began), (&before.run.name, before.run.began));
    let (before, after) = (pids(&before), pids(&after));
    for (member, pid) in &before {
        assert_eq!(after[member] == *pid, *member != victim.member, "{member}");
    }
    assert!(second.said().contains(&format!("process {supervisor} keeps duo up")));
    assert!(!second.said().contains(" started life="), "what was before is not printed again");
    second.signal(Signal::INT);
    assert_eq!(second.ends().code(), Some(0), "{}", second.said());
    nothing_is_left(first.state());
    let recording = first.recording();
    is_whole(&recording);
    assert_eq!(starts(&recording).len(), before.len() + 1, "one restart, and no double start");
    // The gap of that time is in the journal, and in the report.
    let report = output(tandem(first.state()).arg("report").arg(&first.out).args(["-o", "json"]));
    let report: tandem::verdict::Report = serde_json::from_slice(&report.stdout).unwrap();
    let group = &report.groups["p1"];
    assert!(group.other.death.gap.count > 0, "{group:?}");
}

#[test]
fn another_up_takes_the_place_of_one_that_runs() {
    let mut old = Up::start("-f topologies/solo.yaml");
    let before = old.await_health(Level::Led);
    let mut new = Up::start_in("-f topologies/solo.yaml --replace", old.state());
    assert_eq!(old.ends().code(), Some(0), "{}", old.said());
    let why = format!("process {} watches in its place", new.pid());
    assert!(old.said().contains(&why), "{}", old.said());
    let after = new.await_health(Level::Led);
    assert_eq!(pids(&after), pids(&before));
    assert_eq!(after.run.supervisor, before.run.supervisor);
    new.signal(Signal::INT);
    assert_eq!(new.ends().code(), Some(0), "{}", new.said());
    nothing_is_left(old.state());
    is_whole(&old.recording());
}

#[test]
fn a_topology_that_runs_otherwise_is_not_taken_for_this_one() {
    let mut first = Up::start("-f topologies/solo.yaml");
    first.await_health(Level::Led);
    let supervisor = first.supervisor();
    let state = first.state().to_owned();
    let again = |args: &str| {
        let mut up = tandem(&state);
        let said = output(up.arg("up").args(args.split(' ')).arg("-f").arg("topologies/solo.yaml"));
        (said.status.code(), String::from_utf8_lossy(&said.stderr).into_owned())
    };
    signal_pid(first.pid(), Signal::KILL);
    eventually("that nobody watches", SOON, || {
        let (code, said) = again("--for 1s --set defaults.threshold=9s");
        let expected = format!("process {supervisor} keeps solo up as another file");
        (code == Some(1) && said.contains(&expected)).then_some(())
    });
    first.ends();
    assert!(output(tandem(first.state()).args(["halt", "--all"])).status.success());
    nothing_is_left(first.state());
    let (code, said) = again("--replace");
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("--replace: no supervisor of yours keeps solo up"), "{said}");
}

#[test]
fn a_killed_guard_is_replaced_and_the_new_one_holds_all() {
    let mut up = Up::start("-f topologies/solo.yaml");
    let before = up.await_health(Level::Led);
    let killed = guard(&up);
    signal_pid(killed, Signal::KILL);
    let second = eventually("another guard", SOON, || Some(guard(&up)).filter(|it| *it != killed));
    let warned = "The guard was lost, and another has taken its place";
    eventually("a warning", SOON, || up.said().contains(warned).then_some(()));
    assert_eq!(pids(&up.await_health(Level::Led)), pids(&before));
    // The second guard ends what the first has held.
    signal_pid(up.supervisor(), Signal::KILL);
    eventually("the end of the members", SOON, || {
        pids(&before).values().all(|pid| see(*pid).is_none()).then_some(())
    });
    assert_eq!(up.ends().code(), Some(4), "{}", up.said());
    assert!(up.said().contains("its supervisor, process "), "{}", up.said());
    eventually("the end of the guard", SOON, || see(second).is_none().then_some(()));
    nothing_is_left(up.state());
}

/// What must hold after every kill: no fact is missing, each death is written once, and has one
/// restart.
fn each_death_has_one_restart(up: &Up, members: usize, mut killed: Vec<Life>) {
    let recording = up.recording();
    is_whole(&recording);
    let by_kill =
        |fact: &&Fact| matches!(fact.what, What::Run(RunEvent::Died { signal: Some(9), .. }));
    let ended = |fact: &&Fact| matches!(fact.what, What::Run(RunEvent::TrialEnded { .. }));
    // One that does not leave in time is killed, too.
    let until = recording.facts.iter().find(ended).unwrap().t;
    let died = recording.facts.iter().filter(by_kill).filter(|fact| fact.t < until);
    let mut died: Vec<Life> = died.filter_map(|fact| fact.life.clone()).collect();
    died.sort();
    killed.sort();
    assert_eq!(died, killed, "the deaths of those that were killed");
    assert_eq!(starts(&recording).len(), members + killed.len(), "one restart for each death");
}

#[test]
fn up_its_guard_and_a_leader_are_killed_at_once_and_another_program_takes_over() {
    let mut first = Up::start(STEADY);
    let (victim, pid) = lone_leader(&first, &"p1".parse().unwrap());
    let before = pids(&first.await_health(Level::Led));
    let (supervisor, killed) = (first.supervisor(), guard(&first));
    for pid in [killed, first.pid(), pid] {
        signal_pid(pid, Signal::KILL);
    }
    first.ends();
    let mut second = Up::start_in(STEADY, first.state());
    eventually("another guard", SOON, || (guard(&first) != killed).then_some(()));
    is_back(&first, &victim.member);
    second.await_health(Level::Led);
    // Another program, a copy, takes the place of the `tandem up` that runs.
    let copy = first.folder().join("upgraded");
    support::install(&copy);
    let replacing = format!("{STEADY} --replace");
    let mut third = Up::start_from(tandem_at(&copy, first.state()), &replacing, first.state());
    assert_eq!(second.ends().code(), Some(0), "{}", second.said());
    let (next, pid) = lone_leader(&third, &"p2".parse().unwrap());
    signal_pid(pid, Signal::KILL);
    is_back(&first, &next.member);
    let after = third.await_health(Level::Led);
    assert_eq!(after.run.supervisor, Some(supervisor));
    third.signal(Signal::INT);
    assert_eq!(third.ends().code(), Some(0), "{}", third.said());
    nothing_is_left(first.state());
    each_death_has_one_restart(&first, before.len(), vec![victim, next]);
}

/// What the supervisors with this state directory say of themselves.
fn supervisors(state: &Path) -> Vec<About> {
    let sockets = std::fs::read_dir(state.join("tandem/supervisors")).unwrap();
    let sockets = sockets.filter_map(|entry| UnixStream::connect(entry.unwrap().path()).ok());
    let about = sockets.map(|mut socket| {
        socket.write_all(b"{\"tandem\":1,\"wish\":\"about\"}\n").unwrap();
        let mut line = String::new();
        BufReader::new(socket).read_line(&mut line).unwrap();
        match serde_json::from_str(&line).unwrap() {
            Message::About(about) => *about,
            other => panic!("{other:?}"),
        }
    });
    about.collect()
}

/// Kills the guard first, or the supervisor would replace it.
fn kill_guard_and_supervisor(up: &Up) {
    let (guard, supervisor) = (guard(up), up.supervisor());
    signal_pid(supervisor, Signal::STOP);
    signal_pid(guard, Signal::KILL);
    signal_pid(supervisor, Signal::KILL);
    // A run that dies still lives, and is not healed by another one that begins meanwhile.
    eventually("the death of both", SOON, || {
        [guard, supervisor].iter().all(|pid| see(*pid).is_none()).then_some(())
    });
}

fn are_gone(pids: &BTreeMap<MemberId, u32>) {
    eventually("the end of the members", SOON, || {
        pids.values().all(|pid| see(*pid).is_none()).then_some(())
    });
}

#[test]
fn up_ends_what_a_supervisor_and_its_guard_leave_that_died_together() {
    let mut up = Up::start("-f topologies/solo.yaml");
    let members = pids(&up.await_health(Level::Led));
    kill_guard_and_supervisor(&up);
    assert_eq!(up.ends().code(), Some(4), "{}", up.said());
    assert!(up.said().contains("is gone without a last word"), "{}", up.said());
    are_gone(&members);
    nothing_is_left(up.state());
}

#[test]
fn the_next_up_starts_anew_where_all_three_died() {
    let mut first = Up::start("-f topologies/solo.yaml");
    let members = pids(&first.await_health(Level::Led));
    first.signal(Signal::KILL);
    first.ends();
    kill_guard_and_supervisor(&first);
    let mut next = Up::start_in("-f topologies/solo.yaml", first.state());
    let picture = next.await_health(Level::Led);
    are_gone(&members);
    assert!(pids(&picture).values().all(|pid| !members.values().any(|before| before == pid)));
    // As an init system does that ends all processes of a unit, while `up` asks its supervisor.
    next.signal(Signal::HUP);
    let supervisor = i32::try_from(picture.run.supervisor.unwrap()).unwrap();
    for _ in 0..3 {
        // It may have ended already.
        kill_process(Pid::from_raw(supervisor).unwrap(), Signal::TERM).ok();
    }
    assert_eq!(next.ends().code(), Some(0), "{}", next.said());
    nothing_is_left(first.state());
}

#[test]
fn of_two_ups_that_find_a_supervisor_at_once_one_watches_it() {
    let mut first = Up::start("-f topologies/solo.yaml");
    let before = pids(&first.await_health(Level::Led));
    let supervisor = first.supervisor();
    first.signal(Signal::KILL);
    first.ends();
    let again = || Up::start_in("-f topologies/solo.yaml", first.state());
    let mut ups = [again(), again()];
    // The other is refused, or has found one that is watched, and starts a run of its own.
    let watches = |up: &Up| {
        let picture = up.status().1.filter(|picture| picture.health == Level::Led)?;
        Some(picture.run.supervisor == Some(supervisor))
            .filter(|it| !it || pids(&picture) == before)
    };
    let (mut watching, mut done) = (0, [false, false]);
    eventually("the fate of both", SOON, || {
        for (up, done) in ups.iter_mut().zip(&mut done).filter(|(_, done)| !**done) {
            if let Some(it) = watches(up) {
                watching += u32::from(it);
                *done = true;
            } else if up.has_ended() {
                assert!(up.said().contains(" watches it"), "{}", up.said());
                *done = true;
            }
        }
        (done == [true, true]).then_some(())
    });
    assert_eq!(watching, 1, "{}{}", ups[0].said(), ups[1].said());
    let down = output(tandem(first.state()).args(["down", "solo"]));
    assert!(down.status.success(), "{down:?}");
    nothing_is_left(first.state());
}

#[test]
fn an_up_that_was_stopped_for_long_reads_on() {
    let reads = [("TANDEM_TEST_SUPERVISOR_READS", "5000")];
    let mut up = Up::start_with("-f topologies/trio.yaml", &reads);
    let before = pids(&up.await_health(Level::Led));
    let (victim, pid) = lone_leader(&up, &"p1".parse().unwrap());
    up.signal(Signal::STOP);
    signal_pid(pid, Signal::KILL);
    // Its socket is full after a while; then it is disconnected, and another may watch.
    eventually("that nobody watches", SOON, || {
        let found = supervisors(up.state());
        found.iter().all(|about| about.watched_by.is_empty()).then_some(())
    });
    up.signal(Signal::CONT);
    // What it shows at first is as old as what it has read.
    let after = eventually("another life", SOON, || {
        let picture = up.status().1.filter(|picture| picture.health == Level::Led)?;
        let after = pids(&picture);
        (*after.get(&victim.member)? != pid).then_some(after)
    });
    for (member, pid) in &before {
        assert_eq!(after[member] == *pid, *member != victim.member, "{member}");
    }
    assert!(up.said().contains("which reads on"), "{}", up.said());
    up.signal(Signal::INT);
    assert_eq!(up.ends().code(), Some(0), "{}", up.said());
    nothing_is_left(up.state());
}

#[test]
fn an_up_that_begins_while_another_ends_waits_and_starts_its_own() {
    let mut first = Up::start("-f topologies/solo.yaml");
    first.await_health(Level::Led);
    let supervisor = first.supervisor();
    first.signal(Signal::INT);
    let mut next = Up::start_in("-f topologies/solo.yaml", first.state());
    let picture = next.await_health(Level::Led);
    assert_ne!(picture.run.supervisor, Some(supervisor), "{}", next.said());
    assert_eq!(first.ends().code(), Some(0), "{}", first.said());
    next.signal(Signal::INT);
    assert_eq!(next.ends().code(), Some(0), "{}", next.said());
    nothing_is_left(first.state());
}

#[test]
fn a_second_signal_ends_a_supervisor_that_hangs() {
    let mut up = Up::start("-f topologies/solo.yaml");
    let members = pids(&up.await_health(Level::Led));
    let held = Held::thread(up.supervisor());
    // It hears both when it wakes, before the guard ends a supervisor that hangs for seconds. Two
    // of one kind would be one.
    for signal in [Signal::STOP, Signal::INT, Signal::TERM, Signal::CONT] {
        up.signal(signal);
    }
    assert_eq!(up.ends().code(), Some(130), "{}", up.said());
    drop(held);
    are_gone(&members);
    nothing_is_left(up.state());
}

#[test]
fn a_journal_that_was_removed_is_no_end_and_down_ends_what_is_up() {
    let mut first = Up::start("-f topologies/solo.yaml");
    let members = pids(&first.await_health(Level::Led));
    first.signal(Signal::KILL);
    first.ends();
    std::fs::remove_dir_all(&first.out).unwrap();
    let mut next = Up::start_in("-f topologies/solo.yaml", first.state());
    assert_eq!(next.ends().code(), Some(1), "{}", next.said());
    assert!(next.said().contains("its journal cannot be read"), "{}", next.said());
    assert!(members.values().all(|pid| see(*pid).is_some()), "members go on");
    let down = |name: &str| {
        let said = output(tandem(first.state()).args(["down", name]));
        (said.status.code(), String::from_utf8_lossy(&said.stdout).into_owned())
    };
    let (code, said) = down("duo");
    assert_eq!((code, said.as_str()), (Some(0), "nothing is up under the name duo; up is solo\n"));
    let (code, said) = down("solo");
    assert!(code == Some(0) && said.contains(" ended when asked"), "{said}");
    are_gone(&members);
    nothing_is_left(first.state());
    assert_eq!(down("solo").1, "nothing is up under the name solo; up is nothing\n");
}
