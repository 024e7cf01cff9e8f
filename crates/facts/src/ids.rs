//! One type for each kind of identifier, so that a group name cannot be used as a topic name. The
//! constructors validate: a value of such a type is always a legal name.

use std::borrow::Borrow;
use std::fmt;
use std::str::FromStr;

#[cfg(feature = "serde")]
use {
    schemars::JsonSchema,
    serde::{Deserialize, Serialize},
};

/// Why a text is not a legal name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NameError {
    /// The text is empty.
    Empty {
        /// The kind of name, as a noun.
        what: &'static str,
    },
    /// The text is longer than this kind of name allows.
    Long {
        /// The kind of name, as a noun.
        what: &'static str,
        /// The greatest number of characters allowed.
        most: usize,
        /// The number of characters in the text.
        length: usize,
    },
    /// A character that is illegal in Kafka, in a file name or in a metric label.
    Character {
        /// The kind of name, as a noun.
        what: &'static str,
        /// The first illegal character.
        found: char,
    },
    /// `.` or `..`: Kafka refuses them as topics, and file systems refuse them as file names.
    Dots {
        /// The kind of name, as a noun.
        what: &'static str,
        /// The name itself.
        name: String,
    },
}

impl fmt::Display for NameError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty { what } => write!(f, "a {what} must not be empty"),
            Self::Long { what, most, length } => {
                write!(f, "a {what} has at most {most} characters, this one has {length}")
            }
            Self::Character { what, found } => {
                write!(f, "a {what} consists of letters, digits, '.', '_' and '-', not {found:?}")
            }
            Self::Dots { what, name } => write!(f, "a {what} must not be {name:?}"),
        }
    }
}

impl std::error::Error for NameError {}

/// Kafka's rule for topics (`org.apache.kafka.common.internals.Topic`), used for every name here.
fn check(what: &'static str, most: usize, name: &str) -> Result<(), NameError> {
    if name.is_empty() {
        return Err(NameError::Empty { what });
    }
    let legal = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
    if let Some(found) = name.chars().find(|&c| !legal(c)) {
        return Err(NameError::Character { what, found });
    }
    if name == "." || name == ".." {
        return Err(NameError::Dots { what, name: name.to_owned() });
    }
    if name.len() > most {
        return Err(NameError::Long { what, most, length: name.len() });
    }
    Ok(())
}

macro_rules! name {
    ($(#[$doc:meta])* $type:ident, $what:literal, $most:literal) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[cfg_attr(
            feature = "serde",
            derive(Serialize, Deserialize, JsonSchema),
            serde(try_from = "String", into = "String"),
            schemars(with = "String")
        )]
        pub struct $type(String);

        impl $type {
            /// The name as text.
            #[must_use]
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }
        impl FromStr for $type {
            type Err = NameError;
            fn from_str(name: &str) -> Result<Self, NameError> {
                check($what, $most, name).map(|()| Self(name.to_owned()))
            }
        }
        impl TryFrom<String> for $type {
            type Error = NameError;
            fn try_from(name: String) -> Result<Self, NameError> {
                check($what, $most, &name).map(|()| Self(name))
            }
        }
        impl From<$type> for String {
            fn from(name: $type) -> Self {
                name.0
            }
        }
        impl Borrow<str> for $type {
            fn borrow(&self) -> &str {
                &self.0
            }
        }
        impl fmt::Display for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(&self.0)
            }
        }
    };
}

name!(
    /// The name of a topology, and of everything named after it.
    TopologyName, "topology name", 100
);
name!(
    /// The name of an experiment, and of its output folder.
    ExperimentName, "experiment name", 100
);
name!(
    /// A unit of work that must always have a leader.
    RoleName, "role name", 100
);
name!(
    /// A NELI group.
    GroupName, "group name", 100
);
name!(
    /// A set of brokers.
    ClusterName, "cluster name", 100
);
name!(
    /// A label for a machine. Groups and embedded brokers on the same machine share it. It is
    /// declared, not verified.
    HostName, "host name", 100
);
name!(
    /// A member of a group, across all its incarnations: `p1-1`.
    MemberId, "member name", 120
);
name!(
    /// A Kafka topic.
    TopicName, "topic name", 249
);
name!(
    /// A Kafka consumer group (`group.id`).
    ConsumerGroup, "consumer group", 249
);
name!(
    /// A step of an experiment's method.
    StepId, "step id", 100
);

macro_rules! number {
    ($(#[$doc:meta])* $type:ident) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[cfg_attr(
            feature = "serde",
            derive(Serialize, Deserialize, JsonSchema),
            serde(transparent)
        )]
        pub struct $type(pub u32);

        impl fmt::Display for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(&self.0, f)
            }
        }
    };
}

number!(
    /// A partition of a topic, counted from 0.
    PartitionId
);
number!(
    /// The index of a role in the topology's list, counted from 0.
    RoleIndex
);
number!(
    /// One life of a member's process, counted from 1; a restart is a new one.
    Incarnation
);
number!(
    /// One claim of one life on one partition, counted from 1.
    Term
);
number!(
    /// One repetition of an experiment, counted from 1.
    TrialNumber
);

impl Term {
    /// The one that follows.
    #[must_use]
    pub const fn next(self) -> Self {
        Self(self.0.saturating_add(1))
    }
}

impl PartitionId {
    /// The partition as an index into a list with one entry per partition.
    #[must_use]
    pub fn index(self) -> usize {
        usize::try_from(self.0).unwrap_or(usize::MAX)
    }
}

impl RoleIndex {
    /// The partition of role `j`: `j mod |M|`. Every role has one, for any number of roles and
    /// partitions.
    #[must_use]
    pub fn partition(self, width: std::num::NonZeroU32) -> PartitionId {
        PartitionId(self.0 % width)
    }
}

macro_rules! written {
    ($(#[$doc:meta])* $type:ident, $error:ident, $form:literal, $parse:expr) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq)]
        pub struct $error(String);

        impl fmt::Display for $error {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!($form, ", not {:?}"), self.0)
            }
        }
        impl std::error::Error for $error {}

        impl TryFrom<String> for $type {
            type Error = $error;
            fn try_from(text: String) -> Result<Self, $error> {
                let parse: fn(&str) -> Option<Self> = $parse;
                parse(&text).ok_or($error(text))
            }
        }
        impl From<$type> for String {
            fn from(value: $type) -> Self {
                value.to_string()
            }
        }
    };
}

/// One life of one member, written `p1-1.2`. Kafka sees it as the `client.id`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(
    feature = "serde",
    derive(Serialize, Deserialize, JsonSchema),
    serde(try_from = "String", into = "String"),
    schemars(with = "String")
)]
pub struct Life {
    /// The member.
    pub member: MemberId,
    /// Which of the member's lives.
    pub incarnation: Incarnation,
}

written!(
    /// A text that is not of the form `<member>.<incarnation>`.
    Life, LifeError, "a life is written <member>.<incarnation>, as in p1-1.2", |text| {
        let (member, incarnation) = text.rsplit_once('.')?;
        let incarnation = Incarnation(incarnation.parse().ok()?);
        Some(Life { member: member.parse().ok()?, incarnation })
    }
);

impl fmt::Display for Life {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.member, self.incarnation)
    }
}

/// One fault of one trial, written `3.k`: step `k` in trial 3.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(
    feature = "serde",
    derive(Serialize, Deserialize, JsonSchema),
    serde(try_from = "String", into = "String"),
    schemars(with = "String")
)]
pub struct FaultId {
    /// The trial in which the fault is injected.
    pub trial: TrialNumber,
    /// The step of the method that injects it.
    pub step: StepId,
}

written!(
    /// A text that is not of the form `<trial>.<step>`.
    FaultId, FaultIdError, "a fault is written <trial>.<step>, as in 3.k", |text| {
        let (trial, step) = text.split_once('.')?;
        Some(FaultId { trial: TrialNumber(trial.parse().ok()?), step: step.parse().ok()? })
    }
);

impl fmt::Display for FaultId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.trial, self.step)
    }
}
