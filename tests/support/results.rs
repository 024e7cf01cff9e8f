//! The table of what was measured: one row a series, with date and machine, in the documentation.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::Path;
use std::process::Command;

const TABLE: &str = "chaos/RESULTS.md";

/// What a series claims, and whether it held.
#[derive(Debug, Default)]
pub struct Claims(Vec<(String, bool)>);

impl Claims {
    /// One more.
    pub fn add(&mut self, text: impl Into<String>, holds: bool) {
        self.0.push((text.into(), holds));
    }

    fn failed(&self) -> Vec<&str> {
        self.0.iter().filter(|(_, holds)| !holds).map(|(text, _)| text.as_str()).collect()
    }

    /// Fails where one did not hold.
    pub fn hold(&self) {
        assert!(self.failed().is_empty(), "did not hold: {:?}", self.failed());
    }

    fn shown(&self) -> String {
        let mark = |(text, holds): &(String, bool)| {
            if *holds { text.clone() } else { format!("**not** {text}") }
        };
        self.0.iter().map(mark).collect::<Vec<_>>().join("; ")
    }
}

/// So many trials are to be played instead of the full count, to try a series; then it leaves no
/// row.
pub fn tried() -> Option<u32> {
    let asked = std::env::var("TANDEM_TRIALS").ok()?;
    let count = asked.parse().ok().filter(|count| *count > 0);
    Some(count.unwrap_or_else(|| panic!("TANDEM_TRIALS is {asked}: write a number of trials")))
}

/// Appends a row, unless the series was finished before and its row stands already, or is tried.
pub fn append(name: &str, folder: &Path, measured: &str, claims: &Claims) {
    let done = folder.join("row");
    let (when, machine, version) = (now(), machine(), version());
    let row =
        format!("| {name} | {when} | {version} | {machine} | {measured} | {} |\n", claims.shown());
    eprint!("{row}");
    if done.exists() || tried().is_some() {
        return;
    }
    let table = Path::new(env!("CARGO_MANIFEST_DIR")).join(TABLE);
    let mut table = OpenOptions::new().append(true).open(table).unwrap();
    table.write_all(row.as_bytes()).unwrap();
    fs::write(done, row).unwrap();
}

fn now() -> String {
    let now = jiff::Timestamp::from_millisecond(tandem::time::Wall::now().0).unwrap();
    now.strftime("%Y-%m-%d %H:%M").to_string()
}

/// The last commit of the code.
fn version() -> String {
    let args = ["log", "-1", "--format=%h", "--", "src"];
    let said = Command::new("git").args(args).output().unwrap().stdout;
    String::from_utf8_lossy(&said).trim().to_owned()
}

/// Cores, memory, kernel.
fn machine() -> String {
    let cores = std::thread::available_parallelism().unwrap();
    let memory = fs::read_to_string("/proc/meminfo").unwrap();
    let kib: u64 = memory.split_whitespace().nth(1).unwrap().parse().unwrap();
    let kernel = rustix::system::uname();
    let release = kernel.release().to_string_lossy().into_owned();
    let load = fs::read_to_string("/proc/loadavg").unwrap();
    let load = load.split(' ').next().unwrap();
    format!("{cores} cores, {} GiB, Linux {release}, load {load}", kib.div_ceil(1024 * 1024))
}
