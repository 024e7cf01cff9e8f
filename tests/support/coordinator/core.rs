//! The pure coordinator as the subject of a transcript.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use tandem::groups::{Coordinator, CoordinatorSettings, Fault, ReplyBody, Token};
use tandem::time::Mono;

use super::consumer::{TOPICS, topic_id};
use super::{Answer, Request, Subject, consumer, lines, said};

/// The most by which a socket, a scheduler and a busy machine delay a step.
pub const LATE_MS_MAX: u64 = 80;
/// How long an answer is waited for.
const PATIENCE: Duration = Duration::from_millis(200);

pub struct Core {
    coordinator: Coordinator,
    parked: BTreeMap<Token, String>,
    answers: Vec<(String, Answer)>,
    tokens: u64,
    /// Ids that were given out, so that the next gets the next number.
    given: BTreeSet<String>,
    now: Mono,
    /// Chance that makes each step late, as it is in the real world.
    late: Option<ChaCha8Rng>,
}

impl Core {
    pub fn new(settings: CoordinatorSettings) -> Self {
        let mut coordinator = Coordinator::new(settings);
        for (name, width) in TOPICS {
            coordinator.handle_topic(Mono::ZERO, name, topic_id(name), width);
        }
        Self {
            coordinator,
            parked: BTreeMap::new(),
            answers: Vec::new(),
            tokens: 0,
            given: BTreeSet::new(),
            now: Mono::ZERO,
            late: None,
        }
    }

    /// A core whose clients keep time as clients behind sockets do: badly.
    pub fn late(settings: CoordinatorSettings, seed: u64) -> Self {
        Self { late: Some(ChaCha8Rng::seed_from_u64(seed)), ..Self::new(settings) }
    }

    fn park(&mut self, client: &str) -> Token {
        self.tokens += 1;
        let token = Token(self.tokens);
        self.parked.insert(token, client.to_owned());
        token
    }

    fn at_once(&mut self, client: &str, request: Request) {
        let at = self.now;
        let answer = match request {
            Request::Heartbeat(beat) => {
                said::done(client, "heartbeat", code(self.coordinator.handle_heartbeat(at, &beat)))
            }
            Request::Leave(leave) => {
                let outcome = self.coordinator.handle_leave(at, &leave);
                let result = outcome.map(|departed| {
                    departed.into_iter().map(|d| (d.departure, code(d.outcome))).collect::<Vec<_>>()
                });
                said::left(client, result.as_deref().map_err(|fault| fault.code()))
            }
            Request::Commit(commit) => {
                let outcome = self.coordinator.handle_commit(at, &commit);
                let each = match outcome {
                    Ok(each) => each.into_iter().map(code).collect(),
                    Err(fault) => vec![fault.code()],
                };
                said::committed(client, &each)
            }
            Request::Fetch(group, at_partition) => {
                let found = self.coordinator.handle_fetch_offset(at, &group, &at_partition);
                said::fetched(client, found.map(|found| found.offset))
            }
            Request::Describe(group) => {
                said::described(client, self.coordinator.handle_describe(at, &group).as_ref())
            }
            Request::List => said::listed(client, &self.coordinator.handle_list(at)),
            Request::Delete(group) => {
                said::done(client, "delete", code(self.coordinator.handle_delete(at, &group)))
            }
            Request::Beat(beat) => {
                let reply = self.coordinator.handle_consumer_heartbeat(at, &beat);
                consumer::beaten(client, reply.as_ref().map_err(|fault| fault.code()))
            }
            Request::Inspect(group) => {
                let found = self.coordinator.handle_describe_consumer(at, &group);
                consumer::inspected(client, found.as_ref().ok_or(69))
            }
            Request::Configure(group, to) => {
                let outcome = self.coordinator.handle_overrides(at, &group, to);
                said::done(client, "configure", code(outcome))
            }
            Request::Recall(group, member, epoch, position) => {
                let member = (!member.is_empty()).then_some(member.as_str());
                let may = self.coordinator.handle_check_fetch(at, &group, member, epoch);
                let found = may.map(|()| {
                    let found = self.coordinator.handle_fetch_offset(at, &group, &position);
                    found.map(|found| found.offset)
                });
                consumer::recalled(client, found.map_err(Fault::code))
            }
            Request::Join(_) | Request::Sync(_) | Request::Wait => return,
        };
        self.answers.push((client.to_owned(), answer));
    }

    fn collect(&mut self) {
        while let Some(reply) = self.coordinator.poll_reply() {
            let client = self.parked.remove(&reply.token).unwrap();
            let answer = match reply.body {
                ReplyBody::Join(reply) => {
                    let outcome = reply.outcome.as_ref().map_err(|fault| fault.code());
                    said::joined(&client, &reply.member_id, outcome)
                }
                ReplyBody::Sync(reply) => {
                    let share = reply.as_ref().map(|synced| &synced.assignment[..]);
                    said::synced(&client, share.map_err(|fault| fault.code()))
                }
            };
            self.given.extend(answer.member_id.clone());
            self.answers.push((client, answer));
        }
    }
}

impl Subject for Core {
    fn names(&self) -> Vec<String> {
        vec!["here".to_owned()]
    }

    fn is_real(&self) -> bool {
        self.late.is_some()
    }

    fn ask(&mut self, at: Mono, client: &str, request: Request) {
        self.now = self.now.max(at);
        if let Some(chance) = &mut self.late {
            self.now = self.now + Duration::from_millis(chance.random_range(0..=LATE_MS_MAX));
        }
        self.coordinator.handle_timeout(self.now);
        match request {
            Request::Join(mut join) => {
                let token = self.park(client);
                let name = join.instance_id.as_ref().unwrap_or(&join.client_id);
                let prefix = format!("{name}-");
                let before = self.given.iter().filter(|id| id.starts_with(&prefix)).count();
                join.suffix = (before + 1).to_string();
                self.coordinator.handle_join(self.now, token, &join);
            }
            Request::Sync(sync) => {
                let token = self.park(client);
                self.coordinator.handle_sync(self.now, token, &sync);
            }
            Request::Wait => {}
            Request::Heartbeat(_)
            | Request::Leave(_)
            | Request::Commit(_)
            | Request::Fetch(..)
            | Request::Describe(_)
            | Request::List
            | Request::Beat(_)
            | Request::Inspect(_)
            | Request::Configure(..)
            | Request::Recall(..)
            | Request::Delete(_) => self.at_once(client, request),
        }
    }

    fn answers(&mut self, expected: usize) -> Vec<(String, Answer)> {
        self.collect();
        let until = self.now + PATIENCE;
        while self.late.is_some() && lines(&self.answers) < expected && self.now < until {
            self.now = self.now + Duration::from_millis(1);
            self.coordinator.handle_timeout(self.now);
            self.collect();
        }
        std::mem::take(&mut self.answers)
    }
}

fn code(outcome: Result<(), Fault>) -> i16 {
    outcome.map_or_else(Fault::code, |()| 0)
}
