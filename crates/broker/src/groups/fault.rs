//! What a coordinator refuses, with the number that Kafka gives it on the wire.

/// Why a request was refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, thiserror::Error)]
pub enum Fault {
    /// More than the coordinator is ready to hold.
    #[error("the request is larger than the coordinator is ready to hold")]
    UnknownServerError,
    /// The text beside a committed offset is too long.
    #[error("the metadata of the offset is too long")]
    OffsetMetadataTooLarge,
    /// There are as many groups as may be.
    #[error("the coordinator cannot take another group")]
    CoordinatorNotAvailable,
    /// The generation is not the current one.
    #[error("the generation is not the current one")]
    IllegalGeneration,
    /// No protocol that all members support, or another type than theirs.
    #[error("the protocols do not fit those of the group")]
    InconsistentGroupProtocol,
    /// A group must have a name.
    #[error("the group id is empty")]
    InvalidGroupId,
    /// Nobody of that name is in the group.
    #[error("the member is not in the group")]
    UnknownMemberId,
    /// Shorter or longer than the coordinator allows.
    #[error("the session timeout is out of range")]
    InvalidSessionTimeout,
    /// The group waits for its members to join again.
    #[error("the group is rebalancing")]
    RebalanceInProgress,
    /// Only an empty group can be deleted.
    #[error("the group has members")]
    NonEmptyGroup,
    /// There is no such group.
    #[error("the group does not exist")]
    GroupIdNotFound,
    /// Join again, with the id in the answer (KIP-394).
    #[error("the member must join again with the id that it was given")]
    MemberIdRequired,
    /// The group has as many members as may be.
    #[error("the group is full")]
    GroupMaxSizeReached,
    /// Another life holds this instance id (KIP-345).
    #[error("the instance id belongs to another member by now")]
    FencedInstanceId,
}

impl Fault {
    /// The error code on the wire.
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
            Self::NonEmptyGroup => 68,
            Self::GroupIdNotFound => 69,
            Self::MemberIdRequired => 79,
            Self::GroupMaxSizeReached => 81,
            Self::FencedInstanceId => 82,
        }
    }
}
