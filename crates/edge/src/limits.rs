//! What an edge may hold. Whatever would exceed it costs its own connection, and nobody else's.

/// Bytes that wait in one direction of one connection before no more are read from it; what it
/// sends then waits in the system's buffers. A slow link carries at most so much in one delay.
pub(super) const QUEUED_MAX: usize = 1 << 20;
/// Bytes of single requests or answers that a rule holds, a connection and direction.
pub(super) const HELD_MAX: usize = 16 << 20;
/// The longest answer that is taken in whole, for the addresses in it: librdkafka and Java fetch at
/// most 50 MiB unless told otherwise.
pub(super) const ANSWER_MAX: usize = 64 << 20;
/// The longest request: Kafka's own `socket.request.max.bytes`.
pub(super) const REQUEST_MAX: usize = 100 << 20;
/// The longest request that is answered here.
pub(super) const ANSWERED_MAX: usize = 16 << 20;
/// As much of a request as may stand before its `acks`: two texts of 32 KiB and what is around.
pub(super) const HEAD_MAX: usize = 68 << 10;
/// Requests of one connection that wait for their answers; librdkafka itself stops at 1,000,000,
/// Java at 5, and a broker reads one at a time.
pub(super) const OUTSTANDING_MAX: usize = 10_000;
/// Bytes of all connections together.
pub(super) const BUFFERED_MAX: usize = 512 << 20;
/// Connections of one edge.
pub(super) const EDGE_CONNECTIONS_MAX: usize = 512;
/// Connections of all edges.
pub(super) const CONNECTIONS_MAX: usize = 8_192;
/// Edges of one client: a broker each, and each name by which one is known.
pub(super) const CLIENT_EDGES_MAX: usize = 256;
/// Edges of all clients.
pub(super) const EDGES_MAX: usize = 4_096;
/// Rules in force at once.
pub(super) const RULES_MAX: usize = 1_000;
/// Healed faults of which an edge still waits for the first answer.
pub(super) const AWAITED_MAX: usize = 64;
/// Bytes that are read at once.
pub(super) const READ_MAX: usize = 64 << 10;
