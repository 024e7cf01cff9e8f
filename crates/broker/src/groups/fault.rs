//! The errors of a coordinator, with Kafka's codes.

/// Why a request was refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, thiserror::Error)]
pub enum Fault {
    /// The request exceeds a limit of the coordinator.
    #[error("the request exceeds a limit of the coordinator")]
    UnknownServerError,
    /// The metadata of a committed offset is too long.
    #[error("the metadata of the offset is too long")]
    OffsetMetadataTooLarge,
    /// The limit on groups is reached.
    #[error("the limit on groups is reached")]
    CoordinatorNotAvailable,
    /// The generation is not the current one.
    #[error("the generation is not the current one")]
    IllegalGeneration,
    /// No protocol is supported by all members, or the protocol type differs from theirs.
    #[error("the protocols are not compatible with those of the group")]
    InconsistentGroupProtocol,
    /// The group id is empty.
    #[error("the group id is empty")]
    InvalidGroupId,
    /// The group has no member with this id.
    #[error("the member is not in the group")]
    UnknownMemberId,
    /// The session timeout is below or above the limits.
    #[error("the session timeout is out of range")]
    InvalidSessionTimeout,
    /// The group waits for its members to join again.
    #[error("the group is rebalancing")]
    RebalanceInProgress,
    /// The request needs a newer version of its API.
    #[error("the request needs a newer version of its API")]
    UnsupportedVersion,
    /// The setting has no valid value.
    #[error("the value is out of the broker's range")]
    InvalidConfig,
    /// The request lacks a field, or two of its fields do not go together.
    #[error("a field of the request is missing, or does not go with the others")]
    InvalidRequest,
    /// Only an empty group can be deleted.
    #[error("the group has members")]
    NonEmptyGroup,
    /// The group does not exist.
    #[error("the group does not exist")]
    GroupIdNotFound,
    /// The member must join again, with the id in the answer (KIP-394).
    #[error("the member must join again with the id in the answer")]
    MemberIdRequired,
    /// The limit on members is reached.
    #[error("the group is full")]
    GroupMaxSizeReached,
    /// Another member has taken over this instance id (KIP-345).
    #[error("another member has taken over the instance id")]
    FencedInstanceId,
    /// The member is at another epoch (KIP-848). It must give up all partitions and join again.
    #[error("the member is at another epoch: it must give up its partitions and join again")]
    FencedMemberEpoch,
    /// Another member still has this instance id (KIP-848).
    #[error("another member still has the instance id")]
    UnreleasedInstanceId,
    /// There is no such assignor.
    #[error("the assignors are range and uniform")]
    UnsupportedAssignor,
    /// The member is at another epoch (KIP-848), as its next heartbeat will tell.
    #[error("the member is at another epoch")]
    StaleMemberEpoch,
    /// The subscription has a regular expression.
    #[error("this broker does not support subscriptions by a regular expression")]
    InvalidRegularExpression,
}

impl Fault {
    /// Kafka's error code.
    #[must_use]
    pub const fn code(self) -> i16 {
        match self {
            Self::UnknownServerError => -1,
            Self::OffsetMetadataTooLarge => 12,
            Self::CoordinatorNotAvailable => 15,
            Self::IllegalGeneration => 22,
            Self::InconsistentGroupProtocol => 23,
            Self::InvalidGroupId => 24,
            Self::UnknownMemberId => 25,
            Self::InvalidSessionTimeout => 26,
            Self::RebalanceInProgress => 27,
            Self::UnsupportedVersion => 35,
            Self::InvalidConfig => 40,
            Self::InvalidRequest => 42,
            Self::NonEmptyGroup => 68,
            Self::GroupIdNotFound => 69,
            Self::MemberIdRequired => 79,
            Self::GroupMaxSizeReached => 81,
            Self::FencedInstanceId => 82,
            Self::FencedMemberEpoch => 110,
            Self::UnreleasedInstanceId => 111,
            Self::UnsupportedAssignor => 112,
            Self::StaleMemberEpoch => 113,
            Self::InvalidRegularExpression => 128,
        }
    }
}
