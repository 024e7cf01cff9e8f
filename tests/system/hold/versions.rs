//! Members of two versions in one group, as processes: those that work together take each other's
//! place, and one that does not work with those that are there is refused, with both versions where
//! a user looks: in what it says, and in `tandem status` and `tandem events`.

use std::fs;
use std::sync::OnceLock;
use std::sync::mpsc::channel;
use std::time::Duration;

use rustix::process::Signal;
use support::alone::Alone;
use support::experiment::{eventually, output, tandem};
use support::held::{SOON, Stage};
use support::up::Up;
use tandem::live_view::summary;
use tandem::time::Mono;
use tandem_member::{Builder, Event, JoinError, Member, Misfit, Versions};
use tempfile::TempDir;

use super::unhealthy::{leads, led_by, refereed};

/// The next version, which still works with the shipped program.
const NEXT: Versions =
    Versions { speaks: Versions::OURS.speaks + 1, oldest: Versions::OURS.oldest };
/// One after that, which does not.
const LATER: Versions = Versions { speaks: NEXT.speaks + 1, oldest: NEXT.speaks };
const BOTH: [&str; 2] = [
    "version 1 of the protocol, which works with 1 and later",
    "version 3 of the protocol, which works with 2 and later",
];

/// No host ends such a session that stops a process for two seconds; claims are three times as
/// long.
const LONG: &str = "session: 10s";
/// Of members that have to settle: that takes a threshold.
const SESSION: Duration = Duration::from_secs(4);
const THRESHOLD: Duration = Duration::from_millis(4_200);

fn builder(address: &str, group: &str, name: &str, versions: Versions) -> Builder {
    let builder = Member::builder(address, group).name(name).versions(versions);
    builder.roles(["r", "s"]).session(Duration::from_secs(10))
}

/// The same, with a threshold that is soon over.
fn brief(builder: Builder) -> Builder {
    builder.session(SESSION).threshold(THRESHOLD)
}

fn leads_r(member: &Member) {
    let role = member.role("r").unwrap();
    eventually("the lead", SOON, || member.leads(role).then_some(()));
}

/// Waits until the member leads, and until it is no newcomer any more.
fn settles(member: &Member) {
    let began = Mono::now(); // clock: it is a newcomer for so long
    eventually("a settled member", SOON, || {
        (Mono::now().since(began) > THRESHOLD).then_some(()) // clock: the same
    });
    leads_r(member);
}

fn names_both(text: &str) {
    assert!(BOTH.iter().all(|one| text.contains(one)), "{text}");
}

/// Round robin gives the role to the first by name. Each member yields once it hears that another
/// one leads, and one that leaves does, too, even where it has just begun.
#[test]
fn the_next_version_takes_over_and_gives_back_with_no_gap() {
    let stage = Stage::new(LONG);
    let (mut old, port) = stage.serve("c", &[]);
    led_by(|| leads(port), || false);
    let new = OnceLock::<Member>::new();
    let of_new = || new.get().is_some_and(|new| new.leads(new.role("r").unwrap()));
    let found = refereed([&|| leads(port), &of_new], |_| {
        let joined = builder(&stage.broker.address, "held-p1", "b", NEXT).join().unwrap();
        assert!(new.set(joined).is_ok());
        led_by(of_new, || leads(port));
    });
    assert!(found.is_empty(), "neither led: {found:?}");
    let again = OnceLock::new();
    let back = || again.get().is_some_and(|(_, port)| leads(*port));
    let found = refereed([&of_new, &back], |_| {
        assert!(again.set(stage.serve("a", &[])).is_ok());
        led_by(back, of_new);
    });
    assert!(found.is_empty(), "neither led: {found:?}");
    let found = refereed([&back, &of_new], |_| {
        let (again, _) = again.get().unwrap();
        again.signal(Signal::TERM);
        led_by(of_new, back);
    });
    assert!(found.is_empty(), "neither led: {found:?}");
    assert_eq!(again.into_inner().unwrap().0.ends().code(), Some(0), "{}", stage.said("a.err"));
    new.into_inner().unwrap().leave();
    led_by(|| leads(port), || false);
    old.signal(Signal::TERM);
    assert_eq!(old.ends().code(), Some(0), "{}", stage.said("c.err"));
}

#[test]
fn a_program_that_does_not_work_with_the_group_is_refused() {
    let stage = Stage::new(LONG);
    stage.broker.create("held-p1", 1);
    let there = brief(builder(&stage.broker.address, "held-p1", "c", LATER)).join().unwrap();
    settles(&there);
    let mut refused = stage.hold_at("a", &["--serve", "127.0.0.1:0"]);
    assert_eq!(refused.ends().code(), Some(1));
    names_both(&stage.said("a.err"));
    // The group goes on.
    leads_r(&there);
    there.leave();
}

#[test]
fn a_later_version_that_does_not_work_with_the_program_is_refused() {
    let stage = Stage::new(LONG);
    let (_there, port) = stage.serve("a", &[]);
    led_by(|| leads(port), || false);
    let (sender, events) = channel();
    let later = builder(&stage.broker.address, "held-p1", "c", LATER)
        .join_with(move |_, event| sender.send(event).unwrap_or(()));
    let misfit = match later {
        Err(JoinError::Misfit(misfit)) => misfit,
        // The brokers did not answer in time, so it learns it from the others.
        Ok(_member) => eventually("the refusal", SOON, || {
            events.try_iter().find_map(|event| {
                let Event::Refused(misfit) = event else { return None };
                Some(misfit)
            })
        }),
        Err(error) => panic!("{error:?}"),
    };
    assert_eq!(misfit, Misfit::Versions { ours: LATER, theirs: Versions::OURS });
    names_both(&misfit.to_string());
    assert!(leads(port), "the group goes on");
}

/// Members that Tandem starts learn it while they run, and say so each time.
#[test]
fn members_that_are_kept_up_say_why_they_do_not_stay() {
    let broker = Alone::start();
    broker.create("ours", 1);
    let there = builder(&broker.address, "shared", "c", LATER).ledger("ours");
    let there = brief(there).join().unwrap();
    settles(&there);
    let folder = TempDir::new().unwrap();
    let text = format!(
        "version: 1\nname: beside\nroles: [r, s]\nclusters: {{k: {{bootstrap: \"{}\"}}}}\n\
         defaults: {{session: 2s, restart: {{after: 1500ms}}}}\ngroups:\n  p1:\n    \
         {{cluster: k, topic: ours, consumer_group: shared, partitions: 1, members: 1, \
         foreign: allow}}\n",
        broker.address
    );
    let file = folder.path().join("beside.yaml");
    fs::write(&file, text).unwrap();
    let up = Up::start(&format!("-f {}", file.display()));
    let picture = eventually("the reason", SOON, || {
        let picture = up.status().1?;
        picture.reasons.refused.keys().any(|it| it.as_str() == "p1-1").then_some(picture)
    });
    names_both(&picture.reasons.refused.values().next().unwrap().why);
    names_both(&summary(&picture));
    eventually("its event", SOON, || {
        let events = output(tandem(up.state()).args(["events", "--pid", &up.pid().to_string()]));
        let events = String::from_utf8_lossy(&events.stdout).into_owned();
        let line = events.lines().find(|line| line.contains(" refused life=p1-1."));
        line.map(names_both)
    });
    eventually("its last words", SOON, || {
        let log = fs::read_to_string(up.out.join("logs/p1-1.log")).ok()?;
        BOTH.iter().all(|one| log.contains(one)).then_some(())
    });
    leads_r(&there);
    there.leave();
    // A threshold later nothing speaks for the other version any more.
    eventually("the way to be free", SOON, || {
        let picture = up.status().1?;
        let leaders = picture.roles.first()?.leaders.get("p1")?;
        leaders.iter().any(|it| it.as_str() == "p1-1").then_some(())
    });
}
