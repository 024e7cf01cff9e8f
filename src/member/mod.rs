//! One member, one process: the pure core driven by Kafka, its channel to the controller, its duty.
//!
//! Three threads share two things. The *loop* (here) owns the core and the client; the *duty* ticks
//! while the member leads; *orders* come in on standard input. They share the claims, as horizons
//! that are compared with the clock at each read, and the channel on standard output.

mod channel;
mod claims;
mod contact;
mod duty;
mod lateness;
mod orders;
mod settings;

use std::sync::mpsc::{Receiver, TryRecvError};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

pub use channel::Channel;
pub use claims::Claims;
pub use orders::Order;
pub use settings::Settings;

use contact::{Contact, Said};

use crate::kafka::{Consumer, ConsumerSettings, KafkaError, Producer};
use crate::neli::{self, Event, Membership, Neli};
use crate::observation::What;
use crate::time::{Mono, Wall, WallClock};

/// The longest that closing the client may take: it can hang.
const CLOSE: Duration = Duration::from_secs(2);
/// How long a member that leaves leads on at the most. Closing the client takes about 100 ms.
const LEAD_ON: Duration = Duration::from_millis(300);
/// How often all claims are told while there are any.
const RENEWAL: Duration = Duration::from_millis(100);

/// What can happen to a member.
enum Input {
    Heard(crate::kafka::Heard),
    Group(Membership),
    Quiet,
    Order(Order),
}

struct Member {
    core: Neli,
    claims: Arc<Claims>,
    channel: Arc<Mutex<Channel>>,
    producer: Producer,
    /// What its beacons are stamped with. Its claims rest on monotonic time alone.
    clock: WallClock,
    renewed: Mono,
    contact: Contact,
    /// How many messages were heard.
    heard: u64,
}

/// Lives until it is told to go.
///
/// # Errors
/// The client's refusal of its configuration, or a signal handler that cannot be set.
pub fn run(settings: &Settings) -> Result<(), MemberError> {
    let claims = Arc::new(Claims::new(settings.width));
    let channel = Channel::new(std::io::stdout(), settings.life.clone(), Arc::clone(&claims));
    let channel = Arc::new(Mutex::new(channel?));
    let orders = orders::listen()?;
    duty::start(Arc::clone(&claims), Arc::clone(&channel))?;

    let cluster = &settings.cluster;
    let client_id = settings.life.to_string();
    let stale = settings.threshold / 3;
    let producer = Producer::new(cluster, &client_id, &settings.topic, stale)?;
    let consumer = Consumer::subscribe(cluster, &consumer_settings(settings))?;
    let config = neli::Config {
        width: settings.width,
        threshold: settings.threshold,
        beacon: settings.beacon,
    };
    let core = Neli::new(Mono::now(), config);
    let (clock, renewed) = (WallClock::TRUE, Mono::ZERO);
    let (contact, heard) = (Contact::new(Mono::now()), 0);
    let mut member = Member { core, claims, channel, producer, clock, renewed, contact, heard };
    member.live(consumer, &orders, settings.wake);
    // Destroying a client can hang, and the process ends now.
    std::mem::forget(member);
    Ok(())
}

fn consumer_settings(settings: &Settings) -> ConsumerSettings {
    ConsumerSettings {
        topic: settings.topic.clone(),
        group: settings.consumer_group.clone(),
        life: settings.life.clone(),
        session: settings.session,
        heartbeat: settings.heartbeat,
        wake: settings.wake,
        assignor: settings.assignor.clone(),
    }
}

impl Member {
    fn live(&mut self, mut consumer: Consumer, orders: &Receiver<Order>, wake: Duration) {
        loop {
            for input in self.next(&mut consumer, orders, wake) {
                let now = Mono::now();
                match input {
                    Input::Heard(heard) => {
                        self.heard += 1;
                        self.core.handle_heard(now, heard.partition, heard.stamp);
                    }
                    Input::Group(change) => self.regroup(now, &change),
                    Input::Quiet => self.core.handle_timeout(now),
                    Input::Order(Order::Leave) => return self.leave(consumer),
                    // The controller is gone, or wants no farewell: the broker finds out by itself.
                    Input::Order(Order::Exit) => return std::mem::forget(consumer),
                    Input::Order(Order::Clock(skew)) => {
                        self.clock = WallClock::shifted(skew, now);
                        self.tell_clock(now);
                    }
                }
                self.drain(now);
            }
            self.look_at_contact(&consumer);
        }
    }

    /// Tells when brokers are reached no longer, and when they are again.
    fn look_at_contact(&mut self, consumer: &Consumer) {
        let ((heard, first), (sent, second)) = (consumer.complaints(), self.producer.complaints());
        let said = Said {
            passed: self.heard + self.producer.delivered(),
            complaints: heard + sent,
            why: first.or(second),
        };
        let now = Mono::now();
        if let Some(what) = self.contact.look(now, said) {
            self.tell(now, what);
        }
    }

    /// What happened within one wake period, in order.
    fn next(
        &self,
        consumer: &mut Consumer,
        orders: &Receiver<Order>,
        wake: Duration,
    ) -> Vec<Input> {
        match orders.try_recv() {
            Ok(order) => return vec![Input::Order(order)],
            Err(TryRecvError::Disconnected) => return vec![Input::Order(Order::Exit)],
            Err(TryRecvError::Empty) => {}
        }
        let now = Mono::now();
        let wait = self.core.poll_timeout().map_or(wake, |due| due.since(now).min(wake));
        let heard = consumer.heard(now, wait);
        let mut inputs: Vec<Input> = consumer.changes().into_iter().map(Input::Group).collect();
        match heard {
            Ok(Some(heard)) => inputs.push(Input::Heard(heard)),
            Ok(None) => inputs.push(Input::Quiet),
            Err(error) => {
                let error = crate::error::chain(&error);
                tracing::warn!(error, "The ledger could not be read.");
                inputs.push(Input::Quiet);
            }
        }
        inputs
    }

    fn regroup(&mut self, now: Mono, change: &Membership) {
        self.tell(
            now,
            match change.clone() {
                Membership::Assigned(assignment) => What::Assigned {
                    generation: assignment.generation,
                    member_id: assignment.member_id,
                    partitions: assignment.partitions,
                },
                Membership::Revoked(partitions) => What::Revoked { partitions },
                Membership::Lost(partitions) => What::Lost { partitions },
            },
        );
        self.core.handle_membership(now, change);
    }

    /// Carries out what the core wants.
    fn drain(&mut self, now: Mono) {
        while let Some(event) = self.core.poll_event() {
            self.tell(
                now,
                match event {
                    Event::Acquired { claim, from } => What::Claimed {
                        partition: claim.partition,
                        term: claim.term,
                        from,
                        until: claim.until,
                    },
                    Event::Ended { claim, why } => What::Lapsed {
                        partition: claim.partition,
                        term: claim.term,
                        at: claim.until,
                        why,
                    },
                },
            );
        }
        self.claims.publish(self.core.claims());
        while let Some(partition) = self.core.poll_beacon() {
            let stamp = self.clock.read(Mono::now(), Wall::now());
            if !self.producer.publish(partition, stamp) {
                tracing::debug!(%partition, "The producer's queue is full; a beacon is dropped.");
            }
        }
        if now.since(self.renewed) >= RENEWAL {
            self.renewed = now;
            let claims: Vec<_> = self.core.claims().collect();
            if !claims.is_empty() {
                self.tell(now, What::Renewed { claims });
            }
            if !self.clock.is_true() {
                self.tell_clock(now);
            }
        }
    }

    /// Says what its wall clock says, so that anybody can see whether it is right.
    fn tell_clock(&self, now: Mono) {
        let truth = Wall::now();
        // Read right after the truth, so that the two belong together.
        let at = Mono::now().max(now);
        self.tell(at, What::Clock { wall: self.clock.read(at, truth) });
    }

    /// Leaves the group and leads until it has left, for the others learn of it only at their next
    /// heartbeats; then ends every claim and says so. Nobody is waited for: break before make.
    fn leave(&mut self, consumer: Consumer) {
        self.producer.discard();
        let (done, closed) = std::sync::mpsc::channel();
        let closing = std::thread::Builder::new().name("close".to_owned()).spawn(move || {
            consumer.leave();
            // Nobody listens any more when this took too long.
            done.send(()).ok();
        });
        let left = closing.is_ok() && closed.recv_timeout(LEAD_ON).is_ok();
        let now = Mono::now();
        self.core.handle_leave(now);
        self.drain(now);
        self.tell(Mono::now(), What::Leaving);
        let rest = CLOSE.saturating_sub(LEAD_ON);
        if closing.is_ok() && !left && closed.recv_timeout(rest).is_err() {
            tracing::warn!("The client did not close within {CLOSE:?}; the process ends anyway.");
        }
    }

    fn tell(&self, now: Mono, what: What) {
        self.channel.lock().unwrap_or_else(PoisonError::into_inner).tell(now, what);
    }
}

/// Why a member could not live.
#[derive(Debug, thiserror::Error)]
pub enum MemberError {
    /// The client did not start.
    #[error("the member cannot start its Kafka client")]
    Kafka(#[from] KafkaError),
    /// The system refused a thread, a signal handler or the channel.
    #[error("the member cannot be set up")]
    System(#[from] std::io::Error),
}
