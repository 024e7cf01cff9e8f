//! What all spans and logs of one run share: its name, its clock, its resource. Also builds
//! attributes.

use opentelemetry_proto::tonic::common::v1::{
    AnyValue, ArrayValue, InstrumentationScope, KeyValue, any_value::Value,
};
use opentelemetry_proto::tonic::resource::v1::Resource;
use opentelemetry_proto::tonic::trace::v1::{Span, Status, span::Event, span::Link, status};

use super::ids::{self, Part};
use super::names;
use crate::ids::TrialNumber;
use crate::journal::Header;
use crate::time::{Mono, Wall};
use crate::timeline::Interval;

/// Sampled, and the parent belongs to the same process.
const FLAGS: u32 = 0x101;

/// The identity and the clock of one run.
#[derive(Debug, Clone, PartialEq)]
pub struct RunContext {
    /// The run's name.
    pub run: String,
    zero: Mono,
    zero_wall: Wall,
    resource: Resource,
    /// Whether its numbered parts are windows rather than trials.
    in_windows: bool,
}

impl RunContext {
    /// The context of the run that `header` begins.
    #[must_use]
    pub fn of(header: &Header) -> Self {
        let attributes = vec![
            text(names::SERVICE_NAME, names::SERVICE),
            text(names::SERVICE_VERSION, &header.tandem),
            text(names::SERVICE_INSTANCE_ID, &header.run),
            text(names::RUN_ID, &header.run),
            text(names::TOPOLOGY, header.plan.topology.as_str()),
            text(names::EXPERIMENT, &header.brief.experiment),
        ];
        Self {
            run: header.run.clone(),
            zero: header.zero,
            zero_wall: header.zero_wall,
            resource: Resource { attributes, ..Resource::default() },
            in_windows: false,
        }
    }

    /// The same run, in windows instead of trials.
    pub(super) fn in_windows(self) -> Self {
        Self { in_windows: true, ..self }
    }

    /// Adds the environment's resource attributes. They can rename the service; they do not
    /// override attributes that are set here.
    #[must_use]
    pub fn with_resource(mut self, service: Option<&str>, more: &[(String, String)]) -> Self {
        let ours = &mut self.resource.attributes;
        for (key, value) in more {
            match ours.iter_mut().find(|attribute| attribute.key == *key) {
                Some(known) if key == names::SERVICE_NAME => *known = text(key, value),
                Some(_) => {}
                None => ours.push(text(key, value)),
            }
        }
        if let Some(service) = service
            && let Some(name) = ours.iter_mut().find(|one| one.key == names::SERVICE_NAME)
        {
            *name = text(names::SERVICE_NAME, service);
        }
        self
    }

    /// The resource of the telemetry.
    #[must_use]
    pub fn resource(&self) -> Resource {
        self.resource.clone()
    }

    /// The instrumentation scope.
    #[must_use]
    pub fn scope() -> InstrumentationScope {
        InstrumentationScope {
            name: names::SCOPE.to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            ..InstrumentationScope::default()
        }
    }

    /// An instant in nanoseconds since 1970-01-01 UTC: the wall clock at the run's zero, with
    /// millisecond precision, plus monotonic time since, with nanosecond precision.
    #[must_use]
    pub fn at(&self, at: Mono) -> u64 {
        let zero = i128::from(self.zero_wall.0) * 1_000_000;
        let at = zero + i128::from(at.0) - i128::from(self.zero.0);
        u64::try_from(at.max(0)).unwrap_or(u64::MAX)
    }

    /// The root span of the trace of this part.
    pub(super) fn root(&self, number: TrialNumber, during: Interval) -> Span {
        let key = self.root_key(number);
        let mut span = self.span(number, key, key, during);
        span.parent_span_id.clear();
        span
    }

    /// The key of that root span.
    pub(super) fn root_key(&self, number: TrialNumber) -> &'static str {
        ids::root(self.part(number))
    }

    /// A child of that root span.
    pub(super) fn span(
        &self,
        number: TrialNumber,
        name: &str,
        key: &str,
        during: Interval,
    ) -> Span {
        let (trace_id, span_id) = self.place(number, key);
        let root = ids::span_id(&self.run, self.part(number), self.root_key(number));
        Span {
            trace_id,
            span_id,
            parent_span_id: root.to_vec(),
            flags: FLAGS,
            name: name.to_owned(),
            kind: 1, // internal
            start_time_unix_nano: self.at(during.from),
            end_time_unix_nano: self.at(during.until),
            status: known(),
            ..Span::default()
        }
    }

    /// A link to the span with `key` in the trace of this part.
    pub(super) fn link(&self, number: TrialNumber, key: &str, relation: &str) -> Link {
        let (trace_id, span_id) = self.place(number, key);
        Link {
            trace_id,
            span_id,
            attributes: vec![text(names::LINK, relation)],
            flags: FLAGS,
            ..Link::default()
        }
    }

    /// The ids of the trace of this part, and of the span with `key` in it.
    pub(super) fn place(&self, number: TrialNumber, key: &str) -> (Vec<u8>, Vec<u8>) {
        let part = self.part(number);
        let (trace, span) = (ids::trace_id(&self.run, part), ids::span_id(&self.run, part, key));
        (trace.to_vec(), span.to_vec())
    }

    /// The attribute with the number of the trial or window.
    pub(super) fn numbered(&self, part: TrialNumber) -> KeyValue {
        let key = if self.in_windows { names::WINDOW_NUMBER } else { names::TRIAL_NUMBER };
        number(key, part.0)
    }

    fn part(&self, number: TrialNumber) -> Part {
        if self.in_windows && number != ids::OWN { Part::Window(number) } else { number.into() }
    }

    /// A span event.
    pub(super) fn event(&self, name: &str, at: Mono, attributes: Vec<KeyValue>) -> Event {
        let time_unix_nano = self.at(at);
        Event { time_unix_nano, name: name.to_owned(), attributes, ..Event::default() }
    }
}

/// No status.
pub(super) fn known() -> Option<Status> {
    Some(Status::default())
}

/// An error status.
pub(super) fn error(why: String) -> Option<Status> {
    Some(Status { message: why, code: status::StatusCode::Error.into() })
}

/// An attribute.
pub(super) fn text(key: &str, value: &str) -> KeyValue {
    attribute(key, Value::StringValue(value.to_owned()))
}

/// An attribute.
pub(super) fn number(key: &str, value: impl TryInto<i64>) -> KeyValue {
    attribute(key, Value::IntValue(value.try_into().unwrap_or(i64::MAX)))
}

/// An attribute.
pub(super) fn truth(key: &str, value: bool) -> KeyValue {
    attribute(key, Value::BoolValue(value))
}

/// An attribute.
pub(super) fn texts(key: &str, values: &[String]) -> KeyValue {
    let value = |text: &String| AnyValue { value: Some(Value::StringValue(text.clone())) };
    attribute(key, Value::ArrayValue(ArrayValue { values: values.iter().map(value).collect() }))
}

fn attribute(key: &str, value: Value) -> KeyValue {
    KeyValue {
        key: key.to_owned(),
        value: Some(AnyValue { value: Some(value) }),
        ..KeyValue::default()
    }
}
