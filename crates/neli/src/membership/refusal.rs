//! Kafka's error codes, as far as a group member meets them, and what each asks of it.

use std::fmt;

/// Why a broker refused a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Refusal {
    /// -1: the broker cannot say more.
    UnknownServerError,
    /// 7: the broker gave up waiting.
    RequestTimedOut,
    /// 14: the coordinator reads the group from its log.
    CoordinatorLoadInProgress,
    /// 15: no broker coordinates the group now.
    CoordinatorNotAvailable,
    /// 16: another broker coordinates the group.
    NotCoordinator,
    /// 22: the group has gone on to another generation.
    IllegalGeneration,
    /// 23: the other members offer no assignor that this one offers.
    InconsistentGroupProtocol,
    /// 24: the group id is empty or not legal.
    InvalidGroupId,
    /// 25: the coordinator does not know the member id.
    UnknownMemberId,
    /// 26: the session timeout is outside the broker's limits.
    InvalidSessionTimeout,
    /// 27: the group waits for its members to join again.
    RebalanceInProgress,
    /// 29: the user may not read the topic.
    TopicAuthorizationFailed,
    /// 30: the user may not use the group.
    GroupAuthorizationFailed,
    /// 31: the user may not use the cluster.
    ClusterAuthorizationFailed,
    /// 35: the broker does not speak this version of the request.
    UnsupportedVersion,
    /// 42: the request makes no sense to the broker.
    InvalidRequest,
    /// 69: there is no such group, or it is one of the other protocol.
    GroupIdNotFound,
    /// 79: join again with the member id that comes with the answer (KIP-394).
    MemberIdRequired,
    /// 81: the group is full.
    GroupMaxSizeReached,
    /// 82: another process holds the instance id now (KIP-345).
    FencedInstanceId,
    /// 110: the member is not at the epoch that the coordinator knows (KIP-848).
    FencedMemberEpoch,
    /// 111: another member holds the instance id, and has not left for a while (KIP-848).
    UnreleasedInstanceId,
    /// 112: the brokers have no such assignor (KIP-848).
    UnsupportedAssignor,
    /// 113: the member has a newer epoch (KIP-848).
    StaleMemberEpoch,
    /// No code: a fence of the group is the highest number that there is.
    NoHigherFence,
    /// Any other code.
    Other(i16),
}

/// What a member does about a refusal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Remedy {
    /// Ask the same broker again, later.
    Retry,
    /// Find the coordinator first.
    Find,
    /// Join again under the same member id.
    Rejoin,
    /// Join again as a new member.
    Restart,
    /// Join again under the member id in the answer.
    TakeId,
    /// Give up: no retry mends this.
    Fail,
}

/// Every code with its name.
const KNOWN: [(Refusal, i16, &str); 24] = [
    (Refusal::UnknownServerError, -1, "UNKNOWN_SERVER_ERROR"),
    (Refusal::RequestTimedOut, 7, "REQUEST_TIMED_OUT"),
    (Refusal::CoordinatorLoadInProgress, 14, "COORDINATOR_LOAD_IN_PROGRESS"),
    (Refusal::CoordinatorNotAvailable, 15, "COORDINATOR_NOT_AVAILABLE"),
    (Refusal::NotCoordinator, 16, "NOT_COORDINATOR"),
    (Refusal::IllegalGeneration, 22, "ILLEGAL_GENERATION"),
    (Refusal::InconsistentGroupProtocol, 23, "INCONSISTENT_GROUP_PROTOCOL"),
    (Refusal::InvalidGroupId, 24, "INVALID_GROUP_ID"),
    (Refusal::UnknownMemberId, 25, "UNKNOWN_MEMBER_ID"),
    (Refusal::InvalidSessionTimeout, 26, "INVALID_SESSION_TIMEOUT"),
    (Refusal::RebalanceInProgress, 27, "REBALANCE_IN_PROGRESS"),
    (Refusal::TopicAuthorizationFailed, 29, "TOPIC_AUTHORIZATION_FAILED"),
    (Refusal::GroupAuthorizationFailed, 30, "GROUP_AUTHORIZATION_FAILED"),
    (Refusal::ClusterAuthorizationFailed, 31, "CLUSTER_AUTHORIZATION_FAILED"),
    (Refusal::UnsupportedVersion, 35, "UNSUPPORTED_VERSION"),
    (Refusal::InvalidRequest, 42, "INVALID_REQUEST"),
    (Refusal::GroupIdNotFound, 69, "GROUP_ID_NOT_FOUND"),
    (Refusal::MemberIdRequired, 79, "MEMBER_ID_REQUIRED"),
    (Refusal::GroupMaxSizeReached, 81, "GROUP_MAX_SIZE_REACHED"),
    (Refusal::FencedInstanceId, 82, "FENCED_INSTANCE_ID"),
    (Refusal::FencedMemberEpoch, 110, "FENCED_MEMBER_EPOCH"),
    (Refusal::UnreleasedInstanceId, 111, "UNRELEASED_INSTANCE_ID"),
    (Refusal::UnsupportedAssignor, 112, "UNSUPPORTED_ASSIGNOR"),
    (Refusal::StaleMemberEpoch, 113, "STALE_MEMBER_EPOCH"),
];

impl Refusal {
    /// The refusal that a code on the wire means; none where the code is 0.
    #[must_use]
    pub fn from_code(code: i16) -> Option<Self> {
        let known = KNOWN.iter().find(|(_, number, _)| *number == code);
        match (code, known) {
            (0, _) => None,
            (_, Some((refusal, ..))) => Some(*refusal),
            (_, None) => Some(Self::Other(code)),
        }
    }

    /// The code on the wire.
    #[must_use]
    pub fn code(self) -> i16 {
        match (self, KNOWN.iter().find(|(refusal, ..)| *refusal == self)) {
            (Self::Other(code), _) | (_, Some(&(_, code, _))) => code,
            (_, None) => -1,
        }
    }

    pub(super) const fn remedy(self) -> Remedy {
        match self {
            Self::UnknownServerError
            | Self::RequestTimedOut
            | Self::CoordinatorLoadInProgress
            | Self::GroupIdNotFound
            | Self::UnreleasedInstanceId
            | Self::StaleMemberEpoch
            | Self::Other(_) => Remedy::Retry,
            Self::CoordinatorNotAvailable | Self::NotCoordinator => Remedy::Find,
            Self::IllegalGeneration | Self::RebalanceInProgress => Remedy::Rejoin,
            Self::UnknownMemberId | Self::FencedMemberEpoch => Remedy::Restart,
            Self::MemberIdRequired => Remedy::TakeId,
            Self::InconsistentGroupProtocol
            | Self::InvalidGroupId
            | Self::InvalidSessionTimeout
            | Self::TopicAuthorizationFailed
            | Self::GroupAuthorizationFailed
            | Self::ClusterAuthorizationFailed
            | Self::UnsupportedVersion
            | Self::InvalidRequest
            | Self::GroupMaxSizeReached
            | Self::UnsupportedAssignor
            | Self::NoHigherFence
            | Self::FencedInstanceId => Remedy::Fail,
        }
    }

    /// Whether it is unknown if a retry helps; a member then retries only a few times.
    pub(super) const fn is_obscure(self) -> bool {
        matches!(self, Self::UnknownServerError | Self::GroupIdNotFound | Self::Other(_))
    }

    /// Whether the coordinator may still count a member in that gives up over this.
    pub(super) const fn leaves_a_member(self) -> bool {
        !matches!(
            self,
            Self::FencedInstanceId
                | Self::GroupMaxSizeReached
                | Self::GroupAuthorizationFailed
                | Self::ClusterAuthorizationFailed
        )
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match KNOWN.iter().find(|(refusal, ..)| refusal == self) {
            Some((_, code, name)) => write!(f, "{name} ({code})"),
            None if *self == Self::NoHigherFence => f.write_str(
                "no fence is left, for a committed offset of the group is the highest number that \
                 there is: delete the offsets of the group, and lower the stores' fences",
            ),
            None => write!(f, "error {}", self.code()),
        }
    }
}

impl std::error::Error for Refusal {}
