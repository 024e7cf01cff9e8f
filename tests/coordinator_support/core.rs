//! The pure coordinator as the subject of a transcript.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use tandem::groups::{
    Coordinator, Description, Fault, JoinReply, ReplyBody, Settings, SyncReply, Token,
};
use tandem::time::Mono;

use super::{Answer, Request, Subject};

pub(crate) struct Core {
    coordinator: Coordinator,
    parked: BTreeMap<Token, String>,
    answers: Vec<(String, Answer)>,
    tokens: u64,
    /// Ids that were given out, so that the next gets the next number.
    given: BTreeSet<String>,
}

impl Core {
    pub(crate) fn new(settings: Settings) -> Self {
        let coordinator = Coordinator::new(settings);
        Self {
            coordinator,
            parked: BTreeMap::new(),
            answers: Vec::new(),
            tokens: 0,
            given: BTreeSet::new(),
        }
    }

    fn say(&mut self, client: &str, line: String) {
        let answer = Answer { line, ..Answer::default() };
        self.answers.push((client.to_owned(), answer));
    }

    fn park(&mut self, client: &str) -> Token {
        self.tokens += 1;
        let token = Token(self.tokens);
        self.parked.insert(token, client.to_owned());
        token
    }

    fn at_once(&mut self, at: Mono, client: &str, request: Request) {
        let line = match request {
            Request::Heartbeat(beat) => {
                let outcome = self.coordinator.handle_heartbeat(at, &beat);
                format!("{client} heartbeat {}", outcome_of(outcome))
            }
            Request::Leave(leave) => match self.coordinator.handle_leave(at, &leave) {
                Err(fault) => format!("{client} leave {}", fault_of(fault)),
                Ok(departed) => {
                    let each = departed.into_iter().map(|one| {
                        let instance = one.who.instance_id.map(|i| format!("/{i}"));
                        let who = format!("{}{}", one.who.member_id, instance.unwrap_or_default());
                        format!("{client} leave {who:?} {}", outcome_of(one.outcome))
                    });
                    each.collect::<Vec<_>>().join("\n")
                }
            },
            Request::Commit(commit) => match self.coordinator.handle_commit(at, &commit) {
                Err(fault) => format!("{client} commit {}", fault_of(fault)),
                Ok(each) => {
                    let each: Vec<_> = each.into_iter().map(outcome_of).collect();
                    format!("{client} commit {}", each.join(", "))
                }
            },
            Request::Fetch(group, at_partition) => {
                let found = self.coordinator.handle_fetch_offset(at, &group, &at_partition);
                let offset = found.map_or_else(|| "none".to_owned(), |o| o.offset.to_string());
                format!("{client} fetch {offset}")
            }
            Request::Describe(group) => {
                let found = self.coordinator.handle_describe(at, &group);
                format!("{client} describe {}", found.map_or("Dead".to_owned(), described))
            }
            Request::List => {
                let list = self.coordinator.handle_list(at).into_iter();
                let lines = list.map(|line| {
                    format!("{client} list {} {} {:?}", line.group, line.state, line.protocol_type)
                });
                let lines: Vec<_> = lines.collect();
                if lines.is_empty() { format!("{client} list nothing") } else { lines.join("\n") }
            }
            Request::Delete(group) => {
                let outcome = self.coordinator.handle_delete(at, &group);
                format!("{client} delete {}", outcome_of(outcome))
            }
            Request::Join(_) | Request::Sync(_) | Request::Wait => return,
        };
        self.say(client, line);
    }
}

impl Subject for Core {
    fn ask(&mut self, at: Mono, client: &str, request: Request) {
        self.coordinator.handle_timeout(at);
        match request {
            Request::Join(mut join) => {
                let token = self.park(client);
                let name = join.instance_id.as_ref().unwrap_or(&join.client_id);
                let prefix = format!("{name}-");
                let before = self.given.iter().filter(|id| id.starts_with(&prefix)).count();
                join.suffix = (before + 1).to_string();
                self.coordinator.handle_join(at, token, &join);
            }
            Request::Sync(sync) => {
                let token = self.park(client);
                self.coordinator.handle_sync(at, token, &sync);
            }
            Request::Wait => {}
            Request::Heartbeat(_)
            | Request::Leave(_)
            | Request::Commit(_)
            | Request::Fetch(..)
            | Request::Describe(_)
            | Request::List
            | Request::Delete(_) => self.at_once(at, client, request),
        }
    }

    fn answers(&mut self) -> Vec<(String, Answer)> {
        let mut answers = std::mem::take(&mut self.answers);
        while let Some(reply) = self.coordinator.poll_reply() {
            let client = self.parked.remove(&reply.token).unwrap();
            let answer = match reply.body {
                ReplyBody::Join(reply) => joined(&client, reply),
                ReplyBody::Sync(reply) => synced(&client, reply),
            };
            self.given.extend(answer.member_id.clone());
            answers.push((client, answer));
        }
        answers
    }
}

fn joined(client: &str, reply: JoinReply) -> Answer {
    let member_id = Some(reply.member_id.clone());
    let joined = match reply.outcome {
        Err(fault) => {
            let line = format!("{client} join {} member={:?}", fault_of(fault), reply.member_id);
            return Answer { line, member_id, generation: None };
        }
        Ok(joined) => joined,
    };
    let mut line = format!(
        "{client} joined generation={} member={} leader={} protocol={}",
        joined.generation,
        reply.member_id,
        joined.leader,
        joined.protocol.unwrap_or_default(),
    );
    if !joined.members.is_empty() {
        let each = joined.members.iter().map(|member| {
            let instance = member.instance_id.as_ref().map(|i| format!("/{i}"));
            let metadata = String::from_utf8_lossy(&member.metadata);
            format!("{}{}={metadata}", member.member_id, instance.unwrap_or_default())
        });
        let members = each.collect::<Vec<_>>().join(", ");
        write!(line, " members=[{members}]").unwrap();
    }
    if joined.skip_assignment {
        line.push_str(" skip_assignment");
    }
    Answer { line, member_id, generation: Some(joined.generation) }
}

fn synced(client: &str, reply: SyncReply) -> Answer {
    let line = match reply {
        Err(fault) => format!("{client} sync {}", fault_of(fault)),
        Ok(synced) => {
            format!("{client} synced share={:?}", String::from_utf8_lossy(&synced.assignment))
        }
    };
    Answer { line, ..Answer::default() }
}

fn described(description: Description) -> String {
    let mut line = description.state.to_string();
    write!(line, " type={:?} protocol={:?}", description.protocol_type, description.protocol)
        .unwrap();
    for member in description.members {
        let share = String::from_utf8_lossy(&member.assignment).into_owned();
        write!(line, " {}={share:?}", member.member_id).unwrap();
    }
    line
}

fn outcome_of(outcome: Result<(), Fault>) -> String {
    outcome.map_or_else(fault_of, |()| "NONE".to_owned())
}

/// Kafka's name for it, and its number.
fn fault_of(fault: Fault) -> String {
    let mut name = String::new();
    for letter in format!("{fault:?}").chars() {
        if letter.is_ascii_uppercase() && !name.is_empty() {
            name.push('_');
        }
        name.push(letter.to_ascii_uppercase());
    }
    format!("{name}({})", fault.code())
}
