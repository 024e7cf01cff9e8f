//! Carries out orders beside a member: signals to its process, and cuts by its process. What is
//! stopped is continued when its lease ends, and also when the witness itself dies: the *waker*, a
//! process of its own, waits for that. The member waits for it itself where it is cut off.

use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, Stdio};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::time::Duration;

use rustix::process::Signal;
use serde::{Deserialize, Serialize};

use super::link::{Ask, Link};
use super::outbox::Outbox;
use super::timer::EVERY;
use super::{Act, Obedience, OrdersError, Standing, WitnessSetup, order_key};
use crate::guard::{Identity, signal_families};
use crate::host::{outlive_signals, own_program, tandem};
use crate::ids::{ClusterName, TopicName, TopologyName};
use crate::kafka::{Cluster, Tail, TailFrom, Tailed};
use crate::secret::Secret;
use crate::time::{Mono, Wall};

/// How often it is looked whether a pause is over.
const LOOK: Duration = Duration::from_millis(100);
/// How often a topic is tried again that cannot be read.
const AGAIN: Duration = Duration::from_secs(1);
/// The most records that wait.
const WAITING_MAX: usize = 256;
/// How long the kernel may take to stop or continue a process.
const EFFECT: Duration = Duration::from_secs(1);
/// How often it is asked.
const ASK: Duration = Duration::from_millis(1);

/// How a witness takes orders.
#[derive(Debug, Serialize, Deserialize)]
pub struct OrdersSetup {
    /// The topology.
    pub topology: TopologyName,
    /// The orders topic.
    pub topic: TopicName,
    /// Where the key is, if it is not the user's own.
    pub key: Option<Secret>,
}

/// Starts to take orders; the threads end with the process.
pub(super) fn obey(setup: &WitnessSetup, orders: &OrdersSetup, outbox: &Arc<Outbox>) {
    if let Err(error) = start(setup, orders, outbox) {
        let error = crate::error::chain(&error);
        tracing::warn!(error, "The member takes no orders of experiments.");
    }
}

fn start(
    setup: &WitnessSetup,
    orders: &OrdersSetup,
    outbox: &Arc<Outbox>,
) -> Result<(), OrdersError> {
    let key = order_key(&orders.topology, orders.key.as_ref())?;
    let (life, began) = (setup.origin.life.clone(), setup.origin.began);
    let hand = Hand {
        obedience: Obedience::new(orders.topology.clone(), life, began, key),
        holder: setup.holder,
        standing: Standing::default(),
        outbox: Arc::clone(outbox),
        waker: None,
        link: Link::own().ok(),
        said: Mono::now(),
    };
    let (sender, records) = sync_channel(WAITING_MAX);
    for (name, (bootstrap, access)) in &setup.clusters {
        let cluster = Cluster { bootstrap: bootstrap.clone(), access: access.clone() };
        let (name, topic, sender) = (name.clone(), orders.topic.clone(), sender.clone());
        let thread = std::thread::Builder::new().name(format!("orders of {name}"));
        let listening = thread.spawn(move || listen(&name, &cluster, &topic, &sender));
        let _ends_with_the_process = listening.map_err(OrdersError::Thread)?;
    }
    let thread = std::thread::Builder::new().name("orders".to_owned());
    let acting = thread.spawn(move || hand.run(&records));
    let _ends_with_the_process = acting.map_err(OrdersError::Thread)?;
    Ok(())
}

/// Passes on what is written to the orders topic of one cluster from now on.
fn listen(
    name: &ClusterName,
    cluster: &Cluster,
    topic: &TopicName,
    sender: &SyncSender<(ClusterName, Vec<u8>)>,
) {
    // A topic that is not there yet has no orders of the past.
    let mut from = TailFrom::End;
    let mut tail = loop {
        match Tail::open(cluster, topic, from) {
            Ok(Some(tail)) => break tail,
            Ok(None) => from = TailFrom::Beginning,
            Err(error) => {
                let error = crate::error::chain(&error);
                tracing::debug!(error, cluster = %name, "The orders topic cannot be read yet.");
            }
        }
        std::thread::sleep(AGAIN);
    };
    loop {
        match tail.next(LOOK) {
            Ok(Tailed::Record(record)) => {
                if sender.send((name.clone(), record)).is_err() {
                    return;
                }
            }
            Ok(Tailed::Caught | Tailed::Nothing) => {}
            Err(error) => {
                let error = crate::error::chain(&error);
                tracing::debug!(error, cluster = %name, "The orders topic is not read.");
            }
        }
    }
}

struct Hand {
    obedience: Obedience,
    holder: Identity,
    standing: Standing,
    outbox: Arc<Outbox>,
    waker: Option<Waker>,
    /// Asks the member's process to cut itself off.
    link: Option<Link>,
    /// When a letter was last asked for.
    said: Mono,
}

impl Hand {
    fn run(mut self, records: &Receiver<(ClusterName, Vec<u8>)>) {
        loop {
            let now = Mono::now();
            let wait = self.obedience.poll_timeout().map_or(LOOK, |until| until.since(now));
            match records.recv_timeout(wait.min(LOOK)) {
                Ok((by, record)) => {
                    self.obedience.handle_record(Mono::now(), Wall::now(), &by, &record);
                }
                Err(RecvTimeoutError::Timeout) => self.obedience.handle_timeout(Mono::now()),
                Err(RecvTimeoutError::Disconnected) => return,
            }
            while let Some(act) = self.obedience.poll() {
                tracing::info!(?act, "An order is carried out.");
                if let Err(error) = self.act(act) {
                    tracing::warn!(%error, ?act, "An order cannot be carried out.");
                }
            }
            let before = self.standing.seq;
            self.standing.count(self.obedience.taken(), self.obedience.refused());
            // A member that is stopped writes no facts. Its clock is compared by letters all the
            // same, so that its end is known as exactly as its beginning.
            let compares = self.waker.is_some() && Mono::now().since(self.said) >= EVERY;
            self.standing.seq += u64::from(compares);
            if self.standing.seq != before {
                self.stand();
            }
        }
    }

    fn act(&mut self, act: Act) -> io::Result<()> {
        match act {
            Act::Kill => {
                // Its keeper must run to end its command.
                let woken = signal_families(&[self.holder.pid], Signal::CONT);
                self.holder.signal(&[Signal::KILL])?;
                self.waker = None;
                woken?;
            }
            Act::Leave => self.holder.signal(&[Signal::TERM])?,
            Act::Stop => {
                self.waker = Some(Waker::start(self.holder)?);
                let asked = Mono::now();
                self.holder.signal(&[Signal::STOP])?;
                if let Err(error) = signal_families(&[self.holder.pid], Signal::STOP) {
                    // A member whose command may run on is not stopped.
                    wake(self.holder)?;
                    self.waker = None;
                    return Err(error);
                }
                self.reaches(false);
                self.standing.stop([asked, Mono::now()]);
                self.stand();
            }
            Act::Continue => {
                let asked = Mono::now();
                wake(self.holder)?;
                self.reaches(true);
                self.standing.wake([asked, Mono::now()]);
                self.stand();
                self.waker = None;
            }
            Act::Cut => {
                let cut = self.ask(Ask::Cut)?;
                self.standing.cut(cut);
                self.stand();
            }
            Act::Mend => {
                let mended = self.ask(Ask::Mend)?;
                self.standing.mend(mended);
                self.stand();
            }
        }
        Ok(())
    }

    fn ask(&mut self, ask: Ask) -> io::Result<Mono> {
        let mut link = self.link.take().ok_or(io::ErrorKind::NotConnected)?;
        // Where the member has not answered, its end of the socket is closed: it mends itself then.
        let since = link.ask(ask)?;
        self.link = Some(link);
        Ok(since)
    }

    /// Says what became of all orders.
    fn stand(&mut self) {
        self.said = Mono::now();
        self.outbox.stand(&self.standing);
    }

    /// Waits until the process runs, or is stopped, or gone.
    fn reaches(&self, runs: bool) {
        let began = Mono::now();
        while self.holder.lives() && self.holder.runs() != runs && Mono::now().since(began) < EFFECT
        {
            std::thread::sleep(ASK);
        }
    }
}

fn wake(holder: Identity) -> io::Result<()> {
    let woken = holder.signal(&[Signal::CONT]);
    signal_families(&[holder.pid], Signal::CONT).and(woken)
}

/// A process that continues a member when this one is gone. Dropped, it does so at once.
struct Waker(Child);

impl Waker {
    fn start(holder: Identity) -> io::Result<Self> {
        let mut command = tandem(own_program());
        let command = command.args(["witness", "--wake"]).stdin(Stdio::piped());
        let mut child =
            command.stdout(Stdio::null()).stderr(Stdio::null()).process_group(0).spawn()?;
        let mut line = serde_json::to_vec(&holder)?;
        line.push(b'\n');
        let input = child.stdin.as_mut();
        input.map_or(Err(io::ErrorKind::BrokenPipe.into()), |input| input.write_all(&line))?;
        Ok(Self(child))
    }
}

impl Drop for Waker {
    fn drop(&mut self) {
        drop(self.0.stdin.take());
        // It ends at once.
        self.0.wait().ok();
    }
}

/// Continues the process that the first line of standard input names, when standard input ends.
///
/// # Errors
/// The line cannot be read, or the process cannot be signalled.
pub fn wake_in_the_end() -> io::Result<()> {
    outlive_signals()?;
    let mut input = BufReader::new(io::stdin().lock());
    let mut line = String::new();
    input.read_line(&mut line)?;
    let holder: Identity = serde_json::from_str(&line)?;
    io::copy(&mut input, &mut io::sink())?;
    wake(holder)
}
