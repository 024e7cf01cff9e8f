//! Members that Tandem did not start, on two brokers that stand alone, and observers of them.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::PathBuf;
use std::process::{Child, Stdio};

use rustix::process::Signal;
use tandem::guard::Identity;
use tandem::ids::{Life, RoleIndex};
use tandem::live_view::{Counts, Level, Picture};
use tandem::observation::{Fact, MemberEvent, RunEvent, What};
use tandem::time::Mono;
use tandem::timeline::{Interval, TimelineBuilder};

use super::alone::Alone;
use super::experiment::{eventually, tandem};
use super::held::SOON;
use super::memory::{self, Folder};
use super::up::Up;

/// Two brokers that stand alone, and a group on each. The session is long enough for a busy host.
pub struct Stage {
    pub brokers: Vec<Alone>,
    folder: Folder,
}

/// `tandem hold`, killed with this value. Its witness then ends by itself.
pub struct Hold(pub Child);

impl Drop for Hold {
    fn drop(&mut self) {
        self.0.kill().ok();
        self.0.wait().ok();
    }
}

impl Stage {
    #[expect(clippy::new_without_default, reason = "it starts processes")]
    pub fn new() -> Self {
        Self::with("launch: external", "3s")
    }

    /// The same with sessions that last while a host stops any process for two seconds.
    pub fn patient() -> Self {
        Self::with("launch: external", "6s")
    }

    /// The same as the first, where experiments may hit the members.
    pub fn that_allows_chaos() -> Self {
        Self::with("launch: external, chaos: allowed", "3s")
    }

    fn with(group: &str, session: &str) -> Self {
        let (brokers, folder) = (vec![Alone::start(), Alone::start()], memory::folder());
        let text = format!(
            "version: 1\nname: seen\nroles: [r]\n\
             clusters: {{a: {{bootstrap: \"{}\"}}, b: {{bootstrap: \"{}\"}}}}\n\
             defaults: {{session: {session}}}\n\
             groups:\n  p1: {{cluster: a, {group}}}\n  p2: {{cluster: b, {group}}}\n",
            brokers[0].address, brokers[1].address
        );
        fs::write(folder.path().join("t.yaml"), text).unwrap();
        Self { brokers, folder }
    }

    pub fn file(&self) -> PathBuf {
        self.folder.path().join("t.yaml")
    }

    pub fn state(&self) -> PathBuf {
        self.folder.path().join("state")
    }

    pub fn hold(&self, group: &str, name: &str) -> Hold {
        let log =
            |kind| fs::File::create(self.folder.path().join(format!("{name}.{kind}"))).unwrap();
        let mut hold = tandem(&self.state());
        hold.arg("hold").arg("-f").arg(self.file()).args(["--group", group, "--name", name]);
        hold.args(["--serve", "127.0.0.1:0"]).stdin(Stdio::null());
        Hold(hold.stdout(log("out")).stderr(log("err")).spawn().unwrap())
    }

    /// Also the port of its sidecar.
    pub fn serve(&self, group: &str, name: &str) -> (Hold, u16) {
        let hold = self.hold(group, name);
        let said = self.folder.path().join(format!("{name}.err"));
        let port = eventually("the address", SOON, || {
            let said = fs::read_to_string(&said).unwrap_or_default();
            let address = said.split("answers on http://127.0.0.1:").nth(1)?;
            address.split_once('\n')?.0.parse().ok()
        });
        (hold, port)
    }

    pub fn observe(&self) -> Up {
        Up::start_in(&format!("-f {} --observe", self.file().display()), &self.state())
    }

    /// The witness of a member: the process that its spool names, by its lock.
    pub fn witness(&self, name: &str) -> Identity {
        let folder = format!("{}/tandem/facts/seen/p1/{name}/", self.state().display());
        eventually("the witness", SOON, || {
            let all = fs::read_dir("/proc").unwrap().flatten();
            let pids = all.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
            let has_lock = |pid: &u32| {
                let open = fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().flatten();
                open.filter_map(|fd| fs::read_link(fd.path()).ok())
                    .any(|path| path.to_string_lossy().starts_with(&folder))
            };
            pids.filter(has_lock).find_map(Identity::of)
        })
    }
}

/// Nothing of a member, or of its witness, is left in the spools.
pub fn nothing_waits(stage: &Stage, group: &str, name: &str) {
    let folder = stage.state().join(format!("tandem/facts/seen/{group}/{name}"));
    eventually("the delivery of all facts", SOON, || {
        let spools = fs::read_dir(&folder).into_iter().flatten().flatten();
        let left = spools.filter(|entry| entry.path().is_dir()).count();
        (left == 0).then_some(())
    });
}

pub fn leader(picture: &Picture, group: &str) -> Option<String> {
    let leaders = picture.roles[0].leaders.get(group)?;
    (leaders.len() == 1).then(|| leaders[0].to_string())
}

pub fn counts(picture: &Picture) -> BTreeMap<String, Counts> {
    let groups = picture.groups.iter().map(|(name, group)| (name.to_string(), group.counts));
    groups.chain([("all".to_owned(), picture.joint)]).collect()
}

/// The gaps of a group, as a journal has them.
pub fn gaps(up: &Up, group: &str) -> Vec<Interval> {
    let recording = up.recording();
    let mut builder = TimelineBuilder::new(&recording.header.plan);
    recording.facts.iter().for_each(|fact| builder.observe(fact));
    let timeline = builder.finish_upkeep(false);
    let line = &timeline.groups.iter().find(|(name, _)| name.as_str() == group).unwrap().1;
    let of = line.findings.gaps.iter().filter(|gap| gap.roles.contains(RoleIndex(0)));
    of.map(|gap| gap.span).collect()
}

/// Waits until so many members have been assigned what they hold for two seconds: before that, a
/// rebalance that goes on may take from a leader what it leads.
pub fn settles(observer: &Up, members: usize) {
    observer.await_health(Level::Led);
    eventually("the last rebalance", SOON, || {
        let facts = observer.recording().facts;
        let assigned = facts
            .iter()
            .filter(|fact| matches!(fact.what, What::Member(MemberEvent::Assigned { .. })));
        let lives: BTreeSet<_> = assigned.clone().filter_map(|fact| fact.life.clone()).collect();
        let last = assigned.map(|fact| fact.t).max()?;
        (lives.len() >= members && Mono::now().since(last).as_secs() >= 2).then_some(())
    });
}

/// When this member died, and when another one claimed first after that.
pub fn takeover(facts: &[Fact], victim: &str) -> (Mono, Mono) {
    let is_victim = |life: &Life| life.member.as_str() == victim;
    let died = facts.iter().find(|fact| {
        matches!(fact.what, What::Run(RunEvent::Died { .. }))
            && fact.life.as_ref().is_some_and(is_victim)
    });
    let died = died.expect("its witness saw it die").t;
    let claims = facts.iter().filter(|fact| fact.life.as_ref().is_some_and(|it| !is_victim(it)));
    let claims =
        claims.filter(|fact| fact.life.as_ref().unwrap().member.as_str().starts_with("p1-"));
    let next = claims.filter_map(|fact| match fact.what {
        What::Member(MemberEvent::Claimed { from, .. }) if from > died => Some(from),
        _ => None,
    });
    (died, next.min().expect("another one took over"))
}

/// Observers end while the members go on; each has found the gap of the leader of `p1` that was
/// killed, and the same one. `first` was killed before.
pub fn ends_alike(
    first: &Up,
    mut others: [&mut Up; 2],
    holds: &mut BTreeMap<&str, Hold>,
    (victim, asked): (&str, Mono),
) {
    for hold in holds.values_mut() {
        assert!(hold.0.try_wait().unwrap().is_none(), "a member ended with an observer");
    }
    for observer in &mut others {
        observer.signal(Signal::TERM);
        assert_eq!(observer.ends().code(), Some(0), "{}", observer.said());
    }
    let [second, third] = others;
    let known = [first, second, third].map(|up| {
        let (died, claimed) = takeover(&up.recording().facts, victim);
        assert!(died >= asked, "it died before it was killed");
        // On a busy host the leader may have stopped to serve before, and its successor is late.
        let found = gaps(up, "p1");
        let gap = found.iter().copied().find(|gap| gap.from <= died && gap.until >= claimed);
        gap.unwrap_or_else(|| panic!("none of {found:?} is from {died:?} to {claimed:?}"))
    });
    assert_eq!([known[0]; 2], known[1..], "to the nanosecond");
}

/// Two members of `p1` and one of `p2`.
pub fn three(stage: &Stage) -> BTreeMap<&'static str, Hold> {
    let members = [("p1-a", "p1"), ("p1-b", "p1"), ("p2-c", "p2")];
    members.map(|(member, group)| (member, stage.hold(group, &member[3..]))).into()
}
