//! The table of what was measured: one row a series, with what was built, when and where, in the
//! documentation.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::fs;
use std::path::Path;
use std::process::Command;

use tandem::built::Built;

const TABLE: &str = "chaos/RESULTS.md";
/// The first line of the table that grows; a row is put below its last.
const HEAD: &str = "| series | when (UTC) | built from | machine | trials | disturbed | measured \
                    | claims |";

/// What a series claims: in words, what was measured, and whether it holds.
#[derive(Debug, Default)]
pub struct Claims(Vec<Claim>);

#[derive(Debug)]
struct Claim {
    text: String,
    measured: String,
    holds: bool,
}

impl Claims {
    /// One more.
    pub fn add(&mut self, text: impl Into<String>, measured: impl Display, holds: bool) {
        self.0.push(Claim { text: text.into(), measured: measured.to_string(), holds });
    }

    /// Fails where one did not hold.
    pub fn hold(&self) {
        let failed: Vec<_> = self.0.iter().filter(|claim| !claim.holds).collect();
        assert!(failed.is_empty(), "did not hold: {failed:?}");
    }

    /// `no joint gap: 0; **not** at most 20 ms: 31 ms`.
    pub fn shown(&self) -> String {
        let shown = |claim: &Claim| {
            let not = if claim.holds { "" } else { "**not** " };
            format!("{not}{}: {}", claim.text, claim.measured)
        };
        self.0.iter().map(shown).collect::<Vec<_>>().join("; ")
    }
}

/// What stands in a row beside the claims.
#[derive(Debug)]
pub struct Row {
    /// What ran: as the header of each journal has it, or as this program was built itself.
    pub built: Vec<Option<Built>>,
    /// How many trials there were, every one of them.
    pub trials: String,
    /// Which of them the host disturbed, and what became of each.
    pub disturbed: String,
    pub measured: String,
}

impl Row {
    /// Of a series that leaves no journal, and knows no trials.
    pub fn without_trials(count: impl Display, measured: &str) -> Self {
        Self {
            built: vec![Built::this()],
            trials: count.to_string(),
            disturbed: "not asked".to_owned(),
            measured: measured.to_owned(),
        }
    }
}

/// So many trials are to be played instead of the full count, to try a series; then it leaves no
/// row.
pub fn tried() -> Option<u32> {
    let asked = std::env::var("TANDEM_TRIALS").ok()?;
    let count = asked.parse().ok().filter(|count| *count > 0);
    Some(count.unwrap_or_else(|| panic!("TANDEM_TRIALS is {asked}: write a number of trials")))
}

/// Adds a row, unless the series was finished before and its row stands already, or is tried.
pub fn append(name: &str, folder: &Path, row: &Row, claims: &Claims) {
    let done = folder.join("row");
    let (when, machine, built) = (now(), machine(), builds(&row.built));
    let Row { trials, disturbed, measured, .. } = row;
    let claims = claims.shown();
    let row = format!(
        "| {name} | {when} | {built} | {machine} | {trials} | {disturbed} | {measured} | {claims} \
         |\n"
    );
    eprint!("{row}");
    if done.exists() || tried().is_some() {
        return;
    }
    let table = Path::new(crate::ROOT).join(TABLE);
    let text = fs::read_to_string(&table).unwrap();
    fs::write(&table, with_ages(&with_row(&text, &row), commits_since)).unwrap();
    fs::write(done, row).unwrap();
}

/// What the program is built from.
const SOURCES: [&str; 5] = ["Cargo.toml", "Cargo.lock", "build.rs", "src", "crates"];

/// The page with the age of each row beside the commit that it was built from: a row is stale once
/// the program has changed since, in as many commits as `since` says of that commit.
pub fn with_ages(page: &str, since: impl Fn(&str) -> Option<usize>) -> String {
    let mut is_dated = false;
    let aged = page.split_inclusive('\n').map(|line| {
        let mut cells: Vec<&str> = line.split(" | ").collect();
        let built = cells.get(2).copied().unwrap_or_default();
        let is_head = matches!(built, "built from" | "commit");
        is_dated = line.starts_with('|') && (is_dated || is_head);
        if !is_dated || is_head || line.starts_with("|-") {
            return line.to_owned();
        }
        let built = built.split(" (stale").next().unwrap_or_default();
        let commit = built.split([',', ' ']).next().unwrap_or_default();
        let built = match since(commit) {
            Some(0) => built.to_owned(),
            Some(1) => format!("{built} (stale: 1 commit since)"),
            Some(count) => format!("{built} (stale: {count} commits since)"),
            None => format!("{built} (stale: of another history)"),
        };
        cells[2] = &built;
        cells.join(" | ")
    });
    aged.collect()
}

/// How many commits have changed the program since this one, if it is one of this history.
fn commits_since(commit: &str) -> Option<usize> {
    let git = |arguments: &[&str]| {
        let done = Command::new("git").args(arguments).current_dir(crate::ROOT).output().ok()?;
        done.status.success().then(|| String::from_utf8_lossy(&done.stdout).trim().to_owned())
    };
    git(&["merge-base", "--is-ancestor", commit, "HEAD"])?;
    let since = format!("{commit}..HEAD");
    git(&[&["rev-list", "--count", &since, "--"], &SOURCES[..]].concat())?.parse().ok()
}

/// The page with one more row in the table that grows.
pub fn with_row(page: &str, row: &str) -> String {
    let head = page.find(HEAD).unwrap_or_else(|| panic!("{TABLE} has no line {HEAD}"));
    let rows = page[head..].split_inclusive('\n').take_while(|line| line.starts_with('|'));
    let end = head + rows.map(str::len).sum::<usize>();
    format!("{}{row}{}", &page[..end], &page[end..])
}

/// `90d6d898ba12`, or each with how many runs were of it.
fn builds(all: &[Option<Built>]) -> String {
    let mut counts = BTreeMap::<String, usize>::new();
    for built in all {
        let name = built.as_ref().map_or_else(|| "unknown".to_owned(), ToString::to_string);
        *counts.entry(name).or_default() += 1;
    }
    if counts.len() == 1 {
        return counts.into_keys().collect();
    }
    let each = counts.into_iter().map(|(name, count)| format!("{name} ({count} runs)"));
    each.collect::<Vec<_>>().join(", ")
}

fn now() -> String {
    let now = jiff::Timestamp::from_millisecond(tandem::time::Wall::now().0).unwrap();
    now.strftime("%Y-%m-%d %H:%M").to_string()
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
