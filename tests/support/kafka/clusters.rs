//! The processes themselves, from `deploy/kafka/up` to `deploy/kafka/down`. Several tests share
//! those of one kind, for to start them takes longer than many a test.

use std::net::TcpListener;
use std::path::Path;
use std::process::{Command, Output};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::memory::{self, Folder};

/// Clusters that end with this value.
pub struct Clusters {
    pub folder: Folder,
    /// Where each cluster is.
    pub bootstraps: Vec<String>,
    pub(super) version: &'static str,
}

impl Clusters {
    /// Starts them; `options` go to `up`.
    pub fn up(clusters: usize, options: &[&str]) -> Self {
        let folder = memory::folder();
        let (base, version) = (free_ports(clusters).to_string(), "4.3.0");
        let mut up = script("up", &folder);
        up.arg(clusters.to_string()).args(["--base-port", &base, "--version", version]);
        let done = up.args(options).output().unwrap();
        let (said, wrong) = (text(&done.stdout), text(&done.stderr));
        assert!(done.status.success(), "the clusters do not start: {wrong}");
        let bootstraps: Vec<_> = said.lines().map(str::to_owned).collect();
        assert_eq!(bootstraps.len(), clusters, "{said}");
        Self { folder, bootstraps, version }
    }
}

impl Drop for Clusters {
    fn drop(&mut self) {
        let done = script("down", &self.folder).output();
        let fine = done.as_ref().is_ok_and(|done: &Output| done.status.success());
        if !fine && !std::thread::panicking() {
            panic!("the clusters do not end: {done:?}");
        }
    }
}

/// Clusters of one kind, and how many tests want them.
struct Kind {
    count: usize,
    /// Those that they are started with.
    options: Vec<String>,
    wanted: usize,
    clusters: Option<Arc<Clusters>>,
}

static KINDS: Mutex<Vec<Kind>> = Mutex::new(Vec::new());

fn kinds() -> MutexGuard<'static, Vec<Kind>> {
    KINDS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A share in clusters of one kind. They end with the last share, even if a test fails; in a
/// `static` they would outlive the program, which drops none. So a test that wants them says so
/// before its turn comes, while another test may still have them.
pub(super) struct Share {
    count: usize,
    options: Vec<String>,
}

impl Share {
    /// Wants so many clusters with these options.
    pub(super) fn take(count: usize, options: &[&str]) -> Self {
        let options = options.iter().map(|it| (*it).to_owned()).collect();
        let share = Self { count, options };
        let mut kinds = kinds();
        if let Some(kind) = kinds.iter_mut().find(|kind| share.is_in(kind)) {
            kind.wanted += 1;
        } else {
            let options = share.options.clone();
            kinds.push(Kind { count, options, wanted: 1, clusters: None });
        }
        share
    }

    fn is_in(&self, kind: &Kind) -> bool {
        (kind.count, &kind.options) == (self.count, &self.options)
    }

    /// The clusters, which are started if no test has them.
    pub(super) fn clusters(&self) -> Arc<Clusters> {
        let mut kinds = kinds();
        let kind = kinds.iter_mut().find(|kind| self.is_in(kind)).expect("it is wanted");
        let start = || {
            let options: Vec<_> = self.options.iter().map(String::as_str).collect();
            Arc::new(Clusters::up(self.count, &options))
        };
        Arc::clone(kind.clusters.get_or_insert_with(start))
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        let mut kinds = kinds();
        let Some(kind) = kinds.iter_mut().find(|kind| self.is_in(kind)) else { return };
        kind.wanted -= 1;
        if kind.wanted == 0 {
            drop(kind.clusters.take());
        }
    }
}

fn script(name: &str, folder: &Folder) -> Command {
    let path = Path::new(crate::ROOT).join("deploy/kafka").join(name);
    let mut command = Command::new(path);
    command.arg("--state").arg(folder.path().join("records/tandem/kafka"));
    command
}

/// A port from which `clusters` times ten ports are free and reserved within this program. Other
/// programs look elsewhere first; if one takes some anyway, `up` refuses.
pub fn free_ports(clusters: usize) -> usize {
    static GIVEN: AtomicUsize = AtomicUsize::new(0);
    let first = usize::try_from(std::process::id()).unwrap();
    for _ in 0..100 {
        let base = 20_000 + (first + GIVEN.fetch_add(1, Ordering::Relaxed)) % 100 * 100;
        let free = |port: usize| TcpListener::bind(("127.0.0.1", u16::try_from(port).unwrap()));
        if (base..base + 10 * clusters).all(|port| free(port).is_ok()) {
            return base;
        }
    }
    panic!("no ports are free");
}

pub(super) fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
