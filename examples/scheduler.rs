//! A scheduler of which several run, and one leads: each job runs once, in order. A job is due each
//! 100 ms; its run is a row in PostgreSQL or in SQLite.
//!
//! The fence of a claim is above that of every earlier leader. The scheduler raises the number in
//! the store to it before it reads which job is next, and a job is written down only while no
//! higher one was there: one that was stopped in the middle of its work, and wakes when another
//! leads, writes nothing. It asks for no more than one statement at a time, so in PostgreSQL one
//! that is stopped keeps no lock. In SQLite it may keep one: no other writes before it wakes.
//!
//! ```sh
//! tandem broker &
//! cargo run --example scheduler -- 127.0.0.1:9092 one sqlite:jobs.db
//! cargo run --example scheduler -- 127.0.0.1:9092 two sqlite:jobs.db 'echo job $JOB'
//! cargo run --example scheduler -- 127.0.0.1:9092 one 'postgres:host=/tmp dbname=jobs'
//! ```
//!
//! The command is the work of a job; with a job's number in `JOB` it gets the fence in `FENCE`, for
//! what it writes elsewhere. With `SCHEDULER_FENCE=off` the store asks for no fence, and jobs run
//! twice.

use std::env;
use std::error::Error;
use std::num::NonZeroU32;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use signal_hook::consts::{SIGINT, SIGTERM};
use tandem_facts::time::{Mono, Wall};
use tandem_member::{Claim, Member};

/// A job is due each 100 ms; its number follows from the wall clock, as that of a night does.
const PERIOD_MS: i64 = 100;
const LOOK: Duration = Duration::from_millis(10);
/// No other leads before a promise ends, and none is longer than this.
const HOLD: Duration = Duration::from_millis(400);
/// The store may take so long.
const PATIENCE: Duration = Duration::from_secs(1);

type Outcome<T> = Result<T, Box<dyn Error>>;

const RAISE: &str = "UPDATE fence SET highest = $1 WHERE highest <= $1";
const LAST: &str = "SELECT max(job) FROM runs";
const UNFENCED: &str = "INSERT INTO runs (job, fence, name) VALUES ($1, $2, $3)";
/// The row of the fence is locked until the run is written: a later leader waits, or was faster.
const FENCED: &str = "INSERT INTO runs (job, fence, name) \
    SELECT CAST($1 AS bigint), CAST($2 AS bigint), CAST($3 AS text) \
    FROM (SELECT one FROM fence WHERE highest = $2 FOR UPDATE) AS held";

/// No key keeps a job from being there twice: that is what the fence is for.
fn tables(place: &str) -> String {
    format!(
        "CREATE TABLE IF NOT EXISTS fence (one integer PRIMARY KEY CHECK (one = 1), highest bigint);
         INSERT INTO fence VALUES (1, 0) ON CONFLICT DO NOTHING;
         CREATE TABLE IF NOT EXISTS runs (place {place} PRIMARY KEY, job bigint, fence bigint,
             name text);"
    )
}

/// Where runs are written down.
enum Store {
    Postgres(Box<postgres::Client>),
    Sqlite(rusqlite::Connection),
}

impl Store {
    fn open(place: &str) -> Outcome<Self> {
        match place.split_once(':') {
            Some(("postgres", to)) => {
                let mut store = postgres::Client::connect(to, postgres::NoTls)?;
                store.batch_execute(&tables("bigserial"))?;
                Ok(Self::Postgres(Box::new(store)))
            }
            Some(("sqlite", file)) => {
                let store = rusqlite::Connection::open(file)?;
                store.busy_timeout(PATIENCE)?;
                store.pragma_update(None, "journal_mode", "WAL")?;
                store.execute_batch(&tables("integer"))?;
                Ok(Self::Sqlite(store))
            }
            _ => Err(format!("{place} is neither postgres:CONNECTION nor sqlite:FILE").into()),
        }
    }

    /// Whether no later leader has been here; none that is earlier writes from now on.
    fn raise(&mut self, fence: i64) -> Outcome<bool> {
        let rows = match self {
            Self::Postgres(store) => store.execute(RAISE, &[&fence])?,
            Self::Sqlite(store) => store.execute(RAISE, [fence])?.try_into()?,
        };
        Ok(rows == 1)
    }

    /// The last job that has run.
    fn last(&mut self) -> Outcome<Option<i64>> {
        Ok(match self {
            Self::Postgres(store) => store.query_one(LAST, &[])?.try_get(0)?,
            Self::Sqlite(store) => store.query_row(LAST, [], |row| row.get(0))?,
        })
    }

    /// Whether the run is written down: no later leader has been here.
    fn write(&mut self, job: i64, fence: i64, name: &str, is_fenced: bool) -> Outcome<bool> {
        let insert = if is_fenced { FENCED } else { UNFENCED };
        let rows = match self {
            Self::Postgres(store) => store.execute(insert, &[&job, &fence, &name])?,
            // It has one writer at a time.
            Self::Sqlite(store) => {
                let insert = insert.replace("FOR UPDATE", "");
                store.execute(&insert, (job, fence, name))?.try_into()?
            }
        };
        Ok(rows == 1)
    }
}

struct Scheduler {
    name: String,
    place: String,
    command: Option<String>,
    is_fenced: bool,
    /// Open while the store answers.
    store: Option<Store>,
    /// The fence with which it leads.
    fence: Option<i64>,
    /// The fence to which this one has raised the store.
    raised: Option<i64>,
}

impl Scheduler {
    fn store(&mut self) -> Outcome<&mut Store> {
        if self.store.is_none() {
            self.store = Some(Store::open(&self.place)?);
        }
        self.store.as_mut().ok_or_else(|| "the store is closed".into())
    }

    /// Runs the next job, if one is due; whether it did.
    fn turn(&mut self, claim: Claim) -> Outcome<bool> {
        let fence = claim.fence.ok_or("this group keeps no fence")?;
        if self.fence.replace(fence) != Some(fence) {
            println!("leads with fence {fence}");
        }
        if self.raised != Some(fence) {
            if !self.store()?.raise(fence)? {
                return Ok(false);
            }
            self.raised = Some(fence);
        }
        let due = Wall::now().0 / PERIOD_MS;
        let job = self.store()?.last()?.map_or(due, |last| last + 1);
        // The store took its time.
        if job > due || Mono::now() >= claim.until {
            return Ok(false);
        }
        self.work(job, fence)?;
        let (name, is_fenced) = (self.name.clone(), self.is_fenced);
        let is_written = self.store()?.write(job, fence, &name, is_fenced)?;
        let how = if is_written { "written" } else { "refused: a later leader has been here" };
        println!("job {job} {how}");
        Ok(is_written)
    }

    /// The work of a job, which takes its time.
    fn work(&self, job: i64, fence: i64) -> Outcome<()> {
        let Some(command) = &self.command else { return Ok(()) };
        let mut shell = Command::new("sh");
        shell.args(["-c", command]).env("JOB", job.to_string()).env("FENCE", fence.to_string());
        let ended = shell.env("NAME", &self.name).status()?;
        if ended.success() { Ok(()) } else { Err(format!("job {job}: {ended}").into()) }
    }
}

fn main() -> Outcome<()> {
    let mut args = env::args().skip(1);
    let (Some(bootstrap), Some(name), Some(place)) = (args.next(), args.next(), args.next()) else {
        return Err("usage: scheduler BOOTSTRAP NAME sqlite:FILE|postgres:CONNECTION [WORK]".into());
    };
    let command = args.next();
    let is_fenced = env::var_os("SCHEDULER_FENCE").is_none_or(|fence| fence != "off");
    let ended = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM] {
        signal_hook::flag::register(signal, Arc::clone(&ended))?;
    }
    let builder = Member::builder(bootstrap, "jobs").name(&name).create_ledger(NonZeroU32::MIN);
    let member = builder.roles(["nightly"]).exclusive(HOLD).join()?;
    let lead = member.lead(member.role("nightly").ok_or("no such role")?);
    let (store, fence, raised) = (None, None, None);
    let mut scheduler = Scheduler { name, place, command, is_fenced, store, fence, raised };
    while !ended.load(Ordering::SeqCst) {
        let did = lead.claim().map_or(Ok(false), |claim| scheduler.turn(claim));
        match did {
            Ok(true) => {}
            Ok(false) => thread::sleep(LOOK),
            Err(error) => {
                eprintln!("the job is left to the next turn: {error}");
                (scheduler.store, scheduler.raised) = (None, None);
                thread::sleep(LOOK);
            }
        }
    }
    // Others lead at once.
    member.leave();
    Ok(())
}
