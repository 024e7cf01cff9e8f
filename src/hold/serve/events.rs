//! The stream of server-sent events.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::sync::Arc;

use axum::response::sse;
use futures_util::stream::{Stream, unfold};

use super::answers::{EventBody, Problem, Roles};
use crate::hold::Holder;
use crate::ids::PartitionId;
use crate::time::Mono;
use tandem_member::{Event, Events, Next};

/// The most roles that an event names.
const NAMED_MAX: usize = 100;

/// The roles on a partition.
fn roles_on(holder: &Holder, partition: PartitionId) -> Roles {
    let classes = holder.roles.classes(&[holder.member.claims().width()]);
    let mut all = classes.filter(|class| class.first.0 == partition.0);
    let class = all.next();
    let names = class.into_iter().flat_map(|class| class.roles().take(NAMED_MAX));
    Roles {
        partition: partition.0,
        roles: names.filter_map(|role| holder.roles.name(role)).collect(),
        role_count: class.map_or(0, |class| class.count),
    }
}

/// What a reader learns of an event, if it is any of its business.
fn body(holder: &Holder, next: Next) -> Option<EventBody> {
    match next {
        Next::Missed(count) => Some(EventBody::Missed { count }),
        Next::Event(_, event) => match event {
            Event::Claimed { partition, .. } => {
                Some(EventBody::Claimed(roles_on(holder, partition)))
            }
            Event::Lapsed { partition, .. } => Some(EventBody::Lapsed(roles_on(holder, partition))),
            Event::Unconnected(error) => Some(EventBody::Unconnected(Problem { error })),
            Event::Connected => Some(EventBody::Connected {}),
            Event::Left => Some(EventBody::Left {}),
            // The member leaves, which is told, and the process ends.
            Event::Refused(_)
            | Event::Assigned(_)
            | Event::Revoked(_)
            | Event::Lost(_)
            | Event::Renewed(_)
            | Event::Clock(_) => None,
        },
    }
}

/// All events from now on, after one for each partition that is led already.
pub(super) fn stream(
    holder: Arc<Holder>,
) -> impl Stream<Item = Result<sse::Event, Infallible>> + Send + 'static {
    // First the stream, then the state: what happens in between is sent twice, and never lost.
    let events = holder.member.events();
    let led = holder.member.claims().led(Mono::now());
    let first: VecDeque<EventBody> =
        led.into_iter().map(|it| EventBody::Claimed(roles_on(&holder, it))).collect();
    unfold((holder, events, first), |(holder, mut events, mut first)| async move {
        let body = match first.pop_front() {
            Some(body) => body,
            None => next(&holder, &mut events).await?,
        };
        let data = serde_json::to_string(&body).unwrap_or_default();
        let event = sse::Event::default().event(body.name()).data(data);
        Some((Ok(event), (holder, events, first)))
    })
}

async fn next(holder: &Holder, events: &mut Events) -> Option<EventBody> {
    loop {
        if let Some(body) = body(holder, events.next().await?) {
            return Some(body);
        }
    }
}
