//! The commands to the process of the edges, and its answers: one JSON object per line.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use tandem_facts::ids::{ClusterName, FaultId, MemberId};
use tandem_facts::time::{Mono, Span};
use tandem_host::secret::Secret;

/// A command. Each is answered by one line, in the order of the commands.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EdgeCommand {
    /// Opens the edges of a client to the bootstrap brokers of a cluster. Edges to other brokers
    /// open when answers contain their addresses. Existing edges stay open. Answered by `opened`.
    Open {
        /// The client of the edges.
        client: MemberId,
        /// The cluster of the brokers.
        cluster: ClusterName,
        /// The cluster's bootstrap: `host:port,host:port`.
        bootstrap: String,
        /// TLS towards the brokers, if they require it. The client never uses TLS towards its
        /// edges.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        tls: Option<Tls>,
    },
    /// Puts a rule in force for open and for new connections, beside other rules of the same fault.
    /// Answered by `in_force`.
    Break {
        /// The fault, by which the rule is lifted again.
        fault: FaultId,
        /// The rule.
        rule: Rule,
    },
    /// Lifts all rules of a fault, if there are any. Answered by `healed`.
    Heal {
        /// The fault.
        fault: FaultId,
    },
}

/// TLS towards brokers. The verified host is the one that the broker advertises, or that of the
/// bootstrap.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tls {
    /// A file of certificate authorities, or a folder of them by hash (`ssl.ca.location`). By
    /// default those of this machine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ca: Option<String>,
    /// The file of the client certificate, followed by its chain (`ssl.certificate.location`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub certificate: Option<String>,
    /// The file of the certificate's key, PEM (`ssl.key.location`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// The location of the key's password (`ssl.key.password`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key_password: Option<Secret>,
    /// Whether the broker's certificate is verified (`enable.ssl.certificate.verification`).
    #[serde(default = "yes")]
    pub verify: bool,
    /// Whether the certificate must be for the broker's host
    /// (`ssl.endpoint.identification.algorithm` other than `none`).
    #[serde(default = "yes")]
    pub verify_host: bool,
}

const fn yes() -> bool {
    true
}

/// A rule: what it selects, and its effect.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Rule {
    /// The clients whose edges the rule selects.
    pub clients: BTreeSet<MemberId>,
    /// The brokers.
    pub scope: Scope,
    /// The direction.
    pub direction: Direction,
    /// The API keys of the requests that the rule selects, with their answers. By default all
    /// bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub apis: Option<BTreeSet<i16>>,
    /// The effect.
    pub effect: Effect,
}

/// Some or all brokers of a cluster.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Scope {
    /// The cluster.
    pub cluster: ClusterName,
    /// The addresses that brokers advertise, `host:port`, or other names of the same brokers. By
    /// default all brokers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub brokers: Option<BTreeSet<String>>,
}

/// A direction of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Direction {
    /// Both directions.
    #[default]
    Both,
    /// From the client to the broker.
    ToBroker,
    /// From the broker to the client.
    ToClient,
}

/// The effect of a rule on the selected bytes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Effect {
    /// Drops the bytes. A connection that lost bytes is reset when the rule is lifted. Of single
    /// requests, only the selected ones are dropped, and the connection stays open.
    ///
    /// The system still accepts new connections, since dropping a SYN needs root. But no broker
    /// sees them before the rule is lifted, and nothing passes.
    Drop,
    /// Holds the bytes, and delivers them when the rule is lifted, like a network that lost a
    /// route. Of single requests or answers, only the selected ones are held, and later ones pass
    /// them. A client that relies on the order of answers (Java's) considers the connection broken
    /// once that happens.
    Stall,
    /// Resets connections, new ones as soon as they are accepted. If requests are selected, resets
    /// a connection at the first of them or of their answers.
    Reset,
    /// Delays or slows the bytes and keeps their order: behind a slow request, everything on the
    /// same connection is slow. Delays of several rules add up; of several rates the lowest
    /// applies. Timers are accurate to a millisecond.
    Slow {
        /// The delay of each byte.
        delay: Span,
        /// The maximum of a uniformly random delay that is added for each piece.
        jitter: Span,
        /// The rate per connection. By default there is no limit.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        bytes_per_second: Option<u64>,
    },
    /// Answers the request in the broker's place with this Kafka error code, once all earlier
    /// requests on the connection have been answered. The broker does not see the request. A
    /// Produce request that expects no answer is dropped.
    Answer {
        /// The error code.
        code: i16,
    },
}

/// An answer of the process of the edges.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Answer {
    /// The edges are open.
    Opened {
        /// The bootstrap for the client.
        bootstrap: String,
    },
    /// No byte that the rule selects has left an edge since `t`. Earlier bytes may still be in the
    /// system's buffers. Of single requests, those that were passing have passed completely, or
    /// their connections were reset.
    InForce {
        /// The instant from which the rule is in force.
        #[serde(rename = "t_ns")]
        t: Mono,
    },
    /// The rule does not affect bytes that arrive after `t`.
    Healed {
        /// The instant from which the rule is lifted.
        #[serde(rename = "t_ns")]
        t: Mono,
    },
    /// The command cannot be executed and has changed nothing.
    Refused {
        /// The reason.
        why: String,
    },
    /// Sent without a command: the first answer of a broker left for a client after a rule between
    /// the two was lifted. If all rules of the fault selected requests, it is the first answer to
    /// one of these. Sent once for each fault, client and broker.
    Passed {
        /// The fault of the rule.
        fault: FaultId,
        /// The client that received the answer.
        client: MemberId,
        /// The broker: the address that it advertises, or that of the bootstrap.
        broker: String,
        /// The instant.
        #[serde(rename = "t_ns")]
        t: Mono,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_read_as_they_are_written() {
        let text = r#"{"break":{"fault":"1.k","rule":{"clients":["p1-1"],"scope":{"cluster":"a"},
            "direction":"to_broker","apis":[12],"effect":"drop"}}}"#;
        let command: EdgeCommand = serde_json::from_str(text).unwrap();
        let EdgeCommand::Break { rule, .. } = &command else { panic!("{command:?}") };
        assert_eq!(rule.apis, Some([12].into()));
        assert_eq!(rule.scope.brokers, None);
        let again = serde_json::to_string(&command).unwrap();
        assert_eq!(serde_json::from_str::<EdgeCommand>(&again).unwrap(), command);
    }
}
