//! Real Kafka clusters for a test, and runs on them. Missing prerequisites fail the test.

mod clusters;
pub mod described;
pub mod heirs;
pub mod members;
pub mod secrets;
pub mod secured;

use std::ops::Deref;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, RwLockReadGuard, RwLockWriteGuard};
use std::time::Duration;

use crate::measured;
use crate::quiet::{NOISE_MAX, await_quiet, is_disturbed, undisturbed as undisturbed_run};
pub use clusters::{Clusters, free_ports};
use clusters::{Share, text};
use tandem::journal::Recording;
use tandem::observation::Fact;
use tandem::time::Mono;
use tandem::timeline::{Cause, Interval, Timeline};
use tandem::verdict::{Report, undisturbed};

/// Waits until no other test of this program runs anything, as [`measured::turn`] does.
pub fn turn() -> Turn {
    Turn::Alone(measured::turn())
}

/// Waits until no test of this program is alone.
pub fn shared_turn() -> Turn {
    Turn::Beside(measured::shared_turn())
}

/// The turn of a test.
pub enum Turn {
    /// Nothing runs beside it.
    Alone(RwLockWriteGuard<'static, ()>),
    /// Others run beside it.
    Beside(RwLockReadGuard<'static, ()>),
}

/// Clusters that a test has for itself, for as long as this value lives. They end with it, unless
/// another test waits for the same ones.
pub struct Kafka {
    clusters: Arc<Clusters>,
    /// How many of them the test has; others may be there.
    count: usize,
    _share: Option<Share>,
    // Dropped last: no other test measures while clusters end.
    _turn: Turn,
}

impl Deref for Kafka {
    type Target = Clusters;

    fn deref(&self) -> &Clusters {
        &self.clusters
    }
}

impl Kafka {
    /// Starts clusters for a test that measures; `options` go to `up`.
    pub fn up(clusters: usize, options: &[&str]) -> Self {
        Self::up_in(turn(), clusters, options)
    }

    /// The same for a test that claims no length.
    pub fn up_beside(clusters: usize, options: &[&str]) -> Self {
        Self::up_in(shared_turn(), clusters, options)
    }

    fn up_in(turn: Turn, clusters: usize, options: &[&str]) -> Self {
        let clusters = Arc::new(Clusters::up(clusters, options));
        Self { count: clusters.bootstraps.len(), clusters, _share: None, _turn: turn }
    }

    /// So many of two clusters that all tests share which ask for them, with the same `options`.
    pub fn shared(count: usize, options: &[&str]) -> Self {
        Self::share_in(turn, (2, count), options)
    }

    /// The same for a test that claims no length.
    pub fn shared_beside(count: usize, options: &[&str]) -> Self {
        Self::share_in(shared_turn, (2, count), options)
    }

    /// One cluster that all tests share which ask for it with the same `options`, for a test that
    /// claims no length.
    pub fn sole_beside(options: &[&str]) -> Self {
        Self::share_in(shared_turn, (1, 1), options)
    }

    /// One cluster of three brokers, which all tests share that ask for it. A busy machine does not
    /// end the brokers' own sessions.
    pub fn three_brokers() -> Self {
        let patient = ["--brokers", "3", "--set", "broker.session.timeout.ms=9000"];
        Self::share_in(turn, (1, 1), &patient)
    }

    /// So many of `all` clusters.
    fn share_in(
        turn: impl FnOnce() -> Turn,
        (all, count): (usize, usize),
        options: &[&str],
    ) -> Self {
        let share = Share::take(all, options);
        let turn = turn();
        Self { clusters: share.clusters(), count, _share: Some(share), _turn: turn }
    }

    /// Two as they are without options.
    pub fn pair() -> Self {
        Self::shared(2, &[])
    }

    /// One of the pair.
    pub fn one_of_the_pair() -> Self {
        Self::shared(1, &[])
    }

    /// `--set` that puts a cluster of a topology onto one of these.
    pub fn set(&self, cluster: &str, number: usize) -> String {
        format!("clusters.{cluster}.bootstrap={}", self.bootstraps[number])
    }

    /// The arguments that put the clusters `a` and, where there are two, `b` of a topology here.
    pub fn placed(&self) -> Vec<String> {
        let clusters = ["a", "b"].into_iter().take(self.count).enumerate();
        clusters.flat_map(|(number, name)| ["--set".to_owned(), self.set(name, number)]).collect()
    }

    /// Where `tandem` records what it created, and finds these clusters: both stay with the test.
    pub fn state(&self) -> PathBuf {
        self.folder.path().join("records")
    }

    /// `tandem`, on these clusters as `a` and, where there are two, `b`.
    pub fn tandem(&self, arguments: &[&str]) -> Command {
        let mut tandem = Command::new(crate::program());
        tandem.current_dir(crate::ROOT).args(arguments);
        tandem.args(self.placed());
        tandem.env("XDG_STATE_HOME", self.state());
        tandem
    }

    /// Runs an experiment: it passes, and is as `judge` wants it. Nothing where the host disturbed
    /// it.
    pub fn measured(
        &self,
        arguments: &[&str],
        judge: impl FnOnce(&Report) -> Result<(), String>,
    ) -> Option<Report> {
        await_quiet(NOISE_MAX);
        let is_disturbed = |(_, _, report): &(_, _, Report)| is_disturbed(report);
        let run = || self.run(arguments);
        let played = undisturbed_run(run, is_disturbed, |(_, said, _)| said.clone());
        let (code, said, report) = played?;
        assert_eq!(code, Some(0), "{said}");
        if let Err(complaint) = judge(&report) {
            panic!("{complaint}\n{said}");
        }
        Some(report)
    }

    fn run(&self, arguments: &[&str]) -> (Option<i32>, String, Report) {
        let out = self.folder.path().join(format!("out-{}", Mono::now().0));
        let mut run = self.tandem(&["chaos", "run"]);
        run.args(arguments).args(crate::cases::seed_beside(arguments));
        let done = run.arg("--out").arg(&out).output().unwrap();
        let said = format!("{}\n{}{}", arguments.join(" "), text(&done.stdout), text(&done.stderr));
        eprintln!("{said}");
        let report = std::fs::read(out.join("result.json"));
        let report = report.unwrap_or_else(|_| panic!("there is no result: {said}"));
        (done.status.code(), said, serde_json::from_slice(&report).unwrap())
    }

    /// What the latest run wrote down.
    pub fn facts(&self) -> Vec<Fact> {
        self.recording().facts
    }

    /// The journal of the latest run.
    fn recording(&self) -> Recording {
        let folders = std::fs::read_dir(self.folder.path()).unwrap().map(|entry| entry.unwrap());
        let runs = folders.filter_map(|entry| {
            let name = entry.file_name().into_string().ok()?;
            let began: u64 = name.strip_prefix("out-")?.parse().ok()?;
            Some((began, entry.path()))
        });
        let (_, latest) = runs.max().unwrap();
        tandem::journal::read(&latest.join("journal.jsonl")).unwrap()
    }

    /// The gaps that faults made in the groups of the latest run, in its undisturbed trials: each
    /// less the stalls of the host that touch it.
    pub fn gaps(&self, which: impl Fn(&str) -> bool) -> Vec<Duration> {
        let Recording { header, facts, .. } = self.recording();
        let all = Timeline::compute(&header.plan, &facts);
        let timeline = undisturbed(&header.brief, &header.plan, &all);
        let groups = timeline.groups.iter().filter(|(name, _)| which(name.as_str()));
        let gaps = groups.flat_map(|(_, group)| &group.findings.gaps);
        let gaps = gaps.filter(|gap| matches!(gap.cause, Cause::Fault(_))).map(|gap| {
            let stalls = timeline.record.stalls.iter().map(|stall| stall.intersect(gap.span));
            gap.span.length().saturating_sub(stalls.map(Interval::length).sum())
        });
        gaps.collect()
    }

    /// Their median, in milliseconds.
    pub fn median_ms(&self, which: impl Fn(&str) -> bool) -> f64 {
        let mut gaps = self.gaps(which);
        gaps.sort_unstable();
        assert!(!gaps.is_empty(), "no gap was found at all");
        gaps[gaps.len().div_ceil(2) - 1].as_secs_f64() * 1_000.0
    }

    /// Their mean, in milliseconds.
    pub fn mean_ms(&self, which: impl Fn(&str) -> bool) -> f64 {
        let gaps = self.gaps(which);
        assert!(!gaps.is_empty(), "no gap was found at all");
        let count = u32::try_from(gaps.len()).unwrap();
        (gaps.into_iter().sum::<Duration>() / count).as_secs_f64() * 1_000.0
    }

    /// Starts a run that does not end by itself.
    pub fn start(&self, arguments: &[&str]) -> Ongoing {
        let out = self.folder.path().join("running");
        let mut run = self.tandem(&["chaos", "run"]);
        run.args(arguments).args(crate::cases::seed_beside(arguments));
        run.arg("--out").arg(&out).stdout(Stdio::null()).stderr(Stdio::null());
        Ongoing { run: run.spawn().unwrap(), out }
    }

    /// One of Kafka's own tools, by the name of its class.
    pub fn tool(&self, class: &str) -> Command {
        let home = |name: &str| std::env::var_os(name).map(PathBuf::from);
        let cache = home("XDG_CACHE_HOME").unwrap_or_else(|| home("HOME").unwrap().join(".cache"));
        let jars = cache.join("tandem/kafka").join(self.version).join("lib/*");
        let mut tool = Command::new("java");
        tool.args(["-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-cp"]).arg(jars).arg(class);
        tool
    }

    /// What Kafka's own tool says of a consumer group's members.
    pub fn described(&self, cluster: usize, group: &str) -> String {
        let done = self
            .tool("org.apache.kafka.tools.consumer.group.ConsumerGroupCommand")
            .args(["--bootstrap-server", &self.bootstraps[cluster], "--group", group])
            .args(["--describe", "--members", "--verbose", "--timeout", "60000"])
            .output()
            .unwrap();
        assert!(done.status.success(), "{}", text(&done.stderr));
        text(&done.stdout)
    }
}

/// A run that is under way. Dropped, it is killed; its guard does the rest.
pub struct Ongoing {
    run: Child,
    /// Its folder.
    pub out: PathBuf,
}

impl Ongoing {
    /// Ends it as ctrl-c does, and waits for it.
    pub fn interrupt(mut self) {
        let pid = rustix::process::Pid::from_child(&self.run);
        rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
        assert_eq!(self.run.wait().unwrap().code(), Some(130));
    }
}

impl Drop for Ongoing {
    fn drop(&mut self) {
        self.run.kill().ok();
        self.run.wait().ok();
    }
}

/// Waits for something to be there.
pub fn eventually<T>(what: &str, within: Duration, look: impl Fn() -> Option<T>) -> T {
    let began = Mono::now();
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(Mono::now().since(began) < within, "{what}: not within {within:?}");
        std::thread::sleep(Duration::from_millis(100));
    }
}
