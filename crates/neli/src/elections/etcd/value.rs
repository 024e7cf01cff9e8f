//! The inputs and outputs of the core, as values.

use std::collections::BTreeMap;
use std::time::Duration;

use tandem_facts::ids::PartitionId;

/// A lease, as etcd numbers it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LeaseId(pub i64);

/// A revision of the store; every change has a greater one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Revision(pub i64);

/// Who holds a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Holder {
    /// The lease to which the key is bound.
    pub lease: LeaseId,
    /// The revision that created the key: the fence.
    pub created: Revision,
}

/// A request to the store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Request {
    /// Grant a lease of this length, or of the server's least.
    Grant(Duration),
    /// Renew the lease.
    KeepAlive(LeaseId),
    /// Read the keys of all partitions.
    Read,
    /// Watch the keys of all partitions from this revision on, in place of any earlier watch.
    Watch(Revision),
    /// Create the key of the partition, bound to the lease, if it is absent; else read it.
    Create(PartitionId, LeaseId),
    /// Revoke the lease, and so delete all keys that are bound to it.
    Revoke(LeaseId),
}

/// The answer to a request. Each request but a watch gets exactly one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// The store granted a lease for so long.
    Granted(LeaseId, Duration),
    /// The store renewed the lease for so long.
    KeptAlive(Duration),
    /// The keys that exist at a revision.
    Keys(Revision, BTreeMap<PartitionId, Holder>),
    /// Who holds the key at a revision: the author of the request if the lease is its own.
    Held(Revision, Holder),
    /// The lease is revoked.
    Revoked,
    /// The store knows no such lease.
    NoLease,
    /// No answer in time, or a refusal. The request may have been carried out.
    Failed,
}

/// What a watch reports.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Watched {
    /// The key of the partition was deleted at this revision.
    Deleted(PartitionId, Revision),
    /// The watch ended; changes may be missed.
    Ended,
}
