//! The words for faults, and the fields that each of them knows.

use crate::ids::FaultId;
use crate::observation::{FaultClass, What};

/// The word for a fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// A process dies.
    Kill,
    /// A process leaves its group and ends.
    Leave,
    /// A process ends without leaving.
    Stop,
    /// All processes of a machine die.
    Host,
    /// A process is stopped for a while.
    Pause,
    /// Nothing passes.
    Partition,
    /// What passes is late.
    Slow,
    /// Some requests fail.
    Protocol,
    /// A broker dies, or stands still.
    Broker,
    /// A wall clock is wrong.
    Clock,
    /// Members go and come.
    Churn,
    /// Somebody else is there by the same name.
    Duplicate,
    /// Members leave and come back, one after the other.
    Rollout,
    /// Anything, again and again.
    Storm,
    /// Nothing happens.
    Noop,
}

impl Kind {
    /// All of them.
    pub const ALL: [Self; 15] = [
        Self::Kill,
        Self::Leave,
        Self::Stop,
        Self::Host,
        Self::Pause,
        Self::Partition,
        Self::Slow,
        Self::Protocol,
        Self::Broker,
        Self::Clock,
        Self::Churn,
        Self::Duplicate,
        Self::Rollout,
        Self::Storm,
        Self::Noop,
    ];

    /// Those that a storm may strike with.
    pub const STORMY: [Self; 5] =
        [Self::Kill, Self::Leave, Self::Stop, Self::Pause, Self::Partition];

    /// Those that are many strikes, of which each has a name of its own.
    #[must_use]
    pub fn is_series(self) -> bool {
        matches!(self, Self::Churn | Self::Rollout | Self::Storm)
    }

    /// The word that experiments use.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Kill => "kill",
            Self::Leave => "leave",
            Self::Stop => "stop",
            Self::Host => "host",
            Self::Pause => "pause",
            Self::Partition => "partition",
            Self::Slow => "slow",
            Self::Protocol => "protocol",
            Self::Broker => "broker",
            Self::Clock => "clock",
            Self::Churn => "churn",
            Self::Duplicate => "duplicate",
            Self::Rollout => "rollout",
            Self::Storm => "storm",
            Self::Noop => "noop",
        }
    }

    /// What it does to whom it strikes.
    #[must_use]
    pub fn class(self) -> FaultClass {
        match self {
            Self::Kill | Self::Stop | Self::Host => FaultClass::Kills,
            Self::Leave | Self::Rollout | Self::Churn => FaultClass::Leaves,
            Self::Pause => FaultClass::Pauses,
            Self::Partition | Self::Slow | Self::Protocol => FaultClass::Intercepts,
            Self::Broker => FaultClass::Brokers,
            Self::Clock => FaultClass::Skews,
            Self::Duplicate => FaultClass::Duplicates,
            Self::Storm => FaultClass::Other,
            Self::Noop => FaultClass::Nothing,
        }
    }

    /// The fact that it is about to be done to a life, or to nobody in particular.
    pub(super) fn asked(self, fault: &FaultId) -> What {
        What::FaultAsked {
            fault: fault.clone(),
            kind: self.as_str().to_owned(),
            class: self.class(),
            broker: None,
            cluster: None,
        }
    }

    /// What a sentence calls it.
    #[must_use]
    pub fn noun(self) -> &'static str {
        match self {
            Self::Slow => "slow network",
            Self::Protocol => "protocol fault",
            Self::Broker => "broker fault",
            Self::Clock => "clock fault",
            Self::Host => "host fault",
            Self::Kill
            | Self::Leave
            | Self::Stop
            | Self::Pause
            | Self::Partition
            | Self::Churn
            | Self::Duplicate
            | Self::Rollout
            | Self::Storm
            | Self::Noop => self.as_str(),
        }
    }

    /// The fields of a step that it knows, beside those that say when and to whom.
    #[must_use]
    pub fn fields(self) -> &'static [&'static str] {
        match self {
            Self::Kill | Self::Stop | Self::Host => &["restart_after", "overlap_restart"],
            Self::Leave | Self::Rollout => &["restart_after"],
            Self::Pause | Self::Duplicate | Self::Noop => &["for"],
            Self::Partition => &["for", "behavior", "direction", "from", "apis"],
            Self::Slow => &["for", "latency", "latency_jitter", "rate", "direction", "from"],
            Self::Protocol => &[
                "for",
                "apis",
                "behavior",
                "latency",
                "latency_jitter",
                "error",
                "direction",
                "from",
            ],
            Self::Broker => &["how", "restart_after", "for"],
            Self::Clock => &["for", "ahead", "behind", "drift", "step_every"],
            Self::Churn => &["for", "every", "graceful", "restart_after", "overlap_restart"],
            Self::Storm => &["for", "every", "faults", "hold", "restart_after", "overlap_restart"],
        }
    }
}
