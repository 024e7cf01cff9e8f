//! Topics on a cluster that outlives the run: created as planned, refused if they differ, removed
//! if the run created them, and never if another user did.

use std::fs;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::process::Signal;
use support::alone::Alone;
use support::experiment::{Experiment, Finished, Running, eventually, output, tandem};
use tandem::observation::{Fact, Outcome, RunEvent, What};
use tempfile::TempDir;

/// A cluster, a topology on it, and where creations are recorded.
struct Ground {
    broker: Alone,
    folder: TempDir,
}

impl Ground {
    fn new() -> Self {
        let ground = Self { broker: Alone::start(), folder: tempfile::tempdir().unwrap() };
        ground.stands_on(&ground.broker.address);
        ground
    }

    /// Writes the topology, its cluster at this address.
    fn stands_on(&self, address: &str) {
        let text = format!(
            "version: 1\nname: ground\nroles: [a, b, c]\n\
             clusters:\n  k: {{bootstrap: \"{address}\"}}\n\
             groups:\n  p1: {{cluster: k, topic: ours-1, members: 2}}\n  \
             p2: {{cluster: k, topic: ours-2, members: 2}}\n"
        );
        fs::write(self.topology(), text).unwrap();
    }

    fn topology(&self) -> PathBuf {
        self.folder.path().join("ground.yaml")
    }

    fn state(&self) -> PathBuf {
        self.folder.path().join("state")
    }

    /// Where what was created is recorded.
    fn created(&self) -> PathBuf {
        self.state().join("tandem/created")
    }

    /// A run that does nothing for a moment.
    fn run(&self, args: &str) -> Experiment {
        self.on_it(calm("100ms"), args)
    }

    /// A run in its trial, which goes on until it is ended.
    fn under_way(&self) -> Running {
        let run = self.on_it(calm("5m"), "").start();
        let began = |what: &What| matches!(what, What::Run(RunEvent::TrialBegan { .. }));
        let in_trial = |facts: &[Fact]| facts.iter().any(|fact| began(&fact.what)).then_some(());
        run.await_facts("a trial", in_trial);
        run
    }

    fn on_it(&self, experiment: Experiment, args: &str) -> Experiment {
        let file = self.topology();
        experiment.in_state(&self.state()).with(&format!("-f {} {args}", file.display()))
    }

    /// What is recorded as created.
    fn recorded(&self) -> Vec<String> {
        let mut names: Vec<_> = files(&self.created());
        names.sort();
        names
    }

    fn down(&self) -> String {
        let topology = self.topology();
        let down = output(tandem(&self.state()).args(["down", "-f"]).arg(topology));
        assert!(down.status.success(), "{}", String::from_utf8_lossy(&down.stderr));
        String::from_utf8_lossy(&down.stdout).into_owned()
    }

    fn topics(&self) -> Vec<(String, usize)> {
        self.broker.topics().into_iter().collect()
    }
}

fn files(folder: &Path) -> Vec<String> {
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    let names = entries.flat_map(|entry| {
        let path = entry.unwrap().path();
        let name = || path.file_name().unwrap().to_string_lossy().into_owned();
        if path.is_dir() { files(&path) } else { vec![name()] }
    });
    names.collect()
}

fn both() -> Vec<(String, usize)> {
    [("ours-1".to_owned(), 3), ("ours-2".to_owned(), 3)].to_vec()
}

/// It does nothing, and claims nothing: a host that stalls is no matter of topics.
fn calm(lasts: &str) -> Experiment {
    let text = format!(
        "version: 1\nname: calm\nobjective: {{leaders_per_group: 0}}\n\
         steady_state: {{settled: 100ms}}\nrecover: {{within: 2m}}\n\
         method: [{{id: nothing, fault: noop, for: {lasts}}}]\n"
    );
    Experiment::of("calm.yaml", &text)
}

/// It came to its end.
fn was_played(run: &Finished) {
    assert_eq!(run.report().outcome, Some(Outcome::Completed), "{run}");
}

#[test]
fn a_run_makes_its_topics_and_takes_them_away() {
    let ground = Ground::new();
    ground.broker.create("theirs", 2);
    let run = ground.under_way();
    assert_eq!(ground.recorded(), ["ours-1", "ours-2"]);
    for topic in ["ours-1", "ours-2"] {
        let setting = |key| ground.broker.setting(topic, key);
        assert_eq!(setting("message.timestamp.type").as_deref(), Some("LogAppendTime"));
        assert_eq!(setting("retention.ms").as_deref(), Some("60000"));
    }
    run.signal(Signal::INT);
    let run = run.finish();
    assert_eq!(run.report().outcome, Some(Outcome::Interrupted), "{run}");
    let are_gone = |run: &Finished| {
        assert_eq!(ground.topics(), [("theirs".to_owned(), 2)], "{run}");
        assert_eq!(ground.recorded(), [""; 0]);
    };
    are_gone(&run);
    let run = ground.run("").finish();
    was_played(&run);
    are_gone(&run);
}

#[test]
fn topics_that_are_kept_are_used_again_until_they_are_taken_down() {
    let ground = Ground::new();
    ground.broker.create("theirs", 2);
    for args in ["--keep", "--keep", ""] {
        // The last one made nothing, so there is nothing for it to take away.
        let run = ground.run(args).finish();
        was_played(&run);
        assert_eq!(ground.topics()[..2], both(), "{args:?}: {run}");
        assert_eq!(ground.recorded(), ["ours-1", "ours-2"], "{args:?}");
    }
    let said = ground.down();
    assert_eq!(said.lines().count(), 2, "{said}");
    assert!(said.starts_with("removed topic ours-1 from 127.0.0.1:"), "{said}");
    assert_eq!(ground.topics(), [("theirs".to_owned(), 2)], "{said}");
    assert_eq!(ground.recorded(), [""; 0]);
    assert_eq!(ground.down(), "nothing of ground is left to remove\n");
}

#[test]
fn a_foreign_topic_is_used_and_not_removed() {
    let ground = Ground::new();
    ground.broker.create("ours-1", 3);
    let run = ground.run("--keep").finish();
    was_played(&run);
    assert_eq!(ground.recorded(), ["ours-2"]);
    ground.down();
    assert_eq!(ground.topics(), [("ours-1".to_owned(), 3)], "{run}");
}

#[test]
fn a_topic_of_another_width_is_refused() {
    let ground = Ground::new();
    ground.broker.create("ours-2", 5);
    let run = ground.run("").finish();
    assert_eq!(run.code(), Some(1), "{run}");
    let wanted = "topic ours-2 of group p2 has 5 partitions and 3 are planned: \
                  set `partitions: 5`, name another topic, or delete this one";
    assert!(run.stderr.contains(wanted), "{run}");
    assert_eq!(run.stdout, "", "{run}");
    assert_eq!(ground.topics(), [("ours-2".to_owned(), 5)], "what was made is gone: {run}");
    assert_eq!(ground.recorded(), [""; 0]);
}

#[test]
fn a_consumer_group_that_has_members_is_refused() {
    let ground = Ground::new();
    ground.broker.create("ours-1", 3);
    let stranger = ground.broker.stranger("ground-p1", "ours-1");
    let run = ground.run("").finish();
    assert_eq!(run.code(), Some(1), "{run}");
    let wanted = "consumer group ground-p1 of group p1 has members that are not ours (a-stranger): \
                  stop them, set another `consumer_group`, or let them be there with \
                  `foreign: allow`";
    assert!(run.stderr.contains(wanted), "{run}");
    drop(stranger);
}

#[test]
fn a_topic_that_cannot_be_recorded_is_not_created() {
    let ground = Ground::new();
    let refused = |place: PathBuf, wanted: &str| {
        fs::create_dir_all(place.parent().unwrap()).unwrap();
        fs::write(&place, "no folder").unwrap();
        let run = ground.run("").finish();
        assert_eq!(run.code(), Some(1), "{run}");
        assert!(run.stderr.contains(wanted), "{run}");
        assert_eq!(ground.topics(), []);
        fs::remove_file(place).unwrap();
    };
    refused(ground.state().join("tandem/runs"), "the ledger of this run cannot be written to");
    refused(ground.created(), "the records of created topics in");
}

#[test]
fn topics_of_a_killed_run_are_recorded_and_can_be_removed() {
    let ground = Ground::new();
    let run = ground.under_way();
    run.signal(Signal::KILL);
    let run = run.finish();
    assert_eq!(ground.topics(), both(), "{run}");
    assert_eq!(ground.recorded(), ["ours-1", "ours-2"]);
    ground.down();
    assert_eq!(ground.topics(), []);
}

#[test]
fn an_interrupt_is_heard_while_a_cluster_does_not_answer() {
    let ground = Ground::new();
    // The kernel accepts the connection, and no process reads.
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    ground.stands_on(&silent.local_addr().unwrap().to_string());
    let run = ground.run("").start();
    eventually("a client", Duration::from_secs(60), || silent.accept().ok());
    run.signal(Signal::INT);
    let run = run.finish();
    assert_eq!(run.code(), Some(130), "{run}");
    assert!(run.stderr.contains("interrupted before anything was measured"), "{run}");
}
