//! Turns facts into log records, for people to read, in the order in which they come.
//!
//! The record of a fault's fact belongs to that fault's span, another one within a trial or window
//! to that trial's or window's span, and every other to the run's. Renewals, ticks, claims and
//! assignments have no log records, because traces show them.

use opentelemetry_proto::tonic::common::v1::{AnyValue, KeyValue, any_value::Value};
use opentelemetry_proto::tonic::logs::v1::{LogRecord, SeverityNumber};

use super::run_context::{RunContext, number, text, truth};
use super::traces::outcome;
use super::{ids, names};
use crate::ids::{ClusterName, FaultId, TrialNumber};
use crate::observation::{Fact, MemberEvent, Outcome, RunEvent, What};
use crate::time::Mono;

/// Turns facts into records; remembers the current trial.
#[derive(Debug, Clone)]
pub struct Logbook {
    context: RunContext,
    trial: TrialNumber,
}

/// The content of a fact's record.
struct News<'a> {
    name: &'static str,
    severity: SeverityNumber,
    body: String,
    fault: Option<&'a FaultId>,
    more: Vec<KeyValue>,
}

impl<'a> News<'a> {
    fn new(name: &'static str, body: impl Into<String>) -> Self {
        let (severity, body) = (SeverityNumber::Info, body.into());
        Self { name, severity, body, fault: None, more: Vec::new() }
    }

    fn warn(name: &'static str, body: impl Into<String>) -> Self {
        Self { severity: SeverityNumber::Warn, ..Self::new(name, body) }
    }

    fn of(self, fault: &'a FaultId) -> Self {
        Self { fault: Some(fault), ..self }
    }

    fn with(mut self, more: impl IntoIterator<Item = KeyValue>) -> Self {
        self.more.extend(more);
        self
    }
}

impl Logbook {
    /// A logbook of the run that `context` describes.
    #[must_use]
    pub fn new(context: RunContext) -> Self {
        Self { context, trial: ids::OWN }
    }

    /// The record of a fact, if it has one.
    pub fn observe(&mut self, fact: &Fact) -> Option<LogRecord> {
        if let What::Run(RunEvent::TrialBegan { trial }) = fact.what {
            self.trial = trial;
        }
        let record = record(&self.context, self.trial, fact);
        if let What::Run(RunEvent::TrialEnded { .. } | RunEvent::Ended { .. }) = fact.what {
            self.trial = ids::OWN;
        }
        record
    }
}

/// The record of a fact, if it has one. `part` is the trial, or the window, in which it happened.
pub(super) fn record(context: &RunContext, part: TrialNumber, fact: &Fact) -> Option<LogRecord> {
    let news = news(fact)?;
    let part = news.fault.map_or(part, |fault| fault.trial);
    let key = news.fault.map_or_else(|| context.root_key(part).to_owned(), ids::fault);
    let mut attributes = vec![number(names::SEQ, fact.seq)];
    if part != ids::OWN {
        attributes.push(context.numbered(part));
    }
    if let Some(life) = &fact.life {
        attributes.push(text(names::MEMBER, life.member.as_str()));
        attributes.push(number(names::INCARNATION, life.incarnation.0));
    }
    attributes.extend(news.fault.map(|fault| text(names::FAULT_ID, &fault.to_string())));
    attributes.extend(news.more);
    let at = context.at(fact.t);
    let (trace_id, span_id) = context.place(part, &key);
    Some(LogRecord {
        time_unix_nano: at,
        observed_time_unix_nano: at,
        severity_number: news.severity.into(),
        severity_text: severity(news.severity).to_owned(),
        body: Some(AnyValue { value: Some(Value::StringValue(news.body)) }),
        attributes,
        flags: 1,
        trace_id,
        span_id,
        event_name: news.name.to_owned(),
        ..LogRecord::default()
    })
}

/// The name of one of the three severities in use.
fn severity(of: SeverityNumber) -> &'static str {
    if of >= SeverityNumber::Error {
        "ERROR"
    } else if of >= SeverityNumber::Warn {
        "WARN"
    } else {
        "INFO"
    }
}

fn news(fact: &Fact) -> Option<News<'_>> {
    match &fact.what {
        What::Member(event) => of_member(fact, event),
        What::Run(event) => of_run(fact, event),
    }
}

/// The life that a fact is about, as text. Most facts have no record, so it is built where needed.
fn life(fact: &Fact) -> String {
    fact.life.as_ref().map_or_else(String::new, ToString::to_string)
}

fn of_member<'a>(fact: &'a Fact, event: &'a MemberEvent) -> Option<News<'a>> {
    match event {
        MemberEvent::Hole { from, until } => {
            let length = number(names::DURATION_NS, until.since(*from).as_nanos());
            let body = format!("What {} did for a while is unknown.", life(fact));
            Some(News::warn(names::MEMBER_HOLE, body).with([length]))
        }
        MemberEvent::Unconnected { why } => {
            let body = format!("{} cannot reach its brokers: {why}.", life(fact));
            Some(News::warn(names::MEMBER_UNCONNECTED, body).with([text(names::WHY, why)]))
        }
        MemberEvent::Connected => {
            let body = format!("{} reaches its brokers.", life(fact));
            Some(News::new(names::MEMBER_CONNECTED, body))
        }
        MemberEvent::Refused { why } => {
            let body = format!("{} leaves its group: {why}.", life(fact));
            Some(News::warn(names::MEMBER_REFUSED, body).with([text(names::WHY, why)]))
        }
        MemberEvent::Assigned { .. }
        | MemberEvent::Revoked { .. }
        | MemberEvent::Lost { .. }
        | MemberEvent::Claimed { .. }
        | MemberEvent::Renewed { .. }
        | MemberEvent::Lapsed { .. }
        | MemberEvent::Ticks { .. }
        | MemberEvent::Clock { .. }
        | MemberEvent::Late { .. }
        | MemberEvent::Leaving => None,
    }
}

fn of_run<'a>(fact: &'a Fact, event: &'a RunEvent) -> Option<News<'a>> {
    let of_life = |name, said: &str| News::new(name, format!("{} {said}.", life(fact)));
    Some(match event {
        RunEvent::Processors { .. } | RunEvent::NotYet => return None,
        RunEvent::Started { pid, .. } => {
            of_life(names::MEMBER_STARTED, "was started").with([number(names::PID, *pid)])
        }
        RunEvent::Died { signal, status } => {
            let signal = signal.map(|signal| number(names::SIGNAL, signal));
            let status = status.map(|status| number(names::STATUS, status));
            of_life(names::MEMBER_DIED, "is gone").with(signal).with(status)
        }
        RunEvent::Stopped => of_life(names::MEMBER_STOPPED, "is stopped"),
        RunEvent::Continued => of_life(names::MEMBER_CONTINUED, "continues"),
        RunEvent::Orders { refused, .. } if refused.is_none() => return None,
        RunEvent::Orders { refused, .. } => {
            let body = format!("{} has refused orders: {refused}.", life(fact));
            News::warn(names::MEMBER_REFUSED_ORDERS, body)
        }
        RunEvent::FaultAsked { .. }
        | RunEvent::FaultInForce { .. }
        | RunEvent::FaultHealed { .. }
        | RunEvent::Reconnected { .. }
        | RunEvent::FaultFailed { .. }
        | RunEvent::Struck { .. } => return of_fault(event, &life(fact)),
        RunEvent::TrialBegan { trial } => {
            News::new(names::TRIAL_BEGAN, format!("Trial {trial} begins."))
        }
        RunEvent::TrialEnded { trial, recovered } => {
            let recovery = recovered.map(|recovered| truth(names::RECOVERED, recovered));
            News::new(names::TRIAL_ENDED, format!("Trial {trial} ends.")).with(recovery)
        }
        RunEvent::Settled { group } => {
            News::new(names::GROUP_SETTLED, format!("Group {group} has settled."))
                .with([text(names::GROUP, group.as_str())])
        }
        RunEvent::ClusterStarted { .. }
        | RunEvent::ClusterDied { .. }
        | RunEvent::BrokerLost { .. }
        | RunEvent::BrokerBack { .. } => return of_brokers(event),
        RunEvent::EdgesStarted { pid } => {
            News::new(names::EDGES_STARTED, "The edges answer.").with([number(names::PID, *pid)])
        }
        RunEvent::EdgesDied => News::warn(names::EDGES_DIED, "The edges are gone."),
        RunEvent::Stall { .. }
        | RunEvent::Suspended { .. }
        | RunEvent::Unwritten { .. }
        | RunEvent::Unattended { .. } => return of_host(fact.t, event),
        RunEvent::Ended { how, why } => ended(*how, why.as_deref()),
    })
}

/// Stalls of the host or its disk, and how long they lasted.
fn of_host(t: Mono, event: &RunEvent) -> Option<News<'static>> {
    let (name, body, from, until) = if let RunEvent::Stall { from, until, .. } = event {
        let body = "The host did not schedule the controller.".to_owned();
        (names::HOST_STALL, body, *from, *until)
    } else if let RunEvent::Suspended { from, until } = event {
        (names::HOST_SUSPENDED, "The host was suspended.".to_owned(), *from, *until)
    } else if let RunEvent::Unwritten { from, until, facts } = event {
        let body = format!("The disk did not accept {facts} facts.");
        (names::JOURNAL_UNWRITTEN, body, *from, *until)
    } else if let RunEvent::Unattended { from } = event {
        let body = "The controller stalled, and its guard ended the run.".to_owned();
        (names::UNATTENDED, body, *from, t)
    } else {
        return None;
    };
    let lasted = number(names::DURATION_NS, until.since(from).as_nanos());
    Some(News::warn(name, body).with([lasted]))
}

/// Whether brokers run.
fn of_brokers(event: &RunEvent) -> Option<News<'_>> {
    if let RunEvent::ClusterStarted { cluster, address, pid } = event {
        let body = format!("The broker of cluster {cluster} answers.");
        let at = [text(names::CLUSTER, cluster.as_str()), text(names::BROKER, address)];
        let news = News::new(names::CLUSTER_STARTED, body).with(at);
        return Some(news.with([number(names::PID, *pid)]));
    }
    if let RunEvent::ClusterDied { cluster } = event {
        let body = format!("The broker of cluster {cluster} is gone.");
        let at = [text(names::CLUSTER, cluster.as_str())];
        return Some(News::warn(names::CLUSTER_DIED, body).with(at));
    }
    let at = |cluster: &ClusterName, broker: &str| {
        [text(names::CLUSTER, cluster.as_str()), text(names::BROKER, broker)]
    };
    if let RunEvent::BrokerLost { cluster, broker } = event {
        let body = format!("Broker {broker} of cluster {cluster} is lost.");
        return Some(News::warn(names::BROKER_LOST, body).with(at(cluster, broker)));
    }
    if let RunEvent::BrokerBack { cluster, broker } = event {
        let body = format!("Broker {broker} of cluster {cluster} is back.");
        return Some(News::new(names::BROKER_BACK, body).with(at(cluster, broker)));
    }
    None
}

fn of_fault<'a>(event: &'a RunEvent, life: &str) -> Option<News<'a>> {
    let broker = |broker: &str| text(names::BROKER, broker);
    let kind = |kind: &str| text(names::FAULT_KIND, kind);
    match event {
        RunEvent::FaultAsked { fault, kind: is, broker: at, cluster, .. } => {
            let life = at.as_deref().unwrap_or(life);
            let body = format!("Fault {fault} ({is}) is about to strike {life}.");
            let cluster = cluster.as_ref().map(|one| text(names::CLUSTER, one.as_str()));
            let more = [kind(is)].into_iter().chain(at.as_deref().map(broker)).chain(cluster);
            Some(News::new(names::FAULT_ASKED, body).of(fault).with(more))
        }
        RunEvent::FaultInForce { fault } => {
            let body = format!("Fault {fault} is in force.");
            Some(News::new(names::FAULT_IN_FORCE, body).of(fault))
        }
        RunEvent::FaultHealed { fault } => {
            let body = format!("Fault {fault} is healed.");
            Some(News::new(names::FAULT_HEALED, body).of(fault))
        }
        RunEvent::Reconnected { fault, broker: at } => {
            let body = format!("{at} answers {life} again after fault {fault}.");
            Some(News::new(names::FAULT_RECONNECTED, body).of(fault).with([broker(at)]))
        }
        RunEvent::FaultFailed { fault, kind: is, why, .. } => {
            let body = format!("Fault {fault} ({is}) failed: {why}.");
            let mut news = News::new(names::FAULT_FAILED, body).of(fault);
            news.severity = SeverityNumber::Error;
            Some(news.with([kind(is), text(names::WHY, why)]))
        }
        RunEvent::Struck { fault, victims, skew_ns } => {
            let body = format!("Fault {fault} has struck the last of {victims}.");
            let skew = number(names::FAULT_SKEW_NS, *skew_ns);
            Some(News::new(names::FAULT_STRUCK, body).of(fault).with([skew]))
        }
        RunEvent::Started { .. }
        | RunEvent::Died { .. }
        | RunEvent::NotYet
        | RunEvent::Stopped
        | RunEvent::Continued
        | RunEvent::Orders { .. }
        | RunEvent::TrialBegan { .. }
        | RunEvent::TrialEnded { .. }
        | RunEvent::Settled { .. }
        | RunEvent::ClusterStarted { .. }
        | RunEvent::ClusterDied { .. }
        | RunEvent::BrokerLost { .. }
        | RunEvent::BrokerBack { .. }
        | RunEvent::EdgesStarted { .. }
        | RunEvent::EdgesDied
        | RunEvent::Stall { .. }
        | RunEvent::Processors { .. }
        | RunEvent::Suspended { .. }
        | RunEvent::Unwritten { .. }
        | RunEvent::Unattended { .. }
        | RunEvent::Ended { .. } => None,
    }
}

fn ended(how: Outcome, why: Option<&str>) -> News<'static> {
    let how_it_ended = text(names::OUTCOME, outcome(how));
    let body = why.map_or_else(
        || format!("The run is over: {}.", outcome(how)),
        |why| format!("The run is over: {}: {why}.", outcome(how)),
    );
    let mut news = News::new(names::RUN_ENDED, body).with([how_it_ended]);
    if how != Outcome::Completed {
        news.severity = SeverityNumber::Error;
    }
    news
}
