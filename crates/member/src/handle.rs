//! The handle of a member, for the program that embeds it.

use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::Builder;
use std::time::Duration;

use tandem_facts::ids::{NameError, RoleIndex, TopicName};
use tandem_facts::keys::Slots;
use tandem_facts::roles::Roles;
use tandem_facts::time::{Mono, Skew};
use tandem_neli::Misfit;
use tokio::sync::broadcast::Sender;

use crate::driver::{OnEvent, hands_over};
use crate::events::BEHIND_MAX;
use crate::kafka::{KafkaError, spoken};
use crate::lead::{self, Promise};
use crate::leaders::Leaders;
use crate::lives::{Command, Health, Lives};
use crate::{Claim, Claims, Config, Deposed, Event, Events, Lead, Leader, Placed};

/// The capacity of the command queue; further commands are dropped.
const COMMANDS_MAX: usize = 16;
/// The longest time that leaving takes, since closing the client can hang; in addition to what a
/// promise or the hand-over takes.
const LEAVE_MAX: Duration = Duration::from_secs(3);
/// The longest wait for a member that stops without leaving; its thread looks each wake period.
const HALT_MAX: Duration = Duration::from_secs(1);

/// One member that has joined or is joining. Dropping the handle makes it leave in the background.
#[derive(Debug)]
pub struct Member {
    claims: Arc<Claims>,
    promise: Promise,
    /// How long it may lead on when it leaves.
    leads_on: Duration,
    roles: Roles,
    slots: Option<Slots>,
    health: Arc<Health>,
    leaders: Arc<Leaders>,
    events: Sender<(Mono, Event)>,
    commands: SyncSender<Command>,
    gone: Mutex<Receiver<()>>,
}

/// Why a member could not join.
#[derive(Debug, thiserror::Error)]
pub enum JoinError {
    /// The client refuses its configuration; another attempt with the same configuration fails,
    /// too.
    #[error("the member cannot start its Kafka client")]
    Kafka(#[from] KafkaError),
    /// The mesh cannot listen; another attempt may succeed.
    #[error("the member cannot listen for the other members of its group")]
    Mesh(#[source] std::io::Error),
    /// The system refuses a thread; another attempt may succeed.
    #[error("the member cannot start its thread")]
    Thread(#[source] std::io::Error),
    /// A name is not legal.
    #[error(transparent)]
    Name(#[from] NameError),
    /// The ledger does not exist, and was not to be created.
    #[error("topic {topic} does not exist on {cluster}: create it, or call `create_ledger`")]
    NoLedger {
        /// The ledger.
        topic: TopicName,
        /// The cluster's address.
        cluster: String,
    },
    /// The members on the topic are of a version with which this one does not work, or of another
    /// group.
    #[error(transparent)]
    Misfit(#[from] Misfit),
    /// The settings contradict each other.
    #[error("{0}")]
    Settings(&'static str),
}

/// Passes the events of all lives of a member on.
#[derive(Clone)]
pub(crate) struct Reporter {
    events: Sender<(Mono, Event)>,
    on_event: Arc<Mutex<OnEvent>>,
}

impl Reporter {
    /// For one driver.
    pub(crate) fn on_event(&self) -> OnEvent {
        let Self { events, on_event } = self.clone();
        Box::new(move |now, event: Event| {
            if events.receiver_count() > 0 {
                // Without a receiver the event is dropped.
                events.send((now, event.clone())).ok();
            }
            let mut on_event = on_event.lock().unwrap_or_else(PoisonError::into_inner);
            on_event(now, event);
        })
    }
}

impl Member {
    /// Joins the group on a new thread and returns at once, before the group answers. That thread
    /// passes each event with its instant to `on_event`, and waits for it, so `on_event` must not
    /// block.
    ///
    /// # Errors
    /// The client refuses its configuration, or the system a thread.
    pub fn join(
        config: &Config,
        on_event: impl FnMut(Mono, Event) + Send + 'static,
    ) -> Result<Self, JoinError> {
        Self::join_with(Arc::new(Claims::new(config.width)), config, on_event)
    }

    /// Joins as [`join`](Self::join) does, and publishes its claims to `claims`.
    ///
    /// # Errors
    /// As [`join`](Self::join).
    pub fn join_with(
        claims: Arc<Claims>,
        config: &Config,
        on_event: impl FnMut(Mono, Event) + Send + 'static,
    ) -> Result<Self, JoinError> {
        let (commands, received) = sync_channel(COMMANDS_MAX);
        let (done, gone) = sync_channel(1);
        let events = Sender::new(BEHIND_MAX);
        let health = Arc::new(Health::new());
        let leaders = Arc::new(Leaders::new(config.threshold));
        let on_event: OnEvent = Box::new(on_event);
        let lives = Lives {
            config: config.clone(),
            claims: Arc::clone(&claims),
            health: Arc::clone(&health),
            leaders: Arc::clone(&leaders),
            reporter: Reporter { events: events.clone(), on_event: Arc::new(Mutex::new(on_event)) },
        };
        let driver = lives.driver()?;
        let _ends_with_its_command = Builder::new()
            .name("member".to_owned())
            .spawn(move || {
                let rest = lives.live(driver, &received);
                // The receiver is gone if leaving took too long.
                done.send(()).ok();
                // Last, because destroying a client can hang.
                drop(rest);
            })
            .map_err(JoinError::Thread)?;
        let promise = Promise::of(config);
        let leads_on = if hands_over(config) { config.threshold } else { Duration::ZERO };
        let (roles, gone) = (Roles::Named(Vec::new()), Mutex::new(gone));
        Ok(Self {
            claims,
            promise,
            leads_on,
            roles,
            slots: None,
            health,
            leaders,
            events,
            commands,
            gone,
        })
    }

    /// Asks the ledger whether the members that are there work with one of this configuration.
    /// Takes at most 2 s.
    ///
    /// # Errors
    /// They do not, or the client refuses its configuration.
    pub fn fits(config: &Config) -> Result<(), JoinError> {
        let ours = (config.versions, config.named.group.as_deref());
        let others = spoken(&config.cluster, &config.topic, config.threshold)?;
        let theirs =
            |(versions, of): &(_, Option<String>)| Misfit::of(ours, (*versions, of.as_deref()));
        others.iter().find_map(theirs).map_or(Ok(()), |misfit| Err(misfit.into()))
    }

    /// A member of the consumer group `group` on the cluster with these bootstrap addresses
    /// (`host:port`, separated by commas).
    pub fn builder(bootstrap: impl Into<String>, group: impl Into<String>) -> crate::Builder {
        crate::Builder::new(bootstrap.into(), group.into())
    }

    /// The same member, which knows these roles by name.
    pub(crate) fn with_roles(self, roles: Roles) -> Self {
        let mut member = self;
        member.roles = roles;
        member
    }

    /// The same member, which knows which role each key belongs to.
    #[must_use]
    pub fn with_slots(self, slots: Option<Slots>) -> Self {
        let mut member = self;
        member.slots = slots;
        member
    }

    /// The role of a key, as given by [`Builder::slots`](crate::Builder::slots); none without
    /// slots. Of a member without named roles, each slot is a role.
    #[must_use]
    pub fn role_of(&self, key: impl AsRef<[u8]>) -> Option<RoleIndex> {
        let slots = self.slots?;
        let roles = if self.roles.is_empty() { slots.count } else { self.roles.len() };
        Some(slots.role_of_slot(slots.slot_of(key.as_ref()), roles))
    }

    /// Whether the member leads the role of a key now, as [`leads`](Self::leads); never without
    /// slots.
    #[must_use]
    pub fn leads_key(&self, key: impl AsRef<[u8]>) -> bool {
        self.role_of(key).is_some_and(|role| self.leads(role))
    }

    /// The role with this name, as given to [`Builder::roles`](crate::Builder::roles).
    #[must_use]
    pub fn role(&self, name: &str) -> Option<RoleIndex> {
        name.parse().ok().and_then(|name| self.roles.find(&name))
    }

    /// Whether the member leads a role, or a partition, now. It compares the end of the claim with
    /// the clock, and takes no lock.
    ///
    /// It leads "partition `i` at `t` iff `V[i] > t - T`", and role `j` is on partition
    /// `j mod |M|`. The answer is true of the instant of the call. Work that takes time asks
    /// [`claim`](Self::claim) for how long.
    #[must_use]
    pub fn leads(&self, what: impl Placed) -> bool {
        lead::leads(&self.claims, what.partition(self.claims.width()))
    }

    /// The claim on a role or a partition, if the member leads it now; lock-free.
    ///
    /// In the exclusive mode [`Claim::until`] is a promise: no other member leads before it. It is
    /// never further away than [`Config::hold`]; without a hold there is no promise, and so none
    /// here. In the other modes the claim may end sooner, and another member may lead at the same
    /// time for up to the threshold.
    #[must_use]
    pub fn claim(&self, what: impl Placed) -> Option<Claim> {
        lead::claim(&self.claims, what.partition(self.claims.width()), self.promise)
    }

    /// The member that leads a role or a partition, and where it offers its service
    /// ([`Config::advertise`]): this one or another, by what it stated last on the ledger. None
    /// where none has stated that within the threshold, and where members state nothing: in the
    /// exclusive and the fast mode, and without [`Config::handover`].
    ///
    /// It is a hint for where to send requests. A member that it names may lead no more, so that
    /// one has to ask [`leads`](Self::leads) itself.
    #[must_use]
    pub fn leader_of(&self, what: impl Placed) -> Option<Leader> {
        self.leaders.of(Mono::now(), what.partition(self.claims.width()))
    }

    /// The leadership of one role or partition, for the code that does its work.
    #[must_use]
    pub fn lead(&self, what: impl Placed) -> Lead {
        let partition = what.partition(self.claims.width());
        Lead::new(Arc::clone(&self.claims), partition, self.promise)
    }

    /// Waits until the member leads a role or a partition, and does `work` while it does. The work
    /// is dropped when only `stop` of the claim is left, so it must stop within that time: a future
    /// stops at its next `await`. In the exclusive mode `stop` must be less than [`Config::hold`].
    ///
    /// Needs a tokio runtime with timers.
    ///
    /// ```
    /// # use std::num::NonZeroU32;
    /// # use std::time::Duration;
    /// # use tandem_broker::broker::{Broker, BrokerSettings};
    /// # use tandem_facts::ids::RoleIndex;
    /// # use tandem_facts::time::Mono;
    /// # use tandem_member::{Deposed, Member};
    /// # #[tokio::main]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let broker = Broker::bind("127.0.0.1:0".parse()?, BrokerSettings::default()).await?;
    /// # let bootstrap = broker.address().to_string();
    /// # let mut serving = tokio::task::JoinSet::new();
    /// # serving.spawn(broker.serve(tokio_util::sync::CancellationToken::new()));
    /// # let builder = Member::builder(bootstrap, "jobs").create_ledger(NonZeroU32::MIN);
    /// let member = builder.exclusive(Duration::from_millis(300)).join()?;
    /// let stop = Duration::from_millis(100);
    /// let ended = member.while_leading(RoleIndex(0), stop, async |lead| {
    ///     while let Some(claim) = lead.claim() {
    ///         let left = claim.remaining(Mono::now());
    ///         assert!(left <= Duration::from_millis(300), "a promise is no longer than the hold");
    ///         // As if the program became ill at its work: the member lets the role go.
    ///         member.health(false);
    ///         tokio::time::sleep(Duration::from_millis(5)).await;
    ///     }
    /// });
    /// assert_eq!(ended.await, Err(Deposed), "the work is dropped while the claim still lasts");
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// The claim was about to end before the work was done.
    pub async fn while_leading<T>(
        &self,
        what: impl Placed,
        stop: Duration,
        work: impl AsyncFnOnce(Lead) -> T,
    ) -> Result<T, Deposed> {
        let lead = self.lead(what);
        lead.begins().await;
        lead.during(stop, work(lead.clone())).await
    }

    /// The events from now on. A receiver that falls behind by more than 256 loses the oldest, and
    /// learns how many.
    #[must_use]
    pub fn events(&self) -> Events {
        Events::new(self.events.subscribe())
    }

    /// Says whether the program can do the work of a leader; at first it is taken to be well. A
    /// member whose program is ill leaves its group within the wake period ([`Config::wake`]), so
    /// that others take over at once, and joins again when it is well, as its next incarnation. One
    /// that hands over leads until another does, if it has heard of another: there is no gap then.
    /// Does not block; the latest word counts.
    pub fn health(&self, well: bool) {
        self.health.set(well);
    }

    /// Whether the program was well when it last said so.
    #[must_use]
    pub fn is_well(&self) -> bool {
        self.health.is_well()
    }

    /// The member's claims, for other threads of the program.
    #[must_use]
    pub fn claims(&self) -> Arc<Claims> {
        Arc::clone(&self.claims)
    }

    /// Says that the program is well. With [`Pulse::Program`](tandem_neli::Pulse::Program) in the
    /// fast mode a member whose program stops saying so loses its claim after `Q`. Call it at least
    /// each `Q / 3`; it does not block.
    pub fn pulse(&self) {
        // A full queue holds a pulse already.
        self.commands.try_send(Command::Pulse).ok();
    }

    /// Shifts the wall clock that stamps the member's beacons, for experiments. Claims depend on
    /// monotonic time alone.
    pub fn shift_clock(&self, skew: Skew) {
        self.commands.try_send(Command::Clock(skew)).ok();
    }

    /// Leaves the group, so that its partitions move at once, and waits for at most 3 s until it
    /// has left, in the exclusive mode for a hold more. A member that hands over leads until others
    /// do, and waits for that as well: for a rebalance, and at most for [`Config::threshold`], when
    /// its claims lapse. Another one leads until the group has released it, for at most 300 ms.
    /// Then every claim has ended. Blocks: in an async function, drop the member instead, or leave
    /// on a thread that may block.
    pub fn leave(self) {
        self.depart();
    }

    /// Leaves as [`leave`](Self::leave) does. The handle stays, and answers that nothing is led.
    pub fn depart(&self) {
        self.commands.try_send(Command::Leave).ok();
        let within = LEAVE_MAX + self.promise.hold() + self.leads_on;
        let gone = self.gone.lock().unwrap_or_else(PoisonError::into_inner);
        gone.recv_timeout(within).ok();
    }

    /// Takes no further part in the group, and does not leave it, as if the process were killed: a
    /// successor leads a session later at the earliest. For a program whose work does not end with
    /// its claim. Waits at most 1 s until the member has stopped. With a group membership of
    /// librdkafka ([`MembershipClient::Library`](crate::kafka::MembershipClient::Library)) the
    /// member leaves all the same.
    pub fn halt(&self) {
        self.health.halt();
        let gone = self.gone.lock().unwrap_or_else(PoisonError::into_inner);
        gone.recv_timeout(HALT_MAX).ok();
    }
}

impl Drop for Member {
    fn drop(&mut self) {
        // A member that has already left takes no commands.
        self.commands.try_send(Command::Leave).ok();
    }
}
