//! The witness of a member: a process beside it that delivers its facts and sees its death.
//!
//! It is no descendant of the member's process, which may be the parent of all that its command
//! leaves behind, and kill it. It ends once the member is gone and everything is delivered, or some
//! time later: then the witness of the next life goes on.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{DirBuilder, OpenOptions};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, poll};
use serde::{Deserialize, Serialize};

use super::Origin;
use super::hand::{OrdersSetup, obey};
use super::outbox::Outbox;
use super::sender::Sender;
use super::spool_file::{Left, SpoolFile};
use crate::guard::Identity;
use crate::host::{outlive_signals, own_program, tandem};
use crate::ids::{ClusterName, TopicName};
use crate::kafka::{Access, Cluster};
use crate::time::Mono;

/// How long the last facts may take to be delivered.
const LINGER: Duration = Duration::from_secs(10);
/// How often it is looked whether all of an earlier life is delivered.
const LOOK: Duration = Duration::from_millis(100);
/// The longest line of a member.
const LINE_MAX: u64 = 1024 * 1024;
/// The lives whose facts are still delivered; older ones are dropped.
const LEFT_MAX: usize = 8;

/// Everything that a witness must know.
#[derive(Debug, Serialize, Deserialize)]
pub struct WitnessSetup {
    /// Whose witness it is.
    pub origin: Origin,
    /// The member's process.
    pub holder: Identity,
    /// The facts topic.
    pub topic: TopicName,
    /// The folder of all spools of the member's name.
    pub folder: PathBuf,
    /// The clusters on which the topic is: addresses, and how to connect.
    pub clusters: BTreeMap<ClusterName, (String, Access)>,
    /// How it takes orders of experiments, if the group allows these.
    pub orders: Option<OrdersSetup>,
}

/// A witness cannot work.
#[derive(Debug, thiserror::Error)]
pub enum WitnessError {
    /// The system refuses something.
    #[error("the witness of a member cannot work")]
    System(#[from] io::Error),
    /// The first line of standard input is not a setup.
    #[error("the witness does not know whose it is")]
    Setup(#[from] serde_json::Error),
}

/// Starts a witness beside this process, which asks of the other end of `link` what only this
/// process can do. Returns the pipe that takes the member's facts.
///
/// # Errors
/// The system refuses the pipe or the process.
pub fn attend(setup: &WitnessSetup, link: Option<OwnedFd>) -> io::Result<OwnedFd> {
    let (reader, writer) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC)?;
    let mut command = tandem(own_program());
    let link = link.map_or_else(Stdio::null, Stdio::from);
    let command = command.arg("witness").stdin(Stdio::from(reader)).stdout(link);
    // It starts the witness and ends, so that the witness is no child of this process.
    let done = command.stderr(Stdio::null()).status()?;
    if !done.success() {
        return Err(io::Error::other(format!("the witness cannot be started: {done}")));
    }
    let mut line = serde_json::to_vec(setup)?;
    line.push(b'\n');
    let mut pipe = std::fs::File::from(writer);
    pipe.write_all(&line)?;
    Ok(pipe.into())
}

/// Bears witness for the member whose facts arrive on standard input. Without `beside`, starts the
/// process that does, and returns at once.
///
/// # Errors
/// The setup cannot be read, or the system refuses something.
pub fn bear_witness(beside: bool) -> Result<(), WitnessError> {
    if !beside {
        let mut command = tandem(own_program());
        let command = command.args(["witness", "--beside"]).stdin(Stdio::inherit());
        // Outside the terminal's foreground group, as what ends the member must not end it.
        command.stdout(Stdio::inherit()).stderr(Stdio::null()).process_group(0).spawn()?;
        return Ok(());
    }
    outlive_signals()?;
    let mut input = BufReader::new(io::stdin().lock());
    let mut first = Vec::new();
    (&mut input).take(LINE_MAX).read_until(b'\n', &mut first)?;
    let setup: WitnessSetup = serde_json::from_slice(&first)?;
    watch(&setup, input)
}

fn watch(setup: &WitnessSetup, input: impl BufRead) -> Result<(), WitnessError> {
    let WitnessSetup { origin, holder, folder, .. } = setup;
    log_beside(folder)?;
    let left = left(setup);
    let own = folder.join(format!("{}-{}", origin.life.incarnation, origin.began.0));
    let mut file = SpoolFile::create(own, origin)?;
    let clusters: BTreeSet<_> = setup.clusters.keys().cloned().collect();
    let outbox = Arc::new(Outbox::new(origin.clone(), &clusters));
    let mut outboxes = vec![Arc::clone(&outbox)];
    let again = |left: Left| (again(&left, origin, &clusters), left);
    let earlier: Vec<_> = left.into_iter().map(again).collect();
    outboxes.extend(earlier.iter().map(|(outbox, _)| Arc::clone(outbox)));
    let stop = Arc::new(AtomicBool::new(false));
    let senders = start(setup, &outboxes, &stop)?;
    let removed = remove_each(earlier, Arc::clone(&stop))?;

    if let Some(orders) = &setup.orders {
        obey(setup, orders, &outbox);
    }
    take(input, &mut file, &outbox);
    let died = gone(*holder);
    file.died(died).unwrap_or_else(|error| unkept(&error));
    outbox.end(Some(died));
    if outbox.completes(LINGER) {
        file.remove()?;
    }
    stop.store(true, Ordering::SeqCst);
    // A sender that is cut off from its cluster would be waited for; it ends with the process.
    drop((senders, removed.join()));
    Ok(())
}

/// Starts the thread that removes what earlier lives have left, each as soon as it is delivered.
fn remove_each(
    mut earlier: Vec<(Arc<Outbox>, Left)>,
    stop: Arc<AtomicBool>,
) -> io::Result<JoinHandle<()>> {
    std::thread::Builder::new().name("left".to_owned()).spawn(move || {
        while !earlier.is_empty() {
            let is_last = stop.load(Ordering::SeqCst);
            let all = std::mem::take(&mut earlier).into_iter();
            let (done, rest): (Vec<_>, Vec<_>) = all.partition(|(outbox, _)| outbox.is_complete());
            earlier = rest;
            for (_, left) in done {
                left.remove().unwrap_or_else(|error| unkept(&error));
            }
            if is_last {
                return;
            }
            std::thread::sleep(LOOK);
        }
    })
}

/// Keeps and passes on all lines, until the member's process closes the pipe.
fn take(mut input: impl BufRead, file: &mut SpoolFile, outbox: &Outbox) {
    loop {
        let mut line = Vec::new();
        let read = (&mut input).take(LINE_MAX).read_until(b'\n', &mut line);
        if read.is_err() || !line.ends_with(b"\n") {
            return;
        }
        file.append(&line).unwrap_or_else(|error| unkept(&error));
        outbox.push(line);
    }
}

fn unkept(error: &io::Error) {
    tracing::warn!(%error, "A fact is not kept on disk; it is delivered from memory.");
}

/// Waits until the process is gone. Returns when it was seen to be.
fn gone(holder: Identity) -> Mono {
    while let Ok(Some(pidfd)) = holder.open() {
        // Interrupted by a signal: look again.
        if poll(&mut [PollFd::new(&pidfd, PollFlags::IN)], None).is_ok() {
            break;
        }
    }
    Mono::now()
}

/// What earlier lives of this name have left.
fn left(setup: &WitnessSetup) -> Vec<Left> {
    let mut left = Left::find(&setup.folder);
    while left.len() > LEFT_MAX {
        left.remove(0).remove().unwrap_or_else(|error| unkept(&error));
    }
    left
}

/// An outbox with all that an earlier life has left. Its name is borne by another process now, so
/// it is gone, at some time since its last fact.
fn again(left: &Left, now: &Origin, clusters: &BTreeSet<ClusterName>) -> Arc<Outbox> {
    let outbox = Outbox::new(left.origin.clone(), clusters);
    left.lines.iter().for_each(|line| outbox.push(line.clone()));
    // On another clock, of an earlier boot, nothing can be said of now.
    let gone = || (left.origin.clock == now.clock).then(Mono::now);
    outbox.end(left.died.or_else(gone));
    Arc::new(outbox)
}

fn start(
    setup: &WitnessSetup,
    outboxes: &[Arc<Outbox>],
    stop: &Arc<AtomicBool>,
) -> io::Result<Vec<JoinHandle<()>>> {
    let clusters = setup.clusters.iter();
    let senders = clusters.map(|(name, (bootstrap, access))| {
        let sender = Sender {
            name: name.clone(),
            cluster: Cluster { bootstrap: bootstrap.clone(), access: access.clone() },
            topic: setup.topic.clone(),
            outboxes: outboxes.to_vec(),
            stop: Arc::clone(stop),
            clock: setup.origin.clock.clone(),
        };
        std::thread::Builder::new().name(format!("to {name}")).spawn(move || sender.run())
    });
    senders.collect()
}

/// Has this process log to a file beside the spools.
fn log_beside(folder: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    let mut options = OpenOptions::new();
    let log = options.write(true).create(true).truncate(true).mode(0o600);
    let log = log.open(folder.join("log"))?;
    rustix::stdio::dup2_stderr(&log)?;
    Ok(())
}
