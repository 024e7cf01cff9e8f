//! Drives the core with Kafka: one thread owns the protocol and both clients.

mod clock;
mod company;
mod leaving;
mod outputs;

use std::collections::BTreeMap;
use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, TryRecvError};
use std::time::Duration;

use tandem_facts::ids::{ConsumerGroup, Life, PartitionId};
use tandem_facts::observation::Mode;
use tandem_facts::time::{Mono, Skew, Wall, WallClock};
use tandem_neli::membership::Proof;
use tandem_neli::mesh::{Inquest, Order, Process};
use tandem_neli::{Author, Heard, Identity, Membership, Neli, Pulse, Statement};

use company::Company;

use crate::clients::{Clients, consumer_settings};
use crate::contact::{Contact, Counters};
use crate::kafka::{Bell, Consumer, Delivered, GroupProtocol, MembershipClient, Named, Producer};
use crate::leaders::Leaders;
use crate::lives::{Command, Health, Outcome};
use crate::mesh::Mesh;
use crate::own_group::OwnGroup;
use crate::{Claims, Config, Event, JoinError};

/// The partition on which members state what they hold and lead.
const DIRECT: PartitionId = PartitionId(0);
/// The interval at which the member reports all its claims while there are any.
const RENEWAL: Duration = Duration::from_millis(100);

/// An input of the member's loop.
pub(crate) enum Input {
    /// That of the next message.
    Offset(PartitionId, i64),
    /// With the broker's stamp.
    Heard(Heard, Option<Wall>),
    /// Its author, if it is not like this member.
    Author(Author, Named),
    /// With the address of its author's service, if it came with one.
    Stated(Statement, Option<String>),
    Order(Order),
    Inquest(Inquest),
    Group(Membership),
    /// Those of a generation.
    Fences(i32, BTreeMap<PartitionId, i64>),
    Proof(Option<Mono>),
    Quiet,
    Pulse,
    Clock(Skew),
}

/// The receiver of events.
pub(crate) type OnEvent = Box<dyn FnMut(Mono, Event) + Send>;

/// A member whose clients have started.
pub(crate) struct Driver {
    state: State,
    clients: Clients,
}

struct State {
    core: Neli,
    mesh: Option<Mesh>,
    claims: Arc<Claims>,
    health: Arc<Health>,
    leaders: Arc<Leaders>,
    group: ConsumerGroup,
    advertise: Option<String>,
    on_event: OnEvent,
    producer: Producer,
    /// The life that marks its beacons, in a mode that needs marks.
    mark: Option<Life>,
    /// The clock that stamps beacons. Only the paper's exclusive mode lets claims depend on it.
    clock: WallClock,
    company: Company,
    hold: Duration,
    /// The fences, and the generation to which they belong.
    fences: BTreeMap<PartitionId, i64>,
    fenced: Option<i32>,
    /// Whether the ledger was set back, and the group does not know it yet.
    set_back: bool,
    renewed: Mono,
    contact: Contact,
    /// Whether it publishes on all partitions by the clock, be it rarely.
    publishes_all: bool,
    /// When the group membership last learned of deliveries.
    passed_on: Mono,
    /// When the member began.
    began: Mono,
    /// The number of messages received.
    heard: u64,
}

/// Whether the member hands over: only then do the others know of each other's generations.
pub(crate) fn hands_over(config: &Config) -> bool {
    let knows = config.membership == MembershipClient::Own;
    config.handover && knows && config.mode == Mode::NonExclusive
}

/// The mesh of a member that has one.
fn mesh(
    config: &Config,
    process: u64,
    consumer: &mut Consumer,
    claims: &Arc<Claims>,
) -> std::io::Result<Option<Mesh>> {
    let Some(settings) = config.mesh.as_ref().filter(|_| hands_over(config)) else {
        return Ok(None);
    };
    let bell = Arc::new(Bell::default());
    consumer.wake_by(&bell);
    let life = Process { life: config.life.clone(), number: process };
    let me = (config.topic.clone(), config.consumer_group.clone(), life);
    Mesh::start(settings, me, bell, Arc::clone(claims)).map(Some)
}

impl Driver {
    /// Starts the clients.
    ///
    /// # Errors
    /// The client refuses its configuration, or the system what the mesh needs.
    pub(crate) fn new(
        config: &Config,
        claims: Arc<Claims>,
        health: Arc<Health>,
        leaders: Arc<Leaders>,
        on_event: OnEvent,
    ) -> Result<Self, JoinError> {
        let stale = config.threshold / 3;
        let client_id = config.life.to_string();
        let ledger = (&config.topic, config.width);
        let producer = Producer::new(&config.cluster, &client_id, ledger, stale)?;
        let producer = producer.naming(config.named.clone());
        let settings = consumer_settings(config, hands_over(config).then_some(DIRECT));
        let (mut consumer, own) = match config.membership {
            MembershipClient::Library => (Consumer::subscribe(&config.cluster, &settings)?, None),
            MembershipClient::Own => {
                let own = OwnGroup::new(Mono::now(), config)?;
                (Consumer::apart(&config.cluster, &settings)?, Some(own))
            }
        };
        // Random without a package: each hasher begins elsewhere.
        let process = RandomState::new().hash_one(&config.life);
        let mesh = mesh(config, process, &mut consumer, &claims).map_err(JoinError::Mesh)?;
        let protocol = tandem_neli::Config {
            width: config.width,
            threshold: config.threshold,
            hold: config.hold,
            beacon: config.beacon,
            mode: config.mode,
            pulse: config.pulse,
        };
        let now = Mono::now();
        let core = Neli::new(now, protocol).with_grace(config.grace);
        let core = match config.protocol {
            GroupProtocol::Classic => core,
            GroupProtocol::Consumer => core.taking_one_by_one(),
        };
        let (group, life) = (config.consumer_group.clone(), config.life.clone());
        let address = mesh.as_ref().map(Mesh::address);
        let me = Identity { group, life, process, address };
        let core = if hands_over(config) { core.handing_over(me, DIRECT) } else { core };
        let core = core.publishing(config.publishers);
        let suspects = config.mesh.as_ref().is_some_and(|mesh| mesh.suspect.is_some());
        let member = State {
            core: if suspects { core.stating_each_round() } else { core },
            mesh,
            claims,
            health,
            leaders,
            group: config.consumer_group.clone(),
            advertise: config.advertise.clone(),
            on_event,
            producer,
            mark: (config.mode == Mode::Fast).then(|| config.life.clone()),
            clock: WallClock::TRUE,
            company: Company::new(now, config),
            hold: config.hold,
            fences: BTreeMap::new(),
            fenced: None,
            set_back: false,
            renewed: Mono::ZERO,
            contact: Contact::new(now, config.beacon),
            publishes_all: config.mode != Mode::Fast && config.pulse == Pulse::Clock,
            passed_on: Mono::ZERO,
            began: now,
            heard: 0,
        };
        Ok(Self { state: member, clients: Clients { consumer, own, wake: config.wake } })
    }

    /// Runs until a command to leave arrives, or the program is ill. The caller drops the returned
    /// producer.
    pub(crate) fn live(mut self, commands: &Receiver<Command>) -> (Outcome, Producer) {
        let outcome = self.state.live(self.clients, commands);
        (outcome, self.state.producer)
    }
}

impl State {
    fn live(&mut self, mut clients: Clients, commands: &Receiver<Command>) -> Outcome {
        clients.begin();
        while !self.health.has_halted() {
            let inputs = match commands.try_recv() {
                // Or the program dropped the member.
                Ok(Command::Leave) | Err(TryRecvError::Disconnected) => {
                    self.leave(clients);
                    return Outcome::Left;
                }
                Ok(Command::Pulse) => vec![Input::Pulse],
                Ok(Command::Clock(skew)) => vec![Input::Clock(skew)],
                Err(TryRecvError::Empty) if !self.health.is_well() => {
                    self.leave(clients);
                    return Outcome::Ill;
                }
                Err(TryRecvError::Empty) => self.next(&mut clients),
            };
            if let Some(misfit) = self.company.refused(Mono::now(), &inputs) {
                tracing::error!(%misfit, "The member leaves a group with which it does not work.");
                self.report(Mono::now(), Event::Refused(misfit));
                self.leave(clients);
                return Outcome::Refused;
            }
            let regroups = inputs.iter().any(|input| matches!(input, Input::Group(_)));
            self.take(inputs);
            if std::mem::take(&mut self.set_back) {
                clients.set_back();
                clients.curtailed(Mono::now());
            }
            if regroups {
                clients.curtailed(Mono::now());
            }
            self.pass_on_deliveries(&mut clients);
            self.look_at_contact(&clients);
        }
        Outcome::Halted
    }

    /// Hands the inputs to the core, and carries out what it says after each.
    fn take(&mut self, inputs: Vec<Input>) {
        for input in inputs {
            let now = Mono::now();
            self.look_at_clock(now);
            match input {
                Input::Offset(partition, offset) => self.look_at_offset(now, partition, offset),
                // Not one of another ledger than that of its claims.
                Input::Heard(..) if self.set_back => {}
                Input::Heard(heard, stamp) => {
                    self.heard += 1;
                    match stamp {
                        Some(stamp) => self.core.handle_stamped(now, heard, stamp),
                        None => self.core.handle_heard(now, heard),
                    }
                }
                Input::Stated(statement, service) => {
                    if statement.group == self.group {
                        self.leaders.state(now, &statement, service.as_deref());
                    }
                    self.core.handle_statement(now, &statement);
                }
                Input::Author(..) => {}
                Input::Order(order) => self.core.handle_order(now, &order),
                Input::Inquest(inquest) => self.core.handle_inquest(now, inquest),
                Input::Group(change) => self.regroup(now, &change),
                Input::Fences(generation, fences) => {
                    (self.fenced, self.fences) = (Some(generation), fences);
                }
                Input::Proof(since) => self.core.handle_proof(now, since),
                Input::Pulse => self.core.handle_pulse(now),
                Input::Clock(skew) => {
                    self.clock = WallClock::shifted(skew, now);
                    self.report_clock(now);
                }
                Input::Quiet => self.core.handle_timeout(now),
            }
            self.drain(now);
        }
    }

    /// The group membership learns which partitions the beacons reach, a few times a threshold.
    fn pass_on_deliveries(&mut self, clients: &mut Clients) {
        let now = Mono::now();
        if self.publishes_all && now.since(self.passed_on) >= clients.wake {
            self.passed_on = now;
            clients.delivered(self.began, self.producer.last_delivered());
        }
    }

    /// Reports when the brokers become unreachable, and when they are reachable again.
    fn look_at_contact(&mut self, clients: &Clients) {
        let ((heard, first), (sent, second)) = (clients.consumer.errors(), self.producer.errors());
        let (refusals, refused) = clients.own.as_ref().map(OwnGroup::errors).unwrap_or_default();
        let counters = Counters {
            passed: self.heard + self.producer.delivered(),
            errors: heard + sent + refusals,
            // Why this member is refused says more than that a connection is gone.
            why: refused.or(first).or(second),
        };
        let now = Mono::now();
        self.contact.expect(self.core.publishes_each(now));
        if let Some(event) = self.contact.look(now, counters) {
            self.report(now, event);
        }
    }

    /// The inputs of one wake period, in order.
    fn next(&self, clients: &mut Clients) -> Vec<Input> {
        let now = Mono::now();
        let due = self.core.poll_timeout().map(|due| due.since(now));
        let heard = clients.heard(now, due.unwrap_or(clients.wake));
        // Before the group is served again: it may be due to be joined.
        if self.health.has_halted() {
            return Vec::new();
        }
        let mut inputs: Vec<Input> = clients.changes().into_iter().map(Input::Group).collect();
        if self.core.mode().is_exclusive() {
            inputs.extend(self.proof(clients));
        }
        match heard {
            Ok(Some(Delivered { heard, offset, stamp, author, named, statement, service })) => {
                inputs.extend(self.company.met(author, named));
                inputs.push(Input::Offset(heard.partition, offset));
                inputs.push(Input::Heard(heard, stamp));
                if let (Some(mesh), Some(statement)) = (&self.mesh, &statement) {
                    mesh.ledger(statement.clone());
                }
                inputs.extend(statement.map(|statement| Input::Stated(statement, service)));
            }
            Ok(None) => inputs.push(Input::Quiet),
            Err(error) => {
                let error = tandem_host::error::chain(&error);
                tracing::warn!(error, "The ledger could not be read.");
                inputs.push(Input::Quiet);
            }
        }
        if let Some(mesh) = &self.mesh {
            let news = mesh.news();
            inputs.extend(news.stated.into_iter().map(|it| Input::Stated(it, None)));
            inputs.extend(news.orders.into_values().map(Input::Order));
            inputs.extend(news.inquest.map(Input::Inquest));
        }
        inputs
    }

    /// The last proof, after the fences of its generation where they are new.
    fn proof(&self, clients: &Clients) -> Vec<Input> {
        let proof = clients.proof();
        let since = Input::Proof(proof.map(|proof| proof.since));
        match proof.filter(|proof| Some(proof.generation) != self.fenced) {
            Some(Proof { generation, .. }) => {
                vec![Input::Fences(generation, clients.fences()), since]
            }
            None => vec![since],
        }
    }

    /// All claims end if the ledger was set back.
    fn look_at_offset(&mut self, now: Mono, partition: PartitionId, offset: i64) {
        if self.core.handle_offset(now, partition, offset) {
            tracing::warn!(
                %partition,
                offset,
                "The ledger was set back: a message is below one that was there before. All claims \
                 of the member end."
            );
            self.set_back = true;
        }
    }

    fn regroup(&mut self, now: Mono, change: &Membership) {
        let event = match change.clone() {
            Membership::Assigned(assignment) => Event::Assigned(assignment),
            Membership::Revoked(partitions) => Event::Revoked(partitions),
            Membership::Lost(partitions) => Event::Lost(partitions),
        };
        self.report(now, event);
        // A group that brokers have lost begins to count generations anew, and may come to the
        // number of the fences that this member has.
        self.fenced = None;
        self.core.handle_membership(now, change);
    }

    fn report(&mut self, now: Mono, event: Event) {
        (self.on_event)(now, event);
    }
}
