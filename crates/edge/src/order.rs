//! What the process of the edges is told, and what it says: one JSON object a line.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use tandem_facts::ids::{ClusterName, FaultId, MemberId};
use tandem_facts::time::{Mono, Span};
use tandem_host::secret::Secret;

/// An order; each is answered by one line, in the order in which they were given.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Order {
    /// Opens the edges of a client to the first brokers of a cluster; those to others open as
    /// answers name them. A client that has them keeps them. Answered by `opened`.
    Open {
        /// Whose edges.
        client: MemberId,
        /// To which cluster.
        cluster: ClusterName,
        /// Where it is, as a client would be told: `host:port,host:port`.
        bootstrap: String,
        /// How its brokers want to be spoken to, where they want TLS. The client speaks to its
        /// edges without, whatever the brokers want.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        tls: Option<Tls>,
    },
    /// Puts a rule in force, beside others of the same fault, on the connections that are open as
    /// well as on those to come. Answered by `in_force`.
    Break {
        /// By which name it is lifted again.
        fault: FaultId,
        /// What is done to whom.
        rule: Rule,
    },
    /// Lifts what a fault has put in force; one that has put nothing is lifted already. Answered by
    /// `healed`.
    Heal {
        /// Which.
        fault: FaultId,
    },
}

/// TLS towards brokers. The host that is verified is the one that the broker advertises, or that
/// the bootstrap says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tls {
    /// A file of authorities, or a folder of them by hash (`ssl.ca.location`); nothing said are
    /// those that this machine knows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ca: Option<String>,
    /// The file of the certificate that is shown, its chain behind it
    /// (`ssl.certificate.location`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub certificate: Option<String>,
    /// The file of its key, PEM (`ssl.key.location`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// Where the password of the key stands (`ssl.key.password`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key_password: Option<Secret>,
    /// Whether the broker's certificate is verified (`enable.ssl.certificate.verification`).
    #[serde(default = "yes")]
    pub verify: bool,
    /// Whether it must be for the broker's host (`ssl.endpoint.identification.algorithm`, unless
    /// that is `none`).
    #[serde(default = "yes")]
    pub verify_host: bool,
}

const fn yes() -> bool {
    true
}

/// What passes which edges, and what is done to it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Rule {
    /// The clients whose edges these are.
    pub clients: BTreeSet<MemberId>,
    /// To which brokers.
    pub scope: Scope,
    /// Which way.
    pub direction: Direction,
    /// Only requests of these numbers (Kafka's API keys), and their answers; nothing said is every
    /// byte.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub apis: Option<BTreeSet<i16>>,
    /// What is done.
    pub effect: Effect,
}

/// To which brokers of a cluster.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Scope {
    /// Which cluster.
    pub cluster: ClusterName,
    /// The addresses that its brokers advertise, `host:port`, or other names for the same; nothing
    /// said is every broker.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub brokers: Option<BTreeSet<String>>,
}

/// Which way.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Direction {
    /// Both ways.
    #[default]
    Both,
    /// What the client sends.
    ToBroker,
    /// What the broker sends.
    ToClient,
}

/// What is done to what passes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Effect {
    /// It is discarded. A connection that lost bytes is reset when the rule is lifted; of single
    /// requests, only these are lost, and the connection lives on.
    ///
    /// The system accepts new connections meanwhile, since a SYN cannot be lost without root, but
    /// no broker hears of them before the rule is lifted, and nothing passes.
    Drop,
    /// It is held, and delivered when the rule is lifted, as by a network that lost its route. Of
    /// single requests or answers, only these are held, and what comes after them goes before them:
    /// a client that insists on answers in the order of its requests (Java's) takes such a
    /// connection for broken once one overtakes.
    Stall,
    /// Connections are reset both ways, and new ones as soon as they are accepted; where single
    /// requests are named, as soon as one of them, or its answer, comes.
    Reset,
    /// It passes late, or slowly, in the order in which it came: where single requests are slow,
    /// so is what comes behind them on the same connection. Delays of several rules add up, of
    /// several rates the least counts. Timers are good to a millisecond.
    Slow {
        /// Each byte passes so much later.
        delay: Span,
        /// A uniform draw from nothing to this is added, a piece at a time.
        jitter: Span,
        /// So many bytes a second and connection; nothing said is no limit.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        bytes_per_second: Option<u64>,
    },
    /// The broker does not see the request: it is answered here, with this error code of Kafka's,
    /// when all that was asked before it on that connection has been answered. A Produce request
    /// that wants no answer is lost.
    Answer {
        /// Which.
        code: i16,
    },
}

/// What the process of the edges says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Answer {
    /// The edges are open.
    Opened {
        /// What the client is to be given as its bootstrap.
        bootstrap: String,
    },
    /// No byte that the rule concerns has left an edge since. What left before it may lie in the
    /// system's buffers until its reader takes it; of single requests, those that had begun to
    /// leave have ended, or their connections were reset.
    InForce {
        /// Since when.
        #[serde(rename = "t_ns")]
        t: Mono,
    },
    /// The rule concerns nothing that arrives from now on.
    Healed {
        /// Since when.
        #[serde(rename = "t_ns")]
        t: Mono,
    },
    /// The order cannot be followed, and has changed nothing.
    Refused {
        /// Why not.
        why: String,
    },
    /// Unasked: the first answer of a broker that left for a client after a rule between them was
    /// lifted; where all rules of the fault there named requests, the first to one of these. Said
    /// once a fault, client and broker.
    Passed {
        /// By which name the rule was known.
        fault: FaultId,
        /// Whom it reached.
        client: MemberId,
        /// Which broker's it was: the address that it advertises, or that the bootstrap says.
        broker: String,
        /// When.
        #[serde(rename = "t_ns")]
        t: Mono,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn orders_read_as_they_are_written() {
        let told = r#"{"break":{"fault":"1.k","rule":{"clients":["p1-1"],"scope":{"cluster":"a"},
            "direction":"to_broker","apis":[12],"effect":"drop"}}}"#;
        let order: Order = serde_json::from_str(told).unwrap();
        let Order::Break { rule, .. } = &order else { panic!("{order:?}") };
        assert_eq!(rule.apis, Some([12].into()));
        assert_eq!(rule.scope.brokers, None);
        let again = serde_json::to_string(&order).unwrap();
        assert_eq!(serde_json::from_str::<Order>(&again).unwrap(), order);
    }
}
