//! A group in the fast mode: members of the library, and a contender of another language that
//! shares it.

use std::io::{BufRead, BufReader};
use std::num::NonZeroU32;
use std::process::Stdio;
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

use tandem::ids::Life;
use tandem::kafka::{Admin, Cluster, TopicSettings};
use tandem::time::{Mono, Span};
use tandem_member::{Config, Event, Member, Mode, Pulse};

use super::foreign::confluent::script;
use super::foreign::{Background, Broker, eventually};

const SESSION: Duration = Duration::from_secs(2);
/// `Q`, half a session.
pub const FENCE: Duration = Duration::from_secs(1);
const TOPIC: &str = "ledger";
const GROUP: &str = "scheduler";

fn config(name: &str, broker: &Broker, pulse: Pulse) -> Config {
    let life = Life::try_from(name.to_owned()).unwrap();
    let cluster = Cluster { bootstrap: broker.address.clone(), ..Cluster::default() };
    let (topic, group) = (TOPIC.parse().unwrap(), GROUP.parse().unwrap());
    Config {
        session: SESSION,
        threshold: FENCE,
        mode: Mode::Fast,
        pulse,
        ..Config::new(life, cluster, topic, NonZeroU32::MIN, group)
    }
}

/// A broker with a ledger of one partition.
pub fn ledger() -> Broker {
    let broker = Broker::direct();
    let cluster = Cluster { bootstrap: broker.address.clone(), ..Cluster::default() };
    let retention = Span(Duration::from_secs(60));
    let width = NonZeroU32::MIN;
    let settings = TopicSettings { width, replication: None, min_insync_replicas: None, retention };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let made = async { Admin::new(&cluster)?.create(&TOPIC.parse().unwrap(), settings).await };
    runtime.block_on(made).unwrap();
    broker
}

/// The begin and end of each claim; no end while it lasts.
pub type Led = Arc<Mutex<Vec<(Mono, Option<Mono>)>>>;

fn began(led: &Led, at: Mono) {
    led.lock().unwrap().push((at, None));
}

fn ended(led: &Led, at: Mono) {
    if let Some((_, end @ None)) = led.lock().unwrap().last_mut() {
        *end = Some(at);
    }
}

/// Whether a claim lasts.
pub fn leads(led: &Led) -> bool {
    led.lock().unwrap().last().is_some_and(|(_, end)| end.is_none())
}

/// A member of this name and life, and its claims.
pub fn member(name: &str, broker: &Broker, pulse: Pulse) -> (Member, Led) {
    let led = Led::default();
    let noted = Arc::clone(&led);
    let member = Member::join(&config(name, broker, pulse), move |_, event| match event {
        Event::Claimed { from, .. } => began(&noted, from),
        Event::Lapsed { at, .. } => ended(&noted, at),
        _ => {}
    });
    (member.unwrap(), led)
}

/// The contender, and when it led by its own account.
struct Contender {
    process: Background,
    led: Led,
    /// Reads what it says.
    hears: JoinHandle<()>,
}

impl Contender {
    fn start(broker: &Broker) -> Self {
        let mut command = script("contender.py", &broker.address);
        command.args([TOPIC, GROUP]);
        command.args([SESSION, FENCE].map(|span| span.as_millis().to_string()));
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let (out, led) = (child.stdout.take().unwrap(), Led::default());
        let noted = Arc::clone(&led);
        let hears = std::thread::spawn(move || {
            for line in BufReader::new(out).lines().map_while(Result::ok) {
                let (what, at) = line.split_once(' ').unwrap();
                let at = Mono(at.parse().unwrap());
                match what {
                    "acquired" => began(&noted, at),
                    "revoked" | "fenced" => ended(&noted, at),
                    "stands-by" => {}
                    other => panic!("{other}"),
                }
            }
        });
        Self { process: Background(child), led, hears }
    }

    fn leads(&self) -> bool {
        leads(&self.led)
    }

    /// Kills it; when it led. What it said before is heard first: a claim that had ended does not
    /// end with its death.
    fn kill(mut self) -> Led {
        self.process.0.kill().unwrap();
        self.process.0.wait().unwrap();
        let died = Mono::now();
        self.hears.join().unwrap();
        ended(&self.led, died);
        self.led
    }
}

/// In so many rounds a contender that speaks as the Go library does and a member take turns: each
/// is killed, or leaves, while it leads. The claims of each of them, all of which have ended.
pub fn take_turns(rounds: usize) -> Vec<Led> {
    let broker = ledger();
    let mut all: Vec<Led> = Vec::new();
    for round in 1..=rounds {
        let other = Contender::start(&broker);
        eventually("the contender's claim", || other.leads().then_some(()));
        // The group goes through its members by name: one that comes before `contender` takes the
        // partition away when it joins, and one behind it hands it over when the other joins.
        let takes_away = round % 2 == 0;
        let name = if takes_away { "actors" } else { "jobs" };
        let (member, ours) = member(&format!("{name}-1.{round}"), &broker, Pulse::Clock);
        if takes_away {
            eventually("the member's claim", || leads(&ours).then_some(()));
        } else {
            let led_again = || other.led.lock().unwrap().len() > 1 && other.leads();
            eventually("the contender's next claim", || led_again().then_some(()));
        }
        let theirs = other.kill();
        eventually("the member's claim", || leads(&ours).then_some(()));
        let other = Contender::start(&broker);
        if !takes_away {
            eventually("the hand-over", || other.leads().then_some(()));
        }
        member.leave();
        eventually("the contender's claim", || other.leads().then_some(()));
        all.extend([theirs, ours, other.kill()]);
        // The next contender waits for the session of this one.
    }
    all
}
