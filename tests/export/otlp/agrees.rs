//! What a collector got is what the journal says, counted and timed without the code that sent it.

use std::collections::{BTreeMap, BTreeSet};

use opentelemetry_proto::tonic::common::v1::{KeyValue, any_value::Value};
use opentelemetry_proto::tonic::logs::v1::LogRecord;
use opentelemetry_proto::tonic::trace::v1::Span;
use tandem::ids::{Life, PartitionId, Term};
use tandem::journal::Recording;
use tandem::observation::{MemberEvent, RunEvent, What};
use tandem::time::Mono;
use tandem::timeline::{Cause, Finding, Timeline};

/// An attribute's value as text.
pub(crate) fn shown(attribute: &KeyValue) -> String {
    match attribute.value.as_ref().and_then(|value| value.value.as_ref()) {
        Some(Value::StringValue(text)) => text.clone(),
        Some(Value::BoolValue(truth)) => truth.to_string(),
        Some(Value::IntValue(number)) => number.to_string(),
        Some(Value::ArrayValue(array)) => {
            let one = |value: &_| {
                shown(&KeyValue { value: Some(Clone::clone(value)), ..KeyValue::default() })
            };
            array.values.iter().map(one).collect::<Vec<_>>().join(",")
        }
        other => panic!("{}: {other:?}", attribute.key),
    }
}

/// An attribute of a span.
pub(crate) fn attribute(span: &Span, key: &str) -> String {
    let found = span.attributes.iter().find(|attribute| attribute.key == key);
    found.map_or_else(String::new, shown)
}

/// Spans of one name.
pub(crate) fn named<'a>(spans: &'a [Span], name: &str) -> Vec<&'a Span> {
    spans.iter().filter(|span| span.name == name).collect()
}

/// The wall clock of an instant of the journal, in nanoseconds.
fn wall(recording: &Recording, at: Mono) -> u64 {
    let header = &recording.header;
    let zero = u64::try_from(header.zero_wall.0).unwrap() * 1_000_000;
    zero + at.0 - header.zero.0
}

type Findings = BTreeSet<(String, String, String, u64, u64, String)>;

/// Gaps or overlaps: scope, group, role, beginning, end, cause.
fn expected(
    recording: &Recording,
    pick: impl Fn(&tandem::timeline::Findings) -> &[Finding],
) -> Findings {
    let timeline = Timeline::compute(&recording.header.plan, &recording.facts);
    let mut findings = Findings::new();
    let mut take = |scope: &str, group: &str, found: &[Finding]| {
        for one in found {
            let cause = match &one.cause {
                Cause::Fault(id) => id.to_string(),
                Cause::Restart(life)
                | Cause::Death(life)
                | Cause::Stop(life)
                | Cause::Connection(life)
                | Cause::Leave(life) => life.to_string(),
                Cause::Broker(cluster) => cluster.to_string(),
                Cause::Start | Cause::Nothing => String::new(),
            };
            let [from, until] = [one.span.from, one.span.until].map(|at| wall(recording, at));
            for role in one.roles.roles() {
                let role = recording.header.plan.roles.name(role).unwrap().to_string();
                findings.insert((scope.into(), group.into(), role, from, until, cause.clone()));
            }
        }
    };
    for (name, line) in &timeline.groups {
        take("group", name.as_str(), pick(&line.findings));
    }
    take("joint", "", pick(&timeline.joint));
    findings
}

fn findings_of(spans: &[&Span]) -> Findings {
    let one = |span: &&Span| {
        let of = |key| attribute(span, key);
        let (from, until) = (span.start_time_unix_nano, span.end_time_unix_nano);
        (of("neli.scope"), of("neli.group"), of("neli.role"), from, until, of("neli.cause.by"))
    };
    spans.iter().map(one).collect()
}

/// Counts, times, links and parents of all spans that are computed from the journal.
pub(crate) fn spans_agree(recording: &Recording, spans: &[Span]) {
    let ids: BTreeMap<_, _> =
        spans.iter().map(|span| ((span.trace_id.clone(), span.span_id.clone()), span)).collect();
    assert_eq!(ids.len(), spans.len(), "no id is given twice");
    for (name, pick) in [
        ("leadership.gap", (|of| &of.gaps) as fn(&tandem::timeline::Findings) -> &Vec<Finding>),
        ("leadership.overlap", |of| &of.overlaps),
    ] {
        let sure: Vec<_> = named(spans, name)
            .into_iter()
            .filter(|span| attribute(span, "neli.unknown") == "false")
            .collect();
        let wanted = expected(recording, |of| pick(of));
        assert_eq!((sure.len(), findings_of(&sure)), (wanted.len(), wanted), "{name}");
        for span in sure {
            let faults: Vec<_> = span.links.iter().collect();
            let by_fault = attribute(span, "neli.cause") == "fault";
            assert_eq!(faults.len(), usize::from(by_fault), "{span:?}");
            for link in faults {
                let fault = ids[&(link.trace_id.clone(), link.span_id.clone())];
                assert_eq!(fault.name, "fault.window");
                assert_eq!(attribute(fault, "neli.fault.id"), attribute(span, "neli.cause.by"));
            }
        }
    }
    let roots = [named(spans, "chaos.trial"), named(spans, "chaos.run")].concat();
    for span in spans {
        let root = roots.iter().find(|root| root.trace_id == span.trace_id).unwrap();
        let child = if root.span_id == span.span_id { &[][..] } else { &root.span_id[..] };
        assert_eq!(span.parent_span_id, child, "{span:?}");
    }
    trials_agree(recording, spans);
    faults_agree(recording, spans);
    terms_agree(recording, spans);
}

fn trials_agree(recording: &Recording, spans: &[Span]) {
    let mut wanted = Vec::new();
    for fact in &recording.facts {
        match &fact.what {
            What::Run(RunEvent::TrialBegan { trial }) => {
                wanted.push((trial.to_string(), wall(recording, fact.t), 0, String::new()));
            }
            What::Run(RunEvent::TrialEnded { recovered: Some(recovered), .. }) => {
                let last = wanted.last_mut().unwrap();
                (last.2, last.3) = (wall(recording, fact.t), recovered.to_string());
            }
            _ => {}
        }
    }
    let trial = |span: &&Span| {
        let (from, until) = (span.start_time_unix_nano, span.end_time_unix_nano);
        (attribute(span, "neli.trial"), from, until, attribute(span, "neli.recovered"))
    };
    let mut roots: Vec<_> = named(spans, "chaos.trial").iter().map(trial).collect();
    // Who hands on what others sent may do it in another order.
    roots.sort_by_key(|root| root.1);
    assert_eq!(roots, wanted);
}

/// The instants of the facts about each fault, by event.
fn faults_agree(recording: &Recording, spans: &[Span]) {
    let mut wanted = BTreeSet::new();
    for fact in &recording.facts {
        let (fault, event) = match &fact.what {
            What::Run(RunEvent::FaultAsked { fault, .. }) => (fault, "fault.asked"),
            What::Run(RunEvent::FaultInForce { fault }) => (fault, "fault.in_force"),
            What::Run(RunEvent::FaultHealed { fault }) => (fault, "fault.healed"),
            _ => continue,
        };
        wanted.insert((fault.to_string(), event.to_owned(), wall(recording, fact.t)));
    }
    let mut got = BTreeSet::new();
    for span in named(spans, "fault.window") {
        for event in &span.events {
            let id = attribute(span, "neli.fault.id");
            got.insert((id, event.name.clone(), event.time_unix_nano));
        }
        assert_eq!(span.start_time_unix_nano, span.events[0].time_unix_nano, "{span:?}");
    }
    assert_eq!(got, wanted);
}

/// Each claim in the journal that meets a trial stands in its trace, once a role.
fn terms_agree(recording: &Recording, spans: &[Span]) {
    let plan = &recording.header.plan;
    let mut claims: BTreeMap<(&Life, PartitionId, Term), [Mono; 2]> = BTreeMap::new();
    let mut deaths: BTreeMap<&Life, Mono> = BTreeMap::new();
    let (mut trials, mut began) = (Vec::new(), Mono::ZERO);
    for fact in &recording.facts {
        match (&fact.what, &fact.life) {
            (
                What::Member(MemberEvent::Claimed { partition, term, from, until, .. }),
                Some(life),
            ) => {
                claims.insert((life, *partition, *term), [*from, *until]);
            }
            (What::Member(MemberEvent::Renewed { claims: renewed }), Some(life)) => {
                for one in renewed {
                    let known = claims.get_mut(&(life, one.partition, one.term)).unwrap();
                    known[1] = known[1].max(one.until);
                }
            }
            (What::Member(MemberEvent::Lapsed { partition, term, at, .. }), Some(life)) => {
                claims.get_mut(&(life, *partition, *term)).unwrap()[1] = *at;
            }
            (What::Member(MemberEvent::Leaving), Some(life)) => {
                for (key, claim) in &mut claims {
                    if key.0 == life {
                        claim[1] = claim[1].min(fact.t);
                    }
                }
            }
            (What::Run(RunEvent::Died { .. }), Some(life)) => drop(deaths.insert(life, fact.t)),
            (What::Run(RunEvent::TrialBegan { .. }), _) => began = fact.t,
            (What::Run(RunEvent::TrialEnded { trial, .. }), _) => {
                trials.push((trial, began, fact.t));
            }
            _ => {}
        }
    }
    let mut wanted = BTreeSet::new();
    for ((life, partition, term), [from, until]) in claims {
        let until = deaths.get(life).map_or(until, |death| until.min(*death));
        let group = &plan.groups[plan.group_of(&life.member).unwrap()];
        let on = plan.roles.indices().map(|role| group.partition(role));
        let roles = plan.roles.names().zip(on);
        for (role, _) in roles.filter(|(_, on)| *on == partition) {
            for (trial, began, ended) in &trials {
                let [from, until] = [from.max(*began), until.min(*ended)];
                if from < until {
                    let who = (trial.to_string(), role.to_string(), life.member.to_string());
                    let which = (life.incarnation.to_string(), term.to_string());
                    let when = (wall(recording, from), wall(recording, until));
                    wanted.insert((who, which, when));
                }
            }
        }
    }
    let one = |span: &&Span| {
        let of = |key| attribute(span, key);
        let who = (of("neli.trial"), of("neli.role"), of("neli.member"));
        let which = (of("neli.incarnation"), of("neli.term"));
        (who, which, (span.start_time_unix_nano, span.end_time_unix_nano))
    };
    let got = named(spans, "leadership");
    assert_eq!(got.len(), wanted.len());
    assert_eq!(got.iter().map(one).collect::<BTreeSet<_>>(), wanted);
}

/// The time of each fact that has a log record, and the name of the record.
pub(crate) fn records(recording: &Recording) -> Vec<(u64, String)> {
    let name = |what: &What| match what {
        What::Run(RunEvent::FaultAsked { .. }) => Some("fault.asked"),
        What::Run(RunEvent::FaultInForce { .. }) => Some("fault.in_force"),
        What::Run(RunEvent::FaultHealed { .. }) => Some("fault.healed"),
        What::Run(RunEvent::FaultFailed { .. }) => Some("fault.failed"),
        What::Run(RunEvent::Reconnected { .. }) => Some("fault.reconnected"),
        What::Run(RunEvent::Struck { .. }) => Some("fault.struck"),
        What::Run(RunEvent::Started { .. }) => Some("member.started"),
        What::Run(RunEvent::Died { .. }) => Some("member.died"),
        What::Run(RunEvent::Stopped) => Some("member.stopped"),
        What::Run(RunEvent::Continued) => Some("member.continued"),
        What::Run(RunEvent::Orders { refused, .. }) if !refused.is_none() => {
            Some("member.refused_orders")
        }
        What::Member(MemberEvent::Hole { .. }) => Some("member.hole"),
        What::Run(RunEvent::Settled { .. }) => Some("group.settled"),
        What::Run(RunEvent::ClusterStarted { .. }) => Some("cluster.started"),
        What::Run(RunEvent::ClusterDied { .. }) => Some("cluster.died"),
        What::Member(MemberEvent::Unconnected { .. }) => Some("member.unconnected"),
        What::Member(MemberEvent::Connected) => Some("member.connected"),
        What::Member(MemberEvent::Refused { .. }) => Some("member.refused"),
        What::Run(RunEvent::BrokerLost { .. }) => Some("broker.lost"),
        What::Run(RunEvent::BrokerBack { .. }) => Some("broker.back"),
        What::Run(RunEvent::EdgesStarted { .. }) => Some("edges.started"),
        What::Run(RunEvent::EdgesDied) => Some("edges.died"),
        What::Run(RunEvent::TrialBegan { .. }) => Some("trial.began"),
        What::Run(RunEvent::TrialEnded { .. }) => Some("trial.ended"),
        What::Run(RunEvent::Stall { .. }) => Some("host.stall"),
        What::Run(RunEvent::Suspended { .. }) => Some("host.suspended"),
        What::Run(RunEvent::Unwritten { .. }) => Some("journal.unwritten"),
        What::Run(RunEvent::Unattended { .. }) => Some("unattended"),
        What::Run(RunEvent::Ended { .. }) => Some("run.ended"),
        _ => None,
    };
    let facts = recording.facts.iter();
    facts.filter_map(|fact| Some((wall(recording, fact.t), name(&fact.what)?.to_owned()))).collect()
}

/// Each fact that has a log record has it at its time.
pub(crate) fn logs_match_facts(recording: &Recording, logs: &[LogRecord]) {
    let got: Vec<_> = logs.iter().map(|log| (log.time_unix_nano, log.event_name.clone())).collect();
    assert_eq!(got, records(recording), "in the journal's order");
}

/// Each fact that has a log record has it at its time, in the trace of its trial.
pub(crate) fn logs_agree(recording: &Recording, spans: &[Span], logs: &[LogRecord]) {
    logs_match_facts(recording, logs);
    for log in logs.iter().filter(|log| log.event_name.starts_with("fault.")) {
        let span = spans.iter().find(|span| span.span_id == log.span_id).unwrap();
        assert_eq!((span.name.as_str(), &span.trace_id), ("fault.window", &log.trace_id));
    }
    for log in logs.iter().filter(|log| log.event_name.starts_with("trial.")) {
        let span = spans.iter().find(|span| span.span_id == log.span_id).unwrap();
        assert_eq!((span.name.as_str(), &span.trace_id), ("chaos.trial", &log.trace_id));
    }
}
