//! The fast mode as a program meets it: a member of the library that its program pulses, and one
//! that shares its group with a contender of another language.

use std::io::{BufRead, BufReader};
use std::num::NonZeroU32;
use std::process::Stdio;
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

use support::foreign::confluent::script;
use support::foreign::{Background, Broker, eventually};
use support::quiet::undisturbed;
use support::stalls::Watch;
use tandem::ids::{Life, PartitionId};
use tandem::kafka::{Admin, Cluster, TopicSettings};
use tandem::time::{Mono, Span};
use tandem_member::{Config, Event, Member, Mode, Pulse};

const SESSION: Duration = Duration::from_secs(2);
/// `Q`, half a session.
const FENCE: Duration = Duration::from_secs(1);
const TOPIC: &str = "ledger";
const GROUP: &str = "scheduler";
const ROUNDS: usize = 4;

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
fn ledger() -> Broker {
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
type Led = Arc<Mutex<Vec<(Mono, Option<Mono>)>>>;

fn began(led: &Led, at: Mono) {
    led.lock().unwrap().push((at, None));
}

fn ended(led: &Led, at: Mono) {
    if let Some((_, end @ None)) = led.lock().unwrap().last_mut() {
        *end = Some(at);
    }
}

fn leads(led: &Led) -> bool {
    led.lock().unwrap().last().is_some_and(|(_, end)| end.is_none())
}

fn member(name: &str, broker: &Broker, pulse: Pulse) -> (Member, Led) {
    let led = Led::default();
    let noted = Arc::clone(&led);
    let member = Member::join(&config(name, broker, pulse), move |_, event| match event {
        Event::Claimed { from, .. } => began(&noted, from),
        Event::Lapsed { at, .. } => ended(&noted, at),
        _ => {}
    });
    (member.unwrap(), led)
}

/// What a member did whose program was well for two terms of the fence, and then stopped its pulse.
#[derive(Debug)]
struct Pulsed {
    /// Until the program was well no more. One, if the fence ended none of them meanwhile.
    claims: usize,
    /// From the last pulse to the end of the claim.
    took: Duration,
    /// For so long the host kept the member from running, at a time and all in all.
    stalled: [Duration; 2],
}

fn pulsed(broker: &Broker, name: &str) -> Pulsed {
    let watch = Watch::begin();
    // A beacon that waits there is heard late, and the fence ends late.
    watch.add(broker.pid());
    let (member, led) = member(name, broker, Pulse::Program);
    let leads_now = || member.leads(PartitionId(0));
    let well = || {
        member.pulse();
        leads_now().then_some(())
    };
    eventually("the first claim", well);
    let first = Mono::now();
    let mut last = first;
    while last < first + 2 * FENCE {
        last = Mono::now();
        member.pulse();
        std::thread::sleep(Duration::from_millis(50));
    }
    let claims = led.lock().unwrap().len();
    eventually("the fence", || (!leads_now()).then_some(()));
    eventually("the end of the claim", || (!leads(&led)).then_some(()));
    let fenced = led.lock().unwrap().last().unwrap().1.unwrap();
    let now = Mono::now();
    let stalled = [watch.longest(first, now), watch.total(first, now)];
    eventually("the next claim", well);
    member.leave();
    Pulsed { claims, took: fenced.since(last), stalled }
}

#[test]
fn a_program_that_stops_its_pulse_loses_its_claim_and_leads_again_when_it_is_well() {
    let broker = ledger();
    let mut lives = 0;
    let play = || {
        lives += 1;
        pulsed(&broker, &format!("jobs-1.{lives}"))
    };
    // A host that keeps it from its pulses and beacons for long ends the claim itself.
    let is_disturbed = |of: &Pulsed| of.stalled[0] > FENCE / 4;
    let Some(of) = undisturbed(play, is_disturbed, |of| format!("{of:?}")) else { return };
    assert_eq!(of.claims, 1, "well for two terms of the fence, it leads on: {of:?}");
    // The last pulse lets one more beacon go, up to 100 ms after it.
    let least = FENCE.saturating_sub(of.stalled[1]);
    let most = FENCE + Duration::from_millis(200) + of.stalled[1];
    assert!((least..=most).contains(&of.took), "{of:?}");
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

/// A contender that speaks as the Go library does and a member take turns: each is killed, or
/// leaves, while it leads. At no instant do both lead.
#[test]
fn a_contender_of_another_language_shares_a_group_and_two_never_lead() {
    let broker = ledger();
    let mut all: Vec<Led> = Vec::new();
    for round in 1..=ROUNDS {
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
    let mut claims: Vec<(Mono, Mono)> = Vec::new();
    for led in &all {
        let led = led.lock().unwrap();
        assert!(!led.is_empty(), "each of them led: {all:?}");
        claims.extend(led.iter().map(|(from, until)| (*from, until.expect("all have ended"))));
    }
    claims.sort_unstable();
    for pair in claims.windows(2) {
        assert!(pair[0].1 <= pair[1].0, "two lead at once: {pair:?} of {claims:?}");
    }
}
