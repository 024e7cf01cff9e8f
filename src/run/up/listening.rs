//! What a supervisor says, from its first fact to the last, into the recorder.

use std::sync::Arc;
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use super::aftermath::clear;
use super::starting::Supervisor;
use super::{Ended, Service, UpkeepRequest};
use crate::controller::Recorder;
use crate::journal::{Carry, last_word};
use crate::observation::{Fact, Outcome, RunEvent, What};
use crate::run::{Milestone, RunError};
use crate::status_socket::StatusError;
use crate::supervision::{Message, Seen, Watching};
use crate::time::Mono;

/// After how many facts of the past they are folded: the fold's inbox takes more.
const TOGETHER: u32 = 4_096;
/// How long a supervisor that was asked to end may say nothing: it says each 20 ms what time it is.
const REACTS: Duration = Duration::from_secs(20);
/// How long a supervisor has to end after its connection has.
const ENDS: Duration = Duration::from_secs(10);
/// How often to connect again in a row.
const AGAIN: u32 = 3;

/// Takes the messages of one supervisor.
pub(super) struct Listener<'a> {
    request: &'a UpkeepRequest,
    record: &'a Arc<Recorder>,
    service: &'a Service,
    watching: Watching,
    /// What is known of the past, until it is all read.
    past: Option<Past>,
    /// What was taken, for the case that it comes again.
    seen: Seen,
    /// How often this process has connected again since the past was read.
    again: u32,
}

struct Past {
    carry: Carry,
    /// The time that the facts say.
    now: Mono,
    facts: u32,
    /// It was read before, but for its end.
    again: bool,
    /// Some of it was taken before.
    repeats: bool,
}

impl Past {
    fn new(again: bool) -> Self {
        Self { carry: Carry::default(), now: Mono::ZERO, facts: 0, again, repeats: false }
    }
}

/// The last that this process hears.
pub(super) enum Last {
    /// Everything has ended.
    OfAll(Ended),
    /// Only this process ends.
    OfThis(Ended),
}

impl Last {
    pub(super) fn into_ended(self) -> Ended {
        match self {
            Self::OfAll(ended) | Self::OfThis(ended) => ended,
        }
    }
}

impl<'a> Listener<'a> {
    pub(super) fn new(
        request: &'a UpkeepRequest,
        record: &'a Arc<Recorder>,
        service: &'a Service,
        watching: Watching,
    ) -> Self {
        let past = if request.supervisor.is_some() {
            Some(Past::new(false))
        } else {
            // It was started for this process: nothing was before.
            (request.on_caught)(record);
            None
        };
        let seen = Seen::default();
        Self { request, record, service, watching, past, seen, again: 0 }
    }

    /// Takes all messages to the last. An `interrupt` asks the supervisor to end; if it does not
    /// react, it is killed.
    ///
    /// # Errors
    /// The supervisor refuses; it goes on.
    pub(super) async fn listen(
        mut self,
        supervisor: &Supervisor,
        interrupt: &CancellationToken,
    ) -> Result<Last, RunError> {
        let (mut asked, mut killed) = (false, false);
        loop {
            tokio::select! {
                message = self.watching.next() => match message {
                    Ok(Some(message)) => {
                        if let Some(last) = self.take(message) {
                            return Ok(last);
                        }
                    }
                    Err(error @ StatusError::Refused { .. }) => return Err(error.into()),
                    Ok(None) | Err(_) => {
                        if let Some(last) = self.listen_again(supervisor).await {
                            return Ok(last);
                        }
                    }
                },
                () = interrupt.cancelled(), if !asked => {
                    asked = true;
                    supervisor.ask_to_end();
                }
                () = tokio::time::sleep(REACTS), if asked && !killed => {
                    killed = true;
                    tracing::warn!("The supervisor did not react for {REACTS:?}, and is killed.");
                    supervisor.kill();
                }
            }
        }
    }

    /// Takes one message. Returns how it ended, if this is the last.
    fn take(&mut self, message: Message) -> Option<Last> {
        match message {
            Message::Fact(fact) => self.take_fact(fact),
            Message::Caught => self.catch_up(),
            Message::Time(now) => self.record.pass(now),
            Message::Journal(written) => self.record.written_elsewhere(written),
            Message::Log(line) => (self.request.on_log)(&line),
            Message::Operation(operation) => (self.request.on_operation)(*operation),
            Message::Changed { at, header } => {
                // First: the fold says when it takes effect.
                self.service.change(&header.plan);
                self.record.fold().change(&header.plan, at);
            }
            Message::Stopping => (self.request.on_milestone)(Milestone::Stopping),
            Message::Missed(facts) => {
                tracing::warn!(
                    facts,
                    "Facts of the supervisor are missing; their time is unknown."
                );
                self.record.fold().miss(facts);
            }
            Message::Replaced { by } => {
                let why = Some(format!("process {by} watches in its place"));
                return Some(Last::OfThis(Ended { how: Outcome::Completed, why }));
            }
            Message::Ended { how, why } => return Some(Last::OfAll(Ended { how, why })),
            // The client has read the first line, and reports a refusal as an error. The others are
            // for a process that has ordered an experiment.
            Message::About(_)
            | Message::Refused(_)
            | Message::Accepted { .. }
            | Message::Trial { .. }
            | Message::Step(_)
            | Message::Applied { .. }
            | Message::Halted { .. } => {}
        }
        None
    }

    fn catch_up(&mut self) {
        let Some(Past { carry, now, again, .. }) = self.past.take() else { return };
        self.again = 0;
        self.record.pass(now);
        if !again {
            (self.request.on_caught)(self.record);
            self.record.brief_followers(carry.facts(now));
        }
    }

    fn take_fact(&mut self, fact: Fact) {
        if self.past.as_ref().is_some_and(|past| past.repeats) && self.seen.has(&fact) {
            return;
        }
        self.seen.add(&fact);
        let (t, ends) = (fact.t, matches!(fact.what, What::Run(RunEvent::TrialEnded { .. })));
        if let Some(past) = &mut self.past {
            past.carry.observe(&fact);
            past.now = past.now.max(t);
            past.facts += 1;
            let now = past.now;
            let together = past.facts.is_multiple_of(TOGETHER);
            self.record.take(fact);
            if together {
                self.record.pass(now);
            }
        } else {
            self.record.take(fact);
        }
        if ends {
            // The members are asked to leave: from now on nothing counts.
            self.record.fold().end(t);
        }
    }

    /// The connection ended without a last word. Connects again, if the supervisor goes on: it
    /// disconnects a client that reads nothing for long. Returns how it ended, if it has.
    async fn listen_again(&mut self, supervisor: &Supervisor) -> Option<Last> {
        let process = supervisor.process();
        self.again += 1;
        if self.again <= AGAIN {
            match Watching::of(process.pid).await {
                Ok((_, watching)) => {
                    tracing::warn!("The supervisor has disconnected this process, which reads on.");
                    self.watching = watching;
                    let past = self.past.take();
                    let past = past.unwrap_or_else(|| Past::new(true));
                    self.past = Some(Past { repeats: true, ..past });
                    return None;
                }
                Err(StatusError::Refused { why, .. }) => {
                    let ended = Ended { how: Outcome::Completed, why: Some(why) };
                    return Some(Last::OfThis(ended));
                }
                Err(_) => {}
            }
        }
        if !supervisor.ends_within(ENDS).await {
            let pid = process.pid;
            let why = format!("its supervisor, process {pid}, goes on, but does not answer");
            return Some(Last::OfThis(Ended { how: Outcome::Broken, why: Some(why) }));
        }
        Some(Last::OfAll(self.ended(supervisor).await))
    }

    /// How the supervisor ended, whose last word did not come.
    async fn ended(&self, supervisor: &Supervisor) -> Ended {
        let said = last_word(&self.request.folder).map(|(how, why)| Ended { how, why });
        let ended = if let Some(ended) = said {
            ended
        } else {
            let (ended, done) = clear(supervisor.process()).await;
            done.iter().for_each(|line| (self.request.on_log)(line));
            ended
        };
        let Ended { how, why } = ended.clone();
        self.record.note(None, RunEvent::Ended { how, why });
        ended
    }
}
