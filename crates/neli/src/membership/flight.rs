//! A request that is under way.

use std::time::Duration;

use super::backoff::doubled;
use super::{Broker, Request, RequestId};
use tandem_facts::time::Mono;

/// A request that was sent and not answered yet.
#[derive(Debug, Clone, Hash)]
pub(super) struct Flight {
    pub(super) id: RequestId,
    pub(super) to: Option<Broker>,
    pub(super) kind: Kind,
    /// The member that it speaks for; empty where that has no id yet.
    pub(super) member_id: String,
    /// The instant before it was sent.
    pub(super) sent: Mono,
    /// When the member gives it up.
    pub(super) deadline: Mono,
    /// Whether another request failed meanwhile, so that this one may be lost as well.
    pub(super) suspect: bool,
}

/// What a request asks, and all of it that its answer is judged by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Kind {
    Find,
    Join,
    Sync { generation: i32 },
    Heartbeat { generation: i32 },
    Offsets { generation: i32 },
    Commit { generation: i32 },
    Leaders,
    Leave,
}

impl Kind {
    pub(super) const fn of(request: &Request) -> Self {
        match request {
            Request::FindCoordinator => Self::Find,
            Request::Join(_) => Self::Join,
            Request::Sync(sync) => Self::Sync { generation: sync.generation },
            Request::Heartbeat { generation, .. } => Self::Heartbeat { generation: *generation },
            Request::Offsets { generation, .. } => Self::Offsets { generation: *generation },
            Request::Commit { generation, .. } => Self::Commit { generation: *generation },
            // The last three are of the newer protocol: no member of this kind sends them.
            Request::Leaders { .. } | Request::Beat(_) | Request::Session | Request::Members => {
                Self::Leaders
            }
            Request::Leave { .. } => Self::Leave,
        }
    }
}

impl Flight {
    /// Whether it is a join of a member without an id: the coordinator makes up an id, and if the
    /// answer is lost, no one knows it.
    pub(super) fn is_anonymous_join(&self) -> bool {
        self.kind == Kind::Join && self.member_id.is_empty()
    }
}

/// How long a member waits for an answer: what the broker gives at once is overdue after a third of
/// the session, what other members delay after a session. Each failure in a row doubles that, up to
/// a limit, for the network may be slow and not broken.
pub(super) fn patience(
    waits_for_others: bool,
    session: Duration,
    rebalance: Duration,
    failures: u32,
) -> Duration {
    let (first, longest) = if waits_for_others {
        (session, session.max(rebalance))
    } else {
        (session / 3, session * 2 / 3)
    };
    doubled(first, failures).min(longest).max(Duration::from_millis(10))
}
